package group_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// story is an hour in which a group is made, grows, talks, shrinks and talks, while two
// admins change it at once. It checks that all is well in the end.
func story(t *testing.T, seed uint64, begin func(w *world, p []*device)) (w *world, p []*device) {
	w = newWorld(t, seed)
	p = w.people("ann", "ben", "cat", "dan")
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	if begin != nil {
		begin(w, p)
	}
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(3 * time.Minute)
	ann.send(id, "one")
	ann.want(id, roster.Wish{Kind: roster.Promote, Root: ben.person()})
	w.settle(10 * time.Minute)
	if r := ben.record(id); r != nil && r.State == group.Active {
		ben.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"})
		ben.send(id, "two")
	}
	ann.add(id, dan)
	w.settle(10 * time.Minute)
	cat.send(id, "three")
	ann.remove(id, cat)
	w.settle(5 * time.Minute)
	ben.send(id, "four")
	w.rough = false
	w.settle(24 * time.Hour)
	w.together(id, ann, ben, dan)
	for _, c := range []struct {
		text string
		by   *device
		to   []*device
	}{{"one", ann, []*device{ben, cat}}, {"two", ben, []*device{ann, cat}}, {"four", ben, []*device{ann, dan}}} {
		for _, d := range c.to {
			if d.got(c.text) != 1 {
				t.Errorf("%s got %q %d times, want once", d.name, c.text, d.got(c.text))
			}
		}
	}
	if cat.got("four") != 0 {
		t.Error("cat read what was said after she was removed")
	}
	if r := ann.record(id); r.Name != "runs" || cat.record(id).State != group.Out || len(r.Wishes) != 0 {
		t.Errorf("got name %q, %d wishes and cat in state %d, want runs, none and out", r.Name, len(r.Wishes), cat.record(id).State)
	}
	for _, d := range []*device{ann, ben, dan} {
		if len(d.rows) != 0 {
			t.Errorf("%s: got %d rows left, want none", d.name, len(d.rows))
		}
	}
	return w, p
}

// TestCrashes stops each device at its calls, one after the other: once before the
// transaction counts, once after it, before anything of it left.
func TestCrashes(t *testing.T) {
	step := 9
	if os.Getenv("TACET_LONG") != "" {
		step = 1
	} else if testing.Short() {
		step = 31
	}
	_, p := story(t, 40, nil)
	runs := 0
	for i, d := range p {
		for k := 1 + i; k <= d.calls; k += step {
			after := (k/step)%2 == 0
			for _, after := range []bool{after, !after}[:1+btoi(step == 1)] {
				runs++
				t.Run(fmt.Sprintf("%s at %d, after %t", d.name, k, after), func(t *testing.T) {
					story(t, 40, func(_ *world, p []*device) { p[i].crash, p[i].after = k, after })
				})
			}
		}
	}
	t.Logf("%d runs, of %d, %d, %d and %d calls", runs, p[0].calls, p[1].calls, p[2].calls, p[3].calls)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRoughNetwork loses a fifth of all cells and doubles an eighth.
func TestRoughNetwork(t *testing.T) {
	n := 4
	if os.Getenv("TACET_LONG") != "" {
		n = 200
	}
	for seed := range n {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			story(t, uint64(100+seed), func(w *world, _ []*device) { w.rough = true })
		})
	}
}
