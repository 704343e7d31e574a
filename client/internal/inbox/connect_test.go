package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

func TestBrokenConnectionIsOpenedAgainWithTheSameSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.start()
		pass(40 * time.Second)
		p := period()
		a := w.shared(p)
		for range 5 {
			w.shared(p).broken <- errLine
			pass(40 * time.Second)
		}
		b := w.shared(p)
		if a == b {
			t.Fatal("got the first connection, want another")
		}
		slices.SortFunc(a.set, compare)
		slices.SortFunc(b.set, compare)
		if !slices.Equal(a.set, b.set) {
			t.Error("got another set in the same period: what both have in common is real")
		}
	})
}

func compare(a, b transport.Address) int { return slices.Compare(a[:], b[:]) }

func TestPausesGrowWithFullJitter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var at []time.Time
		w.refuse = errLine
		n := w.start()
		begin, seen := time.Now(), 0
		for time.Since(begin) < 3*time.Minute { // all within one period
			if w.tried() > seen {
				seen = w.tried()
				at = append(at, time.Now())
			}
			pass(time.Millisecond)
		}
		if n := len(at); n < 10 || n > 40 {
			t.Fatalf("got %d tries in three minutes, want 10 to 40", n)
		}
		for i := 1; i < len(at); i++ {
			most := min(time.Second<<(i-1), 30*time.Second)
			if d := at[i].Sub(at[i-1]); d > most+2*time.Millisecond {
				t.Errorf("pause %d: got %v, want at most %v", i, d, most)
			}
		}
		for tries, most := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
			most *= time.Second
			var least, longest time.Duration = most, 0
			for range 1000 {
				d := n.pause(tries, errLine)
				least, longest = min(least, d), max(longest, d)
			}
			if least > most/20 || longest < most*19/20 || longest > most {
				t.Errorf("after %d tries: got pauses of %v to %v, want 0 to %v", tries, least, longest, most)
			}
		}
	})
}

func TestPausesStartAnewAfterAConnectionThatLasted(t *testing.T) {
	for _, c := range []struct {
		lasts time.Duration
		short bool
	}{{29 * time.Second, false}, {31 * time.Second, true}} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			var longest time.Duration
			w.refuse = errLine
			n := w.start()
			pass(2 * time.Minute)
			w.set(func() { w.refuse = nil })
			n.Kick()
			pass(31 * time.Second)
			p := period()
			for range 8 {
				w.shared(p).broken <- errLine
				broke := time.Now()
				pass(0)
				for len(w.running(p)) == 0 {
					pass(10 * time.Millisecond)
				}
				longest = max(longest, time.Since(broke)-w.delay)
				pass(c.lasts)
				p = period()
			}
			if short := longest < 1100*time.Millisecond; short != c.short {
				t.Errorf("connections that lasted %v: got pauses up to %v, short should be %v", c.lasts, longest, c.short)
			}
		})
	}
}

func TestKickTriesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.routes[100] = true
		w.refuse = errLine
		n := w.start()
		pass(2 * time.Minute)
		w.set(func() { w.refuse = nil })
		before := w.tried()
		n.Kick()
		pass(0)
		if got := w.tried() - before; got != 2 {
			t.Errorf("got %d tries at once, want one for each of 2 connections", got)
		}
		pass(time.Second)
		before = w.tried()
		n.Kick() // nothing waits
		pass(time.Second)
		if got := w.tried() - before; got != 0 {
			t.Errorf("got %d tries with all connected, want none", got)
		}
	})
}

func TestRefusalsAreNotHurried(t *testing.T) {
	for _, err := range []error{transport.ErrRefused, transport.ErrIdentity, transport.ErrTime} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			w.refuse = fmt.Errorf("opening: %w", err)
			w.start()
			pass(5 * time.Minute)
			if n := w.tried(); n < 8 || n > 21 {
				t.Errorf("%v: got %d tries in five minutes, want 8 to 21", err, n)
			}
			for _, s := range w.told() {
				if s.connected || !errors.Is(s.err, err) {
					t.Errorf("got told %+v, want %v", s, err)
				}
			}
			if n := len(w.told()); n != w.tried() {
				t.Errorf("got told %d times of %d tries, want each", n, w.tried())
			}
		})
	}
}

func TestConnectionThatIsNeverReadyIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.never = true
		w.start()
		pass(30 * time.Second)
		w.set(func() { w.never = false })
		pass(32 * time.Second)
		got := w.told()
		if len(got) != 2 || got[0].connected || !errors.Is(got[0].err, errSlow) || !got[1].connected {
			t.Errorf("got told %+v, want a connection that was slow and then one that works", got)
		}
	})
}

func TestStateIsToldOncePerChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.routes[100] = true
		w.start()
		pass(5*live + live/2)
		if got := w.told(); len(got) != 1 || !got[0].connected || got[0].err != nil {
			t.Fatalf("five boundaries: got told %+v, want connected once", got)
		}
		w.shared(period()).broken <- errLine
		pass(2 * time.Second)
		got := w.told()
		if len(got) != 3 || got[1].connected || !errors.Is(got[1].err, errLine) || !got[2].connected {
			t.Errorf("a break: got told %+v, want not connected with the reason, then connected", got[1:])
		}
		// A contact route alone is no reason to say that we are not connected.
		for _, c := range w.running(period()) {
			if w.alone(c) != 0 {
				c.broken <- errLine
			}
		}
		pass(2 * time.Second)
		if got := w.told(); len(got) != 4 || !got[3].connected || !errors.Is(got[3].err, errLine) {
			t.Errorf("a contact route: got told %+v, want connected, with the reason", got[3:])
		}
	})
}

func TestKeysThatFailAreAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.keysErr = errors.New("vault is locked")
		w.start()
		pass(2 * time.Minute)
		if n := w.askedFor(period()); n < 5 || n > 60 {
			t.Errorf("got %d askings in two minutes, want 5 to 60", n)
		}
		if got := w.told(); len(got) == 0 || got[0].connected || !errors.Is(got[0].err, w.keysErr) {
			t.Errorf("got told %+v, want the reason", got)
		}
		w.set(func() { w.keysErr = nil })
		pass(40 * time.Second)
		w.shared(period())
		w.set(func() { w.keysErr = errors.New("vault is locked") })
		pass(3 * live)
		if len(w.running(period())) != 0 {
			t.Fatal("got a period whose addresses cannot be known")
		}
		before := w.askedFor(period() - 2)
		pass(live / 2)
		if n := w.askedFor(period()-2) - before; n != 0 {
			t.Errorf("got %d askings for a period that is over, want none", n)
		}
		w.set(func() { w.keysErr = nil })
		pass(40 * time.Second)
		w.shared(period())
		checkSets(t, w, w.routes, w.all())
	})
}

func TestPeriodsAreAskedForOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		pass(10 * live)
		for p, n := range w.askings() {
			if n != 1 {
				t.Errorf("period %d: got %d askings, want 1", p, n)
			}
		}
	})
}

func TestRunEndsWithItsConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.routes[100] = true
		n := w.inbox(fixedSource{})
		for range 2 { // it can run again
			ctx, cancel := context.WithTimeout(t.Context(), live)
			done := make(chan error, 1)
			go func() { done <- n.Run(ctx) }()
			pass(live - time.Second)
			if err := n.Run(ctx); !errors.Is(err, errRunning) {
				t.Errorf("running twice: got %v, want %v", err, errRunning)
			}
			if c := w.running(0); len(c) != 4 {
				t.Errorf("got %d connections before a boundary, want 4", len(c))
			}
			if err := <-done; err != nil {
				t.Errorf("got %v, want nil", err)
			}
			cancel()
			if c := w.running(0); len(c) != 0 {
				t.Errorf("got %d connections after Run, want none", len(c))
			}
			if got := w.told(); got[len(got)-1].connected {
				t.Errorf("got told %+v at the end, want not connected", got[len(got)-1])
			}
		}
	})
}

// fixedSource is randomness that is always different enough to make decoys.
type fixedSource struct{}

func (fixedSource) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return len(b), nil
}

func TestRunFailsLoudly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := New(Config{Transport: w, Keys: w, Opener: w, Live: time.Minute, Rand: fixedSource{}})
		if err := n.Run(t.Context()); !errors.Is(err, ErrLive) {
			t.Errorf("a live period of a minute: got %v, want %v", err, ErrLive)
		}
	})
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.inbox(iotest.ErrReader(io.ErrNoProgress))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := n.Run(ctx); err != nil {
			t.Errorf("got %v, want nil", err)
		}
		got := w.told()
		if len(got) == 0 || got[0].connected || !errors.Is(got[0].err, io.ErrNoProgress) || w.tried() != 0 {
			t.Errorf("without randomness: got told %+v and %d connections, want the reason and none", got, w.tried())
		}
	})
}
