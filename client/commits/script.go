package commits

import (
	"maps"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// scripts are schedules that are written out: the shortest ways that broke an earlier
// wording of the rules, by the name that docs/spec/group-proofs.md has for them.
var scripts = map[string]func(*Schedule){}

func script(name string, set func(*Schedule), f func(*world)) {
	scripts[name] = func(s *Schedule) {
		s.wishes, s.texts = 0, 0
		s.active, s.heal, s.end = 6*day, 7*day, 40*day
		if set != nil {
			set(s)
		}
		s.script = f
	}
}

// step is one thing of a script.
type step struct {
	at time.Duration
	f  func(*world)
}

// play is a script of steps, after which all is well.
func play(steps ...step) func(*world) {
	return func(w *world) {
		for _, s := range steps {
			w.after(s.at, func() { s.f(w) })
		}
		w.close()
	}
}

func removes(by, whom int) func(*world) { return func(w *world) { w.removes(by, whom) } }
func adds(by, whom int) func(*world)    { return func(w *world) { w.adds(by, whom) } }
func writes(by int) func(*world)        { return func(w *world) { w.write(w.nodes[by]) } }
func renames(by int) func(*world) {
	return func(w *world) {
		w.want(w.nodes[by], roster.Wish{Kind: roster.Rename, Text: "by " + w.nodes[by].name}, true)
	}
}
func leaves(by int) func(*world) {
	return func(w *world) {
		w.want(w.nodes[by], roster.Wish{Kind: roster.Leave, Root: w.nodes[by].self.Manifest.Root}, true)
	}
}
func off(n int) func(*world) {
	return func(w *world) { w.log("%s is off", w.nodes[n].name); w.nodes[n].down() }
}
func on(n int) func(*world) { return func(w *world) { w.nodes[n].up() } }
func dies(n int) func(*world) {
	return func(w *world) { w.log("%s is lost", w.nodes[n].name); w.nodes[n].down(); w.nodes[n].gone = true }
}
func forgetsAll(w *world) {
	for _, id := range w.realms[0].ids(0) {
		w.realms[0].forget(id)
	}
	w.log("%s forgets every slot", w.realms[0].name)
}
func expiresAll(w *world) {
	for _, id := range w.realms[0].ids(0) {
		w.realms[0].expire(id)
	}
	w.log("%s has no content of older slots", w.realms[0].name)
}
func vanishes(w *world) {
	w.realms[0].away = func(time.Duration) bool { return true }
	w.log("%s is gone for good", w.realms[0].name)
}
func parts(side ...int) func(*world) {
	return func(w *world) {
		w.log("%v are cut off from the others", side)
		for a := range w.nodes {
			for b := range w.nodes {
				if slices.Contains(side, a) != slices.Contains(side, b) {
					w.cut[[2]int{a, b}] = true
				}
			}
		}
	}
}
func joins(w *world) { w.log("the network is whole"); w.cut = map[[2]int]bool{} }
func burns(by int) func(*world) {
	return func(w *world) { w.nodes[by].foe = true; w.burn(w.nodes[by]) }
}

func (w *world) removes(by, whom int) {
	w.want(w.nodes[by], roster.Wish{Kind: roster.Remove, Root: w.nodes[whom].self.Manifest.Root}, true)
}

func (w *world) adds(by, whom int) {
	w.want(w.nodes[by], roster.Wish{Kind: roster.Add, Root: w.nodes[whom].self.Manifest.Root, Device: w.nodes[whom].device()}, true)
}

// ask has everybody answer their questions, and ends all faults in time.
func (w *world) close() {
	for t := time.Hour; t < w.c.end; t += 3 * time.Hour {
		w.after(t, func() {
			for _, n := range w.nodes {
				w.decide(n, 1)
			}
		})
	}
	w.after(w.c.heal, w.mend)
}

func few(s *Schedule)               { s.people, s.admins, s.joiners = 3, 2, 1 }
func bad(c conduct) func(*Schedule) { return func(s *Schedule) { s.conduct = c } }
func vanishing(s *Schedule)         { few(s); s.awayFrom, s.awayTo = 0, 1<<62 }

func init() {
	const h, m = time.Hour, time.Minute
	// A relay forgets; who was removed meanwhile adds somebody on a line of its own.
	script("lone-joiner", bad(forgets), play(
		step{h, off(2)}, step{2 * h, removes(1, 2)}, step{30 * h, forgetsAll}, step{31 * h, on(2)}, step{31*h + m, adds(2, 6)},
		step{40 * h, writes(0)}, step{41 * h, writes(6)}))
	// The same with a relay that shows one half of the devices another store.
	script("lone-branch", bad(lies), play(
		step{h, off(5)}, step{2 * h, removes(1, 5)}, step{3 * h, renames(0)}, step{50 * h, on(5)}, step{50*h + m, leaves(5)}, step{60 * h, writes(0)}))
	// Garbage at one slot after another.
	script("burner", func(s *Schedule) { few(s); s.burns = 1 }, play(
		step{h, burns(2)}, step{2 * h, renames(0)}, step{30 * h, burns(2)}, step{31 * h, renames(1)}, step{60 * h, burns(2)}, step{61 * h, writes(0)}))
	// The relay vanishes while the network is in two; one half removes somebody, the
	// more senior admin of the other has not heard.
	script("back-by-a-senior", vanishing, play(
		step{m, parts(0)}, step{2 * m, vanishes}, step{h, removes(1, 2)}, step{4 * day, joins}, step{5 * day, writes(1)}, step{5*day + h, writes(0)}))
	// A text is shown, and its author parted before the acks come; the group is made
	// again meanwhile, and the text comes once more there.
	script("shown-before-it-moves", vanishing, play(
		step{m, vanishes}, step{h, renames(0)}, step{2 * h, writes(0)}, step{2*h + 1500*time.Millisecond, parts(0)}, step{4 * day, joins}, step{5 * day, writes(1)}))
	// A removed admin makes the group again, and hears of nothing.
	script("removed-admin-makes-again", vanishing, play(
		step{m, off(1)}, step{h, removes(0, 1)}, step{5 * h, vanishes}, step{6 * h, on(1)}, step{6*h + m, parts(1)}, step{6 * h, renames(0)}, step{4 * day, joins}, step{5 * day, writes(0)}))
	// The relay can be reached by half: it goes on while the others give up.
	script("old-group-goes-on", func(s *Schedule) { s.rcuts = 1 }, play(
		step{h, func(w *world) {
			for _, i := range []int{0, 2, 4} {
				w.rcut[[2]int{i, 0}] = true
			}
		}}, step{2 * h, parts(0, 2, 4)}, step{3 * h, removes(1, 5)}, step{4 * h, adds(1, 6)}, step{5 * h, renames(0)},
		step{3 * day, joins}, step{3*day + h, writes(0)}, step{3*day + 2*h, writes(1)}))
	// A second receipt for a slot that was left long ago.
	script("late-second-receipt", bad(forgets), play(
		step{h, off(4)}, step{2 * h, renames(0)}, step{5 * h, renames(1)}, step{30 * h, forgetsAll}, step{31 * h, on(4)}, step{31*h + m, leaves(4)}, step{60 * h, writes(2)}))
	// Who added somebody dies before the Welcome left.
	script("adder-dies", nil, play(
		step{h, adds(1, 6)}, step{h + 40*time.Second, dies(1)}, step{2 * h, writes(0)}, step{30 * h, writes(3)}, step{31 * h, removes(0, 1)}))
	// A change races with messages.
	script("add-races-messages", nil, play(
		step{h, adds(0, 6)}, step{h, adds(1, 7)}, step{h, removes(2, 5)}, step{h + time.Second, writes(0)}, step{h + 2*time.Second, writes(3)},
		step{h + 5*time.Second, writes(4)}, step{h + 20*time.Second, writes(1)}, step{h + 31*time.Second, writes(2)}))
	// Two admins remove at once; one of them is removed.
	script("mutual-removal", nil, play(
		step{h, removes(0, 1)}, step{h, removes(1, 2)}, step{h, removes(2, 5)}, step{2 * h, writes(0)}))
	// Two leave, nobody commits their own going.
	script("all-leave-but-one", few, play(step{h, leaves(1)}, step{h, leaves(2)}, step{5 * h, writes(0)}))
	// The last admin goes.
	script("last-admin-leaves", func(s *Schedule) { few(s); s.admins = 1 }, play(step{h, leaves(0)}, step{5 * h, writes(1)}, step{6 * h, renames(1)}))
	// Somebody sleeps for weeks, and the content of the slots is gone.
	script("walk-ends", func(s *Schedule) { s.active, s.heal, s.end = 30*day, 31*day, 55*day }, play(
		step{h, off(4)}, step{2 * h, renames(0)}, step{3 * day, renames(1)}, step{5 * day, removes(1, 5)}, step{20 * day, expiresAll}, step{21 * day, writes(0)}, step{22 * day, on(4)}, step{23 * day, writes(4)}))
	// Somebody walks over many slots.
	script("long-walk", func(s *Schedule) { s.active, s.heal, s.end = 30*day, 31*day, 55*day }, play(
		append([]step{{h, off(4)}, {25 * day, on(4)}, {26 * day, writes(4)}}, many(20, day, renames(0), renames(1), writes(2))...)...))
	// Two successors, the more senior with somebody whom the other removed.
	script("successor-brings-back", func(s *Schedule) { few(s); s.people, s.admins = 5, 3; s.awayFrom, s.awayTo = 0, 1<<62 }, play(
		step{m, off(1)}, step{h, removes(2, 4)}, step{3 * h, parts(1)}, step{4 * h, vanishes}, step{5 * h, on(1)}, step{6 * h, renames(1)}, step{6 * h, renames(2)},
		step{4 * day, joins}, step{5 * day, writes(2)}, step{5*day + h, writes(1)}))
	// After a burnt slot one device commits; a more senior admin has it removed.
	script("sole-committer-removed", func(s *Schedule) { s.burns = 1; s.admins = 3 }, play(
		step{m, off(0)}, step{h, burns(5)}, step{2 * h, renames(1)}, step{3 * day, on(0)}, step{4 * day, removes(0, 1)}, step{5 * day, writes(0)}))
	// The relay is away for three hours, and nobody needs to decide anything.
	script("short-absence", nil, play(
		step{h, func(w *world) {
			from := w.now
			w.realms[0].away = func(now time.Duration) bool { return now < from+50*time.Minute }
		}}, step{h + m, renames(0)}, step{h + 2*m, writes(1)}, step{10 * h, writes(2)}))
}

// many repeats steps.
func many(n int, each time.Duration, fs ...func(*world)) (l []step) {
	for i := range n {
		for j, f := range fs {
			l = append(l, step{time.Duration(i+1)*each + time.Duration(j)*time.Hour, f})
		}
	}
	return l
}

// Scripts are the names of the schedules that are written out.
func Scripts() []string { return slices.Sorted(maps.Keys(scripts)) }
