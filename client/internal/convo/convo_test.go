package convo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// person is one device with a real vault and no network: the test carries
// payloads by hand.
type person struct {
	t     *testing.T
	name  string
	v     *vault.Vault
	e     *convo.Engine
	now   time.Time
	ready map[int64]bool // rows that may go
}

var home = contact.Realm{Name: "relay.example", Pin: [32]byte{7}}

func newPerson(t *testing.T, name string) *person {
	t.Helper()
	id, err := device.New(rand.Reader, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.Create(t.TempDir()+"/v", []byte("x"), vault.Params{Memory: 64, Time: 1, Threads: 1, Weak: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return &person{t: t, name: name, v: v, now: time.Unix(1_800_000_000, 0), ready: map[int64]bool{},
		e: &convo.Engine{Self: id, Rand: rand.Reader, Home: convo.Home{Realm: home, Live: 1800}, Name: name}}
}

// do runs f in a transaction and keeps track of what may go.
func (p *person) do(f func(tx vault.Store) (*convo.Change, error)) *convo.Change {
	p.t.Helper()
	var ch *convo.Change
	err := p.v.Update(context.Background(), func(tx *vault.Tx) (err error) {
		ch, err = f(vault.Store{Tx: tx})
		return err
	})
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	if ch == nil {
		ch = &convo.Change{}
	}
	for _, r := range ch.Added {
		p.ready[r.ID] = true
	}
	for _, id := range ch.Removed {
		delete(p.ready, id)
	}
	return ch
}

func (p *person) view(f func(tx vault.Store) error) {
	p.t.Helper()
	if err := p.v.View(context.Background(), func(tx *vault.Tx) error { return f(vault.Store{Tx: tx}) }); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// parcel is what travels: the test stands where cells and routes would.
type parcel struct {
	hello   bool
	m       wire.MessageID
	payload []byte
}

func (p *person) pack(id int64) (out parcel, ok bool) {
	p.view(func(tx vault.Store) error {
		r, err := tx.Row(id)
		if err == convo.ErrGone {
			return nil
		}
		if err != nil {
			return err
		}
		out, ok = parcel{r.Hello, r.Message, r.Payload}, true
		return nil
	})
	return out, ok
}

// outgoing returns everything that waits, oldest first.
func (p *person) outgoing() (all []parcel) {
	for _, id := range slices.Sorted(maps.Keys(p.ready)) {
		if x, ok := p.pack(id); ok {
			all = append(all, x)
		}
	}
	return all
}

// acks seals what p owes to a contact.
func (p *person) acks(id int64) (out []parcel) {
	p.do(func(tx vault.Store) (*convo.Change, error) {
		for {
			a, err := p.e.Acks(tx, p.now, id)
			if err != nil || a == nil {
				return nil, err
			}
			out = append(out, parcel{m: a.Message, payload: a.Payload})
		}
	})
	return out
}

// take delivers a parcel by p's newest route for the contact, or by the
// contact route of the invite.
func (p *person) take(id int64, x parcel) (o convo.Outcome, ch *convo.Change) {
	ch = p.do(func(tx vault.Store) (ch *convo.Change, err error) {
		routes, err := tx.RoutesOf(id)
		if err != nil {
			return nil, err
		}
		for _, r := range routes {
			if !r.Mine {
				continue
			}
			switch {
			case x.hello && id == 0:
				return p.e.Met(tx, p.now, r, x.payload)
			case x.hello:
				o, ch, err = p.e.Again(tx, p.now, r, x.payload)
			default:
				o, ch, err = p.e.Pair(tx, p.now, r, x.m, x.payload)
			}
			return ch, err
		}
		return nil, nil
	})
	return o, ch
}

func (p *person) texts(id int64) (all []string) {
	p.view(func(tx vault.Store) error {
		return tx.Events(id, 0, func(e *convo.Event) error {
			if !e.Out && e.Kind == convo.Text {
				all = append(all, e.Text)
			}
			return nil
		})
	})
	return all
}

func (p *person) notices(id int64) string {
	var all []string
	p.view(func(tx vault.Store) error {
		return tx.Events(id, 0, func(e *convo.Event) error {
			if e.Kind == convo.Notice {
				all = append(all, e.Text)
			}
			return nil
		})
	})
	return strings.Join(all, "\n")
}

func (p *person) contact(id int64) (r *contact.Record) {
	p.view(func(tx vault.Store) (err error) {
		r, err = tx.Contact(id)
		return err
	})
	return r
}

func (p *person) waiting(id int64) (n int) {
	p.view(func(tx vault.Store) (err error) {
		n, err = tx.WaitingRows(id)
		return err
	})
	return n
}

func (p *person) send(id int64, text string) *convo.Event {
	p.t.Helper()
	var ev *convo.Event
	p.do(func(tx vault.Store) (ch *convo.Change, err error) {
		ev, ch, err = p.e.Send(tx, p.now, id, text, 0)
		return ch, err
	})
	return ev
}

// invited makes an invite of a's, and b accepts it. It returns b's contact id
// for a and the bundle's invite.
func invited(a, b *person, o contact.InviteOptions, text string) int64 {
	a.t.Helper()
	var inv *contact.InviteRecord
	a.do(func(tx vault.Store) (_ *convo.Change, err error) {
		inv, err = contact.NewInvite(tx, rand.Reader, a.now, a.e.Self, home, 1800, o)
		return nil, err
	})
	return accepts(b, inv, text)
}

func accepts(b *person, inv *contact.InviteRecord, text string) int64 {
	b.t.Helper()
	bundle, err := invite.Open(inv.Link(), inv.Sealed, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	var out *contact.Outgoing
	b.do(func(tx vault.Store) (*convo.Change, error) {
		msg := &content.Content{Drop: &content.Drop{}}
		if text != "" {
			msg = &content.Content{Text: &content.Text{Body: text}}
		}
		first, _, err := b.e.First(msg, bundle.Manifest)
		if err != nil {
			return nil, err
		}
		out, err = contact.Start(tx, rand.Reader, b.now, contact.Starting{Self: b.e.Self, Link: inv.Link(), Bundle: bundle, Realm: home, Live: 1800, Mine: b.name, First: first})
		if err != nil {
			return nil, err
		}
		return b.e.Hello(tx, b.now, out, text)
	})
	return out.Contact.ID
}

// settle carries everything both ways until nothing waits.
func settle(a, b *person, ofA, ofB int64) {
	a.t.Helper()
	for range 50 {
		for _, x := range append(a.outgoing(), a.acks(ofA)...) {
			b.take(ofB, x)
		}
		for _, x := range append(b.outgoing(), b.acks(ofB)...) {
			a.take(ofA, x)
		}
		if a.waiting(ofA)+b.waiting(ofB) == 0 {
			return
		}
	}
	a.t.Fatalf("still waiting: %d and %d", a.waiting(ofA), b.waiting(ofB))
}

// met lets two people meet by a one-use invite of a's and returns how each
// names the other.
func met(t *testing.T, a, b *person) (ofA, ofB int64) {
	t.Helper()
	ofB = invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: a.name}, "hello from b")
	for _, x := range b.outgoing() {
		a.take(0, x)
	}
	ofA = 1
	if got := a.contact(ofA).State; got != contact.Accepted {
		t.Fatalf("got state %v, want accepted: a one-use invite is accepted beforehand", got)
	}
	settle(a, b, ofA, ofB)
	if got := b.contact(ofB).State; got != contact.Accepted {
		t.Fatalf("got state %v, want accepted", got)
	}
	return ofA, ofB
}

func TestTwoPeopleMeetAndTalk(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	if got := a.texts(ofA); !slices.Equal(got, []string{"hello from b"}) {
		t.Errorf("a reads %q, want the first message", got)
	}
	if got := a.contact(ofA).Name; got != "bob" {
		t.Errorf("a calls them %q, want bob", got)
	}
	long := strings.Repeat("0123456789", 700) // eight blocks
	a.send(ofA, "one")
	a.send(ofA, long)
	settle(a, b, ofA, ofB)
	if got := b.texts(ofB); !slices.Equal(got, []string{"one", long}) {
		t.Errorf("b reads %d texts, want 2 in order", len(got))
	}
	b.send(ofB, "back")
	settle(a, b, ofA, ofB)
	if got := a.texts(ofA); got[len(got)-1] != "back" {
		t.Errorf("a reads %q, want back", got[len(got)-1])
	}
}

// Loss, duplicates, reordering and lost acks, with both talking at once: at the
// end everything was shown exactly once.
func TestNothingIsLostOrShownTwice(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	r := mrand.New(mrand.NewPCG(1, 2))
	var wantA, wantB []string
	for i := range 120 {
		if i < 80 {
			x, y := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
			a.send(ofA, x)
			b.send(ofB, y)
			wantB, wantA = append(wantB, x), append(wantA, y)
		}
		lossy := func(from, to *person, id, of int64) {
			p := from.outgoing()
			if r.IntN(3) == 0 {
				p = append(p, from.acks(id)...)
			}
			p = append(p, p[:len(p)/3]...) // duplicates
			r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			for _, x := range p {
				if r.IntN(4) > 0 {
					to.take(of, x)
				}
			}
		}
		lossy(a, b, ofA, ofB)
		lossy(b, a, ofB, ofA)
	}
	settle(a, b, ofA, ofB)
	for _, c := range []struct {
		p    *person
		id   int64
		want []string
	}{{b, ofB, wantB}, {a, ofA, append([]string{"hello from b"}, wantA...)}} {
		got := c.p.texts(c.id)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s reads %d texts, want %d, each once", c.p.name, len(got), len(c.want))
		}
	}
}

func TestOnlySoManyAreSealedAhead(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for i := range convo.MaxSealed + 50 {
		a.send(ofA, fmt.Sprint(i))
	}
	if got := len(a.outgoing()); got != convo.MaxSealed {
		t.Errorf("%d are sealed, want %d", got, convo.MaxSealed)
	}
	settle(a, b, ofA, ofB)
	if got := len(b.texts(ofB)); got != convo.MaxSealed+50 {
		t.Errorf("b reads %d, want all", got)
	}
}

func TestAnInviteForManyAsksFirst(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofB := invited(a, b, contact.InviteOptions{Uses: 3, Life: 48 * time.Hour}, "may I?")
	hello := b.outgoing()[0]
	a.take(0, hello)
	const ofA = 1
	if got := a.contact(ofA).State; got != contact.Request {
		t.Fatalf("got %v, want a request", got)
	}
	if got := a.texts(ofA); !slices.Equal(got, []string{"may I?"}) {
		t.Errorf("request shows %q", got)
	}
	// The neutral answer: an ack and nothing else; it does not accept.
	for _, x := range a.acks(ofA) {
		b.take(ofB, x)
	}
	if b.waiting(ofB) != 0 || b.contact(ofB).State != contact.Pending {
		t.Errorf("after the neutral answer: %d waiting, state %v", b.waiting(ofB), b.contact(ofB).State)
	}
	// The same hello again is answered again, but no more than once a day: each
	// answer tells a stranger that this device is there.
	a.take(0, hello)
	if got := len(a.acks(ofA)); got != 0 {
		t.Errorf("a hello is answered %d times more within minutes, want none", got)
	}
	a.now = a.now.Add(25 * time.Hour)
	a.take(0, hello)
	a.take(0, hello)
	if got := len(a.acks(ofA)); got != 1 {
		t.Errorf("a day later a duplicate hello is answered %d times, want once", got)
	}
	if got := len(a.texts(ofA)); got != 1 {
		t.Errorf("a duplicate hello shows %d texts, want 1", got)
	}
	b.now = a.now
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Answer(tx, a.now, ofA, convo.Accept) })
	settle(a, b, ofA, ofB)
	if b.contact(ofB).State != contact.Accepted {
		t.Error("b was not told of the acceptance")
	}
}

func TestAnotherHelloOnUsedKeysIsRefused(t *testing.T) {
	a, b, c := newPerson(t, "ada"), newPerson(t, "bob"), newPerson(t, "eve")
	var inv *contact.InviteRecord
	a.do(func(tx vault.Store) (_ *convo.Change, err error) {
		inv, err = contact.NewInvite(tx, rand.Reader, a.now, a.e.Self, home, 1800, contact.InviteOptions{Uses: 1, Life: time.Hour})
		return nil, err
	})
	blob := *inv
	accepts(b, &blob, "first")
	accepts(c, &blob, "second")
	a.take(0, b.outgoing()[0])
	a.take(0, c.outgoing()[0])
	var n int
	a.view(func(tx vault.Store) error {
		all, err := tx.Contacts()
		n = len(all)
		return err
	})
	if n != 1 {
		t.Errorf("a has %d contacts, want 1: the second hello used burnt keys", n)
	}
	a.view(func(tx vault.Store) error {
		i, err := tx.Invite(inv.ID)
		if err == nil && (len(i.Private) > 0 || len(i.Seal) > 0) {
			t.Error("the invite's keys are still there after its last use")
		}
		return err
	})
}

func TestABlockedContactReachesNothing(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	a.send(ofA, "last words")
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Answer(tx, a.now, ofA, convo.Block) })
	a.view(func(tx vault.Store) error {
		routes, err := tx.RoutesOf(ofA)
		if len(routes) != 0 {
			t.Errorf("%d routes are left after a block, want none", len(routes))
		}
		sessions, _ := tx.SessionsOf(ofA)
		if len(sessions) != 0 {
			t.Errorf("%d sessions are left after a block", len(sessions))
		}
		return err
	})
	if n := a.waiting(ofA); n != 0 {
		t.Errorf("%d rows are left after a block", n)
	}
	b.send(ofB, "hello?")
	if o, _ := a.take(ofA, b.outgoing()[0]); o == convo.Shown {
		t.Error("a blocked contact's message was shown")
	}
}

func TestTwoWhoAskAtOnceMeetOnce(t *testing.T) {
	for range 4 { // roots are random: both orders come up
		a, b := newPerson(t, "ada"), newPerson(t, "bob")
		ofB := invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour}, "from b")
		ofA := invited(b, a, contact.InviteOptions{Uses: 1, Life: time.Hour}, "from a")
		fromA, fromB := a.outgoing(), b.outgoing()
		for _, x := range fromA {
			b.take(0, x)
		}
		for _, x := range fromB {
			a.take(0, x)
		}
		settle(a, b, ofA, ofB)
		a.send(ofA, "x")
		b.send(ofB, "y")
		settle(a, b, ofA, ofB)
		if got := a.texts(ofA); !slices.Equal(got, []string{"from b", "y"}) {
			t.Errorf("a reads %q", got)
		}
		if got := b.texts(ofB); !slices.Equal(got, []string{"from a", "x"}) {
			t.Errorf("b reads %q", got)
		}
		for _, c := range []struct {
			p  *person
			id int64
		}{{a, ofA}, {b, ofB}} {
			c.p.view(func(tx vault.Store) error {
				all, err := tx.Contacts()
				if len(all) != 1 {
					t.Errorf("%s has %d contacts, want 1", c.p.name, len(all))
				}
				return err
			})
		}
	}
}

func TestUnsendOnlyWhatDidNotLeave(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	gone, stays := a.send(ofA, "oops"), a.send(ofA, "stays")
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Unsend(tx, a.now, gone.Seq) })
	row := slices.Sorted(maps.Keys(a.ready))[0]
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Moved(tx, row, convo.Offered) })
	err := a.v.Update(context.Background(), func(tx *vault.Tx) error {
		_, err := a.e.Unsend(vault.Store{Tx: tx}, a.now, stays.Seq)
		return err
	})
	if err != convo.ErrSent {
		t.Errorf("got %v, want ErrSent", err)
	}
	settle(a, b, ofA, ofB)
	if got := b.texts(ofB); !slices.Equal(got, []string{"stays"}) {
		t.Errorf("b reads %q, want only what stayed", got)
	}
}

// The hello's four fragments and every pair message have one size each.
func TestSizesTellNothing(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, _ := met(t, a, b)
	for _, n := range []int{1, 100, 900} {
		a.send(ofA, strings.Repeat("x", n))
	}
	for _, x := range a.outgoing() {
		if len(x.payload) != wire.PairSize {
			t.Errorf("a message is %d bytes sealed, want %d", len(x.payload), wire.PairSize)
		}
	}
	for _, text := range []string{"", strings.Repeat("x", 900)} {
		c := newPerson(t, "eve")
		invited(newPerson(t, "dan"), c, contact.InviteOptions{Uses: 1, Life: time.Hour}, text)
		_, f, err := sealed.Fragments(wire.KindHello, c.outgoing()[0].payload)
		if err != nil || len(f) != wire.HelloCells {
			t.Errorf("a hello with %d bytes of text takes %d cells, %v, want %d", len(text), len(f), err, wire.HelloCells)
		}
	}
}
