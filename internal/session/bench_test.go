package session

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
)

// BenchmarkSealOpen is one message of a running chain, sealed and opened.
func BenchmarkSealOpen(b *testing.B) {
	p, q := newPerson(b, "ann", 1), newPerson(b, "bob", 1)
	x := q.ask(b, "b", true)
	from, to, _ := meet(b, p, q, x)
	text := block(1)
	for b.Loop() {
		if from.Room() == 0 {
			from, to, _ = meet(b, p, q, x)
		}
		m, err := from.Seal(rand.Reader, text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := to.Open(rand.Reader, now, m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSealOpenTurn is one message that answers another, sealed and opened:
// the DH ratchet turns with each. Reading and writing both ends is in it, as a
// device does it for every message.
func BenchmarkSealOpenTurn(b *testing.B) {
	b.Run("suite 2", func(b *testing.B) {
		p, q := newPerson(b, "ann", 1), newPerson(b, "bob", 1)
		from, to, _ := meet(b, p, q, q.ask(b, "b", true))
		turns(b, from, to)
	})
	b.Run("suite 1", func(b *testing.B) {
		ends := [2]*Session{}
		for _, a := range frozenAnswers(b, katSuite1) {
			switch a.Name {
			case "initiator at the end":
				ends[0] = ok[*Session](b)(Parse(ok[[]byte](b)(hex.DecodeString(a.Hex))))
			case "responder at the end":
				ends[1] = ok[*Session](b)(Parse(ok[[]byte](b)(hex.DecodeString(a.Hex))))
			}
		}
		turns(b, ends[0], ends[1])
	})
}

func turns(b *testing.B, from, to *Session) {
	text, disks := block(1), [2][]byte{from.Append(nil), to.Append(nil)}
	for b.Loop() {
		from, err := Parse(disks[0])
		if err != nil {
			b.Fatal(err)
		}
		m, err := from.Seal(rand.Reader, text)
		if err != nil {
			b.Fatal(err)
		}
		disks[0] = from.Append(disks[0][:0])
		to, err := Parse(disks[1])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := to.Open(rand.Reader, now, m); err != nil {
			b.Fatal(err)
		}
		disks[1] = to.Append(disks[1][:0])
		disks[0], disks[1] = disks[1], disks[0]
	}
}

func BenchmarkStart(b *testing.B) {
	p, q := newPerson(b, "ann", 1), newPerson(b, "bob", 1)
	peer := q.peer(q.ask(b, "b", true))
	for b.Loop() {
		if _, _, err := Start(rand.Reader, p.self, peer, offer, "Ann", block(0)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccept(b *testing.B) {
	p, q := newPerson(b, "ann", 1), newPerson(b, "bob", 1)
	x := q.ask(b, "b", true)
	_, h, err := Start(rand.Reader, p.self, q.peer(x), offer, "Ann", block(0))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := Accept(rand.Reader, now, q.self, x.private, x.public, bundle, h); err != nil {
			b.Fatal(err)
		}
	}
}
