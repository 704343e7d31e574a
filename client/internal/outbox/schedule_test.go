package outbox

import (
	"crypto/rand"
	"io"
	"slices"
	"testing"
	"time"
)

// gaps returns the delays between the answer to one try and the next.
func gaps(tries []try) (d []time.Duration) {
	for i := 1; i < len(tries); i++ {
		d = append(d, tries[i].at.Sub(tries[i-1].at)-answerAfter)
	}
	return d
}

// want is the schedule to a silent device, in seconds.
var silentFor = []time.Duration{1, 2, 4, 8, 15, 30, 60, 120, 240, 480, 900, 900, 900}

func TestSilentDeviceGetsABurstThenProbes(t *testing.T) {
	for _, c := range []struct {
		name   string
		random io.Reader
		least  float64
		most   float64
	}{
		{"shortest", fixed(0x00), 0.5, 0.5},
		{"longest", fixed(0xff), 1.5, 1.5},
		{"random", rand.Reader, 0.5, 1.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, func(try) answer { return nobodyIn })
				w.add(1, 7)
				w.start(c.random)
				pass(3 * time.Hour)
				got := gaps(w.of(1))
				if len(got) < len(silentFor) {
					t.Fatalf("got %d repetitions, want at least %d", len(got), len(silentFor))
				}
				for i, s := range silentFor {
					// A microsecond for the rounding of floats.
					least := time.Duration(float64(s*time.Second)*c.least) - time.Microsecond
					most := time.Duration(float64(s*time.Second)*c.most) + time.Microsecond
					if got[i] < least || got[i] > most {
						t.Errorf("repetition %d: got a delay of %v, want %v to %v", i, got[i], least, most)
					}
				}
			})
		})
	}
}

func TestRandomDelaysDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		for id := range int64(20) {
			w.add(id+1, id+1)
		}
		w.start(nil)
		pass(3 * time.Second)
		seen := map[time.Duration]bool{}
		for id := range int64(20) {
			if d := gaps(w.of(id + 1)); len(d) > 0 {
				seen[d[0]] = true
			}
		}
		if len(seen) < 15 {
			t.Errorf("got %d different delays among 20 devices, want nearly all to differ", len(seen))
		}
	})
}

func TestNewCopyIsOfferedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		o := w.start(nil)
		pass(time.Hour)
		now := time.Now()
		o.Add(w.add(1, 7))
		pass(0)
		if got := w.of(1); len(got) != 1 || !got[0].at.Equal(now) {
			t.Fatalf("got %d tries, want one at once", len(got))
		}
		o.Add(w.add(1, 7)) // again: known
		pass(time.Second)
		if got := w.of(1); len(got) != 1 {
			t.Errorf("adding twice: got %d tries, want 1", len(got))
		}
	})
}

func TestFurtherCopiesToASilentDeviceGoOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		o := w.start(fixed(0))
		for id := range int64(5) {
			o.Add(w.add(5-id, 7)) // the oldest comes last
			pass(time.Second)
		}
		pass(time.Hour)
		if n := len(w.of(1)); n < 8 {
			t.Errorf("oldest copy: got %d tries, want the schedule's", n)
		}
		// 5 was the oldest until 4 came, and so on: each may have been
		// repeated until then, but not in the hour after.
		before := len(w.of(0)) - len(w.of(1))
		o.Add(w.add(9, 7))
		pass(2 * time.Hour)
		if n := len(w.of(9)); n != 1 {
			t.Errorf("a further copy: got %d tries, want 1", n)
		}
		if n := len(w.of(0)) - len(w.of(1)); n != before+1 {
			t.Errorf("copies that are not the oldest: got %d tries, want %d", n, before+1)
		}
		if s := o.Status(7); !s.Silent || s.Waiting != 6 || s.Live != 0 || s.Next.IsZero() {
			t.Errorf("got status %+v, want silent, 6 waiting, none live, a next try", s)
		}
	})
}

func TestProbeGoesOnWithTheNextOldest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(fixed(0))
		pass(time.Hour)
		before := len(w.of(1))
		o.Remove(1)
		pass(time.Hour)
		if n := len(w.of(1)) - before; n != 0 {
			t.Errorf("copy that left: got %d tries more, want none", n)
		}
		if n := len(w.of(2)); n < 5 {
			t.Errorf("next oldest: got %d tries in an hour, want the probes", n)
		}
	})
}

// The repetition may be taken back while it waits for room.
func TestProbeThatLeavesTheQueueIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		w.add(2, 7)
		o := w.start(fixed(0))
		pass(2 * time.Hour)
		w.say(answer{receipt: nobodyIn.receipt, after: 50 * time.Second})
		for id := range int64(20 * Window) {
			o.Add(w.add(id+3, 7)) // room for nobody else for a quarter of an hour
		}
		for o.Status(7).Next != (time.Time{}) {
			pass(time.Second)
		}
		o.Remove(1)
		pass(time.Hour)
		before := len(w.of(2))
		pass(time.Hour)
		if n := len(w.of(2)) - before; n < 2 {
			t.Errorf("next oldest: got %d tries in an hour, want the probes", n)
		}
	})
}

func TestSuccessOrACellFromTheDeviceFlushesAll(t *testing.T) {
	for _, how := range []string{"probe", "new copy", "heard"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, func(try) answer { return nobodyIn })
				for id := range int64(300) {
					w.add(id+1, 7)
				}
				o := w.start(nil)
				pass(3 * time.Hour)
				before := len(w.of(300))
				w.say(tookIt)
				switch how {
				case "probe":
					pass(25 * time.Minute) // longer than any delay
				case "new copy":
					o.Add(w.add(301, 7))
					pass(2*answerAfter + 100*time.Millisecond)
				case "heard":
					o.Heard(7)
					pass(0)
				}
				pass(answerAfter)
				// The probe may come late enough for rests to end.
				if n := len(w.of(300)) - before; n < 1 || how != "probe" && n != 1 {
					t.Errorf("last copy: got %d tries after the device came back, want 1", n)
				}
				pass(2 * answerAfter)
				for id := range int64(300) {
					if s := w.state(id + 1); s != Live {
						t.Fatalf("copy %d: got state %d, want %d", id+1, s, Live)
					}
				}
				if s := o.Status(7); s.Silent || s.Live != s.Waiting {
					t.Errorf("got status %+v, want not silent, all live", s)
				}
			})
		})
	}
}

func TestScheduleStartsAnewAfterSuccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		o := w.start(fixed(0))
		pass(2 * time.Hour)
		w.say(tookIt)
		o.Heard(7)
		pass(answerAfter)
		w.say(nobodyIn)
		o.Add(w.add(2, 7))
		pass(answerAfter + 600*time.Millisecond)
		if n := len(w.of(2)); n != 2 {
			t.Errorf("got %d tries, want the first repetition of a new burst", n)
		}
	})
}

func TestAnswerOlderThanTheCellDoesNotSilenceTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.add(1, 7)
		o := w.start(fixed(0xff))
		pass(time.Second)
		o.Heard(7) // while the put is under way
		w.say(tookIt)
		pass(answerAfter - time.Second)
		if n := len(w.of(1)); n != 2 {
			t.Errorf("got %d tries, want the second at once", n)
		}
		if s := o.Status(7); s.Silent {
			t.Errorf("got a silent device, want one that was just heard")
		}
	})
}

func TestTakenCopyRestsTenMinutes(t *testing.T) {
	for _, f := range []fixed{0x00, 0xff} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, func(try) answer { return tookIt })
			w.add(1, 7)
			o := w.start(f)
			pass(answerAfter)
			o.Heard(7) // says nothing against it
			pass(10*time.Minute - time.Second)
			if n := len(w.of(1)); n != 1 {
				t.Errorf("within ten minutes: got %d tries, want 1", n)
			}
			w.say(nobodyIn)
			pass(5*time.Minute + 2*time.Second)
			if n := len(w.of(1)); n < 2 {
				t.Errorf("after fifteen minutes: got %d tries, want another", n)
			}
			pass(answerAfter)
			if s := w.state(1); s != Live {
				t.Errorf("got state %d, want %d to stay", s, Live)
			}
		})
	}
}

func TestIncompleteAnswerIsNotSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return unsure })
		w.add(1, 7)
		o := w.start(nil)
		pass(time.Minute)
		if n := len(w.of(1)); n < 4 {
			t.Errorf("got %d tries, want the burst", n)
		}
		if s := o.Status(7); s.Silent {
			t.Error("got a silent device, want an unknown one")
		}
		w.say(nobodyIn)
		pass(30 * time.Minute)
		if s := o.Status(7); !s.Silent {
			t.Error("got an unknown device, want a silent one")
		}
	})
}

func TestHelloIsRepeatedAndNeverLive(t *testing.T) {
	for name, a := range map[string]answer{"honest": nobodyIn, "lying": tookIt} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, func(try) answer { return a })
				w.hellos[1], w.route[7] = true, true
				w.add(1, 7)
				w.add(2, 7)
				o := w.start(fixed(0))
				pass(time.Hour)
				if n := len(w.of(1)); n%4 != 0 || n < 4*9 {
					t.Errorf("got %d cells, want four for each of the schedule's tries", n)
				}
				if s := w.state(1); s != Offered {
					t.Errorf("got state %d, want %d", s, Offered)
				}
				if o.Status(7).Silent {
					t.Error("got a silent device, want an unknown one")
				}
				if n := len(w.of(2)); n != 0 {
					t.Errorf("message before acceptance: got %d tries, want none", n)
				}
				w.mu.Lock()
				w.route[7] = false
				w.script = func(try) answer { return tookIt }
				w.mu.Unlock()
				o.Heard(7) // it was accepted
				o.Remove(1)
				pass(answerAfter)
				if n := len(w.of(2)); n != 1 {
					t.Errorf("message after acceptance: got %d tries, want 1", n)
				}
			})
		})
	}
}

// A copy that is never taken while others are, a duplicate for one, must not go
// with every success of theirs.
func TestCopyThatIsFlushedInVainSlowsDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(tr try) answer {
			if tr.id == 1 {
				return nobodyIn
			}
			return tookIt
		})
		w.add(1, 7)
		o := w.start(nil)
		for id := range int64(3000) { // ten minutes of lively talk
			o.Add(w.add(id+2, 7))
			if id%2 == 0 {
				o.Heard(7)
			}
			pass(200 * time.Millisecond)
		}
		if n := len(w.of(1)); n < 10 || n > 35 {
			t.Errorf("got %d tries in ten minutes, want 10 to 35", n)
		}
		// A minute of rest ends it.
		w.say(nobodyIn)
		// Stored before it is taken in: what the store does not have is forgotten, and
		// then copy 1 itself would be probed with, and be tried too lately for a flush.
		w.add(5000, 7)
		o.Add(Item{ID: 5000, Peer: 7, Order: -1}) // goes first, and is probed with
		pass(2 * time.Hour)
		before := len(w.of(1))
		for range 2 {
			o.Heard(7)
			pass(2 * answerAfter)
		}
		if n := len(w.of(1)) - before; n < 2 {
			t.Errorf("got %d tries for two cells from the device, want 2", n)
		}
	})
}

func TestEveryTryIsSealedAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return nobodyIn })
		w.hellos[2] = true
		w.add(1, 7)
		w.add(2, 8)
		w.start(nil)
		pass(time.Hour)
		seen := map[string]bool{}
		for _, tr := range w.of(0) {
			k := string(tr.cell[:]) + string(tr.put[:])
			if seen[k] {
				t.Fatal("got one sealed cell twice, want a fresh one for each try")
			}
			seen[k] = true
		}
	})
}

func TestOldestGoFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(try) answer { return tookIt })
		for id := range int64(1000) {
			w.add(1000-id, 7)
		}
		w.start(nil)
		pass(time.Minute)
		var order []int64
		for _, tr := range w.of(0) {
			order = append(order, tr.id)
		}
		// Those that start at one moment may overtake each other, one window
		// does not overtake another.
		for i := 0; i < len(order); i += Window {
			part := slices.Sorted(slices.Values(order[i:min(i+Window, len(order))]))
			if part[0] != int64(i+1) || part[len(part)-1] != int64(i+len(part)) {
				t.Fatalf("window from %d: got copies %d to %d", i, part[0], part[len(part)-1])
			}
		}
	})
}
