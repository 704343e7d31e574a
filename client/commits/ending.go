package commits

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// stand is where a device ends.
type stand struct {
	place
	mark [8]byte
}

// rests reports whether all has come to its end long before the run has: faults are
// over, every device is on, nothing waits for anybody, and the end would be a good
// one. One run of four goes on all the same: some things come true by age alone.
func (w *world) rests() bool {
	if !w.healed || w.seed%4 == 0 || len(w.book.findings) > 0 {
		return false
	}
	for _, n := range w.nodes {
		if n.gone || n.foe {
			continue
		}
		if !n.on || len(n.disk.rows(tRow, "")) > 0 || len(n.disk.rows(tWord, "")) > 0 {
			return false
		}
		if r := n.current(); r != nil && r.State != group.Out {
			if slices.ContainsFunc(r.Wishes, func(o group.Wanted) bool { return o.Own && o.Applied == 0 }) || len(r.Questions) > 0 {
				return false
			}
		}
	}
	trace := w.trace
	w.trace = nil
	w.judge()
	w.trace = trace
	good := len(w.book.findings) == 0
	w.book.findings = nil
	return good
}

// rest ends a run that rests, and still does after a day: each device has looked at
// its slot and compared receipts since.
func (w *world) rest() {
	since := w.now
	if !w.rests() {
		since = -1
	}
	w.after(25*time.Hour, func() {
		if since >= 0 && w.rests() {
			w.log("all has come to its end")
			w.c.end = w.now
			return
		}
		w.rest()
	})
}

// judge looks at how a run ended.
func (w *world) judge() {
	if w.ended(livelock) || w.ended(panicked) {
		return
	}
	ends := map[stand][]*node{}
	for _, n := range w.nodes {
		if n.foe || n.gone {
			continue
		}
		r := n.current()
		if r == nil || r.State == group.Out {
			continue
		}
		e, err := n.disk.begin().Epoch(r.ID, r.Head)
		if err != nil {
			w.fail(broken, "%s has no newest epoch: %v", n.name, err)
			continue
		}
		ends[stand{place{r.ID, r.Head}, e.Mark}] = append(ends[stand{place{r.ID, r.Head}, e.Mark}], n)
	}
	if len(ends) == 0 {
		return // everybody left
	}
	if len(ends) > 1 {
		var s []string
		for at, ns := range ends {
			var names []string
			for _, n := range ns {
				names = append(names, n.name+" "+stateName(n.current().State))
			}
			s = append(s, fmt.Sprintf("%x epoch %d (%x): %s", at.group[:3], at.epoch, at.mark[:3], strings.Join(names, ", ")))
		}
		sort.Strings(s)
		w.fail(diverged, "%s", strings.Join(s, "; "))
		return
	}
	var last []*node
	for _, ns := range ends {
		last = ns
	}
	one := last[0]
	r := one.current()
	roll, state := one.roll(r), one.state(r)
	for _, n := range last {
		if !has(roll, n.device()) {
			w.fail(diverged, "%s believes to be a member, and is not", n.name)
		}
	}
	for _, l := range roll {
		if i := w.find(l.Device); i >= 0 && !w.nodes[i].foe && !slices.Contains(last, w.nodes[i]) {
			w.fail(diverged, "%s is a member, and does not know it", w.nodes[i].name)
		}
	}
	for _, n := range last {
		if r := n.current(); r.State != group.Active && !(w.c.burns > 0) {
			w.fail(undone, "%s ends %s, for reason %d, with open wishes%s", n.name, stateName(r.State), r.Rift.Why, w.open(r))
		}
	}
	w.lostTexts(roll)
	w.undoneWishes(roll, state)
	if len(w.book.made) > 12 || w.book.late > 3 {
		w.fail(livelock, "made again %d times, %d of them after all was well", len(w.book.made), w.book.late)
	}
	for _, n := range last {
		if keys := n.disk.rows(tRow, ""); len(keys) > 0 {
			r := see[row](n.disk, tRow, keys[0])
			_, err := n.disk.begin().Message(r.Copy.Group, r.Copy.Message)
			w.fail(unsettled, "%s still sends %d copies, one of epoch %d of %x to %s (leaf %d), of a message that is kept: %v", n.name, len(keys), r.Copy.Epoch, r.Copy.Group[:3], w.called(r.Copy.To), r.Copy.Leaf, err == nil)
		}
	}
}

// open are the wishes that wait at a device.
func (w *world) open(r *group.Record) (s string) {
	for _, o := range r.Wishes {
		if x, err := roster.ParseWish(o.Wish); err == nil && o.Applied == 0 {
			s += fmt.Sprintf(" [%s wishes kind %d about %s %s]", w.called(x.By), x.Kind, w.wishText(x), w.called(x.Device))
		}
	}
	return s
}

func (w *world) ended(f fault) bool {
	return slices.ContainsFunc(w.book.findings, func(x Finding) bool { return x.Fault == string(f) })
}

// lostTexts looks for texts that did not come to whom they were meant for, among
// those who were members all the time.
func (w *world) lostTexts(roll []roster.Leaf) {
	for _, t := range w.book.order {
		if t.by.foe || !has(roll, t.by.device()) || w.book.ever[t.by.device()] {
			continue
		}
		for _, l := range roll {
			i := w.find(l.Device)
			if i < 0 || w.nodes[i] == t.by || w.nodes[i].foe || !t.meant[l.Device] || w.book.ever[l.Device] {
				continue
			}
			if t.shown[l.Device] == 0 {
				w.fail(lost, "%q by %s, written in epoch %d of %x, never came to %s", t.content, t.by.name, t.epoch, t.group[:3], w.nodes[i].name)
			}
		}
	}
}

// undoneWishes looks for wishes of members that still have the right to them and that
// did not come true.
func (w *world) undoneWishes(roll []roster.Leaf, s *roster.State) {
	if s == nil {
		w.fail(broken, "the last epoch has no state")
		return
	}
	other := func(x *wished, kinds ...roster.WishKind) bool {
		return slices.ContainsFunc(w.book.wishes, func(o *wished) bool { return o != x && o.root == x.root && slices.Contains(kinds, o.kind) })
	}
	in := func(x *wished) bool {
		return slices.ContainsFunc(roll, func(l roster.Leaf) bool {
			return l.Root == x.root && (x.device == group.Device{} || l.Device == x.device)
		})
	}
	for _, x := range w.book.wishes {
		root := x.by.self.Manifest.Root
		_, admin := s.Rank(root)
		if x.refused || x.by.foe || !has(roll, x.by.device()) || w.book.ever[x.by.device()] {
			continue
		}
		_, ranked := s.Rank(x.root)
		bad := false
		switch x.kind {
		case roster.Add:
			bad = admin && !in(x) && !other(x, roster.Remove, roster.Leave)
		case roster.Remove:
			bad = s.Senior(root, x.root) && in(x) && !other(x, roster.Add, roster.Promote, roster.Demote)
		case roster.Leave, roster.Revoked:
			bad = in(x)
		case roster.Promote:
			bad = admin && !ranked && in(x) && !other(x, roster.Demote, roster.Remove, roster.Leave)
		case roster.Demote:
			bad = s.Senior(root, x.root) && ranked && !other(x, roster.Promote)
		case roster.Rename:
			bad = admin && s.Name == "group"
		}
		if bad {
			w.fail(undone, "the wish of %s, kind %d about %s", x.by.name, x.kind, w.called(x.device))
		}
	}
}
