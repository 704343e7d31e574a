package group

import (
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// rollFirst is when who gathers acks tells them first, then after twice as long each
// time, up to rollMost.
const (
	rollFirst = time.Minute
	rollMost  = 6 * time.Hour
)

// roll tells all, in a large group, who is past what: everybody told this device.
//
// spec: group.md#settle
func (g *group) roll() error {
	h, err := g.head()
	if err != nil {
		return err
	}
	c, ok := g.gatherer(h)
	if !ok || c.Index != h.Self {
		g.r.Gather = 0
		return nil
	}
	open, err := g.unsettled()
	if err != nil || !open {
		return err
	}
	if g.r.Gather == 0 {
		g.r.Gather = g.unix() + seconds(rollFirst)
	}
	g.at(g.r.Gather)
	if g.unix() < g.r.Gather {
		return nil
	}
	g.r.Rolls++
	g.r.Gather = g.unix() + backoff(rollFirst, rollMost, g.r.Rolls)
	g.at(g.r.Gather)
	width := h.Roster[len(h.Roster)-1].Index + 1
	r := Roll{Epoch: h.Number, Past: make([]byte, (width+7)/8), Low: make([]byte, (width+7)/8)}
	low, err := g.low()
	if err != nil {
		return err
	}
	said := g.said()
	for _, l := range h.Roster {
		a := said[l.Device]
		if l.Index == h.Self {
			a = &Acked{Head: h.Number, Low: low}
		}
		if a != nil && a.Head >= h.Number {
			r.Past[l.Index/8] |= 1 << (l.Index % 8)
			if a.Low >= h.Number {
				r.Low[l.Index/8] |= 1 << (l.Index % 8)
			}
		}
	}
	return g.sayObject(h, encode(ObjectRoll, &r), h.others())
}

// hearRoll takes who is past an epoch from the one who gathers that. It is another's
// word: those are spared news and Welcomes, and nothing is settled by it.
func (g *group) hearRoll(from roster.Leaf, b []byte) error {
	var r Roll
	if err := decode(b, &r); err != nil {
		return err
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	c, ok := g.gatherer(h)
	if !ok || c != from || r.Epoch != h.Number {
		return nil
	}
	if len(r.Past) != len(r.Low) {
		return ErrSaid
	}
	var past []Device
	for _, l := range h.others() {
		if i := l.Index / 8; int(i) < len(r.Past) && r.Past[i]>>(l.Index%8)&1 == 1 {
			past = append(past, l.Device)
		}
	}
	said := g.said()
	for _, d := range past {
		if said[d] == nil {
			g.r.Acks = append(g.r.Acks, Acked{Device: d})
		}
	}
	said = g.said() // those that were just noted, too
	for _, d := range past {
		said[d].Roll = max(said[d].Roll, h.Number)
	}
	return nil
}
