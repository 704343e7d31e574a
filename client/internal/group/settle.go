package group

import (
	"slices"
	"time"
)

// Bounds of epochs that were left.
const (
	epochLife = 14 * 24 * time.Hour
	maxEpochs = 64
	// toldWithin is for how long an epoch that is settled stays to tell who was removed.
	toldWithin = 3 * time.Minute
)

// settle deletes epochs that everybody is past, with nothing waiting in them, and
// those that were left long ago.
//
// spec: group.md#settle
func (g *group) settle() error {
	h, err := g.head()
	if err != nil {
		return err
	}
	epochs, err := g.epochs()
	if err != nil || len(epochs) < 2 {
		return err // there is the head alone
	}
	past, low, err := g.everybody(h)
	if err != nil {
		return err
	}
	dropped, now := false, g.age()
	for i, e := range epochs {
		if e.Number >= h.Number {
			continue
		}
		over := len(epochs)-i > maxEpochs || now-e.Aged >= seconds(epochLife)
		done := e.Number < past && e.Number < low
		// Who was removed is told by the routes of this epoch: it stays until that has
		// left, or the last words would have no address any more.
		if told := e.Left + seconds(toldWithin); done && !over && e.Pass != 0 && g.unix() < told {
			g.at(told)
			continue
		}
		if !done && !over {
			g.at(g.unix() + e.Aged + seconds(epochLife) - now)
			continue
		}
		if d := g.decided(e.Number); d != nil && done {
			d.Settled = true
		}
		if err := g.drop(e.Number); err != nil {
			return err
		}
		dropped = true
	}
	if !dropped {
		return nil
	}
	oldest := h.Number
	if all, err := g.epochs(); err != nil {
		return err
	} else if len(all) > 0 {
		oldest = all[0].Number
	}
	g.r.Departed = slices.DeleteFunc(g.r.Departed, func(d Departed) bool { return d.Epoch <= oldest })
	return g.settleWishes(nil)
}

// everybody is the oldest head among all devices, and the oldest epoch in which
// anything waits, by what each said itself.
func (g *group) everybody(h *opened) (head, low uint64, err error) {
	if low, err = g.low(); err != nil {
		return 0, 0, err
	}
	head = h.Number
	said := g.said()
	for _, l := range h.Roster {
		if l.Index == h.Self {
			continue
		}
		a := said[l.Device]
		if a == nil {
			return 0, 0, nil
		}
		head, low = min(head, a.Head), min(low, a.Low)
	}
	return head, low, nil
}
