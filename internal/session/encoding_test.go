package session

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/pqxdh"
)

func TestMalformedHellosAreRefused(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	_, h, err := Start(stream("x"), a.self, b.peer(x), offer, "Ann", block(0))
	if err != nil {
		t.Fatal(err)
	}
	good := ok[[]byte](t)(h.Append(nil))
	edit := func(at int, to ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return b
	}
	manifest := len(a.self.Manifest.Append(nil))
	initial := 4 + manifest
	route := initial + pqxdh.InitialSize
	name := route + 1 + len(offer)
	for what, b := range map[string][]byte{
		"nothing":                  {},
		"only a suite":             good[:1],
		"up to the manifest":       good[:4],
		"up to the handshake":      good[:initial],
		"up to the route":          good[:route],
		"up to the name":           good[:name],
		"one byte short":           good[:len(good)-1],
		"one byte more":            append(bytes.Clone(good), 0),
		"too large":                make([]byte, MaxHello+1),
		"manifest too long":        edit(2, 0xff, 0xff),
		"manifest too short":       edit(2, 0, 9),
		"two suites":               edit(initial, 1),
		"no route":                 append(append(bytes.Clone(good[:route]), 0), good[name:]...),
		"route that takes all":     edit(route, 255),
		"name too long":            edit(name, 65),
		"name that is not UTF-8":   edit(name+1, 0xff),
		"manifest that is not one": edit(4, 9),
	} {
		if len(b) > MaxHello {
			b[0] = pqxdh.Suite
		}
		if _, err := ParseHello(b); !errors.Is(err, ErrHello) {
			t.Errorf("%s: got %v, want %v", what, err, ErrHello)
		}
	}
}

func TestMalformedSessionsAreRefused(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	s, _, _ := meet(t, a, b, b.ask(t, "b", true))
	good := s.Append(nil)
	edit := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for what, b := range map[string][]byte{
		"nothing":                            nil,
		"only the head":                      good[:stateHead],
		"half of the head":                   good[:stateHead-1],
		"one byte short":                     good[:len(good)-1],
		"one byte more":                      append(bytes.Clone(good), 0),
		"another version":                    edit(0, 3),
		"a suite that the ratchet is not of": edit(0, 1),
		"the ratchet of another suite":       edit(stateHead, 1),
		"neither end":                        edit(1, 2),
		"ratchet of a future":                edit(stateHead, 3),
	} {
		if _, err := Parse(b); !errors.Is(err, ErrState) {
			t.Errorf("%s: got %v, want %v", what, err, ErrState)
		}
	}
}

func FuzzParseHello(f *testing.F) {
	a, b := newPerson(f, "ann", 1), newPerson(f, "bob", 1)
	x := b.ask(f, "b", true)
	for _, name := range []string{"", "Ann"} {
		_, h, err := Start(stream("x"), a.self, b.peer(x), offer, name, block(0))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ok[[]byte](f)(h.Append(nil)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ParseHello(data)
		if err != nil {
			return
		}
		if got, err := h.Append(nil); err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %x, %v, want %x", got, err, data)
		}
		Accept(stream("fuzz"), now, b.self, x.private, x.public, bundle, h)
	})
}

func FuzzParse(f *testing.F) {
	a, b := newPerson(f, "ann", 1), newPerson(f, "bob", 1)
	sa, sb, _ := meet(f, a, b, b.ask(f, "b", true))
	f.Add(sa.Append(nil))
	f.Add(sb.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
	})
}

// FuzzOpen gives a session any bytes in place of a message.
func FuzzOpen(f *testing.F) {
	a, b := newPerson(f, "ann", 1), newPerson(f, "bob", 1)
	sa, sb, _ := meet(f, a, b, b.ask(f, "b", true))
	good := ok[[]byte](f)(sa.Seal(stream("x"), block(1)))
	f.Add(good)
	f.Add(good[1:])
	f.Fuzz(func(t *testing.T, data []byte) {
		before := sb.Append(nil)
		s := sb.Clone()
		_, err := s.Open(stream("fuzz"), now, data)
		if bytes.Equal(data, good) {
			if err != nil {
				t.Errorf("got %v, want no error", err)
			}
			return
		}
		if err != ErrOpen || !bytes.Equal(s.Append(nil), before) {
			t.Errorf("got %v and maybe another state, want %v and no change", err, ErrOpen)
		}
	})
}
