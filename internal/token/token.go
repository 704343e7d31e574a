// Package token makes and checks anonymous tokens: what pays a realm for work
// without saying who pays. A device blinds inputs of its own and has a batch of
// them evaluated under the realm's key of an epoch; the answer carries one proof
// that this very key was used. What comes out is known to the device alone until
// it presents it, and neither the evaluation nor the proof says anything about
// which batch it was in: VOPRF(ristretto255, SHA-512) of RFC 9497. It also holds
// puzzles, which buy a batch where there is no membership.
//
// The package has no clock and no randomness of its own and stores nothing: who
// may have a batch, what is spent and what a purse holds is decided elsewhere.
//
// Spec: docs/spec/token.md.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes, in bytes where nothing else is said.
const (
	Part          = wire.TokenCount           // tokens of one request
	MaxParts      = 16                        // requests of the largest class, 16,384 tokens
	NonceSize     = 16                        // what names a token
	ElementSize   = 32                        // a ristretto255 element
	ProofSize     = 64                        // challenge 32 ‖ response 32
	BlindedSize   = Part * ElementSize        // what a device asks for
	ResponseSize  = ProofSize + BlindedSize   // proof 64 ‖ 1,024 × element 32
	RawSize       = NonceSize + 32            // nonce 16 ‖ key 32
	PresentedSize = 1 + 4 + NonceSize + 32    // kind 1 ‖ epoch 4 ‖ nonce 16 ‖ tag 32
	HeaderSize    = (PresentedSize*8 + 5) / 6 // characters of a token in a header: 71
	DaySeconds    = 86_400                    // a member epoch
	WeekDays      = 7                         // days of a guest epoch
	guestEpochs   = 5                         // a guest token is good in its epoch and four more
	memberEpochs  = 2                         // a member token is good in its day and the next
	maxEpoch      = 1<<32 - 1 - 2*guestEpochs // so that no sum of epochs overflows
)

// Labels of this room.
const (
	labelIssuer  = "tacet/v1/token/issuer"  // seed of an issuer key, parts: kind 1, epoch 4
	labelProof   = "tacet/v1/token/proof"   // nonce of a proof
	labelNonce   = "tacet/v1/token/nonce"   // nonces of a batch, parts: kind 1, epoch 4, part 1
	labelBlind   = "tacet/v1/token/blind"   // blinds of a batch, parts: kind 1, epoch 4, part 1
	labelInput   = "tacet/v1/token/input"   // input of a token, parts: kind 1, epoch 4, nonce 16
	labelKey     = "tacet/v1/token/key"     // key of a token from the function's output
	labelTag     = "tacet/v1/token/tag"     // what a key signs, part: request hash 32
	labelRequest = "tacet/v1/token/request" // request hash, parts: purpose 1, binding
)

// Errors that callers branch on.
var (
	// ErrToken: a presented token is malformed, or was not issued under this key for this request.
	ErrToken = errors.New("token is not good")
	// ErrProof: the answer of an issuer does not fit its announced key. Nothing of it may be used.
	ErrProof = errors.New("the realm's proof does not fit its announced token key")
	// ErrRequest: the blinded elements of a request are not well-formed.
	ErrRequest = errors.New("token request is malformed")
	// ErrKind: there is no such kind, epoch or part of tokens.
	ErrKind = errors.New("there are no such tokens")
)

// Kind says who a token is for.
type Kind byte

// Kinds of tokens.
const (
	Member Kind = 1 // for devices of the realm: epochs of a UTC day
	Guest  Kind = 2 // handed to contacts elsewhere: epochs of seven UTC days
)

// Purpose says what a token pays.
type Purpose byte

// Purposes, with what a request hash is bound to.
const (
	PutContext  Purpose = 1 // secret id of the context 16
	Watch       Purpose = 2 // 16 fresh random bytes
	Take        Purpose = 3 // 16 fresh random bytes
	Blob        Purpose = 4 // blob id 32
	Wake        Purpose = 5 // SHA-256 of the ticket 32
	RealmInvite Purpose = 6 // hash of the invite's secret 32
)

// RequestHash is what a presented token is bound to: it is no good for another
// purpose or binding. A binding is at most 65,535 bytes.
//
// spec: token.md#presenting
func RequestHash(p Purpose, binding []byte) [32]byte {
	return key.Hash(labelRequest, []byte{byte(p)}, binding)
}

// MemberEpoch returns the epoch of member tokens at a unix second: the UTC day.
func MemberEpoch(unix int64) uint32 { return uint32(min(max(unix, 0)/DaySeconds, maxEpoch)) }

// GuestEpoch returns the epoch of guest tokens at a unix second: ⌊UTC day / 7⌋.
func GuestEpoch(unix int64) uint32 { return MemberEpoch(unix) / WeekDays }

// EpochAt returns the epoch that tokens of the kind are issued for at a unix second.
func EpochAt(k Kind, unix int64) uint32 {
	if k == Guest {
		return GuestEpoch(unix)
	}
	return MemberEpoch(unix)
}

// Accepts reports whether tokens of the kind and epoch are good at a unix second:
// member tokens in their day and the next, guest tokens in their week and four more.
//
// spec: token.md#epochs
func Accepts(k Kind, epoch uint32, unix int64) bool {
	if !valid(k, epoch) {
		return false
	}
	now := EpochAt(k, unix)
	return epoch <= now && now-epoch < k.epochs()
}

// Ends returns the unix second from which no token of the kind and epoch is good
// any more: then what was kept of spent ones may go.
func Ends(k Kind, epoch uint32) int64 {
	days := int64(epoch) + int64(k.epochs())
	if k == Guest {
		days *= WeekDays
	}
	return days * DaySeconds
}

func (k Kind) epochs() uint32 {
	if k == Guest {
		return guestEpochs
	}
	return memberEpochs
}

func valid(k Kind, epoch uint32) bool { return (k == Member || k == Guest) && epoch <= maxEpoch }

// scope is how kind and epoch stand as parts of a label.
func scope(k Kind, epoch uint32) (kind, number []byte) {
	return []byte{byte(k)}, binary.BigEndian.AppendUint32(nil, epoch)
}

// Raw is a token as its holder keeps it, or as a guest is handed one: nonce 16 ‖
// key 32. It is money: who has it can spend it. It prints as [secret].
type Raw [RawSize]byte

// Present makes what is sent with a request: a token is presented for one request
// hash only, for the second one is refused.
//
// spec: token.md#presenting
func (r *Raw) Present(k Kind, epoch uint32, request [32]byte) Presented {
	p := Presented{Kind: k, Epoch: epoch, Nonce: [NonceSize]byte(r[:])}
	p.Tag = tag(r[NonceSize:], request)
	return p
}

// Wipe overwrites the token.
func (r *Raw) Wipe() { clear(r[:]) }

// Format prints [secret], whatever the verb.
func (r Raw) Format(f fmt.State, _ rune) { io.WriteString(f, "[secret]") }

// MarshalText refuses: JSON and structured logs ask for it.
func (r Raw) MarshalText() ([]byte, error) { return nil, key.ErrMarshal }

func tag(secret []byte, request [32]byte) (t [32]byte) {
	h := hmac.New(sha256.New, secret)
	h.Write(key.Info(nil, labelTag, request[:]))
	h.Sum(t[:0])
	return t
}

// Presented is a token as it is sent, PresentedSize bytes. Nonce names it in the
// spent set.
type Presented struct {
	Kind  Kind
	Epoch uint32
	Nonce [NonceSize]byte
	Tag   [32]byte // HMAC-SHA256 of the request hash under the token's key
}

// Append appends kind 1 ‖ epoch 4 ‖ nonce 16 ‖ tag 32.
func (p *Presented) Append(b []byte) []byte {
	b = append(b, byte(p.Kind))
	b = binary.BigEndian.AppendUint32(b, p.Epoch)
	b = append(b, p.Nonce[:]...)
	return append(b, p.Tag[:]...)
}

// ParsePresented reads exactly PresentedSize bytes. It fails with ErrToken, and
// says nothing about whether the token is good: that is Issuer.Check.
func ParsePresented(b []byte) (Presented, error) {
	if len(b) != PresentedSize {
		return Presented{}, ErrToken
	}
	p := Presented{Kind: Kind(b[0]), Epoch: binary.BigEndian.Uint32(b[1:])}
	copy(p.Nonce[:], b[5:])
	copy(p.Tag[:], b[5+NonceSize:])
	if !valid(p.Kind, p.Epoch) {
		return Presented{}, ErrToken
	}
	return p, nil
}

// header is base64url without padding and with one form for each token.
var header = base64.RawURLEncoding.Strict()

// Header returns the token as the value of an HTTP header, HeaderSize characters.
func (p *Presented) Header() string {
	return header.EncodeToString(p.Append(make([]byte, 0, PresentedSize)))
}

// ParseHeader reads what Header wrote. It fails with ErrToken.
func ParseHeader(s string) (Presented, error) {
	if len(s) != HeaderSize {
		return Presented{}, ErrToken
	}
	b, err := header.DecodeString(s)
	if err != nil {
		return Presented{}, ErrToken
	}
	return ParsePresented(b)
}
