package convo_test

import (
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/client/internal/convo"
)

// Two who both have as much on the way as may be sealed, and write on before
// they ack, must not wait for each other: every cell arrives here, and once.
func TestAcksDoNotWaitBehindWhatWaitsForAcks(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for i := range convo.MaxSealed {
		a.send(ofA, fmt.Sprint("a", i))
		b.send(ofB, fmt.Sprint("b", i))
	}
	once := func(p *person) []parcel {
		all := p.outgoing()
		clear(p.ready)
		return all
	}
	fromA, fromB := once(a), once(b)
	for _, x := range fromA {
		b.take(ofB, x)
	}
	for _, x := range fromB {
		a.take(ofA, x)
	}
	for i := range convo.MaxSealed/convo.AcksRiding + 1 {
		a.send(ofA, fmt.Sprint("and a", i))
		b.send(ofB, fmt.Sprint("and b", i))
	}
	for range 10 {
		for _, x := range append(once(a), a.acks(ofA)...) {
			b.take(ofB, x)
		}
		for _, x := range append(once(b), b.acks(ofB)...) {
			a.take(ofA, x)
		}
	}
	if x, y := a.waiting(ofA), b.waiting(ofB); x != 0 || y != 0 {
		t.Errorf("got %d and %d messages that wait, want none", x, y)
	}
}
