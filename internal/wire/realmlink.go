package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of a realm link.
var (
	// ErrRealmLink: the text is no realm link, or it was cut or mistyped.
	ErrRealmLink = errors.New("realm invite is incomplete or mistyped")
	// ErrRealmLinkVersion: the link was made by a newer version.
	ErrRealmLinkVersion = errors.New("realm invite is of a version that is not known")
)

// Sizes in bytes.
const (
	RealmSecretSize = 32                                                                 // what buys a membership
	RealmPrintSize  = 16                                                                 // of the realm key's fingerprint, its first half
	MaxRealmLink    = len(linkStart) + MaxRelayName + len(RealmLinkMid) + realmCodeChars // 143

	realmLinkVersion = 1
	realmCodeSize    = 1 + RealmSecretSize + RealmPrintSize + 1 // version 1 ‖ secret 32 ‖ fingerprint 16 ‖ check 1
	realmCodeChars   = (realmCodeSize*8 + 5) / 6                // 67, with two bits left over that are zero
	linkStart        = "tacet://"
)

// RealmLinkMid stands between the relay's name and the code, and tells a realm
// link from a person's.
const RealmLinkMid = "/r#"

// RealmLink is an invite to a realm as people pass it on. Whoever has it can
// become a member as long as the invite has uses left.
type RealmLink struct {
	Relay  string                // as RelayName writes it
	Secret [RealmSecretSize]byte // the relay keeps its hash alone
	Print  [RealmPrintSize]byte  // first half of SHA-256 of the realm key: what the device pins
}

// String returns the link as it is passed on, at most MaxRealmLink bytes.
//
// spec: gate.md#realm-link
func (l RealmLink) String() string {
	relay := l.Relay
	if name, err := RelayName(relay); err == nil {
		relay = name
	}
	code := make([]byte, 0, realmCodeSize)
	code = append(code, realmLinkVersion)
	code = append(code, l.Secret[:]...)
	code = append(code, l.Print[:]...)
	code = append(code, LinkCheck(relay, code))
	return linkStart + relay + RealmLinkMid + base64.RawURLEncoding.EncodeToString(code)
}

// Format prints [secret], whatever the verb: a link in a log is a membership
// given away. String says it to people.
func (l RealmLink) Format(f fmt.State, _ rune) { io.WriteString(f, "[secret]") }

// MarshalText refuses: JSON and structured logs ask for it.
func (l RealmLink) MarshalText() ([]byte, error) { return nil, errors.New("a realm link is secret") }

// ParseRealmLink reads a link that stands alone, its name in any spelling. It
// fails with ErrRealmLink, ErrRealmLinkVersion or ErrRelayName. The check comes
// first, and is the last byte in every version, so that a typo is not taken for
// news.
//
// spec: gate.md#realm-link
func ParseRealmLink(s string) (RealmLink, error) {
	if len(s) > 2*MaxRealmLink || len(s) < len(linkStart) || !strings.EqualFold(s[:len(linkStart)], linkStart) {
		return RealmLink{}, ErrRealmLink
	}
	spelt, code, ok := strings.Cut(s[len(linkStart):], RealmLinkMid)
	if !ok {
		return RealmLink{}, ErrRealmLink
	}
	relay, err := RelayName(spelt)
	if err != nil {
		return RealmLink{}, err
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil || len(b) < 2 || strings.ContainsAny(code, "\r\n") || LinkCheck(relay, b[:len(b)-1]) != b[len(b)-1] {
		return RealmLink{}, ErrRealmLink
	}
	if b[0] != realmLinkVersion {
		return RealmLink{}, ErrRealmLinkVersion
	}
	if len(b) != realmCodeSize {
		return RealmLink{}, ErrRealmLink
	}
	l := RealmLink{Relay: relay}
	copy(l.Secret[:], b[1:])
	copy(l.Print[:], b[1+RealmSecretSize:])
	return l, nil
}
