package relay

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/waketest"
)

// waker is a device with an endpoint at a push service, proven to a gateway.
type waker struct {
	t       *testing.T
	gateway *running
	push    *waketest.Service
	got     chan waketest.Push
	ticket  wake.Ticket
	secret  key.Wake
}

func gatewayConfig(push *waketest.Service) Config {
	return Config{Roles: []string{RoleWake}, TLS: "on", WakeAllowPrivate: true, WakeRoots: push.Roots(), WakeContact: "mailto:op@gateway.example"}
}

func newWaker(t *testing.T, cfg func(*Config)) *waker {
	t.Helper()
	w := &waker{t: t, push: waketest.New(t), got: make(chan waketest.Push, 64)}
	w.push.Got = func(p waketest.Push) { w.got <- p }
	c := gatewayConfig(w.push)
	if cfg != nil {
		cfg(&c)
	}
	w.gateway = start(t, c)
	var err error
	if w.secret, err = key.New[key.WakeRole](bytes.Repeat([]byte{9}, 32)); err != nil {
		t.Fatal(err)
	}
	w.prove()
	return w
}

func (w *waker) subscription(id byte) wake.Subscription {
	private, auth := wake.PushKeys(w.secret, [wake.IDSize]byte{id})
	return wake.NewSubscription(w.push.Endpoint("/p/EndpointMarker"), private, auth)
}

// pushed waits for the next push and opens it with the keys of a ticket.
func (w *waker) pushed(id byte) wake.Message {
	w.t.Helper()
	select {
	case p := <-w.got:
		private, auth := wake.PushKeys(w.secret, [wake.IDSize]byte{id})
		m, err := wake.Decrypt(private, auth, p.Body)
		if err != nil {
			w.t.Fatalf("opening what was pushed: %v", err)
		}
		return m
	case <-time.After(time.Minute):
		w.t.Fatal("nothing was pushed")
		panic("unreachable")
	}
}

func (w *waker) prove() {
	w.t.Helper()
	body, err := (&wake.Prove{Service: wake.WebPush, Subscription: w.subscription(0)}).Append(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp, b := w.gateway.do(w.t, "POST", "/v1/wake/prove", body); resp.StatusCode != http.StatusNoContent {
		w.t.Fatalf("prove: got %d %s", resp.StatusCode, b)
	}
	m := w.pushed(0)
	if body, err = (&wake.Confirm{Code: m.Code, Endpoint: w.subscription(0).Endpoint}).Append(nil); err != nil {
		w.t.Fatal(err)
	}
	resp, mac := w.gateway.do(w.t, "POST", "/v1/wake/confirm", body)
	if resp.StatusCode != http.StatusOK || len(mac) != wake.MACSize {
		w.t.Fatalf("confirm: got %d %s", resp.StatusCode, mac)
	}
	w.ticket.MAC = [wake.MACSize]byte(mac)
}

func (w *waker) seal(id byte, change func(*wake.Gateway)) []byte {
	w.t.Helper()
	w.ticket.Expires, w.ticket.ID, w.ticket.Subscription = uint64(time.Now().Add(time.Hour).Unix()), [wake.IDSize]byte{id}, w.subscription(id)
	d := w.gateway.realm(w.t)
	g := wake.Gateway{Name: strings.TrimPrefix(w.gateway.url, "https://"), Realm: w.gateway.Fingerprint()}
	if change != nil {
		change(&g)
	}
	raw, err := wake.Seal(key.XWingPublic(d.Wake), g, &w.ticket)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

func TestTicketGoesFromRelayToGatewayToPushService(t *testing.T) {
	gatewayData, relayData := t.TempDir(), t.TempDir()
	for _, dir := range []string{gatewayData, relayData} {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := newWaker(t, func(c *Config) { c.Data = gatewayData })
	r := start(t, Config{Roles: []string{RoleLive}, WakeAllowPrivate: true, Data: relayData})
	ticket := w.seal(1, nil)
	if resp, b := r.do(t, "POST", "/v1/wake", ticket); resp.StatusCode != http.StatusAccepted || len(b) != 0 {
		t.Fatalf("got %d %q, want 202 and nothing", resp.StatusCode, b)
	}
	if m := w.pushed(1); m.Challenge {
		t.Error("got a challenge, want a wake")
	}
	// Once more, through both: accepted like the first and worth nothing. A good
	// ticket after it shows that it was looked at and dropped.
	if resp, _ := r.do(t, "POST", "/v1/wake", ticket); resp.StatusCode != http.StatusAccepted {
		t.Errorf("again: got %d, want 202", resp.StatusCode)
	}
	if resp, _ := w.gateway.do(t, "POST", "/v1/wake/open", ticket); resp.StatusCode != http.StatusAccepted {
		t.Errorf("again, to the gateway: got %d, want 202", resp.StatusCode)
	}
	if resp, _ := w.gateway.do(t, "POST", "/v1/wake/open", make([]byte, wake.TicketSize)); resp.StatusCode != http.StatusAccepted {
		t.Errorf("noise: got %d, want 202", resp.StatusCode)
	}
	r.stop()
	w.gateway.stop()
	// Neither wrote down whom it woke.
	for name, said := range map[string]string{"relay": r.log.String(), "gateway": w.gateway.log.String()} {
		if strings.Contains(said, "EndpointMarker") || strings.Contains(said, "127.0.0.1") || !strings.Contains(said, eventPrivate) {
			t.Errorf("log of the %s: got %s", name, said)
		}
	}
	for _, dir := range []string{gatewayData, relayData} {
		files := 0
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte("EndpointMarker")) || bytes.Contains(b, []byte("push.")) {
				t.Errorf("%s has an endpoint", e.Name())
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("got %d files, %v", files, err)
		}
	}
}

func TestTicketGoesToItsGatewayAlone(t *testing.T) {
	w := newWaker(t, nil)
	r := start(t, Config{Roles: []string{RoleLive}, WakeAllowPrivate: true})
	strict := start(t, Config{Roles: []string{RoleLive}})
	plain := start(t, Config{Roles: []string{RoleLive, RoleWake}, WakeAllowPrivate: true}) // no TLS, and another realm
	at := w.push.Requests()
	for name, c := range map[string]struct {
		by     *running
		ticket []byte
	}{
		"another key is pinned":      {r, w.seal(1, func(g *wake.Gateway) { g.Realm[0] ^= 1 })},
		"another relay has the name": {r, w.seal(2, func(g *wake.Gateway) { g.Name = strings.TrimPrefix(plain.url, "http://") })},
		"nobody has the name":        {r, w.seal(3, func(g *wake.Gateway) { g.Name = "127.0.0.1:1" })},
		"an address of its network":  {strict, w.seal(4, nil)},
		"it says that it is ours":    {r, w.seal(5, func(g *wake.Gateway) { g.Realm = r.Fingerprint() })},
		"for a gateway's own realm":  {plain, w.seal(6, func(g *wake.Gateway) { g.Realm = plain.Fingerprint() })},
	} {
		if resp, b := c.by.do(t, "POST", "/v1/wake", c.ticket); resp.StatusCode != http.StatusAccepted || len(b) != 0 {
			t.Errorf("%s: got %d %q, want 202 like all others", name, resp.StatusCode, b)
		}
	}
	for _, one := range []*running{r, strict, plain} {
		for one.forwarder.Under() > 0 && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	// A good one after them is pushed at once, and with its own keys: any of them
	// that had come through would have gone first, and this one shared its push.
	if resp, _ := r.do(t, "POST", "/v1/wake", w.seal(7, nil)); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("a good one: got %d", resp.StatusCode)
	}
	w.pushed(7)
	if n := w.push.Requests() - at; n != 1 {
		t.Errorf("got %d pushes, want that of the good one", n)
	}
}

func TestGatewayThatIsTheRelayItself(t *testing.T) {
	w := newWaker(t, func(c *Config) { c.Roles = []string{RoleLive, RoleWake} })
	if resp, _ := w.gateway.do(t, "POST", "/v1/wake", w.seal(1, nil)); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", resp.StatusCode)
	}
	w.pushed(1)
}

func TestWakeIsOnWhereItsRoleIs(t *testing.T) {
	live := start(t, Config{Roles: []string{RoleLive}})
	blob := start(t, Config{Roles: []string{RoleBlob}})
	for path, size := range map[string]int{"/v1/wake": wake.TicketSize, "/v1/wake/open": wake.TicketSize, "/v1/wake/prove": wake.ProveSize, "/v1/wake/confirm": wake.ConfirmSize} {
		for _, r := range []*running{live, blob} {
			if path == "/v1/wake" && r == live {
				continue
			}
			if resp, _ := r.do(t, "POST", path, make([]byte, size)); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s of a relay with %v: got %d, want 404", path, r.cfg.Roles, resp.StatusCode)
			}
		}
	}
	if d := live.realm(t); len(d.Wake) != 0 {
		t.Error("a relay without the role has a gateway's key")
	}
}

func TestWakeContact(t *testing.T) {
	for contact, ok := range map[string]bool{
		"": true, "mailto:op@relay.example": true, "https://relay.example/op": true,
		"op@relay.example": false, "mailto:": false, "http://relay.example": false, "https://": false, "mailto:" + strings.Repeat("x", 200): false,
	} {
		_, err := ParseConfig([]byte("wake_contact = '" + contact + "'"))
		if (err == nil) != ok {
			t.Errorf("%q: got %v, want good %v", contact, err, ok)
		}
	}
}

func TestDoctorTellsOfWaking(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want []Level
	}{
		"off":               {Config{Roles: []string{RoleLive}}, nil},
		"on":                {Config{Roles: []string{RoleWake}, WakeContact: "mailto:a@b"}, []Level{OK}},
		"without a contact": {Config{Roles: []string{RoleWake}}, []Level{Warn}},
		"private":           {Config{Roles: []string{RoleLive}, WakeAllowPrivate: true}, []Level{Warn}},
		"behind a proxy":    {Config{Roles: []string{RoleWake}, TLS: "proxy"}, []Level{Fail}},
		"private and on":    {Config{Roles: []string{RoleWake}, WakeContact: "mailto:a@b", WakeAllowPrivate: true}, []Level{Warn, OK}},
	} {
		var got []Level
		for _, check := range checkWaking(&c.cfg) {
			got = append(got, check.Level)
			if check.Level != OK && check.Hint == "" {
				t.Errorf("%s: %q has no hint", name, check.Says)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
}
