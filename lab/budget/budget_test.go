package budget

import (
	"math"
	"testing"
)

func TestClass(t *testing.T) {
	for _, c := range []struct {
		n    float64
		size int
		fits bool
	}{{1, 1024, true}, {768, 1024, true}, {769, 4096, true}, {3073, 16384, true}, {16385, 16384, false}} {
		if size, fits := Present().class(c.n); size != c.size || fits != c.fits {
			t.Errorf("class of %.0f tokens: got %d %v, want %d %v", c.n, size, fits, c.size, c.fits)
		}
	}
}

func TestSet(t *testing.T) {
	for n, want := range map[int]int{0: 16, 16: 16, 17: 32, 79: 128, 518: 1024} {
		if got := set(n); got != want {
			t.Errorf("set of %d: got %d, want %d", n, got, want)
		}
	}
}

func TestCatchup(t *testing.T) {
	for _, c := range []struct {
		cells, k int
		mode     string
		mb       float64
	}{{0, 4, "whole", 1.316}, {3900, 4, "whole", 5.01}, {4100, 4, "LWE", 3.37}, {65536, 4, "LWE", 4.66}} {
		mode, up, down, _ := catchup(c.cells, c.k)
		if mode != c.mode || math.Abs((up+down)/1e6-c.mb) > 0.02 {
			t.Errorf("catch-up of %d cells, k %d: got %s %.3f MB, want %s %.3f", c.cells, c.k, mode, (up+down)/1e6, c.mode, c.mb)
		}
	}
}

func TestContexts(t *testing.T) {
	u := Present()
	u.Relays = 0
	two := []send{{at: 0, route: 1}, {at: 10, route: 2}, {at: 59, route: 1}, {at: 400, route: 2}, {at: 1900, route: 1}}
	for _, c := range []struct {
		name     string
		link     Link
		n, conns int
	}{
		{"one connection for all", direct, 2, 3},
		{"each route its own", tor, 3, 4},
		{"single requests", front, 3, 4},
	} {
		if n, _, conns := contexts(two, c.link, u); n != c.n || conns != c.conns {
			t.Errorf("%s: got %d contexts over %d connections, want %d over %d", c.name, n, conns, c.n, c.conns)
		}
	}
	if n := parkContexts([]float64{5, 1, 1799, 1800}, u); n != 2 {
		t.Errorf("contexts of four parked rows in two periods: got %d, want 2", n)
	}
}

func TestPaceSendsNoMore(t *testing.T) {
	p := Profiles()[1]
	s := Presets(p)[1]
	r := Measure(p, s, Present(), 100, 3)
	want := day / s.TickMean * float64(s.TickCells)
	if math.Abs(r.CellsUp/want-1) > 0.05 {
		t.Errorf("cells on the clock: got %.0f, want about %.0f whatever is said", r.CellsUp, want)
	}
}

// TestWhatCanLive holds the verdicts of docs/budget.md: a class of tokens for
// everybody, a clock that comes to everything, and a relay of two cores that
// serves 10,000 people of "light" and "normal".
func TestWhatCanLive(t *testing.T) {
	for _, p := range Profiles()[:3] {
		for _, s := range Presets(p) {
			r := Measure(p, s, Present(), 1000, 4)
			if !r.ClassFits {
				t.Errorf("%s, %s: %.0f tokens are beyond the largest class", s.Name, p.Name, r.Tokens())
			}
			if r.Backlog > 50 {
				t.Errorf("%s, %s: %.0f cells are left at the end of the day", s.Name, p.Name, r.Backlog)
			}
			if got := r.Share(10_000); p.Name != "heavy" && got > 0.25 {
				t.Errorf("%s, %s: 10,000 devices need %.0f %% of two cores, want at most 25", s.Name, p.Name, got*100)
			}
		}
	}
}
