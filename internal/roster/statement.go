package roster

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Bounds of what is said when a group is made again.
const (
	MaxStatement = MaxOrigin // bytes of a statement: it stands in the state of the new group
	MaxRoll      = 56 << 10  // bytes of a roll
	MaxMembers   = 1536      // devices on a roll
	MaxGone      = 256       // persons on a roll whose removal its author was shown
)

const (
	labelStatement     = "tacet/v1/group/statement"
	labelStatementHash = "tacet/v1/group/statement/hash"
	labelRoll          = "tacet/v1/group/roll"
)

// ErrStatement is returned for a statement that is not well-formed, not signed by
// the device that it names, or whose author was no admin by its own order.
var ErrStatement = errors.New("statement of a group that was made again is malformed")

// Reason says why a group was made again.
type Reason byte

// Reasons. TakenOver is that of a more senior admin where one device commits.
const (
	Contradicted Reason = 1 // its relay signed two contents for one slot
	SlotBurnt    Reason = 2 // what lies at a slot is no commit
	RelayGone    Reason = 3 // its relay did not answer
	TakenOver    Reason = 4
	Overruled    Reason = 5 // a more senior admin does not go along with another's statement
)

// Statement says that a group was made again, by whom and from what. Everybody who
// has the same statements comes to the same successor: see Pick.
//
// spec: group.md#statements
type Statement struct {
	Old      GroupID          `cbor:"0,keyasint"`
	Origin   GroupID          `cbor:"1,keyasint"`           // the first of the line
	Epoch    uint64           `cbor:"2,keyasint"`           // of the old group: from which its author went
	New      GroupID          `cbor:"3,keyasint"`           // random
	By       key.SignPublic   `cbor:"4,keyasint"`           // the author's device
	Manifest []byte           `cbor:"5,keyasint"`           // that names it
	Order    []key.SignPublic `cbor:"6,keyasint"`           // admins of the old group in that epoch, most senior first
	Home     Home             `cbor:"7,keyasint"`           // of the new group
	Reason   Reason           `cbor:"8,keyasint"`           //
	Sole     bool             `cbor:"9,keyasint,omitempty"` // there are no slots: By alone commits
	Roll     [32]byte         `cbor:"10,keyasint"`          // hash of the roll
	Sig      key.Signature    `cbor:"11,keyasint"`          // by By over the statement with zeros here
	Mark     [8]byte          `cbor:"12,keyasint"`          // of that epoch: only who was in it knows it
	Stay     uint64           `cbor:"13,keyasint"`          // bit i: the person at place i of Order is to be in the new group

	m *manifest.Manifest
}

// Roll says who is to be in the new group and whose removal its author was shown.
type Roll struct {
	Members []key.SignPublic `cbor:"0,keyasint"`           // devices, ascending
	Gone    []key.SignPublic `cbor:"1,keyasint,omitempty"` // roots, ascending
}

// Sign sets By, Manifest and Sig. It fails with ErrStatement if the device is not
// active in the manifest or its person no admin.
func (s *Statement) Sign(device key.Sign, m *manifest.Manifest) error {
	s.By, s.Manifest, s.m = key.SignPublicOf(device), m.Append(nil), m
	s.Sig = key.SignMessage(device, labelStatement, s.signed())
	if !s.good() {
		return ErrStatement
	}
	return nil
}

func (s *Statement) signed() []byte {
	c := *s
	c.Sig = key.Signature{}
	return must(enc.Marshal(&c))
}

// Append appends the statement, at most MaxStatement bytes. It fails with ErrStatement.
func (s *Statement) Append(b []byte) ([]byte, error) {
	out, err := enc.Marshal(s)
	if err != nil || len(out) > MaxStatement || !s.good() {
		return b, ErrStatement
	}
	return append(b, out...), nil
}

// ParseStatement reads a statement that fills b and checks that a device of an
// admin signed it. It fails with ErrStatement.
func ParseStatement(b []byte) (*Statement, error) {
	s := new(Statement)
	if !parse(b, MaxStatement, s) {
		return nil, ErrStatement
	}
	m, err := manifest.Parse(s.Manifest)
	if err != nil {
		return nil, ErrStatement
	}
	s.m = m
	if !s.good() || !key.VerifyAgain(s.By, s.Sig, labelStatement, s.signed()) {
		return nil, ErrStatement
	}
	return s, nil
}

func (s *Statement) good() bool {
	if len(s.Order) == 0 || len(s.Order) > MaxAdmins || s.Reason < Contradicted || s.Reason > Overruled || s.Old == s.New ||
		s.Origin == s.New || s.Home.Name == "" || len(s.Home.Name) > MaxRelay || !utf8.ValidString(s.Home.Name) {
		return false
	}
	for i, a := range s.Order {
		if slices.Contains(s.Order[:i], a) {
			return false
		}
	}
	return s.Stay>>len(s.Order) == 0 && speaks(s.m, s.By) && s.Stays(s.m.Root)
}

// Stays reports whether an admin of the old order is to be in the new group.
func (s *Statement) Stays(root key.SignPublic) bool {
	i := slices.Index(s.Order, root)
	return i >= 0 && s.Stay>>i&1 == 1
}

// speaks reports whether a device is active in a manifest that its root signed.
func speaks(m *manifest.Manifest, device key.SignPublic) bool {
	i, ok := m.Find(device)
	if !ok || !m.Signed() {
		return false
	}
	_, ok = m.Active(i)
	return ok
}

// Root is the person who made the group again.
func (s *Statement) Root() key.SignPublic { return s.m.Root }

// Rank is the author's place in the old order as the statement has it, 0 for the most
// senior. Who knows that order better goes by what they know.
func (s *Statement) Rank() int { return slices.Index(s.Order, s.m.Root) }

// Hash names the statement and breaks ties.
func (s *Statement) Hash() [32]byte { return key.Hash(labelStatementHash, s.signed()) }

// Pick returns the statement to follow of those for one old group, nil of none: that
// of the author with the lowest rank, then the one with the smaller hash.
//
// spec: group.md#two-successors
func Pick(all []*Statement, rank func(*Statement) int) *Statement {
	var best *Statement
	var first [32]byte
	for _, s := range all {
		h := s.Hash()
		if best == nil || cmp.Or(cmp.Compare(rank(s), rank(best)), bytes.Compare(h[:], first[:])) < 0 {
			best, first = s, h
		}
	}
	return best
}

// Follows reports whether one order of admins can have become another: who is in both
// stands in the same order, and who is new stands after them all.
func Follows(earlier, later []key.SignPublic) bool {
	last := -1
	for _, a := range later {
		i := slices.Index(earlier, a)
		if i < 0 {
			i = len(earlier)
		} else if i < last {
			return false
		}
		last = i
	}
	return true
}

// Makes reports whether state can be that of the group which the statement
// announces, in its first epochs: an author cannot give itself another rank than
// it had. Admins may have gone since, or come after all those of the old order.
func (s *Statement) Makes(state *State) bool {
	if state.Home != s.Home || (state.Sole != nil) != s.Sole || s.Sole && *state.Sole != s.By {
		return false
	}
	return Follows(s.Order, state.Admins)
}

// Append appends the roll, at most MaxRoll bytes. It fails with ErrStatement.
func (r *Roll) Append(b []byte) ([]byte, error) {
	out, err := enc.Marshal(r)
	if err != nil || len(out) > MaxRoll || !r.good() {
		return b, ErrStatement
	}
	return append(b, out...), nil
}

// ParseRoll reads a roll that fills b. It fails with ErrStatement.
func ParseRoll(b []byte) (*Roll, error) {
	r := new(Roll)
	if !parse(b, MaxRoll, r) || !r.good() {
		return nil, ErrStatement
	}
	return r, nil
}

func (r *Roll) good() bool {
	return len(r.Members) > 0 && len(r.Members) <= MaxMembers && len(r.Gone) <= MaxGone && ascending(r.Members) && ascending(r.Gone)
}

// Hash is what a statement names the roll by.
func (r *Roll) Hash() [32]byte { return key.Hash(labelRoll, must(enc.Marshal(r))) }

// SortKeys sorts keys as a roll has them and drops what comes twice.
func SortKeys(k []key.SignPublic) []key.SignPublic {
	slices.SortFunc(k, func(a, b key.SignPublic) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(k)
}

func ascending(k []key.SignPublic) bool {
	for i := 1; i < len(k); i++ {
		if bytes.Compare(k[i-1][:], k[i][:]) >= 0 {
			return false
		}
	}
	return true
}
