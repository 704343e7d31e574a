package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

var timeNow = time.Now

// cells makes cells to park at addresses, one after the other.
func cells(n, hours int, at ...transport.Owned) (all []transport.Parking) {
	for i := range n {
		var c transport.Cell
		rand.Read(c[:])
		all = append(all, transport.Parking{Address: at[i%len(at)].Address, Cell: &c, Hours: hours})
	}
	return all
}

// park parks cells, as many at a time as go together.
func park(t *testing.T, r *relay.Relay, all []transport.Parking) {
	t.Helper()
	for ; len(all) > 0; all = all[min(len(all), transport.MaxPark):] {
		kept, err := r.Park(t.Context(), transport.Park{Cells: all[:min(len(all), transport.MaxPark)]})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kept {
			if k.Fate != transport.Parked {
				t.Fatalf("got fate %d, want it parked", k.Fate)
			}
		}
	}
}

// take takes what is there for a set. seen says which cells may go.
func take(t *testing.T, r *relay.Relay, set []transport.Owned, seen func(transport.Delivery) bool) (got []transport.Delivery, err error) {
	t.Helper()
	err = r.Take(t.Context(), transport.Take{
		Day: uint64(time.Now().Unix() / 86400), Set: set,
		Deliver: func(batch []transport.Delivery) {
			for _, d := range batch {
				got = append(got, d)
				if seen == nil || seen(d) {
					d.Seen()
				}
			}
		},
	})
	return got, err
}

func TestWhatIsParkedIsTakenOnceAndDeleted(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, name)
			p := f.parks(720)
			set := owns(16)
			sent := cells(40, 24, set[0], set[1], set[2])
			park(t, f.join(), sent)
			got, err := take(t, f.join(), set, nil)
			if err != nil || len(got) != len(sent) || p.left() != 0 {
				t.Fatalf("got %d cells, %v, and %d left, want %d and none", len(got), err, p.left(), len(sent))
			}
			for _, s := range sent {
				n := 0
				for _, d := range got {
					if d.Address == s.Address && bytes.Equal(d.Cell[:], s.Cell[:]) {
						n++
					}
				}
				if n != 1 {
					t.Errorf("got a cell %d times, want once", n)
				}
			}
			if got, err := take(t, f.join(), set, nil); err != nil || len(got) != 0 {
				t.Errorf("got %d cells, %v, the second time, want none", len(got), err)
			}
		})
	}
}

func TestWhatWasNotSeenStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		p := f.parks(720)
		set := owns(16)
		park(t, f.join(), cells(10, 24, set[3]))
		n := 0
		got, err := take(t, f.join(), set, func(transport.Delivery) bool { n++; return n%2 == 0 })
		if !errors.Is(err, transport.ErrHeld) || len(got) != 10 || p.left() != 5 {
			t.Errorf("got %d cells, %v, and %d left, want 10, ErrHeld and 5", len(got), err, p.left())
		}
		if got, err := take(t, f.join(), set, nil); err != nil || len(got) != 5 || p.left() != 0 {
			t.Errorf("got %d cells, %v, and %d left, want the 5 and none", len(got), err, p.left())
		}
		// A Seen that comes when Deliver has returned says nothing any more.
		park(t, f.join(), cells(1, 24, set[3]))
		var late transport.Delivery
		if _, err := take(t, f.join(), set, func(d transport.Delivery) bool { late = d; return false }); !errors.Is(err, transport.ErrHeld) {
			t.Errorf("got error %v, want ErrHeld", err)
		}
		late.Seen()
		synctest.Wait()
		if p.left() != 1 {
			t.Errorf("got %d left after a late Seen, want 1", p.left())
		}
	})
}

// TestALargeTake takes more rows than may wait here, at more addresses than a
// frame has, from a relay that reads nothing while it sends.
func TestALargeTake(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "localhost")
			p := f.parks(720)
			p.deaf = deaf
			set := owns(1024)
			park(t, f.join(), cells(1500, 24, set[0], set[700]))
			got, err := take(t, f.join(), set, nil)
			if err != nil || len(got) != 1500 || p.left() != 0 {
				t.Errorf("got %d cells, %v, and %d left, want 1,500 and none", len(got), err, p.left())
			}
			if len(p.sets) != 2 || p.sets[0] != 512 || p.sets[1] != 512 {
				t.Errorf("got take frames of %v addresses, want two of 512", p.sets)
			}
			for _, n := range p.acks {
				if n > wire.MaxAckRows {
					t.Errorf("got an ack of %d rows, want at most %d", n, wire.MaxAckRows)
				}
			}
			t.Logf("deaf %v: %d acks of 1,500 rows", deaf, len(p.acks))
		})
	}
}

func TestParkSaysWhatBecameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		r := f.join()
		me := own()
		one := cells(1, 24, me)
		if _, err := r.Park(t.Context(), transport.Park{Cells: one}); !errors.Is(err, transport.ErrNothing) {
			t.Errorf("got error %v of a relay that does not park, want ErrNothing", err)
		}
		if err := r.Take(t.Context(), transport.Take{Set: owns(16), Deliver: func([]transport.Delivery) {}}); !errors.Is(err, transport.ErrNothing) {
			t.Errorf("got error %v of a relay that does not park, want ErrNothing", err)
		}
		if f.asked("/v1/park")+f.asked("/v1/take") != 0 {
			t.Error("a relay that does not park was asked to")
		}
		p := f.parks(100)
		r = f.join()
		for _, c := range []struct{ ask, want int }{{1, 1}, {100, 100}, {101, 100}, {1440, 100}} {
			kept, err := r.Park(t.Context(), transport.Park{Cells: cells(1, c.ask, me)})
			if err != nil || len(kept) != 1 || kept[0] != (transport.Kept{Fate: transport.Parked, Hours: c.want}) {
				t.Errorf("got %v, %v for %d hours, want %d", kept, err, c.ask, c.want)
			}
		}
		for _, it := range p.rows {
			if it.Hours > 100 {
				t.Errorf("got %d hours on the wire, want at most what the relay says", it.Hours)
			}
		}
		for verdict, want := range map[wire.ParkVerdict]transport.Fate{wire.ParkFull: transport.Full, wire.ParkNoRoom: transport.NoRoom} {
			p.verdict = verdict
			kept, err := r.Park(t.Context(), transport.Park{Cells: cells(3, 1, me)})
			if err != nil || len(kept) != 3 || kept[2].Fate != want {
				t.Errorf("got %v, %v, want fate %d", kept, err, want)
			}
		}
		for _, bad := range [][]transport.Parking{nil, cells(17, 1, me), cells(1, 0, me), {{Address: me.Address, Hours: 1}}} {
			if _, err := r.Park(t.Context(), transport.Park{Cells: bad}); !errors.Is(err, transport.ErrRefused) {
				t.Errorf("got error %v for %d cells, want ErrRefused", err, len(bad))
			}
		}
		for status, want := range map[int]error{429: transport.ErrLimit, 503: transport.ErrBusy, 401: transport.ErrSpent, 400: transport.ErrRefused, 404: transport.ErrNothing} {
			f.replace("/v1/park", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			if _, err := r.Park(t.Context(), transport.Park{Cells: one}); !errors.Is(err, want) {
				t.Errorf("got error %v for status %d, want %v", err, status, want)
			}
		}
		for _, body := range []string{"", "\x00\x00", "\x03"} {
			f.replace("/v1/park", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) })
			if kept, err := r.Park(t.Context(), transport.Park{Cells: one}); err == nil {
				t.Errorf("got %v for the answer %q, want an error", kept, body)
			}
		}
	})
}

// TestATakeRefusesWhatItDidNotAskFor: a relay that does not keep to the protocol
// ends the take with an error, and nothing of it counts as taken.
func TestATakeRefusesWhatItDidNotAskFor(t *testing.T) {
	good := func(a transport.Address) []byte {
		return (&wire.Parked{ID: wire.RowID{1}, Address: wire.Address(a), Cell: wire.Cell{2}}).Append(nil)
	}
	for name, answer := range map[string]func(set []transport.Owned) [][]byte{
		"an address of nobody": func([]transport.Owned) [][]byte { return [][]byte{good(transport.Address{9})} },
		"another count":        func([]transport.Owned) [][]byte { return [][]byte{wire.AppendTaken(nil, 15)} },
		"a row after the end": func(s []transport.Owned) [][]byte {
			return [][]byte{good(s[0].Address), wire.AppendTaken(nil, 16), good(s[0].Address)}
		},
		"acked without an ack":   func([]transport.Owned) [][]byte { return [][]byte{wire.AppendAcked(nil, 1)} },
		"acked too many":         func(s []transport.Owned) [][]byte { return [][]byte{good(s[0].Address), nil, wire.AppendAcked(nil, 2)} },
		"a cell of a watch":      func([]transport.Owned) [][]byte { return [][]byte{make([]byte, wire.DeliverSize)} },
		"nothing":                func([]transport.Owned) [][]byte { return [][]byte{{}} },
		"a cut row":              func(s []transport.Owned) [][]byte { return [][]byte{good(s[0].Address)[:100]} },
		"a refusal":              func([]transport.Owned) [][]byte { return [][]byte{{byte(wire.FrameRefused), byte(wire.ReasonPeriod)}} },
		"a refusal that is none": func([]transport.Owned) [][]byte { return [][]byte{{byte(wire.FrameRefused), 77}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.parks(24)
				set := owns(16)
				f.script("/v1/take", func(ws *websocket.Conn) {
					f.write(ws, append(append([]byte{byte(wire.FrameGreeting)}, make([]byte, 32)...), f.second(time.Now())...))
					ws.Read(f.stop)
					for _, b := range answer(set) {
						if b == nil { // its ack
							ws.Read(f.stop)
							continue
						}
						f.write(ws, b)
					}
					ws.Read(f.stop)
				})
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				delivered := 0
				err := f.join().Take(ctx, transport.Take{Day: 1, Set: set, Deliver: func(batch []transport.Delivery) {
					for _, d := range batch {
						delivered++
						d.Seen()
					}
				}})
				if err == nil || errors.Is(err, transport.ErrHeld) || ctx.Err() != nil {
					t.Errorf("got error %v after %d cells, want one at once", err, delivered)
				}
			})
		})
	}
}

// TestATakeThatBreaksGoesOnWhereItWas: what was acked is gone, the rest comes again.
func TestATakeThatBreaksGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		p := f.parks(24)
		set := owns(16)
		park(t, f.join(), cells(700, 24, set[0], set[1]))
		r := f.join()
		ctx, stop := context.WithCancel(t.Context())
		err := r.Take(ctx, transport.Take{Day: 5, Set: set, Deliver: func(batch []transport.Delivery) {
			if len(batch) < transport.MaxBatch {
				synctest.Wait() // what was seen so far is acked
				stop()
				return
			}
			for _, d := range batch {
				d.Seen()
			}
		}})
		if !errors.Is(err, context.Canceled) && !errors.Is(err, transport.ErrHeld) || p.left() != 700-transport.MaxBatch {
			t.Errorf("got error %v and %d left, want the context's and what was not in the first batch", err, p.left())
		}
		left := p.left()
		if got, err := take(t, r, set, nil); err != nil || len(got) != left || p.left() != 0 {
			t.Errorf("got %d cells, %v and %d left, want the other %d", len(got), err, p.left(), left)
		}
	})
}

// till pays with what no relay looks into.
type till struct {
	mu   sync.Mutex
	paid map[transport.Purpose]int
	none bool
}

func (c *till) Announced(context.Context, transport.Announcement) error { return nil }

func (c *till) Ready(context.Context, transport.Purpose) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none {
		return transport.ErrEmpty
	}
	return nil
}

func (c *till) Pay(_ context.Context, p transport.Purpose, binding []byte) ([]byte, error) {
	if err := c.Ready(context.Background(), p); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paid[p]++
	return append([]byte{byte(p)}, binding...), nil
}

// TestParkingIsPaidByContext: one token for 64 cells, and one for each take.
func TestParkingIsPaidByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		p := f.parks(24)
		f.descriptor.Roles = append(f.descriptor.Roles, wire.RoleToken)
		f.descriptor.Class, f.descriptor.IssuedDay = 1024, 1
		f.descriptor.Issuers = []wire.Issuer{{Kind: 1, Epoch: 1, Key: [32]byte{1}}}
		r, c := f.join(), &till{paid: map[transport.Purpose]int{}}
		r.PayWith(c)
		set := owns(16)
		park(t, r, cells(160, 24, set[0]))
		if c.paid[transport.PayPut] != 3 || len(p.contexts) != 3 {
			t.Errorf("got %d tokens for %d contexts of 160 cells, want 3", c.paid[transport.PayPut], len(p.contexts))
		}
		if _, err := take(t, r, set, nil); err != nil || c.paid[transport.PayTake] != 1 {
			t.Errorf("got %d tokens for a take, %v, want 1", c.paid[transport.PayTake], err)
		}
		// The relay was started again and knows no context.
		clear(p.open)
		park(t, r, cells(1, 24, set[0]))
		if c.paid[transport.PayPut] != 4 {
			t.Errorf("got %d tokens, want a fourth", c.paid[transport.PayPut])
		}
		c.none = true
		clear(p.open)
		if _, err := r.Park(t.Context(), transport.Park{Cells: cells(1, 24, set[0]), Isolate: "another"}); !errors.Is(err, transport.ErrEmpty) {
			t.Errorf("got error %v without a token, want ErrEmpty", err)
		}
	})
}
