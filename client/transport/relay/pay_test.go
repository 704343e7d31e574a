package relay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// turnstile makes a fake relay want tokens. Its tokens are a number and what they
// are bound to, in the clear: what is tested is who pays what, and when.
type turnstile struct {
	*fake
	mu       sync.Mutex
	spent    map[uint64]string // token → purpose and binding
	contexts map[string]int    // cells, by id
	resumed  int
	refuse   func(number uint64) int // status, 0: it is taken
}

// wallet is a transport.Payer.
type wallet struct {
	mu        sync.Mutex
	left      int
	paid      uint64
	announced int
	refuse    error
	purposes  map[transport.Purpose]int
}

func (w *wallet) Announced(_ context.Context, a transport.Announcement) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.announced++
	if len(a.Issuers) != 1 || a.Class != 1024 || a.Since != 20000 || a.Gate != "invite" {
		return errors.New("another announcement")
	}
	return w.refuse
}

func (w *wallet) Ready(context.Context, transport.Purpose) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return transport.ErrEmpty
	}
	return nil
}

func (w *wallet) Pay(_ context.Context, p transport.Purpose, binding []byte) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return nil, transport.ErrEmpty
	}
	w.left--
	w.paid++
	w.purposes[p]++
	b := make([]byte, 53)
	b[0] = byte(p)
	binary.BigEndian.PutUint64(b[1:], w.paid)
	copy(b[9:], binding)
	return b, nil
}

func (w *wallet) count() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paid
}

func newTurnstile(t *testing.T) (*turnstile, *wallet) {
	f := &turnstile{fake: newFake(t, "relay.example"), spent: map[uint64]string{}, contexts: map[string]int{}}
	d := &f.fake.descriptor
	d.Roles, d.Gate, d.Class, d.IssuedDay = append(d.Roles, wire.RoleToken), "invite", 1024, 20000
	d.Issuers = []wire.Issuer{{Kind: 1, Epoch: 20000, Key: [32]byte{1}}}
	for path, purpose := range map[string]transport.Purpose{
		"/v1/put": transport.PayPut, "/v1/watch": transport.PayWatch, "/v1/blob": transport.PayBlob,
	} {
		serve := map[string]http.HandlerFunc{"/v1/put": f.servePut, "/v1/watch": f.serveWatch, "/v1/blob": f.servePutBlob}[path]
		f.replace(path, func(w http.ResponseWriter, r *http.Request) {
			if status := f.pass(r, purpose); status != 0 {
				w.WriteHeader(status)
				return
			}
			serve(w, r)
		})
	}
	return f, &wallet{left: 1000, purposes: map[transport.Purpose]int{}}
}

// pass takes the token of a request, or says with which status it is refused.
func (f *turnstile) pass(r *http.Request, purpose transport.Purpose) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	decode := base64.RawURLEncoding.DecodeString
	b, err := decode(r.Header.Get("Tacet-Token"))
	id, err2 := decode(r.Header.Get("Tacet-Context"))
	if err != nil || err2 != nil || purpose != transport.PayBlob && len(id) != 16 {
		f.t.Errorf("got headers %q", r.Header)
		return http.StatusBadRequest
	}
	if len(b) == 0 {
		if _, open := f.contexts[string(id)]; open && purpose == transport.PayPut {
			f.resumed++
			return 0
		}
		return http.StatusUnauthorized
	}
	n := binary.BigEndian.Uint64(b[1:])
	bound := string(b[9 : 9+len(id)])
	if len(b) != 53 || transport.Purpose(b[0]) != purpose || purpose != transport.PayBlob && bound != string(id) {
		f.t.Errorf("got the token %x for %d, %x", b, purpose, id)
	}
	if f.refuse != nil {
		if status := f.refuse(n); status != 0 {
			return status
		}
	}
	if was, spent := f.spent[n]; spent && was != string(b) {
		f.t.Errorf("token %d is spent twice", n)
	}
	f.spent[n] = string(b)
	if purpose == transport.PayPut {
		if _, open := f.contexts[string(id)]; !open {
			f.contexts[string(id)] = 0
		}
	}
	return 0
}

func (f *turnstile) client(w *wallet) *relay.Relay {
	r := f.join()
	r.PayWith(w)
	return r
}

func TestOneTokenBuysAContextOf128Cells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				if _, err := put(t, r, "one"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.count(); got != 3 {
			t.Errorf("got %d tokens paid for 300 cells, want 3", got)
		}
		if f.asked("/v1/put") != 3 {
			t.Errorf("got %d connections, want 3", f.asked("/v1/put"))
		}
		r.Close()
	})
}

func TestContextGoesOnOverAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10 * time.Minute) // away from the end of a live period
		f, w := newTurnstile(t)
		r := f.client(w)
		for range 3 {
			if _, err := put(t, r, "one"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Minute) // the connection was closed meanwhile
		}
		if w.count() != 1 || f.resumed != 2 {
			t.Errorf("got %d tokens, resumed %d times, want 1 and 2", w.count(), f.resumed)
		}
		time.Sleep(30 * time.Minute) // another live period
		if _, err := put(t, r, "one"); err != nil {
			t.Fatal(err)
		}
		if w.count() != 2 {
			t.Errorf("got %d tokens in two periods, want 2", w.count())
		}
		if _, err := put(t, r, "another route"); err != nil {
			t.Fatal(err)
		}
		if w.count() != 3 {
			t.Errorf("got %d tokens with another name, want 3", w.count())
		}
		f.mu.Lock()
		clear(f.contexts) // the relay has started again
		f.mu.Unlock()
		time.Sleep(6 * time.Minute)
		if _, err := put(t, r, "one"); err != nil {
			t.Fatal(err)
		}
		if w.count() != 4 {
			t.Errorf("got %d tokens after a restart of the relay, want 4", w.count())
		}
		r.Close()
	})
}

func TestTokenThatIsNotTakenIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		f.refuse = func(n uint64) int {
			if n < 3 {
				return http.StatusUnauthorized
			}
			return 0
		}
		if _, err := put(t, r, "one"); err != nil {
			t.Errorf("the third token: %v", err)
		}
		f.refuse = func(uint64) int { return http.StatusUnauthorized }
		asked := f.asked("/v1/realm")
		if _, err := put(t, r, "two"); !errors.Is(err, transport.ErrSpent) {
			t.Errorf("got %v, want %v", err, transport.ErrSpent)
		}
		if w.count() != 6 {
			t.Errorf("got %d tokens tried, want 3 and 3", w.count())
		}
		f.refuse = nil
		if _, err := put(t, r, "three"); err != nil {
			t.Error(err)
		}
		if f.asked("/v1/realm") != asked+1 {
			t.Error("the descriptor was not asked for again")
		}
		r.Close()
	})
}

func TestTokenWithoutAnAnswerIsPresentedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
			f.refuse = func(uint64) int { return status }
			want := map[int]error{http.StatusServiceUnavailable: transport.ErrBusy, http.StatusTooManyRequests: transport.ErrLimit}[status]
			if _, err := put(t, r, "one"); !errors.Is(err, want) {
				t.Errorf("%d: got %v, want %v", status, err, want)
			}
			time.Sleep(20 * time.Second)
		}
		f.refuse = nil
		if _, err := put(t, r, "one"); err != nil {
			t.Error(err)
		}
		if w.count() != 1 {
			t.Errorf("got %d tokens, want the same one again", w.count())
		}
		r.Close()
	})
}

func TestEmptyPurseConnectsToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		w.left = 0
		for range 3 {
			if _, err := put(t, r, "one"); !errors.Is(err, transport.ErrEmpty) {
				t.Errorf("got %v, want %v", err, transport.ErrEmpty)
			}
			time.Sleep(time.Minute)
		}
		if f.asked("/v1/put") != 0 {
			t.Errorf("got %d requests, want none", f.asked("/v1/put"))
		}
		none := f.join() // nobody pays at all
		if _, err := put(t, none, "one"); !errors.Is(err, transport.ErrEmpty) {
			t.Errorf("without a payer: got %v, want %v", err, transport.ErrEmpty)
		}
		w.mu.Lock()
		w.left = 10
		w.mu.Unlock()
		if _, err := put(t, r, "one"); err != nil {
			t.Errorf("then: %v", err)
		}
		r.Close()
		none.Close()
	})
}

func TestWatchesAndBlobsArePaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.join()
		r.PayWith(w)
		ctx, stop := context.WithCancel(t.Context())
		ready := make(chan bool)
		var watch sync.WaitGroup
		watch.Go(func() {
			r.Watch(ctx, transport.Watch{
				Period: uint64(time.Now().Unix() / 1800), Set: owns(16), Isolate: "w",
				Ready: func(time.Duration) { close(ready) }, Deliver: func(transport.Delivery) {},
			})
		})
		<-ready
		blob := wire.BlobPut{Kind: wire.BlobFile, Days: 1, ID: wire.BlobID{1}, Content: bytes.Repeat([]byte{2}, 4096)}
		if _, err := r.PutBlob(t.Context(), &blob); err != nil {
			t.Error(err)
		}
		if w.purposes[transport.PayWatch] != 1 || w.purposes[transport.PayBlob] != 1 || w.count() != 2 {
			t.Errorf("got %v paid, want one watch and one blob", w.purposes)
		}
		stop()
		watch.Wait()
		r.Close()
	})
}

func TestRefusedKeysEndEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		w.refuse = transport.ErrIssuer
		if _, err := put(t, r, "one"); !errors.Is(err, transport.ErrIssuer) || !errors.Is(err, transport.ErrIdentity) {
			t.Errorf("got %v, want %v", err, transport.ErrIssuer)
		}
		if w.count() != 0 || f.asked("/v1/put") != 0 {
			t.Error("something was sent all the same")
		}
		r.Close()
	})
}

func TestRelayWithoutTheRoleIsPaidNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		w := &wallet{left: 10, purposes: map[transport.Purpose]int{}}
		r := f.join()
		f.replace("/v1/put", func(rw http.ResponseWriter, q *http.Request) {
			if q.Header.Get("Tacet-Token")+q.Header.Get("Tacet-Context") != "" {
				t.Errorf("got headers %q", q.Header)
			}
			f.servePut(rw, q)
		})
		if _, err := put(t, r, "one"); err != nil {
			t.Error(err)
		}
		if w.count() != 0 {
			t.Errorf("got %d tokens paid", w.count())
		}
		r.Close()
	})
}

// A wake ticket costs one token, which is bound to it. Who has none asks the
// relay for nothing, so that it learns nothing.
func TestWakeTicketIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := newTurnstile(t)
		r := f.client(w)
		ticket := bytes.Repeat([]byte{7}, 2048)
		status := http.StatusAccepted
		f.replace("/v1/wake", func(rw http.ResponseWriter, q *http.Request) {
			body, err := io.ReadAll(q.Body)
			sum := sha256.Sum256(ticket)
			shown, err2 := base64.RawURLEncoding.DecodeString(q.Header.Get("Tacet-Token"))
			if err != nil || err2 != nil || !bytes.Equal(body, ticket) || len(shown) != 53 || transport.Purpose(shown[0]) != transport.PayWake || !bytes.Equal(shown[9:41], sum[:]) {
				t.Errorf("got %d bytes with the token %x, %v, %v", len(body), shown, err, err2)
			}
			rw.WriteHeader(status)
		})
		if err := r.Wake(t.Context(), ticket); err != nil {
			t.Fatal(err)
		}
		if w.purposes[transport.PayWake] != 1 || w.count() != 1 || f.asked("/v1/wake") != 1 {
			t.Errorf("got %v paid in %d requests, want one for a wake", w.purposes, f.asked("/v1/wake"))
		}
		status = http.StatusUnauthorized
		if err := r.Wake(t.Context(), ticket); !errors.Is(err, transport.ErrSpent) {
			t.Errorf("refused: got %v, want %v", err, transport.ErrSpent)
		}
		asked := f.asked("/v1/wake")
		w.mu.Lock()
		w.left = 0
		w.mu.Unlock()
		if err := r.Wake(t.Context(), ticket); !errors.Is(err, transport.ErrEmpty) {
			t.Errorf("empty: got %v, want %v", err, transport.ErrEmpty)
		}
		if got := f.asked("/v1/wake"); got != asked {
			t.Errorf("an empty purse asked %d times", got-asked)
		}
		r.Close()
	})
}
