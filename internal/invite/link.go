// Package invite has what one person hands another to be written to: a short
// link, and the bundle of keys that the link finds and opens on a relay.
//
// The secret in a link is a hash of the maker's root and a salt. Whoever opens
// the bundle computes it again, so that not even another holder of the same
// invite together with the relay can put another person's bundle in its place.
//
// The package does not fetch or put anything, draw QR codes, count uses, or
// make the keys in a bundle. It cannot tell who holds a link.
//
// Spec: docs/spec/invite.md.
package invite

import (
	"encoding/base64"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Labels of this room.
const (
	labelSecret = "tacet/v1/invite/secret"      // parts: root 32, salt 32
	labelID     = "tacet/v1/invite/id"          // blob id from the secret; part: relay name
	labelKey    = "tacet/v1/invite/key"         // bundle key from the secret; part: relay name
	labelSign   = "tacet/v1/invite/bundle"      // what a device signs; parts: body, blob id 32
	labelHash   = "tacet/v1/invite/bundle/hash" // names a bundle; part: body
)

// Sizes in bytes.
const (
	SecretSize = 16
	MaxLink    = len(linkStart) + MaxRelay + len(linkMid) + codeChars // 100, of a link as written: fits QR version 5 at level L
	MaxRelay   = wire.MaxRelayName

	linkVersion = 1
	codeSize    = 1 + SecretSize + 1 // version 1 ‖ secret 16 ‖ check 1
	codeChars   = codeSize / 3 * 4   // 24, with no bits left over
	linkStart   = "tacet://"
	linkMid     = "/i#"
)

// Errors of a link.
var (
	// ErrNoInvite: there is no link in the text.
	ErrNoInvite = errors.New("there is no invite in this text")
	// ErrSeveral: there is more than one, and they differ.
	ErrSeveral = errors.New("there is more than one invite in this text")
	// ErrVersion: link or bundle were made by a newer version.
	ErrVersion = errors.New("invite is of a version that is not known")
	// ErrCode: the link was cut or mistyped.
	ErrCode = errors.New("invite code is incomplete or mistyped")
	// ErrRelay: the relay's name is too long or not one.
	ErrRelay = wire.ErrRelayName
)

// Link is an invite as people pass it on. Whoever has it can read the bundle.
type Link struct {
	Relay  string // as RelayName writes it
	Secret [SecretSize]byte
}

// RelayName returns the one way to write a relay's name, host or host:port, at
// most MaxRelay bytes. It fails with ErrRelay.
//
// spec: invite.md#relay-name
func RelayName(s string) (string, error) { return wire.RelayName(s) }

// NewLink makes a link from a relay's name in any spelling. It fails with
// ErrRelay.
func NewLink(relay string, secret [SecretSize]byte) (Link, error) {
	name, err := RelayName(relay)
	if err != nil {
		return Link{}, err
	}
	return Link{Relay: name, Secret: secret}, nil
}

// SecretOf returns the secret that commits to a root. The salt is random and
// fresh for every invite.
//
// spec: invite.md#secret
func SecretOf(root key.SignPublic, salt [32]byte) [SecretSize]byte {
	h := key.Hash(labelSecret, root[:], salt[:])
	return [SecretSize]byte(h[:])
}

// relay returns the name that both ends derive from, also where a Link was put
// together by hand.
func (l Link) relay() string {
	if name, err := RelayName(l.Relay); err == nil {
		return name
	}
	return l.Relay
}

// String returns the link as it is passed on, at most MaxLink bytes.
//
// spec: invite.md#link
func (l Link) String() string {
	relay := l.relay()
	code := make([]byte, 0, codeSize)
	code = append(code, linkVersion)
	code = append(code, l.Secret[:]...)
	code = append(code, check(relay, code))
	return linkStart + relay + linkMid + base64.RawURLEncoding.EncodeToString(code)
}

// ID returns where the bundle lies.
func (l Link) ID() (id wire.BlobID) {
	key.KDF(id[:], l.Secret[:], labelID, []byte(l.relay()))
	return id
}

// Key returns what encrypts the bundle.
func (l Link) Key() key.Bundle {
	return key.Derive[key.BundleRole](l.Secret[:], labelKey, []byte(l.relay()))
}

// decode reads a code that came with a relay's name. The check comes first and
// is the last byte in every version, so that a typo is not taken for news.
func decode(relay, code string) (Link, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil || len(b) < 2 || check(relay, b[:len(b)-1]) != b[len(b)-1] {
		return Link{}, ErrCode
	}
	if b[0] != linkVersion {
		return Link{}, ErrVersion
	}
	if len(b) != codeSize {
		return Link{}, ErrCode
	}
	return Link{Relay: relay, Secret: [SecretSize]byte(b[1:])}, nil
}

// check sees typing errors only; the bundle itself shows a forgery.
func check(relay string, code []byte) byte { return wire.LinkCheck(relay, code) }
