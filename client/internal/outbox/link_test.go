package outbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

func TestBrokenLinkBacksOffWithOneCopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return down })
		for id := range int64(50) {
			w.add(id+1, 7)
		}
		o := w.start(nil)
		pass(300 * time.Millisecond)
		if n := len(w.of(0)); n != 50 {
			t.Fatalf("got %d tries, want each once", n)
		}
		o.Add(w.add(51, 7))
		pass(10 * time.Minute)
		// 1+2+4+8+15+30 s and then once a minute, × U(0.5, 1.5).
		if n := len(w.of(0)) - 50; n < 10 || n > 26 {
			t.Errorf("got %d tries in ten minutes, want 10 to 26", n)
		}
		if s := o.Status(7); !errors.Is(s.Blocked, errLink) || s.Silent {
			t.Errorf("got status %+v, want blocked by the link and not silent", s)
		}
		if s := w.state(1); s != Queued {
			t.Errorf("got state %d, want %d", s, Queued)
		}
		if n := len(w.troubles()); n != 0 {
			t.Errorf("got %d reports of trouble, want none for a link that is down", n)
		}
		w.say(tookIt)
		pass(2*time.Minute + 2*answerAfter)
		for id := range int64(51) {
			if s := w.state(id + 1); s != Live {
				t.Fatalf("copy %d: got state %d, want %d", id+1, s, Live)
			}
		}
	})
}

func TestReconnectedOffersEverythingAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(tr try) answer {
			switch tr.peer {
			case 1:
				return nobodyIn
			case 2:
				return tookIt
			}
			return down
		})
		for id := range int64(300) {
			w.add(id+1, id%3+1)
		}
		o := w.start(nil)
		pass(5 * time.Minute)
		// A copy whose answer is still to come is not offered once more: wait for a
		// moment without one.
		for tries := w.of(0); time.Since(tries[len(tries)-1].at) <= 2*answerAfter; tries = w.of(0) {
			pass(time.Second)
		}
		before := map[int64]int{}
		for id := range int64(300) {
			before[id+1] = len(w.of(id + 1))
		}
		o.Reconnected()
		pass(0)
		for id := range int64(300) {
			if n := len(w.of(id+1)) - before[id+1]; n != 1 {
				t.Fatalf("copy %d: got %d tries, want 1 at once", id+1, n)
			}
		}
	})
}

// Acks do not come the way that puts go: only the caller knows that they may
// have been lost.
func TestTakenCopiesRestThoughAPutBroke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		for id := range int64(10) {
			w.add(id+1, 7)
		}
		o := w.start(nil)
		pass(time.Minute)
		w.say(down)
		o.Add(w.add(11, 7))
		pass(time.Second)
		w.say(tookIt)
		pass(10 * time.Second)
		if s := w.state(11); s != Live {
			t.Errorf("copy that broke: got state %d, want %d", s, Live)
		}
		for id := range int64(10) {
			if n := len(w.of(id + 1)); n != 1 {
				t.Errorf("copy %d: got %d tries, want it to rest", id+1, n)
			}
		}
	})
}

// What was missed before the link broke goes when it is back.
func TestMissedCopiesGoWhenTheLinkIsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		for id := range int64(10) {
			w.add(id+1, 7)
		}
		o := w.start(nil)
		pass(time.Hour)
		before := len(w.of(10))
		w.say(down)
		pass(time.Hour)
		w.say(nobodyIn)
		pass(2 * time.Minute)
		if n := len(w.of(10)) - before; n != 1 {
			t.Errorf("got %d tries of a further copy, want 1", n)
		}
		if s := o.Status(7); s.Blocked != nil || !s.Silent {
			t.Errorf("got status %+v, want silent again", s)
		}
	})
}

func TestLostAnswerIsALinkThatBroke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return hangs })
		w.add(1, 7)
		o := w.start(nil)
		pass(putWithin + time.Millisecond)
		if s := o.Status(7); !errors.Is(s.Blocked, context.DeadlineExceeded) {
			t.Errorf("got status %+v, want blocked by a put without an answer", s)
		}
		w.say(tookIt)
		pass(5 * time.Second)
		if s := w.state(1); s != Live {
			t.Errorf("got state %d, want %d", s, Live)
		}
	})
}

// One put of many that breaks says nothing about the link when one that was
// made later gets its answer.
func TestSingleFailureAmongAnswersDoesNotBlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(tr try) answer {
			if tr.id == 1 {
				return answer{err: errLink, after: 5 * time.Second}
			}
			return tookIt
		})
		o := w.start(nil)
		o.Add(w.add(1, 7))
		pass(time.Second)
		o.Add(w.add(2, 7))
		pass(3900 * time.Millisecond)
		w.say(tookIt)
		pass(200 * time.Millisecond) // 1 has failed
		if s := o.Status(7); s.Blocked != nil {
			t.Errorf("got blocked by %v, want an open way", s.Blocked)
		}
		if n := len(w.of(1)); n != 2 {
			t.Errorf("got %d tries of the one that failed, want 2", n)
		}
	})
}

func TestAnswersToEarlierPutsDoNotMendTheLink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(tr try) answer {
			if tr.id == 1 {
				return answer{receipt: tookIt.receipt, after: 3 * time.Second}
			}
			return down
		})
		o := w.start(fixed(0xff))
		o.Add(w.add(1, 7))
		pass(100 * time.Millisecond)
		o.Add(w.add(2, 7))
		pass(2 * time.Second)
		before := len(w.of(2))
		pass(1500 * time.Millisecond)
		if n := len(w.of(2)) - before; n != 0 {
			t.Errorf("got %d tries before the delay was over, want none", n)
		}
	})
}

func TestBackOffStartsAnewWithEachBreak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return down })
		w.add(1, 7)
		o := w.start(fixed(0xff))
		pass(time.Hour)
		w.say(tookIt)
		pass(2 * time.Minute)
		w.say(down)
		o.Add(w.add(2, 7))
		pass(time.Second)
		w.say(tookIt)
		pass(time.Second + answerAfter)
		if s := w.state(2); s != Live {
			t.Errorf("got state %d, want %d", s, Live)
		}
	})
}

func TestFlightsOfBeforeDoNotBlockAfterReconnected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return answer{err: errLink, after: 5 * time.Second} })
		w.add(1, 7)
		o := w.start(fixed(0xff))
		pass(time.Second)
		o.Reconnected()
		w.say(tookIt)
		pass(4*time.Second + answerAfter)
		if s := w.state(1); s != Live {
			t.Errorf("got state %d, want %d", s, Live)
		}
	})
}

func TestTrialThatHangsIsForgottenOnReconnect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return down })
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(fixed(0))
		pass(time.Hour)
		w.say(hangs)
		for o.flights() == 0 {
			pass(time.Second)
		}
		w.say(down)
		o.Reconnected()
		pass(time.Millisecond)
		w.say(tookIt)
		pass(10 * time.Second)
		if a, b := w.state(1), w.state(2); a != Live && b != Live {
			t.Errorf("got states %d and %d, want one %d while the other hangs", a, b, Live)
		}
	})
}

func (o *Outbox) flights() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flying
}

func TestReconnectedGoesOldestFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return down })
		for id := range int64(600) {
			w.add(id+1, 7)
		}
		o := w.start(fixed(0xff))
		pass(10 * time.Millisecond)
		w.say(tookIt)
		before := len(w.of(0))
		o.Reconnected()
		pass(0)
		for _, tr := range w.of(0)[before:] {
			if tr.id > Window {
				t.Fatalf("got copy %d in the first window, want the oldest %d", tr.id, Window)
			}
		}
	})
}

func TestHeardTriesABrokenLinkAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return down })
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(nil)
		pass(time.Hour)
		w.say(tookIt)
		before := len(w.of(0))
		o.Heard(7)
		pass(0)
		if n := len(w.of(0)) - before; n != 1 {
			t.Errorf("got %d tries at once, want one to see", n)
		}
		pass(2 * answerAfter)
		if a, b := w.state(1), w.state(2); a != Live || b != Live {
			t.Errorf("got states %d and %d, want %d", a, b, Live)
		}
	})
}

func TestRefusedCopyStaysAndHoldsUpNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		no := answer{err: fmt.Errorf("putting: %w", transport.ErrRefused)}
		w := newWorld(t, func(tr try) answer {
			if tr.id == 1 {
				return no
			}
			return tookIt
		})
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(fixed(0x80))
		pass(14 * time.Minute)
		if n := len(w.of(1)); n != 1 {
			t.Errorf("refused copy: got %d tries, want 1", n)
		}
		if s := w.state(2); s != Live {
			t.Errorf("other copy: got state %d, want %d", s, Live)
		}
		w.say(down)
		o.Add(w.add(3, 7))
		pass(time.Second)
		w.mu.Lock()
		w.script = func(tr try) answer {
			if tr.id == 1 {
				return no
			}
			return tookIt
		}
		w.mu.Unlock()
		pass(50 * time.Second) // the link is back: no reason to ask again
		if n := len(w.of(1)); n != 1 {
			t.Errorf("refused copy after the link came back: got %d tries, want 1", n)
		}
		pass(10 * time.Hour)
		if got := w.troubles(); len(got) != 1 || !errors.Is(got[0], transport.ErrRefused) || w.ids[0] != 1 {
			t.Errorf("got trouble %v about %v, want one refusal of copy 1", got, w.ids)
		}
		if s := o.Status(7); s.Waiting != 3 {
			t.Errorf("got %d waiting, want all rows to stay", s.Waiting)
		}
		w.say(tookIt)
		o.Reconnected()
		pass(answerAfter)
		if s := w.state(1); s != Live {
			t.Errorf("after reconnecting: got state %d, want %d", s, Live)
		}
		w.say(no)
		o.Reconnected()
		pass(answerAfter)
		if n := len(w.troubles()); n != 4 {
			t.Errorf("got %d reports, want one more for each of three copies", n)
		}
	})
}

func TestWrongIdentityHoldsEverythingAndIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		no := answer{err: transport.ErrIdentity, after: time.Millisecond}
		w := newWorld(t, func(try) answer { return no })
		for id := range int64(20) {
			w.add(id+1, 7)
		}
		o := w.start(fixed(0x80))
		pass(time.Second)
		before := len(w.of(0))
		o.Heard(7) // mends nothing
		pass(14 * time.Minute)
		if n := len(w.of(0)) - before; n != 0 {
			t.Errorf("got %d tries within 14 min, want none", n)
		}
		pass(10 * time.Hour)
		if got := w.troubles(); len(got) != 1 || !errors.Is(got[0], transport.ErrIdentity) || w.ids[0] != 0 {
			t.Errorf("got trouble %v about %v, want one report about the device", got, w.ids)
		}
		if s := o.Status(7); s.Waiting != 20 || !errors.Is(s.Blocked, transport.ErrIdentity) {
			t.Errorf("got status %+v, want 20 waiting, held by the identity", s)
		}
		w.say(tookIt)
		o.Reconnected()
		pass(2 * answerAfter)
		if s := o.Status(7); s.Live != 20 || s.Blocked != nil {
			t.Errorf("got status %+v, want all live", s)
		}
		w.say(no)
		o.Add(w.add(21, 7))
		pass(time.Second)
		if n := len(w.troubles()); n != 2 {
			t.Errorf("got %d reports, want another when it comes again", n)
		}
	})
}

// Where one copy always breaks the link, the others must still get through.
func TestCopyThatAlwaysBreaksDoesNotStandBeforeTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		back := time.Now().Add(10 * time.Second)
		w := newWorld(t, func(tr try) answer {
			if tr.id == 1 || time.Now().Before(back) {
				return down
			}
			return tookIt
		})
		for id := range int64(10) {
			w.add(id+1, 7)
		}
		w.start(nil)
		pass(3 * time.Minute)
		for id := int64(2); id <= 10; id++ {
			if s := w.state(id); s != Live {
				t.Errorf("copy %d: got state %d, want %d", id, s, Live)
			}
		}
		if n := len(w.of(1)); n < 2 || n > 15 {
			t.Errorf("got %d tries of the copy that breaks, want a few", n)
		}
	})
}

func TestTransportThatStoresIsNotAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return answer{receipt: transport.Receipt{Stored: true, Complete: true}} })
		w.caps = transport.Caps{Stored: true}
		w.add(1, 7)
		o := w.start(nil)
		pass(9 * time.Minute)
		if n := len(w.of(1)); n != 1 {
			t.Errorf("got %d tries, want 1", n)
		}
		if s := w.state(1); s != Offered || o.Status(7).Silent {
			t.Errorf("got state %d, want %d, and not silent", s, Offered)
		}
	})
}

func TestCountWithoutMeaningIsNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		w.caps = transport.Caps{}
		w.add(1, 7)
		o := w.start(nil)
		pass(time.Minute)
		if s := w.state(1); s != Offered || o.Status(7).Silent {
			t.Errorf("got state %d, want %d, and not silent", s, Offered)
		}
	})
}
