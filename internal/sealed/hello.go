package sealed

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// labelHello separates this use of HPKE from every other of the same key.
const labelHello = "tacet/v1/sealed/hello"

// Sizes of a hello, in bytes.
const (
	// HelloPlain is what a sealed hello carries: length 2 ‖ plain ‖ zeros.
	HelloPlain = wire.HelloSize - key.XWingEncSize - wire.TagSize // 3,780
	// MaxHello is the most that SealHello takes.
	MaxHello = HelloPlain - 2 // 3,778
	// MaxInfo is the longest info.
	MaxInfo = 0xffff
)

// ErrSize is returned for something to seal that is larger than its place.
var ErrSize = errors.New("message to seal is too large")

// suite is HPKE base mode with X-Wing, HKDF-SHA256 and ChaCha20-Poly1305.
func suite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.ChaCha20Poly1305()
}

// SealHello seals plain, at most MaxHello bytes, to pub: always wire.HelloSize
// bytes, enc 1,120 ‖ ciphertext. info, at most MaxInfo bytes, must be the same
// at both ends. The randomness is the standard library's. It fails with ErrSize
// and, for a key that is none, with key.ErrPublic.
//
// spec: cell.md#hello-seal
func SealHello(pub key.XWingPublic, info, plain []byte) ([]byte, error) {
	if len(plain) > MaxHello || len(info) > MaxInfo {
		return nil, ErrSize
	}
	kem, kdf, aead := suite()
	pk, err := kem.NewPublicKey(pub[:])
	if err != nil {
		return nil, key.ErrPublic
	}
	var block [HelloPlain]byte
	defer clear(block[:])
	binary.BigEndian.PutUint16(block[:], uint16(len(plain)))
	copy(block[2:], plain)
	whole, err := hpke.Seal(pk, kdf, aead, key.Info(nil, labelHello, info), block[:])
	if err != nil {
		return nil, fmt.Errorf("sealing hello: %w", key.ErrPublic)
	}
	return whole, nil
}

// OpenHello opens what SealHello made. Every failure is ErrOpen.
func OpenHello(k key.XWing, info, whole []byte) ([]byte, error) {
	if len(whole) != wire.HelloSize || len(info) > MaxInfo {
		return nil, ErrOpen
	}
	kem, kdf, aead := suite()
	sk, err := kem.NewPrivateKey(k.Bytes())
	if err != nil {
		return nil, ErrOpen
	}
	block, err := hpke.Open(sk, kdf, aead, key.Info(nil, labelHello, info), whole)
	if err != nil {
		return nil, ErrOpen
	}
	return unpadHello(block)
}

// unpadHello reads length 2 ‖ plain ‖ zeros: anything but zeros after the plain
// would be a second way to say the same.
func unpadHello(block []byte) ([]byte, error) {
	if len(block) != HelloPlain {
		return nil, ErrOpen
	}
	n := int(binary.BigEndian.Uint16(block))
	if n > MaxHello {
		return nil, ErrOpen
	}
	for _, z := range block[2+n:] {
		if z != 0 {
			return nil, ErrOpen
		}
	}
	return block[2 : 2+n : 2+n], nil
}
