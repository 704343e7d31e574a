package commits

import (
	"context"
	"os"
	"strconv"
	"testing"
)

// TestExplore goes through the smallest cases whole. TACET_EXPLORE=3 takes three
// changes: minutes.
func TestExplore(t *testing.T) {
	x := Exploration{Devices: 2, Changes: 2, Crashes: 1, Ticks: 1}
	if n, err := strconv.Atoi(os.Getenv("TACET_EXPLORE")); err == nil {
		x = Exploration{Devices: 3, Changes: n, Crashes: 1, Ticks: 1}
	}
	r, err := Explore(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if !r.Good() || r.Ends == 0 {
		t.Error("not good")
	}
}
