package group

import (
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Manifest takes a newer manifest of a person, whose chain the caller checked: devices
// that are revoked in it are to leave every group. Of one's own person a newer manifest
// goes into the own leaf with the next own path. A group that cannot take it now does so
// at a later Tick.
//
// It fails with roster.ErrEvidence for a manifest that its root did not sign.
//
// spec: group.md#wishes
func (e *Engine) Manifest(tx Tx, now time.Time, m *manifest.Manifest) (*Change, error) {
	if !m.Signed() {
		return nil, roster.ErrEvidence
	}
	w := e.work(tx, now)
	if err := w.learn(m); err != nil {
		return nil, err
	}
	all, err := tx.Groups()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.State == Out || r.State == Replaced || r.State == Entering {
			continue
		}
		done, err := w.apart(r, func(g *group) error { return g.hearManifest(m) })
		if err == nil && !done {
			err = tx.PutNote(laterNote(r.ID, m.Root), m.Append(nil))
		}
		if err != nil {
			return nil, err
		}
	}
	return w.ch, nil
}

func (g *group) hearManifest(m *manifest.Manifest) error {
	if err := g.revokedIn(m); err != nil {
		return err
	}
	if err := g.due(false); err != nil {
		return err
	}
	return g.save()
}

func (g *group) revokedIn(m *manifest.Manifest) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	if m.Root == g.Self.Manifest.Root {
		t, err := g.treeOf(h)
		if err != nil {
			return err
		}
		g.r.Update = g.r.Update || g.staleLeaf(t)
	}
	for i, d := range m.Devices {
		l, in := leafOf(h.Roster, d.Sign)
		if _, active := m.Active(i); active || !in || l.Root != m.Root || d.Sign == g.me() {
			continue
		}
		if g.wished(roster.Revoked, d.Sign) {
			continue
		}
		w := &roster.Wish{Kind: roster.Revoked, Root: m.Root, Device: d.Sign, Proof: m.Append(nil)}
		if err := g.wish(w); err != nil {
			return err
		}
		if err := g.keepWish(w, true); err != nil {
			return err
		}
		if err := g.shut(h, d.Sign); err != nil {
			return err
		}
	}
	return nil
}

// shut ends what waits for a revoked device, and opens nothing of it any more. It is
// not waited for that it is removed: what is sealed from now on it can read until then,
// so nothing is sent to it.
func (g *group) shut(h *opened, d Device) error {
	if slices.Contains(g.r.Revoked, d) {
		return nil
	}
	g.r.Revoked = append(g.r.Revoked, d)
	g.r.Revoked = g.r.Revoked[max(0, len(g.r.Revoked)-maxRemoved):]
	return g.retarget(h, []Device{d}, nil)
}

// maxRemoved is of how many devices a group notes that they were removed.
const maxRemoved = 256

// wished reports whether there is a wish of a kind about a device.
func (g *group) wished(kind roster.WishKind, d Device) bool {
	for _, w := range g.openWishes() {
		if w.Kind == kind && w.Device == d {
			return true
		}
	}
	return false
}

// Decide is a person's answer to a question. It fails with ErrUnknown for one that is
// not asked any more.
func (e *Engine) Decide(tx Tx, now time.Time, id ID, q Question, yes bool) (*Change, error) {
	if q.Kind == AskJoin {
		w := e.work(tx, now)
		if err := w.decideJoin(q, yes); err != nil {
			return nil, err
		}
		return w.ch, nil
	}
	g, err := e.work(tx, now).member(id)
	if err != nil {
		return nil, err
	}
	for i, o := range g.r.Questions {
		if o.ID != q.ID {
			continue
		}
		g.r.Questions = append(g.r.Questions[:i:i], g.r.Questions[i+1:]...)
		if err := g.decide(o, yes); err != nil {
			return nil, err
		}
		if err := g.due(false); err != nil {
			return nil, err
		}
		return g.ch, g.save()
	}
	return nil, ErrUnknown
}

func (g *group) decide(q Question, yes bool) error {
	if q.Kind == AskWrite {
		return g.decideWrite(q, yes)
	}
	return g.decideRift(q, yes)
}
