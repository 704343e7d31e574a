package mls

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestModel lets random groups of up to 64 members live: they add, update, remove,
// change the context, mix in pre-shared keys, join from outside, commit at the same
// moment, hold commits back, go back to clones, and are written down and read back at
// any time. After every epoch all members agree on the authenticator and the exporter,
// and nobody else can follow.
func TestModel(t *testing.T) {
	for i, s := range []Suite{SuiteX25519AES128, SuiteX25519ChaCha, SuiteP256AES128, SuiteP384AES256, SuiteP521AES256, SuiteXWingChaCha} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			steps := *modelSteps
			switch {
			case s == SuiteP521AES256: // the slowest
				steps /= 30
			case i > 1:
				steps /= 10
			case i > 0:
				steps /= 3
			}
			seed := *modelSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("-model.seed %d -model.steps %d", seed, *modelSteps)
			w := newWorld(t, s, seed)
			for range steps {
				w.step()
			}
			w.finish()
			t.Logf("%d epochs, %d members at most, %d messages opened, %d commits lost a race, %d went back, %v", w.epochs, w.most, w.opened, w.lost, w.back, w.kinds())
		})
	}
}

var (
	modelSteps = flag.Int("model.steps", 150, "random steps of the biggest model; each is done by all members")
	modelSeed  = flag.Uint64("model.seed", 0, "seed of the model; 0 is another one each time")
)

// most members of a model.
const modelMembers = 64

// soul is one device of a model.
type soul struct {
	name   string
	signer Secret
	g      *Group
	since  uint64 // the epoch it joined at
}

// world is a group, all its members, and what is known about its epochs.
type world struct {
	t       *testing.T
	suite   Suite
	rand    *rand.Rand
	env     Env
	members []*soul
	gone    []*soul // removed, with their last state
	names   int
	sealed  []letter // application messages of all times
	psks    map[string][]byte

	epochs, most, opened, lost, back int
	done                             map[string]int
}

// letter is an application message that somebody sealed.
type letter struct {
	epoch uint64
	from  *soul
	bytes []byte
	text  []byte
}

func newWorld(t *testing.T, s Suite, seed uint64) *world {
	w := &world{t: t, suite: s, rand: rand.New(rand.NewPCG(seed, 1)), psks: map[string][]byte{}, done: map[string]int{}}
	w.env = testEnv(w.psks)
	first := w.soul()
	var err error
	first.g, err = Create(w.env, CreateParams{GroupID: []byte("model"), Leaf: w.leaf(first)})
	w.must(err)
	w.members = []*soul{first}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) soul() *soul {
	w.names++
	key, _, err := NewSignatureKey(w.env.Rand, w.suite)
	w.must(err)
	return &soul{name: fmt.Sprintf("device %d", w.names), signer: key}
}

func (w *world) leaf(s *soul) LeafParams {
	return LeafParams{
		Suite: w.suite, Credential: BasicCredential([]byte(s.name)), Signer: s.signer,
		Lifetime: Lifetime{NotAfter: uint64(w.env.Now.Unix()) + 1000},
	}
}

func (w *world) any() *soul { return w.members[w.rand.IntN(len(w.members))] }

func (w *world) kinds() string {
	var out []string
	for k, n := range w.done {
		out = append(out, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}

// step does one random thing.
func (w *world) step() {
	switch n := w.rand.IntN(10); {
	case n < 5:
		w.epoch()
	case n < 8:
		w.say()
	case n < 9:
		s := w.any()
		s.g = stored(w.t, s.g)
	default:
		w.outside()
	}
}

// say lets somebody say something and most of the others hear it.
func (w *world) say() {
	from := w.any()
	if w.rand.IntN(3) == 0 { // a clone that speaks uses no key of its original
		c := from.g.Clone()
		w.seal(from, c)
		c.Drop()
	}
	l := w.seal(from, from.g)
	for _, s := range w.members {
		if s != from && w.rand.IntN(4) != 0 {
			w.hear(s, l)
		}
	}
}

func (w *world) seal(from *soul, g *Group) letter {
	text := fmt.Appendf(nil, "%d from %s", len(w.sealed), from.name)
	r, err := g.Reserve()
	w.must(err)
	if w.rand.IntN(4) == 0 && g == from.g { // a crash after the reservation
		from.g = stored(w.t, g)
		g = from.g
		r, err = g.Reserve()
		w.must(err)
	}
	m, err := r.Seal(w.env, text, Framing{AuthenticatedData: []byte("ad"), Padding: w.rand.IntN(50)})
	w.must(err)
	l := letter{g.Epoch(), from, m.Append(nil), text}
	for _, o := range w.sealed[max(0, len(w.sealed)-50):] {
		if bytes.Equal(o.bytes, l.bytes) {
			w.t.Fatal("the same ciphertext twice")
		}
	}
	w.sealed = append(w.sealed, l)
	return l
}

// hear opens a letter at s, once.
func (w *world) hear(s *soul, l letter) {
	used := w.keyOf(s, l)
	got, err := s.g.Process(w.env, w.parse(l.bytes))
	w.must(err)
	if bytes.Contains(s.g.Append(nil), used) {
		w.t.Fatal("the key of a letter is still stored after it was opened")
	}
	if !bytes.Equal(got.Application, l.text) || s.g.Leaf(got.Sender.Leaf) == nil {
		w.t.Fatalf("got %q, want %q", got.Application, l.text)
	}
	w.opened++
	if _, err := s.g.Process(w.env, w.parse(l.bytes)); !errors.Is(err, ErrUsed) {
		w.t.Fatalf("a letter again: got %v, want %v", err, ErrUsed)
	}
}

// keyOf is the key that a letter needs at s, which is there.
func (w *world) keyOf(s *soul, l letter) []byte {
	pm := w.parse(l.bytes).private
	sender, err := pm.openSender(s.g.p, s.g.messages.e.senderData)
	w.must(err)
	c := s.g.Clone()
	defer c.Drop()
	k, err := c.messages.tree.peek(sender.Leaf, applicationRatchet, sender.Generation)
	w.must(err)
	return bytes.Clone(k.key.Bytes())
}

func (w *world) parse(b []byte) *Message {
	w.t.Helper()
	m, err := ParseMessage(b)
	w.must(err)
	return m
}

// epoch ends the epoch by a commit of somebody, sometimes in a race.
func (w *world) epoch() {
	if len(w.members) == 0 {
		return
	}
	var proposals []*Message
	for range w.rand.IntN(3) {
		proposals = append(proposals, w.propose())
	}
	committer := w.any()
	staged, joining := w.stage(committer)
	if w.rand.IntN(4) == 0 && len(w.members) > 1 { // somebody else was as quick, and loses
		other := w.any()
		if other != committer {
			lost, _ := w.stage(other)
			w.allSee(lost.Message, other, false)
			lost.Drop()
			w.lost++
		}
	}
	w.done["proposals"] += len(proposals)
	aside := staged.Tree
	w.allSee(staged.Message, committer, true)
	welcome := staged.Welcome
	w.must(committer.g.Merge(staged))
	w.leave()
	for _, j := range joining {
		j.join(welcome, aside)
	}
	w.agree()
}

// allSee lets everybody but the committer stage a commit, and merge it if it counts.
func (w *world) allSee(m *Message, committer *soul, counts bool) {
	raw := m.Append(nil)
	for _, s := range w.members {
		if s == committer {
			continue
		}
		if w.rand.IntN(4) == 0 { // on a clone first, that is then dropped
			c := s.g.Clone()
			got, err := c.Process(w.env, w.parse(raw))
			w.must(err)
			w.must(c.Merge(got.Staged))
			c.Drop()
			w.back++
		}
		got, err := s.g.Process(w.env, w.parse(raw))
		w.must(err)
		switch {
		case !counts:
			got.Staged.Drop()
		case w.rand.IntN(4) == 0: // held back, and written down meanwhile
			l := NewLineage()
			back, err := ParseStaged(got.Staged.Append(nil), l)
			w.must(err)
			got.Staged.Drop()
			s.g = storedIn(w.t, s.g, l)
			w.must(s.g.Merge(back))
		default:
			w.must(s.g.Merge(got.Staged))
		}
	}
}

// propose lets somebody propose something that all others hear.
func (w *world) propose() *Message {
	s := w.any()
	f := Framing{Public: w.rand.IntN(3) == 0}
	var m *Message
	var err error
	switch w.rand.IntN(3) {
	case 0:
		m, _, err = s.g.ProposeUpdate(w.env, LeafChange{}, f)
		w.done["update proposal"]++
	case 1:
		m, _, err = s.g.Propose(w.env, w.psk(s), f)
		w.done["psk proposal"]++
	default:
		target := w.any()
		if target == s || w.pendingRemove(target) || len(w.members) < 4 {
			m, _, err = s.g.ProposeUpdate(w.env, LeafChange{}, f)
			break
		}
		m, _, err = s.g.Propose(w.env, RemoveProposal(target.g.Self()), f)
		w.done["remove proposal"]++
	}
	w.must(err)
	raw := m.Append(nil)
	for _, o := range w.members {
		if o == s {
			continue
		}
		if _, err := o.g.Process(w.env, w.parse(raw)); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}
