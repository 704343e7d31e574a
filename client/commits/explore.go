package commits

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Exploration is a small case that is gone through whole: all orders in which devices
// act, relay and devices answer, and devices crash. What is on its way to a device
// comes in the order it was sent, all at once, at any time; each device has its own
// clock, which goes on when it has nothing else to do or when it is called.
type Exploration struct {
	Devices int // 2 or 3
	Changes int // 1 to 3, wished at once: the first removes the last device, the second renames, the last leaves or renames
	Crashes int
	Ticks   int // calls of Tick of each device before the ending; 0: 2
	States  int // at most; 0: no bound
}

// Explored is what came of it.
type Explored struct {
	States, Steps, Ends int
	Complete            bool
	Findings            []string
}

// Good says whether all was gone through and nothing found.
func (e *Explored) Good() bool { return e.Complete && len(e.Findings) == 0 }

func (e *Explored) String() string {
	how := "complete"
	if !e.Complete {
		how = "not complete"
	}
	s := fmt.Sprintf("explored: %d states, %d steps, %d ends, %d bad, %s", e.States, e.Steps, e.Ends, len(e.Findings), how)
	if len(e.Findings) > 0 {
		s = strings.Join(e.Findings, "\n") + "\n" + s
	}
	return s
}

// still is one device at rest.
type still struct {
	disk  *store
	rand  uint64
	clock time.Duration
	tick  time.Duration // when it wants to be called; 0: not
	calls []*group.SlotCall
	ticks int
	on    bool
	hash  [32]byte
}

// parcel is on its way to a device.
type parcel struct {
	copy *group.Copy
	word *group.Word
	from int
}

// answered is on its way from the relay.
type answered struct {
	group.SlotAnswer
}

// moment is a state of the whole.
type moment struct {
	devices []*still
	inbox   [][]parcel
	answers [][]answered
	slots   map[wire.BlobID][]byte
	crashes int
	before  *moment // how it came to this
	act     string
}

type explorer struct {
	w     *world
	x     Exploration
	seen  map[[32]byte]bool
	out   *Explored
	queue []*moment
}

// Explore goes through a small case.
func Explore(ctx context.Context, x Exploration) (*Explored, error) {
	if x.Devices < 2 || x.Devices > 3 || x.Changes < 1 || x.Changes > 3 {
		return nil, fmt.Errorf("devices are 2 or 3, changes from 1 to 3")
	}
	if x.Ticks == 0 {
		x.Ticks = 2
	}
	c, err := ParseSchedule("small")
	if err != nil {
		return nil, err
	}
	c.people, c.admins, c.seconds, c.joiners = x.Devices, min(2, x.Devices), 0, 0
	w := &world{c: c, seed: 1, crypto: chain{}, cut: map[[2]int]bool{}, rcut: map[[2]int]bool{}, book: newBook(), chance: newDraw(1, "chance"), work: newDraw(1, "work")}
	w.populate()
	if !w.found() {
		return nil, fmt.Errorf("the group was not founded: %v", w.book.findings)
	}
	w.runTo(2*day, func() bool { return false }) // until nothing is on its way
	e := &explorer{w: w, x: x, seen: map[[32]byte]bool{}, out: &Explored{}}
	w.queue = nil
	e.first()
	for i := 0; len(e.queue) > 0; i++ {
		if i&63 == 0 && ctx.Err() != nil {
			return e.out, ctx.Err()
		}
		if x.States > 0 && e.out.States > x.States || len(e.out.Findings) >= 5 {
			return e.out, nil
		}
		m := e.queue[len(e.queue)-1]
		e.queue = e.queue[:len(e.queue)-1]
		e.expand(m)
	}
	e.out.Complete = true
	return e.out, nil
}

// first has everybody wish at once.
func (e *explorer) first() {
	w := e.w
	m := &moment{slots: map[wire.BlobID][]byte{}}
	maps.Copy(m.slots, w.realms[0].slots[0])
	for _, n := range w.nodes {
		n.skew = 0
		m.devices = append(m.devices, &still{disk: n.disk, rand: n.rand.at, clock: w.now, on: true})
		m.inbox = append(m.inbox, nil)
		m.answers = append(m.answers, nil)
	}
	last := e.x.Devices - 1
	wishes := []struct {
		by int
		x  roster.Wish
	}{
		{0, roster.Wish{Kind: roster.Remove, Root: w.nodes[last].self.Manifest.Root}},
		{1, roster.Wish{Kind: roster.Rename, Text: "other"}},
		{last, roster.Wish{Kind: roster.Leave, Root: w.nodes[last].self.Manifest.Root}},
	}
	if last < 2 {
		wishes[0].x = roster.Wish{Kind: roster.Rename, Text: "one"}
		wishes[2] = wishes[1]
		wishes[2].x.Text = "third"
	}
	for _, x := range wishes[:e.x.Changes] {
		m = e.do(m, x.by, "wishes "+w.wishText(&x.x), func(n *node, t *tx) (*group.Change, error) {
			return n.engine.Want(t, n.time(), n.current().ID, x.x)
		})
	}
	m.before = nil
	e.push(m)
}

func (e *explorer) push(m *moment) {
	h := e.key(m)
	if e.seen[h] {
		return
	}
	e.seen[h] = true
	e.out.States++
	if why := e.unsafe(m); why != "" {
		e.find(m, why)
		return
	}
	e.queue = append(e.queue, m)
}

// expand takes every step that can be next.
func (e *explorer) expand(m *moment) {
	moved := false
	step := func(n *moment) {
		moved = true
		e.out.Steps++
		e.push(n)
	}
	for i, d := range m.devices {
		name := e.w.nodes[i].name
		if d.on && len(m.inbox[i]) > 0 {
			step(e.deliver(m, i))
		}
		for j := range d.calls {
			step(e.serve(m, i, j))
		}
		if d.on && len(m.answers[i]) > 0 {
			step(e.answer(m, i))
		}
		idle := len(m.inbox[i]) == 0 && len(d.calls) == 0 && len(m.answers[i]) == 0
		if d.on && d.tick != 0 && (d.ticks < e.x.Ticks && idle) {
			step(e.call(m, i))
		}
		if d.on && m.crashes < e.x.Crashes && !idle {
			n := e.next(m, name+" crashes")
			s := *d
			s.on, s.calls = false, nil
			s.rehash()
			n.devices[i], n.answers[i] = &s, nil
			n.crashes++
			step(n)
		}
		if !d.on {
			step(e.start(m, i))
		}
	}
	if !moved {
		e.end(m)
	}
}

func (e *explorer) next(m *moment, act string) *moment {
	n := *m
	n.devices, n.inbox, n.answers = slices.Clone(m.devices), slices.Clone(m.inbox), slices.Clone(m.answers)
	n.before, n.act = m, act
	return &n
}

// do makes one transaction of a device and takes up what it wants done.
func (e *explorer) do(m *moment, i int, act string, f func(*node, *tx) (*group.Change, error)) *moment {
	out := e.next(m, e.w.nodes[i].name+" "+act)
	d := *m.devices[i]
	n := e.w.nodes[i]
	n.disk, n.rand.at, n.on = d.disk.clone(), d.rand, true
	e.w.now = d.clock
	n.engine = newEngine(e.w, n)
	t := n.disk.begin()
	ch, err := f(n, t)
	if err == nil && ch != nil {
		t.commit()
		for _, c := range ch.Copies {
			to := e.w.find(c.To)
			if to >= 0 && to != i {
				out.inbox[to] = append(slices.Clone(out.inbox[to]), parcel{copy: c, from: i})
			}
		}
		for _, w := range ch.Words {
			if to := e.w.find(w.To); to >= 0 {
				out.inbox[to] = append(slices.Clone(out.inbox[to]), parcel{word: w, from: i})
			}
		}
		d.calls = slices.Clone(d.calls)
		for _, s := range ch.Slots {
			if !slices.ContainsFunc(d.calls, func(o *group.SlotCall) bool { return o.Slot == s.Slot && (o.Put == nil) == (s.Put == nil) }) {
				d.calls = append(d.calls, s)
			}
		}
		if !ch.Next.IsZero() {
			d.tick = max(ch.Next.Sub(began), d.clock+time.Second)
		}
	}
	d.disk, d.rand = n.disk, n.rand.at
	d.rehash()
	out.devices[i] = &d
	return out
}

func (d *still) rehash() {
	h := sha256.New()
	for _, table := range []byte{tGroup, tEpoch, tMessage, tSeen, tNote, tOwn} {
		for _, k := range d.disk.rows(table, "") {
			h.Write([]byte(k))
			c := d.disk.cell(table, k).digest()
			h.Write(c[:])
		}
	}
	fmt.Fprint(h, d.on, d.ticks, d.tick, d.clock)
	for _, c := range d.calls {
		fmt.Fprint(h, c.Slot, c.Put == nil)
	}
	d.hash = [32]byte(h.Sum(nil))
}

// deliver gives a device all that is on its way to it.
func (e *explorer) deliver(m *moment, i int) *moment {
	out := m
	for k, p := range m.inbox[i] {
		p := p
		out = e.do(out, i, fmt.Sprintf("takes %d of %d", k+1, len(m.inbox[i])), func(n *node, t *tx) (*group.Change, error) {
			if p.word != nil {
				from := e.w.nodes[p.from]
				return n.engine.Hear(t, n.time(), from.device(), from.self.Manifest.Root, slices.Clone(p.word.Payload))
			}
			_, ch, err := n.engine.Take(t, n.time(), group.Arrival{Group: p.copy.Group, Epoch: p.copy.Epoch, Payload: slices.Clone(p.copy.Payload)})
			return ch, err
		})
	}
	rest := out.inbox[i][len(m.inbox[i]):]
	out.inbox[i] = rest
	return out
}

// serve has the relay do what a device asked for.
func (e *explorer) serve(m *moment, i, j int) *moment {
	d := *m.devices[i]
	c := d.calls[j]
	act := " reads epoch "
	if c.Put != nil {
		act = " puts to epoch "
	}
	n := e.next(m, fmt.Sprint(e.w.nodes[i].name, act, c.Epoch))
	d.calls = slices.Delete(slices.Clone(d.calls), j, j+1)
	d.rehash()
	n.devices[i] = &d
	r := e.w.realms[0]
	a := group.SlotAnswer{Group: c.Group, Epoch: c.Epoch}
	blob := m.slots[c.Slot]
	if c.Put != nil && blob == nil {
		blob = c.Put
		n.slots = maps.Clone(m.slots)
		n.slots[c.Slot] = blob
	}
	if blob == nil {
		a.Trouble = group.Empty
	} else {
		a.Receipt = r.receipt(c.Slot, sha256.Sum256(blob))
		if c.Put == nil {
			a.Blob = blob
		}
	}
	n.answers[i] = append(slices.Clone(n.answers[i]), answered{a})
	return n
}

func (e *explorer) answer(m *moment, i int) *moment {
	a := m.answers[i][0]
	out := e.do(m, i, fmt.Sprint("gets the answer for epoch ", a.Epoch), func(n *node, t *tx) (*group.Change, error) {
		return n.engine.Answer(t, n.time(), a.SlotAnswer)
	})
	out.answers[i] = out.answers[i][1:]
	return out
}

// call calls Tick when the device wanted it.
func (e *explorer) call(m *moment, i int) *moment {
	d := *m.devices[i]
	d.clock, d.tick = max(d.clock, d.tick), 0
	d.ticks++
	at := *m
	at.devices = slices.Clone(m.devices)
	at.devices[i] = &d
	out := e.do(&at, i, "is called", func(n *node, t *tx) (*group.Change, error) { return n.engine.Tick(t, n.time()) })
	out.before = m
	return out
}

func (e *explorer) start(m *moment, i int) *moment {
	d := *m.devices[i]
	d.on = true
	at := *m
	at.devices = slices.Clone(m.devices)
	at.devices[i] = &d
	out := e.do(&at, i, "starts", func(n *node, t *tx) (*group.Change, error) { return n.engine.Due(t, n.time()) })
	out.before = m
	return out
}

func (e *explorer) key(m *moment) [32]byte {
	h := sha256.New()
	for i, d := range m.devices {
		h.Write(d.hash[:])
		for _, p := range m.inbox[i] {
			if p.copy != nil {
				h.Write(p.copy.Payload)
			} else {
				h.Write(p.word.Payload)
			}
		}
		for _, a := range m.answers[i] {
			fmt.Fprint(h, a.Epoch, a.Trouble, a.Blob == nil)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.slots), func(a, b wire.BlobID) int { return slices.Compare(a[:], b[:]) }) {
		h.Write(id[:])
		s := sha256.Sum256(m.slots[id])
		h.Write(s[:])
	}
	fmt.Fprint(h, m.crashes)
	return [32]byte(h.Sum(nil))
}

// unsafe looks for two ends of one epoch.
func (e *explorer) unsafe(m *moment) string {
	marks := map[place][8]byte{}
	for i, d := range m.devices {
		for _, k := range d.disk.rows(tEpoch, "") {
			ep := d.disk.epoch(k)
			at := place{group.ID([]byte(k)), be64([]byte(k)[16:])}
			if was, ok := marks[at]; ok && was != ep.Mark {
				return fmt.Sprintf("epoch %d is two, seen at %s", at.epoch, e.w.nodes[i].name)
			}
			marks[at] = ep.Mark
		}
		for _, k := range d.disk.rows(tGroup, "") {
			r := see[group.Record](d.disk, tGroup, k)
			if r.Old != (group.ID{}) {
				return "the group was made again though the relay is honest"
			}
		}
	}
	return ""
}

func be64(b []byte) (n uint64) {
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}

// end has everybody do all there is to do, and looks whether all come together.
func (e *explorer) end(m *moment) {
	e.out.Ends++
	for range 200 {
		if e.together(m) == "" {
			return
		}
		for i := range m.devices {
			for len(m.devices[i].calls) > 0 {
				m = e.serve(m, i, 0)
			}
			for len(m.answers[i]) > 0 {
				m = e.answer(m, i)
			}
			if len(m.inbox[i]) > 0 {
				m = e.deliver(m, i)
			}
			if m.devices[i].tick != 0 && len(m.devices[i].calls) == 0 {
				m = e.call(m, i)
			}
		}
		if why := e.unsafe(m); why != "" {
			e.find(m, why)
			return
		}
	}
	e.find(m, "it does not end: "+e.together(m))
}

// together says why the devices have not come to one end; nothing if they have.
func (e *explorer) together(m *moment) string {
	var head *group.Record
	var mark [8]byte
	var roll []roster.Leaf
	for i, d := range m.devices {
		n := e.w.nodes[i]
		n.disk = d.disk
		r := n.current()
		if r == nil || r.State == group.Out {
			continue
		}
		ep, err := d.disk.begin().Epoch(r.ID, r.Head)
		if err != nil {
			return err.Error()
		}
		if head == nil {
			head, mark, roll = r, ep.Mark, ep.Roster
		}
		if r.Head != head.Head || ep.Mark != mark || r.State != group.Active {
			return fmt.Sprintf("%s is in epoch %d, %s; another in %d", n.name, r.Head, stateName(r.State), head.Head)
		}
		if !has(ep.Roster, n.device()) {
			return n.name + " does not know that it is out"
		}
		for _, o := range r.Wishes {
			if o.Own && o.Applied == 0 {
				return "a wish of " + n.name + " is open"
			}
		}
	}
	for _, l := range roll {
		i := e.w.find(l.Device)
		e.w.nodes[i].disk = m.devices[i].disk
		if r := e.w.nodes[i].current(); r == nil || r.State == group.Out {
			return e.w.nodes[i].name + " is a member and does not know it"
		}
	}
	return ""
}

func (e *explorer) find(m *moment, why string) {
	var acts []string
	for x := m; x != nil && x.act != ""; x = x.before {
		acts = append(acts, x.act)
	}
	slices.Reverse(acts)
	e.out.Findings = append(e.out.Findings, why+": "+strings.Join(acts, ", "))
}
