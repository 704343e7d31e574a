package commits

import (
	"fmt"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// names of devices: one person a letter, their second device with a 2.
func called(person, device int) string {
	s := string(rune('A' + person))
	if device > 0 {
		s += fmt.Sprint(device + 1)
	}
	return s
}

// settle makes the people, their devices and relays.
func (w *world) populate() {
	keys := newDraw(w.seed, "keys")
	for i := range 4 {
		w.realms = append(w.realms, newRealm(fmt.Sprintf("relay%d.example", i), keys))
	}
	for p := range w.c.people + w.c.joiners {
		who := &person{root: makeKey[key.SignRole](keys)}
		devices := 1
		if p < w.c.people && p >= w.c.people-w.c.seconds {
			devices = 2
		}
		who.man = &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(began)}
		var signs []key.Sign
		for range devices {
			signs = append(signs, makeKey[key.SignRole](keys))
			who.man.Devices = append(who.man.Devices, manifest.Device{Sign: key.SignPublicOf(signs[len(signs)-1]),
				DH: key.DHPublicOf(makeKey[key.DHRole](keys)), XWing: [32]byte{byte(p), byte(len(signs)), 1}})
		}
		if err := manifest.Sign(who.root, who.man); err != nil {
			panic(err)
		}
		for i, s := range signs {
			n := &node{w: w, i: len(w.nodes), name: called(p, i), who: who, place: i, disk: newStore(), sign: key.SignPublicOf(s),
				rand: &entropy{seed: [32]byte(hash("entropy", number(w.seed), number(uint64(len(w.nodes)))))},
				skew: w.chance.between(-90*time.Second, 90*time.Second)}
			n.self = group.Self{Sign: s, Device: n.sign, Manifest: who.man, Home: w.realms[0].home}
			if p > 0 { // the first group is at the relay that may lie; others are at home elsewhere
				n.self.Home = w.realms[1+p%3].home
			}
			w.nodes = append(w.nodes, n)
		}
	}
}

// found makes the group while all is well: everybody gives key packages to everybody,
// the first person adds the others, and the first few are admins.
func (w *world) found() bool {
	keep := w.c
	w.c.lose, w.c.double, w.c.crash = 0, 0, 0
	w.healed = true
	for _, n := range w.nodes {
		n.up()
	}
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			if n == o {
				continue
			}
			var b []byte
			n.do("packages", func(t *tx) (*group.Change, error) {
				var err error
				b, err = n.engine.Packages(t, n.time(), o.device(), 2)
				return nil, err
			})
			o.do("hear", func(t *tx) (*group.Change, error) {
				return o.engine.Hear(t, o.time(), n.device(), n.self.Manifest.Root, b)
			})
		}
	}
	first := w.nodes[0]
	err := first.do("create", func(t *tx) (*group.Change, error) {
		_, ch, err := first.engine.Create(t, first.time(), group.Founding{Name: "group", Class: -1, Size: 8})
		return ch, err
	})
	if err != nil {
		w.fail(broken, "creating the group: %v", err)
		return false
	}
	members := 0
	for _, n := range w.nodes {
		if n == first || n.i >= w.members() {
			continue
		}
		members++
		n := n
		w.after(0, func() {
			w.want(first, roster.Wish{Kind: roster.Add, Root: n.self.Manifest.Root, Device: n.device()}, false)
		})
	}
	w.runTo(time.Hour, func() bool {
		r := first.current()
		return r != nil && len(first.roll(r)) == members+1
	})
	for i := 1; i < w.c.admins; i++ {
		w.want(first, roster.Wish{Kind: roster.Promote, Root: w.nodes[i].self.Manifest.Root}, false)
	}
	w.runTo(day, func() bool {
		for _, n := range w.nodes[:w.members()] {
			r := n.current()
			if r == nil || len(n.roll(r)) != members+1 || len(n.admins(r)) != w.c.admins {
				return false
			}
		}
		return true
	})
	w.c, w.healed = keep, false
	for _, n := range w.nodes[:w.members()] {
		if r := n.current(); r == nil || len(n.roll(r)) != members+1 || len(n.admins(r)) != w.c.admins {
			w.fail(undone, "the group was not founded within a day: %s", n.name)
			return false
		}
	}
	w.log("founded")
	return true
}

// members is how many devices the group begins with.
func (w *world) members() int { return w.c.people + w.c.seconds }

// runTo works until ok, at most for d.
func (w *world) runTo(d time.Duration, ok func() bool) {
	end, until := w.c.end, w.now+d
	for w.now < until && !ok() {
		w.c.end = w.now + 10*time.Second
		w.run()
		w.now = w.c.end
	}
	w.c.end = end
}

func (n *node) state(r *group.Record) *roster.State {
	e := n.head(r)
	if e == nil {
		return nil
	}
	s, err := roster.ParseState(e.State)
	if err != nil {
		return nil
	}
	return s
}

func (n *node) admins(r *group.Record) []key.SignPublic {
	if s := n.state(r); s != nil {
		return s.Admins
	}
	return nil
}

// want has a device wish something. noted says that it must come true.
func (w *world) want(n *node, x roster.Wish, noted bool) error {
	r := n.current()
	if r == nil || !n.on || r.State == group.Out {
		return group.ErrLeft
	}
	if noted {
		n.note = func() {
			w.book.wishes = append(w.book.wishes, &wished{by: n, kind: x.Kind, root: x.Root, device: x.Device, name: x.Text})
			w.log("%s wishes %s", n.name, w.wishText(&x))
		}
	}
	return n.do("want", func(t *tx) (*group.Change, error) { return n.engine.Want(t, n.time(), r.ID, x) })
}

func (w *world) wishText(x *roster.Wish) string {
	kinds := map[roster.WishKind]string{roster.Add: "to add", roster.Remove: "to remove", roster.Leave: "to leave", roster.Promote: "to promote",
		roster.Demote: "to demote", roster.Rename: "the name", roster.Revoked: "a revoked one out", roster.SetTimer: "the timer"}
	who := x.Text
	for _, n := range w.nodes {
		if n.self.Manifest.Root == x.Root && (x.Device == group.Device{} || n.device() == x.Device) {
			who = n.name
			break
		}
	}
	return kinds[x.Kind] + " " + who
}

// say has a device write a text.
func (w *world) write(n *node) {
	r := n.current()
	if r == nil || !n.on || n.foe || r.State == group.Out {
		return
	}
	roll := w.seenBy(n, r)
	content := fmt.Sprintf("text %d of %s", len(w.book.order)+1, n.name)
	var id wire.MessageID
	n.note = func() {
		t := &text{by: n, id: id, content: content, meant: map[group.Device]bool{}, may: map[group.Device]bool{}, shown: map[group.Device]int{}, group: r.ID, epoch: r.Head}
		for _, l := range roll {
			t.meant[l.Device], t.may[l.Device] = true, true
			if w.book.removed[n][l.Device] && l.Device != n.device() {
				w.fail(back, "%s writes to %s, whose removal it had accepted", n.name, w.called(l.Device))
			}
		}
		w.book.texts[textKey{n.device(), id}] = t
		w.book.order = append(w.book.order, t)
		w.log("%s writes %q to %s", n.name, content, w.names(roll))
	}
	n.do("send", func(t *tx) (*group.Change, error) {
		m, ch, err := n.engine.Send(t, n.time(), r.ID, []byte(content))
		id = m
		return ch, err
	})
}

// decide answers a device's questions as a person would: mostly with yes.
func (w *world) decide(n *node, p float64) {
	if !n.on || n.foe {
		return
	}
	all, err := n.disk.begin().Groups()
	if err != nil {
		panic(err)
	}
	for _, r := range all {
		for _, q := range r.Questions {
			if !n.on || !w.work.chance(p) {
				continue
			}
			n.note = func() {
				w.log("%s is asked %d (%s) and says yes", n.name, q.Kind, q.Text)
				c := n.current()
				switch q.Kind {
				case group.AskWrite, group.AskMembers:
					if c != nil {
						w.allow(n, n.expected(c))
					}
				}
			}
			n.do("decide", func(t *tx) (*group.Change, error) { return n.engine.Decide(t, n.time(), r.ID, q, true) })
		}
	}
}

// allow notes that a person let others read what waits.
func (w *world) allow(n *node, roll []roster.Leaf) {
	for _, t := range w.book.order {
		if t.by == n {
			for _, l := range roll {
				t.may[l.Device] = true
			}
		}
	}
	for _, l := range roll {
		delete(w.book.removed[n], l.Device)
	}
}

// revoke takes a device out of its person's manifest; all who know the person hear of
// it, some late.
func (w *world) revoke(n *node) {
	var other *node
	for _, o := range w.nodes {
		if o.who == n.who && o != n {
			other = o
		}
	}
	if other == nil || n.revoked || other.revoked || !other.on {
		return
	}
	old := n.who.man
	m := *old
	m.Sequence, m.Previous, m.Devices = old.Sequence+1, old.Hash(), slices.Clone(old.Devices)
	m.Devices[n.place].Revoked = true
	m.NotAfter = manifest.NotAfter(began.Add(w.now))
	if err := manifest.Sign(n.who.root, &m); err != nil {
		panic(err)
	}
	n.who.man = &m
	n.revoked, n.foe = true, true
	w.haunt(n, n.disk.clone())
	w.book.wishes = append(w.book.wishes, &wished{by: other, kind: roster.Revoked, root: m.Root, device: n.device()})
	w.log("%s is revoked", n.name)
	other.self.Manifest = &m
	for _, o := range w.nodes {
		if o == n {
			continue
		}
		w.tell(o, &m)
	}
}

// tell gives a device a manifest, again until it took it.
func (w *world) tell(o *node, m *manifest.Manifest) {
	if w.plant == revokesNobody {
		return
	}
	w.after(w.lag(), func() {
		if o.gone {
			return
		}
		if !o.on {
			w.after(time.Hour, func() { w.tell(o, m) })
			return
		}
		if o.self.Manifest.Root == m.Root {
			o.engine = newEngine(w, o)
		}
		if o.do("manifest", func(t *tx) (*group.Change, error) { return o.engine.Manifest(t, o.time(), m) }) == errCrash {
			w.after(time.Minute, func() { w.tell(o, m) })
		}
	})
}
