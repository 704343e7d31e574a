package group

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// gatherAbove is above how many leaves acks go to the committer alone, who tells all.
const gatherAbove = 32

// Times of telling the own head.
const (
	tellFirst = time.Minute
	tellMost  = 6 * time.Hour
	vainFirst = 10 * time.Minute // between reads of a slot that members' words led to, and that found nothing
)

// backoff is first doubled n times, at most most.
func backoff(first, most time.Duration, n int) int64 {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return seconds(min(first, most))
}

// acked is what is known of a device; nil: nothing.
func (g *group) acked(d Device) *Acked {
	for i := range g.r.Acks {
		if g.r.Acks[i].Device == d {
			return &g.r.Acks[i]
		}
	}
	return nil
}

// said is what is known of all devices: for who looks at many. It stands until the next
// one is noted.
func (g *group) said() map[Device]*Acked {
	all := make(map[Device]*Acked, len(g.r.Acks))
	for i := range g.r.Acks {
		all[g.r.Acks[i].Device] = &g.r.Acks[i]
	}
	return all
}

// hearHead takes what a member says of itself with everything, and reports whether it
// was news.
func (g *group) hearHead(from roster.Leaf, s *Said) (bool, error) {
	h, err := g.head()
	if err != nil {
		return false, err
	}
	if _, in := leafOf(h.Roster, from.Device); !in {
		return false, nil
	}
	a := g.acked(from.Device)
	if a == nil {
		g.r.Acks = append(g.r.Acks, Acked{Device: from.Device})
		a = &g.r.Acks[len(g.r.Acks)-1]
	}
	news := a.At == 0 || s.Head > a.Head
	switch {
	case s.Head > a.Head:
		a.Head, a.Low = s.Head, s.Low
	case s.Head == a.Head:
		// Whose head is past an epoch begins nothing in it any more: that nothing waits
		// there stays true, whatever comes late or again.
		a.Low = max(a.Low, s.Low)
	}
	a.At = g.unix()
	if s.Head == h.Number && s.Mark != h.Mark {
		g.otherBranch(from)
	}
	if s.Head > h.Number && s.Head > g.r.Known {
		g.r.Known = s.Head
		g.prompted()
	}
	return news, nil
}

// prompted has the slot read because of a member's word. After such reads that found
// nothing the next waits, longer each time: else anybody could have this device ask the
// relay, at a time of their choice, for what is not there.
//
// spec: group.md#advance
func (g *group) prompted() {
	g.r.Prompted = true
	if g.unix() >= g.r.Prompt {
		g.r.Look = g.unix()
	} else {
		g.r.Look = min(g.r.Look, g.r.Prompt)
	}
}

// inVain notes that such a read found nothing.
func (g *group) inVain() error {
	if !g.r.Prompted {
		return nil
	}
	n, err := g.random(seconds(vainFirst))
	if err != nil {
		return err
	}
	g.r.Prompted = false
	g.r.Prompt = g.unix() + backoff(vainFirst, tellMost, g.r.Vain) + n
	g.r.Vain++
	return nil
}

// tellHead tells the own head to all, or to who gathers acks.
//
// spec: group.md#settle
func (g *group) tellHead() error {
	if g.r.Tell == 0 || g.unix() < g.r.Tell || g.r.State == Behind {
		g.at(g.r.Tell)
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	to := h.others()
	if c, ok := g.gatherer(h); ok {
		to = []roster.Leaf{c}
		if c.Index == h.Self {
			to = nil
		}
	}
	if err := g.say(h, &Said{Kind: SaidAck, Flags: asks}, to); err != nil {
		return err
	}
	open, err := g.unsettled()
	if err != nil {
		return err
	}
	g.r.Tell = 0
	if open || g.r.Tells == 0 {
		g.r.Tell = g.unix() + backoff(tellFirst, tellMost, g.r.Tells)
		g.r.Tells++
	}
	g.at(g.r.Tell)
	return nil
}

// unsettled reports whether an epoch before the head is still here.
func (g *group) unsettled() (bool, error) {
	epochs, err := g.epochs()
	return len(epochs) > 1, err
}

// gatherer is the leaf that gathers acks in a large group: whose commit led to the
// epoch, or the first leaf.
func (g *group) gatherer(h *opened) (roster.Leaf, bool) {
	if len(h.Roster) <= gatherAbove {
		return roster.Leaf{}, false
	}
	if s, err := h.agreed(); err == nil && len(s.Makers) > 0 {
		if l, ok := leafOf(h.Roster, s.Makers[len(s.Makers)-1]); ok {
			return l, true
		}
	}
	return h.Roster[0], true
}

// hearAcks ends the copies that a device acked.
func (g *group) hearAcks(o *opened, from roster.Leaf, body []byte) error {
	acks, err := ParseAcks(body)
	if err != nil {
		return err
	}
	for _, a := range acks {
		m, err := g.tx.Message(g.r.ID, a.ID)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return err
		}
		i := slices.IndexFunc(m.Waits, func(w Waiting) bool { return w.Device == from.Device })
		if i < 0 || o.Number < m.Waits[i].Since {
			continue
		}
		took := m.Waits[i]
		took.Parts &= a.Parts
		if err := g.withdrawOf(m, took); err != nil {
			return err
		}
		if m.Waits[i].Parts &^= a.Parts; m.Waits[i].Parts != 0 {
			if err := g.tx.PutMessage(m); err != nil {
				return err
			}
			continue
		}
		m.Waits = slices.Delete(m.Waits, i, i+1)
		g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventDelivery, By: from.Device, ByRoot: from.Root, Message: m.ID,
			Reached: m.Of - len(m.Waits), Of: m.Of})
		if len(m.Waits) == 0 {
			err = g.tx.DeleteMessage(g.r.ID, m.ID)
			g.r.Tell = g.unix() // others wait for the epoch to be settled
			g.r.Tells = 0
		} else {
			err = g.tx.PutMessage(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
