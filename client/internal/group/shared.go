package group

import (
	"bytes"
	"slices"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Shared fan-out: in a large group a text goes once to an address that all members
// watch. The relay sees how many watch it, and that they are one group; in exchange the
// author sends one cell instead of a thousand. Nothing lies parked there and nothing is
// acked there: who did not ack after a while gets a copy of their own.

// Labels of what follows from the shared secret of an epoch.
const (
	labelSharedOwner = "tacet/v1/group/shared/owner"
	labelShared      = "tacet/v1/group/shared"
)

// passMany is how many leaves a device of a large group passes news to at a time.
const passMany = 8

// near reports whether a leaf's route lies where the group's slots do.
func near(r *roster.Route, home *roster.Home) bool { return r.Relay == home.Name && r.Pin == home.Pin }

// sharedPeriod is the live period of the shared address: that of most leaves at the home
// of the group, the shorter if two are as frequent, so that a few who say otherwise move
// nobody. It is 0 where fan-out is not shared.
//
// spec: group.md#shared-address
func sharedPeriod(s *roster.State, all []Member) uint16 {
	if !s.Shares(len(all)) {
		return 0
	}
	n := map[uint16]int{}
	for _, m := range all {
		if near(m.Route, &s.Home) && goodPeriod(m.Route.Period) {
			n[m.Route.Period]++
		}
	}
	var best uint16
	for _, p := range slices.Sorted(mapKeys(n)) {
		if best == 0 || n[p] > n[best] {
			best = p
		}
	}
	return best
}

// sharedOwner is the private half of an epoch's shared address, which each member has.
//
// spec: group.md#shared-address
func (e *Epoch) sharedOwner() (owner []byte, public [32]byte, err error) {
	var seed [96]byte
	defer clear(seed[:])
	key.KDF(seed[:], e.Shared, labelSharedOwner)
	o, public, err := addr.NewOwner(bytes.NewReader(seed[:]))
	if err != nil {
		return nil, public, err
	}
	defer o.Wipe()
	return bytes.Clone(o.Bytes()), public, nil
}

// sharedSecret is the secret of the shared address.
func (e *Epoch) sharedSecret() []byte {
	out := make([]byte, 32)
	key.KDF(out, e.Shared, labelShared)
	return out
}

// sharedRoute is where what goes to all of an epoch goes. It fails with ErrUnknown where
// nothing does.
func (e *Epoch) sharedRoute() (*LeafRoute, error) {
	if e.Live == 0 {
		return nil, ErrUnknown
	}
	s, err := roster.ParseState(e.State)
	if err != nil {
		return nil, err
	}
	_, public, err := e.sharedOwner()
	if err != nil {
		return nil, err
	}
	return &LeafRoute{Public: public, Secret: e.sharedSecret(), Birth: birth(e.Born, e.Live), Period: e.Live, Relay: s.Home.Name, Pin: s.Home.Pin}, nil
}

// ownShared is the shared address as this device watches it, whose own route is mine.
func (e *Epoch) ownShared(mine *roster.Route) (OwnRoute, error) {
	owner, _, err := e.sharedOwner()
	return OwnRoute{Group: e.Group, Epoch: e.Number, Leaf: All, Owner: owner, Secret: e.sharedSecret(), Birth: birth(e.Born, e.Live), Period: e.Live,
		Home: roster.Home{Name: mine.Relay, Pin: mine.Pin}}, err
}

// shares reports whether a text goes once to all: not while somebody who must get
// nothing more could still hear it there.
func (g *group) shares(o *opened) bool {
	return o.Live != 0 && !slices.ContainsFunc(o.Roster, func(l roster.Leaf) bool { return slices.Contains(g.r.Revoked, l.Device) })
}

// apart are the leaves of an epoch that do not watch the shared address, as their relay
// is another than the group's.
func (o *opened) apart() (out []Device, err error) {
	s, err := o.agreed()
	if err != nil {
		return nil, err
	}
	for i, b := range o.Routes {
		r, err := roster.ParseRoute(b)
		if err != nil {
			return nil, err
		}
		if !near(r, &s.Home) || r.Period != o.Live {
			out = append(out, o.Roster[i].Device)
		}
	}
	return out, nil
}

// made reports whether the commit that led to an epoch is this device's.
func (g *group) made(h *opened) (bool, error) {
	s, err := h.agreed()
	if err != nil || len(s.Makers) == 0 {
		return false, err
	}
	return s.Makers[len(s.Makers)-1] == g.me(), nil
}

// passTo are those of to whom this device passes news now. In a large group each tells a
// few at a time, drawn anew: a thousand members who tell each of a hundred that are away
// would send a hundred thousand cells.
//
// spec: group.md#advance
func (g *group) passTo(o *opened, to []roster.Leaf) ([]roster.Leaf, error) {
	if len(o.Roster) <= gatherAbove {
		return to, nil
	}
	to = slices.Clone(to)
	for i := 0; i < min(passMany, len(to)); i++ {
		n, err := g.random(int64(len(to) - i))
		if err != nil {
			return nil, err
		}
		to[i], to[i+int(n)] = to[i+int(n)], to[i]
	}
	return to[:min(passMany, len(to))], nil
}
