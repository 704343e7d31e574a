package relay_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// public makes a certificate authority, and has the relay show a chain of it for
// a name in place of its own; with the realm's behind it, or without.
func (f *fake) public(name string, realm bool) *x509.CertPool {
	rootPublic, rootPrivate, _ := ed25519.GenerateKey(rand.Reader)
	root := f.sign(authority(), authority(), rootPublic, rootPrivate)
	middlePublic, middlePrivate, _ := ed25519.GenerateKey(rand.Reader)
	middle := f.sign(authority(), root, middlePublic, rootPrivate)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(7), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	public := f.leafKey.Public()
	own := f.chain
	f.chain = []*x509.Certificate{f.sign(leaf, middle, public, middlePrivate), middle}
	if realm {
		f.chain = append(f.chain, own...) // its leaf has the same key
	} else {
		ca, _ := x509.ParseCertificate(root.Raw)
		f.chain = append(f.chain, ca)[:2]
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return pool
}

// on returns a network of this relay.
func (f *fake) on(roots *x509.CertPool, proxied bool) relay.Options {
	o := f.options(nil)
	o.Roots, o.Proxied = roots, func() bool { return proxied }
	return o
}

func TestAPublicChainWithTheRealmsBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		f.public("relay.example", true)
		if _, err := put(t, f.join(), ""); err != nil { // whatever authorities say
			t.Errorf("got error %v, want a receipt", err)
		}
		if realm, err := relay.Identify(t.Context(), f.options(nil)); err != nil || realm != *f.pin() {
			t.Errorf("got %x, %v, want %x", realm, err, *f.pin())
		}
	})
	for what, spoil := range map[string]func(f *fake){
		"the realm signed another key": func(f *fake) {
			chain, k := f.chain, f.leafKey
			f.chain = f.newChain(f.realm, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			f.chain, f.leafKey = append(chain[:2:2], f.chain...), k
		},
		"another realm signed it": func(f *fake) {
			other := ed25519.NewKeyFromSeed(newSign().Bytes())
			ca := f.sign(authority(), authority(), other.Public(), other)
			leaf := *f.chain[2]
			f.chain = append(f.chain[:2:2], f.sign(&leaf, ca, f.leafKey.Public(), other), ca)
		},
		"the realm's alone, of a key that TLS does not prove": func(f *fake) { f.chain = f.chain[:3] },
		"more than a chain can be": func(f *fake) {
			for len(f.chain) < 12 {
				f.chain = append([]*x509.Certificate{f.chain[0]}, f.chain...)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "relay.example")
			roots := f.public("relay.example", true)
			spoil(f)
			for _, proxied := range []bool{false, true} {
				r, _ := relay.New(f.on(roots, proxied))
				defer r.Close()
				if _, err := put(t, r, ""); !errors.Is(err, transport.ErrIdentity) {
					t.Errorf("%s: got error %v, want ErrIdentity", what, err)
				}
			}
		})
	}
}

func TestWhetherAnAuthorityVouchesForAName(t *testing.T) {
	for certified, want := range map[string]bool{"relay.example": true, "other.example": false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "relay.example")
			roots := f.public(certified, true)
			n := relay.NetworkBy(f.dial)
			n.Roots = roots
			if pin, err := n.Identify(t.Context(), "relay.example"); err != nil || pin != *f.pin() || n.Vouched("relay.example") != want {
				t.Errorf("certified for %s: got %x, %v, vouched for %t, want %t", certified, pin, err, n.Vouched("relay.example"), want)
			}
		})
	}
}

// fronted makes a relay whose TLS ends in a program in front of it.
func fronted(t *testing.T) (*fake, *x509.CertPool) {
	f := newFake(t, "relay.example")
	f.descriptor.Binding, f.descriptor.Proxied = false, true
	return f, f.public("relay.example", false)
}

func TestTLSThatEndsInFrontHasToBeAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, roots := fronted(t)
		r, _ := relay.New(f.on(roots, false))
		defer r.Close()
		for call, err := range calls(t, r) {
			if !errors.Is(err, transport.ErrIdentity) || !strings.Contains(err.Error(), "weaker") {
				t.Errorf("%s: got %v, want a refusal that says why", call, err)
			}
		}
		if len(f.requests) != 0 {
			t.Errorf("got requests %v, want none", f.requests)
		}

		allowed, _ := relay.New(f.on(roots, true))
		defer allowed.Close()
		if _, err := put(t, allowed, ""); err != nil {
			t.Errorf("got %v where it was allowed", err)
		}
		w := start(t, allowed, transport.Watch{Set: owns(1)})
		select {
		case <-w.ready:
		case err := <-w.ended:
			t.Errorf("watching: %v", err)
		}
		if w := allowed.Warnings(); len(w) != 1 || !strings.Contains(w[0], "in front of it") {
			t.Errorf("got warnings %q, want one", w)
		}
		p := newBlob([32]byte{})
		if _, err := allowed.PutBlob(t.Context(), p); err != nil {
			t.Errorf("putting a blob: %v", err)
		}
		o := f.on(roots, true)
		o.Pin = nil
		if blob, realm, err := relay.FetchUnpinned(t.Context(), o, p.ID); err != nil || !bytes.Equal(blob, p.Content) || realm != *f.pin() {
			t.Errorf("got %d bytes of %x, %v, want the blob of %x", len(blob), realm, err, *f.pin())
		}
		o.Proxied = nil
		if _, _, err := relay.FetchUnpinned(t.Context(), o, p.ID); !errors.Is(err, transport.ErrIdentity) {
			t.Errorf("fetching where it was not allowed: got %v", err)
		}
	})
}

func TestOnlyAProxyThatTheRealmTellsOfIsTaken(t *testing.T) {
	for what, spoil := range map[string]func(f *fake){
		"the descriptor tells of none": func(f *fake) { f.descriptor.Proxied = false },
		"another realm's descriptor": func(f *fake) {
			f.realm = newSign()
			f.descriptor.Realm = key.SignPublicOf(f.realm)
		},
		"another name": func(f *fake) { f.public("other.example", false) },
	} {
		synctest.Test(t, func(t *testing.T) {
			f, roots := fronted(t)
			pin := *f.pin()
			spoil(f)
			o := f.on(roots, true)
			o.Pin = &pin
			r, _ := relay.New(o)
			defer r.Close()
			all := calls(t, r)
			_, all["get blob"] = r.GetBlob(t.Context(), wire.BlobID{})
			all["delete blob"] = r.DeleteBlob(t.Context(), wire.BlobID{}, [32]byte{})
			for call, err := range all {
				if !errors.Is(err, transport.ErrIdentity) {
					t.Errorf("%s: %s: got %v, want ErrIdentity", what, call, err)
				}
			}
			for path := range f.requests {
				if path != "/v1/realm" {
					t.Errorf("%s: got a request for %s", what, path)
				}
			}
			if w := r.Warnings(); len(w) != 0 {
				t.Errorf("%s: got warnings %q about a stranger", what, w)
			}
		})
	}
}
