package group

import (
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/whisper"
)

// What members say to one leaf alone is no message of MLS: it would take a generation
// of the sender's ratchet that the other members never see, and who reads much and
// writes little would not be understood when it writes.

// whispers is what one leaf says to another in an epoch; one of the two is ours. It fails
// with ErrSender for a leaf that is not there, and for ourselves.
//
// spec: group.md#whispers
func (g *group) whispers(o *opened, from, to uint32) (*whisper.Line, error) {
	w := &whisper.Line{Group: g.r.ID, Epoch: o.Number, Secret: o.Whisper, Owner: o.Own}
	found := 0
	for i, l := range o.Roster {
		if l.Index != from && l.Index != to {
			continue
		}
		r, err := roster.ParseRoute(o.Routes[i])
		if err != nil {
			return nil, err
		}
		end := whisper.End{Leaf: l.Index, Device: l.Device, Route: r.Public}
		if l.Index == from {
			w.From = end
		} else {
			w.To = end
		}
		found++
	}
	if found != 2 {
		return nil, ErrSender
	}
	return w, nil
}
