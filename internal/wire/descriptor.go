package wire

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// ErrDescriptor is returned for a descriptor that is not well-formed.
var ErrDescriptor = errors.New("descriptor is malformed")

// MaxDescriptor is the largest descriptor that is read, in bytes.
const MaxDescriptor = 4096

// Descriptor is what a relay says of itself at GET /v1/realm, signed by the
// realm key: signature 64 ‖ deterministic CBOR of this struct.
type Descriptor struct {
	Version   uint64   `cbor:"1,keyasint"`  // 1
	Realm     [32]byte `cbor:"2,keyasint"`  // Ed25519: signs this and the TLS certificate
	Time      [32]byte `cbor:"3,keyasint"`  // Ed25519: signs the second
	Receipts  [32]byte `cbor:"4,keyasint"`  // Ed25519: signs blob receipts
	Period    uint64   `cbor:"5,keyasint"`  // live period L in seconds: 600, 1,800 or 3,600
	Ping      uint64   `cbor:"6,keyasint"`  // seconds of silence before a ping, 5 to 240
	Binding   bool     `cbor:"7,keyasint"`  // proofs are bound to the TLS connection
	Roles     []string `cbor:"8,keyasint"`  // what is switched on: "live", "blob", …
	WindowSec uint64   `cbor:"9,keyasint"`  // replay window, at most 60 s
	WindowMax uint64   `cbor:"10,keyasint"` // and its bound in bytes
	BlobMax   uint64   `cbor:"11,keyasint"` // largest blob class in bytes
	BlobDays  uint64   `cbor:"12,keyasint"` // longest blob lifetime in days
	Gate      string   `cbor:"13,keyasint"` // "open", "invite" or "closed"
	Policy    string   `cbor:"14,keyasint"` // one line by the operator, at most 200 bytes

	Proxied bool `cbor:"15,keyasint,omitempty"` // TLS ends in a program in front of the relay; left out if not

	Issuers   []Issuer `cbor:"16,keyasint,omitempty"` // token keys, at most MaxIssuers; left out where no token is wanted
	Class     uint64   `cbor:"17,keyasint,omitempty"` // tokens that a device may have for a day, at most: 1,024, 4,096 or 16,384
	ParkHours uint64   `cbor:"18,keyasint,omitempty"` // longest life of a parked cell in hours, at most 1,440; left out without parking
	Wake      []byte   `cbor:"19,keyasint,omitempty"` // X-Wing public key of the wake gateway, 1,216 bytes; left out where there is none
	IssuedDay uint64   `cbor:"20,keyasint,omitempty"` // UTC day on which the issuer's seed began: a later one says that its store was lost
}

// Issuer is the public half of a key that tokens are issued under.
type Issuer struct {
	Kind  uint64   `cbor:"1,keyasint"` // 1 member, 2 guest
	Epoch uint64   `cbor:"2,keyasint"` // UTC day for members, ⌊UTC day / 7⌋ for guests
	Key   [32]byte `cbor:"3,keyasint"` // ristretto255 element
}

// Bounds of what a descriptor names.
const (
	lastField    = 20 // that this version knows
	MaxIssuers   = 16
	MaxParkHours = 1440
	WakeKeySize  = 1216
)

// Roles that a relay can have.
const (
	RoleLive  = "live"  // cells between those who are connected
	RoleBlob  = "blob"  // invites and files
	RolePark  = "park"  // cells wait for who is away
	RoleToken = "token" // what costs the relay something wants a token
	RoleWake  = "wake"  // opens wake tickets
)

// Has reports whether a role is switched on.
func (d *Descriptor) Has(role string) bool { return slices.Contains(d.Roles, role) }

var (
	descriptorEnc = must(cbor.CoreDetEncOptions().EncMode())
	descriptorDec = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 4, MaxArrayElements: 32, MaxMapPairs: 32, UTF8: cbor.UTF8RejectInvalid,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("wire: " + err.Error())
	}
	return v
}

// Live returns the live period L.
func (d *Descriptor) Live() time.Duration { return time.Duration(d.Period) * time.Second }

// Encode returns the bytes that the realm key signs under LabelDescriptor.
func (d *Descriptor) Encode() []byte { return must(descriptorEnc.Marshal(d)) }

// AppendSigned appends signature 64 ‖ body.
func AppendSigned(b []byte, sig [64]byte, body []byte) []byte {
	return append(append(b, sig[:]...), body...)
}

// ParseDescriptor splits and reads a signed descriptor. It does not check the
// signature: the caller knows which realm key it expects. Every field up to 14 must
// be there, and those of a role exactly where it is on; unknown ones are left alone,
// for newer relays; an unknown version is an error.
func ParseDescriptor(b []byte) (d Descriptor, sig [64]byte, body []byte, err error) {
	if len(b) < 65 || len(b) > MaxDescriptor {
		return d, sig, nil, ErrDescriptor
	}
	copy(sig[:], b)
	body = b[64:]
	if err := descriptorDec.Unmarshal(body, &d); err != nil || !exact(body, &d) {
		return Descriptor{}, sig, nil, ErrDescriptor
	}
	switch {
	case d.Version != 1,
		d.Period != 600 && d.Period != 1800 && d.Period != 3600,
		d.Ping < 5 || d.Ping > 240,
		d.WindowSec > 60, len(d.Policy) > 200,
		len(d.Issuers) > MaxIssuers, d.ParkHours > MaxParkHours,
		len(d.Wake) != 0 && len(d.Wake) != WakeKeySize,
		d.Class != 0 && d.Class != 1024 && d.Class != 4096 && d.Class != 16384,
		d.Has(RoleToken) != (len(d.Issuers) > 0 && d.Class > 0 && d.IssuedDay > 0),
		d.Has(RolePark) != (d.ParkHours > 0),
		d.Has(RoleWake) != (len(d.Wake) > 0):
		return Descriptor{}, sig, nil, ErrDescriptor
	}
	return d, sig, body, nil
}

// exact reports whether body is the deterministic encoding of what it says, and
// says of every field of a Descriptor just what d does. Without that a key of
// another size would be cut or filled up to 32 bytes in silence.
func exact(body []byte, d *Descriptor) bool {
	var all any
	var got, want map[uint64]cbor.RawMessage
	if descriptorDec.Unmarshal(body, &all) != nil || descriptorDec.Unmarshal(body, &got) != nil ||
		descriptorDec.Unmarshal(d.Encode(), &want) != nil {
		return false
	}
	for field, value := range want {
		if !bytes.Equal(got[field], value) {
			return false
		}
	}
	for field := range got {
		if _, known := want[field]; !known && field <= lastField {
			return false // "nothing" has one spelling: left out
		}
	}
	again, err := descriptorEnc.Marshal(all)
	return err == nil && bytes.Equal(again, body)
}
