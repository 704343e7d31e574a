package group_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/group/grouptest"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// relay is a realm that can lie, forget, lose what it kept, and be away.
type relay struct {
	home   roster.Home
	key    key.Sign
	stores [2]map[wire.BlobID][]byte // two, for one that lies
	lies   bool
	away   bool
}

// somebody is a person with one device.
type somebody struct {
	name   string
	w      *town
	store  *grouptest.Memory
	e      *group.Engine
	off    bool
	side   int // which store a lying relay shows
	events []group.Event
	out    []parcel
	late   []parcel // for the next step
}

// parcel is something on its way to a device.
type parcel struct {
	to   group.Device
	copy *group.Copy
	word *group.Word
}

// town is people, relays and what lies between them, in virtual time.
type town struct {
	t      *testing.T
	now    time.Time
	people []*somebody
	relays []*relay
	cut    map[[2]*somebody]bool // pairs that do not hear each other
	blind  map[*somebody]bool    // who does not reach any relay
	seed   uint64
}

// trace tells a step, with TRACE=1.
func (w *town) trace(f string, a ...any) {
	w.t.Helper()
	if os.Getenv("TRACE") != "" {
		w.t.Logf(w.now.Format("02 15:04:05")+" "+f, a...)
	}
}

func (w *town) rand(n uint64) io.Reader {
	var seed [32]byte
	seed[0], seed[1] = byte(n), byte(w.seed)
	return rand.NewChaCha8(seed)
}

func newTown(t *testing.T, relays int, names ...string) *town {
	w := &town{t: t, now: time.Unix(1_800_000_000, 0), cut: map[[2]*somebody]bool{}, blind: map[*somebody]bool{}}
	for i := range relays {
		k, err := key.Generate[key.SignRole](w.rand(uint64(200 + i)))
		w.must(err)
		w.relays = append(w.relays, &relay{
			home: roster.Home{Name: fmt.Sprintf("relay%d.example", i), Pin: [32]byte{byte(i + 1)}, Receipt: key.SignPublicOf(k)},
			key:  k, stores: [2]map[wire.BlobID][]byte{{}, {}},
		})
	}
	for i, n := range names {
		w.people = append(w.people, w.person(i, n))
	}
	return w
}

func (w *town) person(i int, name string) *somebody {
	r := w.rand(uint64(i))
	root, err := key.Generate[key.SignRole](r)
	w.must(err)
	sign, err := key.Generate[key.SignRole](r)
	w.must(err)
	dh, err := key.Generate[key.DHRole](r)
	w.must(err)
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(w.now),
		Devices: []manifest.Device{{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh), XWing: [32]byte{byte(i + 1)}}}}
	w.must(manifest.Sign(root, m))
	s := &somebody{name: name, w: w, store: &grouptest.Memory{}}
	s.e = &group.Engine{Self: group.Self{Sign: sign, Manifest: m, Home: w.relays[0].home}, Rand: r, Crypto: group.MLS{}, Live: 1800, AckMean: -1}
	for _, o := range w.relays[1:] {
		s.e.Self.Elsewhere = append(s.e.Self.Elsewhere, o.home)
	}
	return s
}

func (w *town) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (s *somebody) device() group.Device { return key.SignPublicOf(s.e.Self.Sign) }
func (s *somebody) root() key.SignPublic { return s.e.Self.Manifest.Root }

func (w *town) by(d group.Device) *somebody {
	for _, s := range w.people {
		if s.device() == d {
			return s
		}
	}
	return nil
}

// do runs one call of the engine in a transaction, and takes what it asks for.
func (s *somebody) do(f func(tx group.Tx) (*group.Change, error)) error {
	var ch *group.Change
	err := s.store.Update(func(tx group.Tx) (err error) {
		ch, err = f(tx)
		return err
	})
	if err != nil {
		return err
	}
	s.took(ch)
	return nil
}

func (s *somebody) took(ch *group.Change) {
	if ch == nil {
		return
	}
	s.events = append(s.events, ch.Events...)
	for _, e := range ch.Events {
		s.w.trace("%s event %d of %x: %s", s.name, e.Kind, e.Group[:3], e.Text)
	}
	for _, k := range ch.Removed {
		s.late = slices.DeleteFunc(s.late, func(p parcel) bool {
			return p.copy.Group == k.Group && p.copy.Epoch == k.Epoch && p.copy.Leaf == k.Leaf && p.copy.Message == k.Message
		})
		s.out = slices.DeleteFunc(s.out, func(p parcel) bool {
			return p.copy != nil && p.copy.Group == k.Group && p.copy.Epoch == k.Epoch && p.copy.Leaf == k.Leaf && p.copy.Message == k.Message
		})
	}
	for _, c := range ch.Copies {
		s.out = append(s.out, parcel{to: c.To, copy: c})
	}
	for _, v := range ch.Words {
		s.out = append(s.out, parcel{to: v.To, word: v})
	}
	for _, c := range ch.Slots {
		s.slot(c)
	}
}

// slot asks a relay, which answers at once or not at all.
func (s *somebody) slot(c *group.SlotCall) {
	var r *relay
	for _, o := range s.w.relays {
		if o.home.Name == c.Home.Name {
			r = o
		}
	}
	a := group.SlotAnswer{Group: c.Group, Epoch: c.Epoch}
	k := 0
	if r != nil && r.lies {
		k = s.side
	}
	switch {
	case r == nil || r.away || s.w.blind[s]:
		a.Trouble = group.Away
	default:
		if c.Put != nil && r.stores[k][c.Slot] == nil {
			r.stores[k][c.Slot] = c.Put
		}
		if b := r.stores[k][c.Slot]; b != nil {
			rec := &wire.Receipt{ID: c.Slot, Hash: sha256.Sum256(b)}
			rec.Sig = key.SignMessage(r.key, wire.LabelReceipt, rec.ID[:], rec.Hash[:])
			a.Receipt = rec
			if c.Put == nil {
				a.Blob = b
			}
		} else {
			a.Trouble = group.Empty
		}
	}
	s.w.trace("%s slot of %d of %x: put %v, blob %v, trouble %d", s.name, c.Epoch, c.Group[:3], c.Put != nil, a.Blob != nil, a.Trouble)
	if err := s.do(func(tx group.Tx) (*group.Change, error) { return s.e.Answer(tx, s.w.now, a) }); err != nil && !errors.Is(err, group.ErrUnknown) {
		s.w.t.Fatalf("%s: answer: %v", s.name, err)
	}
}

func (w *town) hears(a, b *somebody) bool {
	return !a.off && !b.off && !w.cut[[2]*somebody{a, b}] && !w.cut[[2]*somebody{b, a}]
}

// carry brings what is on its way until nothing moves.
func (w *town) carry() {
	w.t.Helper()
	for range 200 {
		moved := false
		for _, s := range w.people {
			out := s.out
			s.out = nil
			for _, p := range out {
				to := w.by(p.to)
				if to == nil {
					continue
				}
				if !w.hears(s, to) {
					if p.word != nil || p.copy.Keep {
						s.out = append(s.out, p)
					}
					continue
				}
				moved = true
				w.give(s, to, p)
			}
		}
		if !moved {
			return
		}
	}
	for _, s := range w.people {
		for _, p := range s.out[:min(3, len(s.out))] {
			if p.word != nil {
				w.t.Logf("%s to %s: word %d", s.name, w.by(p.to).name, p.word.Payload[0])
			} else {
				w.t.Logf("%s to %s: copy in %d", s.name, w.by(p.to).name, p.copy.Epoch)
			}
		}
	}
	w.t.Fatal("what people say to each other does not end")
}

func (w *town) give(from, to *somebody, p parcel) {
	w.t.Helper()
	if p.word != nil {
		w.trace("%s -> %s word %d (%d bytes)", from.name, to.name, p.word.Payload[0], len(p.word.Payload))
		err := to.do(func(tx group.Tx) (*group.Change, error) {
			return to.e.Hear(tx, w.now, from.device(), from.root(), p.word.Payload)
		})
		if err != nil && !errors.Is(err, group.ErrWelcome) {
			w.t.Fatalf("%s hears word %d of %s: %v", to.name, p.word.Payload[0], from.name, err)
		}
		return
	}
	err := to.do(func(tx group.Tx) (*group.Change, error) {
		_, ch, err := to.e.Take(tx, w.now, group.Arrival{Group: p.copy.Group, Epoch: p.copy.Epoch, Payload: p.copy.Payload})
		return ch, err
	})
	w.trace("%s -> %s copy epoch %d: %v", from.name, to.name, p.copy.Epoch, err)
	if errors.Is(err, group.ErrUnknown) && p.copy.Keep {
		from.late = append(from.late, p) // it is a member and has not entered yet: an outbox tries again
	}
}

// pass lets time go by in steps.
func (w *town) pass(d, step time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(step)
		for _, s := range w.people {
			s.out, s.late = append(s.out, s.late...), nil
			if s.off {
				continue
			}
			if err := s.do(func(tx group.Tx) (*group.Change, error) { return s.e.Tick(tx, w.now) }); err != nil {
				w.t.Fatalf("%s: tick: %v", s.name, err)
			}
		}
		w.carry()
	}
}

// minutes lets some minutes go by.
func (w *town) minutes(n int) { w.t.Helper(); w.pass(time.Duration(n)*time.Minute, 30*time.Second) }
func (w *town) hours(n int)   { w.t.Helper(); w.pass(time.Duration(n)*time.Hour, 7*time.Minute) }
func (w *town) days(n int)    { w.t.Helper(); w.pass(time.Duration(n)*24*time.Hour, 97*time.Minute) }

// found makes a group of all who are there, with the first as its admin; the next
// ones are promoted.
func (w *town) found(admins int, people ...*somebody) group.ID {
	w.t.Helper()
	if people == nil {
		people = w.people
	}
	var id group.ID
	a := people[0]
	w.must(a.do(func(tx group.Tx) (ch *group.Change, err error) {
		id, ch, err = a.e.Create(tx, w.now, group.Founding{Name: "town", Class: 2, Size: len(people)})
		return ch, err
	}))
	for _, p := range people[1:] {
		w.must(a.want(id, roster.Wish{Kind: roster.Add, Root: p.root(), Device: p.device()}))
	}
	w.minutes(6)
	for _, p := range people[1:admins] {
		w.must(a.want(id, roster.Wish{Kind: roster.Promote, Root: p.root()}))
		w.minutes(4)
	}
	w.minutes(10)
	for _, p := range people {
		if r := p.record(id); r == nil || r.State != group.Active {
			w.t.Fatalf("%s did not come in: %+v", p.name, r)
		}
	}
	w.together(people...)
	return id
}

func (s *somebody) want(id group.ID, v roster.Wish) error {
	err := s.do(func(tx group.Tx) (*group.Change, error) { return s.e.Want(tx, s.w.now, id, v) })
	s.w.carry()
	return err
}

func (s *somebody) remove(id group.ID, p *somebody) error {
	return s.want(id, roster.Wish{Kind: roster.Remove, Root: p.root()})
}

func (s *somebody) record(id group.ID) *group.Record {
	var r *group.Record
	_ = s.store.Update(func(tx group.Tx) (err error) {
		if r, err = tx.Group(id); err != nil {
			r = nil
		}
		return nil
	})
	return r
}

// now is the group in which somebody is.
func (s *somebody) now() *group.Record {
	var best *group.Record
	s.w.must(s.store.Update(func(tx group.Tx) error {
		all, err := tx.Groups()
		for _, r := range all {
			if r.State != group.Out && r.State != group.Replaced && (best == nil || r.Since > best.Since) {
				best = r
			}
		}
		return err
	}))
	return best
}

func (s *somebody) epoch() *group.Epoch {
	r := s.now()
	if r == nil {
		return nil
	}
	var e *group.Epoch
	s.w.must(s.store.Update(func(tx group.Tx) (err error) {
		e, err = tx.Epoch(r.ID, r.Head)
		return err
	}))
	return e
}

// says sends a text, and fails where it is held.
func (s *somebody) says(text string) error {
	r := s.now()
	if r == nil {
		return group.ErrLeft
	}
	err := s.do(func(tx group.Tx) (*group.Change, error) {
		_, ch, err := s.e.Send(tx, s.w.now, r.ID, []byte(text))
		return ch, err
	})
	s.w.carry()
	return err
}

// heard counts how often a text was shown.
func (s *somebody) heard(text string) (n int) {
	for _, e := range s.events {
		if e.Kind == group.EventText && string(e.Content) == text {
			n++
		}
	}
	return n
}

// together fails unless all are in one epoch of one group, with just them in it.
func (w *town) together(people ...*somebody) {
	w.t.Helper()
	var want []group.Device
	for _, p := range people {
		want = append(want, p.device())
	}
	roster.SortKeys(want)
	first := people[0].epoch()
	for _, p := range people {
		e := p.epoch()
		if e == nil {
			w.t.Fatalf("%s is in no group", p.name)
		}
		var got []group.Device
		for _, l := range e.Roster {
			got = append(got, l.Device)
		}
		if e.Group != first.Group || e.Number != first.Number || e.Mark != first.Mark || !slices.Equal(roster.SortKeys(got), want) {
			w.t.Fatalf("%s is in epoch %d of %x with %s; %s in epoch %d of %x", p.name, e.Number, e.Group[:3], w.names(got), people[0].name, first.Number, first.Group[:3])
		}
	}
}

func (w *town) names(d []group.Device) string {
	var out []string
	for _, x := range d {
		if s := w.by(x); s != nil {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, " ")
}

// told reports whether somebody read a notice with some words in it.
func (s *somebody) told(k group.EventKind, words string) bool {
	return slices.ContainsFunc(s.events, func(e group.Event) bool { return e.Kind == k && strings.Contains(e.Text, words) })
}

// answers a question of a kind; it fails if it is not asked.
func (s *somebody) answers(k group.QuestionKind, yes bool) {
	s.w.t.Helper()
	r := s.now()
	for _, q := range r.Questions {
		if q.Kind == k {
			s.w.must(s.do(func(tx group.Tx) (*group.Change, error) { return s.e.Decide(tx, s.w.now, r.ID, q, yes) }))
			s.w.carry()
			return
		}
	}
	s.w.t.Fatalf("%s is not asked %d: %+v", s.name, k, r.Questions)
}

func (s *somebody) asked(k group.QuestionKind) bool {
	r := s.now()
	return r != nil && slices.ContainsFunc(r.Questions, func(q group.Question) bool { return q.Kind == k })
}

func (w *town) cutOff(a *somebody, from ...*somebody) {
	for _, b := range from {
		w.cut[[2]*somebody{a, b}] = true
	}
}

func (w *town) heal() {
	clear(w.cut)
	clear(w.blind)
}
