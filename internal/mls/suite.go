package mls

import (
	"crypto"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/hpke"
	_ "crypto/sha256" // the hashes of the suites
	_ "crypto/sha512"
	"hash"
)

// Suite is the number of a cipher suite (RFC 9420, Section 17.1).
type Suite uint16

// The cipher suites that there are here. The first five are those of RFC 9420 that
// the standard library can do; 4 and 6 (X448, Ed448) are refused.
const (
	// SuiteX25519AES128 is MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519.
	SuiteX25519AES128 Suite = 1
	// SuiteP256AES128 is MLS_128_DHKEMP256_AES128GCM_SHA256_P256.
	SuiteP256AES128 Suite = 2
	// SuiteX25519ChaCha is MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519.
	SuiteX25519ChaCha Suite = 3
	// SuiteP521AES256 is MLS_256_DHKEMP521_AES256GCM_SHA512_P521.
	SuiteP521AES256 Suite = 5
	// SuiteP384AES256 is MLS_256_DHKEMP384_AES256GCM_SHA384_P384.
	SuiteP384AES256 Suite = 7
	// SuiteXWingChaCha is X-Wing (ML-KEM-768 with X25519), ChaCha20-Poly1305, SHA-256
	// and Ed25519. No number is registered for it, and those that others use
	// collide, so this one is from the range for private use.
	SuiteXWingChaCha Suite = 0xf71a
)

// Suites are all suites that there are here.
func Suites() []Suite {
	return []Suite{SuiteX25519AES128, SuiteP256AES128, SuiteX25519ChaCha, SuiteP521AES256, SuiteP384AES256, SuiteXWingChaCha}
}

// Supported reports whether the suite is one of [Suites].
func (s Suite) Supported() bool { return s.params() != nil }

// params is what a suite consists of; nil for one that is not there. Sizes are in
// bytes.
func (s Suite) params() *suiteParams {
	switch s {
	case SuiteX25519AES128:
		return &suite1
	case SuiteP256AES128:
		return &suite2
	case SuiteX25519ChaCha:
		return &suite3
	case SuiteP521AES256:
		return &suite5
	case SuiteP384AES256:
		return &suite7
	case SuiteXWingChaCha:
		return &suiteXWing
	}
	return nil
}

type suiteParams struct {
	kem   hpke.KEM
	kdf   hpke.KDF
	aead  hpke.AEAD
	hash  crypto.Hash
	curve elliptic.Curve // of the signatures; nil for Ed25519
	seed  int            // Nsk: the size of the seed of a KEM key
	nh    int            // KDF.Nh, the size of a hash and of a secret
	nk    int            // AEAD.Nk
	chaCh bool           // ChaCha20-Poly1305 instead of AES-GCM
}

const nn = 12 // AEAD.Nn, in bytes, the same in every suite

// Tables, never written.
var (
	suite1     = suiteParams{hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.AES128GCM(), crypto.SHA256, nil, 32, 32, 16, false}
	suite2     = suiteParams{hpke.DHKEM(ecdh.P256()), hpke.HKDFSHA256(), hpke.AES128GCM(), crypto.SHA256, elliptic.P256(), 32, 32, 16, false}
	suite3     = suiteParams{hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), crypto.SHA256, nil, 32, 32, 32, true}
	suite5     = suiteParams{hpke.DHKEM(ecdh.P521()), hpke.HKDFSHA512(), hpke.AES256GCM(), crypto.SHA512, elliptic.P521(), 66, 64, 32, false}
	suite7     = suiteParams{hpke.DHKEM(ecdh.P384()), hpke.HKDFSHA384(), hpke.AES256GCM(), crypto.SHA384, elliptic.P384(), 48, 48, 32, false}
	suiteXWing = suiteParams{hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), crypto.SHA256, nil, 32, 32, 32, true}
)

func (p *suiteParams) newHash() hash.Hash { return p.hash.New() }
