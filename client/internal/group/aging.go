package group

import "time"

// A day is the most that a clock of the record goes between two times that the group
// was worked on.
const longStep = 24 * time.Hour

// lateText goes with a text that came after its author was removed.
const lateText = "the last message came after its author was removed from the group"

// goneWithin is for how long what a member said before it was removed is still taken.
const goneWithin = time.Hour

// Departed is a device that a commit removed.
type Departed struct {
	Device Device `cbor:"1,keyasint"`
	Epoch  uint64 `cbor:"2,keyasint"` // the first that it is not in
	Aged   int64  `cbor:"3,keyasint"` // when this device took that, by the record's clock
}

// age is a clock of the record's own, in seconds: it goes with the wall clock, never
// back, and by no more than a day between two times that the group was worked on. So a
// clock that was set ahead once does not take the keys of all old epochs.
//
// spec: group.md#settle
func (g *group) age() int64 {
	if d := g.unix() - g.r.Clocked; g.r.Clocked != 0 && d > 0 {
		g.r.Clock += min(d, seconds(longStep))
	}
	g.r.Clocked = g.unix()
	return g.r.Clock
}

// departed notes that devices are not in an epoch and those after it.
func (g *group) departed(gone []Device, epoch uint64) {
	for _, d := range gone {
		g.r.Departed = append(g.r.Departed, Departed{Device: d, Epoch: epoch, Aged: g.age()})
	}
	g.r.Departed = g.r.Departed[max(0, len(g.r.Departed)-maxRemoved):]
}

// left is when a device left what is an old epoch here; nil: it did not.
func (g *group) leaving(o *opened, d Device) *Departed {
	for i := range g.r.Departed {
		if x := &g.r.Departed[i]; x.Device == d && x.Epoch > o.Number {
			return x
		}
	}
	return nil
}

// goneFrom reports whether nothing of a device is taken in an epoch any more: it was
// removed by a later one, and that was taken here some while ago.
func (g *group) goneFrom(o *opened, d Device) bool {
	x := g.leaving(o, d)
	return x != nil && g.age()-x.Aged >= seconds(goneWithin)
}
