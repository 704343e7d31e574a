package braid

import (
	"bytes"
	"crypto/mlkem"
	"crypto/sha3"

	"github.com/cloudflare/circl/pke/kyber/kyber768"

	"github.com/tacet-chat/tacet/internal/key"
)

// ML-KEM-768 (FIPS 203) in the pieces that travel, sizes in bytes.
//
// spec: braid.md#pieces
const (
	rhoSize    = 32                     // seed of the matrix
	hashSize   = 32                     // H(ek)
	headerSize = rhoSize + hashSize     // 64
	ekSize     = key.KEMPublicSize - 32 // 1,152: t, the key without rho
	ct1Size    = 960                    // u: needs the header alone
	ct2Size    = 128                    // v: needs the whole key
)

// split returns a key's header, rho ‖ H(ek), and its vector t.
func split(seed key.KEM) (header, ek []byte) {
	p := key.KEMPublicOf(seed)
	h := sha3.Sum256(p[:])
	header = append(make([]byte, 0, headerSize), p[ekSize:]...)
	return append(header, h[:]...), bytes.Clone(p[:ekSize])
}

// fits reports whether t belongs to the header, and whether the standard library
// takes the two for a key (FIPS 203, Section 7.2).
func fits(header, ek []byte) bool {
	p := join(header, ek)
	h := sha3.Sum256(p[:])
	if !bytes.Equal(h[:], header[rhoSize:]) {
		return false
	}
	_, err := mlkem.NewEncapsulationKey768(p[:])
	return err == nil
}

// join puts a key together.
func join(header, ek []byte) (p key.KEMPublic) {
	copy(p[:], ek)
	copy(p[ekSize:], header[:rhoSize])
	return p
}

// encapsulate1 is the first half of ML-KEM.Encaps_internal (FIPS 203, Algorithm
// 17): the secret and the part of the ciphertext that follow from m and the
// header. The part of Kyber's ciphertext that depends on t is thrown away.
func encapsulate1(header []byte, m key.Encaps) (ct1 []byte, ss key.Shared) {
	k, r := derandomize(header, m)
	defer clear(r[:])
	defer clear(k[:])
	var none [ekSize]byte
	ct, ok := encrypt(header, none[:], m, r)
	if !ok {
		panic("braid: Kyber refuses a key of zeros") // zeros are reduced
	}
	ss, err := key.New[key.SharedRole](k[:])
	if err != nil {
		panic("braid: " + err.Error()) // the size is constant
	}
	return bytes.Clone(ct[:ct1Size]), ss
}

// encapsulate2 is the second half. It encrypts as a whole, and fails unless the
// first half comes out as the one that was sent.
func encapsulate2(header, ek, ct1 []byte, m key.Encaps) (ct2 []byte, ok bool) {
	k, r := derandomize(header, m)
	defer clear(r[:])
	clear(k[:])
	ct, ok := encrypt(header, ek, m, r)
	if !ok || !bytes.Equal(ct[:ct1Size], ct1) {
		return nil, false
	}
	return bytes.Clone(ct[ct1Size:]), true
}

// derandomize is (K, r) = G(m ‖ H(ek)).
func derandomize(header []byte, m key.Encaps) (k, r [32]byte) {
	var in, out [64]byte
	copy(in[:], m.Bytes())
	copy(in[32:], header[rhoSize:])
	out = sha3.Sum512(in[:])
	k, r = [32]byte(out[:32]), [32]byte(out[32:])
	clear(in[:])
	clear(out[:])
	return k, r
}

// encrypt is K-PKE.Encrypt (FIPS 203, Algorithm 14).
func encrypt(header, ek []byte, m key.Encaps, r [32]byte) (ct [key.KEMCiphertextSize]byte, ok bool) {
	p := join(header, ek)
	var pk kyber768.PublicKey
	if err := pk.UnpackMLKEM(p[:]); err != nil {
		return ct, false
	}
	pk.EncryptTo(ct[:], m.Bytes(), r[:])
	clear(r[:])
	return ct, true
}

// decapsulate is the standard library's. It encrypts again and compares, so a
// ciphertext that it would not have made itself gives a secret that nobody has.
func decapsulate(seed key.KEM, ct1, ct2 []byte) key.Shared {
	var ct [key.KEMCiphertextSize]byte
	copy(ct[:], ct1)
	copy(ct[ct1Size:], ct2)
	ss, err := key.Decapsulate(seed, ct)
	if err != nil {
		panic("braid: " + err.Error()) // the sizes are constant
	}
	return ss
}
