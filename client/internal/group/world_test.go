package group_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/group/grouptest"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// realm keeps slots as a relay does: the first content of an id stays.
type realm struct {
	home    roster.Home
	receipt key.Sign
	blobs   map[wire.BlobID][]byte
	away    bool
	lost    map[wire.BlobID]bool // content is gone, the hash is not
	puts    int
	reads   int
}

func (r *realm) sign(id wire.BlobID, blob []byte) *wire.Receipt {
	h := slot.Hash(blob)
	return &wire.Receipt{ID: id, Hash: h, Sig: key.SignMessage(r.receipt, wire.LabelReceipt, id[:], h[:])}
}

func (r *realm) answer(c *group.SlotCall) group.SlotAnswer {
	a := group.SlotAnswer{Group: c.Group, Epoch: c.Epoch}
	if r.away {
		a.Trouble = group.Away
		return a
	}
	if c.Put == nil {
		r.reads++
	} else if r.puts++; r.blobs[c.Slot] == nil {
		r.blobs[c.Slot] = bytes.Clone(c.Put)
	}
	b := r.blobs[c.Slot]
	switch {
	case b == nil:
		a.Trouble = group.Empty
		return a
	case r.lost[c.Slot]:
		a.Trouble, a.Receipt = group.Lost, r.sign(c.Slot, b)
		return a
	}
	a.Receipt = r.sign(c.Slot, b)
	if c.Put == nil {
		a.Blob = b
	}
	return a
}

// device is one device with its disk.
type device struct {
	w      *world
	name   string
	root   key.Sign
	sign   group.Device
	eng    *group.Engine
	disk   *grouptest.Memory
	on     bool
	rows   map[group.RowKey]*group.Copy
	words  []*group.Word // kept until their device took them
	slots  []*group.SlotCall
	events []group.Event
	meets  []group.Meeting
	next   time.Time
	crash  int // counts down: at 1 the transaction is lost, at 0 nothing
	after  bool
	calls  int
	routed int // calls when known was read

	failed  []group.Failed
	mayFail bool // what fails in one group is what the test is about
	known   []group.OwnRoute
}

func (d *device) id() group.Device       { return d.sign }
func (d *device) person() key.SignPublic { return d.eng.Self.Manifest.Root }

type cell struct {
	from *device
	copy *group.Copy
}

type world struct {
	t     *testing.T
	rand  *rand.ChaCha8
	r     *rand.Rand
	now   time.Time
	realm *realm
	devs  []*device
	cells []cell
	drop  func(from, to *device) bool
	deaf  *device                           // does not get what goes to all
	text  map[wire.MessageID][]group.Device // who may read a text
	sent  int
	rough bool // cells are lost and doubled, words doubled
}

func newWorld(t *testing.T, seed uint64) *world {
	var s [32]byte
	s[0], s[1] = byte(seed), byte(seed>>8)
	w := &world{t: t, rand: rand.NewChaCha8(s), now: time.Unix(1_800_000_000, 0), text: map[wire.MessageID][]group.Device{}}
	w.r = rand.New(w.rand)
	k := w.key()
	w.realm = &realm{receipt: k, blobs: map[wire.BlobID][]byte{}, lost: map[wire.BlobID]bool{},
		home: roster.Home{Name: "relay.example", Pin: [32]byte{1}, Receipt: key.SignPublicOf(k)}}
	return w
}

func (w *world) key() key.Sign {
	k, err := key.Generate[key.SignRole](w.rand)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func (w *world) dh() key.DH {
	k, err := key.Generate[key.DHRole](w.rand)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// sign makes a person's manifest.
func (w *world) sign(root key.Sign, old *manifest.Manifest, devs ...manifest.Device) *manifest.Manifest {
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(w.now), Devices: devs}
	if old != nil {
		m.Sequence, m.Previous = old.Sequence+1, old.Hash()
	}
	if err := manifest.Sign(root, m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) device(name string, of *device) *device {
	d := &device{w: w, name: name, on: true, disk: &grouptest.Memory{}, rows: map[group.RowKey]*group.Copy{}}
	sign := w.key()
	d.sign = key.SignPublicOf(sign)
	var old *manifest.Manifest
	var devs []manifest.Device
	if of == nil {
		d.root = w.key()
	} else {
		d.root, old = of.root, of.eng.Self.Manifest
		devs = slices.Clone(old.Devices)
	}
	m := w.sign(d.root, old, append(devs, manifest.Device{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(w.dh()), XWing: [32]byte(key.SignPublicOf(w.key()))})...)
	for _, o := range w.devs {
		if o.person() == m.Root {
			o.eng.Self.Manifest = m
		}
	}
	d.eng = &group.Engine{Self: group.Self{Sign: sign, Manifest: m, Home: w.realm.home}, Rand: w.rand, Crypto: group.MLS{}, Live: 1800, Hybrid: -1, AckMean: -1}
	w.devs = append(w.devs, d)
	return d
}

// people makes devices of people with stocks of each other's key packages.
func (w *world) people(names ...string) []*device {
	var out []*device
	for _, n := range names {
		out = append(out, w.device(n, nil))
	}
	w.stock(out...)
	return out
}

func (w *world) stock(devs ...*device) {
	for _, a := range devs {
		for _, b := range devs {
			if a != b {
				w.give(a, b)
			}
		}
	}
	w.settle(0)
}

func (w *world) give(from, to *device) {
	w.t.Helper()
	from.must(func(tx group.Tx) (*group.Change, error) {
		p, err := from.eng.Packages(tx, w.now, to.id(), 2)
		return &group.Change{Words: []*group.Word{{To: to.id(), Payload: p}}}, err
	})
}

func (w *world) find(d group.Device) *device {
	for _, o := range w.devs {
		if o.id() == d {
			return o
		}
	}
	return nil
}

var errCrash = errors.New("crash")

// do runs one transaction. What it returns counts once that has committed.
func (d *device) do(f func(tx group.Tx) (*group.Change, error)) error {
	d.calls++
	var ch *group.Change
	boom := d.crash == 1
	if d.crash > 0 {
		d.crash--
	}
	err := d.disk.Update(func(tx group.Tx) error {
		var err error
		if ch, err = f(tx); err != nil {
			return err
		}
		if boom && !d.after {
			return errCrash
		}
		return nil
	})
	if err == nil {
		d.changed(ch, boom)
	}
	if boom {
		d.start()
		if err == nil {
			return nil
		}
		return errCrash
	}
	return err
}

// start is a start of the program: only what is on disk is left.
func (d *device) start() {
	d.slots, d.next = nil, time.Time{}
	d.must(func(tx group.Tx) (*group.Change, error) { return d.eng.Due(tx, d.w.now) })
}

func (d *device) changed(ch *group.Change, boom bool) {
	if ch == nil {
		return
	}
	d.events = append(d.events, ch.Events...)
	d.meets = append(d.meets, ch.Meets...)
	for _, f := range ch.Failed {
		if d.failed = append(d.failed, f); !d.mayFail {
			d.w.t.Errorf("%s: group %x: %v", d.name, f.Group[:4], f.Err)
		}
	}
	for _, k := range ch.Removed {
		delete(d.rows, k)
	}
	for _, c := range ch.Copies {
		if c.Keep {
			k := group.RowKey{Group: c.Group, Epoch: c.Epoch, Leaf: c.Leaf, Message: c.Message}
			if d.rows[k] == nil {
				d.rows[k] = c
			}
		}
		if !boom {
			d.w.cells = append(d.w.cells, cell{d, c})
		}
	}
	d.words = append(d.words, ch.Words...)
	if !boom {
		d.slots = append(d.slots, ch.Slots...)
	}
	if !ch.Next.IsZero() && (d.next.IsZero() || ch.Next.Before(d.next)) {
		d.next = ch.Next
	}
	for _, e := range ch.Events {
		if e.Kind == group.EventText {
			if may, ok := d.w.text[e.Message]; ok && !slices.Contains(may, d.id()) {
				d.w.t.Errorf("%s read a text whose author did not see it in the roster", d.name)
			}
		}
	}
}

func (d *device) must(f func(tx group.Tx) (*group.Change, error)) {
	d.w.t.Helper()
	err := d.do(f)
	for errors.Is(err, errCrash) {
		err = d.do(f) // a person does it again
	}
	if err != nil {
		d.w.t.Fatalf("%s: %v", d.name, err)
	}
}

// deliver carries one cell to whoever watches where it goes.
func (w *world) deliver(c cell) {
	w.sent++
	type target struct {
		d *device
		r group.OwnRoute
	}
	var to []target
	var route *group.LeafRoute
	err := c.from.disk.Update(func(tx group.Tx) (err error) {
		route, err = c.from.eng.LeafRouteOf(tx, c.copy.Group, c.copy.Epoch, c.copy.Leaf)
		return err
	})
	if err != nil {
		return // the epoch is gone
	}
	for _, d := range w.devs {
		if !d.on || w.drop != nil && w.drop(c.from, d) || d == w.deaf && c.copy.Leaf == group.All {
			continue
		}
		for _, r := range d.routes() {
			if bytes.Equal(r.Secret, route.Secret) && r.Period == route.Period && r.Birth == route.Birth && r.Home.Name == route.Relay {
				to = append(to, target{d, r})
			}
		}
	}
	for _, x := range to {
		// What is not understood is dropped: that is the relay's or a stranger's doing.
		x.d.do(func(tx group.Tx) (*group.Change, error) {
			_, ch, err := x.d.eng.Take(tx, w.now, group.Arrival{Group: x.r.Group, Epoch: x.r.Epoch, Payload: c.copy.Payload})
			return ch, err
		})
	}
}

func (d *device) routes() (out []group.OwnRoute) {
	if d.routed == d.calls {
		return d.known
	}
	defer func() { d.routed, d.known = d.calls, out }()
	err := d.disk.Update(func(tx group.Tx) (err error) {
		out, err = d.eng.Routes(tx)
		return err
	})
	if err != nil {
		d.w.t.Fatalf("%s: routes: %v", d.name, err)
	}
	return out
}

// step carries everything that is under way, once, and reports whether there was any.
func (w *world) step() bool {
	busy := false
	cells := w.cells
	w.cells = nil
	w.r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	for _, c := range cells {
		busy = true
		if w.rough && w.r.IntN(5) == 0 {
			continue
		}
		w.deliver(c)
		if w.rough && w.r.IntN(8) == 0 {
			w.deliver(c)
		}
	}
	for _, d := range w.devs {
		if !d.on {
			continue
		}
		slots := d.slots
		d.slots = nil
		for _, s := range slots {
			busy = true
			a := w.realm.answer(s)
			if err := d.do(func(tx group.Tx) (*group.Change, error) { return d.eng.Answer(tx, w.now, a) }); err != nil && !errors.Is(err, group.ErrUnknown) && !errors.Is(err, errCrash) {
				w.t.Errorf("%s: answer: %v", d.name, err)
			}
		}
		words := d.words
		d.words = nil
		for _, x := range words {
			to := w.find(x.To)
			if to == nil || !to.on || w.drop != nil && w.drop(d, to) {
				d.words = append(d.words, x)
				continue
			}
			busy = true
			err := to.do(func(tx group.Tx) (*group.Change, error) { return to.eng.Hear(tx, w.now, d.id(), d.person(), x.Payload) })
			if errors.Is(err, errCrash) {
				d.words = append(d.words, x) // its session did not take it either
			} else if err != nil && !w.rough {
				w.t.Errorf("%s: word %d: %v", to.name, x.Payload[0], err)
			}
		}
	}
	return busy
}

// settle runs the world for so long; the clock stands while something is under way.
func (w *world) settle(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	resend := w.now
	for range 200_000 {
		if w.step() {
			continue
		}
		if !w.now.Before(resend) {
			resend = w.now.Add(time.Hour)
			if w.rough {
				resend = w.now.Add(time.Minute) // as the outbox does at first
			}
			for _, d := range w.devs {
				if d.on {
					for _, k := range slices.SortedFunc(keys(d.rows), func(a, b group.RowKey) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
						if to := w.find(d.rows[k].To); to != nil && to.on {
							w.cells = append(w.cells, cell{d, d.rows[k]})
						}
					}
				}
			}
		}
		// The next moment at which anybody wants something.
		at := end
		for _, d := range w.devs {
			if d.on && !d.next.IsZero() && d.next.Before(at) {
				at = d.next
			}
		}
		if resend.Before(at) {
			at = resend
		}
		if at.Before(w.now) {
			at = w.now
		}
		w.now = at
		for _, d := range w.devs {
			if d.on && !d.next.IsZero() && !d.next.After(w.now) {
				d.next = time.Time{}
				d.must(func(tx group.Tx) (*group.Change, error) { return d.eng.Tick(tx, w.now) })
				if !d.next.IsZero() && !d.next.After(w.now) {
					d.next = w.now.Add(time.Second) // as a timer would
				}
			}
		}
		if !w.now.Before(end) && len(w.cells) == 0 {
			if !w.step() {
				return
			}
		}
	}
	w.t.Fatal("the world does not come to rest")
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *device) create(name string) (id group.ID) {
	d.w.t.Helper()
	d.must(func(tx group.Tx) (ch *group.Change, err error) {
		id, ch, err = d.eng.Create(tx, d.w.now, group.Founding{Name: name, Class: -1, Size: 8})
		return ch, err
	})
	return id
}

func (d *device) want(id group.ID, w roster.Wish) error {
	f := func(tx group.Tx) (*group.Change, error) { return d.eng.Want(tx, d.w.now, id, w) }
	err := d.do(f)
	for errors.Is(err, errCrash) {
		err = d.do(f)
	}
	return err
}

func (d *device) add(id group.ID, who ...*device) {
	d.w.t.Helper()
	for _, x := range who {
		if err := d.want(id, roster.Wish{Kind: roster.Add, Root: x.person(), Device: x.id()}); err != nil {
			d.w.t.Fatalf("%s adds %s: %v", d.name, x.name, err)
		}
	}
}

func (d *device) remove(id group.ID, x *device) error {
	return d.want(id, roster.Wish{Kind: roster.Remove, Root: x.person()})
}

func (d *device) send(id group.ID, text string) (m wire.MessageID) {
	d.w.t.Helper()
	d.must(func(tx group.Tx) (ch *group.Change, err error) {
		m, ch, err = d.eng.Send(tx, d.w.now, id, []byte(text))
		if err == nil && d.w.text != nil {
			r, err := tx.Group(id)
			if err != nil {
				return nil, err
			}
			e, err := tx.Epoch(id, r.Head)
			if err != nil {
				return nil, err
			}
			for _, l := range e.Roster {
				d.w.text[m] = append(d.w.text[m], l.Device)
			}
		}
		return ch, err
	})
	return m
}

// got counts how often a text was shown.
func (d *device) got(text string) (n int) {
	for _, e := range d.events {
		if e.Kind == group.EventText && string(e.Content) == text {
			n++
		}
	}
	return n
}

func (d *device) saw(k group.EventKind) (out []group.Event) {
	for _, e := range d.events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

func (d *device) record(id group.ID) (r *group.Record) {
	d.disk.Update(func(tx group.Tx) (err error) {
		r, err = tx.Group(id)
		return err
	})
	return r
}

func (d *device) epoch(id group.ID, n uint64) (e *group.Epoch) {
	d.disk.Update(func(tx group.Tx) (err error) {
		if e, err = tx.Epoch(id, n); err != nil {
			e = nil
		}
		return err
	})
	return e
}

// together checks that devices are members in one and the same epoch, of which nothing
// before is left.
func (w *world) together(id group.ID, devs ...*device) {
	w.t.Helper()
	first := devs[0].epoch(id, devs[0].record(id).Head)
	for _, d := range devs {
		r := d.record(id)
		if r == nil || r.State != group.Active {
			w.t.Errorf("%s: got record %+v, want an active one", d.name, r)
			continue
		}
		e := d.epoch(id, r.Head)
		if e.Number != first.Number || e.Mark != first.Mark {
			w.t.Errorf("%s is in epoch %d %x, %s in %d %x", d.name, e.Number, e.Mark, devs[0].name, first.Number, first.Mark)
		}
		if len(e.Roster) != len(devs) {
			w.t.Errorf("%s: got %d members, want %d", d.name, len(e.Roster), len(devs))
		}
		n := 0
		d.disk.Update(func(tx group.Tx) error {
			all, err := tx.Epochs(id)
			n = len(all)
			return err
		})
		if n != 1 {
			w.t.Errorf("%s holds %d epochs, want the last alone", d.name, n)
		}
	}
}
