package group

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/internal/roster"
)

// The state of a large group is a megabyte, of which a message changes a few hundred
// bytes. So an epoch is kept in three parts: what changes with every message, which is
// small; its Basis, which is written when the epoch begins and once more when it is
// left; and its Ending, which is about its commit. The two large ones are named by what
// they hold, are never changed, and are read from the disk once in a while.

// Basis is what does not change of an epoch while it is the head, nor after. None of it
// is written to.
type Basis struct {
	Roster []roster.Leaf
	Routes [][]byte // roster.Route of each leaf of Roster
	State  []byte   // roster.State

	mu    sync.Mutex
	raw   []byte // what fixed is read from; nil once it was
	fixed Fixed
	named
}

// named is the name of a part that is kept on its own: SHA-256 of what it is written as.
type named struct {
	name [32]byte
	size int // bytes; 0: not known yet
}

type basisForm struct {
	_      struct{} `cbor:",toarray"`
	Fixed  []byte
	Roster []roster.Leaf
	Routes [][]byte
	State  []byte
}

// NewBasis is a Basis with what is fixed of a tree or a past epoch, nil for nothing.
func NewBasis(f Fixed, leaves []roster.Leaf, routes [][]byte, state []byte) *Basis {
	return &Basis{Roster: leaves, Routes: routes, State: state, fixed: f}
}

// left is the basis of the same epoch once it was left.
func (b *Basis) left(f Fixed) *Basis { return NewBasis(f, b.Roster, b.Routes, b.State) }

// Fixed is what is fixed of the tree, or of the past epoch; read reads it, once.
func (b *Basis) Fixed(read func([]byte) (Fixed, error)) (_ Fixed, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fixed == nil {
		if b.fixed, err = read(b.raw); err != nil {
			b.fixed = nil
			return nil, err
		}
		b.raw = nil
	}
	return b.fixed, nil
}

// Append appends what ParseBasis reads.
func (b *Basis) Append(to []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	form := basisForm{Fixed: b.raw, Roster: b.Roster, Routes: b.Routes, State: b.State}
	if b.fixed != nil {
		form.Fixed = b.fixed.Append(nil)
	}
	return append(to, mustMarshal(&form)...)
}

// Name names the basis by what it holds.
func (b *Basis) Name() [32]byte { return b.of(b.Append) }

// ParseBasis reads what Append wrote. It fails with ErrPart.
func ParseBasis(b []byte) (*Basis, error) {
	var f basisForm
	if cbor.Unmarshal(b, &f) != nil || len(f.Roster) != len(f.Routes) {
		return nil, ErrPart
	}
	return &Basis{Roster: f.Roster, Routes: f.Routes, State: f.State, raw: f.Fixed, named: nameOf(b)}, nil
}

// Ending is what is kept about the commit that ended an epoch, or may end it. A part of
// it is changed by making another (see opened.end).
type Ending struct {
	Staged  *Commit  // own commit that may lie at the slot
	Commit  []byte   // what ended the epoch, to pass on: News.Content
	Welcome []byte   // of who was added by it
	Aside   []byte   // and the tree that they enter
	Added   []Joiner // they, until they are heard

	named
}

type endingForm struct {
	_       struct{} `cbor:",toarray"`
	Commit  []byte
	Welcome []byte
	Aside   []byte
	Staged  *Commit
	Added   []Joiner // last: it changes on its own
}

func (e *Ending) empty() bool {
	return e.Staged == nil && len(e.Commit) == 0 && len(e.Welcome) == 0 && len(e.Aside) == 0 && len(e.Added) == 0
}

// Append appends what ParseEnding reads; nothing for what holds nothing.
func (e *Ending) Append(to []byte) []byte {
	if e.empty() {
		return to
	}
	return append(to, mustMarshal(&endingForm{Commit: e.Commit, Welcome: e.Welcome, Aside: e.Aside, Staged: e.Staged, Added: e.Added})...)
}

// Name names the ending by what it holds.
func (e *Ending) Name() [32]byte { return e.of(e.Append) }

// ParseEnding reads what Append wrote. It fails with ErrPart.
func ParseEnding(b []byte) (*Ending, error) {
	if len(b) == 0 {
		return &Ending{}, nil
	}
	var f endingForm
	if cbor.Unmarshal(b, &f) != nil {
		return nil, ErrPart
	}
	return &Ending{Commit: f.Commit, Welcome: f.Welcome, Aside: f.Aside, Staged: f.Staged, Added: f.Added, named: nameOf(b)}, nil
}

// Faces is the roster that the author of a message saw: as large as the group, and the
// same for all that is said in an epoch.
type Faces struct {
	Leaves []roster.Leaf
	named
}

// Append appends what ParseFaces reads.
func (f *Faces) Append(to []byte) []byte { return append(to, mustMarshal(f.Leaves)...) }

// Name names the roster by what it holds.
func (f *Faces) Name() [32]byte { return f.of(f.Append) }

// ParseFaces reads what Append wrote. It fails with ErrPart.
func ParseFaces(b []byte) (*Faces, error) {
	f := &Faces{named: nameOf(b)}
	if cbor.Unmarshal(b, &f.Leaves) != nil {
		return nil, ErrPart
	}
	return f, nil
}

// Faces is Saw, to be kept on its own.
func (m *Message) Faces() *Faces {
	if f := m.faces; f != nil && len(f.Leaves) == len(m.Saw) && (len(m.Saw) == 0 || &f.Leaves[0] == &m.Saw[0]) {
		return f // it is what was read
	}
	m.faces = &Faces{Leaves: m.Saw}
	return m.faces
}

// Show sets Saw, which is shared then.
func (m *Message) Show(f *Faces) { m.Saw, m.faces = f.Leaves, f }

// ErrPart: a part of an epoch is not what was written.
var ErrPart = errors.New("part of an epoch is damaged")

// of is the name of what write appends.
func (n *named) of(write func([]byte) []byte) [32]byte {
	if n.size == 0 {
		*n = nameOf(write(nil))
	}
	return n.name
}

func nameOf(b []byte) named { return named{sha256.Sum256(b), len(b)} }

func mustMarshal(v any) []byte {
	b, err := cbor.Marshal(v)
	if err != nil {
		panic("group: " + err.Error()) // fixed types: it cannot fail
	}
	return b
}

// shelfSize is how many bytes of parts a Shelf keeps, as they are written. The newest is
// kept whatever its size.
const shelfSize = 8 << 20

// Shelf keeps parts that were read or written lately in memory, by name: what a store of
// epochs needs so that a message does not have it read a megabyte. No secret is on it: a
// Basis has none, and an Ending with an own commit, which leads to the next epoch, is not
// kept. The zero value is an empty one. It is safe for use by several goroutines.
type Shelf struct {
	mu    sync.Mutex
	parts map[[32]byte]*list.Element
	order list.List // of shelved, newest first
	size  int
}

type shelved struct {
	name [32]byte
	size int
	part any
}

// Basis finds a basis by its name, or parses what read gives.
func (s *Shelf) Basis(name [32]byte, read func() ([]byte, error)) (*Basis, error) {
	return part(s, name, read, ParseBasis)
}

// Ending finds an ending by its name, or parses what read gives.
func (s *Shelf) Ending(name [32]byte, read func() ([]byte, error)) (*Ending, error) {
	return part(s, name, read, ParseEnding)
}

// Faces finds a roster by its name, or parses what read gives.
func (s *Shelf) Faces(name [32]byte, read func() ([]byte, error)) (*Faces, error) {
	return part(s, name, read, ParseFaces)
}

// KeepFaces keeps a roster that was written.
func (s *Shelf) KeepFaces(f *Faces) { name := f.Name(); s.put(name, f.size, f) }

// KeepBasis keeps a basis that was written.
func (s *Shelf) KeepBasis(b *Basis) { name := b.Name(); s.put(name, b.size, b) }

// KeepEnding keeps an ending that was written, if it may.
func (s *Shelf) KeepEnding(e *Ending) { name := e.Name(); s.put(name, e.size, e) }

// Clear forgets all.
func (s *Shelf) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.size = nil, 0
	s.order.Init()
}

func part[T any](s *Shelf, name [32]byte, read func() ([]byte, error), parse func([]byte) (T, error)) (v T, err error) {
	if p, ok := s.get(name).(T); ok {
		return p, nil
	}
	b, err := read()
	if err != nil {
		return v, err
	}
	if sha256.Sum256(b) != name {
		return v, ErrPart
	}
	if v, err = parse(b); err == nil {
		s.put(name, len(b), v)
	}
	return v, err
}

func (s *Shelf) get(name [32]byte) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.parts[name]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(shelved).part
}

func (s *Shelf) put(name [32]byte, size int, part any) {
	if e, ok := part.(*Ending); ok && e.Staged != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[name] != nil {
		return
	}
	if s.parts == nil {
		s.parts = map[[32]byte]*list.Element{}
	}
	s.parts[name] = s.order.PushFront(shelved{name, size, part})
	s.size += size
	for s.size > shelfSize && s.order.Len() > 1 {
		last := s.order.Remove(s.order.Back()).(shelved)
		delete(s.parts, last.name)
		s.size -= last.size
	}
}
