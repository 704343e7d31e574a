package client

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// counts collects how many devices each message was counted for.
type counts struct {
	mu sync.Mutex
	of map[string][]int // by message id in hex
}

// listen notes the answers to Ada's puts that Bob can open.
func (c *counts) listen(r *realm, ada string, bob *person) {
	r.lie(func() {
		r.answer = func(by string, p transport.Put, got transport.Receipt, err error) {
			b, ok := bob.opened(p.Address, p.Cell)
			if by != ada || !ok || b.Kind != wire.KindPair {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			n := -1 // no answer
			if err == nil {
				n = got.Delivered
			}
			c.of[hexID(b.ID)] = append(c.of[hexID(b.ID)], n)
		}
	})
}

// acrossPeriods has Ada write to Bob over several live periods, often around
// each boundary. It returns how many messages were sent, how many were not
// counted at their first put, and how many Bob did not read exactly once.
func acrossPeriods(t *testing.T, skew time.Duration, spoil func(*realm)) (sent, uncounted, unread int) {
	const periods = 4
	r := newRealm(600)
	r.net.SetSkew(skew)
	ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
	meet(t, ada, bob)
	if spoil != nil {
		spoil(r)
	}
	time.Sleep(time.Minute)
	c := &counts{of: map[string][]int{}}
	c.listen(r, "Ada", bob)
	var events []Event
	for end := time.Now().Add(periods * 600 * time.Second); time.Now().Before(end); {
		events = append(events, ada.send("bob", fmt.Sprint(len(events))))
		// The boundaries of the clock, and of the relay's.
		to := min(toBoundary(0), toBoundary(skew))
		switch {
		case to < 10*time.Second:
			time.Sleep(time.Second + 7*time.Millisecond)
		default:
			time.Sleep(17 * time.Second)
		}
	}
	r.lie(func() { r.watch = nil })
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	read := map[string]int{}
	for _, text := range bob.texts(Received) {
		read[text]++
	}
	for _, e := range events {
		c.mu.Lock()
		n := c.of[e.ID]
		c.mu.Unlock()
		if len(n) == 0 || n[0] != 1 {
			uncounted++
		}
		if read[e.Text] != 1 {
			unread++
		}
	}
	return len(events), uncounted, unread
}

// toBoundary returns how far the nearest boundary of a live period is.
func toBoundary(skew time.Duration) time.Duration {
	in := time.Now().Add(skew).Sub(time.Unix(0, 0)) % (600 * time.Second)
	return min(in, 600*time.Second-in)
}

// TestLiveDevicesAreCountedAcrossPeriods: every put to a device that is there is
// counted at once, whatever period it falls into, also where the relay's clock
// is a little off.
func TestLiveDevicesAreCountedAcrossPeriods(t *testing.T) {
	for _, skew := range []time.Duration{0, 8 * time.Second, -8 * time.Second, 4 * time.Minute} {
		t.Run(fmt.Sprint("relay ahead by ", skew), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent, uncounted, unread := acrossPeriods(t, skew, nil)
				if sent < 100 || uncounted > 0 || unread > 0 {
					t.Errorf("of %d messages got %d not counted and %d not read exactly once, want none", sent, uncounted, unread)
				}
			})
		})
	}
}

// TestMissedBoundariesAreCaught plants what the test above is for: a device that
// is not there in every other period.
func TestMissedBoundariesAreCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, uncounted, unread := acrossPeriods(t, 0, func(r *realm) {
			r.lie(func() {
				r.watch = func(by string, w *transport.Watch) error {
					if by == "Bob" && w.Period%2 == 0 {
						return transport.ErrRefused
					}
					return nil
				}
			})
		})
		if uncounted == 0 {
			t.Error("got every message counted, though its device was away half of the time")
		}
		if unread > 0 {
			t.Errorf("got %d messages that were not read exactly once, want none: they wait", unread)
		}
	})
}
