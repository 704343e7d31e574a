package pqxdh

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

func TestPrivateSurvivesWriting(t *testing.T) {
	b := newDevice(t, "b")
	for _, oneTime := range []bool{true, false} {
		v, p := b.prekeys(t, "prekeys", oneTime)
		w, err := ParsePrivate(v.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !w.fits(p) {
			t.Errorf("one-time %v: got private halves that do not fit, want the same as before", oneTime)
		}
		q, err := ParsePrekeys(p.Append(nil))
		if err != nil || *q != *p {
			t.Errorf("one-time %v: got other prekeys or %v, want the same as before", oneTime, err)
		}
	}
}

func TestMalformedBytesAreRefused(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", false)
	in, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	public, private, initial := p.Append(nil), v.Append(nil), in.Append(nil)
	if len(public) != PrekeysSize || len(private) != PrivateSize || len(initial) != InitialSize {
		t.Fatalf("got sizes %d, %d, %d, want %d, %d, %d", len(public), len(private), len(initial), PrekeysSize, PrivateSize, InitialSize)
	}
	for name, b := range map[string][]byte{
		"nothing":                 nil,
		"one byte short":          public[:PrekeysSize-1],
		"one byte more":           append(bytes.Clone(public), 0),
		"flag of 2":               edit(public, 96, 2),
		"key without a flag":      edit(public, 97, 1),
		"signature without a key": edit(public, 192, 1),
	} {
		if _, err := ParsePrekeys(b); !errors.Is(err, ErrPrekeys) {
			t.Errorf("prekeys, %s: got %v, want %v", name, err, ErrPrekeys)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":            nil,
		"one byte short":     private[:PrivateSize-1],
		"one byte more":      append(bytes.Clone(private), 0),
		"flag of 2":          edit(private, 32, 2),
		"key without a flag": edit(private, 64, 1),
	} {
		if _, err := ParsePrivate(b); !errors.Is(err, ErrPrekeys) {
			t.Errorf("private, %s: got %v, want %v", name, err, ErrPrekeys)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":                nil,
		"one byte short":         initial[:InitialSize-1],
		"one byte more":          append(bytes.Clone(initial), 0),
		"flag of 2":              edit(initial, 1, 2),
		"ephemeral not in field": edit(initial, 33, 0xff),
	} {
		if _, err := ParseInitial(b); !errors.Is(err, ErrInitial) {
			t.Errorf("initial, %s: got %v, want %v", name, err, ErrInitial)
		}
	}
}

func FuzzParsePrekeys(f *testing.F) {
	b := newDevice(f, "b")
	for _, oneTime := range []bool{true, false} {
		_, p := b.prekeys(f, "prekeys", oneTime)
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrekeys(data)
		if err != nil {
			return
		}
		if got := p.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
		p.Verify(key.SignPublic{})
	})
}

func FuzzParsePrivate(f *testing.F) {
	b := newDevice(f, "b")
	for _, oneTime := range []bool{true, false} {
		v, _ := b.prekeys(f, "prekeys", oneTime)
		f.Add(v.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParsePrivate(data)
		if err != nil {
			return
		}
		if got := v.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
	})
}

func FuzzParseInitial(f *testing.F) {
	f.Add((&Initial{Suite: Suite, Ephemeral: key.DHPublic{9}}).Append(nil))
	f.Add((&Initial{Suite: Suite, Ephemeral: key.DHPublic{9}, OneTime: true}).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseInitial(data)
		if err != nil {
			return
		}
		if got := in.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
	})
}

func BenchmarkInitiate(b *testing.B) {
	x, y := newDevice(b, "a"), newDevice(b, "b")
	_, p := y.prekeys(b, "prekeys", true)
	r := stream("x")
	for b.Loop() {
		if _, _, err := Initiate(r, x.party, x.dh, y.party, p, bundle); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRespond(b *testing.B) {
	x, y := newDevice(b, "a"), newDevice(b, "b")
	v, p := y.prekeys(b, "prekeys", true)
	in, _, err := Initiate(stream("x"), x.party, x.dh, y.party, p, bundle)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Respond(y.party, y.dh, v, p, bundle, x.party, in); err != nil {
			b.Fatal(err)
		}
	}
}
