package client

import (
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// met makes two people who know each other on a relay that parks, and stops them.
func met(t *testing.T, hours int) (r *realm, ada, bob *person) {
	t.Helper()
	r = newRealm(1800)
	r.parks(hours)
	ada, bob = r.join(t, "Ada"), r.join(t, "Bob")
	meet(t, ada, bob)
	time.Sleep(10 * time.Minute)
	if n := r.left(); n != 0 {
		t.Fatalf("got %d rows at the relay after they met, want none", n)
	}
	bob.stop()
	return r, ada, bob
}

// TestPeopleAreToldThatAMessageIsParked, until when, and that it is not any more.
func TestPeopleAreToldThatAMessageIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ada, bob := met(t, 48)
		e := ada.send("bob", "good night")
		time.Sleep(20 * time.Second)
		if s := ada.state(e); s != Offered {
			t.Errorf("got state %s after 20 s, want offered", s)
		}
		time.Sleep(3 * time.Minute)
		got, err := ada.event(t.Context(), e.Seq)
		if err != nil || got.State != Parked || time.Until(got.Until) > 48*time.Hour || time.Until(got.Until) < 47*time.Hour {
			t.Errorf("got %+v, %v, want it parked for the 48 hours that the relay keeps things", got, err)
		}
		if a, err := ada.Await(t.Context(), e.Seq, Parked); err != nil || a.State != Parked {
			t.Errorf("got %+v, %v of Await, want it parked", a, err)
		}
		ada.stop()
		time.Sleep(72 * time.Hour)
		ada.start()
		if s := ada.state(e); s != Offered {
			t.Errorf("got state %s after the time at the relay, want offered", s)
		}
		bob.start()
		time.Sleep(2 * time.Minute)
		if s := ada.state(e); s != OnDevice {
			t.Errorf("got state %s, want it on their device", s)
		}
	})
}

// TestWhatComesByBothWaysIsShownOnce: parked, then offered live before the
// receiver has taken it, and the other way round.
func TestWhatComesByBothWaysIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		var sent []Event
		for i := range 5 {
			sent = append(sent, ada.send("bob", fmt.Sprint(i)))
		}
		time.Sleep(5 * time.Minute)
		if n := r.left(); n != 5 {
			t.Fatalf("got %d rows, want 5", n)
		}
		// Bob's take fails, and Ada starts again: everything comes live first.
		r.lot.mu.Lock()
		r.lot.cut = func(string, uint64) error { return errTestAway }
		r.lot.mu.Unlock()
		ada.stop()
		bob.start()
		time.Sleep(20 * time.Second)
		ada.start()
		time.Sleep(2 * time.Minute)
		if got := bob.texts(Received); len(got) != 5 {
			t.Errorf("got %q by the live path, want 5", got)
		}
		r.lot.mu.Lock()
		r.lot.cut = nil
		r.lot.mu.Unlock()
		time.Sleep(2 * time.Hour)
		if got := bob.texts(Received); len(got) != 5 {
			t.Errorf("got %q, want each once", got)
		}
		for _, e := range sent {
			if s := ada.state(e); s != OnDevice {
				t.Errorf("%s is %s, want it on their device", e.Text, s)
			}
		}
		if n := r.left(); n != 0 {
			t.Errorf("got %d rows left, want none", n)
		}
	})
}

// TestParkedMessagesAreShownInTurn: a relay keeps no order.
func TestParkedMessagesAreShownInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint(i))
			ada.send("bob", want[i])
		}
		time.Sleep(10 * time.Minute)
		if n := r.left(); n != 60 {
			t.Fatalf("got %d rows, want 60", n)
		}
		ada.stop()
		bob.start()
		time.Sleep(time.Minute)
		if got := bob.texts(Received); !slices.Equal(got, want) {
			t.Errorf("got %q, want them in the order of writing", got)
		}
	})
}

// TestKeepBoundsWhatIsParked: nothing lies at the relay beyond a message's life,
// and nothing is parked that has too little of it, or by a preset that parks nothing.
func TestKeepBoundsWhatIsParked(t *testing.T) {
	for d, want := range map[time.Duration]int{
		time.Minute: 0, time.Hour: 0, 90 * time.Minute: 1, 2 * time.Hour: 1, 3 * time.Hour: 2, 47 * time.Hour: 46, 48 * time.Hour: 47, 71 * time.Hour: 47,
		72 * time.Hour: 48, 7 * 24 * time.Hour: 144,
	} {
		got := wholly(d)
		if got != want {
			t.Errorf("got %d hours for %v, want %d", got, d, want)
		}
		round := time.Minute // as docs/spec/park.md#life
		if got >= 48 {
			round = 24 * time.Hour
		} else if got >= 2 {
			round = time.Hour
		}
		if end := time.Duration(got)*time.Hour + round; got > 0 && end > d {
			t.Errorf("%d hours for %v may end after %v", got, d, end)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		var sent []Event
		for _, keep := range []time.Duration{30 * time.Minute, 3 * time.Hour} {
			e, err := ada.Send(t.Context(), Outgoing{To: "bob", Text: keep.String(), Keep: keep})
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, e)
		}
		time.Sleep(10 * time.Minute)
		if n := r.left(); n != 1 || ada.state(sent[0]) != Offered || ada.state(sent[1]) != Parked {
			t.Errorf("got %d rows, states %s and %s, want the longer one parked", n, ada.state(sent[0]), ada.state(sent[1]))
		}
		for _, row := range r.lot.all() {
			if row.until.After(sent[1].Sent.Add(3 * time.Hour)) {
				t.Errorf("a row stays until %v after it was sent, want 3 h at the most", row.until.Sub(sent[1].Sent))
			}
		}
		time.Sleep(4 * time.Hour)
		if n := r.left(); n != 0 || ada.state(sent[1]) != Expired {
			t.Errorf("got %d rows, state %s, want none, and it expired", n, ada.state(sent[1]))
		}
		bob.start()
		time.Sleep(time.Minute)
		if got := bob.texts(Received); len(got) != 0 {
			t.Errorf("got %q, want nothing", got)
		}
		bob.stop()
		ada.stop()
		ada.opt.Park = -1
		ada.start()
		ada.send("bob", "not to be kept by anybody")
		time.Sleep(10 * time.Minute)
		if n := r.left(); n != 0 {
			t.Errorf("got %d rows with parking off, want none", n)
		}
	})
}

// TestBriefVisits: two whose programs are only there to fetch, ten seconds at a
// time and never together, still meet and talk.
func TestBriefVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(1800)
		r.parks(720)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		time.Sleep(10 * time.Second)
		inv, err := ada.NewInvite(t.Context(), InviteOptions{Life: 3 * 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ada.stop()
		if _, err := bob.Accept(t.Context(), AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		bob.stop()
		if n := r.left(); n != 4 {
			t.Errorf("got %d rows, want the four cells of a hello", n)
		}
		for _, row := range r.lot.all() {
			if d := row.until.Sub(inv.Expires); d > 0 || d < -25*time.Hour {
				t.Errorf("a hello is kept until %v beyond its invite's end", d)
			}
		}
		visit := func(p *person, say ...string) {
			time.Sleep(3 * time.Hour)
			c, err := Open(t.Context(), p.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			p.Client = c
			for _, s := range say {
				list, err := c.Contacts(t.Context())
				if err != nil || len(list) != 1 {
					t.Fatalf("%s: got contacts %v, %v", p.name, list, err)
				}
				p.send(list[0].Name, s)
			}
			if got, err := c.FetchOnce(t.Context()); err != nil || !got.Connected {
				t.Errorf("%s: got %+v, %v, want a visit", p.name, got, err)
			}
		}
		visit(ada)
		visit(bob)
		for i := range 6 {
			visit(ada, fmt.Sprint("a", i))
			visit(bob, fmt.Sprint("b", i), fmt.Sprint("c", i))
		}
		for range 3 {
			visit(ada)
			visit(bob)
		}
		for who, want := range map[*person]int{ada: 13, bob: 6} {
			who.start()
			got := who.texts(Received)
			slices.Sort(got)
			if n := len(got); n != want || len(slices.Compact(got)) != want {
				t.Errorf("%s: got %q, want %d messages", who.name, got, want)
			}
			if st, err := who.Status(t.Context()); err != nil || st.Waiting != 0 {
				t.Errorf("%s: got %d that wait, %v, want none", who.name, st.Waiting, err)
			}
			who.stop()
		}
		if n := r.left(); n != 0 {
			t.Errorf("got %d rows left, want none", n)
		}
	})
}

// TestARelayWithoutRoom: acks and messages wait, and nothing is lost.
func TestARelayWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		e := ada.send("bob", "good night")
		time.Sleep(5 * time.Minute)
		ada.stop()
		r.lot.mu.Lock()
		r.lot.full = true
		r.lot.mu.Unlock()
		bob.start()
		back := bob.send("ada", "good morning")
		time.Sleep(20 * time.Minute)
		if s := bob.state(back); s != Offered || r.left() != 0 {
			t.Errorf("got state %s and %d rows, want it to wait here", s, r.left())
		}
		bob.stop() // the ack is still owed
		r.lot.mu.Lock()
		r.lot.full = false
		r.lot.mu.Unlock()
		time.Sleep(time.Hour)
		bob.start()
		time.Sleep(5 * time.Minute)
		bob.stop()
		ada.start()
		time.Sleep(time.Minute)
		if s := ada.state(e); s != OnDevice {
			t.Errorf("got state %s, want the ack to have been parked", s)
		}
		if got := ada.texts(Received); !slices.Contains(got, "good morning") {
			t.Errorf("got %q, want the answer", got)
		}
	})
}

// TestDaysAreTakenUntilTheyAreDone: after a long absence all of them, at most
// sixty and today, then only those in which somebody may still park; one that
// failed is taken again.
func TestDaysAreTakenUntilTheyAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		ada.stop()
		today := func() uint64 { return addr.DayAt(time.Now().Unix()) }
		visit := func() (took []uint64) {
			r.lot.mu.Lock()
			r.lot.took["Bob"] = nil
			r.lot.mu.Unlock()
			bob.start()
			time.Sleep(30 * time.Second)
			r.lot.mu.Lock()
			took = slices.Compact(slices.Clone(r.lot.took["Bob"]))
			r.lot.mu.Unlock()
			bob.stop()
			return took
		}
		untilClock(12 * time.Hour)
		visit()
		untilClock(12 * time.Hour)
		if got := visit(); !slices.Equal(got, []uint64{today() - 1, today()}) {
			t.Errorf("got days %v on day %d, want yesterday and today", got, today())
		}
		if got := visit(); !slices.Equal(got, []uint64{today() - 1, today()}) {
			t.Errorf("got days %v on day %d, want yesterday and today again and no day before", got, today())
		}
		time.Sleep(10*24*time.Hour + 11*time.Hour + 29*time.Minute)
		got := visit()
		if len(got) != 12 || got[0] != today()-10 || got[11] != today()+1 {
			t.Errorf("got days %v on day %d, half an hour before midnight, want the last ten, today and tomorrow", got, today())
		}
		time.Sleep(100 * 24 * time.Hour)
		bad := today() - 20
		r.lot.mu.Lock()
		r.lot.cut = func(_ string, day uint64) error {
			if day == bad {
				return errTestAway
			}
			return nil
		}
		r.lot.mu.Unlock()
		if got := visit(); len(got) < 61 || len(got) > 62 || got[0] != today()-60 {
			t.Errorf("got %d days from %v, want 61 and perhaps tomorrow", len(got), got[:1])
		}
		r.lot.mu.Lock()
		r.lot.cut = nil
		r.lot.mu.Unlock()
		if got := visit(); got[0] != bad {
			t.Errorf("got days from %d, want from the one that failed, %d", got[0], bad)
		}
		// A clock that was a year ahead for a moment costs a few connections, no day.
		bob.start()
		if err := bob.days(t.Context(), func(_ vault.Store, d *taken) error { d.From = today() + 365; return nil }); err != nil {
			t.Fatal(err)
		}
		bob.stop()
		if got := visit(); got[0] != today()-60 {
			t.Errorf("got days from %d, want all sixty again", got[0])
		}
	})
}

// TestTakesComeBack: at midnight, every six hours, and sooner after a failure.
func TestTakesComeBack(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		r, ada, bob := met(t, 720)
		ada.stop()
		bob.start()
		time.Sleep(time.Minute)
		count := func() int {
			r.lot.mu.Lock()
			defer r.lot.mu.Unlock()
			return r.lot.takes["Bob"]
		}
		rounds := 0
		for last, end := count(), time.Now().Add(3*24*time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
			if n := count(); n != last {
				rounds, last = rounds+1, n
			}
		}
		if rounds < 10 || rounds > 21 {
			t.Errorf("got %d rounds in three days, want one every six hours or so and one after each midnight", rounds)
		}
		r.lot.mu.Lock()
		r.lot.cut = func(string, uint64) error { return errTestAway }
		r.lot.mu.Unlock()
		n := count()
		time.Sleep(12 * time.Hour)
		if got := count() - n; got < 30 || got > 200 {
			t.Errorf("got %d takes in half a day of failures, want one every quarter of an hour or so for two days each", got)
		}
		// Whoever parks what cannot be taken yet does not empty a purse.
		r.lot.mu.Lock()
		r.lot.cut = nil
		r.lot.mu.Unlock()
		time.Sleep(12 * time.Hour)
		r.lot.mu.Lock()
		r.lot.cut = func(string, uint64) error { return transport.ErrHeld }
		r.lot.mu.Unlock()
		n = count()
		time.Sleep(18 * time.Hour)
		if got := count() - n; got < 4 || got > 30 {
			t.Errorf("got %d takes in most of a day, want a few and then one every six hours or so for two days each", got)
		}
	})
}

// TestSecretsOfDaysGo: those of days that are done, as processes run, and not
// because a clock says so.
func TestSecretsOfDaysGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ada, bob := met(t, 720)
		bob.start()
		time.Sleep(time.Minute)
		base := func(p *person, mine bool) (oldest uint64) {
			oldest = 1 << 60
			err := p.vault.View(t.Context(), func(tx *vault.Tx) error {
				all, err := (vault.Store{Tx: tx}).RoutesOf(1)
				for _, r := range all {
					if c, _, err := r.Days(); err == nil && r.Mine == mine && r.Invite == 0 && r.Retire == 0 {
						oldest = min(oldest, c.Base())
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return oldest
		}
		first := base(bob, true)
		// Days go by while nothing runs: nothing goes.
		bob.stop()
		ada.stop()
		time.Sleep(5 * 24 * time.Hour)
		ada.start()
		bob.start()
		time.Sleep(2 * time.Hour)
		if got := base(bob, true); got != first {
			t.Errorf("got base %d after two hours of running, want %d", got, first)
		}
		time.Sleep(3 * 24 * time.Hour)
		today := addr.DayAt(time.Now().Unix())
		for _, mine := range []bool{true, false} {
			got := base(bob, mine)
			if got < first+2 || got > today-1 {
				t.Errorf("mine %v: got base %d after three days of running, want it moved on from %d and not past %d", mine, got, first, today-1)
			}
		}
	})
	// What may still lie somewhere is kept, but not for ever.
	for needed, want := range map[uint64]uint64{1000: 1000 - 2, 998: 998, 950: 950, 900: 1000 - convo.ParkDays, 0: 1000 - convo.ParkDays} {
		s := &oneRoute{}
		r, o, err := contact.NewRoute(testRand{}, time.Unix(850*addr.DaySeconds, 0), contact.Realm{}, 1800)
		if err != nil {
			t.Fatal(err)
		}
		_ = o
		s.route = r
		if err := (&convo.Engine{}).ForgetDays(s, time.Unix(1000*addr.DaySeconds, 0), 500, needed); err != nil {
			t.Fatal(err)
		}
		c, _, err := s.route.Days()
		if err != nil || c.Base() != want {
			t.Errorf("got base %v, %v with day %d needed, want %d", c.Base(), err, needed, want)
		}
	}
}

// oneRoute is a store of one route of an invite.
type oneRoute struct {
	convo.Tx
	route *contact.RouteRecord
}

func (s *oneRoute) Devices() ([]*contact.Record, error) { return nil, nil }
func (s *oneRoute) RoutesOf(int64) ([]*contact.RouteRecord, error) {
	return []*contact.RouteRecord{s.route}, nil
}
func (s *oneRoute) PutRoute(*contact.RouteRecord) error { return nil }

// testRand is good enough to make a key.
type testRand struct{}

func (testRand) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return len(b), nil
}

// TestHelloComesBeforeWhatItBegins: of what was parked together, what opens in no
// session is looked at when the hello that may begin one was taken.
func TestHelloComesBeforeWhatItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, bob := met(t, 720)
		bob.start()
		var own []*contact.RouteRecord
		err := bob.vault.View(t.Context(), func(tx *vault.Tx) (err error) {
			own, err = receiving(vault.Store{Tx: tx})
			return err
		})
		if err != nil || len(own) == 0 {
			t.Fatalf("got %d routes, %v", len(own), err)
		}
		chain, _, err := own[0].Days()
		if err != nil {
			t.Fatal(err)
		}
		p, err := chain.At(addr.DayAt(time.Now().Unix()))
		if err != nil {
			t.Fatal(err)
		}
		place := func(b wire.Body) uint64 {
			cell, err := sealed.SealCell(p.Seal, p.Address, &b, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			return bob.keys.order(t.Context(), own[0].ID, p.Seal, transport.Address(p.Address), (*transport.Cell)(cell))
		}
		_, hello, err := sealed.Fragments(wire.KindHello, make([]byte, wire.HelloSize))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range hello[1:] {
			if place(part) != place(hello[0]) {
				t.Error("the parts of a hello are not beside each other")
			}
		}
		whole := make([]byte, wire.HelloSize)
		whole[0] = 1
		if _, other, err := sealed.Fragments(wire.KindHello, whole); err != nil || place(other[0]) == place(hello[0]) {
			t.Errorf("got two hellos in one place, %v", err)
		}
		pair := hello[0]
		pair.Kind, pair.Index, pair.Count, pair.Payload = wire.KindPair, 0, 1, make([]byte, wire.PairSize)
		if first, later := place(hello[0]), place(pair); first >= later {
			t.Errorf("got %d for a hello and %d for what no session opens, want the hello first", first, later)
		}
	})
}
