package group

import (
	"time"
)

// Tick does what its time has come for, in all groups. It may be called as often as
// one likes; Change.Next says when it wants to be called at the latest. A group in which
// that fails stays as it was and is named in Change.Failed; the others go on.
func (e *Engine) Tick(tx Tx, now time.Time) (*Change, error) { return e.tick(tx, now, false) }

// Due is Tick after a start: what was asked for before and nobody answered is asked
// for again, and who was away for more than six hours looks at the slots at once.
// Copies that are kept come again, too; who has their rows skips them.
func (e *Engine) Due(tx Tx, now time.Time) (*Change, error) { return e.tick(tx, now, true) }

func (e *Engine) tick(tx Tx, now time.Time, anew bool) (*Change, error) {
	w := e.work(tx, now)
	all, err := tx.Groups()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if _, err := w.apart(r, func(g *group) error { return g.tick(anew) }); err != nil {
			return nil, err
		}
	}
	if err := w.later(); err != nil {
		return nil, err
	}
	if err := w.tendInvited(); err != nil {
		return nil, err
	}
	w.ch.Routes = w.ch.Routes || anew
	return w.ch, nil
}

// tick does what its time has come for in one group.
func (g *group) tick(anew bool) error {
	if g.r.State == Replaced {
		if err := g.fade(); err != nil {
			return err
		}
	}
	if err := g.forgetOut(); err != nil {
		return err
	}
	if g.r.State == Out || g.r.State == Replaced {
		return nil
	}
	if g.r.State == Entering {
		if err := g.askEntry(); err != nil {
			return err
		}
		return g.save()
	}
	if anew {
		if err := g.anew(); err != nil {
			return err
		}
	}
	if err := g.due(anew); err != nil {
		return err
	}
	return g.save()
}

// anew is what a start asks for.
func (g *group) anew() error {
	if g.unix()-g.r.Looked >= seconds(awayAfter) && g.unix() < g.r.Look {
		g.r.Look = g.unix()
		g.r.Away = 0 // it was us who were away
	}
	if g.r.State == Behind {
		return nil
	}
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if m.Epoch == held || m.Sent != 0 {
			continue
		}
		if o, err := g.epoch(m.Epoch); err == nil {
			g.copies(o, m)
		}
	}
	return nil
}

// due does what its time has come for, in one group.
func (g *group) due(anew bool) error {
	if g.r.State == Out || g.r.State == Replaced {
		return nil
	}
	if err := g.shownOut(); err != nil || g.r.State == Out {
		return err
	}
	if on, err := g.tendRift(); !on || err != nil {
		return err
	}
	if g.r.State == Behind {
		if err := g.sweep(); err != nil {
			return err
		}
		if err := g.beg(); err != nil || !g.readsOn() {
			return err
		}
		h, err := g.head()
		if err != nil {
			return err
		}
		if err := g.need(h); err != nil {
			return err
		}
		return g.calls(anew)
	}
	for _, f := range []func() error{g.settle, g.tendMessages, g.renewWishes, g.tellWishes, g.pass, g.schedule, g.commitSole, g.sweep, g.roll, g.tellHead, g.pay, g.tendPicture} {
		if err := f(); err != nil {
			return err
		}
	}
	g.askLacking()
	h, err := g.head()
	if err != nil {
		return err
	}
	if err := g.need(h); err != nil {
		return err
	}
	g.tended = true
	return g.calls(anew)
}

// plan asks for the next Tick. What its time has come for and due left undone waits
// for something else: an answer, a turn.
func (g *group) plan() {
	if g.r.State == Behind { // it only asks to be added again
		g.at(g.r.Begging)
		return
	}
	later := func(t int64) {
		if t > g.unix() || !g.tended {
			g.at(t)
		}
	}
	if g.r.Asked == 0 { // else the answer goes on with it, or calls asks again
		later(g.r.Try)
	}
	later(g.r.Tell)
	if g.unix() < g.r.Rift.Bound { // an own commit is held back until then
		g.at(g.r.Rift.Bound)
	}
}
