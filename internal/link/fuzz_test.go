package link

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

// withCheck writes a code of any version.
func withCheck(relay string, b []byte) string {
	b = append(b, wire.LinkCheck(relay, b))
	return codeStart + relay + CodeMid + base64.RawURLEncoding.EncodeToString(b)
}

func FuzzCode(f *testing.F) {
	f.Add(Code{Relay: "relay.example"}.String())
	f.Add(withCheck("[::1]:8080", bytes.Repeat([]byte{1}, 17)))
	f.Fuzz(func(t *testing.T, in string) {
		c, err := ParseCode(in)
		if err != nil {
			return
		}
		again, err := ParseCode(c.String())
		if err != nil || again != c || len(c.String()) > MaxCode {
			t.Fatalf("%q is read, and what it is written as is not", in)
		}
	})
}

// FuzzMessages: what is inside of offers, answers, controls and states. What is
// read is written in one way.
func FuzzMessages(f *testing.F) {
	s := newScene(f)
	old, _ := s.finish(f)
	plain := make([]byte, plainSize)
	copy(plain, append(s.offer.body(nil), s.offer.sig[:]...))
	f.Add(bytes.Clone(plain))
	for _, c := range []Control{{Kind: Begin, Rows: 5}, {Kind: Admitted, Body: []byte("m")}} {
		blob, _ := old.SealDown(bytes.NewReader(make([]byte, 24)), 1, c)
		b, _ := old.down(1).open(blob)
		f.Add(b)
	}
	blob, _ := old.SealUp(bytes.NewReader(make([]byte, 24)), 1, Status{Phase: Linked, Next: 3})
	b, _ := old.up(1).open(blob)
	f.Add(b)
	zeros := bytes.NewReader(nil)
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > plainSize {
			return
		}
		full := make([]byte, plainSize)
		copy(full, in)
		if o, err := parseOffer(full); err == nil {
			out := make([]byte, plainSize)
			copy(out, append(o.body(nil), o.sig[:]...))
			if !bytes.Equal(out, full) {
				t.Fatal("an offer is written in two ways")
			}
		}
		same := func(p place, blob []byte, err error) {
			if err != nil {
				t.Fatalf("what was read is not written: %v", err)
			}
			out, err := p.open(blob)
			if err != nil || !bytes.Equal(out, full) {
				t.Fatal("a message is written in two ways")
			}
		}
		if c, err := parseControl(bytes.Clone(full)); err == nil {
			zeros.Reset(make([]byte, 24))
			blob, err := old.SealDown(zeros, 1, c)
			same(old.down(1), blob, err)
		}
		if st, err := parseStatus(bytes.Clone(full)); err == nil {
			zeros.Reset(make([]byte, 24))
			blob, err := old.SealUp(zeros, 1, st)
			same(old.up(1), blob, err)
		}
		parseInner(append(full, make([]byte, innerSize)...)[:innerSize], [32]byte{}, nil)
	})
}
