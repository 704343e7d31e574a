package mls

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"fmt"
	"io"
)

// NewSignatureKey makes the private half of a signature key, and its public half.
// Private: the seed of 32 bytes for Ed25519, the scalar for ECDSA. It fails with
// ErrUnsupported and with the error of rand.
func NewSignatureKey(rand io.Reader, s Suite) (Secret, []byte, error) {
	p := s.params()
	if p == nil {
		return Secret{}, nil, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	if p.curve == nil {
		var seed [ed25519.SeedSize]byte
		if _, err := io.ReadFull(rand, seed[:]); err != nil {
			return Secret{}, nil, fmt.Errorf("making a signature key: %w", err)
		}
		priv := NewSecret(seed[:])
		clear(seed[:])
		public, err := SignaturePublic(s, priv)
		return priv, public, err
	}
	// A scalar by rejection, as in FIPS 186-5, Appendix A.2.2: ParseRawPrivateKey
	// refuses zero and what is not below the order.
	size := (p.curve.Params().BitSize + 7) / 8
	mask := byte(0xff) >> (size*8 - p.curve.Params().BitSize)
	for {
		b := make([]byte, size)
		if _, err := io.ReadFull(rand, b); err != nil {
			return Secret{}, nil, fmt.Errorf("making a signature key: %w", err)
		}
		b[0] &= mask
		priv := own(b)
		if public, err := SignaturePublic(s, priv); err == nil {
			return priv, public, nil
		}
		priv.Wipe()
	}
}

// SignaturePublic is the public half of a signature key: 32 bytes for Ed25519, an
// uncompressed point for ECDSA (RFC 9420, Section 5.1.1). It fails with
// ErrArgument for what is no key.
func SignaturePublic(s Suite, private Secret) ([]byte, error) {
	p := s.params()
	if p == nil {
		return nil, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	if p.curve == nil {
		if len(private.Bytes()) != ed25519.SeedSize {
			return nil, fail(ErrArgument, "5.1.1", "signature key")
		}
		k := ed25519.NewKeyFromSeed(private.Bytes())
		defer clear(k)
		return append([]byte(nil), k[ed25519.SeedSize:]...), nil
	}
	k, err := ecdsa.ParseRawPrivateKey(p.curve, private.Bytes())
	if err != nil {
		return nil, fail(ErrArgument, "5.1.1", "signature key")
	}
	return k.PublicKey.Bytes()
}

// signContent is SignContent (RFC 9420, Section 5.1.2).
func signContent(label string, content []byte) []byte {
	return appendVec(labelled(make([]byte, 0, 32+len(label)+len(content)), label), content)
}

// signWithLabel is SignWithLabel (RFC 9420, Section 5.1.2).
func (p *suiteParams) signWithLabel(rand io.Reader, private Secret, label string, content []byte) ([]byte, error) {
	msg := signContent(label, content)
	if p.curve == nil {
		if len(private.Bytes()) != ed25519.SeedSize {
			return nil, fail(ErrArgument, "5.1.1", "signature key")
		}
		k := ed25519.NewKeyFromSeed(private.Bytes())
		defer clear(k)
		return ed25519.Sign(k, msg), nil
	}
	k, err := ecdsa.ParseRawPrivateKey(p.curve, private.Bytes())
	if err != nil {
		return nil, fail(ErrArgument, "5.1.1", "signature key")
	}
	return k.Sign(rand, p.digest(msg), p.hash)
}

// verifyWithLabel is VerifyWithLabel (RFC 9420, Section 5.1.2).
func (p *suiteParams) verifyWithLabel(public []byte, label string, content, signature []byte) bool {
	msg := signContent(label, content)
	if p.curve == nil {
		return len(public) == ed25519.PublicKeySize && ed25519.Verify(public, msg, signature)
	}
	k, err := ecdsa.ParseUncompressedPublicKey(p.curve, public)
	return err == nil && ecdsa.VerifyASN1(k, p.digest(msg), signature)
}

// checkSignatureKey reports whether public is a key of the suite.
func (p *suiteParams) checkSignatureKey(public []byte) bool {
	if p.curve == nil {
		return len(public) == ed25519.PublicKeySize
	}
	_, err := ecdsa.ParseUncompressedPublicKey(p.curve, public)
	return err == nil
}

var _ crypto.Signer = (*ecdsa.PrivateKey)(nil)
