package bus_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

func testRealm(t testing.TB) bus.Realm {
	t.Helper()
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return bus.NewRealm(k)
}

// world is some nodes of one realm with watchers and puts, and the truth about them.
type world struct {
	t         testing.TB
	broadcast int
	exact     bool                 // time is virtual: nothing is late
	link      func(n int) bus.Link // of the node with that number
	began     time.Time

	mu     sync.Mutex
	nodes  []*node
	truths map[uint64]*truth // by the number in the cell
	cells  uint64
	keep   bool           // every cell that is put
	kept   []window.Entry // since
}

// truth is what became of one cell.
type truth struct {
	echoes atomic.Int32 // in time
	shaky  atomic.Bool  // the machine stalled: nobody knows what was in time
}

func newWorld(t testing.TB, broadcast int, link func(n int) bus.Link) *world {
	w := &world{t: t, broadcast: broadcast, link: link, began: time.Now(), truths: map[uint64]*truth{}}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.crash()
		}
	})
	return w
}

// node is one relay as the bus sees it: watchers, a window, and nothing else.
type node struct {
	w    *world
	mesh *bus.Mesh
	win  *window.Window
	stop context.CancelFunc
	done chan struct{}
	err  error

	mu       sync.Mutex
	watchers map[wire.Address][]*watcher
}

// watcher echoes after a while, or never.
type watcher struct {
	delay time.Duration // below 0: never
	got   []uint64
	past  []uint64
}

// start starts another node, and waits until it has joined if told to.
func (w *world) start(join bool) *node {
	w.t.Helper()
	m, err := bus.New(bus.Config{Realm: testRealm(w.t), Link: w.link(len(w.nodes)), Broadcast: w.broadcast})
	if err != nil {
		w.t.Fatal(err)
	}
	n := &node{w: w, mesh: m, done: make(chan struct{}), watchers: map[wire.Address][]*watcher{}}
	n.win = window.New(8<<20, n.now())
	var ctx context.Context
	ctx, n.stop = context.WithCancel(context.Background())
	go func() {
		defer close(n.done)
		n.err = m.Run(ctx, n)
	}()
	w.nodes = append(w.nodes, n)
	if join {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m.Join(ctx)
	}
	return n
}

// crash ends a node without a word.
func (n *node) crash() {
	n.stop()
	<-n.done
}

// leave ends a node as an operator would.
func (n *node) leave() {
	n.mu.Lock()
	n.watchers = map[wire.Address][]*watcher{}
	n.mu.Unlock()
	n.mesh.Leave(context.Background())
	n.crash()
}

func (n *node) now() int64 { return int64(time.Since(n.w.began)) + 1 }

// watch adds a watcher, and returns how far back its replay reaches.
func (n *node) watch(a wire.Address, delay time.Duration) (*watcher, time.Duration) {
	x := &watcher{delay: delay}
	n.mu.Lock()
	n.watchers[a] = append(n.watchers[a], x)
	n.mu.Unlock()
	reach := n.mesh.Watch([]wire.Address{a}, func(e *window.Entry) bool {
		x.past = append(x.past, number(e))
		return true
	})
	return x, min(reach, n.Past(&a, func(e *window.Entry) { x.past = append(x.past, number(e)) }))
}

func (n *node) unwatch(a wire.Address) {
	n.mu.Lock()
	delete(n.watchers, a)
	n.mu.Unlock()
	n.mesh.Unwatch([]wire.Address{a})
}

// number returns the number that a cell of ours holds.
func number(e *window.Entry) uint64 { return binary.BigEndian.Uint64(e[wire.AddressSize:]) }

// visit counts as the hub does.
type visit struct {
	all    int
	echoes atomic.Int32
}

func (v *visit) Echoes() (int, bool) { n := int(v.echoes.Load()); return n, n == v.all }

// deliver gives a cell to the watchers here. Echoes in time go to count, and
// into the truth.
func (n *node) deliver(e *window.Entry, count func()) (watchers int) {
	n.win.Add(n.now(), e)
	id := number(e)
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.watchers[wire.Address(e[:])]
	for _, x := range list {
		x.got = append(x.got, id)
		if x.delay < 0 {
			continue
		}
		came := time.Now()
		time.AfterFunc(x.delay, func() {
			n.w.mu.Lock()
			truth := n.w.truths[id]
			n.w.mu.Unlock()
			took := time.Since(came)
			if took > x.delay+50*time.Millisecond {
				truth.shaky.Store(true)
			}
			if took <= wire.EchoWithin {
				truth.echoes.Add(1)
				count()
			}
		})
	}
	return len(list)
}

func (n *node) Carry(cells []window.Entry) []bus.Visit {
	all := make([]bus.Visit, len(cells))
	for i := range cells {
		v := new(visit)
		if v.all = n.deliver(&cells[i], func() { v.echoes.Add(1) }); v.all > 0 {
			all[i] = v
		}
	}
	return all
}

func (n *node) Keep(cells []window.Entry) {
	for i := range cells {
		n.win.Add(n.now(), &cells[i])
	}
}

func (n *node) Past(a *wire.Address, yield func(*window.Entry)) time.Duration {
	e := make([]window.Entry, 256)
	k, _ := n.win.Read(e, n.now(), a, 0)
	for i := range e[:k] {
		yield(&e[i])
	}
	return n.win.Reach(n.now(), a)
}

func (n *node) Lost() { n.win.Lost(n.now()) }

func (n *node) Watches(a *wire.Address) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.watchers[*a]) > 0
}

func (n *node) Addresses(yield func(*wire.Address)) {
	n.mu.Lock()
	var all []wire.Address
	for a := range n.watchers {
		all = append(all, a)
	}
	n.mu.Unlock()
	for _, a := range all {
		yield(&a)
	}
}

// answer is what a client is told of its put.
type answer struct {
	id       uint64
	count    int
	complete bool
	truth    *truth
}

type tally struct{ asked, delivered atomic.Int32 }

func (t *tally) Ask(n int) { t.asked.Add(int32(n)) }
func (t *tally) Answer(n int) {
	t.delivered.Add(int32(n))
	t.asked.Add(-1)
}

// put puts a cell at a node. Its answer comes after the constant time.
func (n *node) put(a wire.Address) <-chan answer {
	var e window.Entry
	copy(e[:], a[:])
	rand.Read(e[wire.AddressSize:])
	w := n.w
	w.mu.Lock()
	w.cells++
	id, truth := w.cells, new(truth)
	w.truths[id] = truth
	w.mu.Unlock()
	binary.BigEndian.PutUint64(e[wire.AddressSize:], id)
	w.mu.Lock()
	if w.keep {
		w.kept = append(w.kept, e)
	}
	w.mu.Unlock()
	t := new(tally)
	n.mesh.Publish(&e, t)
	n.deliver(&e, func() { t.delivered.Add(1) })
	c := make(chan answer, 1)
	time.AfterFunc(wire.AnswerAfter, func() {
		complete := t.asked.Load() == 0
		c <- answer{id, int(t.delivered.Load()), complete, truth}
	})
	return c
}

func address() (a wire.Address) {
	rand.Read(a[:])
	return a
}

// check holds an answer against the truth, once nothing can be echoed any more.
func (w *world) check(a answer) {
	w.t.Helper()
	truth := int(a.truth.echoes.Load())
	if a.count > truth {
		w.t.Errorf("cell %d: got %d delivered, above the truth of %d", a.id, a.count, truth)
	}
	if a.complete && a.count != truth && !a.truth.shaky.Load() {
		w.t.Errorf("cell %d: got %d delivered and complete, want the truth of %d", a.id, a.count, truth)
	}
}

// until waits for a condition with much patience.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// complete puts at a node until an answer is complete, and returns that.
func (n *node) complete(a wire.Address) answer {
	n.w.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		got := <-n.put(a)
		n.w.check(got)
		if got.complete {
			return got
		}
		if time.Now().After(end) {
			n.w.t.Fatal("waited in vain for a complete answer")
		}
	}
}
