package invite

import "errors"

// ErrIntroduction is returned for an introduction that is not well-formed.
var ErrIntroduction = errors.New("introduction is malformed")

// MaxIntroduction bounds an introduction, in bytes.
const MaxIntroduction = 1 + MaxRelay + SecretSize + 32<<10

// AppendIntroduction appends an introduction: what a link names together with what
// it leads to, for a way on which no relay keeps the bundle.
//
// spec: invite.md#introductions
func AppendIntroduction(b []byte, l Link, sealed []byte) []byte {
	b = append(b, byte(len(l.Relay)))
	b = append(b, l.Relay...)
	b = append(b, l.Secret[:]...)
	return append(b, sealed...)
}

// ParseIntroduction reads what AppendIntroduction wrote. What is in the bundle Open
// says.
func ParseIntroduction(b []byte) (l Link, sealed []byte, err error) {
	if len(b) < 1 || len(b) > MaxIntroduction || len(b) < 1+int(b[0])+SecretSize+1 {
		return l, nil, ErrIntroduction
	}
	relay, rest := string(b[1:1+int(b[0])]), b[1+int(b[0]):]
	if l, err = NewLink(relay, [SecretSize]byte(rest)); err != nil || l.Relay != relay {
		return Link{}, nil, ErrIntroduction
	}
	return l, rest[SecretSize:], nil
}
