package mlspeer

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/mls"
)

// world is one group, those in it, and those outside.
type world struct {
	*testing.T
	rng    *rand.Rand
	suite  uint16
	people []*person
	most   int            // members
	trace  []string       // what has happened
	counts map[string]int // how often
	cannot *tally         // what ts-mls cannot do, and how often that stood in the way

	orphans map[*person]uint32 // leaves of those who were added and could not join
	late    []letter           // sent in the last epoch, and not yet delivered
}

type person struct {
	actor
	name  string
	seat  seat   // nil: outside
	since uint64 // the epoch of joining
}

// letter is an application message on its way.
type letter struct {
	from     *person
	to       []*person
	data, ad []byte
	message  []byte
}

// did notes one thing that happened.
func (w *world) did(what, format string, args ...any) {
	w.counts[what]++
	w.trace = append(w.trace, what+": "+fmt.Sprintf(format, args...))
}

// must ends the test with what led there.
func (w *world) must(err error) {
	w.Helper()
	if err == nil {
		return
	}
	if r := (*Refused)(nil); errors.As(err, &r) {
		err = fmt.Errorf("%w\n%s", err, r.Stack)
	}
	w.Fatalf("%v\nafter:\n  %s", err, strings.Join(w.trace[max(0, len(w.trace)-25):], "\n  "))
}

func (w *world) bytes(b []byte, err error) []byte { w.Helper(); w.must(err); return b }

func (w *world) chance(in int) bool { return w.rng.IntN(in) == 0 }

func pick[T any](w *world, list []T) T { return list[w.rng.IntN(len(list))] }

// in are the members, in the order of people; out are the others.
func (w *world) in() []*person {
	return slices.DeleteFunc(slices.Clone(w.people), func(p *person) bool { return p.seat == nil })
}

func (w *world) out() []*person {
	return slices.DeleteFunc(slices.Clone(w.people), func(p *person) bool { return p.seat != nil })
}

func (w *world) others(not *person) []*person {
	return slices.DeleteFunc(w.in(), func(p *person) bool { return p == not })
}

// parse wants our codec to take a message of either side, and to give it back as it was.
func (w *world) parse(b []byte) {
	w.Helper()
	m, err := mls.ParseMessage(b)
	w.must(err)
	if got := m.Append(nil); !bytes.Equal(got, b) {
		w.must(fmt.Errorf("a message of %x is written as %x", b, got))
	}
	w.counts["message parsed"]++
}

// deliver gives a handshake message to members.
func (w *world) deliver(m []byte, to []*person) {
	w.Helper()
	w.parse(m)
	for _, p := range to {
		if _, err := p.seat.process(m); err != nil {
			w.must(fmt.Errorf("%s (%s): %w", p.name, p.kind(), err))
		}
	}
}

// check wants everybody to agree about everything.
func (w *world) check() {
	w.Helper()
	in := w.in()
	first := in[0].seat.see()
	secret := w.bytes(in[0].seat.export("tacet interop", []byte(fmt.Sprint(first.Epoch)), 40))
	leaves := map[uint32]string{}
	for _, p := range in {
		v := p.seat.see()
		switch {
		case v.Epoch != first.Epoch, !bytes.Equal(v.Group, first.Group), !bytes.Equal(v.Authenticator, first.Authenticator):
			w.must(fmt.Errorf("%s (%s) is at epoch %d with authenticator %x, %s (%s) at %d with %x", p.name, p.kind(), v.Epoch, v.Authenticator, in[0].name, in[0].kind(), first.Epoch, first.Authenticator))
		case !bytes.Equal(v.TreeHash, first.TreeHash), !bytes.Equal(v.Transcript, first.Transcript):
			w.must(fmt.Errorf("%s and %s differ in tree or transcript", p.name, in[0].name))
		case !slices.Equal(v.Members, first.Members), !slices.Contains(v.Members, v.Leaf), !equalExtensions(v.Extensions, first.Extensions):
			w.must(fmt.Errorf("%s sees %v %v, %s %v %v", p.name, v.Members, v.Extensions, in[0].name, first.Members, first.Extensions))
		case v.Proposals != 0:
			w.must(fmt.Errorf("%s has %d proposals left", p.name, v.Proposals))
		case leaves[v.Leaf] != "":
			w.must(fmt.Errorf("%s and %s have one leaf", p.name, leaves[v.Leaf]))
		}
		leaves[v.Leaf] = p.name
		if got := w.bytes(p.seat.export("tacet interop", []byte(fmt.Sprint(first.Epoch)), 40)); !bytes.Equal(got, secret) {
			w.must(fmt.Errorf("%s exports %x, %s %x", p.name, got, in[0].name, secret))
		}
	}
	if len(first.Members) != len(in)+len(w.orphans) {
		w.must(fmt.Errorf("%d members, want %d", len(first.Members), len(in)+len(w.orphans)))
	}
}

func equalExtensions(a, b []Extension) bool {
	return slices.EqualFunc(a, b, func(x, y Extension) bool { return x.Type == y.Type && bytes.Equal(x.Data, y.Data) })
}

// leftEmpty reports whether all of the left half of a tree is blank: ts-mls derives
// another commit secret then.
func leftEmpty(leaves []uint32) bool {
	width := width(leaves)
	return width > 1 && !slices.ContainsFunc(leaves, func(l uint32) bool { return l < width/2 })
}

func width(leaves []uint32) uint32 {
	w := uint32(1)
	for _, l := range leaves {
		for l >= w {
			w *= 2
		}
	}
	return w
}

// free is the leaf that the next addition gets.
func free(leaves []uint32) uint32 {
	for l := uint32(0); ; l++ {
		if !slices.Contains(leaves, l) {
			return l
		}
	}
}
