package group

import (
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// hybridUpTo is up to how many leaves a new group takes the hybrid suite.
const hybridUpTo = 16

// Founding is what a new group begins with.
type Founding struct {
	Name  string
	Class int // of slots; below 0: by Size
	Size  int // leaves that it will have, roughly: decides suite and class for good
}

// suite is the suite of a new group.
//
// spec: group.md#suite
func (e *Engine) suite(size int) Suite {
	most := e.Hybrid
	if most == 0 {
		most = hybridUpTo
	}
	if size <= most {
		return SuiteHybrid
	}
	return SuiteClassic
}

// Create makes a group with this device as its one member and admin. It fails with
// roster.ErrState for a name that cannot be.
func (e *Engine) Create(tx Tx, now time.Time, f Founding) (ID, *Change, error) {
	w := e.work(tx, now)
	class := classFor(f.Size, w.suite(f.Size))
	if f.Class >= 0 {
		class = byte(f.Class)
	}
	state := &roster.State{
		Name: f.Name, Home: w.Self.Home, Class: class, Born: day(now),
		Admins: []key.SignPublic{w.Self.Manifest.Root},
	}
	g, err := w.found(state, w.suite(f.Size))
	if err != nil {
		return ID{}, nil, err
	}
	g.r.Origin = g.r.ID
	w.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventJoined, By: w.me(), ByRoot: w.Self.Manifest.Root})
	return g.r.ID, w.ch, g.save()
}

// found makes a group of one with a state.
func (w *work) found(state *roster.State, s Suite) (*group, error) {
	id, err := w.id()
	if err != nil {
		return nil, err
	}
	return w.foundAs(id, state, s)
}

// foundAs makes a group of one that has an id already.
func (w *work) foundAs(id ID, state *roster.State, s Suite) (*group, error) {
	if int(state.Class) >= len(wire.BlobClasses) {
		return nil, roster.ErrState
	}
	b, err := state.Append(nil)
	if err != nil {
		return nil, err
	}
	p, owner, err := w.newLeaf()
	if err != nil {
		return nil, err
	}
	t, err := w.Crypto.Create(w.env(), CreateParams{ID: id, Suite: s, Leaf: p, State: b})
	if err != nil {
		return nil, fmt.Errorf("making group: %w", err)
	}
	g := &group{work: w, r: &Record{ID: id, State: Active, Since: w.unix()}, open: map[uint64]*opened{}}
	h, err := g.begin(t, owner)
	if err != nil {
		return nil, err
	}
	if err := g.noticed(h, nil, nil); err != nil {
		return nil, err
	}
	g.r.Looked = w.unix()
	return g, nil
}
