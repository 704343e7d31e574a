package wake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

const labelVAPID = "tacet/v1/wake/vapid"

// VAPIDLife is how long a signature to a push service is good, in seconds. RFC
// 8292 allows 24 h; half of that is safe from clocks that differ.
const VAPIDLife = 12 * 3600

// VAPID says to push services who pushes: one key for a gateway, never one per
// person.
type VAPID struct {
	private *ecdsa.PrivateKey
	public  string
	contact string
}

// NewVAPID derives a gateway's key. contact is a mailto: or https: URL by which a
// push service reaches the operator; empty: none is said.
func NewVAPID(k key.Wake, contact string) *VAPID {
	s := scalar(k, labelVAPID, nil)
	b := s.Bytes()
	defer clear(b)
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), b)
	if err != nil {
		panic("wake: " + err.Error()) // scalar has looked
	}
	return &VAPID{private, base64.RawURLEncoding.EncodeToString(s.PublicKey().Bytes()), contact}
}

// Public is the key as push services and browsers write it: base64url of the
// uncompressed point.
func (v *VAPID) Public() string { return v.public }

// claims are in the order of the RFC's example.
type claims struct {
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
	Subject  string `json:"sub,omitempty"`
}

const vapidHeader = `{"typ":"JWT","alg":"ES256"}`

// signed is what is signed: header and claims.
func (v *VAPID) signed(origin string, expires int64) string {
	c, err := json.Marshal(claims{origin, expires, v.contact})
	if err != nil {
		panic("wake: " + err.Error()) // three plain fields
	}
	return base64.RawURLEncoding.EncodeToString([]byte(vapidHeader)) + "." + base64.RawURLEncoding.EncodeToString(c)
}

// Authorization returns the header for pushes to an origin (https://host[:port]).
// now is in unix seconds; it is rounded down to the hour, so that the header
// tells no time.
//
// RFC 8292, Sections 2 and 3.
func (v *VAPID) Authorization(origin string, now int64, rand io.Reader) (string, error) {
	what := v.signed(origin, now-now%3600+VAPIDLife)
	hash := sha256.Sum256([]byte(what))
	r, s, err := ecdsa.Sign(rand, v.private, hash[:])
	if err != nil {
		return "", err
	}
	var sig [64]byte
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return "vapid t=" + what + "." + base64.RawURLEncoding.EncodeToString(sig[:]) + ", k=" + v.public, nil
}
