package mls

import (
	"fmt"
	"testing"
)

var benchSizes = []int{2, 16, 128, 1000}

// BenchmarkMessage is a message of 200 bytes, padded with 800: reserved, signed and
// sealed, or opened, verified and its key deleted.
func BenchmarkMessage(b *testing.B) {
	for _, s := range []Suite{SuiteX25519AES128, SuiteX25519ChaCha, SuiteP256AES128} {
		for _, n := range benchSizes {
			e := newTestEpoch(b, s, n, 1)
			from, to := e.members[1], e.members[0]
			text := string(make([]byte, 200))
			b.Run(fmt.Sprintf("suite=%d/members=%d/encrypt", s, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e.say(b, from, text, 800)
				}
			})
			// What was sealed above the receiver never sees: it starts where the
			// sender is.
			to.tree.edit(1, func(r *[ratchetKinds]ratchet) {
				for g := from.tree.next(1, applicationRatchet); r[applicationRatchet].next < g; {
					r[applicationRatchet].step(e.suite.params())
				}
			})
			b.Run(fmt.Sprintf("suite=%d/members=%d/decrypt", s, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					pm := e.say(b, from, text, 800)
					b.StartTimer()
					if _, err := to.open(pm); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFirstMessage opens the first message of a member, in a clone that is then
// dropped.
func BenchmarkFirstMessage(b *testing.B) {
	for _, n := range benchSizes {
		e := newTestEpoch(b, SuiteX25519ChaCha, n, 1)
		pm := e.say(b, e.members[1], "", 0)
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := e.members[0].clone()
				if _, err := c.open(pm); err != nil {
					b.Fatal(err)
				}
				c.drop()
			}
		})
	}
}
