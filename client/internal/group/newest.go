package group

import (
	"encoding/hex"

	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// The newest manifest of each person that this device was given, or that showed a
// revocation, is noted: a leaf may stand under an older one, and who was revoked then
// comes into a group by the word of an admin who does not know it.

func manifestNote(root key.SignPublic) string { return "manifest/" + hex.EncodeToString(root[:]) }

// newest is the newest manifest of a person that is noted; nil: none.
func (w *work) newest(root key.SignPublic) *manifest.Manifest {
	b, err := w.tx.Note(manifestNote(root))
	if err != nil {
		return nil
	}
	m, err := manifest.Parse(b)
	if err != nil {
		return nil
	}
	return m
}

// learn notes a manifest whose root signed it.
func (w *work) learn(m *manifest.Manifest) error {
	if was := w.newest(m.Root); was != nil && was.Sequence >= m.Sequence {
		return nil
	}
	return w.tx.PutNote(manifestNote(m.Root), m.Append(nil))
}

// revoked reports whether a person is known to have revoked a device of theirs. It is
// for good: no manifest takes one back.
func (w *work) revoked(root key.SignPublic, d Device) bool {
	m := w.newest(root)
	if m == nil {
		return false
	}
	i, ok := m.Find(d)
	if !ok {
		return false
	}
	_, active := m.Active(i)
	return !active
}

// theirs reports whether a leaf is a device of its person as this device knows them: the
// newest manifest that is known here has it as active.
//
// spec: group.md#messages
func (g *group) theirs(h *opened, l roster.Leaf) bool {
	if slices.Contains(g.r.Revoked, l.Device) {
		return false
	}
	m := g.newest(l.Root)
	if m == nil {
		return true
	}
	if i, ok := m.Find(l.Device); ok {
		_, active := m.Active(i)
		return active
	}
	t, err := g.treeOf(h)
	if err != nil {
		return false
	}
	c := credentialOf(t, l.Device)
	return c != nil && c.Manifest.Sequence > m.Sequence
}

// learnFrom notes the manifests by which devices were revoked in a commit, and holds who
// came in by it against what is known.
func (g *group) learnFrom(wishes []*roster.Wish, next *opened) error {
	var in []roster.Leaf
	for _, w := range wishes {
		switch w.Kind {
		case roster.Revoked:
			m, err := manifest.Parse(w.Proof)
			if err != nil {
				return err // it was judged
			}
			if err := g.learn(m); err != nil {
				return err
			}
		case roster.Add, roster.ReAdd:
			if l, ok := leafOf(next.Roster, w.Device); ok {
				in = append(in, l)
			}
		}
	}
	return g.holdAgainst(in)
}

// holdAgainst wishes those of the leaves out that are known to be revoked, and says
// nothing to them from now on.
//
// spec: group.md#credential
func (g *group) holdAgainst(leaves []roster.Leaf) error {
	for _, l := range leaves {
		if !g.revoked(l.Root, l.Device) {
			continue
		}
		if err := g.revokedIn(g.newest(l.Root)); err != nil {
			return err
		}
	}
	return nil
}
