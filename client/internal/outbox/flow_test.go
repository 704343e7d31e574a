package outbox

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestLongQueueDrainsFast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		for id := range int64(1500) {
			w.add(id+1, 7)
		}
		w.start(nil)
		pass(6 * answerAfter) // ⌈1,500 / 256⌉ rounds
		for id := range int64(1500) {
			if s := w.state(id + 1); s != Live {
				t.Fatalf("copy %d: got state %d, want %d", id+1, s, Live)
			}
		}
		if n := w.most[7]; n != Window {
			t.Errorf("got %d in flight at most, want %d", n, Window)
		}
	})
}

func TestFlightsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return hangs })
		for id := range int64(20 * 1500) {
			w.add(id+1, id%20)
		}
		o := w.start(nil)
		pass(time.Second)
		if w.mostAll != Flights-reserve {
			t.Errorf("got %d in flight, want %d", w.mostAll, Flights-reserve)
		}
		if n := runtime.NumGoroutine(); n > Flights+100 {
			t.Errorf("got %d goroutines, want about one per flight", n)
		}
		for p := range int64(20) {
			if n := w.most[p]; n > Window || n < few {
				t.Errorf("device %d: got %d in flight, want %d to %d", p, n, few, Window)
			}
		}
		// Someone new is not held up by those who hang.
		w.say(tookIt)
		o.Add(w.add(99999, 99))
		pass(answerAfter)
		if s := w.state(99999); s != Live {
			t.Errorf("copy to another device: got state %d, want %d", s, Live)
		}
		// And of many devices with few copies, no more go than fit.
		w.say(hangs)
		for id := range int64(2000) {
			o.Add(w.add(100000+id, 1000+id/5))
		}
		pass(time.Second)
		if w.mostAll != Flights {
			t.Errorf("got %d in flight, want %d", w.mostAll, Flights)
		}
	})
}

func TestDevicesTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		for id := range int64(4000) {
			w.add(id+1, 1)
		}
		for p := int64(2); p < 40; p++ {
			w.add(10000+p, p)
		}
		w.start(nil)
		pass(answerAfter)
		for p := int64(2); p < 40; p++ {
			if s := w.state(10000 + p); s != Live {
				t.Errorf("device %d: got state %d in the first round, want %d", p, s, Live)
			}
		}
	})
}

func TestRemovedCopyIsNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		sealing, goOn := make(chan bool), make(chan bool)
		w.sealing = func(id int64) {
			if id == 1 {
				sealing <- true
				<-goOn
			}
		}
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(fixed(0))
		<-sealing
		o.Remove(1, 99) // while it is sealed; 99 is not known
		goOn <- true
		pass(answerAfter)
		o.Remove(2) // while it waits to be repeated
		pass(10 * time.Hour)
		o.Heard(7)
		o.Reconnected()
		pass(time.Hour)
		if a, b := len(w.of(1)), len(w.of(2)); a != 0 || b != 1 {
			t.Errorf("got %d and %d tries, want none and 1", a, b)
		}
		if s := o.Status(7); s != (Status{}) {
			t.Errorf("got status %+v, want an empty one", s)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.rows) != 0 || len(o.peers) != 0 || len(o.alarms.list) != 0 || o.flying != 0 {
			t.Errorf("got %d rows, %d devices, %d alarms, %d in flight, want nothing kept",
				len(o.rows), len(o.peers), len(o.alarms.list), o.flying)
		}
	})
}

func TestRemovedInFlightStillTellsOfTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(2, 7)
		o := w.start(nil)
		pass(time.Hour)
		w.say(tookIt)
		before := len(w.of(2))
		o.Add(w.add(3, 7))
		pass(time.Second)
		o.Remove(3) // its ack came before its answer
		pass(time.Second)
		if n := len(w.of(2)) - before; n != 1 {
			t.Errorf("got %d tries of what waited, want 1", n)
		}
	})
}

func TestRemovedInFlightLeavesNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(nil)
		pass(time.Second)
		o.Remove(2)
		pass(time.Second)
		o.mu.Lock()
		defer o.mu.Unlock()
		if n := o.peers[7].missed; n != 1 {
			t.Errorf("got %d missed copies, want 1", n)
		}
	})
}

func TestRowThatIsGoneIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		o := w.start(nil)
		o.Add(Item{ID: 5, Peer: 7}) // not in the store
		pass(time.Hour)
		if s := o.Status(7); s.Waiting != 0 || len(w.of(0)) != 0 {
			t.Errorf("got %d waiting, %d tries, want neither", s.Waiting, len(w.of(0)))
		}
	})
}

func TestEndOfLifetime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		o := w.start(nil)
		pass(0)
		end := time.Now().Add(40 * time.Minute)
		for id, e := range map[int64]time.Time{1: end, 2: {}, 3: end.Add(time.Hour), 4: time.Now()} {
			it := w.add(id, id)
			it.Expires = e
			o.Add(it)
		}
		w.mu.Lock()
		w.endErr = errors.New("disk is full")
		w.mu.Unlock()
		pass(40 * time.Minute)
		tries := w.of(1)
		w.mu.Lock()
		w.endings = 0
		w.mu.Unlock()
		for range 600 { // lively times
			o.Heard(2)
			pass(100 * time.Millisecond)
		}
		if w.endings > 3 {
			t.Errorf("got %d calls to a store that fails, want at most one a minute", w.endings)
		}
		w.mu.Lock()
		w.endErr = nil
		w.mu.Unlock()
		pass(24 * time.Hour)
		w.mu.Lock()
		got := append([]int64(nil), w.ended...)
		w.mu.Unlock()
		if len(got) != 3 || got[0] != 1 && got[0] != 4 || got[2] != 3 {
			t.Errorf("got %v ended, want 1, 4 and then 3, each once", got)
		}
		if n := len(w.of(4)); n != 0 {
			t.Errorf("over before it began: got %d tries, want none", n)
		}
		if n := len(w.of(1)); n != len(tries) || n < 5 {
			t.Errorf("got %d tries in all, %d before the end, want none after it", n, len(tries))
		}
		if s := o.Status(2); s.Waiting != 1 {
			t.Errorf("without an end: got %d waiting, want 1", s.Waiting)
		}
		if len(w.troubles()) == 0 {
			t.Error("got no word of the store's trouble, want one")
		}
	})
}

func TestStoreInTroubleKeepsTheCopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		w.sealErr = errors.New("disk failed")
		w.add(1, 7)
		o := w.start(nil)
		pass(10 * time.Minute)
		if n := len(w.of(1)); n != 0 {
			t.Fatalf("got %d tries, want none", n)
		}
		if n := len(w.troubles()); n != 1 {
			t.Errorf("got %d reports, want 1", n)
		}
		w.mu.Lock()
		w.sealErr, w.empty = nil, true
		w.mu.Unlock()
		pass(10 * time.Minute)
		w.mu.Lock()
		w.empty, w.markErr = false, errors.New("disk failed")
		w.mu.Unlock()
		pass(2*time.Minute + answerAfter)
		if s := o.Status(7); len(w.of(1)) != 1 || s.Live != 0 || s.Waiting != 1 {
			t.Errorf("got %d tries, status %+v, want one and a state that was not raised", len(w.of(1)), s)
		}
		w.mu.Lock()
		w.markErr = nil
		w.mu.Unlock()
		pass(16 * time.Minute)
		if s := o.Status(7); s.Live != 1 {
			t.Errorf("got status %+v, want live", s)
		}
	})
}

func TestChangesAreToldOnceAndInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		o := w.start(nil)
		pass(time.Minute)
		w.say(tookIt)
		o.Heard(7)
		pass(time.Hour)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.changes) != 2 || w.changes[0] != Offered || w.changes[1] != Live {
			t.Errorf("got changes %v, want %v", w.changes, []State{Offered, Live})
		}
	})
}

func TestRunEndsWithItsGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return hangs })
		for id := range int64(600) {
			w.add(id+1, id%3)
		}
		o := New(Config{Transport: w, Store: w, Sealer: w, Rand: fixed(0)})
		for range 2 { // it can run again
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			done := make(chan error, 1)
			go func() { done <- o.Run(ctx) }()
			synctest.Wait()
			if err := o.Run(ctx); !errors.Is(err, errRunning) {
				t.Errorf("running twice: got %v, want %v", err, errRunning)
			}
			if err := <-done; err != nil {
				t.Errorf("got %v, want nil", err)
			}
			cancel()
			w.mu.Lock()
			if w.all != 0 {
				t.Errorf("got %d puts under way after Run, want none", w.all)
			}
			w.mu.Unlock()
			if s := o.Status(1); s.Blocked != nil || s.Waiting != 200 {
				t.Errorf("got status %+v, want 200 waiting as before", s)
			}
		}
	})
}

func TestRunFailsLoudly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.storeErr = errors.New("no disk")
		o := New(Config{Transport: w, Store: w, Sealer: w, Rand: fixed(0)})
		if err := o.Run(t.Context()); !errors.Is(err, w.storeErr) {
			t.Errorf("store: got %v, want %v", err, w.storeErr)
		}
		w = newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		o = New(Config{Transport: w, Store: w, Sealer: w, Rand: iotest.ErrReader(io.ErrNoProgress)})
		if err := o.Run(t.Context()); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("randomness: got %v, want %v", err, io.ErrNoProgress)
		}
	})
}
