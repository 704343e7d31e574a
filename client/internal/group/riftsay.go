package group

import (
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Kinds of words about relays that failed and groups that are made again.
const (
	WordEvidence   WordKind = 32 // Evident
	WordList       WordKind = 33 // Lists
	WordHolds      WordKind = 34 // Holds: that slot is settled, and this is what it holds
	WordQuestion   WordKind = 35 // Inquiry
	WordAnswer     WordKind = 36 // Reported
	WordStatements WordKind = 37 // Stated
	WordShown      WordKind = 38 // Removals: removals, to somebody who did not see them
	WordLetIn      WordKind = 39 // LetIn
)

// Bounds of words.
const (
	maxSaid  = 16 // statements in a word
	maxNews  = 64 // commits in a word
	maxShown = keepGone
)

// Evident passes evidence on, with the receipts of who passes it.
type Evident struct {
	Group ID              `cbor:"0,keyasint"`
	Proof []byte          `cbor:"1,keyasint"` // roster.Evidence
	List  []roster.Listed `cbor:"2,keyasint,omitempty"`
}

// Lists is the receipts of a member, for comparison.
type Lists struct {
	Group ID              `cbor:"0,keyasint"`
	List  []roster.Listed `cbor:"1,keyasint"`
	Back  bool            `cbor:"2,keyasint,omitempty"` // the other's list is wanted, too
	Past  []roster.Past   `cbor:"3,keyasint,omitempty"` // of the state: from before the member was there, too
}

// Holds says what a settled slot holds, to somebody who has another receipt for it.
type Holds struct {
	Group   ID     `cbor:"0,keyasint"`
	Receipt []byte `cbor:"1,keyasint"` // wire.Receipt
}

// Inquiry asks whether the group can go on.
//
// spec: group.md#asking
type Inquiry struct {
	Group   ID              `cbor:"0,keyasint"`
	Ask     [16]byte        `cbor:"1,keyasint"` // random
	Head    uint64          `cbor:"2,keyasint"`
	Why     StopReason      `cbor:"3,keyasint"`
	Proof   []byte          `cbor:"4,keyasint,omitempty"` // roster.Evidence
	List    []roster.Listed `cbor:"5,keyasint,omitempty"`
	Removed [][]byte        `cbor:"6,keyasint,omitempty"` // roster.Shown
}

// Reported answers it.
type Reported struct {
	Answer  []byte          `cbor:"0,keyasint"` // roster.Answer
	List    []roster.Listed `cbor:"1,keyasint,omitempty"`
	Removed [][]byte        `cbor:"2,keyasint,omitempty"` // roster.Shown
	News    []News          `cbor:"3,keyasint,omitempty"` // commits from the asker's epoch on
	Said    []Told          `cbor:"4,keyasint,omitempty"`
}

// Stated passes statements on, with removals that speak against their authors.
type Stated struct {
	Origin  ID       `cbor:"0,keyasint"`
	Said    []Told   `cbor:"1,keyasint"`
	Removed [][]byte `cbor:"2,keyasint,omitempty"` // roster.Shown
}

// Told is a statement with its roll.
type Told struct {
	Statement []byte `cbor:"1,keyasint"`           // roster.Statement
	Roll      []byte `cbor:"2,keyasint,omitempty"` // roster.Roll; absent: not known to who tells it
}

// Removals shows removals, and the commits that did them where they are kept.
type Removals struct {
	Group   ID       `cbor:"0,keyasint"` // of which the teller is a member
	Removed [][]byte `cbor:"1,keyasint"` // roster.Shown
	News    []News   `cbor:"2,keyasint,omitempty"`
}

// LetIn asks to be added to a successor.
type LetIn struct {
	Group   ID     `cbor:"0,keyasint"` // the successor
	Package []byte `cbor:"1,keyasint"`
}

// hearRift takes a word about relays that failed or groups that are made again. What
// is not well-formed, or of a group that is not known here, is dropped with ErrSaid
// or nothing: it changes nothing.
func (w *work) hearRift(from Device, root key.SignPublic, kind WordKind, b []byte) error {
	switch kind {
	case WordEvidence:
		return hear(b, func(v *Evident) error {
			return w.inGroup(v.Group, func(g *group) error { return g.hearEvidence(from, root, v) })
		})
	case WordList:
		return hear(b, func(v *Lists) error {
			return w.inGroup(v.Group, func(g *group) error { return g.hearList(from, root, v) })
		})
	case WordHolds:
		return hear(b, func(v *Holds) error { return w.inGroup(v.Group, func(g *group) error { return g.hearHolds(from, v) }) })
	case WordQuestion:
		return hear(b, func(v *Inquiry) error {
			return w.inGroup(v.Group, func(g *group) error { return g.hearInquiry(from, root, v) })
		})
	case WordAnswer:
		return hear(b, func(v *Reported) error { return w.hearReport(from, root, v) })
	case WordStatements:
		return hear(b, func(v *Stated) error { return w.hearStated(from, root, v) })
	case WordShown:
		return hear(b, func(v *Removals) error {
			if err := w.hearGone(from, v); err != nil {
				return err
			}
			return w.inGroup(v.Group, func(g *group) error { return g.hearRemovals(from, v) })
		})
	case WordLetIn:
		return hear(b, func(v *LetIn) error {
			return w.inGroup(v.Group, func(g *group) error { return g.hearLetIn(from, root, v) })
		})
	}
	return nil // of a newer version
}

func hear[T any](b []byte, f func(*T) error) error {
	v := new(T)
	if err := decode(b, v); err != nil {
		return err
	}
	return f(v)
}

// inGroup runs f for a group that is known here and in which this device is, or was
// until a successor, and saves it.
func (w *work) inGroup(id ID, f func(*group) error) error {
	g, err := w.load(id)
	if err == ErrUnknown {
		return nil
	}
	if err != nil {
		return err
	}
	if g.r.State == Out {
		return nil
	}
	if g.r.State == Replaced {
		if _, err := g.head(); errors.Is(err, ErrUnknown) {
			return nil // so long ago that nothing of it is here
		}
	}
	if err := f(g); err != nil {
		return err
	}
	return g.save()
}

// tellAll says something to every member; in a large group to its admins and to
// some others, chosen by chance: they pass it on.
func (g *group) tellAll(payload []byte) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	to, err := g.some(h.others(), evidenceTo)
	if err != nil {
		return err
	}
	for _, l := range to {
		g.word(l.Device, l.Root, payload)
	}
	return nil
}

// some are at most n of the leaves: admins first, the others by chance.
func (g *group) some(from []roster.Leaf, n int) ([]roster.Leaf, error) {
	if len(from) <= n {
		return from, nil
	}
	state := &roster.State{Admins: g.r.admins()}
	var out, rest []roster.Leaf
	for _, l := range from {
		if _, admin := state.Rank(l.Root); admin {
			out = append(out, l)
		} else {
			rest = append(rest, l)
		}
	}
	for len(out) < n && len(rest) > 0 {
		i, err := g.random(int64(len(rest)))
		if err != nil {
			return nil, err
		}
		out = append(out, rest[i])
		rest[i] = rest[len(rest)-1]
		rest = rest[:len(rest)-1]
	}
	return out[:n], nil
}
