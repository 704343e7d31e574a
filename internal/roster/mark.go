package roster

import (
	"cmp"
	"math"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
)

// MaxMarks is how many marks of a sort a state has.
const MaxMarks = 64

// Leap is by how much State.Turn rises when a group is made again: whatever was wished
// in the old one, by somebody who was further on, is from before.
const Leap = 1 << 20

// Mark says from which turn on wishes count about a person's role, or to add a device.
// Who wished before did not know of the last change.
type Mark struct {
	_    struct{} `cbor:",toarray"`
	Whom [8]byte  // the first of the root or device key: where two are alike, both wishes count later
	Turn uint64
}

// Marks are the newest marks of a sort, oldest first. Of who is not listed wishes count
// from Floor on.
type Marks struct {
	Floor uint64 `cbor:"0,keyasint,omitempty"`
	List  []Mark `cbor:"1,keyasint,omitempty"`
}

func markOf(k key.SignPublic) [8]byte { return [8]byte(k[:]) }

func (m *Marks) since(k key.SignPublic) uint64 {
	if i := m.find(k); i >= 0 {
		return m.List[i].Turn
	}
	return m.Floor
}

func (m *Marks) find(k key.SignPublic) int {
	return slices.IndexFunc(m.List, func(o Mark) bool { return o.Whom == markOf(k) })
}

// set marks somebody. When there are too many the oldest becomes the floor.
func (m *Marks) set(k key.SignPublic, turn uint64) {
	if i := m.find(k); i >= 0 {
		m.List = slices.Delete(m.List, i, i+1)
	}
	m.List = append(m.List, Mark{Whom: markOf(k), Turn: turn})
	if len(m.List) > MaxMarks {
		m.Floor = max(m.Floor, m.List[0].Turn)
		m.List = slices.Delete(m.List, 0, 1)
	}
}

func (m *Marks) keep(f func(Mark) bool) {
	m.List = slices.DeleteFunc(m.List, func(o Mark) bool { return !f(o) })
}

func (m *Marks) good() bool {
	for i, o := range m.List {
		if slices.ContainsFunc(m.List[:i], func(x Mark) bool { return x.Whom == o.Whom }) {
			return false
		}
	}
	return len(m.List) <= MaxMarks && slices.IsSortedFunc(m.List, func(a, b Mark) int { return cmp.Compare(a.Turn, b.Turn) })
}

// TakenOut reports whether a device is known to have been taken out since a turn, and not
// just whether it is held to the floor.
func (s *State) TakenOut(device key.SignPublic, since uint64) bool {
	i := s.Away.find(device)
	return i >= 0 && s.Away.List[i].Turn > since
}

// turn is that of the next state.
func (s *State) turn() uint64 {
	if s.Turn == math.MaxUint64 {
		return s.Turn
	}
	return s.Turn + 1
}

// looks is how many things of a group's looks have a turn of their own.
const looks = 5

// look is the place of a kind in State.Looks. Links share one: none that was closed
// is opened again by the wish that opened it.
func look(k WishKind) int {
	switch k {
	case Rename, SetPicture, SetTimer, SetFanout:
		return int(k - Rename)
	}
	return looks - 1
}

func (s *State) since(k WishKind) uint64 {
	if s.Looks == nil {
		return 0
	}
	return s.Looks[look(k)]
}

func (s *State) set(k WishKind, turn uint64) {
	if s.Looks == nil {
		s.Looks = make([]uint64, looks)
	}
	s.Looks[look(k)] = turn
}
