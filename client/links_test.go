package client

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// linkSize is how many bytes in common join two periods.
const linkSize = 8

// traces keeps what a relay is given in each period, in strings of linkSize bytes.
type traces struct {
	mu    sync.Mutex
	of    map[[linkSize]byte]uint64 // → period
	found []string
	puts  map[uint64]int // by period
}

func (c *traces) add(period uint64, parts ...[]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range parts {
		for i := 0; i+linkSize <= len(p); i++ {
			w := [linkSize]byte(p[i:])
			if t, ok := c.of[w]; ok && t != period {
				c.found = append(c.found, fmt.Sprintf("%x in %d and %d", w, t, period))
			}
			c.of[w] = period
		}
	}
}

// TestFiftyPeriodsHaveNothingInCommon follows two clients through 50 live
// periods. For most of them Bob is away, so that Ada offers the same messages
// again and again; then he reads them all. No address, cell, proof or decoy of
// one period has eight bytes in common with those of another.
func TestFiftyPeriodsHaveNothingInCommon(t *testing.T) {
	long(t)
	run := func(t *testing.T, plant func(p *transport.Put)) *traces {
		r := newRealm(600)
		c := &traces{of: map[[linkSize]byte]uint64{}, puts: map[uint64]int{}}
		r.lie(func() {
			r.cell = func(_ string, p *transport.Put) bool {
				if plant != nil {
					plant(p)
				}
				now := uint64(time.Now().Unix()) / 600
				c.add(now, p.Address[:], p.Cell[:])
				c.mu.Lock()
				c.puts[now]++
				c.mu.Unlock()
				return true
			}
			r.watch = func(_ string, w *transport.Watch) error {
				w.Set = slices.Clone(w.Set)
				for i, o := range w.Set {
					c.add(w.Period, o.Address[:])
					w.Set[i].Sign = func(m []byte) ([]byte, error) {
						sig, err := o.Sign(m)
						c.add(w.Period, sig)
						return sig, err
					}
				}
				return nil
			}
		})
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		for n := range 50 {
			switch n {
			case 3:
				bob.stop()
				ada.send("bob", "waits for a long time")
			case 44:
				bob.start()
			}
			time.Sleep(600 * time.Second)
			if n < 3 || n > 44 {
				ada.send("bob", "the same")
				bob.send("ada", "the same")
			}
		}
		synctest.Wait()
		if got := bob.texts(Received); !slices.Contains(got, "waits for a long time") {
			t.Errorf("Bob reads %q, want what waited for him", got)
		}
		return c
	}
	synctest.Test(t, func(t *testing.T) {
		c := run(t, nil)
		if len(c.found) != 0 {
			t.Errorf("periods have in common: %v", c.found[:min(len(c.found), 5)])
		}
		if len(c.puts) < 25 {
			t.Errorf("cells were put in %d periods only", len(c.puts))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := run(t, func(p *transport.Put) {
			if p.Cell[0] < 64 { // a client that marks a quarter of its cells
				copy(p.Cell[500:], "marked!!")
			}
		})
		if len(c.found) == 0 {
			t.Error("got nothing in common of cells that are marked")
		}
	})
}
