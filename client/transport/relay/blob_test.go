package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

func newBlob(capability [32]byte) *wire.BlobPut {
	p := &wire.BlobPut{
		Kind: wire.BlobFile, Days: 7, Capability: key.Hash(wire.LabelCapability, capability[:]), Content: make([]byte, 4096),
	}
	rand.Read(p.ID[:])
	rand.Read(p.Content)
	return p
}

func TestBlobsAreCreatedReadAndDeleted(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, name)
			r := f.join()
			capability := [32]byte{7}
			p := newBlob(capability)
			for range 2 {
				receipt, err := r.PutBlob(t.Context(), p)
				if err != nil || receipt.ID != p.ID || receipt.Hash != sha256.Sum256(p.Content) {
					t.Errorf("got %+v, %v, want the receipt for the blob", receipt, err)
				}
			}
			if got, err := r.GetBlob(t.Context(), p.ID); err != nil || !bytes.Equal(got, p.Content) {
				t.Errorf("got %d bytes, %v, want the blob", len(got), err)
			}
			other := newBlob(capability)
			other.ID = p.ID
			if receipt, err := r.PutBlob(t.Context(), other); !errors.Is(err, relay.ErrTaken) || receipt.Hash != sha256.Sum256(p.Content) {
				t.Errorf("got %+v, %v, want ErrTaken and the receipt of what lies there", receipt, err)
			}
			if err := r.DeleteBlob(t.Context(), p.ID, [32]byte{8}); !errors.Is(err, transport.ErrRefused) {
				t.Errorf("got error %v for another capability, want ErrRefused", err)
			}
			if err := r.DeleteBlob(t.Context(), p.ID, capability); err != nil {
				t.Errorf("got error %v, want none", err)
			}
			if _, err := r.GetBlob(t.Context(), p.ID); !errors.Is(err, transport.ErrNothing) {
				t.Errorf("got error %v, want ErrNothing", err)
			}
			if err := r.DeleteBlob(t.Context(), p.ID, capability); !errors.Is(err, transport.ErrNothing) {
				t.Errorf("got error %v, want ErrNothing", err)
			}
			if _, err := r.PutBlob(t.Context(), &wire.BlobPut{}); !errors.Is(err, transport.ErrRefused) {
				t.Errorf("got error %v for no blob, want ErrRefused", err)
			}
		})
	}
}

func TestReceiptsThatDoNotFit(t *testing.T) {
	p := newBlob([32]byte{})
	for name, c := range map[string]struct {
		status int
		body   func(f *fake) []byte
		want   error // nil: temporary
	}{
		"of another key": {200, func(f *fake) []byte {
			return (&fake{receipts: newSign()}).receipt(p.ID, p.Content)
		}, transport.ErrIdentity},
		"of another key, taken": {409, func(f *fake) []byte {
			return (&fake{receipts: newSign()}).receipt(p.ID, nil)
		}, transport.ErrIdentity},
		"for another id":      {200, func(f *fake) []byte { return f.receipt(wire.BlobID{}, p.Content) }, nil},
		"for another content": {200, func(f *fake) []byte { return f.receipt(p.ID, nil) }, nil},
		"too short":           {200, func(f *fake) []byte { return f.receipt(p.ID, p.Content)[:127] }, nil},
		"too long":            {200, func(f *fake) []byte { return append(f.receipt(p.ID, p.Content), 0) }, nil},
		"used up":             {410, func(f *fake) []byte { return f.receipt(p.ID, p.Content) }, relay.ErrTaken},
		"no room":             {507, func(f *fake) []byte { return []byte("no room") }, transport.ErrRoom},
		"limit":               {429, func(f *fake) []byte { return []byte("later") }, nil},
		"malformed":           {400, func(f *fake) []byte { return bytes.Repeat([]byte("x"), 4096) }, transport.ErrRefused},
		"redirect":            {307, func(f *fake) []byte { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.replace("/v1/blob", func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.Header().Set("Location", "/v1/blob")
					w.WriteHeader(c.status)
					w.Write(c.body(f))
				})
				_, err := f.join().PutBlob(t.Context(), p)
				if c.want == nil {
					mustBeTemporary(t, err)
				} else if !errors.Is(err, c.want) {
					t.Errorf("got error %v, want %v", err, c.want)
				}
				if f.asked("/v1/blob") != 1 {
					t.Errorf("got %d requests, want 1", f.asked("/v1/blob"))
				}
			})
		})
	}
}

func TestBlobOfAnotherSizeIsNoBlob(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4097, wire.MaxBlob + 1, 2 * wire.MaxBlob} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "localhost")
			f.replace("/v1/blob/"+strings.Repeat("00", 32), func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, n)) })
			b, err := f.join().GetBlob(t.Context(), wire.BlobID{})
			mustBeTemporary(t, err)
			if b != nil {
				t.Errorf("got %d bytes, want none", len(b))
			}
		})
	}
}

// remember dials and notes the names of connections.
func (f *fake) remember(names *[]string) relay.Dialer {
	var mu sync.Mutex
	return func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
		mu.Lock()
		*names = append(*names, isolate)
		mu.Unlock()
		return f.dial(ctx, network, addr, isolate)
	}
}

func TestRequestsShareNoNameWithAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		var names []string
		r, _ := relay.New(f.options(f.remember(&names)))
		defer r.Close()
		// The name of a put or watch, and that of its descriptor, are its own.
		put(t, r, "same")
		<-start(t, r, transport.Watch{Set: owns(1), Isolate: "same"}).ready
		if len(names) != 3 || names[0] != names[1] || names[2] == names[1] {
			t.Errorf("got names %q, want the put's twice and another for the watch", names)
		}
		used := map[string]bool{names[1]: true, names[2]: true}
		names = nil
		p := newBlob([32]byte{})
		for range 2 {
			r.PutBlob(t.Context(), p)
			r.GetBlob(t.Context(), p.ID)
		}
		r.DeleteBlob(t.Context(), p.ID, [32]byte{})
		for _, n := range names {
			if used[n] {
				t.Errorf("got name %q twice, want a connection and a name for every request", n)
			}
			used[n] = true
		}
		if len(names) != 5 {
			t.Errorf("got %d connections for 5 requests, want 5", len(names))
		}
	})
}

func TestFetchUnpinnedTellsTheKeyThatWasShown(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, name)
			p := newBlob([32]byte{})
			f.join().PutBlob(t.Context(), p)
			o := f.options(nil)
			o.Pin = nil
			blob, realm, err := relay.FetchUnpinned(t.Context(), o, p.ID)
			if err != nil || !bytes.Equal(blob, p.Content) || realm != *f.pin() {
				t.Errorf("got %d bytes of %x, %v, want the blob of %x", len(blob), realm, err, *f.pin())
			}
			if realm, err := relay.Identify(t.Context(), o); err != nil || realm != *f.pin() {
				t.Errorf("got %x, %v, want %x", realm, err, *f.pin())
			}
			_, realm, err = relay.FetchUnpinned(t.Context(), o, wire.BlobID{})
			if !errors.Is(err, transport.ErrNothing) || realm != [32]byte{} {
				t.Errorf("got %x, %v, want ErrNothing and no key", realm, err)
			}
		})
	}
}

// noRealm are the chains that show no realm key at all, as those of web pages.
var noRealm = map[string]bool{"the leaf alone": true, "an ECDSA realm": true}

func TestUnpinnedRelayMustStillBeOne(t *testing.T) {
	for name, c := range chains {
		if name == "another realm" {
			continue // that is what cannot be known yet
		}
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "relay.example")
			c.make(f)
			o := f.options(nil)
			want := c.want
			if noRealm[name] {
				want = transport.ErrForeign
			}
			if _, _, err := relay.FetchUnpinned(t.Context(), o, wire.BlobID{}); !errors.Is(err, want) {
				t.Errorf("got error %v for %s, want %v", err, name, want)
			}
			if len(f.requests) != 0 {
				t.Errorf("got requests %v for %s, want none", f.requests, name)
			}
		})
	}
}

func TestIdentifyWantsOneKeyInTLSAndDescriptor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		other := &fake{realm: newSign(), descriptor: f.descriptor}
		other.descriptor.Realm = key.SignPublicOf(other.realm)
		f.replace("/v1/realm", func(w http.ResponseWriter, r *http.Request) { w.Write(other.signed(other.descriptor)) })
		if _, err := relay.Identify(t.Context(), f.options(nil)); !errors.Is(err, transport.ErrIdentity) {
			t.Errorf("got error %v, want ErrIdentity", err)
		}
	})
}
