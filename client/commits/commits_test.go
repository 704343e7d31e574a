package commits

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// TestRuns makes runs of all sorts with real MLS. TACET_SEEDS=300 and TACET_FROM=1
// make other runs, TACET_SCHEDULE takes one schedule.
func TestRuns(t *testing.T) {
	o := Options{Seeds: 6, From: 1, Schedule: "calm,crash,part,small+crash,nap,rogue+part+crash", MLS: "real"}
	if testing.Short() {
		o.MLS, o.Seeds, o.Schedule = "abstract", 2, "small+crash"
	}
	if n, err := strconv.Atoi(os.Getenv("TACET_SEEDS")); err == nil {
		o.Seeds = n
	}
	if n, err := strconv.ParseUint(os.Getenv("TACET_FROM"), 10, 64); err == nil {
		o.From = n
	}
	if s := os.Getenv("TACET_SCHEDULE"); s != "" {
		o.Schedule = s
	}
	total, err := Run(context.Background(), o, func(r *Outcome) {
		for _, f := range r.Findings {
			t.Errorf("seed %d, %s: %s: %s", r.Seed, r.Schedule, f.Fault, f.What)
		}
		if len(r.Findings) > 0 {
			t.Errorf("again: tacet-lab commits --seeds 1 --from %d --schedule %s --mls %s --trace", r.Seed, r.Schedule, o.MLS)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if total.Seeds != o.Seeds || total.Texts == 0 || total.Cells == 0 {
		t.Errorf("%+v: nothing happened", total)
	}
	t.Log(total.Last())
}

// TestAgain draws the same run twice: with abstract MLS every step is the same.
func TestAgain(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if _, err := Run(context.Background(), Options{Seeds: 1, From: 3, Schedule: "small+crash", MLS: "abstract", Trace: w, Detail: true}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a.Len() < 2000 || !bytes.Equal(a.Bytes(), b.Bytes()) {
		i := 0
		for i < min(a.Len(), b.Len()) && a.Bytes()[i] == b.Bytes()[i] {
			i++
		}
		t.Errorf("two runs of one seed, %d and %d bytes, differ from byte %d on: %.200s | %.200s", a.Len(), b.Len(), i, a.Bytes()[i:], b.Bytes()[i:])
	}
}
