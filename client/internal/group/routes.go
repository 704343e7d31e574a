package group

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Labels of routes.
const (
	labelRoute = "tacet/v1/group/route"
	labelApart = "tacet/v1/group/apart"
)

// chainMost is how many periods the chain of a leaf's route is long: 28 days of 10
// minutes, or as many days of what is parked.
const chainMost = 4096

func newOwner(rand io.Reader) ([]byte, [32]byte, error) {
	owner, public, err := addr.NewOwner(rand)
	if err != nil {
		return nil, [32]byte{}, err
	}
	defer owner.Wipe()
	return append([]byte(nil), owner.Bytes()...), public, nil
}

// goodRoute reports whether cells can be sent to a route.
func goodRoute(r *roster.Route) bool {
	return goodPeriod(r.Period) && addr.Public(r.Public).Check() == nil
}

// goodPeriod reports whether a realm can have a live period.
func goodPeriod(p uint16) bool { return p == 600 || p == 1800 || p == 3600 }

// leafSecret is the secret of a leaf's route in an epoch.
//
// spec: group.md#routes
func leafSecret(route []byte, leaf uint32, public [32]byte) []byte {
	out := make([]byte, 32)
	key.KDF(out, route, labelRoute, binary.BigEndian.AppendUint32(nil, leaf), public[:])
	return out
}

// birth is the first live period of a day.
func birth(day uint32, period uint16) uint64 {
	return addr.PeriodAt(int64(day)*86_400, period)
}

// RouteAt is the secret of a leaf's route from which live period t follows, and the
// period at which the chain begins that has it. The day at which a chain begins is what
// some member said, and it may be long ago: what lies before it, or far after, is each
// a chain of its own. So whatever anybody says of the day, both ends have one address.
//
// spec: group.md#routes
func RouteAt(secret []byte, birth, t uint64) (from []byte, begin uint64) {
	if t >= birth && t-birth < chainMost {
		return secret, birth
	}
	from = make([]byte, 32)
	key.KDF(from, secret, labelApart, binary.BigEndian.AppendUint64(nil, t))
	return from, t
}

// RouteOn is RouteAt for what is parked in a day: of days before the chain, or far after
// its beginning, the chain is that of the day's first live period.
//
// spec: group.md#routes
func RouteOn(secret []byte, birth uint64, period uint16, on uint64) (from []byte, begin uint64) {
	if first := birth * uint64(period) / addr.DaySeconds; on >= first && on-first < chainMost {
		return secret, birth
	}
	t := on * addr.DaySeconds / uint64(period)
	from, _ = RouteAt(secret, t+1, t)
	return from, t
}

// LeafRouteOf is where a copy for a leaf goes, or for All. It fails with ErrUnknown for an epoch
// or leaf that is not here any more.
func (e *Engine) LeafRouteOf(tx Tx, id ID, epoch uint64, leaf uint32) (*LeafRoute, error) {
	ep, err := tx.Epoch(id, epoch)
	if err != nil {
		return nil, err
	}
	if leaf == All {
		return ep.sharedRoute()
	}
	for i, l := range ep.Roster {
		if l.Index != leaf {
			continue
		}
		r, err := roster.ParseRoute(ep.Routes[i])
		if err != nil {
			return nil, err
		}
		return &LeafRoute{
			Public: r.Public, Secret: leafSecret(ep.Route, leaf, r.Public), Birth: birth(ep.Born, r.Period),
			Period: r.Period, Relay: r.Relay, Pin: r.Pin,
		}, nil
	}
	return nil, ErrUnknown
}

// Routes is what this device watches for its groups: the route of its own leaf in
// every epoch that it holds, and the address that all share if its relay has that.
func (e *Engine) Routes(tx Tx) ([]OwnRoute, error) {
	all, err := tx.Groups()
	if err != nil {
		return nil, err
	}
	var out []OwnRoute
	for _, r := range all {
		if r.State == Out && r.Put == 0 {
			continue
		}
		epochs, err := tx.Epochs(r.ID)
		if err != nil {
			return nil, err
		}
		for _, ep := range epochs {
			route, err := roster.ParseRoute(ep.Mine)
			if err != nil {
				return nil, err
			}
			out = append(out, OwnRoute{
				Group: r.ID, Epoch: ep.Number, Leaf: ep.Self, Owner: ep.Own,
				Secret: leafSecret(ep.Route, ep.Self, route.Public), Birth: birth(ep.Born, route.Period), Period: route.Period,
				Home: roster.Home{Name: route.Relay, Pin: route.Pin},
			})
			if ep.Live != 0 && ep.Near {
				all, err := ep.ownShared(route)
				if err != nil {
					return nil, err
				}
				out = append(out, all)
			}
		}
	}
	return out, nil
}

// seconds is a duration in whole seconds.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
