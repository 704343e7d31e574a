package commits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// fault is a kind of what must never happen.
type fault string

// The first four are counted on the last line; all make a run fail.
const (
	diverged  fault = "diverged"        // members end in two epochs, or one who is a member does not know it
	lost      fault = "lost"            // a text never came
	twice     fault = "shown twice"     //
	outsider  fault = "outsider"        // a text was opened by who was not in the roster that its author saw
	forked    fault = "forked"          // an honest relay, and two commits of one epoch
	remade    fault = "remade"          // made again although an honest relay could be reached
	back      fault = "back"            // written to somebody whose removal the author had accepted
	undone    fault = "undone"          // a wish that never came true
	livelock  fault = "livelock"        // it never ends
	forged    fault = "forged"          // a text that nobody wrote
	panicked  fault = "panicked"        //
	broken    fault = "broken"          // a call failed that cannot
	unsettled fault = "copies for ever" // something is still sent after all was acked
)

// Finding is one thing that happened and must not.
type Finding struct {
	Fault string
	What  string
	At    time.Duration
}

// text is one that somebody wrote.
type text struct {
	by      *node
	id      wire.MessageID
	content string
	meant   map[group.Device]bool // the roster that its author saw
	may     map[group.Device]bool // and those whom the author allowed later
	shown   map[group.Device]int
	group   group.ID
	epoch   uint64
}

type textKey struct {
	by group.Device
	id wire.MessageID
}

// wished is a wish of somebody.
type wished struct {
	by      *node
	kind    roster.WishKind
	root    key.SignPublic
	device  group.Device
	name    string
	refused bool
}

// place is an epoch of a group.
type place struct {
	group group.ID
	epoch uint64
}

// view is what a device showed last of its line.
type view struct {
	place
	state group.State
	roll  []roster.Leaf
}

// book notes what happened in a run.
type book struct {
	texts    map[textKey]*text
	order    []*text
	wishes   []*wished
	lines    map[place]map[[8]byte][]string // marks of an epoch, and who came to it
	views    map[*node]map[group.ID]view    // by group
	removed  map[*node]map[group.Device]bool
	ever     map[group.Device]bool // was removed by somebody, some time
	made     map[group.ID]bool     // groups made again
	late     int                   // of them, once all was well
	ghosts   []*ghost
	findings []Finding
	crashes  int
	cells    int
	opened   int
}

func newBook() book {
	return book{texts: map[textKey]*text{}, lines: map[place]map[[8]byte][]string{}, views: map[*node]map[group.ID]view{},
		removed: map[*node]map[group.Device]bool{}, ever: map[group.Device]bool{}, made: map[group.ID]bool{}}
}

// fail notes a finding.
func (w *world) fail(f fault, format string, a ...any) {
	what := fmt.Sprintf(format, a...)
	w.log("!! %s: %s", f, what)
	if len(w.book.findings) < 50 {
		w.book.findings = append(w.book.findings, Finding{string(f), what, w.now})
	}
}

func (w *world) called(d group.Device) string {
	if i := w.find(d); i >= 0 {
		return w.nodes[i].name
	}
	return fmt.Sprintf("%x", d[:3])
}

func (w *world) names(roll []roster.Leaf) string {
	var s []string
	for _, l := range roll {
		s = append(s, w.called(l.Device))
	}
	return strings.Join(s, " ")
}

func has(roll []roster.Leaf, d group.Device) bool {
	return slices.ContainsFunc(roll, func(l roster.Leaf) bool { return l.Device == d })
}

// committed looks at what a transaction changed.
func (w *world) committed(n *node, ch *group.Change, groups []string) {
	for _, e := range ch.Events {
		w.happened(n, e)
	}
	for _, k := range groups {
		if r := see[group.Record](n.disk, tGroup, k); r != nil {
			w.stands(n, group.ID([]byte(k)), r)
		}
	}
}

// waits tells, where every transaction is told, whom a device's messages wait for.
func (w *world) waits(n *node, what string) {
	if !w.words || w.trace == nil {
		return
	}
	var s string
	for _, k := range n.disk.rows(tMessage, "") {
		m := see[group.Message](n.disk, tMessage, k)
		s += fmt.Sprintf(" [%s, %x epoch %d, for", m.Content, k[:3], int64(m.Epoch))
		for _, x := range m.Waits {
			s += " " + w.called(x.Device)
		}
		s += "]"
	}
	if s != n.owes {
		n.owes = s
		w.log("%s after %s owes:%s", n.name, what, s)
	}
}

// happened looks at an event that a device shows.
func (w *world) happened(n *node, e group.Event) {
	switch e.Kind {
	case group.EventText:
		t := w.book.texts[textKey{e.By, e.Message}]
		switch {
		case t == nil || t.content != string(e.Content):
			w.fail(forged, "%s shows a text by %s that nobody wrote", n.name, w.called(e.By))
			return
		case !t.may[n.device()]:
			w.fail(outsider, "%q by %s, which %s opened", t.content, t.by.name, n.name)
		}
		if n.foe {
			return
		}
		w.log("%s shows %q by %s", n.name, t.content, t.by.name)
		t.shown[n.device()]++
		if t.shown[n.device()] > 1 {
			w.fail(twice, "%q by %s, by %s", t.content, t.by.name, n.name)
		}
	case group.EventRefused:
		for _, x := range w.book.wishes {
			if x.by == n && x.kind == e.Wish && !x.refused && (len(e.About) == 0 || slices.Contains(e.About, x.root)) {
				x.refused = true
			}
		}
		w.log("%s: a wish is refused: %s", n.name, e.Text)
	case group.EventDelivery:
	default:
		w.log("%s: event %d %s", n.name, e.Kind, e.Text)
	}
}

// stands looks at where a device stands in a group.
func (w *world) stands(n *node, id group.ID, r *group.Record) {
	vs := w.book.views[n]
	if vs == nil {
		vs = map[group.ID]view{}
		w.book.views[n] = vs
	}
	if w.book.removed[n] == nil {
		w.book.removed[n] = map[group.Device]bool{}
	}
	was, known := vs[id]
	now := view{place{id, r.Head}, r.State, was.roll}
	if r.Old != (group.ID{}) && !w.book.made[id] {
		w.book.made[id] = true
		if w.healed {
			w.book.late++
		}
		w.log("%s has the group that was made again: %x", n.name, id[:3])
		if w.c.calm() && !n.foe {
			w.fail(remade, "%s is in a group that was made again", n.name)
		}
	}
	for _, b := range r.Rift.Gone { // it was shown, or wished before the group was made again
		if s, err := roster.ParseShown(b); err == nil {
			if x, _, err := s.Read(); err == nil && x.Kind != roster.Demote {
				for _, o := range w.nodes {
					if o.self.Manifest.Root == x.Root && (x.Device == group.Device{} || x.Device == o.device()) {
						w.book.ever[o.device()] = true
					}
				}
			}
		}
	}
	if was.state != r.State {
		w.log("%s: %x is now %s", n.name, id[:3], stateName(r.State))
	}
	if e := n.disk.epoch(epochKey(id, r.Head)); e != nil && (!known || was.epoch != r.Head || len(was.roll) == 0) {
		now.roll = e.Roster
		w.log("%s enters %x epoch %d: %s (%x)", n.name, id[:3], r.Head, w.names(e.Roster), e.Mark[:3])
		w.enters(n, now, was, e.Mark)
	}
	vs[id] = now
	if r.State == group.Out && was.state != group.Out {
		w.out(n)
	}
}

// enters compares the epoch that a device comes to with what others came to.
func (w *world) enters(n *node, now, was view, mark [8]byte) {
	removed := w.book.removed[n]
	if was.group == now.group {
		for _, l := range was.roll {
			if !has(now.roll, l.Device) {
				removed[l.Device] = true
				w.book.ever[l.Device] = true
			}
		}
		for _, l := range now.roll {
			if !has(was.roll, l.Device) {
				delete(removed, l.Device)
			}
		}
	}
	if n.foe {
		return
	}
	m := w.book.lines[now.place]
	if m == nil {
		m = map[[8]byte][]string{}
		w.book.lines[now.place] = m
	}
	m[mark] = append(m[mark], n.name)
	if len(m) > 1 && w.c.calm() {
		w.fail(forked, "epoch %d of %x is two: %v", now.epoch, now.group[:3], m)
	}
}

func stateName(s group.State) string {
	switch s {
	case group.Active:
		return "active"
	case group.Behind:
		return "behind"
	case group.Stopped:
		return "stopped"
	case group.Replaced:
		return "replaced"
	case group.Out:
		return "out"
	}
	return fmt.Sprint("state ", s)
}

// current is the group in which a device's conversation goes on; nil: in none. It is
// to be looked at only.
func (n *node) current() *group.Record {
	var out *group.Record
	for _, k := range n.disk.rows(tGroup, "") {
		r := *see[group.Record](n.disk, tGroup, k)
		r.ID = group.ID([]byte(k))
		switch r.State {
		case group.Active, group.Behind, group.Stopped:
			return &r
		case group.Out:
			out = &r
		}
	}
	return out
}

// head is the newest epoch of a group, to be looked at only; nil: it is not there.
func (n *node) head(r *group.Record) *group.Epoch {
	return n.disk.epoch(epochKey(r.ID, r.Head))
}

// roll is the roster of a device's newest epoch.
func (n *node) roll(r *group.Record) []roster.Leaf {
	if e := n.head(r); e != nil {
		return e.Roster
	}
	return nil
}

// expected is the roster with those who are still to come into a group that was made
// again: what is written meanwhile is for them, too.
func (n *node) expected(r *group.Record) []roster.Leaf {
	return append(slices.Clone(n.roll(r)), r.Rift.Expect...)
}
