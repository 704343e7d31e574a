package mlspeer

import (
	"errors"
	"fmt"
	"slices"
)

// plan is what one commit is to do.
type plan struct {
	committer *person
	public    bool // handshake messages are PublicMessages

	touched []*person // updated or removed: once each
	removed []*person
	added   []*person
	psk     bool // a resumption key, which newcomers would not have
	context bool // new extensions of the group
	told    bool // they are proposed by reference

	byValue    []Proposal
	references int      // proposals by reference
	kinds      []string // for the report
}

// Kinds of proposals. An update is proposed by reference only.
var kinds = []string{"add", "add", "update", "remove", "external psk", "resumption psk", "extensions"}

// begin plans a commit; orphans go with it.
func (w *world) begin(committer *person, public bool) *plan {
	w.post()
	pl := &plan{committer: committer, public: public}
	for _, p := range w.people { // in an order that a seed repeats
		if l, ok := w.orphans[p]; ok {
			pl.byValue = append(pl.byValue, Proposal{Type: "remove", Leaf: l})
		}
	}
	return pl
}

// turn makes one commit of random proposals, by reference and by value.
func (w *world) turn() {
	pl := w.begin(pick(w, w.in()), w.chance(2))
	for range w.rng.IntN(4) {
		if !w.chance(8) || !w.proposeOutside(pl) {
			w.propose(pl, pick(w, w.in()), pick(w, kinds))
		}
	}
	for range w.rng.IntN(3) {
		w.addByValue(pl, pick(w, kinds))
	}
	if w.chance(6) { // an update of the committer's own, which is left for nobody
		m := w.bytes(pl.committer.seat.propose(Proposal{Type: "update"}, pl.public, nil))
		w.deliver(m, w.others(pl.committer))
		pl.kinds = append(pl.kinds, "own update left out")
	}
	if w.chance(4) {
		w.lose(pl)
	}
	w.finish(pl)
}

// lose has somebody make a commit that others consider, and nobody takes.
func (w *world) lose(pl *plan) {
	loser := pick(w, w.others(pl.committer))
	if slices.Contains(pl.removed, loser) {
		return
	}
	commit, err := loser.seat.commit(CommitOptions{Public: pl.public}, w.chance(2))
	if err != nil {
		w.must(fmt.Errorf("%s (%s) committing in vain: %w", loser.name, loser.kind(), err))
	}
	wrong := pl.told && loser.kind() == "ts-mls" // its commit has no path, or one that nobody can open
	for _, p := range w.others(loser) {
		err := p.seat.consider(commit.Message)
		switch {
		case p.kind() == "ts-mls", slices.Contains(pl.removed, p):
		case wrong && err == nil:
			w.must(fmt.Errorf("%s (%s) takes new extensions from a commit of ts-mls", p.name, p.kind()))
		case !wrong && err != nil:
			w.must(fmt.Errorf("%s (%s) considering a commit of %s (%s): %w", p.name, p.kind(), loser.name, loser.kind(), err))
		}
	}
	w.counts["commit lost, by "+loser.kind()]++
}

// finish commits, and lets those added in and those removed out.
func (w *world) finish(pl *plan) {
	aside := w.chance(2)
	path := w.chance(2)
	if path && pl.committer.kind() == "ts-mls" {
		w.cannot.add("be asked for a path where none is required")
	}
	commit, err := pl.committer.seat.commit(CommitOptions{Proposals: pl.byValue, Public: pl.public, Tree: !aside, AD: []byte("commit")}, path)
	if err != nil {
		w.must(fmt.Errorf("%s (%s) committing %v: %w", pl.committer.name, pl.committer.kind(), pl.kinds, err))
	}
	if w.chance(4) {
		w.restart(pl.committer)
	}
	leaves := w.after(pl)
	w.did("commit", "%s (%s) public %t: %v", pl.committer.name, pl.committer.kind(), pl.public, pl.kinds)
	w.counts["commit "+pl.committer.kind()]++
	for _, k := range pl.kinds {
		w.counts["proposal: "+k]++
	}
	w.deliver(commit.Message, slices.DeleteFunc(w.others(pl.committer), func(p *person) bool { return w.replaced(pl, p, leaves) }))
	w.must(pl.committer.seat.merge())
	clear(w.orphans)
	for _, p := range w.in() {
		if n := p.seat.covered(); n >= 0 && n != pl.references+len(pl.byValue) && !w.replaced(pl, p, leaves) {
			w.must(fmt.Errorf("%s (%s) sees a commit of %d proposals, want %d and %d: %v", p.name, p.kind(), n, pl.references, len(pl.byValue), pl.kinds))
		}
	}
	w.leave(pl, leaves)
	w.arrived()
	w.arrive(pl, commit, aside, leaves)
}

// replaced reports whether somebody else gets the leaf of one who is removed, which
// ts-mls does not understand.
func (w *world) replaced(pl *plan, p *person, leaves map[*person]uint32) bool {
	if p.kind() != "ts-mls" || !slices.Contains(pl.removed, p) {
		return false
	}
	for _, l := range leaves {
		if l == p.seat.see().Leaf {
			return true
		}
	}
	return false
}

func (w *world) leave(pl *plan, leaves map[*person]uint32) {
	for _, p := range pl.removed {
		if w.replaced(pl, p, leaves) {
			w.cannot.add("see its own removal where somebody new gets the leaf")
		} else if s := p.seat.see().State; s != "removedFromGroup" {
			w.must(fmt.Errorf("%s (%s) was removed and is %s", p.name, p.kind(), s))
		}
		p.seat.drop()
		p.seat = nil
	}
}

func (w *world) arrive(pl *plan, commit Commit, aside bool, leaves map[*person]uint32) {
	if (commit.Welcome != nil) != (len(pl.added) > 0) {
		w.must(errors.New("a Welcome for nobody, or none for somebody"))
	}
	if commit.Welcome != nil {
		w.parse(commit.Welcome)
	}
	var tree []byte
	if aside {
		tree = w.bytes(pl.committer.seat.tree())
	}
	for _, p := range pl.added {
		s, err := p.join(commit.Welcome, tree, nil)
		if w.refusedTree(p, err) {
			w.orphans[p] = leaves[p]
			continue
		}
		if err != nil {
			w.must(fmt.Errorf("%s (%s) joining by %s (%s): %w", p.name, p.kind(), pl.committer.name, pl.committer.kind(), err))
		}
		p.seat, p.since = s, s.see().Epoch
		w.counts["welcome "+pl.committer.kind()+" to "+p.kind()]++
	}
}

// propose has a member propose something by reference, if that goes with the plan.
func (w *world) propose(pl *plan, author *person, kind string) {
	p := w.invent(pl, kind, author)
	if p == nil {
		return
	}
	m, err := author.seat.propose(*p, pl.public, []byte("proposal"))
	if err != nil {
		w.must(fmt.Errorf("%s (%s) proposing %s: %w", author.name, author.kind(), kind, err))
	}
	w.deliver(m, w.others(author))
	pl.kinds = append(pl.kinds, kind+" by "+author.kind())
	pl.references++
}

// addByValue has the committer propose something by value.
func (w *world) addByValue(pl *plan, kind string) {
	if p := w.invent(pl, kind, nil); p != nil {
		pl.byValue = append(pl.byValue, *p)
		pl.kinds = append(pl.kinds, kind+" by value of "+pl.committer.kind())
	}
}

// proposeOutside has somebody outside ask to be added.
func (w *world) proposeOutside(pl *plan) bool {
	p := w.newcomer(pl)
	if p == nil {
		return false
	}
	host := pick(w, w.in())
	w.deliver(w.bytes(p.proposeAdd(w.bytes(host.seat.groupInfo(true)))), w.in())
	pl.added = append(pl.added, p)
	pl.kinds = append(pl.kinds, "add asked from outside")
	pl.references++
	return true
}

func (w *world) newcomer(pl *plan) *person {
	out := slices.DeleteFunc(w.out(), func(p *person) bool { return slices.Contains(pl.added, p) || w.orphaned(p) })
	if pl.psk || len(out) == 0 || len(w.in())+len(pl.added)-len(pl.removed) >= w.most {
		return nil
	}
	return pick(w, out)
}

func (w *world) orphaned(p *person) bool { _, ok := w.orphans[p]; return ok }

// invent makes a proposal that goes with those of the plan, or none. Without an
// author it is by value.
func (w *world) invent(pl *plan, kind string, author *person) *Proposal {
	switch kind {
	case "add":
		p := w.newcomer(pl)
		if p == nil {
			return nil
		}
		pl.added = append(pl.added, p)
		kp := w.bytes(p.keyPackage(w.suite))
		w.parse(kp)
		return &Proposal{Type: "add", KeyPackage: kp}
	case "update":
		if author == nil || author == pl.committer || slices.Contains(pl.touched, author) {
			return nil
		}
		pl.touched = append(pl.touched, author)
		return &Proposal{Type: "update"}
	case "remove":
		p := pick(w, w.in())
		if !w.mayRemove(pl, p) {
			return nil
		}
		pl.touched, pl.removed = append(pl.touched, p), append(pl.removed, p)
		return &Proposal{Type: "remove", Leaf: p.seat.see().Leaf}
	case "external psk":
		return &Proposal{Type: "psk", PSK: w.psk()}
	case "resumption psk":
		if len(pl.added) > 0 {
			return nil
		}
		pl.psk = true
		v := w.in()[0].seat.see()
		return &Proposal{Type: "resumption", Usage: "application", GroupID: v.Group, Epoch: w.remembered(v.Epoch)}
	case "extensions":
		if pl.context {
			return nil
		}
		if pl.committer.kind() == "ts-mls" {
			w.cannot.add("commit extensions of the group so that others can follow")
			return nil
		}
		pl.context, pl.told = true, author != nil
		return &Proposal{Type: "extensions", Extensions: []Extension{{extensionType, w.id("extension")}}}
	}
	panic(kind)
}

// psk gives everybody a new external pre-shared key.
func (w *world) psk() []byte {
	id, psk := w.id("psk"), w.id("secret")
	for _, p := range w.people {
		w.must(p.addPSK(id, psk))
	}
	return id
}

// remembered is an epoch that all members have been in, and still know.
func (w *world) remembered(now uint64) uint64 {
	from := uint64(0)
	if now > 3 {
		from = now - 3
	}
	for _, p := range w.in() {
		from = max(from, p.since)
	}
	return from + w.rng.Uint64N(now-from+1)
}

// mayRemove keeps the committer, two members, one of each kind, and a tree that
// ts-mls can go on with.
func (w *world) mayRemove(pl *plan, p *person) bool {
	if p == pl.committer || slices.Contains(pl.touched, p) {
		return false
	}
	left := slices.DeleteFunc(w.in(), func(m *person) bool { return m == p || slices.Contains(pl.removed, m) })
	same := slices.DeleteFunc(slices.Clone(left), func(m *person) bool { return m.kind() != p.kind() })
	if len(left) < 2 || len(same) == 0 {
		return false
	}
	var leaves []uint32
	for _, m := range left {
		leaves = append(leaves, m.seat.see().Leaf)
	}
	if leftEmpty(leaves) {
		w.cannot.add("go on in a tree whose left half is blank")
		return false
	}
	return true
}

// after gives the leaves that those added will have.
func (w *world) after(pl *plan) map[*person]uint32 {
	var leaves []uint32
	for _, m := range w.in() {
		if !slices.Contains(pl.removed, m) {
			leaves = append(leaves, m.seat.see().Leaf)
		}
	}
	got := map[*person]uint32{}
	for _, p := range pl.added {
		got[p] = free(leaves)
		leaves = append(leaves, got[p])
	}
	return got
}
