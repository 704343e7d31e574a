package hub

import (
	"sync"
	"time"
)

const (
	tick       = int64(10 * time.Millisecond) // answers leave on ticks of the hub's clock
	wheelSlots = 1024                         // a timer further away than 10.24 s is passed over until it is due
	nap        = int64(time.Second)           // a wheel sleeps no longer, and nobody but itself sets a timer nearer than that
)

// timer is a place on a wheel: something to be done for a connection. Its
// fields are guarded by the wheel's mutex, but for those that never change.
type timer struct {
	prev, next *timer // on the wheel, or nil
	at         int64  // tick
	fire       func(now int64)
}

// wheel has the timers of some of the connections, by tick. Setting and
// clearing one costs the same however many there are, and a connection costs no
// timer of the runtime's and no goroutine.
type wheel struct {
	mu    sync.Mutex
	done  int64 // the last tick that has been
	slots [wheelSlots]timer
}

func newWheel() *wheel {
	w := new(wheel)
	for i := range w.slots {
		s := &w.slots[i]
		s.prev, s.next = s, s
	}
	return w
}

func (t *timer) unlink() {
	if t.prev != nil {
		t.prev.next, t.next.prev = t.next, t.prev
		t.prev, t.next = nil, nil
	}
}

// due returns the first tick that is not before a time.
func due(at int64) int64 { return (at + tick - 1) / tick }

// arm sets a timer, wherever it was, to the first tick that is not before at.
func (w *wheel) arm(t *timer, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.unlink()
	t.at = max(due(at), w.done+1)
	s := &w.slots[t.at%wheelSlots]
	t.prev, t.next = s.prev, s
	s.prev.next, s.prev = t, t
}

// disarm clears a timer. It may be firing on its wheel's goroutine meanwhile.
func (w *wheel) disarm(t *timer) {
	w.mu.Lock()
	t.unlink()
	w.mu.Unlock()
}

// pop takes off, and appends to list, the timers that are due at a time.
func (w *wheel) pop(now int64, list []*timer) []*timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := now / tick
	for k := max(w.done+1, last-wheelSlots+1); k <= last; k++ {
		s := &w.slots[k%wheelSlots]
		for t := s.next; t != s; {
			next := t.next
			if t.at <= last {
				t.unlink()
				list = append(list, t)
			}
			t = next
		}
	}
	w.done = max(w.done, last)
	return list
}

// wait returns how long there is nothing to do.
func (w *wheel) wait(now int64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := w.done + 1; k*tick < now+nap; k++ {
		for t := w.slots[k%wheelSlots].next; t != &w.slots[k%wheelSlots]; t = t.next {
			if t.at == k {
				return time.Duration(max(0, k*tick-now))
			}
		}
	}
	return time.Duration(nap)
}

// run fires timers until quit is closed.
func (w *wheel) run(now func() int64, quit <-chan struct{}) {
	clock := time.NewTimer(0)
	defer clock.Stop()
	var list []*timer
	for {
		select {
		case <-quit:
			return
		case <-clock.C:
		}
		at := now()
		list = w.pop(at, list[:0])
		for i, t := range list {
			t.fire(at)
			list[i] = nil
		}
		clock.Reset(w.wait(now()))
	}
}
