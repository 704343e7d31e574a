package commits

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// person is somebody with one or two devices.
type person struct {
	root key.Sign
	man  *manifest.Manifest
}

// node is a device: what is on its disk, and an engine that is begun anew after
// each crash.
type node struct {
	w      *world
	i      int
	name   string
	who    *person
	place  int // of the device in its person's manifest
	self   group.Self
	sign   group.Device
	rand   *entropy
	disk   *store
	engine engine
	skew   time.Duration // its clock is wrong by so much

	on      bool
	gone    bool // never comes back
	foe     bool // cheats: nothing of it is checked any more
	revoked bool
	life    int // counts starts: what was begun in an earlier one ends

	tick  time.Duration // when Tick is called next; 0: not planned
	slots map[slotKey]bool
	ways  map[way]bool // own routes
	sent  map[string]int
	was   *store        // what it held before it was removed; of foes that go on with it
	hurry int           // times in a row that Tick was wanted at once
	first []roster.Leaf // the roster that it began with: see seesTooLittle
	last  []undo        // what the last transaction wrote over
	owes  string        // what it waits to send, as it was told last
	note  func()        // runs when the transaction under way has committed
}

type slotKey struct {
	id  wire.BlobID
	put bool
}

type way struct {
	group group.ID
	epoch uint64
	leaf  uint32
}

func (n *node) time() time.Time { return began.Add(n.w.now + n.skew) }

func (n *node) device() group.Device { return n.sign }

// errCrash ends what a device was doing.
var errCrash = errors.New("the device crashed")

// mayCrash crashes the device now and then.
func (n *node) mayCrash(where string) bool {
	if n.w.healed || !n.w.chance.chance(n.w.c.crash) {
		return false
	}
	n.crash(where)
	return true
}

func (n *node) crash(where string) {
	w := n.w
	w.book.crashes++
	w.log("%s CRASHES %s", n.name, where)
	if w.plant == losesCommit {
		n.disk, n.last = n.disk.before(n.last), nil
	}
	n.down()
	w.after(w.chance.between(5*time.Second, 2*time.Hour), n.up)
}

func (n *node) down() {
	n.on = false
	n.life++
	n.disk.life++
	n.engine, n.slots, n.ways, n.sent, n.tick = nil, nil, nil, nil, 0
}

// up starts a device from what is on its disk.
func (n *node) up() {
	if n.on || n.gone {
		return
	}
	w := n.w
	n.on = true
	n.life++
	n.slots, n.sent, n.ways = map[slotKey]bool{}, map[string]int{}, nil
	n.engine = newEngine(w, n)
	w.log("%s is up", n.name)
	n.do("due", func(t *tx) (*group.Change, error) { return n.engine.Due(t, n.time()) })
	if !n.on {
		return
	}
	n.do("tick", func(t *tx) (*group.Change, error) { return n.engine.Tick(t, n.time()) })
	if !n.on {
		return
	}
	for _, k := range n.disk.rows(tRow, "") {
		n.retry(tRow, k, w.chance.between(0, time.Minute))
	}
	for _, k := range n.disk.rows(tWord, "") {
		n.retry(tWord, k, w.chance.between(0, time.Minute))
	}
	for _, o := range w.nodes { // what waited for it comes now
		if o != n && o.on {
			o.flush(n)
		}
	}
	n.watch()
}

// watch calls Tick every few hours even if nobody asked for it.
func (n *node) watch() {
	life := n.life
	n.w.after(n.w.chance.between(5*time.Hour, 7*time.Hour), func() {
		if n.life == life && n.on {
			n.do("tick", func(t *tx) (*group.Change, error) { return n.engine.Tick(t, n.time()) })
			n.watch()
		}
	})
}

// row is what lies in the outbox.
type row struct {
	Copy *group.Copy
	Word *group.Word
	To   int
}

// do is one transaction and all that follows from it. A crash comes before the
// commit, after it and before anything left, or between two things that leave.
func (n *node) do(what string, f func(*tx) (*group.Change, error)) error {
	w := n.w
	t := n.disk.begin()
	t.forget = w.plant == forgetsSeen
	ch, err := f(t)
	defer func() { n.note = nil }()
	if err != nil {
		if what != "take" && what != "hear" {
			w.log("%s %s: %v", n.name, what, err)
		}
		return err
	}
	if ch == nil {
		ch = new(group.Change)
	}
	words := n.outbox(t, ch)
	if w.words {
		w.log("%s %s: %d copies %d words %d slots next %v", n.name, what, len(ch.Copies), len(ch.Words), len(ch.Slots), ch.Next)
	}
	if w.plant == acksFirst && what == "take" {
		for _, c := range ch.Copies {
			n.carry(c)
		}
		if !w.healed && w.chance.chance(0.1) {
			n.crash("after the acks of take")
			return errCrash
		}
	}
	if n.mayCrash("before the commit of " + what) {
		return errCrash
	}
	groups := t.keysOf(tGroup)
	back := t.commit()
	n.last = back
	if n.note != nil {
		n.note()
	}
	w.before = func() *store { return n.disk.before(back) } // for who is removed by this
	w.committed(n, ch, groups)
	w.before = nil
	w.waits(n, what)
	if n.mayCrash("after the commit of " + what) {
		return errCrash
	}
	n.act(ch, words)
	if !n.on {
		return errCrash
	}
	return nil
}

// outbox keeps what must not be lost in the same transaction.
func (n *node) outbox(t *tx, ch *group.Change) (keys []string) {
	for _, c := range ch.Copies {
		if c.Keep {
			k := rowKey(group.RowKey{Group: c.Group, Epoch: c.Epoch, Leaf: c.Leaf, Message: c.Message})
			put(t, tRow, k, &row{Copy: c, To: n.w.find(c.To)})
		}
	}
	for _, k := range ch.Removed {
		t.set(tRow, rowKey(k), nil)
	}
	for _, word := range ch.Words {
		k := string(number(t.order()))
		put(t, tWord, k, &row{Word: word, To: n.w.find(word.To)})
		keys = append(keys, k)
	}
	return keys
}

// act does what a committed transaction asks for.
func (n *node) act(ch *group.Change, words []string) {
	w := n.w
	if ch.Routes || n.ways == nil {
		n.routes()
	}
	if !ch.Next.IsZero() {
		n.plan(ch.Next.Sub(n.time()))
	}
	copies := slices.Clone(ch.Copies)
	w.chance.Shuffle(len(copies), func(i, j int) { copies[i], copies[j] = copies[j], copies[i] })
	for _, c := range copies {
		if n.mayCrash("between two copies") {
			return
		}
		if c.Keep {
			n.retry(tRow, rowKey(group.RowKey{Group: c.Group, Epoch: c.Epoch, Leaf: c.Leaf, Message: c.Message}), w.chance.between(0, 2*time.Second))
		} else {
			n.carry(c)
		}
	}
	for _, k := range words {
		if n.mayCrash("between two words") {
			return
		}
		n.retry(tWord, k, 0)
	}
	for _, s := range ch.Slots {
		n.ask(s)
	}
}

// plan has Tick called.
func (n *node) plan(in time.Duration) {
	at := n.w.now + max(in, 100*time.Millisecond)
	if n.tick != 0 && n.tick <= at {
		return
	}
	if in > 0 {
		n.hurry = 0
	} else if n.hurry++; n.hurry == 200 {
		r := n.current()
		n.w.fail(livelock, "%s asks to be called at once, again and again: try %d asked %d look %d tell %d away %d, now %d, rift %+v", n.name, r.Try, r.Asked, r.Look, r.Tell, r.Away, n.time().Unix(), r.Rift)
	}
	n.tick = at
	life := n.life
	n.w.after(at-n.w.now, func() {
		if n.life != life || !n.on || n.tick != at {
			return
		}
		n.tick = 0
		n.do("tick", func(t *tx) (*group.Change, error) { return n.engine.Tick(t, n.time()) })
	})
}

func (n *node) routes() {
	rs, err := n.engine.Routes(n.disk.begin())
	if err != nil {
		n.w.fail(broken, "%s: routes: %v", n.name, err)
		return
	}
	n.ways = map[way]bool{}
	for _, r := range rs {
		n.ways[way{r.Group, r.Epoch, r.Leaf}] = true
	}
}

// retry sends a row of the outbox until it is gone, each time later.
func (n *node) retry(table byte, k string, in time.Duration) {
	id := string(table) + k
	n.sent[id]++
	turn, life := n.sent[id], n.life
	n.w.after(in, func() {
		if n.life != life || !n.on || n.sent[id] != turn {
			return
		}
		r := see[row](n.disk, table, k)
		if r == nil {
			delete(n.sent, id)
			return
		}
		if r.Copy != nil {
			n.carry(r.Copy)
			if n.w.plant == dropsRows {
				t := n.disk.begin()
				t.set(table, k, nil)
				t.commit()
			}
		} else {
			n.say(k, r.To, r.Word)
		}
		wait := 30 * time.Second << min(turn, 10)
		n.retry(table, k, n.w.chance.between(wait/2, min(wait, 8*time.Hour)))
	})
}

// flush sends at once what waits for a device that is there again.
func (n *node) flush(to *node) {
	for _, table := range []byte{tRow, tWord} {
		for _, k := range n.disk.rows(table, "") {
			if see[row](n.disk, table, k).To == to.i {
				n.sent[string(table)+k] = 0
				n.retry(table, k, n.w.chance.between(0, 2*time.Minute))
			}
		}
	}
}

// carry takes one copy to whoever watches its address.
func (n *node) carry(c *group.Copy) {
	w := n.w
	w.tapped(n, c)
	w.book.cells++
	for _, o := range w.nodes {
		if o == n || c.Leaf != group.All && o.device() != c.To {
			continue
		}
		w.send(n.i, o.i, func() {
			if !o.ways[way{c.Group, c.Epoch, c.Leaf}] {
				return
			}
			err := o.do("take", func(t *tx) (*group.Change, error) {
				_, ch, err := o.engine.Take(t, o.time(), group.Arrival{Group: c.Group, Epoch: c.Epoch, Payload: slices.Clone(c.Payload)})
				return ch, err
			})
			if err != nil && !errors.Is(err, errCrash) && !errors.Is(err, group.ErrBusy) {
				w.log("%s takes a cell of %s: %v", o.name, n.name, err)
			}
		})
	}
}

// say takes a word to a device through their pair session, which keeps it until it
// was taken and takes it once.
func (n *node) say(k string, to int, word *group.Word) {
	if to < 0 {
		return
	}
	w, o := n.w, n.w.nodes[to]
	w.send(n.i, to, func() {
		mark := string(binary.BigEndian.AppendUint32(nil, uint32(n.i))) + k
		done := o.disk.cell(tHeard, mark) != nil
		if !done {
			err := o.do("hear", func(t *tx) (*group.Change, error) {
				t.setPlain(tHeard, mark, []byte{1})
				return o.engine.Hear(t, o.time(), n.device(), n.self.Manifest.Root, slices.Clone(word.Payload))
			})
			if errors.Is(err, errCrash) || errors.Is(err, group.ErrBusy) {
				return
			}
			if w.words {
				w.log("%s hears a word of kind %d of %s, %d bytes: %v", o.name, word.Payload[0], n.name, len(word.Payload), err)
			}
			if err != nil {
				w.log("%s hears %s: %v", o.name, n.name, err)
				t := o.disk.begin()
				t.setPlain(tHeard, mark, []byte{1})
				t.commit()
			}
		}
		w.send(to, n.i, func() {
			t := n.disk.begin()
			t.set(tWord, k, nil)
			t.commit()
		})
	})
}

// ask does a read or a put of a slot, unless that is under way.
func (n *node) ask(s *group.SlotCall) {
	w := n.w
	k := slotKey{s.Slot, s.Put != nil}
	if n.slots[k] {
		return
	}
	n.slots[k] = true
	life := n.life
	answer := func(a group.SlotAnswer) {
		a.Group, a.Epoch = s.Group, s.Epoch
		if n.life != life || !n.on {
			return
		}
		delete(n.slots, k)
		n.do("answer", func(t *tx) (*group.Change, error) { return n.engine.Answer(t, n.time(), a) })
	}
	in := w.lag()
	if !s.After.IsZero() {
		in += max(0, s.After.Sub(n.time()))
	}
	w.after(in, func() {
		if n.life != life || !n.on {
			return
		}
		r := w.realm(s.Home.Name)
		lost := func() bool {
			return r == nil || r.away(w.now) || w.rcut[[2]int{n.i, w.realmIndex(r)}] || !w.healed && w.chance.chance(w.c.lose)
		}
		if lost() {
			w.after(30*time.Second, func() { answer(group.SlotAnswer{Trouble: group.Away}) })
			return
		}
		var a group.SlotAnswer
		if s.Put != nil {
			var mine bool
			if a.Receipt, mine = r.put(n.i, s.Slot, s.Put); mine {
				w.log("%s: slot %x of epoch %d at %s", n.name, s.Slot[:3], s.Epoch, r.name)
			} else if w.plant == falseReceipt {
				a.Receipt = r.receipt(s.Slot, slot.Hash(s.Put))
			}
		} else if a.Blob, a.Receipt = r.read(n.i, s.Slot); a.Receipt == nil {
			a.Trouble = group.Empty
		}
		if lost() { // done, and nobody told
			w.after(30*time.Second, func() { answer(group.SlotAnswer{Trouble: group.Away}) })
			return
		}
		w.after(w.lag(), func() { answer(a) })
	})
}

func (w *world) find(d group.Device) int {
	return slices.IndexFunc(w.nodes, func(n *node) bool { return n.device() == d })
}

func (w *world) realm(name string) *realm {
	for _, r := range w.realms {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (w *world) realmIndex(r *realm) int { return slices.Index(w.realms, r) }
