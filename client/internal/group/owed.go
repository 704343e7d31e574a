package group

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// Times of acks.
const (
	ackMean = 120 * time.Second // of the exponential clock
	ackCap  = 10 * time.Minute
	// slowAck is the mean for people whom the person of this device does not want to
	// hear: they do not learn from it when this device is there. They are told at last,
	// since an epoch is settled only when nothing of theirs waits in it.
	slowAck = 12 * time.Hour
	// greetEach is how often a member is told the own head that asks for it, at most.
	greetEach = 10 * time.Minute
)

// Owe is what is owed to a member in an epoch: acks, or the newest epoch alone.
type Owe struct {
	Device Device `cbor:"1,keyasint"`
	Epoch  uint64 `cbor:"2,keyasint"` // in which it is said
	At     int64  `cbor:"3,keyasint"` // when
	Acks   []byte `cbor:"4,keyasint"` // AppendAcks
}

// ackMost is how long an ack takes, at most and but for a few.
func (g *group) ackMost() time.Duration {
	switch {
	case g.AckMean < 0:
		return 0
	case g.AckMean == 0:
		return ackCap
	}
	return min(ackCap, 5*g.AckMean)
}

// ackAfter draws when an ack goes: on an exponential clock, so that its time tells
// little of when something came.
func (g *group) ackAfter(to roster.Leaf) (int64, error) {
	mean, most := g.AckMean, ackCap
	if mean == 0 {
		mean = ackMean
	}
	no, err := g.unwanted(to)
	if err != nil {
		return 0, err
	}
	if no {
		mean, most = slowAck, 2*slowAck
	}
	if mean < 0 {
		return g.unix(), nil
	}
	n, err := g.random(1 << 30)
	if err != nil {
		return 0, err
	}
	d := time.Duration(-float64(mean) * math.Log((float64(n)+1)/(1<<30)))
	return g.unix() + seconds(min(d, most)), nil
}

// owe notes that a member is told something in an epoch, an ack or only the own head,
// with what else is owed to it.
//
// spec: group.md#acks
func (g *group) owe(o *opened, to roster.Leaf, acks ...Ack) error {
	i := slices.IndexFunc(g.r.Owes, func(w Owe) bool { return w.Device == to.Device && w.Epoch == o.Number })
	if i < 0 {
		at, err := g.ackAfter(to)
		if err != nil {
			return err
		}
		i = len(g.r.Owes)
		g.r.Owes = append(g.r.Owes, Owe{Device: to.Device, Epoch: o.Number, At: at})
	}
	w := &g.r.Owes[i]
	have, err := ParseAcks(w.Acks)
	if err != nil {
		return err
	}
	for _, a := range acks {
		if j := slices.IndexFunc(have, func(h Ack) bool { return h.ID == a.ID }); j >= 0 {
			have[j].Parts |= a.Parts
		} else {
			have = append(have, a)
		}
	}
	if w.Acks = AppendAcks(nil, have); len(have) >= MaxAcks {
		w.At = min(w.At, g.unix()) // no more go into one
	}
	g.at(w.At)
	return nil
}

// pay tells what is owed and whose time has come.
func (g *group) pay() error {
	var rest, now []Owe
	for _, w := range g.r.Owes {
		if w.At > g.unix() {
			rest = append(rest, w)
			g.at(w.At)
		} else {
			now = append(now, w)
		}
	}
	g.r.Owes = rest
	for _, w := range now {
		o, err := g.epoch(w.Epoch)
		if errors.Is(err, ErrUnknown) {
			o, err = g.head() // its epoch is gone: who is still there hears it all the same
		}
		if err != nil {
			return err
		}
		l, ok := leafOf(o.Roster, w.Device)
		if !ok || g.goneFrom(o, l.Device) {
			continue
		}
		// A device that is behind owes and cannot pay: there may be more than one holds.
		for first := true; first || len(w.Acks) > 0; first = false {
			n := min(len(w.Acks), MaxAcks*ackSize)
			if err := g.say(o, &Said{Kind: SaidAck, Body: w.Acks[:n]}, []roster.Leaf{l}); err != nil {
				return err
			}
			w.Acks = w.Acks[n:]
		}
	}
	return nil
}
