package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/invite"
)

// link returns the link of a fresh invite.
func (p *person) link(o InviteOptions) string {
	p.t.Helper()
	inv, err := p.NewInvite(p.t.Context(), o)
	if err != nil || !inv.Online {
		p.t.Fatalf("inviting: %+v, %v", inv, err)
	}
	return inv.Link
}

// rewrap takes a bundle out of the blob of one link and encrypts it for another,
// as only somebody who holds both can.
func rewrap(t *testing.T, from, to invite.Link, blob []byte) []byte {
	t.Helper()
	a, err := chacha20poly1305.NewX(from.Key().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	id := from.ID()
	plain, err := a.Open(nil, blob[:24], blob[24:], id[:])
	if err != nil {
		t.Fatal(err)
	}
	if a, err = chacha20poly1305.NewX(to.Key().Bytes()); err != nil {
		t.Fatal(err)
	}
	id = to.ID()
	return a.Seal(slices.Clone(blob[:24]), blob[:24], plain, id[:])
}

func parsed(t *testing.T, link string) invite.Link {
	t.Helper()
	l, err := invite.ParseLink(link)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestASwappedBundleIsRefused: the relay and another holder of Ada's invite,
// Mallory, work together to pass for Ada.
func TestASwappedBundleIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, mallory, bob := r.join(t, "Ada"), r.join(t, "Mallory"), r.join(t, "Bob")
		link := ada.link(InviteOptions{})
		ours, theirs := parsed(t, link), parsed(t, mallory.link(InviteOptions{}))
		good := r.blob(ours.ID())
		for name, blob := range map[string][]byte{
			"Mallory's bundle under the key of Ada's link": rewrap(t, theirs, ours, r.blob(theirs.ID())),
			"Mallory's blob as it is":                      r.blob(theirs.ID()),
			"noise":                                        make([]byte, invite.BlobSize),
			"nothing":                                      {},
			"a flipped bit":                                append(slices.Clone(good[:100]), append([]byte{good[100] ^ 1}, good[101:]...)...),
		} {
			r.lie(func() { r.blobs[ours.ID()] = blob })
			if _, err := bob.Preview(t.Context(), link); !errors.Is(err, ErrForged) {
				t.Errorf("%s: got %v, want ErrForged", name, err)
			}
			if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link, Text: "hello"}); !errors.Is(err, ErrForged) {
				t.Errorf("%s: got %v, want ErrForged", name, err)
			}
		}
		if all, _ := bob.Contacts(t.Context()); len(all) != 0 || r.counted("put") != 0 {
			t.Errorf("got %d contacts and %d puts after forged bundles, want none", len(all), r.counted("put"))
		}
		r.lie(func() { r.blobs[ours.ID()] = good }) // the same invite is good when nobody lies
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link}); err != nil {
			t.Error(err)
		}
	})
}

// recorder keeps copies of what was put.
type recorder struct {
	mu   sync.Mutex
	puts []transport.Put
}

func (c *recorder) on(r *realm) {
	r.lie(func() {
		r.cell = func(_ string, p *transport.Put) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			cell := *p.Cell
			c.puts = append(c.puts, transport.Put{Address: p.Address, Cell: &cell, ID: p.ID})
			return true
		}
	})
}

func (c *recorder) all() []transport.Put {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.puts)
}

// TestReplaysChangeNothing: a relay puts every cell that it ever saw again, at
// once, a little later, and after others.
func TestReplaysChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		var c recorder
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		c.on(r)
		meet(t, ada, bob)
		ada.send("bob", "one")
		bob.send("ada", "two")
		time.Sleep(time.Minute)
		seen := c.all()
		if len(seen) < 8 {
			t.Fatalf("recorded %d puts, want a hello and what followed", len(seen))
		}
		replayer := r.net.Endpoint("relay")
		defer replayer.Close()
		for range 3 {
			var all sync.WaitGroup
			for i, p := range seen {
				p.ID = transport.CellID{1, byte(i), byte(time.Now().Unix())}
				all.Go(func() { replayer.Put(t.Context(), p) })
			}
			all.Wait()
			time.Sleep(7 * time.Minute) // also into the next period
		}
		synctest.Wait()
		for _, p := range []*person{ada, bob} {
			people, _ := p.Contacts(t.Context())
			if len(people) != 1 || people[0].State != "accepted" || people[0].Stopped {
				t.Errorf("%s: got contacts %+v, want the one", p.name, people)
			}
			if got, want := p.texts(Received), map[string][]string{"Ada": {"hello", "two"}, "Bob": {"one"}}[p.name]; !slices.Equal(got, want) {
				t.Errorf("%s reads %q, want %q", p.name, got, want)
			}
			if got := p.texts(Told); len(got) != 1 {
				t.Errorf("%s is told %q, want only how they met", p.name, got)
			}
		}
		e := ada.send("bob", "three")
		time.Sleep(time.Minute)
		if got := ada.state(e); got != OnDevice {
			t.Errorf("after the replays a message is %s, want %s", got, OnDevice)
		}
		if got := bob.texts(Received); !slices.Equal(got, []string{"one", "three"}) {
			t.Errorf("bob reads %q", got)
		}
	})
}

// TestTheFirstOfTwoHoldersStands: two hold the same invite for one use. The
// second's hello is for prekeys that are gone.
func TestTheFirstOfTwoHoldersStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob, mallory := r.join(t, "Ada"), r.join(t, "Bob"), r.join(t, "Mallory")
		link := ada.link(InviteOptions{})
		// Both have the bundle before either is heard.
		bob.stop()
		bob.start()
		for _, p := range []*person{bob, mallory} {
			if _, err := p.Preview(t.Context(), link); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		hold := true
		r.lie(func() {
			r.cell = func(by string, _ *transport.Put) bool {
				mu.Lock()
				defer mu.Unlock()
				return by != "Bob" || !hold
			}
		})
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link, Text: "bob here"}); err != nil {
			t.Fatal(err)
		}
		if _, err := mallory.Accept(t.Context(), AcceptOptions{Link: link, Text: "mallory here"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		hold = false
		mu.Unlock()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		people, _ := ada.Contacts(t.Context())
		if len(people) != 1 || people[0].Claimed != "Mallory" {
			t.Errorf("got contacts %+v, want the first holder alone", people)
		}
		if got := ada.texts(Received); !slices.Equal(got, []string{"mallory here"}) {
			t.Errorf("ada reads %q", got)
		}
		lost, _ := bob.Contacts(t.Context())
		if len(lost) != 1 || lost[0].State != "failed" {
			t.Errorf("got %+v for the second holder, want a failed contact", lost)
		}
		if _, err := bob.Preview(t.Context(), link); !errors.Is(err, ErrUsed) {
			t.Errorf("previewing a used invite: got %v, want ErrUsed", err)
		}
	})
}

// TestAStrangerLearnsLittleByRepeating: whoever holds an invite that asks repeats
// their hello without end. The neutral answer, which shows that the device is
// there, comes once a day at the most; not one cell of the hello is counted.
func TestAStrangerLearnsLittleByRepeating(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(3600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		link := ada.link(InviteOptions{Uses: 5})
		var mu sync.Mutex
		answers, tries, counted := 0, 0, 0
		r.lie(func() {
			r.cell = func(by string, _ *transport.Put) bool {
				mu.Lock()
				defer mu.Unlock()
				if by == "Ada" {
					answers++
				}
				return by != "Ada" // Bob acts as if he heard nothing
			}
			r.answer = func(by string, _ transport.Put, got transport.Receipt, _ error) {
				mu.Lock()
				defer mu.Unlock()
				if by == "Bob" {
					tries++
					counted += got.Delivered
				}
			}
		})
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link, Text: "are you there?"}); err != nil {
			t.Fatal(err)
		}
		const days = 1
		time.Sleep(days * 24 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if tries < 4*40 {
			t.Errorf("Bob put %d cells only: nothing is shown", tries)
		}
		if answers == 0 || answers > days+1 {
			t.Errorf("got %d answers in %d days, want one a day at the most", answers, days)
		}
		if counted != 0 {
			t.Errorf("got counts that add up to %d for the cells of hellos, want 0", counted)
		}
	})
}

func TestExpiredInvitesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(3600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		link := ada.link(InviteOptions{Life: time.Hour})
		id := parsed(t, link).ID()
		blob := r.blob(id)
		time.Sleep(61 * time.Minute)
		// A relay that keeps what it should have dropped.
		r.lie(func() { r.blobs[id] = blob })
		if _, err := bob.Preview(t.Context(), link); !errors.Is(err, ErrUsed) {
			t.Errorf("got %v, want ErrUsed", err)
		}
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: link}); !errors.Is(err, ErrUsed) {
			t.Errorf("got %v, want ErrUsed", err)
		}
		if all, _ := bob.Contacts(t.Context()); len(all) != 0 {
			t.Errorf("got contacts %+v, want none", all)
		}
	})
}

// TestAnotherRelayKeyStopsEverything: the relay comes back with a key that is
// not the pinned one. Nothing is put, watched or fetched; nothing is lost.
func TestAnotherRelayKeyStopsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		link := bob.link(InviteOptions{})
		ada.stop()
		r.lie(func() { r.shows[0] ^= 1; clear(r.count) })
		ada.start()
		e := ada.send("bob", "waits")
		if _, err := ada.Preview(t.Context(), link); !errors.Is(err, ErrRelayKey) {
			t.Errorf("got %v, want ErrRelayKey", err)
		}
		if inv, err := ada.NewInvite(t.Context(), InviteOptions{}); err != nil || inv.Online {
			t.Errorf("got invite %+v, %v, want one that is not online", inv, err)
		}
		time.Sleep(2 * time.Hour)
		ada.send("bob", "waits, too") // that it cannot go is no news that hides why
		time.Sleep(time.Second)
		synctest.Wait()
		st, err := ada.Status(t.Context())
		if err != nil || st.Connected || !strings.Contains(st.Trouble, "key") {
			t.Errorf("got status %+v, %v, want trouble with the key", st, err)
		}
		r.mu.Lock()
		for _, what := range []string{"put", "watch", "put blob", "get blob", "delete blob", "descriptor"} {
			if n := r.count[what]; n != 0 {
				t.Errorf("got %d × %s at a relay with another key, want none", n, what)
			}
		}
		if r.count["refused put blob"] == 0 || r.count["refused watch"] == 0 {
			t.Errorf("got %v: nothing was tried, so nothing was shown", r.count)
		}
		r.mu.Unlock()
		if got := ada.state(e); got != Queued {
			t.Errorf("got %s, want the message queued", got)
		}
		r.lie(func() { r.shows = r.pin })
		time.Sleep(time.Hour)
		if got := ada.state(e); got != OnDevice {
			t.Errorf("got %s once the key was right again, want %s", got, OnDevice)
		}
	})
}

// TestALinkToARelayWithAnotherKeyIsRefused: the bundle says which key its relay
// has. The one that served it has another.
func TestALinkToARelayWithAnotherKeyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.join(t, "Ada")
		link := ada.link(InviteOptions{})
		o := Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: &way{realm: r, name: "Carol"}, WeakVault: true}
		if _, err := Create(t.Context(), o, NewProfile{Name: "Carol"}); err != nil {
			t.Fatal(err)
		}
		carol, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer carol.Close()
		r.lie(func() { r.shows[0] ^= 1; clear(r.count) })
		if _, err := carol.Preview(t.Context(), link); !errors.Is(err, ErrRelayKey) {
			t.Errorf("got %v, want ErrRelayKey", err)
		}
		if _, err := carol.Accept(t.Context(), AcceptOptions{Link: link}); !errors.Is(err, ErrRelayKey) {
			t.Errorf("got %v, want ErrRelayKey", err)
		}
		if all, _ := carol.Contacts(t.Context()); len(all) != 0 || r.counted("put") != 0 || carol.home().Live != 0 {
			t.Error("got something kept or sent after a relay with another key")
		}
	})
}

// TestARelayWhoseTimeIsYearsOff: its signed time moves no address, is shown, and
// loses nothing.
func TestARelayWhoseTimeIsYearsOff(t *testing.T) {
	long(t)
	for name, off := range map[string]time.Duration{"ahead": 5 * 365 * 24 * time.Hour, "behind": -5 * 365 * 24 * time.Hour, "just too far": 601 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(10 * 365 * 24 * time.Hour) // the bubble begins in 2000; be able to go back
				r := newRealm(600)
				ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
				meet(t, ada, bob)
				ada.stop()
				r.lie(func() { r.unix = func() int64 { return time.Now().Add(off).Unix() } })
				ada.start()
				e := ada.send("bob", "in spite of it")
				time.Sleep(3 * time.Minute)
				if got := ada.keys.offset; got != 0 {
					t.Errorf("got addresses moved by %d s, want 0", got)
				}
				st, err := ada.Status(t.Context())
				if err != nil || !strings.Contains(st.Trouble, "clock") {
					t.Errorf("got trouble %q, %v, want it to name the clock", st.Trouble, err)
				}
				if got := ada.state(e); got != OnDevice {
					t.Errorf("got %s, want %s: its addresses are still right", got, OnDevice)
				}
				time.Sleep(11 * time.Minute) // the next period's connection is told the same
				if st, _ := ada.Status(t.Context()); !strings.Contains(st.Trouble, "clock") {
					t.Errorf("got trouble %q a period later, want it to name the clock", st.Trouble)
				}
				r.lie(func() { r.unix = nil })
				time.Sleep(11 * time.Minute)
				if st, _ := ada.Status(t.Context()); st.Trouble != "" || !st.Connected {
					t.Errorf("got status %+v once the time was right, want no trouble", st)
				}
			})
		})
	}
}

// TestADeviceWhoseClockIsYearsOff: the relay refuses its periods. It says that
// the clock is wrong, and once that is set everything goes. As all clocks of a
// test are one, the relay's is moved instead.
func TestADeviceWhoseClockIsYearsOff(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": 3 * 365 * 24 * time.Hour, "ahead": -3 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(10 * 365 * 24 * time.Hour)
				r := newRealm(600)
				ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
				meet(t, ada, bob)
				base := ada.bases()
				ada.stop()
				r.net.SetSkew(off)
				ada.start()
				e := ada.send("bob", "from another year")
				time.Sleep(2 * time.Minute)
				st, err := ada.Status(t.Context())
				if err != nil || st.Connected || !strings.Contains(st.Trouble, "clock") {
					t.Errorf("got status %+v, %v, want trouble with the clock", st, err)
				}
				if got := ada.keys.offset; got != 0 {
					t.Errorf("got addresses moved by %d s, want 0", got)
				}
				if got := ada.bases(); !slices.Equal(got, base) {
					t.Errorf("got secrets forgotten: bases %v, want %v", got, base)
				}
				r.net.SetSkew(0)
				time.Sleep(20 * time.Minute)
				if got := ada.state(e); got != OnDevice {
					t.Errorf("got %s once the clock was right, want %s", got, OnDevice)
				}
			})
		})
	}
}

// bases returns the oldest period that each route still has secrets for.
func (p *person) bases() (all []uint64) {
	p.t.Helper()
	err := p.vault.View(p.t.Context(), func(tx *vault.Tx) error {
		for id := range int64(3) {
			routes, err := (vault.Store{Tx: tx}).RoutesOf(id)
			if err != nil {
				return err
			}
			for _, r := range routes {
				c, _, err := r.Keys()
				if err != nil {
					return err
				}
				all = append(all, c.Base())
				c.Wipe()
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// TestNoClockMakesSecretsDisappear: routes forget by elapsed time of the process
// alone. A clock that jumps years ahead, a night without power and a new start
// forget nothing; each live period that goes by while it runs forgets one.
func TestNoClockMakesSecretsDisappear(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		before := ada.bases()
		forget := func(now time.Time, steps uint64) {
			t.Helper()
			err := ada.vault.Update(t.Context(), func(tx *vault.Tx) error { return ada.engine.Forget(vault.Store{Tx: tx}, now, steps) })
			if err != nil {
				t.Fatal(err)
			}
		}
		forget(time.Now().AddDate(20, 0, 0), 0)
		if got := ada.bases(); !slices.Equal(got, before) {
			t.Errorf("clock 20 years ahead, no time elapsed: bases %v, want %v", got, before)
		}
		forget(time.Now().AddDate(20, 0, 0), 1)
		for i, b := range ada.bases() {
			if b > before[i]+1 {
				t.Errorf("clock 20 years ahead, one period elapsed: base moved by %d, want 1 at the most", b-before[i])
			}
		}
		before = ada.bases()
		forget(time.Now().AddDate(-20, 0, 0), 50)
		if got := ada.bases(); !slices.Equal(got, before) {
			t.Errorf("clock 20 years behind: bases %v, want %v", got, before)
		}
		ada.stop()
		time.Sleep(8 * time.Hour)
		ada.start()
		time.Sleep(9 * time.Minute)
		if got := ada.bases(); !slices.Equal(got, before) {
			t.Errorf("after a night without power: bases %v, want %v", got, before)
		}
		time.Sleep(3 * time.Hour)
		for i, b := range ada.bases() {
			if b == before[i] {
				t.Errorf("after hours of running: base %d did not move: nothing is ever forgotten", b)
			}
		}
	})
}

// TestTwoOwnersOfAProfile: the second Open says so and harms nothing.
func TestTwoOwnersOfAProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		for range 3 {
			if c, err := Open(context.Background(), ada.opt); !errors.Is(err, ErrLocked) {
				t.Fatalf("got %v, %v, want ErrLocked", c, err)
			}
		}
		e := ada.send("bob", "still here")
		time.Sleep(time.Minute)
		if got := ada.state(e); got != OnDevice {
			t.Errorf("got %s, want %s", got, OnDevice)
		}
	})
}
