package relay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/client/transport/transporttest"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// party is a client that remembers its connections.
type party struct {
	*relay.Relay
	mu    sync.Mutex
	conns []net.Conn
}

func (p *party) links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *party) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func TestTransport(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		t.Run(name, func(t *testing.T) {
			transporttest.Suite{
				New: func(t *testing.T) *transporttest.World {
					f := newFake(t, name)
					return &transporttest.World{
						Live: 1800 * time.Second,
						Join: func(t *testing.T) transport.Transport {
							p := &party{}
							r, err := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
								c, err := f.dial(ctx, network, addr, isolate)
								if err == nil {
									p.mu.Lock()
									defer p.mu.Unlock()
									p.conns = append(p.conns, c)
								}
								return c, err
							}))
							if err != nil {
								t.Fatal(err)
							}
							p.Relay = r
							return p
						},
						Break:    func(tr transport.Transport) { tr.(*party).cut() },
						PutLinks: func(tr transport.Transport) int { return tr.(*party).links() },
					}
				},
				Around: synctest.Test,
				Answer: wire.AnswerAfter,
				Window: wire.WindowSpan,
			}.Run(t)
		})
	}
}

func TestNewRefusesWhatCannotBeSafe(t *testing.T) {
	pin := [32]byte{1}
	for name, o := range map[string]relay.Options{
		"no pin":                 {Name: "relay.example"},
		"no name":                {Pin: &pin},
		"a URL":                  {Name: "https://relay.example", Pin: &pin},
		"loopback behind proxy":  {Name: "localhost:7117", Pin: &pin, HidesAddress: true},
		"loopback behind proxy6": {Name: "[::1]", Pin: &pin, HidesAddress: true},
	} {
		if _, err := relay.New(o); err == nil {
			t.Errorf("got no error for %s, want one", name)
		}
	}
}

func TestCaps(t *testing.T) {
	for _, hides := range []bool{false, true} {
		r, err := relay.New(relay.Options{Name: "relay.example", Pin: new([32]byte), HidesAddress: hides})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Caps(), (transport.Caps{LiveCount: true, HidesAddress: hides}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// running counts the goroutines that run code of this package.
func running() (n int) {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	for _, g := range bytes.Split(b, []byte("\n\n")) {
		if bytes.Contains(g, []byte("transport/relay.(")) || bytes.Contains(g, []byte("websocket.(*Conn)")) && bytes.Contains(g, []byte("client/transport/relay.")) {
			n++
		}
	}
	return n
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		r := f.join()
		me := own()
		w := start(t, r, transport.Watch{Set: []transport.Owned{me}, More: make(chan []transport.Owned)})
		<-w.ready
		for i := range 5 {
			go put(t, r, string(rune('a'+i)))
		}
		synctest.Wait()
		if running() == 0 {
			t.Fatal("got nothing running, want puts and a watch: the count is wrong")
		}
		r.Close()
		if got := running(); got > 7 { // the callers, on their way out
			t.Errorf("got %d goroutines right after Close, want at most those of the callers", got)
		}
		synctest.Wait()
		if got := running(); got != 0 {
			t.Errorf("got %d goroutines after Close, want 0", got)
		}
	})
}

func TestDescriptorIsSharedAndRenewedOnTheSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		r := f.join()
		w := start(t, r, transport.Watch{Set: owns(1), Isolate: "w"})
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() { put(t, r, string(rune('a'+i))) })
		}
		all.Wait()
		<-w.ready
		if got := f.asked("/v1/realm"); got != 1 {
			t.Errorf("got %d requests for the descriptor, want 1", got)
		}
		d, err := r.Descriptor(t.Context())
		if err != nil || d.Realm != f.descriptor.Realm {
			t.Errorf("got %v, %v, want the relay's descriptor", d, err)
		}
		d.Roles[0] = "mine now"
		if d, _ = r.Descriptor(t.Context()); d.Roles[0] != "live" {
			t.Errorf("got role %q, want live: the copy is the caller's own", d.Roles[0])
		}
		if got := f.asked("/v1/realm"); got != 3 {
			t.Errorf("got %d requests for the descriptor, want one more for each who asks for it", got)
		}
		time.Sleep(time.Hour)
		if _, err := put(t, r, "z"); err != nil {
			t.Error(err)
		}
		if got := f.asked("/v1/realm"); got != 3 {
			t.Errorf("got %d requests for the descriptor, want none in front of a connection", got)
		}
		for range 3 { // the others find it being renewed
			if _, err := put(t, r, "z"); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(10*time.Minute + time.Second)
		if got := f.asked("/v1/realm"); got != 4 {
			t.Errorf("got %d requests for the descriptor, want one more after an hour", got)
		}
	})
}

// calls are all ways to use a relay.
func calls(t *testing.T, r *relay.Relay) map[string]error {
	slot := &wire.BlobPut{Kind: wire.BlobSlot, Content: make([]byte, 4096)}
	errs := map[string]error{}
	_, errs["put"] = put(t, r, "")
	errs["watch"] = r.Watch(t.Context(), transport.Watch{Set: owns(1), Deliver: func(transport.Delivery) {}})
	_, errs["descriptor"] = r.Descriptor(t.Context())
	_, errs["put blob"] = r.PutBlob(t.Context(), slot)
	return errs
}

func TestDescriptorThatDoesNotFitStopsEverything(t *testing.T) {
	other := newSign()
	for name, c := range map[string]struct {
		serve func(f *fake) []byte
		want  error // nil: temporary
	}{
		"of another realm": {func(f *fake) []byte {
			d := f.descriptor
			d.Realm = key.SignPublicOf(other)
			body := d.Encode()
			return wire.AppendSigned(nil, key.SignMessage(other, wire.LabelDescriptor, body), body)
		}, transport.ErrIdentity},
		"signed by another": {func(f *fake) []byte {
			body := f.descriptor.Encode()
			return wire.AppendSigned(nil, key.SignMessage(other, wire.LabelDescriptor, body), body)
		}, transport.ErrIdentity},
		"changed after signing": {func(f *fake) []byte {
			b := f.signed(f.descriptor)
			d := f.descriptor
			d.Ping = 61
			return append(b[:64], d.Encode()...)
		}, transport.ErrIdentity},
		"malformed":         {func(f *fake) []byte { return make([]byte, 100) }, nil},
		"empty":             {func(f *fake) []byte { return nil }, nil},
		"too long":          {func(f *fake) []byte { return make([]byte, 5000) }, nil},
		"bound without TLS": {func(f *fake) []byte { d := f.descriptor; d.Binding = true; return f.signed(d) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.replace("/v1/realm", func(w http.ResponseWriter, r *http.Request) { w.Write(c.serve(f)) })
				for call, err := range calls(t, f.join()) {
					if c.want == nil {
						mustBeTemporary(t, err)
					} else if !errors.Is(err, c.want) {
						t.Errorf("got error %v from %s, want %v", err, call, c.want)
					}
				}
				if n := f.asked("/v1/put") + f.asked("/v1/watch") + f.asked("/v1/blob"); n != 0 {
					t.Errorf("got %d requests to a relay that is not ours, want 0", n)
				}
			})
		})
	}
}

func TestDescriptorIsSpecExample(t *testing.T) {
	b := vectortest.Example(t, "relay-api.md", "descriptor")
	d, _, _, err := wire.ParseDescriptor(b)
	if err != nil {
		t.Fatal(err)
	}
	pin := sha256.Sum256(d.Realm[:])
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		f.replace("/v1/realm", func(w http.ResponseWriter, r *http.Request) { w.Write(b) })
		o := f.options(nil)
		o.Pin = &pin
		r, _ := relay.New(o)
		defer r.Close()
		if got, err := r.Descriptor(t.Context()); d.Binding {
			mustBeTemporary(t, err) // the example is of a relay with TLS
		} else if err != nil || got.Policy != d.Policy {
			t.Errorf("got %v, %v, want the example", got, err)
		}
	})
}

func TestWarningsAboutProofsThatAreNotBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		binding bool
		want    int
	}{{"localhost", false, 0}, {"relay.example", true, 0}, {"relay.example", false, 1}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, c.name)
			f.descriptor.Binding = c.binding
			r := f.join()
			if got := r.Warnings(); len(got) != 0 {
				t.Errorf("got %q before anything is known, want none", got)
			}
			<-start(t, r, transport.Watch{Set: owns(1)}).ready // with zeros in the proof
			if got := r.Warnings(); len(got) != c.want {
				t.Errorf("got warnings %q about %s with binding %v, want %d", got, c.name, c.binding, c.want)
			}
		})
	}
}

func TestErrorsNameNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		for _, cause := range []error{
			&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: syscall.ECONNREFUSED},
			&net.DNSError{Err: "no such host", Name: "relay.example", Server: "192.0.2.53", IsNotFound: true},
			&net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, Err: os.ErrDeadlineExceeded},
			io.EOF, errors.New("192.0.2.1 is odd"),
		} {
			r, _ := relay.New(f.options(func(context.Context, string, string, string) (net.Conn, error) { return nil, cause }))
			for call, err := range calls(t, r) {
				mustBeTemporary(t, err)
				if err != nil && (strings.Contains(err.Error(), "192.") || strings.Contains(err.Error(), "relay.example")) {
					t.Errorf("got error %q from %s, want nobody named", err, call)
				}
			}
			r.Close()
		}
	})
}
