package bus

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// counting is a link that counts what is sent.
type counting struct{ sent int }

func (c *counting) Run(ctx context.Context, _ ID, _ func([]byte)) error { <-ctx.Done(); return nil }
func (c *counting) Send(ID, []byte)                                     { c.sent++ }
func (c *counting) Up() bool                                            { return true }
func (c *counting) Cut() bool                                           { return false }

type asked struct{ n int }

func (a *asked) Ask(n int)  { a.n += n }
func (a *asked) Answer(int) {}

// TestWhatDoesNotFitIsToldOf: cells beyond those that may wait are not sent, and
// the next hello tells the others that something has gone past them, once
// what waited before was sent.
func TestWhatDoesNotFitIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := key.New[key.SignRole](make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		l := new(counting)
		m, err := New(Config{Realm: NewRealm(k), Link: l})
		if err != nil {
			t.Fatal(err)
		}
		other := ID{1}
		m.roster.peers[other] = &peer{id: other}
		m.roster.changed()
		var cell window.Entry
		tally := new(asked)
		for range maxQueued + 100 {
			m.Publish(&cell, tally)
		}
		if tally.n != maxQueued+100 {
			t.Errorf("got %d asked, want all", tally.n)
		}
		if m.sent != 0 || m.batches != (maxQueued+maxCells-1)/maxCells+1 {
			t.Errorf("got %d batches of which %d were sent, want one for what did not fit", m.batches, m.sent)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go m.publish(ctx)
		synctest.Wait()
		m.Publish(&cell, tally)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if want := (maxQueued+maxCells-1)/maxCells + 1; l.sent != want {
			t.Errorf("got %d messages, want %d", l.sent, want)
		}
		if m.sent != m.batches || m.batches != uint64(l.sent)+1 {
			t.Errorf("got %d batches told of, %d numbered, %d messages; want all told of, and one more than was sent", m.sent, m.batches, l.sent)
		}
	})
}
