package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/memory"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// realm is a relay inside the test: a memory network, and blobs. Whoever holds
// it is its operator, and may lie. In a synctest bubble all of its time is virtual.
type realm struct {
	net    *memory.Network
	pin    [32]byte
	period uint64 // live period, seconds

	mu    sync.Mutex // guards all below
	shows [32]byte   // fingerprint of the key that it has; pin unless it was replaced
	blobs map[wire.BlobID][]byte
	used  map[wire.BlobID][32]byte // ids that there ever were, and the hash of what was there
	count map[string]int           // what was asked of it, by call
	// cell is told every cell before it is put, and may change or drop it.
	cell func(by string, p *transport.Put) bool
	// fail, if set, may let a put fail before it leaves.
	fail func(by string, p *transport.Put) error
	// answer is told every answer to a put.
	answer func(by string, p transport.Put, r transport.Receipt, err error)
	// unix, if set, replaces every signed time.
	unix func() int64
	// watch, if set, may refuse a watch.
	watch func(by string, w *transport.Watch) error
	title string // its relay's name, empty: realmName
	toll  *toll  // its gate; nil until wantsTokens was called
	cut   string // whose connections are cut
	// readBlob may change what a device reads; blobFails may let its calls fail.
	readBlob  func(by string, id wire.BlobID, b []byte) []byte
	blobFails func(by string) error
	lot       *lot // what it keeps for those who are away; off unless parks was called
}

const realmName = "relay.test"

// newRealm makes a relay whose live period is so many seconds long.
func newRealm(period uint64) *realm {
	r := &realm{
		net: memory.New(memory.Options{Live: time.Duration(period) * time.Second}), pin: sha256.Sum256([]byte("realm key")), period: period,
		blobs: map[wire.BlobID][]byte{}, used: map[wire.BlobID][32]byte{}, count: map[string]int{}, lot: newLot(),
	}
	r.shows = r.pin
	return r
}

// called is the name of its relay.
func (r *realm) called() string {
	if r.title != "" {
		return r.title
	}
	return realmName
}

// lie changes what the relay does.
func (r *realm) lie(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// blob returns what the relay keeps.
func (r *realm) blob(id wire.BlobID) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blobs[id]
}

func (r *realm) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[what]
}

// asked counts a call and says whether the relay has the pinned key.
func (r *realm) asked(what string, pin [32]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shows != pin {
		r.count["refused "+what]++
		return transport.ErrIdentity
	}
	r.count[what]++
	return nil
}

// way is the Network of one device.
type way struct {
	*realm
	name string
}

func (w *way) Proxy() string { return "" }

func (w *way) Identify(context.Context, string) ([32]byte, error) { return w.shows, nil }

func (w *way) Open(_ string, pin [32]byte) (transport.Transport, error) {
	return &endpoint{Endpoint: w.net.Endpoint(w.name), realm: w.realm, name: w.name, pin: pin}, nil
}

func (w *way) FetchUnpinned(_ context.Context, _ string, id wire.BlobID) ([]byte, [32]byte, error) {
	w.realm.mu.Lock()
	defer w.realm.mu.Unlock()
	b, ok := w.blobs[id]
	if !ok {
		return nil, w.shows, transport.ErrNothing
	}
	return b, w.shows, nil
}

// endpoint is a Relay over the memory network.
type endpoint struct {
	*memory.Endpoint
	*realm
	name string
	pin  [32]byte

	payer   transport.Payer
	fetched time.Time // guarded by the realm's mu
}

func (e *endpoint) Descriptor(ctx context.Context) (wire.Descriptor, error) {
	if err := e.asked("descriptor", e.pin); err != nil {
		return wire.Descriptor{}, err
	}
	d := wire.Descriptor{Version: 1, Period: e.period, Ping: 60, Roles: []string{"live", "blob"}, Gate: "open"}
	if t := e.tolled(); t != nil {
		a := t.describe(e.name, &d)
		if e.payer != nil {
			if err := e.payer.Announced(ctx, a); err != nil {
				e.forget()
				return wire.Descriptor{}, err
			}
		}
		e.realm.mu.Lock()
		e.fetched = time.Now()
		e.realm.mu.Unlock()
	}
	return d, nil
}

func (e *endpoint) PutBlob(ctx context.Context, p *wire.BlobPut) (wire.Receipt, error) {
	if err := e.asked("put blob", e.pin); err != nil {
		return wire.Receipt{}, err
	}
	if err := e.blobFault(); err != nil {
		return wire.Receipt{}, err
	}
	if err := e.pay(ctx, transport.PayBlob, p.ID[:]); err != nil {
		return wire.Receipt{}, err
	}
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	if hash, used := e.used[p.ID]; used && (hash != sha256.Sum256(p.Content) || e.blobs[p.ID] == nil) {
		return wire.Receipt{ID: p.ID, Hash: hash}, transport.ErrRefused
	}
	e.blobs[p.ID], e.used[p.ID] = p.Content, sha256.Sum256(p.Content)
	return wire.Receipt{ID: p.ID, Hash: sha256.Sum256(p.Content)}, nil
}

func (e *endpoint) GetBlob(_ context.Context, id wire.BlobID) ([]byte, error) {
	if err := e.asked("get blob", e.pin); err != nil {
		return nil, err
	}
	if err := e.blobFault(); err != nil {
		return nil, err
	}
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	b, ok := e.blobs[id]
	if !ok {
		return nil, transport.ErrNothing
	}
	if e.readBlob != nil {
		b = e.readBlob(e.name, id, b)
	}
	return b, nil
}

// blobFault says whether calls about blobs fail now.
func (e *endpoint) blobFault() error {
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	if e.blobFails == nil {
		return nil
	}
	return e.blobFails(e.name)
}

func (e *endpoint) GetSlot(ctx context.Context, id wire.BlobID) ([]byte, *wire.Receipt, error) {
	b, err := e.GetBlob(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	return b, &wire.Receipt{ID: id, Hash: sha256.Sum256(b)}, nil
}

func (e *endpoint) DeleteBlob(_ context.Context, id wire.BlobID, _ [32]byte) error {
	if err := e.asked("delete blob", e.pin); err != nil {
		return err
	}
	if err := e.blobFault(); err != nil {
		return err
	}
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	delete(e.blobs, id)
	return nil
}

func (e *endpoint) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	if err := e.asked("put", e.pin); err != nil {
		return transport.Receipt{}, err
	}
	e.realm.mu.Lock()
	f, answer, fail := e.cell, e.answer, e.fail
	e.realm.mu.Unlock()
	if e.isCut() {
		return transport.Receipt{}, errors.New("the connection broke")
	}
	if fail != nil {
		if err := fail(e.name, &p); err != nil {
			return transport.Receipt{}, err
		}
	}
	if err := e.context(ctx, p.Isolate); err != nil {
		return transport.Receipt{}, err
	}
	cell := *p.Cell
	p.Cell = &cell
	if f != nil && !f(e.name, &p) {
		p.Address = transport.Address{} // to nobody
	}
	r, err := e.Endpoint.Put(ctx, p)
	if answer != nil {
		answer(e.name, p, r, err)
	}
	return r, err
}

func (e *endpoint) Watch(ctx context.Context, w transport.Watch) error {
	if err := e.asked("watch", e.pin); err != nil {
		return err
	}
	e.realm.mu.Lock()
	unix, refuse := e.unix, e.watch
	e.realm.mu.Unlock()
	if refuse != nil {
		if err := refuse(e.name, &w); err != nil {
			return err
		}
	}
	if err := e.pay(ctx, transport.PayWatch, make([]byte, 16)); err != nil {
		return err
	}
	if told := w.Time; unix != nil && told != nil {
		w.Time = func(int64) { told(unix()) }
	}
	return e.Endpoint.Watch(ctx, w)
}

// person is one profile that runs.
type person struct {
	*Client
	t    *testing.T
	name string
	opt  Options
	stop func()
	ends error // what Close may end with
}

// join makes a person's profile and runs it.
func (r *realm) join(t *testing.T, name string) *person {
	t.Helper()
	p := &person{t: t, name: name, opt: Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: &way{realm: r, name: name}, WeakVault: true}}
	if _, err := Create(t.Context(), p.opt, NewProfile{Name: name, Relay: realmName}); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

// start opens the profile and runs it until stop.
func (p *person) start() {
	p.t.Helper()
	var err error
	if p.Client, err = Open(p.t.Context(), p.opt); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("running: %v", err)
		}
		if err := p.Close(); err != nil && (p.ends == nil || !errors.Is(vaultError(err), p.ends)) {
			p.t.Errorf("closing: %v", err)
		}
	})
}

// send sends a text and returns its event.
func (p *person) send(to, text string) Event {
	p.t.Helper()
	e, err := p.Send(p.t.Context(), Outgoing{To: to, Text: text})
	if err != nil {
		p.t.Fatalf("sending %q: %v", text, err)
	}
	return e
}

// state returns the state of a message.
func (p *person) state(e Event) State {
	p.t.Helper()
	got, err := p.event(p.t.Context(), e.Seq)
	if err != nil {
		p.t.Fatal(err)
	}
	return got.State
}

// texts returns what was received, in order, or the notices.
func (p *person) texts(state State) (out []string) {
	p.t.Helper()
	all, err := p.Read(p.t.Context(), Query{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range all {
		if e.State == state {
			out = append(out, e.Text)
		}
	}
	return out
}

// meet makes contacts of two people, and waits until both know it.
func meet(t *testing.T, a, b *person) {
	t.Helper()
	inv, err := a.NewInvite(t.Context(), InviteOptions{})
	if err != nil || !inv.Online {
		t.Fatalf("inviting: %+v, %v", inv, err)
	}
	if _, err := b.Accept(t.Context(), AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	for _, p := range []*person{a, b} {
		if c, err := p.Contacts(t.Context()); err != nil || len(c) == 0 || c[len(c)-1].State != "accepted" {
			t.Fatalf("contacts are %+v, %v", c, err)
		}
	}
}

// opened opens a cell that was put to an address of the person.
func (p *person) opened(a transport.Address, c *transport.Cell) (wire.Body, bool) {
	p.keys.mu.Lock()
	m, ok := p.keys.mine[wire.Address(a)]
	p.keys.mu.Unlock()
	if !ok {
		return wire.Body{}, false
	}
	b, err := sealed.OpenCell(m.seal, wire.Address(a), (*wire.Cell)(c))
	return b, err == nil
}
