package contact

import (
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// Introduction is what a device gives another one that shares a group with it, so
// that the two can begin a session though their people have never met: prekeys and a
// route that are for that other device alone.
//
//	version 1 ‖ device 1 ‖ made 8 ‖ manifest 2 + n ‖ prekeys 1,441 ‖ route offer 1 + n ‖ name 1 + n ‖ guest 2 + n
//
// spec: hello.md#introductions
type Introduction struct {
	Device   int // place in Manifest of whose introduction it is
	Made     int64
	Manifest *manifest.Manifest
	Prekeys  []byte
	Offer    addr.Offer
	Realm    Realm
	Name     string // what they call themselves; nobody vouches for it
	Guest    []byte // tokens for their realm, as a control carries them; empty: none
}

const introductionVersion = 1

// MaxIntroduction bounds an introduction, in bytes.
const MaxIntroduction = 1 + 1 + 8 + 2 + manifest.MaxSize + pqxdh.PrekeysSize + 1 + OfferSize + 1 + MaxName + 2 + maxGuest

// maxGuest bounds the tokens, in bytes.
//
// spec: content.md#layout
const maxGuest = 805

// ErrIntroduction is returned for an introduction that is not well-formed, or whose
// keys the device that it names did not sign.
var ErrIntroduction = errors.New("introduction is malformed")

// Append appends the introduction.
func (i *Introduction) Append(b []byte) []byte {
	b = append(b, introductionVersion, byte(i.Device))
	b = binary.BigEndian.AppendUint64(b, uint64(i.Made))
	m := i.Manifest.Append(nil)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m)))
	b = append(b, m...)
	b = append(b, i.Prekeys...)
	o := AppendOffer(nil, &i.Offer, i.Realm)
	b = append(b, byte(len(o)))
	b = append(b, o...)
	b = append(b, byte(len(i.Name)))
	b = append(b, i.Name...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(i.Guest)))
	return append(b, i.Guest...)
}

// ParseIntroduction reads what Append wrote and fills b. It checks that the root
// signed the manifest, that the device is active in it and that it signed the
// prekeys: who root and device should be is the group's to say. It fails with
// ErrIntroduction.
func ParseIntroduction(b []byte) (*Introduction, error) {
	if len(b) < 10 || len(b) > MaxIntroduction || b[0] != introductionVersion {
		return nil, ErrIntroduction
	}
	i := &Introduction{Device: int(b[1]), Made: int64(binary.BigEndian.Uint64(b[2:]))}
	raw, b, ok := cut(b[10:], 2)
	if !ok || i.Made < 0 {
		return nil, ErrIntroduction
	}
	var err error
	if i.Manifest, err = manifest.Parse(raw); err != nil || !i.Manifest.Signed() {
		return nil, ErrIntroduction
	}
	d, ok := i.Manifest.Active(i.Device)
	if !ok || len(b) < pqxdh.PrekeysSize {
		return nil, ErrIntroduction
	}
	i.Prekeys, b = b[:pqxdh.PrekeysSize], b[pqxdh.PrekeysSize:]
	if set, err := pqxdh.ParsePrekeys(i.Prekeys); err != nil || set.Verify(d.Sign) != nil {
		return nil, ErrIntroduction
	}
	if raw, b, ok = cut(b, 1); !ok {
		return nil, ErrIntroduction
	}
	if i.Offer, i.Realm, err = ParseOffer(raw); err != nil {
		return nil, ErrIntroduction
	}
	if raw, b, ok = cut(b, 1); !ok || len(raw) > MaxName || CleanName(string(raw)) != string(raw) {
		return nil, ErrIntroduction
	}
	i.Name = string(raw)
	if raw, b, ok = cut(b, 2); !ok || len(raw) > maxGuest || len(b) != 0 {
		return nil, ErrIntroduction
	}
	i.Guest = raw
	return i, nil
}

// Sign is the name of the device whose introduction it is.
func (i *Introduction) Sign() key.SignPublic { return i.Manifest.Devices[i.Device].Sign }

// cut takes what is behind a length of so many bytes off.
func cut(b []byte, size int) (field, rest []byte, ok bool) {
	if len(b) < size {
		return nil, nil, false
	}
	n := int(b[0])
	if size == 2 {
		n = int(binary.BigEndian.Uint16(b))
	}
	if len(b) < size+n {
		return nil, nil, false
	}
	return b[size : size+n], b[size+n:], true
}
