package mls

import (
	"crypto/aes"
	"crypto/cipher"

	"golang.org/x/crypto/chacha20poly1305"
)

// newAEAD is the AEAD of the suite under a key of nk bytes.
func (p *suiteParams) newAEAD(key Secret) cipher.AEAD {
	if p.chaCh {
		a, err := chacha20poly1305.New(key.Bytes())
		if err != nil {
			panic("mls: " + err.Error()) // the size is the suite's
		}
		return a
	}
	c, err := aes.NewCipher(key.Bytes())
	if err != nil {
		panic("mls: " + err.Error())
	}
	a, err := cipher.NewGCM(c)
	if err != nil {
		panic("mls: " + err.Error())
	}
	return a
}

// seal is AEAD.Seal (RFC 9420, Section 5.1): ciphertext ‖ tag 16.
func (p *suiteParams) seal(key Secret, nonce, ad, plain []byte) []byte {
	return p.newAEAD(key).Seal(nil, nonce, plain, ad)
}

// open is AEAD.Open. It fails with ErrDecrypt.
func (p *suiteParams) open(key Secret, nonce, ad, ciphertext []byte) ([]byte, error) {
	plain, err := p.newAEAD(key).Open(nil, nonce, ciphertext, ad)
	if err != nil {
		return nil, fail(ErrDecrypt, "5.1", "AEAD")
	}
	return plain, nil
}
