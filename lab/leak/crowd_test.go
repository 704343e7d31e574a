package leak

import (
	"testing"
	"testing/synctest"
)

// TestACrowdMeets: two dozen people of one network make more invites within a few
// minutes than a relay takes of a network as it is set up at first.
func TestACrowdMeets(t *testing.T) {
	if testing.Short() {
		t.Skip("two dozen clients")
	}
	x := newScript(Setting{People: 24, Seed: 1})
	x.gather(Setting{People: 24, Seed: 1})
	if len(x.pairs) <= 60 {
		t.Fatalf("got %d pairs, too few to show anything", len(x.pairs))
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{plan: Plan{Proxy: true}, rec: NewRecorder(), dir: t.TempDir(), tell: func(string) {}}
		w.wires = newWires(w.rec)
		end, err := w.serve()
		if err != nil {
			t.Fatal(err)
		}
		for who := range 24 {
			if err := w.add(t.Context(), who); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.meetAll(t.Context(), x.pairs); err != nil {
			t.Error(err)
		}
		if err := w.part(); err != nil {
			t.Error(err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}
