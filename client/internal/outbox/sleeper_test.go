package outbox

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// wakers notes which devices were woken.
type wakers struct {
	mu  sync.Mutex
	all []int64
}

func (w *wakers) Wake(peer int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, peer)
}

func (w *wakers) got() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// starting runs an outbox with a waker.
func (w *world) starting(k *wakers) *Outbox {
	o := New(Config{Transport: w, Store: w, Sealer: w, Rand: fixed(0x80), Waker: k})
	w.run(o)
	return o
}

func TestOneWakeForEachSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := &wakers{}
		w := newWorld(t, func(try) answer { return nobodyIn })
		for id := range int64(20) {
			w.add(id+1, 7)
		}
		w.add(21, 8)
		o := w.starting(k)
		pass(time.Hour)
		all := k.got()
		if slices.Sort(all); !slices.Equal(all, []int64{7, 8}) {
			t.Fatalf("20 copies for one device and one for another: got %v woken, want each once", all)
		}
		o.Heard(7) // it was there, and goes again
		pass(time.Minute)
		if all = k.got(); len(all) != 3 || all[2] != 7 {
			t.Errorf("after it was heard of: got %v woken, want it once more", all)
		}
		pass(24 * time.Hour)
		if all = k.got(); len(all) != 3 {
			t.Errorf("a day later: got %v woken, want no more", all)
		}
	})
}

func TestNobodyIsWokenForWhatSaysNothing(t *testing.T) {
	for name, a := range map[string]answer{
		"a lower bound": unsure, "a broken link": down, "one that took it": tookIt, "a refusal": {err: transport.ErrRefused}, "no answer": hangs,
	} {
		bubble(t, func(t *testing.T) {
			k := &wakers{}
			w := newWorld(t, func(try) answer { return a })
			w.add(1, 7)
			w.starting(k)
			pass(time.Hour)
			if all := k.got(); len(all) != 0 {
				t.Errorf("%s: got %v woken, want nobody", name, all)
			}
		})
	}
	bubble(t, func(t *testing.T) {
		k := &wakers{}
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		w.hellos[1] = true
		w.starting(k)
		pass(time.Hour)
		if all := k.got(); len(all) != 0 {
			t.Errorf("a hello: got %v woken, want nobody", all)
		}
	})
}

// TestWakeComesWithTheFirstSureAnswer: a node that did not answer at first does
// not keep a device asleep.
func TestWakeComesWithTheFirstSureAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := &wakers{}
		w := newWorld(t, func(try) answer { return unsure })
		w.add(1, 7)
		w.starting(k)
		pass(5 * time.Second)
		w.say(nobodyIn)
		pass(time.Hour)
		if all := k.got(); !slices.Equal(all, []int64{7}) {
			t.Errorf("got %v woken, want it once", all)
		}
	})
}
