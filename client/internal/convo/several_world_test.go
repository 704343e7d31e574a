package convo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// town is several devices of several people, each with a real vault. The test
// carries what they have to carry, by the routes that they go by: what is off, cut
// off or unlucky gets nothing.
type town struct {
	t       *testing.T
	now     time.Time
	all     []*person
	off     map[*person]bool
	cut     map[[2]*person]bool
	luck    *mrand.Rand // nil: nothing is lost
	lose    int         // one cell in so many
	crash   int         // one transaction in so many is never committed
	refused int         // cells that no device took for good
	ends    map[addr.Public]end
}

func newTown(t *testing.T, seed uint64) *town {
	return &town{t: t, now: time.Unix(1_800_000_000, 0), off: map[*person]bool{}, cut: map[[2]*person]bool{}, luck: mrand.New(mrand.NewPCG(seed, 77))}
}

func (w *town) add(p *person) *person {
	// What a device keeps of itself is put back if its transaction is not committed.
	p.e.Keep = func(convo.Tx) error { return nil }
	w.all = append(w.all, p)
	return p
}

func (w *town) person(name string) *person { return w.add(newPerson(w.t, name)) }

var errCrash = errors.New("the process ended before the commit")

// try runs a transaction that may be lost.
func (w *town) try(p *person, f func(tx vault.Store) (*convo.Change, error)) *convo.Change {
	w.t.Helper()
	var ch *convo.Change
	m, past := p.e.Self.Manifest, p.e.Self.Past
	err := p.v.Update(context.Background(), func(tx *vault.Tx) (err error) {
		ch, err = f(vault.Store{Tx: tx})
		if err == nil && w.crash > 0 && w.luck.IntN(w.crash) == 0 {
			return errCrash
		}
		return err
	})
	if errors.Is(err, errCrash) || errors.Is(err, convo.ErrBusy) {
		p.e.Self.Manifest, p.e.Self.Past = m, past
		return &convo.Change{}
	}
	if err != nil {
		w.t.Fatalf("%s: %v", p.name, err)
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

// must is try without misfortune.
func (w *town) must(p *person, f func(tx vault.Store) (*convo.Change, error)) *convo.Change {
	w.t.Helper()
	crash := w.crash
	w.crash = 0
	defer func() { w.crash = crash }()
	return w.try(p, f)
}

// end is a device and its route that a route of somebody leads to.
type end struct {
	p     *person
	route int64
}

// serve finds out what every device serves.
func (w *town) serve() {
	w.ends = map[addr.Public]end{}
	for _, p := range w.all {
		p.view(func(tx vault.Store) error {
			devices, err := tx.Devices()
			if err != nil {
				return err
			}
			ids := []int64{0}
			for _, d := range devices {
				if d.MayReceive() {
					ids = append(ids, d.ID)
				}
			}
			for _, id := range ids {
				routes, err := tx.RoutesOf(id)
				if err != nil {
					return err
				}
				for _, r := range routes {
					if r.Mine {
						w.ends[public(w.t, r)] = end{p, r.ID}
					}
				}
			}
			return nil
		})
	}
}

// ways are the routes that a row goes by.
func (w *town) ways(p *person, row *convo.Row) (out []addr.Public) {
	p.view(func(tx vault.Store) error {
		if row.Route != 0 {
			r, err := tx.Route(row.Route)
			if err == nil {
				out = append(out, public(w.t, r))
			}
			return nil
		}
		r, err := tx.Contact(row.Contact)
		if err != nil || r.Stop {
			return nil
		}
		routes, err := tx.RoutesOf(row.Contact)
		for i := len(routes) - 1; i >= 0; i-- {
			r := routes[i]
			if r.Mine || r.Invite != 0 || r.Retired(addr.PeriodAt(w.now.Unix(), r.Period)) || len(out) > 0 && !row.Hello {
				continue
			}
			out = append(out, public(w.t, r))
		}
		return err
	})
	return out
}

func (w *town) deliver(from *person, to addr.Public, x parcel) {
	is, ok := w.ends[to]
	p := is.p
	if !ok || w.off[p] || w.off[from] || w.cut[[2]*person{from, p}] || w.lose > 0 && w.luck.IntN(w.lose) == 0 {
		return
	}
	w.try(p, func(tx vault.Store) (ch *convo.Change, err error) {
		r, err := tx.Route(is.route)
		if errors.Is(err, contact.ErrUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out := convo.Nothing
		switch {
		case x.hello && r.Contact == 0:
			ch, err = p.e.Met(tx, w.now, r, x.payload)
		case x.hello:
			out, ch, err = p.e.Again(tx, w.now, r, x.payload)
		default:
			out, ch, err = p.e.Pair(tx, w.now, r, x.m, x.payload)
		}
		if out == convo.Rejected {
			w.refused++
		}
		return ch, err
	})
}

// round lets everybody who is there put what waits, once, and ack what they owe.
func (w *town) round() {
	w.serve()
	order := w.luck.Perm(len(w.all))
	for _, i := range order {
		p := w.all[i]
		p.now = w.now
		if w.off[p] {
			continue
		}
		w.try(p, func(tx vault.Store) (*convo.Change, error) {
			ch, _, err := p.e.Introduce(tx, w.now, 8)
			return ch, err
		})
		w.put(p)
		w.ack(p)
	}
	w.now = w.now.Add(time.Minute)
}

func (w *town) put(p *person) {
	var rows []*convo.Row
	p.view(func(tx vault.Store) (err error) {
		rows, err = tx.RowsOf(0)
		return err
	})
	w.luck.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, row := range rows {
		if !row.Sealed || w.lose > 0 && w.luck.IntN(3) == 0 {
			continue
		}
		for _, to := range w.ways(p, row) {
			w.deliver(p, to, parcel{row.Hello, row.Message, row.Payload})
			if w.luck.IntN(8) == 0 {
				w.deliver(p, to, parcel{row.Hello, row.Message, row.Payload})
			}
		}
	}
}

func (w *town) ack(p *person) {
	var owing []int64
	p.view(func(tx vault.Store) (err error) {
		owing, err = tx.Owing()
		return err
	})
	for _, id := range owing {
		for {
			var a *convo.Ack
			w.must(p, func(tx vault.Store) (_ *convo.Change, err error) {
				if a, err = p.e.Acks(tx, w.now, id); errors.Is(err, convo.ErrBlocked) {
					a, err = nil, nil
				}
				return nil, err
			})
			if a == nil {
				break
			}
			for _, to := range w.ways(p, &convo.Row{Contact: id}) {
				w.deliver(p, to, parcel{m: a.Message, payload: a.Payload})
			}
			w.must(p, func(tx vault.Store) (*convo.Change, error) { return nil, p.e.Put(tx, a) })
		}
	}
}

// calm lets everything that waits arrive: nobody is off and nothing is lost.
func (w *town) calm() {
	w.t.Helper()
	w.lose, w.crash = 0, 0
	clear(w.off)
	clear(w.cut)
	for i := range 400 {
		w.round()
		n := 0
		for _, p := range w.all {
			n += p.waiting(0)
		}
		if n == 0 {
			return
		}
		if i%20 == 19 {
			w.now = w.now.Add(time.Hour)
		}
	}
	for _, p := range w.all {
		p.view(func(tx vault.Store) error {
			rows, err := tx.RowsOf(0)
			for _, r := range rows {
				c, _ := tx.Contact(r.Contact)
				w.t.Logf("%s: row %d for device %d (own %v) sealed %v hello %v event %d", p.name, r.ID, r.Contact, c.Own, r.Sealed, r.Hello, r.Event)
			}
			return err
		})
	}
	w.t.Fatal("something waits for ever")
}

// link makes another device of the person whose root is at p.
func (w *town) link(p *person, name string) *person {
	w.t.Helper()
	d := w.prepare(name)
	w.admit(p, d)
	return d
}

// prepare makes a device that is nobody's yet.
func (w *town) prepare(name string) *person {
	w.t.Helper()
	id, err := device.NewDevice(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	d := newPerson(w.t, name)
	d.e.Self = id
	return w.add(d)
}

// admit is what linking does, with the messages of it left out.
func (w *town) admit(p, d *person) {
	w.t.Helper()
	var cards [][]byte
	var m *manifest.Manifest
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		card, ch, err := p.e.Welcome(tx, w.now, d.e.Self.Public())
		if err != nil {
			return nil, err
		}
		if cards, err = p.e.Cards(tx); err != nil {
			return nil, err
		}
		cards = append(cards, card)
		err = tx.EachShared(func(e *content.Entry) error {
			return d.v.Update(context.Background(), func(tx *vault.Tx) error { return (vault.Store{Tx: tx}).PutShared(e) })
		})
		if err != nil {
			return nil, err
		}
		m, err = p.e.Self.Admit(w.now, d.e.Self.Public())
		return ch, err
	})
	if err := d.e.Self.Adopt(w.now, m); err != nil {
		w.t.Fatal(err)
	}
	d.e.Name = p.e.Name
	w.must(d, func(tx vault.Store) (*convo.Change, error) {
		for _, c := range cards {
			if _, err := d.e.TakeCard(tx, w.now, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	w.must(p, func(tx vault.Store) (*convo.Change, error) { return p.e.Adopt(tx, w.now, m) })
}

// revoke makes p, who has the root, revoke another device of the same person.
func (w *town) revoke(p, d *person) {
	w.t.Helper()
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		m, err := p.e.Self.Revoke(w.now, d.e.Self.Place(p.e.Self.Manifest))
		if err != nil {
			return nil, err
		}
		return p.e.Adopt(tx, w.now, m)
	})
}

// meet lets two people meet by an invite.
func (w *town) meet(a, b *person) {
	w.t.Helper()
	a.now, b.now = w.now, w.now
	invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: a.e.Name}, "")
	w.calm()
}

// of is p's record of the person whose device o is.
func (w *town) of(p, o *person) (r *contact.Record) {
	w.t.Helper()
	p.view(func(tx vault.Store) (err error) {
		r, err = tx.ContactOf(o.e.Self.Manifest.Root)
		return err
	})
	return r
}

// say makes p write to the person whose device o is.
func (w *town) say(p, o *person, text string) *convo.Event {
	w.t.Helper()
	var ev *convo.Event
	w.must(p, func(tx vault.Store) (ch *convo.Change, err error) {
		r, err := tx.ContactOf(o.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		ev, ch, err = p.e.Send(tx, w.now, r.ID, text, 0)
		return ch, err
	})
	return ev
}

// shows counts how often p shows a text in the conversation with o, by direction.
func (w *town) shows(p, o *person, out bool) map[string]int {
	n := map[string]int{}
	p.view(func(tx vault.Store) error {
		r, err := tx.ContactOf(o.e.Self.Manifest.Root)
		if errors.Is(err, contact.ErrUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.Events(r.ID, 0, func(e *convo.Event) error {
			if e.Kind == convo.Text && e.Out == out {
				n[e.Text]++
			}
			return nil
		})
	})
	return n
}

// once fails the test unless p shows each text once, and no other.
func (w *town) once(p, o *person, out bool, want ...string) {
	w.t.Helper()
	got := w.shows(p, o, out)
	for _, text := range want {
		if got[text] != 1 {
			w.t.Errorf("%s shows %q %d times (out: %v), want once", p.name, text, got[text], out)
		}
		delete(got, text)
	}
	for text, n := range got {
		w.t.Errorf("%s shows %q %d times (out: %v), want never", p.name, text, n, out)
	}
}

// agreed is what the devices of a person must have in common.
func (w *town) agreed(p *person) string {
	var lines []string
	p.view(func(tx vault.Store) error {
		people, err := tx.Contacts()
		if err != nil {
			return err
		}
		for _, r := range people {
			unread := 0
			var seen []string
			err := tx.Events(r.ID, 0, func(e *convo.Event) error {
				if e.Kind != convo.Text {
					return nil
				}
				if !e.Out && !e.Seen && e.Seq > r.Read {
					unread++
				}
				if e.Out {
					seen = append(seen, fmt.Sprint(e.Text, e.State >= convo.OnDevice && e.State != convo.Copied))
				}
				return nil
			})
			if err != nil {
				return err
			}
			slices.Sort(seen)
			lines = append(lines, fmt.Sprintf("%x %s %s verified %v stop %v unread %d sent %q", r.Root[:4], r.Name, r.State, r.Verified, r.Stop, unread, seen))
		}
		return tx.EachShared(func(e *content.Entry) error {
			if e.Key[0] != 'c' {
				lines = append(lines, fmt.Sprintf("%x=%x by %x at %d", e.Key, e.Value, e.Device[:4], e.Count))
			}
			return nil
		})
	})
	slices.Sort(lines)
	return fmt.Sprint(lines)
}
