package mls

import (
	"crypto/hpke"
	"fmt"
	"io"
)

// hpkeCiphertext is HPKECiphertext (RFC 9420, Section 7.6).
type hpkeCiphertext struct {
	KEMOutput  []byte // opaque kem_output<V>
	Ciphertext []byte // opaque ciphertext<V>
}

func readHPKECiphertext(r *reader) hpkeCiphertext {
	c := hpkeCiphertext{KEMOutput: r.vec(), Ciphertext: r.vec()}
	if len(c.KEMOutput) == 0 || len(c.Ciphertext) == 0 {
		r.fail = true // no suite has such; and many of them would take a lot of memory
	}
	return c
}

func (c hpkeCiphertext) append(b []byte) []byte {
	return appendVec(appendVec(b, c.KEMOutput), c.Ciphertext)
}

// encryptContext is EncryptContext (RFC 9420, Section 5.1.3).
func encryptContext(label string, context []byte) []byte {
	return appendVec(labelled(make([]byte, 0, 32+len(label)+len(context)), label), context)
}

// encryptWithLabel is EncryptWithLabel (RFC 9420, Section 5.1.3). The ephemeral key
// comes from the standard library's own randomness. It fails with ErrInvalid for a
// public key that is none.
func (p *suiteParams) encryptWithLabel(public []byte, label string, context, plain []byte) (hpkeCiphertext, error) {
	pk, err := p.kem.NewPublicKey(public)
	if err != nil {
		return hpkeCiphertext{}, invalid("5.1.1", "HPKE public key")
	}
	enc, s, err := hpke.NewSender(pk, p.kdf, p.aead, encryptContext(label, context))
	if err != nil {
		return hpkeCiphertext{}, invalid("5.1.1", "HPKE public key")
	}
	ct, err := s.Seal(nil, plain)
	if err != nil {
		return hpkeCiphertext{}, fmt.Errorf("mls: sealing with HPKE: %w", err)
	}
	return hpkeCiphertext{KEMOutput: enc, Ciphertext: ct}, nil
}

// decryptWithLabel is DecryptWithLabel (RFC 9420, Section 5.1.3). It fails with
// ErrDecrypt.
func (p *suiteParams) decryptWithLabel(private Secret, label string, context []byte, c hpkeCiphertext) (Secret, error) {
	sk, err := p.kem.NewPrivateKey(private.Bytes())
	if err != nil {
		return Secret{}, fail(ErrDecrypt, "5.1.3", "HPKE")
	}
	r, err := hpke.NewRecipient(c.KEMOutput, sk, p.kdf, p.aead, encryptContext(label, context))
	if err != nil {
		return Secret{}, fail(ErrDecrypt, "5.1.3", "HPKE")
	}
	plain, err := r.Open(nil, c.Ciphertext)
	if err != nil {
		return Secret{}, fail(ErrDecrypt, "5.1.3", "HPKE")
	}
	return own(plain), nil
}

// deriveKeyPair is KEM.DeriveKeyPair (RFC 9180, Section 7.1.3): the private half as
// SerializePrivateKey writes it, and the public half.
func (p *suiteParams) deriveKeyPair(ikm []byte) (Secret, []byte) {
	sk, err := p.kem.DeriveKeyPair(ikm)
	if err != nil {
		panic("mls: " + err.Error()) // one in 2^256, or a size of ours
	}
	b, err := sk.Bytes()
	if err != nil {
		panic("mls: " + err.Error())
	}
	return own(b), sk.PublicKey().Bytes()
}

// generateKeyPair makes an HPKE key pair. It fails with the error of rand.
func (p *suiteParams) generateKeyPair(rand io.Reader) (Secret, []byte, error) {
	ikm := make([]byte, p.seed)
	defer clear(ikm)
	if _, err := io.ReadFull(rand, ikm); err != nil {
		return Secret{}, nil, fmt.Errorf("making an HPKE key: %w", err)
	}
	private, public := p.deriveKeyPair(ikm)
	return private, public, nil
}

// hpkePublic is the public half of a private key as SerializePrivateKey writes it.
func (p *suiteParams) hpkePublic(private Secret) ([]byte, error) {
	sk, err := p.kem.NewPrivateKey(private.Bytes())
	if err != nil {
		return nil, fail(ErrArgument, "5.1.1", "HPKE private key")
	}
	return sk.PublicKey().Bytes(), nil
}

// checkHPKEKey reports whether public is a key of the suite that something can be
// encrypted to. Those of X25519, alone or as the end of one of X-Wing, are not all.
func (p *suiteParams) checkHPKEKey(public []byte) bool {
	if _, err := p.kem.NewPublicKey(public); err != nil {
		return false
	}
	return p.curve != nil || !weakX25519(public[len(public)-32:])
}

const labelExternalInit = "MLS 1.0 external init secret" // RFC 9420, Section 8.3

// externalInit makes an init secret that only the group can know, from the external
// public key of the group (RFC 9420, Section 8.3).
func (p *suiteParams) externalInit(public []byte) (kemOutput []byte, init Secret, err error) {
	pk, err := p.kem.NewPublicKey(public)
	if err != nil {
		return nil, Secret{}, invalid("8.3", "external public key")
	}
	enc, s, err := hpke.NewSender(pk, p.kdf, p.aead, nil)
	if err != nil {
		return nil, Secret{}, invalid("8.3", "external public key")
	}
	out, err := s.Export(labelExternalInit, p.nh)
	if err != nil {
		return nil, Secret{}, fmt.Errorf("mls: exporting from HPKE: %w", err)
	}
	return enc, own(out), nil
}

// externalInitReceive is the same on the side of the group.
func (p *suiteParams) externalInitReceive(private Secret, kemOutput []byte) (Secret, error) {
	sk, err := p.kem.NewPrivateKey(private.Bytes())
	if err != nil {
		return Secret{}, fail(ErrState, "8.3", "external private key")
	}
	r, err := hpke.NewRecipient(kemOutput, sk, p.kdf, p.aead, nil)
	if err != nil {
		return Secret{}, invalid("8.3", "KEM output")
	}
	out, err := r.Export(labelExternalInit, p.nh)
	if err != nil {
		return Secret{}, invalid("8.3", "KEM output")
	}
	return own(out), nil
}
