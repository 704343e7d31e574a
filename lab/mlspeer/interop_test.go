package mlspeer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Random steps for each suite, after the tour. ts-mls takes long for P-384 and
// P-521, whose signatures it makes in JavaScript.
var steps = map[uint16]int{1: 5, 2: 5, 3: 5, 5: 1, 7: 2, 0xf71a: 5}

// TestInterop has one group of both implementations do everything that MLS can, first
// each thing once from either side, then at random. After each step all members agree
// about the epoch authenticator, the exporter, the tree and the transcript.
//
// TACET_SEED repeats what a seed chose (though not the keys); TACET_LONG takes 20
// times as many steps.
func TestInterop(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TACET_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		must(t, err)
	}
	for _, suite := range suites {
		t.Run(fmt.Sprint("suite ", suite), func(t *testing.T) {
			t.Parallel()
			n := steps[suite]
			if os.Getenv("TACET_LONG") != "" {
				n *= 20
			}
			t.Logf("TACET_SEED=%d, %d steps", seed, n)
			w := newWorld(t, start(t), suite, seed)
			w.found()
			w.tour()
			for range n {
				w.step()
			}
			w.report()
		})
	}
}

func newWorld(t *testing.T, peer *Peer, suite uint16, seed uint64) *world {
	w := &world{
		T: t, rng: rand.New(rand.NewPCG(seed, uint64(suite))), suite: suite,
		counts: map[string]int{}, cannot: map[string]int{}, orphans: map[*person]uint32{},
	}
	for i := range 10 {
		name := fmt.Sprint("person ", i)
		c, err := peer.NewClient(suite, []byte(name))
		w.must(err)
		w.people = append(w.people, &person{actor: theirs{c}, name: name})
	}
	return w
}

// found has the first make a group and add four others.
func (w *world) found() {
	p := w.people[0]
	s, err := p.create(w.id("group"))
	w.must(err)
	p.seat = s
	pl := &plan{committer: p, added: w.people[1:5]}
	for _, p := range pl.added {
		pl.byValue = append(pl.byValue, Proposal{Type: "add", KeyPackage: w.bytes(p.keyPackage())})
	}
	w.finish(pl)
	w.check()
}

// report says what was done, and what could not be.
func (w *world) report() {
	for _, k := range slices.Sorted(maps.Keys(w.counts)) {
		w.Logf("%5d %s", w.counts[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(w.cannot)) {
		w.Logf("SKIPPED %d times: ts-mls cannot %s", w.cannot[k], k)
	}
}
