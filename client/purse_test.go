package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
)

// in runs a test in virtual time that begins at noon of a day.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12 * time.Hour) // synctest begins at midnight
		f(t)
	})
}

// long leaves a test out under the race detector, where a batch takes seconds and
// days of virtual time take minutes. What such a test has run at once, others do, too.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it is long, and not raced")
	}
}

// enter has somebody join a realm.
func (p *person) enter(r *realm) {
	p.t.Helper()
	who, err := p.Accept(p.t.Context(), AcceptOptions{Link: r.invite(1)})
	if err != nil || who.State != StateMember {
		p.t.Fatalf("joining: %+v, %v", who, err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (p *person) tokens(i int) RealmTokens {
	p.t.Helper()
	st, err := p.Status(p.t.Context())
	if err != nil || len(st.Realms) <= i {
		p.t.Fatalf("got %+v, %v, want realm %d", st, err, i)
	}
	return st.Realms[i]
}

func (p *person) online() bool {
	p.t.Helper()
	st, err := p.Status(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return st.Connected
}

// arrives waits until a message is on the other device.
func arrives(t *testing.T, p *person, to, text string) {
	t.Helper()
	e := p.send(to, text)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	if s := p.state(e); s != OnDevice {
		t.Errorf("%q is %s, want it on their device", text, s)
	}
}

func fair(t *testing.T, tolls ...*toll) {
	t.Helper()
	for _, g := range tolls {
		g.locked(func() {
			if g.double != 0 {
				t.Errorf("got %d tokens presented twice", g.double)
			}
		})
	}
}

// One link is all that a newcomer needs: it makes them a member, and a contact.
func TestNewcomerByOneLink(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada := settle(t, "Ada", r)
		ada.enter(r)
		if !ada.online() {
			t.Fatalf("got %+v, want a member to be connected", ada.tokens(0))
		}
		inv, err := ada.NewInvite(t.Context(), InviteOptions{})
		if err != nil || !inv.Member || !inv.Online {
			t.Fatalf("got %+v, %v, want an invite that brings a membership", inv, err)
		}
		bob := settle(t, "Bob", r)
		v, err := bob.Preview(t.Context(), inv.Link)
		if err != nil || !v.Member || v.Realm {
			t.Errorf("got %+v, %v, want it to be said", v, err)
		}
		var said []string
		who, err := bob.Accept(t.Context(), AcceptOptions{Link: inv.Link, Text: "hello", Progress: func(s string) { said = append(said, s) }})
		if err != nil {
			t.Fatal(err)
		}
		if len(said) < 2 {
			t.Errorf("got progress %q", said)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if who, _ = bob.contact(t.Context(), who.ID); who.State != "accepted" {
			t.Errorf("got %+v, want both to know each other", who)
		}
		arrives(t, ada, "Bob", "welcome")
		arrives(t, bob, "Ada", "thanks")
		if st := bob.tokens(0); !st.Member || !st.Home || !st.Linkable || st.Trouble != "" {
			t.Errorf("got %+v, want a member whose first hour is said to be linkable", st)
		}
		if g.used != 2 {
			t.Errorf("got %d uses of realm invites, want 2", g.used)
		}
		fair(t, g)
	})
}

func TestInviteIsNeeded(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada := settle(t, "Ada", r)
		ada.enter(r)
		outside, err := ada.NewInvite(t.Context(), InviteOptions{Outside: true})
		if err != nil || outside.Member {
			t.Fatalf("got %+v, %v", outside, err)
		}
		many, err := ada.NewInvite(t.Context(), InviteOptions{Uses: 5})
		if err != nil || many.Member {
			t.Fatalf("got %+v, %v", many, err)
		}
		// Where members may invite nobody the invite is made all the same, and says so.
		g.locked(func() { g.memberInvites = false })
		none, err := ada.NewInvite(t.Context(), InviteOptions{})
		if err != nil || none.Member || none.Note == "" || !none.Online {
			t.Errorf("got %+v, %v, want an invite without a membership, and why", none, err)
		}
		all, _ := ada.Invites(t.Context())
		if all = slices.DeleteFunc(all, func(i Invite) bool { return i.State != "open" }); len(all) != 3 {
			t.Errorf("got %d open invites, want 3", len(all))
		}
		bob := settle(t, "Bob", r)
		for _, link := range []string{outside.Link, many.Link} {
			if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link}); !errors.Is(err, ErrNeedInvite) {
				t.Errorf("got %v, want %v", err, ErrNeedInvite)
			}
		}
		used := r.invite(1)
		g.locked(func() { clear(g.invites) })
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: used}); !errors.Is(err, ErrRealmUsed) {
			t.Errorf("got %v, want %v", err, ErrRealmUsed)
		}
		g.locked(func() { g.gate = "closed" })
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: used}); !errors.Is(err, ErrRealmShut) {
			t.Errorf("got %v, want %v", err, ErrRealmShut)
		}
		typo := used[:len(used)-1] + map[bool]string{true: "a", false: "b"}[strings.HasSuffix(used, "b")]
		if err := CheckLink(typo); !errors.Is(err, ErrLinkTypo) {
			t.Errorf("got %v, want %v", err, ErrLinkTypo)
		}
		r.lie(func() { r.shows = [32]byte{1} })
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: used}); !errors.Is(err, ErrRelayKey) {
			t.Errorf("got %v, want %v", err, ErrRelayKey)
		}
		if bob.home().Live != 0 {
			t.Error("got a home by invites that did not work")
		}
	})
}

// People of two realms that want tokens write to each other, over weeks: each
// gives the other tokens, and more before they run out.
func TestGuestsOfTwoRealms(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		one, two := city("one.test"), city("two.test")
		g, h := one.wantsTokens("invite"), two.wantsTokens("invite")
		ada, bob := settle(t, "Ada", one, two), settle(t, "Bob", one, two)
		ada.enter(one)
		bob.enter(two)
		inv, err := ada.NewInvite(t.Context(), InviteOptions{Outside: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: inv.Link, Text: strings.Repeat("x", 850)}); !errors.Is(err, ErrLong) {
			t.Errorf("a text that leaves no room for tokens: got %v, want %v", err, ErrLong)
		}
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: inv.Link, Text: strings.Repeat("x", 700)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if bob.home().Realm.Name != "two.test" {
			t.Errorf("got the home %s", bob.home().Realm.Name)
		}
		for range 7 { // some hours: each message is another put context
			arrives(t, ada, "Bob", "are you there?")
			arrives(t, bob, "Ada", "always")
			time.Sleep(58 * time.Minute)
		}
		if n := bob.tokens(1); n.Home || n.Member || n.Left == 0 || n.Trouble != "" {
			t.Errorf("got %+v, want tokens of a guest", n)
		}
		fair(t, g, h)
	})
}

// Two people are away for two days; when they come back they have a reserve to
// pay with, and the day's batch rests meanwhile.
func TestTwoDaysAway(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada, bob := settle(t, "Ada", r), settle(t, "Bob", r)
		ada.enter(r)
		bob.enter(r)
		meet(t, ada, bob)
		for _, p := range []*person{ada, bob} {
			p.stop()
		}
		time.Sleep(2*24*time.Hour + 5*time.Hour)
		asked := g.asked
		for _, p := range []*person{ada, bob} {
			p.start()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !ada.online() || !bob.online() {
			t.Fatalf("got %+v, %+v, want both to be connected", ada.tokens(0), bob.tokens(0))
		}
		arrives(t, ada, "Bob", "back again")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if g.asked < asked+2 {
			t.Errorf("got %d batches after two days, want one each", g.asked-asked)
		}
		time.Sleep(3 * 24 * time.Hour) // nobody notices three days more
		arrives(t, bob, "Ada", "still here")
		if st := ada.tokens(0); st.Trouble != "" || st.Left < token.Part {
			t.Errorf("got %+v", st)
		}
		fair(t, g)
	})
}

// An empty purse waits, says until when, and goes on by itself.
func TestEmptyPurseWaits(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada, bob := settle(t, "Ada", r), settle(t, "Bob", r)
		ada.enter(r)
		bob.enter(r)
		meet(t, ada, bob)
		pay := ada.purse.Of(r.pin)
		for { // something that spends all
			if _, err := pay.Pay(t.Context(), transport.PayPut, []byte("x")); errors.Is(err, transport.ErrEmpty) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(31 * time.Minute) // the put contexts and watches of before are over
		e := ada.send("Bob", "when there are tokens again")
		time.Sleep(time.Minute)
		synctest.Wait()
		st := ada.tokens(0)
		if ada.state(e) != Queued && ada.state(e) != Offered || st.Left != 0 || !strings.Contains(st.Trouble, "until") || st.Next.Before(time.Now()) {
			t.Errorf("got %s, %+v, want it to wait and say until when", ada.state(e), st)
		}
		checks, err := ada.Doctor(t.Context())
		if err != nil || !slices.ContainsFunc(checks, func(c Check) bool { return c.Name == "tokens" && c.State == "warn" }) {
			t.Errorf("got %+v, %v, want a warning", checks, err)
		}
		time.Sleep(time.Until(st.Next) + time.Minute)
		synctest.Wait()
		for range 26 { // the next day's batch is fetched at some hour, and rests for one
			if ada.state(e) == OnDevice {
				break
			}
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		if ada.state(e) != OnDevice {
			t.Errorf("got %s, %+v, want it to have gone", ada.state(e), ada.tokens(0))
		}
		fair(t, g)
	})
}

// A relay that does not know a member any more says so, and what a person is told
// to do about it works: another invite.
func TestMemberAgain(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada := settle(t, "Ada", r)
		ada.enter(r)
		g.locked(func() { clear(g.members) })
		time.Sleep(36 * time.Hour)
		synctest.Wait()
		if st := ada.tokens(0); !strings.Contains(st.Trouble, "membership") || !strings.Contains(st.Hint, "accept") {
			t.Fatalf("got %+v, want it to be told", st)
		}
		ada.enter(r)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if st := ada.tokens(0); st.Trouble != "" || st.Left < token.Part || len(g.members) != 1 {
			t.Errorf("got %+v, %d members, want a member with new tokens", st, len(g.members))
		}
		ada.enter(r)
		g.locked(func() {
			if g.used != 2 {
				t.Errorf("got %d uses of invites, want none taken by a member", g.used)
			}
		})
		fair(t, g)
	})
}

// A relay that lost its store has new keys: everything is had anew, and told.
func TestRelayLosesItsStore(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada, bob := settle(t, "Ada", r), settle(t, "Bob", r)
		ada.enter(r)
		bob.enter(r)
		meet(t, ada, bob)
		g.locked(func() {
			g.seed[0] ^= 1
			g.since++
			clear(g.spent)
			clear(g.issued)
			clear(g.contexts)
		})
		e := ada.send("Bob", "is it you?")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if ada.state(e) != OnDevice || !ada.online() {
			t.Errorf("got %s, %+v, want it to go on by itself", ada.state(e), ada.tokens(0))
		}
		if st := ada.tokens(0); !strings.Contains(st.Trouble, "lost its store") {
			t.Errorf("got %+v, want it to be told", st)
		}
		fair(t, g)
	})
}

// A relay that shows one of its users keys of their own gets nothing from them.
func TestKeysForOneUserAlone(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		ada, bob := settle(t, "Ada", r), settle(t, "Bob", r)
		ada.enter(r)
		bob.enter(r)
		meet(t, ada, bob)
		g.locked(func() { g.keys["Ada"] = [32]byte{9} })
		time.Sleep(2 * time.Hour) // the descriptor is read again
		synctest.Wait()
		puts, watches := r.counted("put"), r.counted("watch")
		e := ada.send("Bob", "not by this relay")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if s := ada.state(e); s == OnDevice || s == Live {
			t.Errorf("got %s, want it to wait here", s)
		}
		st, _ := ada.Status(t.Context())
		if !st.Realms[0].Fails || !strings.Contains(st.Realms[0].Trouble, "other keys") || st.Connected {
			t.Errorf("got %+v, want it to be refused loudly", st)
		}
		g.locked(func() {
			for p, n := range g.paid {
				if n == 0 {
					t.Errorf("purpose %d", p)
				}
			}
			delete(g.keys, "Ada")
		})
		t.Logf("while it lied: %d puts, %d watches asked for", r.counted("put")-puts, r.counted("watch")-watches)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if s := ada.state(e); s != OnDevice {
			t.Errorf("got %s when the right keys were back", s)
		}
	})
}

func TestForgedBatch(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("invite")
		g.forge = func(_ string, answer []byte) ([]byte, error) {
			answer[0] ^= 1
			return answer, nil
		}
		ada := settle(t, "Ada", r)
		_, err := ada.Accept(t.Context(), AcceptOptions{Link: r.invite(1)})
		if !errors.Is(err, ErrTokenKeys) {
			t.Errorf("got %v, want %v", err, ErrTokenKeys)
		}
		if st := ada.tokens(0); st.Left != 0 || !st.Fails {
			t.Errorf("got %+v, want nothing of it to be used", st)
		}
		g.locked(func() { g.forge = nil })
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		if st := ada.tokens(0); st.Left+st.Resting == 0 {
			t.Errorf("the next day: got %+v", st)
		}
	})
}

// An open realm sells tokens for puzzles.
func TestOpenRealmWithPuzzles(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r := newRealm(1800)
		g := r.wantsTokens("open")
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		for range 10 { // a puzzle takes no virtual time
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if !ada.online() || !bob.online() {
			t.Fatalf("got %+v, want both to be connected", ada.tokens(0))
		}
		meet(t, ada, bob)
		arrives(t, ada, "Bob", "for a puzzle")
		if st := ada.tokens(0); !st.Puzzles || st.Member {
			t.Errorf("got %+v", st)
		}
		fair(t, g)
	})
}

// Whatever is killed when, joining goes on where it was: the invite is used once,
// no token is spent twice, no batch is asked for in two ways, and they meet.
func TestJoiningGoesOnAfterACrash(t *testing.T) {
	long(t)
	for _, c := range []struct {
		at  string
		nth int
	}{
		{BoundaryMemberJoined, 1}, {BoundaryBatchAsked, 1}, {BoundaryBatchAsked, 2}, {BoundaryBatchStored, 1}, {BoundaryHelloCommitted, 1}, {BoundaryTokenTaken, 1}, {BoundaryTokenTaken, 2},
	} {
		if os.Getenv("TACET_LONG") == "" && (c.nth > 1 || c.at == BoundaryMemberJoined || c.at == BoundaryBatchStored) { // those that are killed in lab, too
			continue
		}
		t.Run(fmt.Sprintf("%s %d", c.at, c.nth), func(t *testing.T) {
			in(t, func(t *testing.T) { crashJoining(t, c.at, c.nth) })
		})
	}
}

func crashJoining(t *testing.T, at string, nth int) {
	r := newRealm(1800)
	g := r.wantsTokens("invite")
	ada := settle(t, "Ada", r)
	ada.enter(r)
	inv, err := ada.NewInvite(t.Context(), InviteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bob := settle(t, "Bob", r)
	bob.stop()
	image := filepath.Join(t.TempDir(), "image")
	crossings := 0
	var mu sync.Mutex
	bob.opt.Boundary = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if name != at {
			return
		}
		if crossings++; crossings != nth {
			return
		}
		// What a kill would leave: the disk as it is now, and nothing more is sent.
		r.lie(func() { r.cut = "Bob" })
		err := bob.vault.View(t.Context(), func(*vault.Tx) error { return os.CopyFS(image, os.DirFS(bob.opt.Dir)) })
		if err != nil {
			t.Error(err)
		}
	}
	bob.start()
	short, stop := context.WithTimeout(t.Context(), time.Minute)
	bob.Accept(short, AcceptOptions{Link: inv.Link})
	stop()
	time.Sleep(time.Minute)
	bob.stop()
	if crossings < nth {
		t.Fatalf("%s was crossed %d times", at, crossings)
	}
	if err := errors.Join(os.RemoveAll(bob.opt.Dir), os.CopyFS(bob.opt.Dir, os.DirFS(image))); err != nil {
		t.Fatal(err)
	}
	r.lie(func() { r.cut = "" })
	bob.opt.Boundary = nil
	bob.start()
	if _, err := bob.Accept(t.Context(), AcceptOptions{Link: inv.Link}); err != nil && !errors.Is(err, ErrKnown) {
		t.Fatalf("accepting again: %v", err)
	}
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	arrives(t, bob, "Ada", "after all")
	if g.used != 2 { // Ada's and Bob's
		t.Errorf("got %d uses of realm invites, want 2", g.used)
	}
	if g.asked > 6 { // of each kind for both, and what a crash repeats
		t.Errorf("got %d batches issued", g.asked)
	}
	fair(t, g)
}
