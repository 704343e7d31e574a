package convo_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// before opens a profile that was made when a person had one device. In testdata are
// two people who met, said one thing each, and have one more waiting each.
func (w *town) before(name string) *person {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "before", name))); err != nil {
		w.t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "identity"))
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := device.Parse(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	p := newPerson(w.t, name)
	if p.v, err = vault.Open(dir, []byte("x")); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.v.Close() })
	p.e.Self = id
	return w.add(p)
}

func TestProfilesOfBeforeGetMoreDevices(t *testing.T) {
	w := newTown(t, 7)
	a, b := w.before("ada"), w.before("bob")
	if r := w.of(a, b); r.Person != 0 || r.Own || r.Sign != b.e.Self.Name() || r.Name != "bob" {
		t.Fatalf("got %+v, want bob's record with the name of his device", r)
	}
	w.calm()
	// What waited in the form of before arrives, and counts as before.
	w.once(b, a, false, "from ada", "ada's waits")
	w.once(a, b, false, "hello from b", "from bob", "bob's waits")
	bob := w.of(a, b).ID
	a.view(func(tx vault.Store) error {
		return tx.Events(bob, 0, func(e *convo.Event) error {
			if e.Out && (e.State != convo.OnDevice || e.Left != 0) {
				t.Errorf("%q is %v with %d parts left, want on their device", e.Text, e.State, e.Left)
			}
			return nil
		})
	})
	// Their devices tell what they know when they next renew their routes.
	w.now = w.now.Add(8 * 24 * time.Hour)
	for _, p := range []*person{a, b} {
		w.must(p, func(tx vault.Store) (*convo.Change, error) { return p.e.Maintain(tx, w.now) })
	}
	w.calm()
	a2 := w.link(a, "ada2")
	w.calm()
	w.say(a2, b, "from the second")
	w.say(b, a, "to both")
	w.calm()
	w.once(b, a, false, "from ada", "ada's waits", "from the second")
	w.once(a2, b, false, "to both")
	w.once(a, b, false, "hello from b", "from bob", "bob's waits", "to both")
}

// A device of before knows nothing of several: until it has said that it does, no
// second device begins a session with it, and the first goes on as ever.
func TestSecondDeviceLeavesPeersOfBeforeAlone(t *testing.T) {
	w := newTown(t, 8)
	a, b := w.before("ada"), w.before("bob")
	w.calm()
	a2 := w.link(a, "ada2")
	w.say(a2, b, "waits")
	w.say(a, b, "goes")
	w.say(b, a, "and back")
	for range 20 {
		w.round()
	}
	w.once(b, a, false, "from ada", "ada's waits", "goes")
	w.once(a2, b, false, "and back")
	if n := a2.waiting(0); n == 0 {
		t.Error("nothing waits for a device that did not say that it knows several")
	}
	for range 2 { // it says so with its next route
		w.now = w.now.Add(8 * 24 * time.Hour)
		w.must(b, func(tx vault.Store) (*convo.Change, error) { return b.e.Maintain(tx, w.now) })
		for range 20 {
			w.round()
		}
	}
	w.calm()
	w.once(b, a, false, "from ada", "ada's waits", "goes", "waits")
}
