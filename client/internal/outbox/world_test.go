package outbox

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// answerAfter is when the scripted transport answers, as a relay does.
const answerAfter = 1500 * time.Millisecond

var errLink = errors.New("link is down")

// try is one put that the scripted transport saw.
type try struct {
	at   time.Time
	id   int64
	peer int64
	cell transport.Cell
	put  transport.CellID
}

// answer is what the script says to one put.
type answer struct {
	receipt transport.Receipt
	err     error
	after   time.Duration // 0: answerAfter
	hang    bool          // no answer before ctx ends
}

var (
	tookIt   = answer{receipt: transport.Receipt{Delivered: 1, Complete: true}}
	nobodyIn = answer{receipt: transport.Receipt{Complete: true}}
	unsure   = answer{receipt: transport.Receipt{}}
	down     = answer{err: errLink, after: time.Millisecond}
	hangs    = answer{hang: true}
)

// world is a scripted transport, store and sealer in one.
type world struct {
	t      *testing.T
	mu     sync.Mutex
	rows   map[int64]Item
	hellos map[int64]bool
	route  map[int64]bool // peers without one are false
	script func(try) answer
	caps   transport.Caps

	tries   []try
	flying  map[int64]int // per peer
	most    map[int64]int
	all     int
	mostAll int
	sealed  uint64
	changes []State
	trouble []error
	ids     []int64 // of trouble
	ended   []int64
	endings int // calls of Expire

	storeErr, markErr, sealErr, endErr error
	sealing                            func(id int64) // called in Seal
	empty                              bool           // Seal gives no cells
	transport.Transport
}

func newWorld(t *testing.T, script func(try) answer) *world {
	return &world{
		t: t, rows: map[int64]Item{}, hellos: map[int64]bool{}, route: map[int64]bool{}, script: script,
		caps: transport.Caps{LiveCount: true}, flying: map[int64]int{}, most: map[int64]int{},
	}
}

func (w *world) Caps() transport.Caps { return w.caps }

func (w *world) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	w.mu.Lock()
	tr := try{
		at: time.Now(), id: int64(binary.BigEndian.Uint64(p.Cell[:])), peer: int64(binary.BigEndian.Uint64(p.Address[:])),
		cell: *p.Cell, put: p.ID,
	}
	w.tries = append(w.tries, tr)
	w.flying[tr.peer]++
	w.all++
	w.most[tr.peer] = max(w.most[tr.peer], w.flying[tr.peer])
	w.mostAll = max(w.mostAll, w.all)
	a := w.script(tr)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.flying[tr.peer]--
		w.all--
		w.mu.Unlock()
	}()
	if a.after == 0 {
		a.after = answerAfter
	}
	if a.hang {
		<-ctx.Done()
		return transport.Receipt{}, ctx.Err()
	}
	select {
	case <-time.After(a.after):
		return a.receipt, a.err
	case <-ctx.Done():
		return transport.Receipt{}, ctx.Err()
	}
}

func (w *world) Items(context.Context) ([]Item, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Item
	for _, it := range w.rows {
		list = append(list, it)
	}
	return list, w.storeErr
}

func (w *world) Mark(_ context.Context, id int64, s State) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.markErr != nil {
		return w.markErr
	}
	it, ok := w.rows[id]
	if ok && s <= it.State {
		w.t.Errorf("marking copy %d: got state %d after %d, want only upwards", id, s, it.State)
	}
	if ok {
		it.State = s
		w.rows[id] = it
	}
	return nil
}

func (w *world) Expire(_ context.Context, ids []int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endings++
	if w.endErr != nil {
		return w.endErr
	}
	w.ended = append(w.ended, ids...)
	return nil
}

func (w *world) Seal(_ context.Context, id int64) ([]Sealed, error) {
	w.mu.Lock()
	it, ok := w.rows[id]
	err, hook := w.sealErr, w.sealing
	noRoute, hello := w.route[it.Peer], w.hellos[id]
	w.mu.Unlock()
	if hook != nil {
		hook(id)
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrGone
	case noRoute && !hello:
		return nil, ErrNoRoute
	}
	if w.empty {
		return nil, nil
	}
	n := 1
	if hello {
		n = 4
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var cells []Sealed
	for range n {
		w.sealed++
		c := &transport.Cell{}
		binary.BigEndian.PutUint64(c[:], uint64(id))
		binary.BigEndian.PutUint64(c[8:], w.sealed)
		s := Sealed{Cell: c}
		binary.BigEndian.PutUint64(s.ID[:], w.sealed)
		binary.BigEndian.PutUint64(s.Address[:], uint64(it.Peer))
		cells = append(cells, s)
	}
	return cells, nil
}

// say sets the script, for puts from now on.
func (w *world) say(a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script = func(try) answer { return a }
}

// add commits a row and returns it.
func (w *world) add(id, peer int64) Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	it := Item{ID: id, Peer: peer, Order: id, State: Queued}
	w.rows[id] = it
	return it
}

// of returns the tries so far of one copy, or of all copies for 0.
func (w *world) of(id int64) []try {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.tries), func(t try) bool { return id != 0 && t.id != id })
}

// state returns a row's state as stored.
func (w *world) state(id int64) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows[id].State
}

func (w *world) troubles() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.trouble)
}

// start runs an outbox over the world until the test ends.
func (w *world) start(random io.Reader) *Outbox {
	if random == nil {
		random = rand.Reader
	}
	o := New(Config{
		Transport: w, Store: w, Sealer: w, Rand: random,
		Changed: func(id int64, s State) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changes = append(w.changes, s)
		},
		Trouble: func(id, peer int64, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.trouble = append(w.trouble, err)
			w.ids = append(w.ids, id)
		},
	})
	w.run(o)
	return o
}

func (w *world) run(o *Outbox) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("running: got %v, want nil", err)
		}
	})
}

// fixed is randomness of one byte: 0x00 makes every delay half as long, 0xff
// half as long again.
type fixed byte

func (f fixed) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(f)
	}
	return len(b), nil
}

// bubble runs a test in virtual time, with a context that ends in it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// pass lets virtual time pass and everything settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
