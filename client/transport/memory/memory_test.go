package memory_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/memory"
	"github.com/tacet-chat/tacet/client/transport/transporttest"
)

func TestTransport(t *testing.T) {
	transporttest.Suite{
		New: func(*testing.T) *transporttest.World {
			n := memory.New(memory.Options{})
			time.Sleep(time.Second) // virtual: a replay has something to reach back to
			return &transporttest.World{
				Live:     1800 * time.Second,
				Join:     func(*testing.T) transport.Transport { return n.Endpoint("") },
				Break:    func(tr transport.Transport) { n.Break(tr.(*memory.Endpoint)) },
				PutLinks: func(tr transport.Transport) int { return tr.(*memory.Endpoint).PutLinks() },
			}
		},
		Around: synctest.Test,
		Answer: memory.AnswerAfter,
		Window: memory.WindowSpan,
	}.Run(t)
}

// pair is one watch and one putter on a network.
type pair struct {
	*testing.T
	n       *memory.Network
	me, you *memory.Endpoint
	address transport.Owned
	got     chan transport.Delivery
	ready   chan time.Duration
	ended   chan error
}

func newPair(t *testing.T, o memory.Options) *pair {
	pub, private, _ := ed25519.GenerateKey(rand.Reader)
	p := &pair{
		T: t, n: memory.New(o),
		address: transport.Owned{
			Address: transport.Address(pub), Replay: true,
			Sign: func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil },
		},
		got: make(chan transport.Delivery, 8192), ready: make(chan time.Duration, 1), ended: make(chan error, 1),
	}
	p.me, p.you = p.n.Endpoint("me"), p.n.Endpoint("you")
	t.Cleanup(func() { p.me.Close(); p.you.Close() })
	return p
}

// watch starts the watch; deliver nil only collects.
func (p *pair) watch(deliver func(transport.Delivery)) {
	go func() {
		p.ended <- p.me.Watch(p.Context(), transport.Watch{
			Period: uint64(time.Now().Unix() / 1800), Set: []transport.Owned{p.address},
			Ready: func(since time.Duration) { p.ready <- since },
			Deliver: func(d transport.Delivery) {
				if deliver != nil {
					deliver(d)
				}
				p.got <- d
			},
		})
	}()
	synctest.Wait()
}

func (p *pair) put(i int) (transport.Receipt, error) {
	c := transport.Cell{byte(i), byte(i >> 8)}
	return p.you.Put(p.Context(), transport.Put{Address: p.address.Address, ID: transport.CellID(c[:16]), Cell: &c})
}

func TestAnswerTakesExactlyTheConstantTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		for _, watched := range []bool{false, true} {
			if watched {
				p.watch(func(d transport.Delivery) { d.Seen() })
			}
			start := time.Now()
			r, err := p.put(1)
			if got := time.Since(start); err != nil || got != memory.AnswerAfter {
				t.Errorf("got answer %+v, %v after %v, want it after %v", r, err, got, memory.AnswerAfter)
			}
		}
	})
}

func TestSeenCountsOnlyInTime(t *testing.T) {
	for after, want := range map[time.Duration]int{
		0: 1, memory.SeenWithin: 1, memory.SeenWithin + time.Millisecond: 0, time.Hour: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, memory.Options{})
			p.watch(func(d transport.Delivery) { time.AfterFunc(after, d.Seen) })
			if r, err := p.put(1); err != nil || r.Delivered != want {
				t.Errorf("got %+v, %v for Seen after %v, want %d delivered", r, err, after, want)
			}
		})
	}
}

func TestSeenOfAnEndedWatchDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.watch(func(d transport.Delivery) {
			time.AfterFunc(time.Millisecond, func() { p.n.Break(p.me) })
			time.AfterFunc(time.Second, d.Seen)
		})
		if r, err := p.put(1); err != nil || r.Delivered != 0 {
			t.Errorf("got %+v, %v, want 0 delivered", r, err)
		}
	})
}

func TestLostCellsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.n.SetFaults(memory.Faults{Lose: 1})
		p.watch(func(d transport.Delivery) { d.Seen() })
		if r, err := p.put(1); err != nil || r.Delivered != 0 || len(p.got) != 0 {
			t.Errorf("got %+v, %v and %d cells, want none", r, err, len(p.got))
		}
	})
}

func TestRepeatedCellsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.n.SetFaults(memory.Faults{Repeat: 1})
		p.watch(func(d transport.Delivery) { d.Seen() })
		if r, err := p.put(1); err != nil || r.Delivered != 1 || len(p.got) != 2 {
			t.Errorf("got %+v, %v and %d cells, want 1 delivered and 2 cells", r, err, len(p.got))
		}
	})
}

func TestSpreadReordersAndTheSeedDecidesHow(t *testing.T) {
	order := func(seed uint64) (s []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, memory.Options{Seed: seed})
			p.n.SetFaults(memory.Faults{Delay: time.Second, Spread: time.Hour})
			p.watch(nil)
			for i := range 30 {
				if _, err := p.put(i); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Hour)
			for range 30 {
				s = append(s, (<-p.got).Cell[0])
			}
		})
		return s
	}
	one, again, other := order(1), order(1), order(2)
	if string(one) != string(again) {
		t.Errorf("got orders %v and %v from one seed, want one", one, again)
	}
	if string(one) == string(other) {
		t.Errorf("got order %v from two seeds, want two", one)
	}
}

func TestBrokenAnswerIsAnErrorThoughTheCellArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.n.SetFaults(memory.Faults{Break: 1})
		p.watch(func(d transport.Delivery) { d.Seen() })
		if r, err := p.put(1); err == nil || r != (transport.Receipt{}) || len(p.got) != 1 {
			t.Errorf("got %+v, %v and %d cells, want an error, no receipt and the cell", r, err, len(p.got))
		}
	})
}

func TestPartedEndpointIsOffTheNetworkUntilHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.watch(func(d transport.Delivery) { d.Seen() })
		<-p.ready
		p.n.Part(p.me)
		if err := <-p.ended; err == nil {
			t.Error("got no error, want the watch broken")
		}
		if r, err := p.put(1); err != nil || r.Delivered != 0 {
			t.Errorf("got %+v, %v, want 0 delivered", r, err)
		}
		p.watch(nil)
		if err := <-p.ended; err == nil {
			t.Error("got no error, want no way onto the network")
		}
		p.n.Heal(p.me)
		p.watch(func(d transport.Delivery) { d.Seen() })
		if since := <-p.ready; since != memory.AnswerAfter {
			t.Errorf("got a replay of %v, want %v", since, memory.AnswerAfter)
		}
		if r, err := p.put(2); err != nil || r.Delivered != 1 {
			t.Errorf("got %+v, %v, want 1 delivered", r, err)
		}
		if len(p.got) != 2 { // the one from the window too
			t.Errorf("got %d cells, want 2", len(p.got))
		}
	})
}

func TestWindowForgets(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     memory.Options
		puts  int
		pause time.Duration
		cells int
		since time.Duration
	}{
		{"after a minute", memory.Options{}, 3, 2 * time.Minute, 0, time.Minute},
		{"beyond its size", memory.Options{Window: 4}, 10, time.Second, 4, 4*memory.AnswerAfter + memory.AnswerAfter + time.Second},
		{"always without one", memory.Options{Window: -1}, 3, time.Second, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, c.o)
				for i := range c.puts {
					p.put(i)
				}
				time.Sleep(c.pause)
				p.watch(nil)
				if since := <-p.ready; since != c.since || len(p.got) != c.cells {
					t.Errorf("got %d cells of %v, want %d of %v", len(p.got), since, c.cells, c.since)
				}
			})
		})
	}
}

func TestSlowReaderLosesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		release := make(chan struct{})
		p.watch(func(transport.Delivery) { <-release })
		ctx, cancel := context.WithCancel(t.Context())
		put := func(i int) {
			c := transport.Cell{byte(i), byte(i >> 8)}
			p.you.Put(ctx, transport.Put{Address: p.address.Address, ID: transport.CellID(c[:16]), Cell: &c})
		}
		go put(0)
		synctest.Wait() // its delivery blocks now, and all others queue up
		for i := range 4200 {
			go put(1 + i)
		}
		synctest.Wait()
		cancel()
		close(release)
		select {
		case err := <-p.ended:
			if err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("got error %v, want the flood", err)
			}
		case <-time.After(time.Hour):
			t.Error("got silence, want the flood")
		}
	})
}

func TestSkewMovesTimeAndPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, memory.Options{})
		p.n.SetSkew(2 * time.Hour)
		p.watch(nil)
		if err := <-p.ended; !errors.Is(err, transport.ErrRefused) {
			t.Errorf("got error %v, want the period refused", err)
		}
	})
}

func TestTapSeesWhatARelayWouldSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []memory.Event
		p := newPair(t, memory.Options{Tap: func(e memory.Event) { events = append(events, e) }})
		p.watch(nil)
		p.put(1)
		if len(events) != 2 || !events[0].Watch || events[1].Watch ||
			events[0].Endpoint != "me" || events[1].Endpoint != "you" || events[0].Address != events[1].Address {
			t.Errorf("got events %+v, want a watch by me and a put by you", events)
		}
	})
}
