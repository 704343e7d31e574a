package hub

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// modelled is a watch connection and what the model knows of it.
type modelled struct {
	*watching
	watches map[int]bool // which of the owners
	got     map[uint64][]byte
}

// TestAgainstAModel runs random watches, unwatches, puts, echoes, connections
// and ends against a map of who watches what: every cell goes to exactly those,
// and every answer counts exactly those who echoed.
func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(12) {
		virtual(t, Config{WindowBytes: 8 << 20}, func(t *testing.T, w *world) {
			r := rand.New(rand.NewPCG(seed, 4))
			set := owners(t, 12)
			var all []*modelled
			putters := []*peer{w.open("/v1/put"), w.open("/v1/put"), w.open("/v1/put")}
			for _, p := range putters {
				p.pong.Store(true)
				p.send(putFrame(owner(t), 1<<40)) // what it is for
			}
			want := map[uint64]int{}
			next := uint64(0)
			for range 300 {
				switch k := r.IntN(12); {
				case k == 0 && len(all) < 9:
					all = append(all, join(w))
				case k == 1 && len(all) > 0:
					i := r.IntN(len(all))
					all[i].nc.Close()
					all = append(all[:i], all[i+1:]...)
				case k <= 4 && len(all) > 0:
					all[r.IntN(len(all))].more(r, set)
				case k == 5 && len(all) > 0:
					all[r.IntN(len(all))].fewer(r, set)
				default:
					synctest.Wait()
					from := putters[r.IntN(len(putters))]
					var message []byte
					sent := map[uint64]int{}
					for range 1 + r.IntN(4) {
						n := r.IntN(len(set))
						message = append(message, putFrame(set[n], next)...)
						sent[next] = n
						next++
					}
					from.send(message)
					synctest.Wait()
					for id, n := range sent {
						for _, c := range all {
							if c.arrived(set, id) != c.watches[n] {
								t.Fatalf("seed %d: cell %d reached one who watches: %v", seed, id, c.watches[n])
							}
							if c.watches[n] && r.IntN(3) > 0 {
								c.echo(c.got[id])
								want[id]++
							}
						}
					}
				}
				time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
			for _, p := range putters {
				for id, a := range p.soFar() {
					if id == 1<<40 {
						continue
					}
					if a.delivered != want[id] {
						t.Errorf("seed %d: put %d: got %d delivered, want %d", seed, id, a.delivered, want[id])
					}
					delete(want, id)
				}
			}
			for id := range want {
				t.Errorf("seed %d: put %d was not answered", seed, id)
			}
		})
	}
}

func join(w *world) *modelled {
	c := &modelled{w.greeted(), map[int]bool{}, map[uint64][]byte{}}
	c.pong.Store(true)
	c.send(c.frame(0, w.period(), owner(w.t))) // a decoy: what it is for
	c.watched(1)
	return c
}

// more watches some, perhaps again, sometimes with replay.
func (c *modelled) more(r *rand.Rand, set []ed25519.PrivateKey) {
	var keys []ed25519.PrivateKey
	for range 1 + r.IntN(4) {
		n := r.IntN(len(set))
		keys = append(keys, set[n])
		c.watches[n] = true
	}
	flags := byte(r.IntN(2))
	c.send(c.frame(flags, c.w.period(), keys...))
	synctest.Wait()
	for { // replayed cells, then the answer
		f := c.next()
		if f.p[0] == byte(wire.FrameWatched) {
			if n := int(binary.BigEndian.Uint16(f.p[1:])); n != len(c.watches)+1 {
				c.t.Fatalf("got %d addresses, want %d", n, len(c.watches)+1)
			}
			return
		}
		if f.p[0] != byte(wire.FrameDeliver) || flags == 0 {
			c.t.Fatalf("got %x, want watched", f.p[:8])
		}
	}
}

func (c *modelled) fewer(r *rand.Rand, set []ed25519.PrivateKey) {
	b := []byte{byte(wire.FrameUnwatch)}
	for range 1 + r.IntN(3) {
		n := r.IntN(len(set))
		b = append(b, set[n][32:]...)
		delete(c.watches, n)
	}
	c.send(b)
}

// arrived reports whether a put has arrived, taking everything that has.
func (c *modelled) arrived(set []ed25519.PrivateKey, id uint64) bool {
	for {
		select {
		case f := <-c.frames:
			if f.p[0] != byte(wire.FrameDeliver) {
				c.t.Fatalf("got %x, want a cell", f.p[:8])
			}
			n := binary.BigEndian.Uint64(f.p[41:])
			if _, twice := c.got[n]; twice {
				c.t.Fatalf("got cell %d twice", n)
			}
			good := false
			for _, k := range set {
				good = good || bytes.Equal(f.p[9:], putFrame(k, n)[8:])
			}
			if !good {
				c.t.Fatalf("got cell %d with other bytes", n)
			}
			c.got[n] = f.p[1:9]
		default:
			_, ok := c.got[id]
			return ok
		}
	}
}

// soFar collects the answers that have come.
func (p *peer) soFar() map[uint64]answered {
	all := map[uint64]answered{}
	for len(p.frames) > 0 {
		for id, a := range p.answers(1) {
			all[id] = a
		}
	}
	return all
}
