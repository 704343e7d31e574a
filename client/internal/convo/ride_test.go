package convo_test

import (
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
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

// An ack whose process ends before its put was answered is owed again: the other
// end may rest for minutes before it repeats what a live device has.
func TestAnAckThatMayNotHaveLeftIsOwedAgain(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	restart := func() { b.do(func(tx vault.Store) (*convo.Change, error) { return nil, tx.Recall() }) }
	b.put(ofB)
	a.send(ofA, "are you there?")
	for _, x := range a.outgoing() {
		b.take(ofB, x)
	}
	if got := b.acks(ofB); len(got) != 1 {
		t.Fatalf("got %d acks, want 1", len(got))
	}
	if got := b.acks(ofB); len(got) != 0 {
		t.Errorf("got %d acks while one is on its way, want none", len(got))
	}
	restart()
	if got := b.put(ofB); len(got) != 1 {
		t.Errorf("got %d acks after a restart, want 1", len(got))
	}
	restart()
	if got := b.acks(ofB); len(got) != 0 {
		t.Errorf("got %d acks after one that left, want none", len(got))
	}
}

// put is acks that are answered.
func (p *person) put(id int64) (out []parcel) {
	p.do(func(tx vault.Store) (*convo.Change, error) {
		for {
			a, err := p.e.Acks(tx, p.now, id)
			if err != nil || a == nil {
				return nil, err
			}
			if err := p.e.Put(tx, a); err != nil {
				return nil, err
			}
			out = append(out, parcel{m: a.Message, payload: a.Payload})
		}
	})
	return out
}
