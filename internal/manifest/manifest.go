// Package manifest has the list of a person's devices: signed by the person's
// root, replaced by signing the next one, each naming the hash of the one
// before. It checks one manifest, a step from one to the next, and what a peer
// claims to hold; and it makes the safety number over two roots.
//
// It does not keep the chain, fetch what is missing, or decide what a person is
// shown. It cannot see that a root was stolen: whoever has the root signs what
// they like, and only the chain at the other end, or the safety number, tells.
//
// Spec: docs/spec/manifest.md.
package manifest

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pad"
)

// Labels of this room.
const (
	labelSign   = "tacet/v1/manifest"        // what the root signs, part: body
	labelHash   = "tacet/v1/manifest/hash"   // names a manifest, part: body
	labelXWing  = "tacet/v1/manifest/xwing"  // names an X-Wing key, part: key 1,216
	labelNumber = "tacet/v1/manifest/number" // start of one half of a safety number
)

// Sizes in bytes, and bounds.
const (
	version    = 1
	headSize   = 1 + 32 + 4 + 32 + 4 + 1 // version 1 ‖ root 32 ‖ sequence 4 ‖ previous 32 ‖ not after, in days 4 ‖ count 1
	DeviceSize = 1 + 32 + 32 + 32        // revoked 1 ‖ sign 32 ‖ DH 32 ‖ H(X-Wing) 32
	MaxDevices = 8                       // revoked ones count
	MinSize    = headSize + DeviceSize + key.SignatureSize
	MaxSize    = headSize + MaxDevices*DeviceSize + key.SignatureSize // 914

	day = 86_400 // seconds
	// LifeDays is how long a manifest is good for, counted from its making.
	LifeDays = 180
)

// Errors of a single manifest.
var (
	// ErrManifest: the bytes or the fields are not well-formed.
	ErrManifest = errors.New("manifest is malformed")
	// ErrRoot: it is another person's.
	ErrRoot = errors.New("manifest has another root")
	// ErrSignature: the root did not sign it.
	ErrSignature = errors.New("manifest is not signed by its root")
	// ErrExpired: its not-after day has passed.
	ErrExpired = errors.New("manifest has expired")
)

// Device is one device of a person.
type Device struct {
	Sign    key.SignPublic
	DH      key.DHPublic
	XWing   [32]byte // XWingHash of the device's X-Wing public key
	Revoked bool     // for good
}

// Manifest is a person's devices at one time. Order is that of joining.
type Manifest struct {
	Root     key.SignPublic
	Sequence uint32   // 1 for the first
	Previous [32]byte // Hash of the one before; zeros for the first
	NotAfter uint64   // unix seconds, a multiple of 86,400: see NotAfter
	Devices  []Device // 1 … MaxDevices
	Sig      key.Signature
}

// NotAfter returns the last second of a manifest that is made at now:
// LifeDays later, rounded up to a whole day so that it does not tell the hour.
func NotAfter(now time.Time) uint64 {
	days := uint64(max(now.Unix(), 0)+day-1)/day + LifeDays
	return days * day
}

// XWingHash names an X-Wing public key, which is too large for a manifest.
func XWingHash(p key.XWingPublic) [32]byte { return key.Hash(labelXWing, p[:]) }

// check refuses what Append could not write in the one way there is.
func (m *Manifest) check() error {
	switch {
	case len(m.Devices) == 0, len(m.Devices) > MaxDevices,
		m.Sequence == 0,
		(m.Sequence == 1) != (m.Previous == [32]byte{}),
		m.NotAfter%day != 0, m.NotAfter/day > 1<<32-1:
		return ErrManifest
	}
	for i, d := range m.Devices {
		if d.DH.Check() != nil || d.Sign == m.Root {
			return ErrManifest
		}
		for _, e := range m.Devices[:i] {
			if d.Sign == e.Sign || d.DH == e.DH || d.XWing == e.XWing {
				return ErrManifest
			}
		}
	}
	return nil
}

// appendBody appends what the root signs.
func (m *Manifest) appendBody(b []byte) []byte {
	b = append(b, version)
	b = append(b, m.Root[:]...)
	b = binary.BigEndian.AppendUint32(b, m.Sequence)
	b = append(b, m.Previous[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(m.NotAfter/day))
	b = append(b, byte(len(m.Devices)))
	for _, d := range m.Devices {
		if d.Revoked {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		b = append(b, d.Sign[:]...)
		b = append(b, d.DH[:]...)
		b = append(b, d.XWing[:]...)
	}
	return b
}

// Append appends the manifest, MinSize to MaxSize bytes. Of one that is not
// well-formed it appends bytes that Parse refuses.
//
// spec: manifest.md#layout
func (m *Manifest) Append(b []byte) []byte {
	return append(m.appendBody(b), m.Sig[:]...)
}

// Parse reads a manifest that fills b. It fails with ErrManifest. It does not
// check the signature: Verify and CheckNext do.
func Parse(b []byte) (*Manifest, error) {
	if len(b) < MinSize || len(b) > MaxSize || b[0] != version {
		return nil, ErrManifest
	}
	n := int(b[headSize-1])
	if len(b) != headSize+n*DeviceSize+key.SignatureSize {
		return nil, ErrManifest
	}
	m := &Manifest{
		Root:     key.SignPublic(b[1:]),
		Sequence: binary.BigEndian.Uint32(b[33:]),
		Previous: [32]byte(b[37:]),
		NotAfter: uint64(binary.BigEndian.Uint32(b[69:])) * day,
		Devices:  make([]Device, 0, n),
		Sig:      key.Signature(b[len(b)-key.SignatureSize:]),
	}
	for e := b[headSize : len(b)-key.SignatureSize]; len(e) > 0; e = e[DeviceSize:] {
		if e[0] > 1 {
			return nil, ErrManifest
		}
		m.Devices = append(m.Devices, Device{
			Revoked: e[0] == 1, Sign: key.SignPublic(e[1:]), DH: key.DHPublic(e[33:]), XWing: [32]byte(e[65:]),
		})
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// Sign sets Root and Sig. It fails with ErrManifest and leaves Sig alone if the
// other fields are not well-formed.
func Sign(root key.Sign, m *Manifest) error {
	m.Root = key.SignPublicOf(root)
	if err := m.check(); err != nil {
		return err
	}
	m.Sig = key.SignMessage(root, labelSign, m.appendBody(nil))
	return nil
}

// Hash names the manifest. It covers what the root signs and not the
// signature: to sign the same statement twice is no fork.
func (m *Manifest) Hash() [32]byte { return key.Hash(labelHash, m.appendBody(nil)) }

// Ref returns the short name that every content block carries.
func (m *Manifest) Ref() pad.Ref {
	h := m.Hash()
	return pad.Ref{Sequence: m.Sequence, Hash: [8]byte(h[:])}
}

// Find returns the place of the device with that signing key, revoked or not.
func (m *Manifest) Find(sign key.SignPublic) (int, bool) {
	for i := range m.Devices {
		if m.Devices[i].Sign == sign {
			return i, true
		}
	}
	return 0, false
}

// Active returns the device at place i, and false if there is none or it is
// revoked: whoever acts for the person must be active.
func (m *Manifest) Active(i int) (Device, bool) {
	if i < 0 || i >= len(m.Devices) || m.Devices[i].Revoked {
		return Device{}, false
	}
	return m.Devices[i], true
}
