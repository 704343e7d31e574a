package group

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// speaks fills in what goes with everything that is said, and writes it.
func (g *group) speaks(s *Said) ([]byte, error) {
	h, err := g.head()
	if err != nil {
		return nil, err
	}
	if s.Low, err = g.low(); err != nil {
		return nil, err
	}
	s.Head, s.Mark = h.Number, h.Mark
	return s.Append(nil)
}

// seal seals a block of a text under an epoch, for all its members. The epoch is stored
// with what was used.
func (g *group) seal(o *opened, s *Said) ([]byte, error) {
	plain, err := g.speaks(s)
	if err != nil {
		return nil, err
	}
	o.dirty = true
	if o.Left == 0 {
		t, err := g.treeOf(o)
		if err != nil {
			return nil, err
		}
		return t.Seal(g.env(), plain, SealedSize)
	}
	p, err := g.pastOf(o)
	if err != nil {
		return nil, err
	}
	return p.Seal(g.env(), plain, SealedSize)
}

// say whispers something to each leaf in an epoch, but those that were revoked. Nobody
// to say it to: nothing happens. Who has a route that is none hears nothing.
//
// spec: group.md#whispers
func (g *group) say(o *opened, s *Said, to []roster.Leaf) error {
	to = slices.DeleteFunc(slices.Clone(to), func(l roster.Leaf) bool { return slices.Contains(g.r.Revoked, l.Device) })
	if len(to) == 0 {
		return nil
	}
	plain, err := g.speaks(s)
	if err != nil {
		return err
	}
	for _, l := range to {
		w, err := g.whispers(o, o.Self, l.Index)
		if err != nil {
			return err
		}
		b, err := w.Seal(g.Rand, plain)
		if errors.Is(err, addr.ErrPublic) {
			continue
		}
		if err != nil {
			return err
		}
		id, err := g.messageID()
		if err != nil {
			return err
		}
		g.copy(&Copy{Group: g.r.ID, Epoch: o.Number, Leaf: l.Index, To: l.Device, Message: id, Payload: b})
	}
	return nil
}

func (g *group) copy(c *Copy) { g.ch.Copies = append(g.ch.Copies, c) }

// sayObject says an object, in as many pieces as it takes.
func (g *group) sayObject(o *opened, object []byte, to []roster.Leaf) error {
	if len(to) == 0 {
		return nil
	}
	id, err := g.id()
	if err != nil {
		return err
	}
	return g.sayObjectAs(o, id, object, to)
}

// sayObjectAs says an object under an id: pieces of what was said before under the same
// one count still.
func (g *group) sayObjectAs(o *opened, id [16]byte, object []byte, to []roster.Leaf) error {
	pieces := slices.Collect(slices.Chunk(object, PieceRoom))
	if len(pieces) > MaxPieces {
		return ErrLong
	}
	for i, b := range pieces {
		p := Piece{Object: id, Place: uint16(i), Of: uint16(len(pieces)), Bytes: b}
		if err := g.say(o, &Said{Kind: SaidPiece, Body: p.Append(nil)}, to); err != nil {
			return err
		}
	}
	return nil
}

// word tells a device something in its pair session, in parts if it is long.
func (w *work) word(to Device, root key.SignPublic, payload []byte) {
	if len(payload) <= MaxWord {
		w.ch.Words = append(w.ch.Words, &Word{To: to, Root: root, Payload: payload})
		return
	}
	sum := sha256.Sum256(payload) // a part of what is hashed under a label is at most 64 KiB
	h := key.Hash("tacet/v1/group/word", sum[:])
	parts := slices.Collect(slices.Chunk(payload, partRoom))
	for i, b := range parts {
		p := Part{Word: [16]byte(h[:]), Place: uint16(i), Of: uint16(len(parts)), Bytes: b}
		w.ch.Words = append(w.ch.Words, &Word{To: to, Root: root, Payload: encode(WordPart, &p)})
	}
}

// others are the leaves of an epoch that are not this device's.
func (o *opened) others() []roster.Leaf {
	return slices.DeleteFunc(slices.Clone(o.Roster), func(l roster.Leaf) bool { return l.Index == o.Self })
}

// Names of notes. Those of a group begin with its id.
func groupNotes(id ID) string { return "g/" + hex.EncodeToString(id[:]) + "/" }

func openedNotes(id ID, epoch uint64) string {
	return fmt.Sprintf("%sopened/%d/", groupNotes(id), epoch)
}

func pieceNotes(id ID, from Device, object []byte) string {
	return groupNotes(id) + "piece/" + hex.EncodeToString(from[:8]) + "/" + hex.EncodeToString(object)
}

func joinNotes(origin ID, from Device) string {
	return "join/" + hex.EncodeToString(origin[:]) + "/" + hex.EncodeToString(from[:8]) + "/"
}

func partNotes(from Device) string { return "word/" + hex.EncodeToString(from[:16]) + "/" }

// partID names one part of a message, for the row of its copy.
func partID(m wire.MessageID, part int) wire.MessageID {
	if part == 0 {
		return m
	}
	h := key.Hash("tacet/v1/group/part", m[:], []byte{byte(part)})
	return wire.MessageID(h[:])
}
