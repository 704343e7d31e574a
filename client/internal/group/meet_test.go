package group_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
)

// TestIntroductionGoesToOneLeaf: a member without a pair session is told of, and what is
// given to it goes to it alone, as from who gave it.
func TestIntroductionGoesToOneLeaf(t *testing.T) {
	w := newWorld(t, 31)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(10 * time.Minute)
	var unmet []group.Unmet
	ben.must(func(tx group.Tx) (_ *group.Change, err error) {
		unmet, err = ben.eng.Unmet(tx, func(root key.SignPublic, _ group.Device) (bool, error) { return root == ann.person(), nil })
		return nil, err
	})
	if len(unmet) != 1 || unmet[0] != (group.Unmet{Group: id, Device: cat.id(), Root: cat.person()}) {
		t.Fatalf("got %v, want cat alone", unmet)
	}
	ben.must(func(tx group.Tx) (*group.Change, error) {
		m, at, err := ben.eng.Shown(tx, cat.person(), cat.id())
		if err != nil || m.Devices[at].Sign != cat.id() || m.Hash() != cat.eng.Self.Manifest.Hash() {
			t.Errorf("got %v at %d, %v; want cat's manifest", m, at, err)
		}
		if _, _, err := ben.eng.Shown(tx, ann.person(), cat.id()); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("cat's device under ann's root: got %v, want ErrUnknown", err)
		}
		for want, to := range map[error]group.Device{group.ErrUnknown: {9}, group.ErrLong: cat.id()} {
			b := make([]byte, 100)
			if want == group.ErrLong {
				b = make([]byte, group.MaxMeeting+1)
			}
			if _, err := ben.eng.Introduce(tx, w.now, id, to, b); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		return ben.eng.Introduce(tx, w.now, id, cat.id(), make([]byte, 4000))
	})
	w.settle(time.Minute)
	if len(cat.meets) != 1 || cat.meets[0].Device != ben.id() || cat.meets[0].Root != ben.person() || len(cat.meets[0].Introduction) != 4000 {
		t.Errorf("cat got %d introductions, want ben's", len(cat.meets))
	}
	if len(ann.meets) != 0 {
		t.Error("ann got an introduction that was for cat")
	}
}
