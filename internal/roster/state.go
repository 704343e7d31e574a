package roster

import (
	"errors"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/key"
)

// Bounds of a state.
const (
	MaxName    = 64   // bytes of a group's name
	MaxPicture = 256  // bytes of a reference to a picture
	MaxAdmins  = 64   // persons
	MaxLinks   = 16   // approval links that are open
	MaxPast    = 64   // slots that are listed
	MaxOrigin  = 4096 // bytes of the statement of a re-creation
	MaxState   = 24 << 10

	// Between is how many commits must lie between two of one person who is no
	// admin, and how many an admin makes in a row: the chain of a runner ends there.
	Between = 8
)

// ErrState is returned for a state that is not well-formed.
var ErrState = errors.New("state of a group is malformed")

// State is what all members of an epoch agree on, beside the tree. It stands in
// the group context as ExtState; a commit that changes it carries the whole.
//
// spec: group.md#state
type State struct {
	Name    string `cbor:"0,keyasint,omitempty"` // valid UTF-8 of at most MaxName bytes, without control characters
	Picture []byte `cbor:"1,keyasint,omitempty"` // opaque here: where an encrypted picture lies
	Timer   uint32 `cbor:"2,keyasint,omitempty"` // seconds after which messages disappear; 0: never
	Home    Home   `cbor:"3,keyasint"`
	Class   byte   `cbor:"4,keyasint"`           // of slots: a place in wire.BlobClasses; fixed for the group
	Fanout  Fanout `cbor:"5,keyasint,omitempty"` // how messages leave
	Born    uint32 `cbor:"6,keyasint"`           // day (unix seconds / 86,400) from which routes of the epoch are counted, by the committer's clock; never falls

	Admins []key.SignPublic `cbor:"7,keyasint"`           // roots, most senior first; at least one
	Links  []Link           `cbor:"8,keyasint,omitempty"` // approval links that are open

	Past   []Past           `cbor:"9,keyasint,omitempty"`  // the last slots and what they hold, oldest first
	Makers []key.SignPublic `cbor:"10,keyasint,omitempty"` // devices of the last Between commits, oldest first

	Origin []byte          `cbor:"11,keyasint,omitempty"` // of a group that was made again: the statement that says why
	Sole   *key.SignPublic `cbor:"12,keyasint,omitempty"` // there are no slots: this device alone commits

	Turn  uint64   `cbor:"13,keyasint,omitempty"` // commits so far, in the whole line of groups
	Roles Marks    `cbor:"14,keyasint"`           // persons: when they became an admin, or none
	Away  Marks    `cbor:"15,keyasint"`           // devices that were taken out
	Looks []uint64 `cbor:"16,keyasint,omitempty"` // as Mark.Turn: of name, picture, timer, fan-out and closed links
}

// Home is the realm where the slots of a group lie.
type Home struct {
	Name    string         `cbor:"0,keyasint"` // host[:port]
	Pin     [32]byte       `cbor:"1,keyasint"` // SHA-256 of the realm key
	Receipt key.SignPublic `cbor:"2,keyasint"` // what its receipts verify under
}

// Fanout says how messages of a group leave.
type Fanout byte

// Ways of fan-out.
const (
	BySize  Fanout = 0 // a copy for each member, and shared above SharedAbove leaves
	Copies  Fanout = 1 // a copy for each member, always
	OneCopy Fanout = 2 // one address for all: the relay sees how many watch it
)

// SharedAbove is the number of leaves above which fan-out is shared unless the
// state says otherwise.
const SharedAbove = 32

// Past is a slot that was decided.
type Past struct {
	ID   [32]byte `cbor:"0,keyasint"`
	Hash [32]byte `cbor:"1,keyasint"`
}

// Link is an approval link: who has its secret may ask to be added.
type Link struct {
	ID   [16]byte       `cbor:"0,keyasint"`
	Hash [32]byte       `cbor:"1,keyasint"` // of the secret
	By   key.SignPublic `cbor:"2,keyasint"` // root of the admin who made it
	Ends uint32         `cbor:"3,keyasint"` // day
}

// Append appends the state as deterministic CBOR, at most MaxState bytes. It fails
// with ErrState for what ParseState refuses.
func (s *State) Append(b []byte) ([]byte, error) {
	if !s.good() {
		return b, ErrState
	}
	out, err := enc.Marshal(s)
	if err != nil || len(out) > MaxState {
		return b, ErrState
	}
	return append(b, out...), nil
}

// ParseState reads a state that fills b. It fails with ErrState.
func ParseState(b []byte) (*State, error) {
	s := new(State)
	if !parse(b, MaxState, s) || !s.good() {
		return nil, ErrState
	}
	return s, nil
}

// Clone returns an independent copy.
func (s *State) Clone() *State {
	c := *s
	c.Picture = append([]byte(nil), s.Picture...)
	c.Admins = append([]key.SignPublic(nil), s.Admins...)
	c.Links = append([]Link(nil), s.Links...)
	c.Past = append([]Past(nil), s.Past...)
	c.Makers = append([]key.SignPublic(nil), s.Makers...)
	c.Origin = append([]byte(nil), s.Origin...)
	c.Roles.List = append([]Mark(nil), s.Roles.List...)
	c.Away.List = append([]Mark(nil), s.Away.List...)
	c.Looks = append([]uint64(nil), s.Looks...)
	if s.Sole != nil {
		d := *s.Sole
		c.Sole = &d
	}
	return &c
}

// good reports whether the state is within its bounds and says nothing twice.
func (s *State) good() bool {
	if !goodName(s.Name) || len(s.Picture) > MaxPicture || s.Fanout > OneCopy || int(s.Class) > 3 ||
		len(s.Admins) == 0 || len(s.Admins) > MaxAdmins || len(s.Links) > MaxLinks || len(s.Past) > MaxPast ||
		len(s.Makers) > Between || len(s.Origin) > MaxOrigin ||
		!s.Roles.good() || !s.Away.good() || len(s.Looks) != 0 && len(s.Looks) != looks ||
		s.Home.Name == "" || len(s.Home.Name) > MaxRelay || !utf8.ValidString(s.Home.Name) {
		return false
	}
	for i, a := range s.Admins {
		for _, b := range s.Admins[:i] {
			if a == b {
				return false
			}
		}
	}
	for i, a := range s.Links {
		for _, b := range s.Links[:i] {
			if a.ID == b.ID {
				return false
			}
		}
	}
	for i, a := range s.Past {
		for _, b := range s.Past[:i] {
			if a.ID == b.ID {
				return false
			}
		}
	}
	return true
}

// goodName reports whether a name can be shown on one line: control and format
// characters can turn a line around.
func goodName(s string) bool {
	if len(s) > MaxName || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !printable(r) {
			return false
		}
	}
	return true
}

// Rank is the place of a person in the order of admins, 0 for the most senior;
// false for who is no admin.
func (s *State) Rank(root key.SignPublic) (int, bool) {
	for i, a := range s.Admins {
		if a == root {
			return i, true
		}
	}
	return 0, false
}

// Senior reports whether a may act against b: a is an admin and b is none, or one
// of lower rank.
func (s *State) Senior(a, b key.SignPublic) bool {
	i, ok := s.Rank(a)
	if !ok {
		return false
	}
	j, admin := s.Rank(b)
	return !admin || i < j
}

// Shares reports whether messages of a group of so many leaves leave once, for all.
func (s *State) Shares(leaves int) bool {
	return s.Fanout == OneCopy || s.Fanout == BySize && leaves > SharedAbove
}
