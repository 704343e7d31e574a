package group_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// counting counts the encryptions of a group.
type counting struct {
	group.MLS
	sealed *int
}

type countingTree struct {
	group.Tree
	sealed *int
}

func (c counting) Parse(f group.Fixed, b []byte) (group.Tree, error) {
	t, err := c.MLS.Parse(f, b)
	return countingTree{t, c.sealed}, err
}

func (t countingTree) Seal(v group.Env, plain []byte, size int) ([]byte, error) {
	*t.sealed++
	return t.Tree.Seal(v, plain, size)
}

func (t countingTree) Unstage(b []byte) (*group.Staged, error) {
	return t.Tree.(group.Unstager).Unstage(b)
}

// TestManyLeaves adds many people at once, and sends to them: one encryption, and
// copies that share their bytes. Above 32 leaves the copy leaves once, and each
// that did not ack gets one of its own.
func TestManyLeaves(t *testing.T) {
	for _, n := range []int{20, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, 60)
			ann := w.device("ann", nil)
			all := []*device{ann}
			for i := range n - 1 {
				d := w.device(fmt.Sprint("p", i), nil)
				all = append(all, d)
				w.give(d, ann)
			}
			w.settle(0)
			sealed := 0
			ann.eng.Crypto = counting{sealed: &sealed}
			var id group.ID
			ann.must(func(tx group.Tx) (ch *group.Change, err error) {
				id, ch, err = ann.eng.Create(tx, w.now, group.Founding{Name: "many", Class: -1, Size: n})
				return ch, err
			})
			ann.add(id, all[1:]...)
			w.settle(40 * time.Minute)
			w.together(id, all...)
			last := all[n-1]
			last.on = false
			before, cells := sealed, len(w.cells)
			start := time.Now()
			m := ann.send(id, "hello all")
			t.Logf("%d leaves: a send took %s", n, time.Since(start))
			if sealed-before != 1 {
				t.Errorf("got %d encryptions, want one", sealed-before)
			}
			made := w.cells[cells:]
			for _, c := range made {
				if &c.copy.Payload[0] != &made[0].copy.Payload[0] {
					t.Error("copies do not share their bytes")
				}
			}
			want := n - 1
			if n > roster.SharedAbove {
				want = 1
			}
			if len(made) != want {
				t.Errorf("got %d copies, want %d", len(made), want)
			}
			w.settle(20 * time.Minute)
			for _, d := range all[1 : n-1] {
				if d.got("hello all") != 1 {
					t.Errorf("%s: got it %d times, want once", d.name, d.got("hello all"))
				}
			}
			last.on = true
			last.start()
			w.settle(2 * time.Hour)
			if last.got("hello all") != 1 || len(ann.rows) != 0 {
				t.Errorf("who came late got it %d times, and %d rows are left", last.got("hello all"), len(ann.rows))
			}
			ev := ann.saw(group.EventDelivery)
			if e := ev[len(ev)-1]; e.Message != m || e.Reached != n-1 || e.Of != n-1 {
				t.Errorf("got %d of %d, want all", e.Reached, e.Of)
			}
			t.Logf("%d leaves: %d bytes on the disk of one, %d cells in all", n, ann.disk.Size(), w.sent)
		})
	}
}

// TestHybrid is a group of the hybrid suite.
func TestHybrid(t *testing.T) {
	w := newWorld(t, 61)
	ann, ben, cat := w.device("ann", nil), w.device("ben", nil), w.device("cat", nil)
	for _, d := range w.devs {
		d.eng.Hybrid = 0
	}
	w.stock(ann, ben, cat)
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(time.Hour)
	ben.send(id, "hello")
	if err := ann.remove(id, cat); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.together(id, ann, ben)
	if ann.got("hello") != 1 || cat.got("hello") != 1 {
		t.Error("a text of the hybrid suite is lost")
	}
	if os.Getenv("TACET_LONG") != "" {
		t.Logf("%d bytes on the disk of one", ann.disk.Size())
	}
}
