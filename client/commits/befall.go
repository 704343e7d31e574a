package commits

import (
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// befall draws what happens to whom, when.
func (w *world) befall() {
	c := w.c
	start := w.now
	at := func(most time.Duration, f func()) { w.after(time.Duration(w.work.Float64()*float64(most)), f) }
	for range c.wishes {
		at(c.active, w.wishSomething)
	}
	for range c.texts {
		at(c.active, func() { w.write(w.nodes[w.work.IntN(len(w.nodes))]) })
	}
	for range c.naps {
		n := w.nodes[w.work.IntN(w.members())]
		d := w.work.between(time.Hour, 3*day)
		at(c.active*7/10, func() { w.nap(n, d) })
	}
	for i := range c.sleeps {
		n := w.nodes[w.work.IntN(w.members())]
		d := w.work.between(5*day, time.Duration(12+6*i)*day)
		at(c.active/2, func() { w.nap(n, d) })
	}
	for range c.parts {
		w.partAt(time.Duration(w.work.Float64() * float64(c.active*8/10)))
	}
	for range c.rcuts {
		w.rcutAt(time.Duration(w.work.Float64() * float64(c.active*8/10)))
	}
	for range c.forgets {
		at(c.active, func() {
			for _, id := range w.realms[0].ids(0) {
				if w.work.chance(0.3) {
					w.realms[0].forget(id)
					w.log("%s forgets slot %x", w.realms[0].name, id[:3])
				}
			}
		})
	}
	if c.expires {
		at(c.active, func() {
			for _, id := range w.realms[0].ids(0) {
				if w.work.chance(0.5) {
					w.realms[0].expire(id)
					w.log("%s has no content of slot %x any more", w.realms[0].name, id[:3])
				}
			}
		})
	}
	if c.awayTo > 0 {
		w.realms[0].away = func(now time.Duration) bool { return now >= start+c.awayFrom && now < start+c.awayTo }
	}
	if c.burns > 0 {
		m := w.nodes[w.members()-1]
		m.foe = true
		for range c.burns {
			at(c.active, func() { w.burn(m) })
		}
	}
	if c.half || c.false {
		w.nodes[w.members()-1].foe = true
	}
	if c.half {
		w.nodes[w.members()-1].rand.spoil = true
	}
	if c.rogue {
		for range 60 {
			at(c.active, w.rogues)
		}
	}
	for t := time.Hour; t < c.end; t += 3 * time.Hour {
		w.after(t, func() {
			p := 0.3
			if w.healed {
				p = 1
			}
			for _, n := range w.nodes {
				w.decide(n, p)
			}
		})
	}
	w.after(c.heal, w.mend)
}

// mend ends all faults but those of a relay that is gone for good.
func (w *world) mend() {
	w.healed = true
	w.cut, w.rcut = map[[2]int]bool{}, map[[2]int]bool{}
	w.log("from here on all is well")
	for _, n := range w.nodes {
		n.up()
	}
	w.rest()
}

func (w *world) nap(n *node, d time.Duration) {
	if !n.on {
		return
	}
	w.log("%s is off for %v", n.name, d.Round(time.Minute))
	n.down()
	w.after(d, n.up)
}

// partAt parts the devices in two for a while.
func (w *world) partAt(t time.Duration) {
	d := w.work.between(time.Hour, 3*day)
	side := make([]bool, len(w.nodes))
	for i := range side {
		side[i] = w.work.IntN(2) == 0
	}
	set := func(on bool) {
		for a := range side {
			for b := range side {
				if side[a] != side[b] {
					w.cut[[2]int{a, b}] = on
				}
			}
		}
	}
	w.after(t, func() { w.log("the network is in two: %v", side); set(true) })
	w.after(t+d, func() { w.log("the network is whole"); set(false) })
}

// rcutAt takes the first relay from some devices for a while.
func (w *world) rcutAt(t time.Duration) {
	d := w.work.between(time.Hour, 3*day)
	var who []int
	for i := range w.nodes {
		if w.work.IntN(2) == 0 {
			who = append(who, i)
		}
	}
	w.after(t, func() {
		w.log("%s cannot be reached by %v", w.realms[0].name, who)
		for _, i := range who {
			w.rcut[[2]int{i, 0}] = true
		}
	})
	w.after(t+d, func() {
		for _, i := range who {
			w.rcut[[2]int{i, 0}] = false
		}
	})
}

// wishSomething has somebody wish something that may be wished.
func (w *world) wishSomething() {
	n := w.nodes[w.work.IntN(w.members())]
	x := w.work.Float64()
	r := n.current()
	if r == nil || !n.on || n.foe || r.State == group.Out {
		return
	}
	roll, s := n.roll(r), n.state(r)
	if s == nil {
		return
	}
	_, admin := s.Rank(n.self.Manifest.Root)
	switch {
	case admin && x < 0.25 && w.c.joiners > 0:
		j := w.nodes[w.members()+w.work.IntN(w.c.joiners)]
		if !has(roll, j.device()) && len(w.book.views[j]) == 0 {
			w.want(n, roster.Wish{Kind: roster.Add, Root: j.self.Manifest.Root, Device: j.device()}, true)
		}
	case admin && x < 0.45:
		o := w.nodes[w.work.IntN(len(w.nodes))]
		if has(roll, o.device()) && s.Senior(n.self.Manifest.Root, o.self.Manifest.Root) && !(o.foe && w.c.burns > 0) && w.removals() < w.c.people/2 {
			w.want(n, roster.Wish{Kind: roster.Remove, Root: o.self.Manifest.Root}, true)
		}
	case admin && x < 0.55:
		o := w.nodes[w.work.IntN(w.members())]
		if _, is := s.Rank(o.self.Manifest.Root); !is && has(roll, o.device()) && !o.foe {
			w.want(n, roster.Wish{Kind: roster.Promote, Root: o.self.Manifest.Root}, true)
		}
	case admin && x < 0.62:
		o := w.nodes[w.work.IntN(w.members())]
		if _, is := s.Rank(o.self.Manifest.Root); is && s.Senior(n.self.Manifest.Root, o.self.Manifest.Root) {
			w.want(n, roster.Wish{Kind: roster.Demote, Root: o.self.Manifest.Root}, true)
		}
	case admin:
		w.want(n, roster.Wish{Kind: roster.Rename, Text: string(rune('a'+w.work.IntN(26))) + n.name}, true)
	case x < 0.15:
		w.want(n, roster.Wish{Kind: roster.Leave, Root: n.self.Manifest.Root}, true)
	case x < 0.4 && w.c.seconds > 0:
		w.revoke(w.nodes[w.members()-1])
	default: // its own path: a device makes that by itself after a walk; a restart is one
		w.nap(n, w.work.between(7*time.Hour, 12*time.Hour))
	}
}

func (w *world) removals() (n int) {
	for _, x := range w.book.wishes {
		if x.kind == roster.Remove || x.kind == roster.Leave {
			n++
		}
	}
	return n
}

// burn has a member put at the slot of its epoch what is no commit.
func (w *world) burn(n *node) {
	r := n.current()
	if r == nil || r.State == group.Out || !n.on {
		return
	}
	e, err := n.disk.begin().Epoch(r.ID, r.Head)
	if err != nil {
		return
	}
	s, err := slot.Derive(e.Slot)
	st := n.state(r)
	if err != nil || st == nil {
		return
	}
	where := w.realm(st.Home.Name)
	if where.away(w.now) {
		return
	}
	junk := make([]byte, wire.BlobClasses[st.Class])
	io.ReadFull(n.rand, junk)
	if w.work.chance(0.5) { // sealed well, and garbage inside
		if junk, err = s.Seal(n.rand, st.Class, junk[:100]); err != nil {
			return
		}
	}
	if _, mine := where.put(n.i, s.ID, junk); mine {
		w.log("%s burns the slot of epoch %d at %s", n.name, r.Head, where.name)
	}
}

// out looks at a device that knows that it is no member any more: what it held goes
// on reading; and where removed ones cheat it goes on as if it had not heard.
func (w *world) out(n *node) {
	if w.before == nil {
		return
	}
	before := w.before()
	w.haunt(n, before)
	if !w.c.rogue || w.healed || n.revoked {
		return
	}
	w.log("%s goes on with what it held", n.name)
	n.foe, n.was = true, before
}

// rogues has those who were removed try again with what they held.
func (w *world) rogues() {
	for _, n := range w.nodes {
		if n.was == nil || !n.on || w.healed {
			continue
		}
		if r := n.current(); r == nil || r.State == group.Out {
			n.disk = n.was.clone()
			life := n.life
			w.log("%s starts from what it held", n.name)
			n.down()
			n.on = false
			n.up()
			_ = life
		}
		r := n.current()
		if r == nil || !n.on || r.State == group.Out {
			continue
		}
		s := n.state(r)
		if s == nil {
			continue
		}
		o := w.nodes[w.work.IntN(len(w.nodes))]
		x := roster.Wish{Kind: roster.Remove, Root: o.self.Manifest.Root}
		switch w.work.IntN(3) {
		case 0:
			x = roster.Wish{Kind: roster.Add, Root: o.self.Manifest.Root, Device: o.device()}
		case 1:
			x = roster.Wish{Kind: roster.Rename, Text: "rogue"}
		}
		w.want(n, x, false)
	}
}
