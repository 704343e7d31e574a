package mlspeer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Random steps for each suite, after the tour. P-384 and P-521 are slow, on both
// sides.
var steps = map[uint16]int{1: 60, 2: 40, 3: 60, 5: 10, 7: 15, 0xf71a: 50}

// TestInterop has one group of both implementations do everything that MLS can, first
// each thing once from either side, then at random. After each step all members agree
// about the epoch authenticator, the exporter, the tree and the transcript.
//
// TACET_SEED repeats what a seed chose (though not the keys); TACET_LONG takes 20
// times as many steps, in larger groups.
func TestInterop(t *testing.T) {
	seed, cannot := seed(t), &tally{}
	t.Cleanup(func() { cannot.report(t) }) // once all are through
	for _, suite := range suites {
		t.Run(fmt.Sprint("suite ", suite), func(t *testing.T) {
			t.Parallel()
			n := steps[suite]
			if testing.Short() {
				n /= 10
			}
			if long() {
				n *= 20
			}
			t.Logf("%d steps", n)
			w := newWorld(t, start(t), suite, seed)
			w.cannot = cannot
			w.found()
			w.tour()
			for range n {
				w.step()
			}
			w.report()
		})
	}
}

// seed is what a walk is chosen by.
func seed(t *testing.T) uint64 {
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("TACET_SEED"); s != "" {
		n = get[uint64](t)(strconv.ParseUint(s, 10, 64))
	}
	t.Logf("TACET_SEED=%d", n)
	return n
}

func newWorld(t *testing.T, peer *Peer, suite uint16, seed uint64) *world {
	w := &world{
		T: t, rng: rand.New(rand.NewPCG(seed, uint64(suite))), suite: suite,
		counts: map[string]int{}, cannot: &tally{}, orphans: map[*person]uint32{},
	}
	w.most = 7
	if long() {
		w.most = 18
	}
	for i := range w.most + 3 {
		name := fmt.Sprint("person ", i)
		w.people = append(w.people, &person{actor: w.actor(peer, i%2 == 0, name), name: name})
	}
	return w
}

func (w *world) actor(peer *Peer, ourselves bool, name string) actor {
	if ourselves {
		a, err := newOurs(w.suite, name)
		w.must(err)
		return a
	}
	c, err := peer.NewClient(w.suite, []byte(name))
	w.must(err)
	return theirs{c}
}

// found has the first make a group and add four others.
func (w *world) found(extensions ...Extension) {
	p := w.people[0]
	s, err := p.create(w.id("group"), extensions...)
	w.must(err)
	p.seat = s
	pl := &plan{committer: p, added: w.people[1:5]}
	for _, p := range pl.added {
		pl.byValue = append(pl.byValue, Proposal{Type: "add", KeyPackage: w.bytes(p.keyPackage(w.suite))})
	}
	w.finish(pl)
	w.check()
}

// report says what was done.
func (w *world) report() {
	for _, k := range slices.Sorted(maps.Keys(w.counts)) {
		w.Logf("%5d %s", w.counts[k], k)
	}
}

func long() bool { return os.Getenv("TACET_LONG") != "" }

// tally counts what ts-mls could not do, in all worlds.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *tally) report(t *testing.T) {
	for _, k := range slices.Sorted(maps.Keys(c.n)) {
		t.Logf("SKIPPED %d steps: ts-mls cannot %s", c.n[k], k)
	}
}
