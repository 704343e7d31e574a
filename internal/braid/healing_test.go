package braid

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// thief stole both ends' states at one moment and reads every field from then on.
type thief struct{ a, b *State }

// reads reports whether the thief gets the key of a message: by receiving it or
// by sending it in its maker's place.
func (w *thief) reads(t *testing.T, fromA bool, p post) bool {
	from, to := &w.a, &w.b
	if !fromA {
		from, to = to, from
	}
	known := bytes.Equal(send(t, *from, stream("thief")).key, p.key)
	c := (*to).Clone()
	k, err := c.Receive(start, p.field[:])
	if err != nil {
		return known
	}
	*to = c
	return known || bytes.Equal(k.Bytes(), p.key)
}

// TestTwoEpochsHeal: whoever has the states of both ends, and reads everything,
// has no key two epochs later. What was under way at the theft is the thief's:
// one epoch more, at most.
func TestTwoEpochsHeal(t *testing.T) {
	a, b := pair(t, "healing")
	r := stream("healing")
	at := map[phase]bool{}
	next := 0
	for moment := range 14 {
		for range 7 { // each theft at another point of an epoch
			receives(t, b, start, send(t, a, r))
			receives(t, a, start, send(t, b, r))
		}
		at[a.phase], at[b.phase] = true, true
		w := thief{again(t, a), again(t, b)}
		x, y := a.Clone(), b.Clone()
		stolen := min(x.Epoch(), y.Epoch())
		known, all := map[uint64]int{}, map[uint64]int{}
		for n := 0; x.Epoch() < stolen+4; n++ {
			if n > 500 {
				t.Fatalf("theft %d: got epoch %d after 500 turns, want %d", moment, x.Epoch(), stolen+4)
			}
			for _, fromA := range []bool{true, false} {
				from, to := x, y
				if !fromA {
					from, to = y, x
				}
				p := send(t, from, r)
				m, _ := parseField(p.field[:])
				receives(t, to, start, p)
				epoch := uint64(m.epoch) - stolen
				all[epoch]++
				if w.reads(t, fromA, p) {
					known[epoch]++
				}
			}
		}
		if known[0] != all[0] || all[0] == 0 && all[1] == 0 {
			t.Errorf("theft %d: got %d of %d keys of the epoch, want all: the thief is no good", moment, known[0], all[0])
		}
		next += known[1]
		for epoch := uint64(2); epoch < 4; epoch++ {
			if known[epoch] != 0 || all[epoch] == 0 {
				t.Errorf("theft %d: got %d of %d keys %d epochs later, want none", moment, known[epoch], all[epoch], epoch)
			}
		}
	}
	if next == 0 || len(at) < 6 {
		t.Errorf("got %d keys of the epoch under way, thefts in %d phases, want some of both", next, len(at))
	}
}

// TestUsedKeysAreGone looks through written states for every key that was used.
func TestUsedKeysAreGone(t *testing.T) {
	a, b := pair(t, "gone")
	r := stream("gone")
	var used [][]byte
	for n := range 200 {
		p := send(t, a, r)
		if n%10 != 3 { // some are never received, and their keys are kept
			receives(t, b, start, p)
			used = append(used, p.key)
		}
		p = send(t, b, r)
		receives(t, a, start, p)
		used = append(used, p.key)
		for _, s := range []*State{a, b} {
			for _, k := range used[max(0, len(used)-50):] {
				if bytes.Contains(s.Append(nil), k) {
					t.Fatalf("round %d: got a key that was used", n)
				}
			}
		}
	}
	if b.Skipped() != 20 {
		t.Errorf("got %d keys set aside, want 20", b.Skipped())
	}
}

// TestSecretsOfAnEpochAreGone: once an epoch is complete, neither end has what
// its key came from.
func TestSecretsOfAnEpochAreGone(t *testing.T) {
	a, b := pair(t, "gone by epochs")
	r := stream("gone by epochs")
	kept := map[string]string{}
	note := func(name string, s *State, secrets ...[]byte) {
		for _, b := range secrets {
			if b != nil {
				kept[string(b)] = fmt.Sprintf("%s of epoch %d", name, s.epoch)
			}
		}
	}
	for _, s := range []*State{a, b} {
		note("root", s, s.chains.root.Bytes(), s.auth.root.Bytes(), s.auth.mac.Bytes())
	}
	for range 60 {
		receives(t, b, start, send(t, a, r))
		receives(t, a, start, send(t, b, r))
		for _, s := range []*State{a, b} {
			if s.epoch == 1 {
				note("seed or m", s, bytes.Clone(s.seed.Bytes()), bytes.Clone(s.m.Bytes()))
				note("chain", s, bytes.Clone(s.chains.send.Bytes()), bytes.Clone(s.chains.recv.Bytes()))
			}
		}
	}
	if len(kept) < 30 || a.Epoch() < 2 {
		t.Fatalf("got %d secrets, epoch %d, want more", len(kept), a.Epoch())
	}
	for secret, name := range kept {
		if bytes.Contains(a.Append(nil), []byte(secret)) || bytes.Contains(b.Append(nil), []byte(secret)) {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestWipeLeavesNothing(t *testing.T) {
	for name, b := range states(t) {
		s, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		var secrets [][]byte
		for _, k := range []key.Chain{s.chains.root, s.chains.send, s.chains.recv, s.chains.nextSend, s.chains.nextRecv} {
			secrets = append(secrets, k.Bytes())
		}
		secrets = append(secrets, s.auth.root.Bytes(), s.auth.mac.Bytes(), s.seed.Bytes(), s.m.Bytes())
		for i := range s.skipped.len() {
			secrets = append(secrets, s.skipped.at(i).k[:])
		}
		c := s.Clone()
		s.Wipe()
		for i, secret := range secrets {
			if len(bytes.Trim(secret, "\x00")) != 0 {
				t.Errorf("%s: secret %d is still there", name, i)
			}
		}
		if !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%s: got a clone that changed, want it as it was", name)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: wrote a state that was wiped", name)
				}
			}()
			s.Append(nil)
		}()
	}
}

// TestNothingPrintsASecret prints states with every verb, in places where fmt
// calls no methods.
func TestNothingPrintsASecret(t *testing.T) {
	s, err := Parse(states(t)["skipped"])
	if err != nil {
		t.Fatal(err)
	}
	type inside struct{ s *State }
	type deeper struct{ in inside }
	type value struct{ s State }
	k := s.skipped.at(0).k[:8]
	chain := s.chains.send.Bytes()[:8]
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%p"} {
		for _, v := range []any{s, *s, inside{s}, &inside{s}, deeper{inside{s}}, &deeper{inside{s}}, value{*s}, &value{*s}} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range [][]byte{k, chain} {
				for _, form := range []string{fmt.Sprintf(verb, secret), fmt.Sprint(secret)} {
					if form = string(bytes.Trim([]byte(form), "[]&{}")); len(form) > 20 && bytes.Contains([]byte(text), []byte(form)) {
						t.Errorf("%T printed with %s: got a secret in it", v, verb)
					}
				}
			}
		}
	}
}
