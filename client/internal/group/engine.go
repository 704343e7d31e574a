package group

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"crypto/rand"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Labels of the exporter and of what is derived from it.
//
// spec: group.md#routes
const (
	exportRoute   = "tacet route"
	exportShared  = "tacet shared"
	exportSlot    = "tacet slot"
	exportWhisper = "tacet whisper"
	labelMark     = "tacet/v1/group/mark"
)

// day is the day of a time: unix seconds / 86,400.
func day(t time.Time) uint32 { return uint32(max(0, t.Unix()/86_400)) }

// work is one call: its transaction, its time, and what it is to change outside.
type work struct {
	*Engine
	tx  Tx
	now time.Time
	ch  *Change
	dev Device // this one
}

func (e *Engine) work(tx Tx, now time.Time) *work {
	w := &work{Engine: e, tx: tx, now: now, ch: &Change{}, dev: e.Self.Device}
	if w.dev == (Device{}) {
		w.dev = device(e.Self.Sign)
	}
	return w
}

func (w *work) env() Env       { return Env{Now: w.now, Rand: w.Rand} }
func (w *work) me() Device     { return w.dev }
func (w *work) unix() int64    { return w.now.Unix() }
func (w *work) event(ev Event) { w.ch.Events = append(w.ch.Events, ev) }

// at asks for a Tick no later than unix seconds t.
func (w *work) at(t int64) {
	if n := time.Unix(t, 0); t > 0 && (w.ch.Next.IsZero() || n.Before(w.ch.Next)) {
		w.ch.Next = n
	}
}

// random returns a number below n, for times that nobody should foresee.
func (w *work) random(n int64) (int64, error) {
	b, err := rand.Int(w.Rand, big.NewInt(n))
	if err != nil {
		return 0, err
	}
	return b.Int64(), nil
}

func (w *work) id() (m [16]byte, err error) {
	_, err = io.ReadFull(w.Rand, m[:])
	return m, err
}

func (w *work) messageID() (m wire.MessageID, err error) {
	_, err = io.ReadFull(w.Rand, m[:])
	return m, err
}

// group is one group during a call. What was changed is written by save.
type group struct {
	*work
	r    *Record
	open map[uint64]*opened
	// tended: all that its time had come for was done in this call.
	tended bool
}

// opened is an epoch with its cryptographic half, which is read when it is needed.
type opened struct {
	*Epoch
	tree  Tree // of the head
	past  Past // of an epoch that was left
	dirty bool
	state *roster.State
}

// load reads a group. It fails with ErrUnknown.
func (w *work) load(id ID) (*group, error) {
	r, err := w.tx.Group(id)
	if err != nil {
		return nil, err
	}
	return &group{work: w, r: r, open: map[uint64]*opened{}}, nil
}

// member reads a group of which this device is a member. It fails with ErrUnknown and
// ErrLeft.
func (w *work) member(id ID) (*group, error) {
	g, err := w.load(id)
	if err != nil {
		return nil, err
	}
	switch g.r.State {
	case Out, Replaced:
		return nil, ErrLeft
	case Entering:
		return nil, ErrEntering
	}
	return g, nil
}

// epoch reads an epoch. It fails with ErrUnknown.
func (g *group) epoch(n uint64) (*opened, error) {
	if o := g.open[n]; o != nil {
		return o, nil
	}
	e, err := g.tx.Epoch(g.r.ID, n)
	if err != nil {
		return nil, err
	}
	if e.End == nil {
		e.End = &Ending{}
	}
	o := &opened{Epoch: e}
	g.open[n] = o
	return o, nil
}

// epochs are all epochs that are here, ascending, as they are in this call: what was
// changed or begun is not stored before save.
func (g *group) epochs() ([]*Epoch, error) {
	all, err := g.tx.Epochs(g.r.ID)
	if err != nil {
		return nil, err
	}
	for n, o := range g.open {
		i, ok := slices.BinarySearchFunc(all, n, func(e *Epoch, n uint64) int { return cmp.Compare(e.Number, n) })
		if ok {
			all[i] = o.Epoch
		} else {
			all = slices.Insert(all, i, o.Epoch)
		}
	}
	return all, nil
}

func (g *group) head() (*opened, error) { return g.epoch(g.r.Head) }

func (g *group) treeOf(o *opened) (Tree, error) {
	if o.tree == nil {
		f, err := o.Fixed(g.Crypto.Fixed)
		if err == nil {
			o.tree, err = g.Crypto.Parse(f, o.Secret)
		}
		if err != nil {
			return nil, fmt.Errorf("opening group: %w", err)
		}
	}
	return o.tree, nil
}

func (g *group) pastOf(o *opened) (Past, error) {
	if o.past == nil {
		f, err := o.Fixed(g.Crypto.PastFixed)
		if err == nil {
			o.past, err = g.Crypto.ParsePast(f, o.Secret)
		}
		if err != nil {
			return nil, fmt.Errorf("opening epoch: %w", err)
		}
	}
	return o.past, nil
}

// end changes what is kept about the commit that ended an epoch, or may. What was there
// is shared and stays as it is.
func (o *opened) end(change func(*Ending)) {
	e := &Ending{Staged: o.End.Staged, Commit: o.End.Commit, Welcome: o.End.Welcome, Aside: o.End.Aside, Added: slices.Clone(o.End.Added)}
	change(e)
	o.End, o.dirty = e, true
}

// stateOf is what the members of an epoch agree on.
func (o *opened) agreed() (*roster.State, error) {
	if o.state == nil {
		s, err := roster.ParseState(o.State)
		if err != nil {
			return nil, err
		}
		o.state = s
	}
	return o.state, nil
}

// self is the own leaf in an epoch.
func (o *opened) self() roster.Leaf {
	for _, l := range o.Roster {
		if l.Index == o.Self {
			return l
		}
	}
	return roster.Leaf{}
}

// leafOf is the leaf of a device in an epoch.
func leafOf(leaves []roster.Leaf, d Device) (roster.Leaf, bool) {
	for _, l := range leaves {
		if l.Device == d {
			return l, true
		}
	}
	return roster.Leaf{}, false
}

func leafAt(leaves []roster.Leaf, i uint32) (roster.Leaf, bool) {
	for _, l := range leaves {
		if l.Index == i {
			return l, true
		}
	}
	return roster.Leaf{}, false
}

// save writes what changed. Nothing of the change counts without it.
func (g *group) save() error {
	for _, n := range slices.Sorted(mapKeys(g.open)) {
		o := g.open[n]
		if !o.dirty {
			continue
		}
		switch {
		case o.tree != nil:
			o.Secret = o.tree.Append(nil)
		case o.past != nil:
			o.Secret = o.past.Append(nil)
		}
		if err := g.tx.PutEpoch(o.Epoch); err != nil {
			return err
		}
		o.dirty = false
	}
	if g.r.State != Out && g.r.State != Replaced {
		g.plan()
	}
	g.age()
	return g.tx.PutGroup(g.r)
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// drop deletes an epoch with what was noted of it. Copies of it that wait are taken
// back while it is known whose leaf they go to: their messages are encrypted again.
func (g *group) drop(n uint64) error {
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if m.Epoch == n {
			if err := g.withdraw(m); err != nil {
				return err
			}
		}
	}
	delete(g.open, n)
	g.ch.Routes = true
	if err := g.tx.DeleteNotes(openedNotes(g.r.ID, n)); err != nil {
		return err
	}
	return g.tx.DeleteEpoch(g.r.ID, n)
}

// begin takes from a tree that just entered an epoch all that is wanted of it, drops
// the exporter secret and makes it the head.
//
// spec: group.md#routes
func (g *group) begin(t Tree, owner []byte) (*opened, error) {
	e := &Epoch{
		Group: g.r.ID, Number: t.Epoch(),
		Route: t.Export(exportRoute, 32), Shared: t.Export(exportShared, 32), Slot: t.Export(exportSlot, slot.SecretSize), Whisper: t.Export(exportWhisper, whisper.SecretSize),
		Own: owner, Self: t.Self(), End: &Ending{},
	}
	h := key.Hash(labelMark, t.Authenticator())
	e.Mark = [8]byte(h[:])
	if e.Route == nil || e.Shared == nil || e.Slot == nil || e.Whisper == nil {
		return nil, errors.New("exporter of a group gives nothing") // our own bug
	}
	t.Close()
	var leaves []roster.Leaf
	var routes [][]byte
	for _, m := range t.Members() {
		leaves, routes = append(leaves, m.Leaf), append(routes, m.Route.Append(nil))
		if m.Index == e.Self {
			e.Mine = routes[len(routes)-1]
		}
	}
	e.Basis = NewBasis(t.Fixed(), leaves, routes, t.State())
	o := &opened{Epoch: e, tree: t, dirty: true}
	s, err := o.agreed()
	if err != nil {
		return nil, err
	}
	e.Born, e.Live = s.Born, sharedPeriod(s, t.Members())
	for _, m := range t.Members() {
		if m.Index == e.Self {
			e.Near = near(m.Route, &s.Home)
		}
	}
	g.open[e.Number] = o
	g.r.Head, g.r.Name, g.r.Suite = e.Number, s.Name, t.Suite()
	g.ch.Routes = true
	return o, nil
}

// newLeaf makes what an own leaf says, with a route and a membership of its own, and
// the private half of the route.
func (w *work) newLeaf() (LeafParams, []byte, error) {
	owner, public, err := newOwner(w.Rand)
	if err != nil {
		return LeafParams{}, nil, err
	}
	entry, err := w.id()
	if err != nil {
		return LeafParams{}, nil, err
	}
	return LeafParams{
		Device: w.Self.Sign, Entry: entry, Manifest: w.Self.Manifest.Append(nil),
		Route: &roster.Route{Public: public, Pin: w.Self.Home.Pin, Period: w.Live, Relay: w.Self.Home.Name},
	}, owner, nil
}

// slotOf is the slot of an epoch whose secret is still here.
func (o *opened) slotOf() (*slot.Slot, error) { return slot.Derive(o.Slot) }

// slotID is the id of an epoch's slot.
func (o *opened) slotID() (wire.BlobID, error) {
	s, err := o.slotOf()
	if err != nil {
		return wire.BlobID{}, err
	}
	defer s.Wipe()
	return s.ID, nil
}
