package contact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/key"
)

// MaxRealmName is the longest relay name, in bytes.
const MaxRealmName = invite.MaxRelay

// OfferSize bounds an offer with its realm: offer 74 ‖ pin 32 ‖ length 1 ‖ name.
const OfferSize = addr.OfferSize + 32 + 1 + MaxRealmName

// ErrOffer is returned for a route offer that is not well-formed.
var ErrOffer = errors.New("route offer is malformed")

// AppendOffer appends a route offer together with the realm it lies on, so that
// two people may live on two relays.
//
// spec: hello.md#route-offer
func AppendOffer(b []byte, o *addr.Offer, r Realm) []byte {
	b = o.Append(b)
	b = append(b, r.Pin[:]...)
	b = append(b, byte(len(r.Name)))
	return append(b, r.Name...)
}

// ParseOffer reads what AppendOffer wrote.
func ParseOffer(b []byte) (addr.Offer, Realm, error) {
	const fixed = addr.OfferSize + 32 + 1
	if len(b) < fixed || len(b) > OfferSize || len(b) != fixed+int(b[fixed-1]) || len(b) == fixed {
		return addr.Offer{}, Realm{}, ErrOffer
	}
	o, err := addr.ParseOffer(b[:addr.OfferSize])
	if err != nil {
		return addr.Offer{}, Realm{}, ErrOffer
	}
	r := Realm{Name: string(b[fixed:]), Pin: [32]byte(b[addr.OfferSize:])}
	return o, r, nil
}

// CheckOffer refuses with ErrOffer an offer that must not be taken: a relay name
// that is not written in the one way, a relay on this machine or a private
// network while our own home is elsewhere (it would turn our client on our own
// services), a birth that lies ahead, or one so far back that nothing can be
// derived from it.
//
// spec: hello.md#route-offer
func CheckOffer(now time.Time, home Realm, o *addr.Offer, r Realm) error {
	if !Reachable(home, r) {
		return ErrOffer
	}
	t := addr.PeriodAt(now.Unix(), o.Period)
	if o.Birth > t+1 || o.Birth+addr.MaxAhead/2 < t {
		return ErrOffer
	}
	return nil
}

// Reachable reports whether a realm may be one of somebody's routes: its name is
// written in the one way, and it is none of this machine or a private network while
// our own is elsewhere.
func Reachable(home, r Realm) bool {
	name, err := invite.RelayName(r.Name)
	return err == nil && name == r.Name && (r.Name == home.Name || !inside(r.Name) || inside(home.Name))
}

// inside reports whether a relay name means this machine or a private network.
func inside(name string) bool {
	host := name
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
		host = name[:i]
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || !strings.Contains(host, ".") && !strings.HasPrefix(host, "[") {
		return true // a name without a dot is one of the local network
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
	}
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast()
}

// NewRoute makes a route of ours on a realm whose live period is L seconds, and
// the offer that the other end needs.
func NewRoute(rand io.Reader, now time.Time, realm Realm, l uint16) (*RouteRecord, *addr.Offer, error) {
	owner, public, err := addr.NewOwner(rand)
	if err != nil {
		return nil, nil, err
	}
	secret, err := key.Generate[key.RouteRole](rand)
	if err != nil {
		return nil, nil, err
	}
	o := &addr.Offer{Public: public, Secret: secret, Birth: addr.PeriodAt(now.Unix(), l), Period: l}
	// One period of grace: the other end's clock may be behind ours.
	if o.Birth > 0 {
		o.Birth--
	}
	r := &RouteRecord{Mine: true, Owner: owner.Bytes(), Chain: addr.NewChain(o, addr.Live).Append(nil), Period: l, Birth: o.Birth, Born: now.Unix(), Realm: realm}
	r.Park = addr.NewChain(o, addr.Park).Append(nil)
	return r, o, nil
}

// TheirRoute is a route that another device offered to us, at a time by its own
// clock in unix seconds; 0 makes it older than any other.
func TheirRoute(born int64, contact int64, o *addr.Offer, realm Realm) *RouteRecord {
	return &RouteRecord{
		Contact: contact, Chain: addr.NewChain(o, addr.Live).Append(nil), Park: addr.NewChain(o, addr.Park).Append(nil),
		Period: o.Period, Birth: o.Birth, Born: born, Realm: realm,
	}
}

// Keys opens the secrets of a route.
func (r *RouteRecord) Keys() (*addr.Chain, key.Owner, error) {
	c, err := addr.ParseChain(r.Chain)
	if err != nil {
		return nil, key.Owner{}, fmt.Errorf("opening route: %w", err)
	}
	if !r.Mine {
		return c, key.Owner{}, nil
	}
	o, err := key.New[key.OwnerRole](r.Owner)
	if err != nil {
		return nil, key.Owner{}, fmt.Errorf("opening route: %w", err)
	}
	return c, o, nil
}

// Days opens the secrets by which cells are parked on a route, and the owner's
// key as Keys does. It fails with ErrNoDays for a route without any.
func (r *RouteRecord) Days() (*addr.Chain, key.Owner, error) {
	if len(r.Park) == 0 {
		return nil, key.Owner{}, ErrNoDays
	}
	c, err := addr.ParseChain(r.Park)
	if err != nil || c.Kind() != addr.Park {
		return nil, key.Owner{}, fmt.Errorf("opening days of a route: %w", addr.ErrState)
	}
	if !r.Mine {
		return c, key.Owner{}, nil
	}
	o, err := key.New[key.OwnerRole](r.Owner)
	if err != nil {
		return nil, key.Owner{}, fmt.Errorf("opening days of a route: %w", err)
	}
	return c, o, nil
}

// ErrNoDays: nothing can be parked on the route, as its secrets of days were not kept.
var ErrNoDays = errors.New("route has no secrets of days")

// FirstDay is the day in which the route began.
func (r *RouteRecord) FirstDay() uint64 { return r.Birth * uint64(r.Period) / addr.DaySeconds }

// Older reports whether both ends take o for the newer of two routes in one
// direction. Offers arrive in any order and several may be made in one period:
// the owner must not retire the one that the other end writes to.
//
// spec: hello.md#route-offer
func (r *RouteRecord) Older(o *RouteRecord) bool {
	if r.Born != o.Born {
		return r.Born < o.Born
	}
	mine, err1 := addr.ParseChain(r.Chain)
	theirs, err2 := addr.ParseChain(o.Chain)
	if err1 != nil || err2 != nil {
		return r.ID < o.ID
	}
	defer mine.Wipe()
	defer theirs.Wipe()
	p, q := mine.Public(), theirs.Public()
	return bytes.Compare(p[:], q[:]) < 0
}

// ServedDays is how long a route that was replaced is still served and known: a
// device whose disk is put back to a copy of last week still finds the other end
// at the one it knows, and is found at its own.
const ServedDays = 8

// Replace notes that a newer route took the place of this one.
//
// spec: hello.md#route-offer
func (r *RouteRecord) Replace(now time.Time) {
	r.Retire = addr.PeriodAt(now.Unix(), r.Period) + 2 + ServedDays*addr.DaySeconds/uint64(r.Period)
}

// Retired reports whether the route is over at period t.
func (r *RouteRecord) Retired(t uint64) bool { return r.Retire != 0 && t >= r.Retire }
