package group

import (
	"github.com/tacet-chat/tacet/internal/wire"
)

// What a person reads while changes of a group wait.
const (
	waitsContradiction = "member changes are waiting: the relay of this group gave two different answers. Messages go on."
	waitsBurnt         = "member changes are waiting: somebody in the group made a change that is not valid. Messages go on."
	waitsAway          = "member changes are waiting: the relay of this group does not answer. Messages go on."
	waitsUnpaid        = "member changes are waiting: this device has no token for the relay of this group. Messages go on."
	waitsRefused       = "member changes are waiting: the relay of this group takes none. Messages go on."
	waitsBehind        = "this device missed changes of the group and asked an admin to be added again. Messages wait until then."
)

// stop ends committing; messages go on.
//
// spec: group.md#stopping
func (g *group) stop(why string) {
	g.r.State, g.r.Try = Stopped, 0
	g.trouble(why)
}

// trouble tells why changes wait, once.
func (g *group) trouble(why string) {
	if g.r.Trouble == why {
		return
	}
	kind := EventTrouble
	if why == "" {
		kind = EventWell
	}
	g.r.Trouble = why
	g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: kind, Text: why})
}

// contradicts keeps a second receipt for a slot.
func (g *group) contradicts(d *Decided, second *wire.Receipt) {
	if d.Second == nil {
		r := *second
		d.Second = &r
	}
	if !d.Settled {
		g.stop(waitsContradiction)
	}
}

// burnt is a slot that holds no valid commit: the epoch has no end any more.
func (g *group) burnt(_ *opened, _ *wire.Receipt, _ error) error {
	g.stop(waitsBurnt)
	return nil
}
