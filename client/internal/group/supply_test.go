package group_test

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// TestStockIsRefilled: a device has three of ours of each suite, gets what it used and
// what grew old, and no more. With a stock somebody is added who is away.
func TestStockIsRefilled(t *testing.T) {
	w := newWorld(t, 51)
	ann, ben := w.device("ann", nil), w.device("ben", nil)
	supply := func() (n int) {
		t.Helper()
		for more := true; more; {
			ben.must(func(tx group.Tx) (*group.Change, error) {
				ch, m, err := ben.eng.Supply(tx, w.now, []group.Unmet{{Device: ann.id(), Root: ann.person()}}, 2)
				if err == nil {
					n += len(ch.Words)
				}
				more = m
				return ch, err
			})
		}
		w.settle(0)
		return n
	}
	has := func(want int) {
		t.Helper()
		ann.must(func(tx group.Tx) (*group.Change, error) {
			all, err := tx.Stock(ben.id())
			if len(all) != want {
				t.Errorf("ann has %d packages of ben's, want %d", len(all), want)
			}
			return nil, err
		})
	}
	if got := supply(); got != 3 { // two packages a word
		t.Errorf("got %d words, want 3", got)
	}
	has(2 * group.StockSize)
	if got := supply(); got != 0 {
		t.Errorf("got %d words for a full stock, want none", got)
	}
	ben.on = false
	id := ann.create("walks")
	ann.add(id, ben)
	w.settle(10 * time.Minute)
	if got := len(ann.epoch(id, ann.record(id).Head).Roster); got != 2 {
		t.Fatalf("got %d leaves with ben away, want 2", got)
	}
	has(2*group.StockSize - 1)
	ben.on = true
	w.settle(10 * time.Minute)
	w.together(id, ann, ben)
	has(2 * group.StockSize) // he gave another with his thanks
	if got := supply(); got != 0 {
		t.Errorf("got %d words after that, want none", got)
	}
	w.now = w.now.Add(61 * 24 * time.Hour)
	if got := supply(); got != 3 {
		t.Errorf("got %d words two months later, want 3", got)
	}
}
