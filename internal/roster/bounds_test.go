package roster

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// follow commits with nothing but the maker's own path, n times, and returns how often
// that was taken.
func (w *town) follow(makers []Leaf, n int) int {
	for i := range n {
		binary.BigEndian.PutUint64(w.commit.Slot.ID[:], uint64(1_000+len(w.commit.State.Past))<<32|uint64(w.ids)<<16|uint64(i))
		w.commit.Maker = makers[i%len(makers)]
		p, err := Apply(w.commit)
		if err != nil {
			return i
		}
		w.commit.State = p.State
	}
	return n
}

// withDevices is a person with more devices than one manifest names: others of the same
// root name more.
func withDevices(t *testing.T, n uint64, devices int) *person {
	p := newPerson(t, n, 1)
	for i := range uint64(devices - 1) {
		p.devices = append(p.devices, secret[key.SignRole](t, n, 4, i))
	}
	return p
}

// TestNobodyRunsAChain: however many devices they have, a person who is no admin makes
// one of nine commits, and an admin who has somebody above them eight in a row; anybody
// else ends the row.
func TestNobodyRunsAChain(t *testing.T) {
	w := newTown(t)
	nine := withDevices(t, 77, 9)
	var leaves []Leaf
	for i := range 9 {
		leaves = append(leaves, nine.leaf(uint32(10+i), i))
	}
	w.commit.Leaves = append(w.commit.Leaves, leaves...)
	if n := w.follow(leaves, 100); n != 1 {
		t.Errorf("a member with nine devices made %d commits in a row, want 1", n)
	}
	w.ids++
	if n := w.follow([]Leaf{w.bob.leaf(2, 0)}, 100); n != Between {
		t.Errorf("a junior admin made %d commits in a row, want %d", n, Between)
	}
	if r, ok := w.commit.State.Row(w.commit.Leaves); !ok || r != w.bob.Root() {
		t.Errorf("the row is told to be %v of %x, want bob's", ok, r[:4])
	}
	w.ids++
	if n := w.follow(leaves[3:4], 1); n != 1 {
		t.Error("a member, who did not commit lately, could not end the row")
	}
	if _, ok := w.commit.State.Row(w.commit.Leaves); ok {
		t.Error("there is a row still")
	}
	w.ids++
	if n := w.follow([]Leaf{w.bob.leaf(2, 0)}, 1); n != 1 {
		t.Error("the junior admin is not let go on once the row is ended")
	}
	w.ids++
	if n := w.follow([]Leaf{w.ada.leaf(0, 0), w.ada.leaf(1, 1)}, 100); n != 100 {
		t.Errorf("the most senior admin made %d commits in a row, want 100", n)
	}
	if _, ok := w.commit.State.Row(w.commit.Leaves); ok {
		t.Error("nobody can want the most senior admin out: that is no row")
	}
}

// TestRowOfTheLastAdmin: an admin whose seniors have no leaf is the most senior there is.
func TestRowOfTheLastAdmin(t *testing.T) {
	w := newTown(t)
	w.commit.Leaves = w.commit.Leaves[2:] // Ada has left, or is not in a successor yet
	if n := w.follow([]Leaf{w.bob.leaf(2, 0)}, 30); n != 30 {
		t.Errorf("the only admin made %d commits, want 30", n)
	}
}

// TestRoom: a person has so many leaves at most, and a group as many as its slots hold,
// whoever wishes more; who is added again takes no new place.
func TestRoom(t *testing.T) {
	many := withDevices(t, 78, MaxLeavesOf+2)
	full := func(t *testing.T) *town {
		w := newTown(t)
		for i := range MaxLeavesOf - 1 {
			w.commit.Leaves = append(w.commit.Leaves, many.leaf(uint32(10+i), i))
		}
		return w
	}
	add := func(w *town, by *person, i int) *Wish {
		return w.wish(by, 0, Wish{Kind: Add, Root: many.Root(), Device: many.Device(i), Package: []byte{1}})
	}
	check := func(t *testing.T, w *town, want error, wishes ...*Wish) {
		t.Helper()
		Sort(wishes)
		w.commit.Wishes = wishes
		if _, err := Apply(w.commit); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	w := full(t)
	check(t, w, nil, add(w, many, MaxLeavesOf-1))
	w = full(t)
	check(t, w, ErrBounds, add(w, many, MaxLeavesOf-1), add(w, w.ada, MaxLeavesOf))
	w = full(t)
	again := w.wish(w.ada, 0, Wish{Kind: ReAdd, Root: many.Root(), Device: many.Device(0), Package: []byte{1}})
	check(t, w, nil, again, add(w, many, MaxLeavesOf-1))
	w = full(t)
	w.commit.Most = len(w.commit.Leaves)
	check(t, w, ErrBounds, add(w, w.ada, MaxLeavesOf-1))
	w = full(t)
	w.commit.Most = len(w.commit.Leaves)
	gone := w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.cyd.Root()})
	check(t, w, nil, gone, add(w, w.ada, MaxLeavesOf-1))
	var none key.SignPublic
	if (&State{}).eldest(nil) != none {
		t.Error("there is a most senior admin where there is none")
	}
}
