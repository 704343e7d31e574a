package wake

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	tickets "github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/waketest"
)

// still gives no jitter: a push goes out at once.
type still struct{}

func (still) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// world is a gateway, a push service and a clock.
type world struct {
	t     *testing.T
	g     *Gateway
	push  *waketest.Service
	clock *clock
	stop  func()
}

func newWorld(t *testing.T, change func(*GatewayConfig)) *world {
	t.Helper()
	w := &world{t: t, push: waketest.New(t), clock: newClock()}
	w.push.Now = w.clock.now
	w.start(change)
	return w
}

func realmKey(t testing.TB, fill byte) key.Sign {
	t.Helper()
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) start(change func(*GatewayConfig)) {
	w.t.Helper()
	cfg := GatewayConfig{
		Realm: realmKey(w.t, 1), Contact: "mailto:op@gateway.example", Roots: w.push.Roots(), Dialer: &Dialer{Ports: []uint16{443}, Private: true},
		Now: w.clock.now, Rand: still{}, Failed: func(err error) { w.t.Error(err) },
	}
	if change != nil {
		change(&cfg)
	}
	g, err := NewGateway(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	g.ctx, g.retry = ctx, 0 // as Run does, without a race with the first ticket
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	w.g = g
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, g.Close()); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
}

// open has the gateway open a ticket, waits for what comes of it, and returns
// how many pushes that were.
func (w *world) open(ticket []byte) int {
	w.t.Helper()
	before := len(w.push.Pushes())
	w.g.Open(ticket)
	w.g.pushes.Wait()
	return len(w.push.Pushes()) - before
}

// ask makes a request of a handler.
func ask(h http.HandlerFunc, body []byte) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h(w, httptest.NewRequest("POST", "/", bytes.NewReader(body)))
	return w
}

// device is one that has proven its endpoint.
type device struct {
	endpoint string
	secret   key.Wake
	mac      [tickets.MACSize]byte
}

// keys are those of a ticket.
func (d *device) keys(id byte) (*ecdh.PrivateKey, [tickets.AuthSize]byte) {
	return tickets.PushKeys(d.secret, [tickets.IDSize]byte{id})
}

// device proves an endpoint as a device does.
func (w *world) device(path string) *device {
	w.t.Helper()
	secret, err := key.Generate[key.WakeRole](rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	d := &device{endpoint: w.push.Endpoint(path), secret: secret}
	private, auth := d.keys(0)
	prove := tickets.Prove{Service: tickets.WebPush, Subscription: tickets.NewSubscription(d.endpoint, private, auth)}
	body, err := prove.Append(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if a := ask(w.g.ServeProve, body); a.Code != http.StatusNoContent {
		w.t.Fatalf("prove: got %d %s", a.Code, a.Body)
	}
	all := w.push.Pushes()
	m, err := tickets.Decrypt(private, auth, all[len(all)-1].Body)
	if err != nil || !m.Challenge {
		w.t.Fatalf("what was pushed: got %v, %v, want a challenge", m, err)
	}
	if body, err = (&tickets.Confirm{Code: m.Code, Endpoint: d.endpoint}).Append(nil); err != nil {
		w.t.Fatal(err)
	}
	a := ask(w.g.ServeConfirm, body)
	if a.Code != http.StatusOK || a.Body.Len() != tickets.MACSize {
		w.t.Fatalf("confirm: got %d %s", a.Code, a.Body)
	}
	d.mac = [tickets.MACSize]byte(a.Body.Bytes())
	return d
}

// ticket makes one that is good for a day, unless it is changed.
func (w *world) ticket(d *device, id byte, change func(*tickets.Ticket)) []byte {
	w.t.Helper()
	private, auth := d.keys(id)
	t := tickets.Ticket{
		Expires: uint64(w.clock.t.Unix()) + daySeconds, ID: [tickets.IDSize]byte{id}, Family: [tickets.FamilySize]byte{7}, MAC: d.mac,
		Subscription: tickets.NewSubscription(d.endpoint, private, auth),
	}
	if change != nil {
		change(&t)
	}
	raw, err := tickets.Seal(w.g.Public(), tickets.Gateway{Name: "gateway.example"}, &t)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

func TestTicketWakesItsDevice(t *testing.T) {
	w := newWorld(t, nil)
	d := w.device("/p/one")
	if n := w.open(w.ticket(d, 1, nil)); n != 1 {
		t.Fatalf("got %d pushes, want 1", n)
	}
	all := w.push.Pushes()
	for i, p := range all {
		if len(p.Body) != tickets.PushSize || p.Path != "/p/one" || p.Header.Get("Ttl") != pushTTL || p.Header.Get("Topic") != pushTopic ||
			p.Key != all[0].Key || p.Says.Subject != "mailto:op@gateway.example" || p.Says.Expires%3600 != 0 {
			t.Errorf("push %d: got %d bytes to %s with %v, %+v", i, len(p.Body), p.Path, p.Header, p.Says)
		}
	}
	private, auth := d.keys(1)
	if m, err := tickets.Decrypt(private, auth, all[1].Body); err != nil || m.Challenge {
		t.Errorf("got %v, %v, want a wake", m, err)
	}
	private, auth = d.keys(2)
	if _, err := tickets.Decrypt(private, auth, all[1].Body); !errors.Is(err, tickets.ErrPush) {
		t.Errorf("with the keys of another ticket: got %v, want ErrPush", err)
	}
	if a := ask(w.g.ServeOpen, w.ticket(d, 3, nil)); a.Code != http.StatusAccepted || a.Body.Len() != 0 {
		t.Errorf("got %d and %d bytes, want 202 and none", a.Code, a.Body.Len())
	}
}

func TestTicketsThatWakeNobody(t *testing.T) {
	w := newWorld(t, nil)
	d := w.device("/p/one")
	other := newWorld(t, func(c *GatewayConfig) { c.Realm = realmKey(t, 2) })
	foreign := other.device("/p/foreign")
	flip := func(i int) []byte {
		b := w.ticket(d, 9, nil)
		b[i] ^= 1
		return b
	}
	used := w.ticket(d, 50, nil)
	if w.open(used) != 1 {
		t.Fatal("a good ticket woke nobody")
	}
	now := uint64(w.clock.t.Unix())
	w.clock.advance(debounce + maxJitter)
	at := w.push.Requests()
	for name, ticket := range map[string][]byte{
		"replayed":                  used,
		"the same id, sealed again": w.ticket(d, 50, nil),
		"expired":                   w.ticket(d, 1, func(t *tickets.Ticket) { t.Expires = now }),
		"good for too long":         w.ticket(d, 2, func(t *tickets.Ticket) { t.Expires = now + tickets.MaxLife + 60 }),
		"good for ever":             w.ticket(d, 3, func(t *tickets.Ticket) { t.Expires = 1<<64 - 1 }),
		"forged MAC":                w.ticket(d, 4, func(t *tickets.Ticket) { t.MAC[0] ^= 1 }),
		"no MAC":                    w.ticket(d, 5, func(t *tickets.Ticket) { t.MAC = [tickets.MACSize]byte{} }),
		"MAC of another gateway":    w.ticket(foreign, 6, nil),
		"MAC of another endpoint":   w.ticket(d, 7, func(t *tickets.Ticket) { t.Endpoint = w.push.Endpoint("/p/stranger") }),
		"sealed to another gateway": other.ticket(d, 8, nil),
		"name changed":              flip(3), "realm changed": flip(70), "enc changed": flip(200), "ciphertext changed": flip(2000),
		"noise":   bytes.Repeat([]byte{1}, tickets.TicketSize),
		"nothing": nil,
	} {
		if n := w.open(ticket); n != 0 || w.push.Requests() != at {
			t.Errorf("%s: got %d pushes and %d requests, want none", name, n, w.push.Requests()-at)
		}
	}
	if n := w.open(w.ticket(d, 60, nil)); n != 1 {
		t.Errorf("after all that a good ticket: got %d pushes, want 1", n)
	}
}

// TestNobodyAimsTheGatewayAtAStranger: whoever names an endpoint that is not
// theirs has a challenge pushed to it, and nothing else, ever.
func TestNobodyAimsTheGatewayAtAStranger(t *testing.T) {
	w := newWorld(t, nil)
	mallory := w.device("/p/mallory")
	private, auth := mallory.keys(0)
	stranger := w.push.Endpoint("/p/stranger")
	body, err := (&tickets.Prove{Service: tickets.WebPush, Subscription: tickets.NewSubscription(stranger, private, auth)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(w.g.ServeProve, body); a.Code != http.StatusNoContent {
		t.Fatalf("got %d", a.Code)
	}
	// The code went to the stranger. What mallory can make up is refused.
	own := tickets.NewProver(mallory.secret)
	for name, code := range map[string][tickets.CodeSize]byte{
		"none": {}, "of a key of one's own": own.Code(uint64(w.clock.t.Unix()), stranger),
		"of one's own endpoint": w.g.prover.Code(uint64(w.clock.t.Unix()), mallory.endpoint),
		"too old":               w.g.prover.Code(uint64(w.clock.t.Unix())-tickets.CodeLife-1, stranger),
	} {
		body, err := (&tickets.Confirm{Code: code, Endpoint: stranger}).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := ask(w.g.ServeConfirm, body); a.Code != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", name, a.Code)
		}
	}
	// Challenges themselves are few.
	sent := 0
	for range 600 {
		w.clock.advance(5 * time.Second)
		if a := ask(w.g.ServeProve, body); a.Code == http.StatusNoContent {
			sent++
		} else if a.Code != http.StatusTooManyRequests {
			t.Fatalf("got %d, want 429", a.Code)
		}
	}
	if sent > perProof {
		t.Errorf("got %d challenges in 50 min, want at most %d", sent, perProof)
	}
}

func TestEndpointsThatAreRefused(t *testing.T) {
	n := &names{says: map[string][][]string{"inside.example": {{"10.0.0.7"}}}}
	w := newWorld(t, func(c *GatewayConfig) { c.Dialer = &Dialer{Ports: []uint16{443}, Resolve: n.resolve} })
	private, auth := tickets.PushKeys(spentKey(t), [tickets.IDSize]byte{})
	for _, e := range []string{
		"https://127.0.0.1/x", "https://[::1]/x", "https://[::ffff:127.0.0.1]/x", "https://10.0.0.1/x", "https://169.254.169.254/latest", "https://[fe80::1]/x",
		"https://push.example:8443/x", "https://push.example:80/x", "https://push.example:0/x", "https://user@push.example/x", "https://user:pw@push.example/x",
		"https://push.example/x#y", "https:///x", "https://:443/x", "https://[::1/x", "https://push.example:99999/x", "https://inside.example/x", w.push.Endpoint("/x"),
	} {
		body, err := (&tickets.Prove{Service: tickets.UnifiedPush, Subscription: tickets.NewSubscription(e, private, auth)}).Append(nil)
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if a := ask(w.g.ServeProve, body); a.Code != http.StatusForbidden || strings.Contains(a.Body.String(), "example") {
			t.Errorf("%s: got %d %s, want 403 and no name", e, a.Code, a.Body)
		}
	}
	if w.push.Requests() != 0 {
		t.Errorf("got %d requests, want none", w.push.Requests())
	}
	// A ticket with a MAC does not help: it may have been given out before the
	// name led inside.
	for _, e := range []string{"https://10.0.0.1/x", "https://inside.example/x"} {
		d := &device{endpoint: e, secret: spentKey(t), mac: w.g.prover.MAC(e)}
		if n := w.open(w.ticket(d, 1, nil)); n != 0 {
			t.Errorf("%s: got %d pushes, want none", e, n)
		}
	}
}

func TestUnifiedPushIsAsked(t *testing.T) {
	for _, says := range []bool{true, false} {
		w := newWorld(t, nil)
		w.push.Unified = says
		private, auth := tickets.PushKeys(spentKey(t), [tickets.IDSize]byte{})
		body, err := (&tickets.Prove{Service: tickets.UnifiedPush, Subscription: tickets.NewSubscription(w.push.Endpoint("/up"), private, auth)}).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, pushes := http.StatusNoContent, 1
		if !says {
			want, pushes = http.StatusBadGateway, 0
		}
		if a := ask(w.g.ServeProve, body); a.Code != want || len(w.push.Pushes()) != pushes {
			t.Errorf("says so %v: got %d and %d pushes, want %d and %d", says, a.Code, len(w.push.Pushes()), want, pushes)
		}
	}
}

func TestWhatAPushServiceSays(t *testing.T) {
	for status, want := range map[int]struct {
		tries int
		pause time.Duration
	}{
		200: {1, 0}, 201: {1, 0}, 202: {1, 0}, 204: {1, 0},
		400: {1, 0}, 403: {1, 0}, 413: {1, 0},
		404: {1, time.Hour}, 410: {1, time.Hour},
		429: {1, 2 * time.Minute},
		301: {1, 0}, 302: {1, 0}, 307: {1, 0}, 308: {1, 0}, // and nothing is followed
		500: {2, 0}, 503: {2, 0},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := newWorld(t, nil)
			d := w.device("/p/one")
			w.push.Status, w.push.Retry = func(string) int { return status }, "120"
			at := w.push.Requests()
			w.open(w.ticket(d, 1, nil))
			if got := w.push.Requests() - at; got != want.tries {
				t.Errorf("got %d requests, want %d", got, want.tries)
			}
			for _, p := range w.push.Pushes() {
				if p.Path != "/p/one" {
					t.Errorf("%s was asked", p.Path)
				}
			}
			w.push.Status, w.push.Retry = nil, ""
			if want.pause > 0 {
				w.clock.advance(want.pause - time.Second)
				if n := w.open(w.ticket(d, 2, nil)); n != 0 {
					t.Errorf("just before the pause is over: got %d pushes, want none", n)
				}
			}
			w.clock.advance(debounce + maxJitter)
			if n := w.open(w.ticket(d, 3, nil)); n != 1 {
				t.Errorf("after the pause: got %d pushes, want 1", n)
			}
		})
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"": leastPause, "0": leastPause, "-5": leastPause, "120": 2 * time.Minute, "999999999": mostPause, "99999999999999999999": leastPause,
		"Wed, 21 Oct 2026 07:28:00 GMT": leastPause,
	} {
		if got := retryAfter(s); got != want {
			t.Errorf("%q: got %v, want %v", s, got, want)
		}
	}
}

// TestPushServiceNeedsItsAuthority: one that the system does not know is not
// pushed to.
func TestPushServiceNeedsItsAuthority(t *testing.T) {
	w := newWorld(t, func(c *GatewayConfig) { c.Roots = x509.NewCertPool() })
	private, auth := tickets.PushKeys(spentKey(t), [tickets.IDSize]byte{})
	body, err := (&tickets.Prove{Service: tickets.WebPush, Subscription: tickets.NewSubscription(w.push.Endpoint("/x"), private, auth)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(w.g.ServeProve, body); a.Code != http.StatusBadGateway || w.push.Requests() != 0 {
		t.Errorf("got %d and %d requests, want 502 and none", a.Code, w.push.Requests())
	}
}

func TestReplayAfterARestart(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, func(c *GatewayConfig) { c.Data = dir })
	d := w.device("/p/one")
	used := w.ticket(d, 1, nil)
	if n := w.open(used); n != 1 {
		t.Fatalf("got %d pushes, want 1", n)
	}
	w.stop()
	w.start(func(c *GatewayConfig) { c.Data = dir })
	if n := w.open(used); n != 0 {
		t.Errorf("after a restart: got %d pushes, want none", n)
	}
	// And the keys are those of the realm: what was given out before is good.
	if n := w.open(w.ticket(d, 2, nil)); n != 1 {
		t.Errorf("another ticket: got %d pushes, want 1", n)
	}
}

func TestBodiesOfOtherSizes(t *testing.T) {
	w := newWorld(t, nil)
	f := NewForwarder(&Dialer{}, [32]byte{}, w.g, w.clock.now)
	forward := func(rw http.ResponseWriter, r *http.Request) { f.Serve(rw, r, func([]byte) bool { return true }) }
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		size int
	}{
		"open": {w.g.ServeOpen, tickets.TicketSize}, "prove": {w.g.ServeProve, tickets.ProveSize}, "confirm": {w.g.ServeConfirm, tickets.ConfirmSize},
		"wake": {forward, tickets.TicketSize},
	} {
		for _, n := range []int{0, 1, c.size - 1, c.size + 1, 1 << 16} {
			if a := ask(c.h, make([]byte, n)); a.Code != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of %d: got %d, want 413", name, n, a.Code)
			}
		}
		if name == "open" {
			continue // alike, whatever it is
		}
		if a := ask(c.h, make([]byte, c.size)); a.Code != http.StatusBadRequest {
			t.Errorf("%s of zeros: got %d, want 400", name, a.Code)
		}
	}
}
