package key

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hpke"
	"crypto/mlkem"
	"errors"
	"fmt"
	"io"
)

// Sizes of public keys and of what is made with them, in bytes.
const (
	SignPublicSize    = ed25519.PublicKeySize              // 32
	SignatureSize     = ed25519.SignatureSize              // 64
	DHPublicSize      = 32                                 // X25519
	KEMPublicSize     = mlkem.EncapsulationKeySize768      // 1,184
	KEMCiphertextSize = mlkem.CiphertextSize768            // 1,088
	XWingPublicSize   = mlkem.EncapsulationKeySize768 + 32 // 1,216
	XWingEncSize      = mlkem.CiphertextSize768 + 32       // 1,120
)

// Public keys, as arrays: comparable, printable, copied.
type (
	// SignPublic is an Ed25519 public key.
	SignPublic [SignPublicSize]byte
	// DHPublic is an X25519 public key.
	DHPublic [DHPublicSize]byte
	// KEMPublic is an ML-KEM-768 encapsulation key.
	KEMPublic [KEMPublicSize]byte
	// XWingPublic is an X-Wing public key: what HPKE seals to.
	XWingPublic [XWingPublicSize]byte
	// Signature is an Ed25519 signature.
	Signature [SignatureSize]byte
)

// ErrPublic is returned for a public key that is not canonical or of low order.
var ErrPublic = errors.New("public key is not acceptable")

// SignPublicOf returns the public half of an Ed25519 seed.
func SignPublicOf(s Sign) (p SignPublic) {
	copy(p[:], ed25519.NewKeyFromSeed(s.Bytes()).Public().(ed25519.PublicKey))
	return p
}

// SignMessage signs Info(label, parts) with plain Ed25519 (RFC 8032).
func SignMessage(s Sign, label string, parts ...[]byte) (sig Signature) {
	k := ed25519.NewKeyFromSeed(s.Bytes())
	copy(sig[:], ed25519.Sign(k, Info(nil, label, parts...)))
	clear(k)
	return sig
}

// Verify reports whether sig is p's signature over Info(label, parts).
func Verify(p SignPublic, sig Signature, label string, parts ...[]byte) bool {
	return ed25519.Verify(p[:], Info(nil, label, parts...), sig[:])
}

// DHPublicOf returns the public half of an X25519 key.
func DHPublicOf(s DH) (p DHPublic) {
	k, err := ecdh.X25519().NewPrivateKey(s.Bytes())
	if err != nil {
		panic("key: " + err.Error()) // the size is the role's
	}
	copy(p[:], k.PublicKey().Bytes())
	return p
}

// fieldPrime is 2^255 − 19, little-endian.
var fieldPrime = func() (p [32]byte) {
	for i := range p {
		p[i] = 0xff
	}
	p[0], p[31] = 0xed, 0x7f
	return p
}()

// Check refuses an X25519 public key that is not the canonical encoding of its
// point: top bit set, or not below 2^255 − 19. Two encodings of one key would
// let a peer have two transcripts of one handshake.
func (p DHPublic) Check() error {
	for i := 31; i >= 0; i-- {
		if p[i] != fieldPrime[i] {
			if p[i] > fieldPrime[i] {
				return ErrPublic
			}
			return nil
		}
	}
	return ErrPublic // equal to the prime
}

// Agree is X25519. It fails with ErrPublic for a key that is not canonical and
// for one of low order (an all-zero outcome, RFC 7748, Section 6.1).
func Agree(s DH, p DHPublic) (Shared, error) {
	if err := p.Check(); err != nil {
		return Shared{}, err
	}
	k, err := ecdh.X25519().NewPrivateKey(s.Bytes())
	if err != nil {
		return Shared{}, fmt.Errorf("reading private key: %w", err)
	}
	pub, err := ecdh.X25519().NewPublicKey(p[:])
	if err != nil {
		return Shared{}, ErrPublic
	}
	z, err := k.ECDH(pub)
	if err != nil {
		return Shared{}, ErrPublic
	}
	defer clear(z)
	return New[SharedRole](z)
}

// NewDH makes an X25519 key from rand and agrees with p at once: what Generate,
// DHPublicOf and Agree do, for half of the work. It fails with ErrPublic as
// Agree does, and with the error of rand.
func NewDH(rand io.Reader, p DHPublic) (s DH, own DHPublic, z Shared, err error) {
	if err := p.Check(); err != nil {
		return DH{}, own, Shared{}, err
	}
	pub, err := ecdh.X25519().NewPublicKey(p[:])
	if err != nil {
		return DH{}, own, Shared{}, ErrPublic
	}
	if s, err = Generate[DHRole](rand); err != nil {
		return DH{}, own, Shared{}, err
	}
	k, err := ecdh.X25519().NewPrivateKey(s.Bytes())
	if err != nil {
		panic("key: " + err.Error()) // the size is the role's
	}
	out, err := k.ECDH(pub)
	if err != nil {
		s.Wipe()
		return DH{}, own, Shared{}, ErrPublic
	}
	defer clear(out)
	copy(own[:], k.PublicKey().Bytes())
	z, err = New[SharedRole](out)
	return s, own, z, err
}

// KEMPublicOf returns the encapsulation key of an ML-KEM-768 seed.
func KEMPublicOf(s KEM) (p KEMPublic) {
	k, err := mlkem.NewDecapsulationKey768(s.Bytes())
	if err != nil {
		panic("key: " + err.Error())
	}
	copy(p[:], k.EncapsulationKey().Bytes())
	return p
}

// Encapsulate makes a shared secret and the ciphertext that carries it to p.
// The randomness is the standard library's: FIPS 203 allows no other.
func Encapsulate(p KEMPublic) (Shared, [KEMCiphertextSize]byte, error) {
	var ct [KEMCiphertextSize]byte
	k, err := mlkem.NewEncapsulationKey768(p[:])
	if err != nil {
		return Shared{}, ct, ErrPublic
	}
	ss, c := k.Encapsulate()
	defer clear(ss)
	copy(ct[:], c)
	s, err := New[SharedRole](ss)
	return s, ct, err
}

// Decapsulate opens a ciphertext. By FIPS 203 a wrong one gives a secret that
// nobody else has rather than an error.
func Decapsulate(s KEM, ct [KEMCiphertextSize]byte) (Shared, error) {
	k, err := mlkem.NewDecapsulationKey768(s.Bytes())
	if err != nil {
		return Shared{}, fmt.Errorf("reading private key: %w", err)
	}
	ss, err := k.Decapsulate(ct[:])
	if err != nil {
		return Shared{}, ErrSize
	}
	defer clear(ss)
	return New[SharedRole](ss)
}

// XWingPublicOf returns the public half of an X-Wing seed.
func XWingPublicOf(s XWing) (p XWingPublic) {
	k, err := hpke.MLKEM768X25519().NewPrivateKey(s.Bytes())
	if err != nil {
		panic("key: " + err.Error())
	}
	copy(p[:], k.PublicKey().Bytes())
	return p
}

// Less orders public keys by their bytes, smallest first.
func (p SignPublic) Less(o SignPublic) bool { return bytes.Compare(p[:], o[:]) < 0 }
