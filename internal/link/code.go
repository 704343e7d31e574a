// Package link is how two devices of one person meet: the code that one shows
// and the other scans, what they say to each other by way of a relay until they
// share a key, the six digits that are compared, and the messages after that.
// Bytes in, bytes out.
//
// The secret in the code is a hash of the person's root and a salt, so the new
// device knows that the offer is by the root that showed the code. Whoever
// photographed the code can answer in its place: the digits, which the person
// copies from the new device to the old one, and to which both are bound before
// either could choose, tell.
//
// The package puts and fetches nothing, counts no time but what an offer says,
// and does not decide what goes over.
//
// Spec: docs/spec/link.md.
package link

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Labels of this room.
const (
	labelSecret   = "tacet/v1/link/secret"     // Hash; parts: root 32, salt 32
	labelID       = "tacet/v1/link/id"         // KDF: where a blob lies; parts: see Code.at and Session.at
	labelKey      = "tacet/v1/link/key"        // KDF: what a blob is encrypted with; parts as for the id
	labelSign     = "tacet/v1/link/offer"      // what the old device signs; parts: body, id 32
	labelOffer    = "tacet/v1/link/offer/hash" // Hash that names an offer; part: body
	labelCommit   = "tacet/v1/link/commitment" // Hash; part: nonce 32
	labelKEM      = "tacet/v1/link/kem"        // HPKE info; part: 32 that name what came before
	labelExport   = "tacet/v1/link/export"     // HPKE export
	labelProof    = "tacet/v1/link/answer"     // what the new device signs; parts: offer hash 32, enc, body
	labelAnswer   = "tacet/v1/link/answer/hash"
	labelDigits   = "tacet/v1/link/digits"  // KDF from the nonce; part: answer hash 32
	labelSession  = "tacet/v1/link/session" // KDF from both agreements; parts: answer hash 32, hash of the reveal 32
	labelReveal   = "tacet/v1/link/reveal/hash"
	labelStream   = "tacet/v1/link/stream"
	labelHello    = "tacet/v1/link/hello"
	labelDelete   = "tacet/v1/link/capability"
	labelRelaying = "tacet/v1/link/first" // KDF from the first agreement; part: answer hash 32
)

// Sizes in bytes.
const (
	SecretSize = 16
	codeSize   = 1 + SecretSize + 1 // version 1 ‖ secret 16 ‖ check 1
	codeChars  = codeSize / 3 * 4   // 24
	codeStart  = "tacet://"
	MaxCode    = len(codeStart) + wire.MaxRelayName + len(CodeMid) + codeChars // 100, as an invite's link

	codeVersion = 1
)

// CodeMid stands between the relay's name and the code, and tells a code from
// invites.
const CodeMid = "/d#"

// Errors of a code.
var (
	// ErrCode: the text is no code of this kind, or it was cut or mistyped.
	ErrCode = errors.New("linking code is incomplete or mistyped")
	// ErrVersion: code, offer or message was made by a newer version.
	ErrVersion = errors.New("linking code is of a version that is not known")
)

// Code is what the old device shows. Whoever has it can read the offer and
// answer it once.
type Code struct {
	Relay  string // as wire.RelayName writes it
	Secret [SecretSize]byte
}

// SecretOf returns the secret that commits to a root. The salt is random and
// fresh for every offer.
//
// spec: link.md#code
func SecretOf(root key.SignPublic, salt [32]byte) [SecretSize]byte {
	h := key.Hash(labelSecret, root[:], salt[:])
	return [SecretSize]byte(h[:])
}

// String returns the code as a text, at most MaxCode bytes.
//
// spec: link.md#code
func (c Code) String() string {
	b := append(make([]byte, 0, codeSize), codeVersion)
	b = append(b, c.Secret[:]...)
	b = append(b, wire.LinkCheck(c.Relay, b))
	return codeStart + c.Relay + CodeMid + base64.RawURLEncoding.EncodeToString(b)
}

// Format prints [secret], whatever the verb. String says it to people.
func (c Code) Format(f fmt.State, _ rune) { io.WriteString(f, "[secret]") }

// MarshalText refuses: JSON and structured logs ask for it.
func (c Code) MarshalText() ([]byte, error) { return nil, errors.New("a linking code is secret") }

// IsCode reports whether a text means a linking code, a broken one too.
func IsCode(s string) bool { return strings.Contains(s, CodeMid) }

// ParseCode reads a code that stands alone, with white space and characters that
// nobody sees in it or not. It fails with ErrCode, ErrVersion or
// wire.ErrRelayName.
func ParseCode(s string) (Code, error) {
	if len(s) > 8<<10 {
		return Code{}, ErrCode
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	if len(s) < len(codeStart) || !strings.EqualFold(s[:len(codeStart)], codeStart) {
		return Code{}, ErrCode
	}
	name, text, ok := strings.Cut(s[len(codeStart):], CodeMid)
	if !ok {
		return Code{}, ErrCode
	}
	relay, err := wire.RelayName(name)
	if err != nil {
		return Code{}, err
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2 || wire.LinkCheck(relay, b[:len(b)-1]) != b[len(b)-1] {
		return Code{}, ErrCode
	}
	if b[0] != codeVersion {
		return Code{}, ErrVersion
	}
	if len(b) != codeSize {
		return Code{}, ErrCode
	}
	return Code{Relay: relay, Secret: [SecretSize]byte(b[1:])}, nil
}

// at returns id and key of a blob that whoever has the code can read.
func (c Code) at(what string) place {
	return placeOf(c.Secret[:], []byte(what), []byte(c.Relay))
}

// Offer returns where the offer lies.
func (c Code) Offer() wire.BlobID { return c.at("offer").id }

// Answer returns where the one answer lies.
func (c Code) Answer() wire.BlobID { return c.at("answer").id }

// Capability returns what deletes offer and answer.
func (c Code) Capability() (out [32]byte) {
	key.KDF(out[:], c.Secret[:], labelDelete, []byte(c.Relay))
	return out
}
