package convo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// restart makes p lose its sessions with a contact, as if its disk had gone
// back, which it notices by two messages of theirs.
func restart(p, other *person, ofP, ofOther int64) {
	p.t.Helper()
	p.do(func(tx vault.Store) (*convo.Change, error) {
		all, err := tx.SessionsOf(ofP)
		for _, s := range all {
			if err == nil {
				err = tx.DeleteSession(s.ID)
			}
		}
		return nil, err
	})
	for range 2 {
		other.send(ofOther, "unreadable")
		for _, x := range other.outgoing() {
			p.take(ofP, x)
		}
		p.now = p.now.Add(time.Minute)
	}
	other.now = p.now
}

func TestAcksThatRodeDoNotLookLikeARollback(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for range 20 {
		a.send(ofA, "x")
	}
	settle(a, b, ofA, ofB)
	a.send(ofA, "one more")
	for _, x := range a.outgoing() {
		b.take(ofB, x)
	}
	b.send(ofB, "with its ack") // and is sealed again in the next session
	restart(b, a, ofB, ofA)
	settle(a, b, ofA, ofB)
	b.now, a.now = b.now.Add(2*time.Hour), a.now.Add(2*time.Hour)
	b.send(ofB, "on")
	a.send(ofA, "on")
	settle(a, b, ofA, ofB)
	for _, n := range []string{a.notices(ofA), b.notices(ofB)} {
		if strings.Contains(n, "went back") {
			t.Errorf("got notices %q, want none of storage that went back", n)
		}
	}
}
