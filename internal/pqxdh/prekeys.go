package pqxdh

import (
	"errors"
	"fmt"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// Sizes in bytes.
const (
	// PrekeysSize: signed prekey 32 ‖ signature 64 ‖ one-time flag 1 ‖ one-time
	// prekey 32 ‖ signature 64 ‖ KEM prekey 1,184 ‖ signature 64.
	PrekeysSize = (key.DHPublicSize + key.SignatureSize) + 1 + (key.DHPublicSize + key.SignatureSize) + (key.KEMPublicSize + key.SignatureSize) // 1,441
	// PrivateSize: signed prekey 32 ‖ one-time flag 1 ‖ one-time prekey 32 ‖ KEM seed 64.
	PrivateSize = 32 + 1 + 32 + 64 // 129
)

// ErrPrekeys is returned for bytes that are not prekeys.
var ErrPrekeys = errors.New("prekeys are malformed")

// Prekeys are the public keys that a device lays out for a handshake in its
// absence. Each is signed by the device under a label of its own.
//
// spec: session.md#prekeys
type Prekeys struct {
	Signed     key.DHPublic
	SignedSig  key.Signature
	OneTime    key.DHPublic  // zeros unless HasOneTime
	OneTimeSig key.Signature // zeros unless HasOneTime
	HasOneTime bool
	KEM        key.KEMPublic
	KEMSig     key.Signature
}

// Private are the private halves of Prekeys.
type Private struct {
	Signed  key.DH
	OneTime key.DH // absent in a set without a one-time key
	KEM     key.KEM
}

// NewPrekeys makes a set of prekeys of the device whose signing key is sign,
// with a one-time key or without. It fails with the error of rand.
func NewPrekeys(rand io.Reader, sign key.Sign, oneTime bool) (*Private, *Prekeys, error) {
	var v Private
	var err error
	if v.Signed, err = key.Generate[key.DHRole](rand); err != nil {
		return nil, nil, fmt.Errorf("making a signed prekey: %w", err)
	}
	if oneTime {
		if v.OneTime, err = key.Generate[key.DHRole](rand); err != nil {
			return nil, nil, fmt.Errorf("making a one-time prekey: %w", err)
		}
	}
	if v.KEM, err = key.Generate[key.KEMRole](rand); err != nil {
		return nil, nil, fmt.Errorf("making a KEM prekey: %w", err)
	}
	p := Prekeys{Signed: key.DHPublicOf(v.Signed), HasOneTime: oneTime, KEM: key.KEMPublicOf(v.KEM)}
	p.SignedSig = key.SignMessage(sign, labelSigned, encodeDH(p.Signed))
	p.KEMSig = key.SignMessage(sign, labelKEM, encodeKEM(p.KEM))
	if oneTime {
		p.OneTime = key.DHPublicOf(v.OneTime)
		p.OneTimeSig = key.SignMessage(sign, labelOneTime, encodeDH(p.OneTime))
	}
	return &v, &p, nil
}

// Verify checks that every key of the set is signed by the device of that
// signing key and canonical. It fails with ErrSignature or key.ErrPublic.
func (p *Prekeys) Verify(signer key.SignPublic) error {
	if !key.Verify(signer, p.SignedSig, labelSigned, encodeDH(p.Signed)) ||
		!key.Verify(signer, p.KEMSig, labelKEM, encodeKEM(p.KEM)) {
		return ErrSignature
	}
	if err := p.Signed.Check(); err != nil {
		return err
	}
	if !p.HasOneTime {
		return nil
	}
	if !key.Verify(signer, p.OneTimeSig, labelOneTime, encodeDH(p.OneTime)) {
		return ErrSignature
	}
	return p.OneTime.Check()
}

// Append appends the set, PrekeysSize bytes.
func (p *Prekeys) Append(b []byte) []byte {
	b = append(b, p.Signed[:]...)
	b = append(b, p.SignedSig[:]...)
	b = append(b, bit(p.HasOneTime))
	b = append(b, p.OneTime[:]...)
	b = append(b, p.OneTimeSig[:]...)
	b = append(b, p.KEM[:]...)
	return append(b, p.KEMSig[:]...)
}

// ParsePrekeys reads exactly PrekeysSize bytes. It fails with ErrPrekeys, also
// when an absent one-time key is not zeros. It checks no signature: Verify does.
func ParsePrekeys(b []byte) (*Prekeys, error) {
	if len(b) != PrekeysSize || b[96] > 1 {
		return nil, ErrPrekeys
	}
	p := &Prekeys{
		Signed:     key.DHPublic(b[0:]),
		SignedSig:  key.Signature(b[32:]),
		HasOneTime: b[96] == 1,
		OneTime:    key.DHPublic(b[97:]),
		OneTimeSig: key.Signature(b[129:]),
		KEM:        key.KEMPublic(b[193:]),
		KEMSig:     key.Signature(b[193+key.KEMPublicSize:]),
	}
	if !p.HasOneTime && (p.OneTime != key.DHPublic{} || p.OneTimeSig != key.Signature{}) {
		return nil, ErrPrekeys
	}
	return p, nil
}

// fits reports whether v holds the private halves of p, all of them.
func (v *Private) fits(p *Prekeys) bool {
	return v.Signed.Valid() && v.KEM.Valid() && v.OneTime.Valid() == p.HasOneTime &&
		key.DHPublicOf(v.Signed) == p.Signed && key.KEMPublicOf(v.KEM) == p.KEM &&
		(!p.HasOneTime || key.DHPublicOf(v.OneTime) == p.OneTime)
}

// Append appends the private halves, PrivateSize bytes: they are secrets. It
// panics if v was wiped.
func (v *Private) Append(b []byte) []byte {
	if !v.Signed.Valid() || !v.KEM.Valid() {
		panic("pqxdh: writing prekeys that were wiped")
	}
	b = append(b, v.Signed.Bytes()...)
	b = append(b, bit(v.OneTime.Valid()))
	if v.OneTime.Valid() {
		b = append(b, v.OneTime.Bytes()...)
	} else {
		b = append(b, make([]byte, 32)...)
	}
	return append(b, v.KEM.Bytes()...)
}

// ParsePrivate reads exactly PrivateSize bytes. It fails with ErrPrekeys.
func ParsePrivate(b []byte) (*Private, error) {
	if len(b) != PrivateSize || b[32] > 1 {
		return nil, ErrPrekeys
	}
	var v Private
	var err, err2, err3 error
	v.Signed, err = key.New[key.DHRole](b[:32])
	if b[32] == 1 {
		v.OneTime, err2 = key.New[key.DHRole](b[33:65])
	} else if [32]byte(b[33:65]) != [32]byte{} {
		err2 = ErrPrekeys
	}
	v.KEM, err3 = key.New[key.KEMRole](b[65:])
	if err != nil || err2 != nil || err3 != nil {
		v.Wipe()
		return nil, ErrPrekeys
	}
	return &v, nil
}

// Wipe overwrites all private halves: after it the set answers nobody.
func (v *Private) Wipe() {
	v.Signed.Wipe()
	v.OneTime.Wipe()
	v.KEM.Wipe()
}
