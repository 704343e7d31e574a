package group

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Times of looking at slots.
const (
	lookEvery  = 6 * 3600 // seconds: within them a device looks at a random time
	askFirst   = 20 * time.Second
	askMost    = 10 * time.Minute
	awayAfter  = 6 * time.Hour // who was away so long looks at once
	goneAfter  = time.Hour     // online without an answer: the group stops
	unpaidWait = 10 * time.Minute
	missingFor = 3 * needEvery // members are asked for what the realm does not keep
)

// Answer takes what a realm answered to a SlotCall. It fails with ErrUnknown for a group
// or epoch that is not here, and with slot.ErrReceipt for a receipt that is not for the
// slot, or a blob that is not what the receipt names; then nothing changed.
//
// spec: group.md#commit
func (e *Engine) Answer(tx Tx, now time.Time, a SlotAnswer) (*Change, error) {
	g, err := e.work(tx, now).load(a.Group)
	if err != nil {
		return nil, err
	}
	if g.r.State == Out || g.r.State == Replaced {
		return g.ch, nil
	}
	o, err := g.epoch(a.Epoch)
	if err != nil {
		return nil, err
	}
	if a.Trouble == Lost {
		err = g.missing(o, a.Receipt)
	} else if a.Receipt != nil {
		err = g.receipt(o, a.Blob, a.Receipt)
	} else {
		err = g.troubled(o, a.Trouble)
	}
	if err != nil {
		return nil, err
	}
	if a.Blob != nil && a.Epoch == g.r.Head && g.r.Look <= g.unix() {
		// It was read and led nowhere: what lies there does not change.
		n, err := g.random(lookEvery)
		if err != nil {
			return nil, err
		}
		g.r.Look = g.unix() + 1 + n
	}
	if g.r.State != Out {
		if err := g.due(false); err != nil {
			return nil, err
		}
	}
	return g.ch, g.save()
}

// answered notes that the realm is there.
func (g *group) answered() {
	g.r.Asked, g.r.Away, g.r.Looked = 0, 0, g.unix()
	g.realmAnswered()
	switch g.r.Trouble {
	case waitsUnpaid, waitsRefused:
		g.trouble("")
	}
}

// receipt takes a receipt, and the blob if it was read.
func (g *group) receipt(o *opened, blob []byte, r *wire.Receipt) error {
	if err := g.checkReceipt(o, r); err != nil {
		return err
	}
	if o.Number != g.r.Head {
		_, err := g.note(o.Number, r)
		return err
	}
	if blob != nil && slot.Hash(blob) != r.Hash {
		return slot.ErrReceipt
	}
	g.answered()
	if ok, err := g.note(o.Number, r); !ok {
		return err
	}
	g.r.Known = max(g.r.Known, o.Number+1)
	if blob == nil && o.End.Staged != nil && slot.Hash(o.End.Staged.Blob) == r.Hash {
		blob = o.End.Staged.Blob
	}
	if blob == nil {
		g.r.Look = g.unix() // somebody else's: it is read
		return nil
	}
	return g.advance(o, blob, r)
}

// troubled takes the answer that there is no receipt.
func (g *group) troubled(o *opened, t Trouble) error {
	if o.Number != g.r.Head {
		return nil
	}
	switch t {
	case Empty:
		if d := g.decided(o.Number); d != nil {
			// It signed a receipt for what lies there, and says now that nothing does.
			return g.missing(o, &d.Receipt)
		}
		g.answered()
		return g.empty(o)
	case Away:
		if g.r.Away == 0 {
			g.r.Away = g.unix()
		}
		g.r.Asked = max(g.r.Asked, 1)
		return g.realmSilent()
	case Unpaid, Refused:
		g.answered()
		g.r.Asked = g.unix() + seconds(unpaidWait) // not before then
		if t == Unpaid {
			g.trouble(waitsUnpaid)
		} else {
			g.trouble(waitsRefused)
		}
	default:
		return errors.New("no such trouble of a slot")
	}
	return nil
}

// missing is the answer that something lies at the slot, and is not kept any more. Only
// a receipt says so; a word without one is no answer. Members are asked for the content
// first. Who gets it from nobody asks to be added again, and goes on reading.
//
// spec: group.md#behind
func (g *group) missing(o *opened, r *wire.Receipt) error {
	if r == nil || g.checkReceipt(o, r) != nil {
		return g.troubled(o, Away)
	}
	if ok, err := g.note(o.Number, r); !ok || o.Number != g.r.Head {
		return err
	}
	if o.End.Staged != nil && slot.Hash(o.End.Staged.Blob) == r.Hash {
		g.answered()
		return g.advance(o, o.End.Staged.Blob, r)
	}
	f := &g.r.Rift
	if f.Missing == 0 {
		f.Missing = g.unix()
	}
	g.r.Known = max(g.r.Known, o.Number+1)
	if err := g.troubled(o, Away); err != nil {
		return err
	}
	if g.unix()-f.Missing >= seconds(missingFor) {
		return g.behind()
	}
	return nil
}

// empty is the answer that nothing lies at the slot of the head.
func (g *group) empty(h *opened) error {
	n, err := g.random(lookEvery)
	if err != nil {
		return err
	}
	g.r.Look = g.unix() + n
	if err := g.inVain(); err != nil {
		return err
	}
	if g.r.Known > h.Number {
		// A member named a newer epoch; its commit did not come here, or that was no
		// truth. It is looked for again, and not at once: who asks for what is not there
		// tells the realm that it waits.
		g.r.Known = 0
	}
	if h.End.Staged == nil && g.r.State == Active && g.r.Try != 0 && g.r.Try <= g.unix() {
		return g.stage(h)
	}
	return nil
}

// lookAgain is how long to wait for an answer before the realm is asked again.
func (g *group) lookAgain() int64 {
	if g.r.Away == 0 {
		return seconds(askFirst)
	}
	return min(max((g.unix()-g.r.Away)/4, seconds(askFirst)), seconds(askMost))
}

// calls asks for the read or put of the head's slot that is wanted now. anew asks also
// for what was asked for already: after a start nobody knows of it.
func (g *group) calls(anew bool) error {
	if g.r.State != Active && g.r.State != Stopped && !g.readsOn() {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	if s.Sole != nil || h.Slot == nil || g.r.Rift.Why == StopTwo || g.r.Rift.Why == StopBurnt {
		return nil
	}
	staged := h.End.Staged != nil && !g.holdsBack() && g.r.State != Behind
	try := h.End.Staged == nil && g.r.State == Active && g.r.Try != 0 && g.r.Try <= g.unix()
	look := g.r.Look <= g.unix() || g.r.Rift.Why == StopGone || g.r.Away != 0
	if !try && !look && !staged {
		if h.End.Staged == nil && g.r.Try != 0 {
			g.at(g.r.Try)
		}
		g.at(g.r.Look)
		return nil
	}
	if next := g.r.Asked + g.lookAgain(); g.r.Asked != 0 && g.unix() < next && !(anew && g.r.Asked <= g.unix()) {
		g.at(next)
		return nil
	}
	id, err := h.slotID()
	if err != nil {
		return err
	}
	call := &SlotCall{Group: g.r.ID, Epoch: h.Number, Slot: id, Home: s.Home}
	if staged && !g.readFirst(h) {
		call.Put = h.End.Staged.Blob
	}
	if g.r.Asked > 1 && g.r.Away == 0 {
		g.r.Away = g.r.Asked // nobody answered the last one
	}
	g.r.Asked = g.unix()
	g.ch.Slots = append(g.ch.Slots, call)
	g.at(g.r.Asked + g.lookAgain())
	return nil
}

// readsOn reports whether a device that is behind may find its way still: what it lacks
// is the content of a slot.
func (g *group) readsOn() bool {
	return g.r.State == Behind && g.r.Rift.Missing != 0 && !g.r.Rift.Lost
}

// readFirst reports whether the slot is known to be decided: then one's own put can
// only lose.
func (g *group) readFirst(h *opened) bool {
	d := g.decided(h.Number)
	return d != nil && slot.Hash(h.End.Staged.Blob) != d.Receipt.Hash
}
