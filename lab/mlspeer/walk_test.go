package mlspeer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// tour does everything once from either side.
func (w *world) tour() {
	for _, kind := range w.kinds() {
		for i, public := range []bool{true, false} {
			committer, other := w.of(kind, true), w.of(kind, false)
			pl := w.begin(committer, public)
			for _, k := range [][]string{{"add", "update", "external psk"}, {"remove", "resumption psk", "extensions"}}[i] {
				w.propose(pl, other, k)
			}
			w.finish(pl)
			w.check()

			pl = w.begin(w.of(kind, true), !public)
			for _, k := range [][]string{{"remove", "resumption psk", "extensions"}, {"add", "external psk"}}[i] {
				w.addByValue(pl, k)
			}
			w.finish(pl)
			w.check()
			w.talk()
		}
		if p := w.idle(kind); p != nil {
			w.enter(p, w.of(kind, false))
			w.check()
		}
		w.resync(w.of(kind, true), w.of(kind, false))
		w.check()
		w.restart(w.of(kind, true))
		w.branch(w.of(kind, true))
		w.reinit(w.of(kind, true), w.of(kind, true), w.suite)
		w.check()
	}
}

// step does one random thing, and checks that all agree.
func (w *world) step() {
	in := w.in()
	switch n := w.rng.IntN(20); {
	case n < 10:
		w.turn()
	case n < 12:
		if p := w.idle(pick(w, w.kinds())); p != nil && len(in) < w.most {
			w.enter(p, pick(w, in))
		}
	case n < 13:
		p := pick(w, in)
		w.resync(p, pick(w, w.others(p)))
	case n < 14:
		w.branch(pick(w, in))
	case n < 15:
		w.restart(pick(w, in))
	case n < 16 && w.chance(2):
		w.reinit(pick(w, in), pick(w, in), w.suite)
	default:
		w.talk()
	}
	w.check()
}

// kinds are the implementations there are.
func (w *world) kinds() (kinds []string) {
	for _, p := range w.people {
		if !slices.Contains(kinds, p.kind()) {
			kinds = append(kinds, p.kind())
		}
	}
	return kinds
}

// of is a member of that kind, or else of another kind; not the same one twice.
func (w *world) of(kind string, same bool) *person {
	in := w.in()
	for _, p := range in {
		if (p.kind() == kind) == same {
			return p
		}
	}
	return in[1]
}

// idle is somebody outside of that kind.
func (w *world) idle(kind string) *person {
	for _, p := range w.out() {
		if p.kind() == kind && !w.orphaned(p) {
			return p
		}
	}
	return nil
}

// talk has members send, and everybody read in an order of their own.
func (w *world) talk() {
	var letters []letter
	for range 1 + w.rng.IntN(4) {
		letters = append(letters, w.write())
	}
	for _, p := range w.in() {
		for _, i := range w.rng.Perm(len(letters)) {
			if letters[i].from != p {
				w.read(p, letters[i])
			}
		}
	}
}

func (w *world) write() letter {
	l := letter{from: pick(w, w.in()), data: make([]byte, w.rng.IntN(300))}
	for i := range l.data {
		l.data[i] = byte(w.rng.Uint32())
	}
	if w.chance(2) {
		l.ad = []byte("authenticated")
	}
	l.to = w.others(l.from)
	l.message = w.bytes(l.from.seat.encrypt(l.data, l.ad, w.rng.IntN(2)*w.rng.IntN(200)))
	return l
}

func (w *world) read(p *person, l letter) {
	w.parse(l.message)
	got, err := p.seat.process(l.message)
	if err != nil {
		w.must(fmt.Errorf("%s (%s) reading %s (%s): %w", p.name, p.kind(), l.from.name, l.from.kind(), err))
	}
	if !bytes.Equal(got.Data, l.data) || !bytes.Equal(got.AD, l.ad) {
		w.must(fmt.Errorf("%s reads %x %q from %s, want %x %q", p.name, got.Data, got.AD, l.from.name, l.data, l.ad))
	}
	w.counts["message "+l.from.kind()+" to "+p.kind()]++
}

// restart has somebody write down the state and read it back.
func (w *world) restart(p *person) {
	w.must(p.seat.restore())
	w.did("restart", "%s (%s)", p.name, p.kind())
}

// enter has somebody join from outside.
func (w *world) enter(p, host *person) {
	seat, commit := w.external(p, host, nil)
	if seat == nil {
		return
	}
	w.did("external join", "%s (%s) by %s (%s)", p.name, p.kind(), host.name, host.kind())
	w.counts["external join of "+p.kind()+" by "+host.kind()]++
	w.post()
	w.deliver(commit, w.in())
	w.arrived()
	p.seat, p.since = seat, seat.see().Epoch
}

// resync has somebody who lost the state come back from outside.
func (w *world) resync(p, host *person) {
	seat, commit := w.external(p, host, p.seat)
	if seat == nil {
		return
	}
	w.did("resync", "%s (%s) by %s (%s)", p.name, p.kind(), host.name, host.kind())
	w.post()
	w.deliver(commit, w.others(p))
	p.seat.drop()
	p.seat = nil
	w.arrived()
	p.seat, p.since = seat, seat.see().Epoch
}

func (w *world) external(p, host *person, old seat) (seat, []byte) {
	within := w.chance(2)
	info, tree := w.bytes(host.seat.groupInfo(within)), []byte(nil)
	if !within {
		tree = w.bytes(host.seat.tree())
	}
	w.parse(info)
	var psks [][]byte
	switch {
	case !w.chance(2):
	case p.kind() == "ts-mls":
		w.cannot.add("join from outside with a pre-shared key")
	default:
		psks = append(psks, w.psk())
	}
	seat, commit, err := p.joinExternal(info, tree, old, psks...)
	if w.refusedTree(p, err) {
		return nil, nil
	}
	w.must(err)
	return seat, commit
}

// refusedTree reports whether ts-mls refused a valid tree: see the package comment.
func (w *world) refusedTree(p *person, err error) bool {
	if err == nil || p.kind() != "ts-mls" || !strings.Contains(err.Error(), "must list leaf node in its unmerged_leaves") {
		return false
	}
	w.cannot.add("join a tree whose nodes have different unmerged leaves")
	return true
}

// branch makes a group of some of the members, and leaves it again.
func (w *world) branch(host *person) {
	members := w.first(host)
	members = members[:2+w.rng.IntN(len(members)-1)]
	inner := w.follow(members, host.seat.branch, Next{GroupID: w.id("branch"), Suite: w.suite})
	w.did("branch", "of %d by %s (%s)", len(members), host.name, host.kind())
	inner.check()
	inner.talk()
	for _, p := range inner.people {
		p.seat.drop()
	}
}

// first are all members, this one first and the others shuffled.
func (w *world) first(p *person) []*person {
	others := w.others(p)
	w.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append([]*person{p}, others...)
}

// reinit ends the group and goes on in the next, in a suite.
func (w *world) reinit(committer, host *person, suite uint16) {
	n := Next{GroupID: w.id("reinit"), Suite: suite, Extensions: []Extension{{extensionType, []byte("anew")}}}
	p := Proposal{Type: "reinit", GroupID: n.GroupID, Suite: n.Suite, Extensions: n.Extensions}
	if len(w.orphans) > 0 {
		w.turn()
		return
	}
	members := w.in()
	o := CommitOptions{Public: w.chance(2), Proposals: []Proposal{p}}
	if w.chance(2) {
		by := pick(w, members)
		w.deliver(w.bytes(by.seat.propose(p, w.chance(2), nil)), w.others(by))
		o.Proposals = nil
	}
	c, err := committer.seat.commit(o, false)
	w.must(err)
	w.deliver(c.Message, w.others(committer))
	w.must(committer.seat.merge())
	w.check()
	for _, m := range members {
		if m.seat.see().State != "suspendedPendingReinit" {
			w.must(fmt.Errorf("%s goes on after a reinit", m.name))
		}
	}
	members = w.first(host)
	inner := w.follow(members, host.seat.reinit, n)
	w.suite = suite
	w.did("reinit", "by %s (%s), started by %s (%s)", committer.name, committer.kind(), host.name, host.kind())
	for i, p := range inner.people {
		members[i].seat.drop()
		members[i].seat, members[i].since = p.seat, p.since
	}
}

// follow has members join a group that follows this one, started by the first.
func (w *world) follow(members []*person, start func(Next) (seat, []byte, []byte, error), n Next) *world {
	for _, p := range members[1:] {
		n.KeyPackages = append(n.KeyPackages, w.bytes(p.keyPackage(n.Suite)))
	}
	first, welcome, tree, err := start(n)
	w.must(err)
	inner := *w
	inner.people, inner.orphans, inner.late = nil, map[*person]uint32{}, nil
	for i, p := range members {
		seat := first
		if i > 0 {
			seat, err = p.join(welcome, tree, p.seat)
			if err != nil {
				w.must(fmt.Errorf("%s (%s) following %s (%s): %w", p.name, p.kind(), members[0].name, members[0].kind(), err))
			}
		}
		inner.people = append(inner.people, &person{p.actor, p.name, seat, 1})
	}
	return &inner
}

func (w *world) id(what string) []byte {
	return binary.BigEndian.AppendUint64([]byte(what+" "), w.rng.Uint64())
}

// post has some messages sent that arrive only when their epoch is over.
func (w *world) post() {
	if len(w.in()) > 1 && w.chance(3) {
		w.late = append(w.late, w.write())
	}
}

// arrived reads them.
func (w *world) arrived() {
	for _, l := range w.late {
		for _, p := range l.to {
			if p.seat != nil {
				w.read(p, l)
				w.counts["message of a past epoch"]++
			}
		}
	}
	w.late = nil
}
