package hub

import (
	"testing"
	"testing/synctest"

	"github.com/tacet-chat/tacet/internal/wire"
)

// TestBigSetsTakeTurns: a connection with a big set offers a few proofs at a
// time and goes to the end of the line with the next.
func TestBigSetsTakeTurns(t *testing.T) { synctest.Test(t, bigSetsTakeTurns) }

func bigSetsTakeTurns(t *testing.T) {
	h := New(Config{Time: seed(t)}) // nobody verifies but this test
	type result struct {
		name string
		good bool
	}
	results := make(chan result, 3)
	offer := func(name string, proofs int) {
		w := new(watcher)
		w.init(h, deafConn{}, 0, w)
		results <- result{name, w.proven(1, make([]byte, proofs*wire.ProofSize))}
	}
	go offer("big", wire.MaxWatch)
	b := <-h.proofs // the first of 32
	turns := 0
	go offer("small", 1)
	synctest.Wait() // it stands in line
	for small := false; !small; {
		if len(b.sets) > perBatch*wire.ProofSize {
			t.Fatalf("got %d proofs at once, want at most %d", len(b.sets)/wire.ProofSize, perBatch)
		}
		b.good <- true
		if turns++; turns > wire.MaxWatch/perBatch {
			t.Fatal("got the whole of a big set before a small one")
		}
		b = <-h.proofs
		small = len(b.sets) == wire.ProofSize
	}
	b.good <- true
	if got := <-results; got.name != "small" {
		t.Errorf("got %s done first, want small", got.name)
	}
	b = <-h.proofs
	b.good <- false
	if got := <-results; got.name != "big" || got.good {
		t.Errorf("got %+v, want big, refused", got)
	}
	close(h.stopping)
	if offer("late", 1); (<-results).good {
		t.Error("got a proof taken when nobody verifies any more")
	}
}
