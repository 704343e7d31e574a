package window

import (
	"testing"
	"time"
)

// TestAFloodIsMissedWhereItWasRefused: what found no room shortens the reach of
// its own addresses, and of hardly any other.
func TestAFloodIsMissedWhereItWasRefused(t *testing.T) {
	const bound, flood, others = 8 << 20, 10_000, 1000
	w := New(bound, 0)
	for a := range flood {
		w.Offer(30*second, entry(a, a))
	}
	dst := make([]Entry, 1)
	refused := 0
	for a := range flood {
		if n, _ := w.Read(dst, 31*second, address(a), 0); n == 1 {
			continue
		}
		refused++
		for at, most := range map[int64]time.Duration{30: 0, 31: time.Second, 45: 15 * time.Second} {
			if got := w.Reach(at*second, address(a)); got > most {
				t.Fatalf("got a reach of %v %v after the loss, want at most that", got, most)
			}
		}
	}
	if refused < flood/4 {
		t.Fatalf("got %d of %d refused; the test proves nothing", refused, flood)
	}
	short := 0
	for a := range others {
		if w.Reach(31*second, address(flood+a)) != 31*time.Second {
			short++
		}
	}
	if short > others/50 {
		t.Errorf("got a short reach for %d of %d addresses that nothing was refused for, want hardly any", short, others)
	}
	bytes := 0
	for i := range w.shards {
		if m := w.shards[i].marks; m != nil {
			for _, row := range m {
				bytes += 2 * len(row)
			}
		}
	}
	if bytes == 0 || bytes > bound/markPart {
		t.Errorf("got %d bytes of marks, want at most %d", bytes, bound/markPart)
	}
	w.Sweep(90 * second)
	for i := range w.shards {
		if w.shards[i].marks != nil {
			t.Fatal("got marks left when what they are for has aged")
		}
	}
	if got := w.Reach(90*second, address(1)); got != Span {
		t.Errorf("got a reach of %v in the end, want %v", got, Span)
	}
}

// TestMarksOutlastTheirRound: the seconds are counted round and round.
func TestMarksOutlastTheirRound(t *testing.T) {
	for _, at := range []int64{0, round - 1, round, 3*round + 17} {
		m := newMarks(1)
		m.set(7, at*second)
		for _, after := range []int64{0, 1, 2, 59, 60} {
			want := time.Duration(max(0, (after-1)*second))
			if got, ever := m.since(7, (at+after)*second); got != want || !ever {
				t.Errorf("%d s after a mark at %d s: got %v, %v, want %v", after, at, got, ever, want)
			}
		}
	}
}
