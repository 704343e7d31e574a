package mls

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/subtle"
)

// Labels of this package's hashes and derivations, without "MLS 1.0 ", which
// labelled puts in front (RFC 9420, Sections 5.1.3, 5.2 and 8).
const labelPrefix = "MLS 1.0 "

// labelled appends opaque label<V> with the prefix.
func labelled(b []byte, label string) []byte {
	b = appendLength(b, len(labelPrefix)+len(label))
	return append(append(b, labelPrefix...), label...)
}

// digest is Hash (RFC 9420, Section 5.1).
func (p *suiteParams) digest(parts ...[]byte) []byte {
	h := p.newHash()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// refHash is RefHash (RFC 9420, Section 5.2). Its labels come with their prefix.
func (p *suiteParams) refHash(label string, value []byte) []byte {
	return p.digest(appendVec(nil, []byte(label)), appendVec(nil, value))
}

// extract is KDF.Extract. An absent salt or key is that of no bytes.
func (p *suiteParams) extract(salt, ikm []byte) Secret {
	prk, err := hkdf.Extract(p.newHash, ikm, salt)
	if err != nil {
		panic("mls: " + err.Error()) // the sizes are ours
	}
	return own(prk)
}

// expandWithLabel is ExpandWithLabel (RFC 9420, Section 8).
func (p *suiteParams) expandWithLabel(secret []byte, label string, context []byte, length int) Secret {
	info := appendU16(make([]byte, 0, 16+len(label)+len(context)), uint16(length))
	info = appendVec(labelled(info, label), context)
	out, err := hkdf.Expand(p.newHash, secret, string(info), length)
	if err != nil {
		panic("mls: " + err.Error()) // length is ours, or was checked
	}
	return own(out)
}

// deriveSecret is DeriveSecret (RFC 9420, Section 8).
func (p *suiteParams) deriveSecret(secret Secret, label string) Secret {
	return p.expandWithLabel(secret.Bytes(), label, nil, p.nh)
}

// deriveTreeSecret is DeriveTreeSecret (RFC 9420, Section 9).
func (p *suiteParams) deriveTreeSecret(secret Secret, label string, generation uint32, length int) Secret {
	return p.expandWithLabel(secret.Bytes(), label, appendU32(nil, generation), length)
}

// mac is HMAC with the hash of the suite (RFC 9420, Section 5.1).
func (p *suiteParams) mac(key Secret, message []byte) []byte {
	h := hmac.New(p.newHash, key.Bytes())
	h.Write(message)
	return h.Sum(nil)
}

func macEqual(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
