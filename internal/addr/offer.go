package addr

import (
	"encoding/binary"

	"github.com/tacet-chat/tacet/internal/key"
)

// OfferSize is the size of a route offer: public 32 ‖ secret 32 ‖ birth 8 ‖
// period length 2.
const OfferSize = 32 + 32 + 8 + 2

// Offer is what the owner of a route hands to whoever may send to it, inside a
// session, a hello or a bundle: never in the clear.
type Offer struct {
	Public Public
	Secret key.Route // s
	Birth  uint64    // T_0, the live period from which both chains start; at most MaxPeriod
	Period uint16    // L, length of a live period in seconds: 600, 1,800 or 3,600
}

// Append appends the offer, OfferSize bytes.
//
// spec: route.md#offer
func (o *Offer) Append(b []byte) []byte {
	b = append(b, o.Public[:]...)
	b = append(b, o.Secret.Bytes()...)
	b = binary.BigEndian.AppendUint64(b, o.Birth)
	return binary.BigEndian.AppendUint16(b, o.Period)
}

// ParseOffer reads an offer of exactly OfferSize bytes. It fails with ErrPublic
// for a key that Check refuses and with ErrOffer for everything else. Whether
// the birth is near the present is the caller's to judge.
func ParseOffer(b []byte) (Offer, error) {
	if len(b) != OfferSize {
		return Offer{}, ErrOffer
	}
	o := Offer{Public: Public(b), Birth: binary.BigEndian.Uint64(b[64:]), Period: binary.BigEndian.Uint16(b[72:])}
	if o.Birth > MaxPeriod || !validLength(o.Period) {
		return Offer{}, ErrOffer
	}
	if err := o.Public.Check(); err != nil {
		return Offer{}, err
	}
	s, err := key.New[key.RouteRole](b[32:64])
	if err != nil {
		return Offer{}, ErrOffer
	}
	o.Secret = s
	return o, nil
}
