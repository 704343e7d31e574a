package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Times of passing on.
const (
	passFirst = time.Minute
	passMost  = 6 * time.Hour
	// passRemoved is how often a removed device is told that a commit lies there.
	passRemoved = 3
	// needAfter is how long the realm does not answer before members are asked for the
	// blob, and how long until they are asked again.
	needAfter = time.Minute
	needEvery = 5 * time.Minute
	giveEvery = 2 * time.Minute
)

// pass tells those who have not acked that an epoch ended, and gives its Welcomes to
// who was added. Every member does: the one whose commit it was may be gone.
//
// spec: group.md#advance
func (g *group) pass() error {
	if g.r.State == Behind {
		return nil
	}
	epochs, err := g.epochs()
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if e.Number >= g.r.Head || e.Pass == 0 {
			continue
		}
		if g.unix() < e.Pass {
			g.at(e.Pass)
			continue
		}
		o, err := g.epoch(e.Number)
		if err != nil {
			return err
		}
		if err := g.passEpoch(o); err != nil {
			return err
		}
		g.at(o.Pass)
	}
	return nil
}

func (g *group) passEpoch(o *opened) error {
	o.dirty = true
	h, err := g.head()
	if err != nil {
		return err
	}
	var all []roster.Leaf
	said, now := g.said(), devicesIn(h.Roster)
	for _, l := range o.others() {
		if a := said[l.Device]; now[l.Device] && (a == nil || max(a.Head, a.Roll) <= o.Number) || !now[l.Device] && o.Passes < passRemoved {
			all = append(all, l)
		}
	}
	d := g.decided(o.Number)
	ours, err := g.made(h)
	if err != nil {
		return err
	}
	to := all
	if !ours || o.Passes > 0 {
		if to, err = g.passTo(o, all); err != nil {
			return err
		}
	}
	if o.sole() && len(to) > 0 { // there is no slot where it lies
		if err := g.sayObject(o, encode(ObjectBlob, &News{Epoch: o.Number, Content: o.End.Commit}), to); err != nil {
			return err
		}
	}
	if d != nil && len(to) > 0 {
		n := News{Epoch: o.Number, Receipt: d.Receipt.Append(nil)}
		if err := g.sayObject(o, encode(ObjectNews, &n), to); err != nil {
			return err
		}
	}
	o.end(func(x *Ending) {
		x.Added = slices.DeleteFunc(x.Added, func(j Joiner) bool {
			_, in := leafOf(h.Roster, j.Leaf.Device)
			return !in || g.isPast(j.Leaf.Device, o.Number)
		})
		if len(x.Added) == 0 {
			x.Welcome, x.Aside = nil, nil
		}
	})
	welcome := o.End.Added
	if !ours && len(o.Roster) > gatherAbove && len(welcome) > 1 {
		n, err := g.random(int64(len(welcome)))
		if err != nil {
			return err
		}
		welcome = welcome[n : n+1]
	}
	for _, j := range welcome {
		// Whose commit it was gives it until the device itself was heard.
		if g.madeBy(h, o.Number) || !g.isSaidPast(j.Leaf.Device, o.Number) {
			g.welcome(o, j)
		}
	}
	if len(all) == 0 && len(o.End.Added) == 0 {
		o.Pass = 0
		return nil
	}
	n, err := g.random(seconds(passFirst))
	if err != nil {
		return err
	}
	o.Pass = g.unix() + backoff(passFirst, passMost, o.Passes) + n
	o.Passes++
	return nil
}

// devicesIn are the devices of leaves.
func devicesIn(leaves []roster.Leaf) map[Device]bool {
	in := make(map[Device]bool, len(leaves))
	for _, l := range leaves {
		in[l.Device] = true
	}
	return in
}

// isPast reports whether a device acked an epoch after n.
func (g *group) isPast(d Device, n uint64) bool {
	a := g.acked(d)
	return a != nil && a.Head > n
}

// isSaidPast is isPast, or by the word of who gathers acks.
func (g *group) isSaidPast(d Device, n uint64) bool {
	a := g.acked(d)
	return a != nil && max(a.Head, a.Roll) > n
}

// madeBy reports whether the commit that ended epoch n was this device's, as far as the
// state tells.
func (g *group) madeBy(h *opened, n uint64) bool {
	s, err := h.agreed()
	if err != nil || n >= h.Number {
		return false
	}
	i := len(s.Makers) - int(h.Number-n)
	return i >= 0 && i < len(s.Makers) && s.Makers[i] == g.me()
}

// welcome gives a device what it needs to enter the epoch after o.
func (g *group) welcome(o *opened, j Joiner) {
	w := Joining{Group: g.r.ID, Origin: g.r.Origin, Epoch: o.Number + 1, Welcome: o.End.Welcome, Tree: o.End.Aside, Package: j.Package[:]}
	if d := g.decided(o.Number); d != nil {
		w.Receipt = d.Receipt.Append(nil)
	}
	g.word(j.Leaf.Device, j.Leaf.Root, encode(WordWelcome, &w))
}

// hearNews takes word that the commit of an epoch lies at its slot.
func (g *group) hearNews(o *opened, b []byte) error {
	var n News
	if err := decode(b, &n); err != nil {
		return err
	}
	if n.Receipt == nil {
		return g.hearSole(o, &n)
	}
	r, err := wire.ParseReceipt(n.Receipt)
	if err != nil {
		return ErrSaid
	}
	switch {
	case n.Epoch > g.r.Head:
		g.r.Known = max(g.r.Known, n.Epoch+1)
		g.prompted()
		return nil
	case n.Epoch != o.Number:
		return nil
	}
	if err := g.checkReceipt(o, &r); err != nil {
		return err
	}
	if ok, err := g.note(n.Epoch, &r); !ok || n.Epoch != g.r.Head {
		return err
	}
	g.r.Known = max(g.r.Known, n.Epoch+1)
	if n.Content != nil {
		return g.hearContent(o, &r, n.Content)
	}
	g.r.Look = g.unix()
	return nil
}

// hearContent takes what lies at the slot from a member: sealed again it is what the
// receipt names, byte for byte.
func (g *group) hearContent(o *opened, r *wire.Receipt, content []byte) error {
	if len(content) < nonceSize {
		return ErrSaid
	}
	st, err := o.agreed()
	if err != nil {
		return err
	}
	s, err := o.slotOf()
	if err != nil {
		return err
	}
	defer s.Wipe()
	blob, err := s.Seal(bytes.NewReader(content[:nonceSize]), st.Class, content[nonceSize:])
	if err != nil || slot.Hash(blob) != r.Hash {
		return ErrSaid
	}
	return g.advance(o, blob, r)
}

// need asks members for a blob that the realm does not give.
func (g *group) need(h *opened) error {
	if g.r.Known <= h.Number || !h.sole() && (g.r.Away == 0 || g.unix()-g.r.Away < seconds(needAfter)) {
		return nil
	}
	name := groupNotes(g.r.ID) + "need"
	if ok, err := g.every(name, needEvery); err != nil || !ok {
		return err
	}
	var to []roster.Leaf
	for _, l := range h.others() {
		if g.isPast(l.Device, h.Number) {
			to = append(to, l)
		}
	}
	if len(to) == 0 {
		to = h.others()
	}
	for len(to) > 2 {
		i, err := g.random(int64(len(to)))
		if err != nil {
			return err
		}
		to = slices.Delete(to, int(i), int(i)+1)
	}
	return g.sayObject(h, append([]byte{byte(ObjectNeed)}, binary.BigEndian.AppendUint64(nil, h.Number)...), to)
}

// every reports whether what is named was not done for so long, and notes that it is.
func (g *group) every(name string, d time.Duration) (bool, error) {
	b, err := g.tx.Note(name)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return false, err
	}
	if at, perr := strconv.ParseInt(string(b), 10, 64); err == nil && perr == nil && g.unix()-at < seconds(d) && g.unix() >= at {
		return false, nil
	}
	return true, g.tx.PutNote(name, []byte(strconv.FormatInt(g.unix(), 10)))
}

// hearNeed gives a member what ended an epoch.
func (g *group) hearNeed(o *opened, from roster.Leaf, b []byte) error {
	if len(b) != 8 {
		return ErrSaid
	}
	n := binary.BigEndian.Uint64(b)
	d := g.decided(n)
	if n != o.Number || d == nil && !o.sole() || o.End.Commit == nil {
		return nil
	}
	if ok, err := g.every(fmt.Sprintf("%sgave/%d/%x", groupNotes(g.r.ID), n, from.Device[:8]), giveEvery); err != nil || !ok {
		return err
	}
	v := News{Epoch: n, Content: o.End.Commit}
	if d != nil {
		v.Receipt = d.Receipt.Append(nil)
	}
	return g.sayObject(o, encode(ObjectBlob, &v), []roster.Leaf{from})
}
