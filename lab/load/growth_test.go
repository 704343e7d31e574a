package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// memory makes samples of ten minutes: what garbage does to resident memory, and
// what leaks, in MiB a minute.
func memory(leak float64) (all []Sample) {
	r := rand.New(rand.NewPCG(3, 4))
	for s := 10.0; s <= 600; s += 10 {
		full := 64 * math.Min(s/60, 1) // the window
		all = append(all, Sample{Seconds: s, RSS: 60 + full + 6*r.Float64() + leak*s/60})
	}
	return all
}

// TestJudge plants leaks.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		leak float64
		bad  bool
	}{{0, false}, {2, true}, {20, true}, {-2, false}} {
		g := judge(memory(c.leak), 200*time.Second)
		if !g.Judged || g.Seconds != 400 {
			t.Fatalf("leak %v: got %+v", c.leak, g)
		}
		o := Soaked{Memory: g}
		if err := o.Wrong(); (err != nil) != c.bad {
			t.Errorf("leak of %v MiB a minute: got %+v, %v", c.leak, g, err)
		}
		if want := c.leak * 400 / 60; math.Abs(g.MiB-want) > 3 {
			t.Errorf("leak of %v MiB a minute: got %.1f MiB in 400 s, want %.1f", c.leak, g.MiB, want)
		}
	}
	if g := judge(memory(50)[:20], 150*time.Second); g.Judged {
		t.Errorf("of six samples: got %+v, want no judgement", g)
	}
}
