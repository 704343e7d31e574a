package group

import (
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// list is the own receipts, the last that may be listed.
func (g *group) list() []roster.Listed {
	var out []roster.Listed
	for _, d := range g.r.Decided[max(0, len(g.r.Decided)-roster.MaxListed):] {
		if d.Receipt.ID != (wire.BlobID{}) {
			out = append(out, roster.Listed{Epoch: d.Epoch, Receipt: d.Receipt.Append(nil), Settled: d.Settled})
		}
	}
	return out
}

// hearEvidence judges evidence by what this device knows itself. What holds stops it,
// too, and is passed on once by that.
//
// spec: group.md#evidence
func (g *group) hearEvidence(from Device, root key.SignPublic, v *Evident) error {
	if err := g.compare(from, root, v.List); err != nil {
		return err
	}
	if _, err := g.judgeProof(v.Proof); err != nil {
		return err
	}
	// Who stops for a slot that is settled here is told what it holds.
	ev, err := roster.ParseEvidence(v.Proof)
	if err != nil || ev.Kind != roster.TwoHashes {
		return err
	}
	first, _, err := ev.Check(g.r.Rift.Home.Receipt)
	if err != nil {
		return err
	}
	if d := g.r.decidedSlot(first.ID); d != nil && d.Settled && g.r.State != Replaced {
		g.word(from, root, encode(WordHolds, &Holds{Group: g.r.ID, Receipt: d.Receipt.Append(nil)}))
	}
	return nil
}

// judgeProof reports whether evidence holds for this device, and stops it if so.
func (g *group) judgeProof(proof []byte) (bool, error) {
	ev, err := roster.ParseEvidence(proof)
	if err != nil || ev.Group != g.r.ID {
		return false, ErrSaid
	}
	first, second, err := ev.Check(g.r.Rift.Home.Receipt)
	if err != nil {
		return false, ErrSaid
	}
	switch ev.Kind {
	case roster.TwoHashes:
		if d := g.r.decidedSlot(first.ID); d != nil {
			other := second
			if d.Receipt.Hash == second.Hash {
				other = first
			}
			if err := g.contradicts(d, &other); err != nil {
				return false, err
			}
			return !d.Settled, nil
		}
		// The slot of the own head, of which nothing is known yet.
		if id, err := g.headSlot(); err != nil || id != first.ID {
			return false, err
		}
		return true, g.halt(StopTwo, &roster.Evidence{Epoch: g.r.Head, Kind: roster.TwoHashes, First: ev.First, Second: ev.Second})
	case roster.NoCommit:
		return g.judgeBlob(ev, first)
	}
	return false, nil
}

// judgeBlob looks at a blob that somebody finds to be no commit. Who can read it has
// gone on by it, or does so now; then its maker and the complainer disagree, and an
// admin is told both names.
func (g *group) judgeBlob(ev *roster.Evidence, r wire.Receipt) (bool, error) {
	if d := g.r.decidedSlot(r.ID); d != nil && d.Receipt.Hash == r.Hash && d.Epoch < g.r.Head {
		return false, g.complaint(ev, d.Epoch)
	}
	id, err := g.headSlot()
	if err != nil || id != r.ID {
		return false, err
	}
	if ev.Blob == nil {
		g.r.Look = g.unix() // it is larger than evidence takes
		return false, nil
	}
	h, err := g.head()
	if err != nil {
		return false, err
	}
	if err := g.advance(h, ev.Blob, &r); err != nil {
		return false, err
	}
	return g.r.Rift.Why == StopBurnt, nil
}

func (g *group) complaint(ev *roster.Evidence, epoch uint64) error {
	state := &roster.State{Admins: g.r.admins()}
	if _, admin := state.Rank(g.Self.Manifest.Root); !admin {
		return nil
	}
	next, err := g.epoch(epoch + 1)
	if err != nil {
		return nil // long ago
	}
	s, err := next.agreed()
	if err != nil {
		return err
	}
	devices := []Device{ev.By}
	if n := len(s.Makers); n > 0 {
		devices = append(devices, s.Makers[n-1])
	}
	e := Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventTrouble, By: ev.By, Devices: devices, Text: complaintText}
	for _, d := range devices {
		if l, ok := leafOf(next.Roster, d); ok {
			e.About = append(e.About, l.Root)
		}
	}
	g.event(e)
	return nil
}

// headSlot is the id of the slot of the newest epoch.
func (g *group) headSlot() (wire.BlobID, error) {
	h, err := g.head()
	if err != nil || len(h.Slot) == 0 {
		return wire.BlobID{}, err
	}
	return h.slotID()
}

// hearList compares a member's receipts with the own ones. A member who is none any
// more is shown why; one of a group that was made again is told so.
//
// spec: group.md#evidence
func (g *group) hearList(from Device, root key.SignPublic, v *Lists) error {
	in, err := g.showRemoval(from, root)
	if err != nil {
		return err
	}
	if err := g.compare(from, root, v.List, v.Past...); err != nil || !in {
		return err
	}
	if !v.Back {
		return nil
	}
	if g.r.State == Replaced { // who had not come in yet when that was told
		return g.tellLine(from, root)
	}
	g.word(from, root, encode(WordList, &Lists{Group: g.r.ID, List: g.list(), Past: g.past()}))
	return nil
}

// compare looks for slots for which another has a second content. Of a settled slot
// it sends back what holds; of another, it stops.
func (g *group) compare(from Device, root key.SignPublic, theirs []roster.Listed, past ...roster.Past) error {
	if len(theirs) > roster.MaxListed || len(past) > roster.MaxPast {
		return ErrSaid
	}
	for _, p := range past { // what a joiner was told of slots before it: no receipt, but it can be shown one
		if d := g.r.decidedSlot(p.ID); d != nil && d.Settled && d.Receipt.Hash != p.Hash {
			g.word(from, root, encode(WordHolds, &Holds{Group: g.r.ID, Receipt: d.Receipt.Append(nil)}))
			return nil
		}
	}
	head, err := g.headSlot()
	if err != nil {
		return err
	}
	for _, l := range theirs {
		r, err := l.Read(g.r.Rift.Home.Receipt)
		if err != nil {
			continue // under another key: a relay that lost its store took a new one
		}
		if r.ID == head {
			if ok, err := g.note(g.r.Head, &r); !ok || err != nil {
				return err
			}
			g.r.Known, g.r.Look = max(g.r.Known, g.r.Head+1), g.unix() // a commit lies there
			continue
		}
		d := g.r.decidedSlot(r.ID)
		if d == nil || d.Receipt.ID == (wire.BlobID{}) || d.Receipt.Hash == r.Hash {
			continue
		}
		if d.Settled {
			g.word(from, root, encode(WordHolds, &Holds{Group: g.r.ID, Receipt: d.Receipt.Append(nil)}))
		}
		if err := g.contradicts(d, &r); err != nil {
			return err
		}
	}
	return nil
}

// past are the slots that the state lists: what this device knows of those from
// before it was there.
func (g *group) past() []roster.Past {
	h, err := g.head()
	if err != nil {
		return nil
	}
	s, err := h.agreed()
	if err != nil {
		return nil
	}
	return s.Past
}
