package key

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// Info appends label ‖ 0 ‖ (len 2 ‖ part) … to b: the one encoding of labels
// and their parts, prefix-free since labels hold no zero byte and every part
// carries its length. A part is at most 65,535 bytes.
//
// spec: session.md#keys-and-labels
func Info(b []byte, label string, parts ...[]byte) []byte {
	b = append(append(b, label...), 0)
	for _, p := range parts {
		if len(p) > 0xffff {
			panic("key: part of a label is too long")
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return b
}

// Hash is SHA-256 over Info(label, parts).
func Hash(label string, parts ...[]byte) [32]byte {
	var space [256]byte
	return sha256.Sum256(Info(space[:0], label, parts...))
}

// KDF fills dst with HKDF-SHA256(secret, salt = none, info = Info(label, parts)).
// dst is at most 8,160 bytes.
func KDF(dst, secret []byte, label string, parts ...[]byte) {
	SaltedKDF(dst, secret, nil, label, parts...)
}

// SaltedKDF is KDF with a salt.
func SaltedKDF(dst, secret, salt []byte, label string, parts ...[]byte) {
	out, err := hkdf.Key(sha256.New, secret, salt, string(Info(nil, label, parts...)), len(dst))
	if err != nil {
		panic("key: " + err.Error()) // dst longer than 255 blocks: our own bug
	}
	copy(dst, out)
	clear(out)
}

// Derive returns a secret of role R from another secret's bytes by KDF.
func Derive[R Role](secret []byte, label string, parts ...[]byte) Secret[R] {
	var r R
	s := Secret[R]{p: hold()}
	KDF(s.p.b[:r.size()], secret, label, parts...)
	return s
}
