package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// raw is a connection to a relay that speaks the protocol and nothing else: no
// client of ours is in it.
type raw struct {
	t  *testing.T
	ws *websocket.Conn
}

func dialRaw(t *testing.T, relay, path string) *raw {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), "ws://"+relay+path, &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(wire.MaxFrame)
	t.Cleanup(func() { ws.CloseNow() })
	return &raw{t, ws}
}

func (r *raw) send(b []byte) {
	r.t.Helper()
	if err := r.ws.Write(r.t.Context(), websocket.MessageBinary, b); err != nil {
		r.t.Fatal(err)
	}
}

// read returns the next message, nil when the connection has ended.
func (r *raw) read() []byte {
	_, b, err := r.ws.Read(r.t.Context())
	if err != nil {
		return nil
	}
	return b
}

// realmKey asks a relay for its key.
func realmKey(t *testing.T, relay string) [32]byte {
	t.Helper()
	d, _, _, err := wire.ParseDescriptor(get(t, "http://"+relay+"/v1/realm"))
	if err != nil {
		t.Fatal(err)
	}
	return d.Realm
}

func get(t testing.TB, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("getting: %s, %v", resp.Status, err)
	}
	return b
}

// own is an address with the means to prove it.
type own struct {
	address wire.Address
	sign    func([]byte) []byte
}

// decoy returns an own address that belongs to nobody's route.
func decoy(t *testing.T) own {
	t.Helper()
	a, sign, err := addr.Decoy(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return own{a, func(m []byte) []byte {
		s, err := sign(m)
		if err != nil {
			t.Error(err)
		}
		return s
	}}
}

// greeted opens a watch connection and returns the relay's nonce.
func greeted(t *testing.T, relay string) (*raw, [wire.ServerNonceSize]byte) {
	t.Helper()
	w := dialRaw(t, relay, "/v1/watch")
	g := w.read()
	if len(g) != wire.GreetingSize || g[0] != byte(wire.FrameGreeting) {
		t.Fatalf("got greeting %x", g)
	}
	return w, [wire.ServerNonceSize]byte(g[1:])
}

// watchFrame is a watch frame with proofs.
func watchFrame(realm [32]byte, nonce [wire.ServerNonceSize]byte, period uint64, set ...own) []byte {
	b := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), 0}, period)
	for _, o := range set {
		p := wire.Proof{Realm: realm, Nonce: nonce, Address: o.address, Verb: wire.VerbWatch, Period: period}
		b = append(append(b, o.address[:]...), o.sign(p.Append(nil))...)
	}
	return b
}

// presentPeriod is the live period of a relay as it is started bare.
func presentPeriod() uint64 { return addr.PeriodAt(time.Now().Unix(), 1800) }

// watchRaw watches addresses until the test ends. Every cell goes to deliver,
// which says whether it is echoed.
func watchRaw(t *testing.T, relay string, deliver func(wire.Address) bool, set ...own) {
	t.Helper()
	realm := realmKey(t, relay)
	w, nonce := greeted(t, relay)
	w.send(watchFrame(realm, nonce, presentPeriod(), set...))
	if b := w.read(); len(b) != wire.WatchedSize || b[0] != byte(wire.FrameWatched) {
		t.Fatalf("got answer %x to a watch frame", b)
	}
	go func() {
		for {
			b := w.read()
			if b == nil {
				return
			}
			if b[0] != byte(wire.FrameDeliver) || len(b) != wire.DeliverSize {
				continue
			}
			if deliver(wire.Address(b[1+wire.EchoNonceSize:])) {
				echo := append([]byte{byte(wire.FrameEcho)}, b[1:1+wire.EchoNonceSize]...)
				if w.ws.Write(t.Context(), websocket.MessageBinary, echo) != nil {
					return
				}
			}
		}
	}()
}

// putter is a put connection that measures.
type putter struct {
	*raw
	next atomic.Uint64

	mu      sync.Mutex
	sent    map[uint64]time.Time
	answers map[uint64]putAnswer
	left    int
	done    chan struct{}
}

type putAnswer struct {
	took      time.Duration
	delivered int
}

// newPutter opens a put connection on which total cells will be put.
func newPutter(t *testing.T, relay string, total int) *putter {
	p := &putter{raw: dialRaw(t, relay, "/v1/put"), sent: map[uint64]time.Time{}, answers: map[uint64]putAnswer{}, left: total, done: make(chan struct{})}
	go func() {
		for {
			b := p.read()
			now := time.Now()
			if b == nil {
				return
			}
			p.mu.Lock()
			for ; len(b) >= wire.AnswerSize; b = b[wire.AnswerSize:] {
				a, err := wire.ParseAnswer(b[:wire.AnswerSize])
				id := binary.BigEndian.Uint64(a.ID[:])
				if err != nil || p.sent[id].IsZero() {
					continue
				}
				p.answers[id] = putAnswer{now.Sub(p.sent[id]), int(a.Delivered)}
				if p.left--; p.left == 0 {
					close(p.done)
				}
			}
			p.mu.Unlock()
		}
	}()
	return p
}

// put puts one cell and returns its id.
func (p *putter) put(a wire.Address, cell *wire.Cell) uint64 {
	id := p.next.Add(1)
	b := binary.BigEndian.AppendUint64(make([]byte, 0, wire.PutSize), id)
	b = append(append(b, a[:]...), cell[:]...)
	p.mu.Lock()
	p.sent[id] = time.Now()
	p.mu.Unlock()
	p.send(b)
	return id
}

// wait waits until everything was answered.
func (p *putter) wait() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("%d puts got no answer", p.left)
	}
}

// putAll puts cells to an address, one after the other, and returns what each was
// counted for.
func putAll(t *testing.T, relay string, a wire.Address, cells ...*wire.Cell) (delivered []int) {
	t.Helper()
	p := newPutter(t, relay, len(cells))
	var ids []uint64
	for _, c := range cells {
		ids = append(ids, p.put(a, c))
	}
	p.wait()
	for _, id := range ids {
		delivered = append(delivered, p.answers[id].delivered)
	}
	return delivered
}

// randomCell returns a cell of random bytes.
func randomCell() *wire.Cell {
	var c wire.Cell
	rand.Read(c[:])
	return &c
}

// route is one route with both halves, for tests that play its ends.
type route struct {
	owner key.Owner
	offer addr.Offer
	chain *addr.Chain
}

func newRoute(t *testing.T, birth uint64) *route {
	t.Helper()
	owner, public, err := addr.NewOwner(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := key.Generate[key.RouteRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &route{owner: owner, offer: addr.Offer{Public: public, Secret: secret, Birth: birth, Period: 1800}}
	r.chain = addr.NewChain(&r.offer, addr.Live)
	return r
}

func (r *route) at(t *testing.T, period uint64) *addr.Period {
	t.Helper()
	p, err := r.chain.At(period)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// owned returns the route's address in a period, to be proven by its owner.
func (r *route) owned(t *testing.T, period uint64) own {
	p := r.at(t, period)
	return own{p.Address, func(m []byte) []byte {
		s, err := p.Sign(r.owner, rand.Reader, m)
		if err != nil {
			t.Error(err)
		}
		return s[:]
	}}
}

// cell seals a body under a route for a period.
func (r *route) cell(t *testing.T, period uint64, b *wire.Body) *wire.Cell {
	t.Helper()
	p := r.at(t, period)
	c, err := sealed.SealCell(p.Seal, p.Address, b, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startTapped runs a relay in this process behind a tap that writes down all.
func startTapped(t *testing.T) *Tap {
	t.Helper()
	tap, err := NewTap(startRelay(t), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Close() })
	return tap
}

// guestOf makes a person of a relay, who comes from a network address of their
// own.
func guestOf(t *testing.T, name, relay, from string) *client.Client {
	t.Helper()
	if !here(from) {
		t.Fatalf("this system has no address %s to tell people apart by", from)
	}
	return visitor(t, name, relay, wayFrom(from))
}

// visitor makes a person of a relay who reaches it by a network.
func visitor(t *testing.T, name, relay string, n client.Network) *client.Client {
	t.Helper()
	o := client.Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: n, WeakVault: true, AckMean: 100 * time.Millisecond}
	if _, err := client.Create(t.Context(), o, client.NewProfile{Name: name, Relay: relay}); err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, c.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return c
}

// acquaint makes contacts of two people.
func acquaint(t *testing.T, host, visitor *client.Client, text string) (link string) {
	t.Helper()
	inv, err := host.NewInvite(t.Context(), client.InviteOptions{})
	if err != nil || !inv.Online {
		t.Fatalf("inviting: %+v, %v", inv, err)
	}
	if _, err := visitor.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: text}); err != nil {
		t.Fatal(err)
	}
	all, err := visitor.Read(t.Context(), client.Query{})
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	reach(t, visitor, all[0], client.OnDevice)
	until(t, "the visitor to be accepted", func() bool {
		c, err := visitor.Contacts(t.Context())
		return err == nil && len(c) == 1 && c[0].State == "accepted"
	})
	return inv.Link
}

// until waits until something is so.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// write sends a text and waits until it is where it should be.
func write(t *testing.T, c *client.Client, to, text string, s client.State) client.Event {
	t.Helper()
	e, err := c.Send(t.Context(), client.Outgoing{To: to, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	reach(t, c, e, s)
	return e
}

// peerIs reports whether a sighting belongs to the person who comes from an address.
func peerIs(s *Sighting, from string) bool { return bytes.HasPrefix([]byte(s.Peer), []byte(from+":")) }

// puts counts a person's messages with puts in them since a moment.
func puts(tap *Tap, from string, since time.Time) (n int) {
	for _, s := range tap.Seen(since) {
		if peerIs(&s, from) && s.Kind() == KindPut {
			n++
		}
	}
	return n
}

// counted returns what the answers to a person's puts said since a moment.
func counted(tap *Tap, from string, since time.Time) (delivered []int) {
	put := map[string]bool{}
	for _, s := range tap.Seen(since) {
		if !peerIs(&s, from) {
			continue
		}
		if s.Kind() == KindPut {
			for b := s.Payload; len(b) > 0; b = b[wire.PutSize:] {
				put[fmt.Sprint(s.Peer, b[:wire.PutIDSize])] = true
			}
		}
		for _, a := range s.Answers() {
			if put[fmt.Sprint(s.Peer, a.ID[:])] {
				delivered = append(delivered, int(a.Delivered))
			}
		}
	}
	return delivered
}

// echoedInTime reports whether the first cell that a person put since a moment
// was echoed well before its answer left, as the relay must have seen it: a
// second of the 1.4 within which an echo counts was left over. A cell that is
// replayed to a watch that just begins counts for nobody.
func echoedInTime(tap *Tap, from string, since time.Time) bool {
	var cell wire.Cell
	var put time.Time
	echo := map[string]bool{} // of the cell, by connection
	watching := map[string]bool{}
	for _, s := range tap.Seen(time.Time{}) {
		switch s.Kind() {
		case KindWatched:
			watching[s.Peer] = true
		case KindPut:
			if put.IsZero() && !s.At.Before(since) && peerIs(&s, from) {
				put, cell = s.At, s.Cells()[0].Cell
			}
		case KindCell:
			if c := s.Cells(); !put.IsZero() && watching[s.Peer] && len(c) == 1 && c[0].Cell == cell {
				echo[fmt.Sprint(s.Peer, s.Payload[1:][:wire.EchoNonceSize])] = true
			}
		case KindEcho:
			for b := s.Payload[1:]; len(b) >= wire.EchoNonceSize; b = b[wire.EchoNonceSize:] {
				if echo[fmt.Sprint(s.Peer, b[:wire.EchoNonceSize])] && s.At.Sub(put) < 400*time.Millisecond {
					return true
				}
			}
		}
	}
	return false
}

func hexOf(b []byte) string { return fmt.Sprintf("%x", b) }

func newChain(o *addr.Offer) *addr.Chain { return addr.NewChain(o, addr.Live) }
