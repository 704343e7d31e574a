package addr

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// shared returns a string of n bytes that two of the texts have in common, or nil.
func shared(n int, texts [][]byte) []byte {
	owner := map[string]int{}
	for i, text := range texts {
		for j := 0; j+n <= len(text); j++ {
			piece := string(text[j : j+n])
			if k, ok := owner[piece]; ok && k != i {
				return []byte(piece)
			}
			owner[piece] = i
		}
	}
	return nil
}

func TestPeriodsHaveNothingInCommon(t *testing.T) {
	o, offer := route(t, "nothing in common")
	texts := [][]byte{offer.Append(nil)}
	for _, k := range []Kind{Live, Park} {
		c := NewChain(offer, k)
		for n := range uint64(50) {
			p := at(t, c, c.Base()+n)
			sig, err := p.Sign(o, stuck(1), []byte("the same message"))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, p.Address[:], p.Seal.Bytes(), sig[:])
		}
	}
	if got := shared(8, texts); got != nil {
		t.Errorf("two periods share %x", got)
	}
	// The planted control: eight bytes of one address inside another's seal key.
	planted := bytes.Clone(texts[20])
	copy(planted[11:19], texts[100][3:])
	texts[20] = planted
	if got := shared(8, texts); !bytes.Equal(got, planted[11:19]) {
		t.Errorf("planted common bytes: got %x, want %x", got, planted[11:19])
	}
}

// secrets returns s_t, the blinding factor and the seal key of n periods from
// the chain's base on.
func secrets(t testing.TB, c *Chain, n uint64) (list [][]byte) {
	t.Helper()
	for i := range n {
		p := at(t, c, c.Base()+i)
		s := advance(c.secret.Clone(), i)
		list = append(list, s.Bytes(), p.blind.Bytes(), p.Seal.Bytes())
	}
	return list
}

// betrays returns the first of the old secrets that state holds or that can be
// reached from its secret by the derivations that there are.
func betrays(state []byte, old [][]byte) []byte {
	reach := [][]byte{state}
	s := key.Derive[key.RouteRole](state[43:75], labelNext)
	for range 64 {
		blind := make([]byte, 64)
		key.KDF(blind, s.Bytes(), labelBlind)
		reach = append(reach, s.Bytes(), blind,
			key.Derive[key.SealRole](s.Bytes(), labelSeal).Bytes(),
			key.Derive[key.RouteRole](s.Bytes(), labelStart, []byte{1}).Bytes())
		s = key.Derive[key.RouteRole](s.Bytes(), labelNext)
	}
	for _, secret := range old {
		for _, r := range reach {
			if bytes.Contains(r, secret[:16]) {
				return secret
			}
		}
	}
	return nil
}

func TestForgottenPeriodsAreGone(t *testing.T) {
	for _, k := range []Kind{Live, Park} {
		_, offer := route(t, "forget")
		c := NewChain(offer, k)
		base := c.Base()
		old := secrets(t, c, 10)
		want := at(t, c, base+10)
		memory := c.secret.Bytes()

		c.Forget(base + 10)
		if c.Base() != base+10 {
			t.Fatalf("got base %d, want %d", c.Base(), base+10)
		}
		for n := base; n < base+10; n++ {
			if p, err := c.At(n); !errors.Is(err, ErrForgotten) {
				t.Errorf("period %d: got %v, %v, want %v", n, p, err, ErrForgotten)
			}
		}
		if got := at(t, c, base+10); got.Address != want.Address || !got.Seal.Equal(want.Seal) {
			t.Error("the period at the new base has changed")
		}
		if !bytes.Equal(memory, make([]byte, 32)) {
			t.Errorf("the old secret's memory holds %x, want zeros", memory)
		}
		if got := betrays(c.Append(nil), old); got != nil {
			t.Errorf("the state betrays an older secret")
		}
		// Planted: a state that kept one.
		if got := betrays(append(c.Append(nil), old[4]...), old); !bytes.Equal(got, old[4]) {
			t.Errorf("planted old secret: got %x, want %x", got, old[4])
		}
		// Planted: a state that was not moved on reaches them.
		_, again := route(t, "forget")
		if got := betrays(NewChain(again, k).Append(nil), old[3:]); got == nil {
			t.Error("a state from before betrays nothing, so this test shows nothing")
		}
		// A parsed state is as good as the chain, and no better.
		d, err := ParseChain(c.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.At(base + 9); !errors.Is(err, ErrForgotten) {
			t.Errorf("parsed state, period before: got %v, want %v", err, ErrForgotten)
		}
		if at(t, d, base+12).Address != at(t, c, base+12).Address {
			t.Error("a parsed state goes elsewhere")
		}
	}
}

func TestForgetOnlyMovesUp(t *testing.T) {
	_, offer := route(t, "up")
	c := NewChain(offer, Live)
	base := c.Base()
	c.Forget(base + 5)
	state := c.Append(nil)
	for _, n := range []uint64{0, base, base + 4, base + 5} {
		if c.Forget(n); !bytes.Equal(c.Append(nil), state) {
			t.Errorf("Forget(%d) changed the state", n)
		}
	}
	other := NewChain(offer, Live)
	for n := range uint64(6) {
		other.Forget(base + n)
	}
	if !bytes.Equal(other.Append(nil), state) {
		t.Error("moving in steps ends elsewhere than moving at once")
	}
}

func TestFarPeriodsCostNothing(t *testing.T) {
	_, offer := route(t, "far")
	c := NewChain(offer, Live)
	for _, n := range []uint64{c.Base() + MaxAhead + 1, MaxPeriod, 1<<64 - 1} {
		if _, err := c.At(n); !errors.Is(err, ErrFar) {
			t.Errorf("period %d: got %v, want %v", n, err, ErrFar)
		}
	}
	p := at(t, c, c.Base()+MaxAhead)
	base := c.Base()
	c.Forget(1<<64 - 1)
	if c.Base() != base+MaxAhead {
		t.Fatalf("got base %d, want %d", c.Base(), base+MaxAhead)
	}
	if at(t, c, c.Base()).Address != p.Address {
		t.Error("Forget and At disagree")
	}
}

func TestClonesAndOffersStandAlone(t *testing.T) {
	_, offer := route(t, "alone")
	c := NewChain(offer, Live)
	want := at(t, c, c.Base()).Address
	d := c.Clone()
	offer.Secret.Wipe()
	c.Forget(c.Base() + 1)
	c.Wipe()
	if _, err := c.At(c.Base()); !errors.Is(err, ErrForgotten) {
		t.Errorf("wiped chain: got %v, want %v", err, ErrForgotten)
	}
	if _, err := ParseChain(c.Append(nil)); !errors.Is(err, ErrState) {
		t.Errorf("state of a wiped chain: got %v, want %v", err, ErrState)
	}
	if got := at(t, d, d.Base()).Address; got != want {
		t.Errorf("clone: got %x, want %x", got, want)
	}
	if d.Kind() != Live || d.Public() != offer.Public {
		t.Errorf("clone: got kind %d, public %x", d.Kind(), d.Public())
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	o, offer := route(t, "print")
	c := NewChain(offer, Live)
	p := at(t, c, c.Base())
	secret := [][]byte{offer.Secret.Bytes(), c.secret.Bytes(), p.Seal.Bytes(), p.blind.Bytes(), o.Bytes()}
	for _, v := range []any{offer, *offer, c, *c, p, *p, o} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s", "%d"} {
			text := fmt.Sprintf(verb, v)
			for _, s := range secret {
				for _, form := range []string{fmt.Sprintf("%x", s[:4]), fmt.Sprintf("%d %d %d", s[0], s[1], s[2]), fmt.Sprintf("%#v", s[:3])[7:]} {
					if bytes.Contains([]byte(text), []byte(form[:len(form)-1])) {
						t.Errorf("%T printed with %s shows a secret", v, verb)
					}
				}
			}
		}
	}
}
