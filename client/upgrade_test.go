package client

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// storedBefore makes the person's only session one that an earlier version
// stored, of suite 1, and starts the client anew: its vault is as that version
// left it.
func (p *person) storedBefore(name string) {
	p.t.Helper()
	raw, err := os.ReadFile("../internal/session/testdata/conversation.json")
	if err != nil {
		p.t.Fatal(err)
	}
	var frozen []struct{ Name, Hex string }
	if err := json.Unmarshal(raw, &frozen); err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(frozen, func(f struct{ Name, Hex string }) bool { return f.Name == name+" at the end" })
	state, err := hex.DecodeString(frozen[i].Hex)
	if err != nil {
		p.t.Fatal(err)
	}
	err = p.vault.Update(p.t.Context(), func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		all, err := s.SessionsOf(1)
		for _, o := range all {
			err = errors.Join(err, s.DeleteSession(o.ID))
		}
		// Numbers as in the file: two messages and the hello from one end, three from the other.
		sent, highest := uint32(2), uint32(3)
		if name == "responder" {
			sent, highest = highest, sent
		}
		return errors.Join(err, s.PutSession(&contact.SessionRecord{
			Contact: 1, State: state, Initiator: name == "initiator", Sent: sent, Highest: highest, Primary: true, Born: time.Now().Unix(),
		}))
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.stop()
	p.start()
}

// suite returns the suite of the session that the person writes in.
func (p *person) suite() (suite byte) {
	p.t.Helper()
	err := p.vault.View(p.t.Context(), func(tx *vault.Tx) error {
		all, err := vault.Store{Tx: tx}.SessionsOf(1)
		for _, s := range all {
			if s.Primary {
				suite = s.Suite()
			}
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return suite
}

// TestClientsOfAnEarlierVersionMoveToTheNewestSuite opens two vaults that an
// earlier version wrote. Both clients run, one is away for a day, or one is
// stopped and started over and over meanwhile: in the end both write in suite 2,
// nothing was lost or shown twice, and nobody was told a word.
func TestClientsOfAnEarlierVersionMoveToTheNewestSuite(t *testing.T) {
	for what, meanwhile := range map[string]func(a, b *person){
		"both are there": func(a, b *person) {},
		"one is away":    func(a, b *person) { b.stop(); time.Sleep(26 * time.Hour); b.start() },
		"one is stopped and started": func(a, b *person) {
			for i := range 12 {
				b.stop()
				time.Sleep(time.Duration(i) * 700 * time.Millisecond)
				b.start()
				time.Sleep(time.Duration(i) * 500 * time.Millisecond)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRealm(3600)
				a, b := r.join(t, "Ada"), r.join(t, "Bob")
				meet(t, a, b)
				settled(time.Hour, a, b)
				told := len(a.texts(Told)) + len(b.texts(Told))
				a.storedBefore("initiator")
				b.storedBefore("responder")
				if a.suite() != 1 {
					t.Fatalf("got suite %d, want 1: it may begin again once Bob has spoken", a.suite())
				}
				var sent []Event
				for i := range 3 {
					sent = append(sent, a.send("bob", fmt.Sprint("a", i)))
					if i == 0 {
						meanwhile(a, b)
					}
					sent = append(sent, b.send("ada", fmt.Sprint("b", i)))
					time.Sleep(time.Minute)
				}
				for hours := 0; hours < 72 && (a.suite() != 2 || b.suite() != 2); hours++ {
					time.Sleep(time.Hour)
				}
				if x, y := a.suite(), b.suite(); x != 2 || y != 2 {
					t.Fatalf("got suites %d and %d three days later, want 2", x, y)
				}
				sent = append(sent, a.send("bob", "a3"), b.send("ada", "b3"))
				settled(3*time.Hour, a, b)
				for i, e := range sent {
					p := []*person{a, b}[i%2]
					if got := p.state(e); got != OnDevice {
						t.Errorf("%q: got state %v, want %v", e.Text, got, OnDevice)
					}
				}
				for p, from := range map[*person]string{a: "b", b: "a"} {
					got := slices.DeleteFunc(p.texts(Received), func(s string) bool { return s == "hello" })
					slices.Sort(got)
					if want := from + "0 " + from + "1 " + from + "2 " + from + "3"; strings.Join(got, " ") != want {
						t.Errorf("%s reads %q, want each of %s once", p.name, got, want)
					}
				}
				if got := len(a.texts(Told)) + len(b.texts(Told)); got != told {
					t.Errorf("got notices %q and %q, want none about it", a.texts(Told), b.texts(Told))
				}
			})
		})
	}
}
