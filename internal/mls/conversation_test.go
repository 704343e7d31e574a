package mls

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"
)

// room is several people and one group, in one process.
type room struct {
	t     testing.TB
	suite Suite
	env   Env
	psks  map[string]Secret
	rests bool // everybody is written down and read back all the time
}

// person is one device of a room.
type person struct {
	*room
	name   string
	signer Secret
	g      *Group
	line   *Lineage // with rests
}

var roomTime = time.Unix(1_800_000_000, 0)

func newRoom(t testing.TB, s Suite) *room {
	r := &room{t: t, suite: s, psks: map[string]Secret{}}
	r.env = Env{
		Now: roomTime, Rand: rand.Reader,
		Authenticate: func(c Credential, _ []byte) error {
			if string(c.Identity) == "mallory" {
				return errStranger
			}
			return nil
		},
		PSK: func(id PreSharedKeyID) (Secret, error) {
			if s, ok := r.psks[string(id.ID)]; ok {
				return s, nil
			}
			return Secret{}, &PSKError{ID: id}
		},
	}
	return r
}

var errStranger = errors.New("nobody knows this person")

// eachSuite runs a test for every suite.
func eachSuite(t *testing.T, f func(t *testing.T, s Suite)) {
	for _, s := range Suites() {
		t.Run(fmt.Sprintf("%#x", uint16(s)), func(t *testing.T) { f(t, s) })
	}
}

func (r *room) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// refused checks that an error is of a kind.
func (r *room) refused(err, kind error) {
	r.t.Helper()
	if !errors.Is(err, kind) {
		r.t.Fatalf("got %v, want %v", err, kind)
	}
}

func (r *room) person(name string) *person {
	r.t.Helper()
	key, _, err := NewSignatureKey(r.env.Rand, r.suite)
	r.check(err)
	return &person{room: r, name: name, signer: key}
}

func (p *person) leaf() LeafParams {
	return LeafParams{
		Suite: p.suite, Credential: BasicCredential([]byte(p.name)), Signer: p.signer,
		Lifetime: Lifetime{NotBefore: uint64(roomTime.Unix()) - 1, NotAfter: uint64(roomTime.Unix()) + 1},
	}
}

func (p *person) create(extensions ...Extension) {
	p.t.Helper()
	var err error
	p.g, err = Create(p.env, CreateParams{GroupID: []byte("the room"), Leaf: p.leaf(), Extensions: extensions})
	p.check(err)
}

func (p *person) keyPackage() (*KeyPackage, *KeyPackageSecrets) {
	p.t.Helper()
	k, secrets, err := NewKeyPackage(p.env, p.leaf(), nil)
	p.check(err)
	return k, secrets
}

// rest writes the group down and reads it back, in a room where people do so.
func (p *person) rest() {
	p.t.Helper()
	if !p.rests {
		return
	}
	b := p.g.Append(nil)
	p.line = NewLineage()
	back, err := ParseGroup(b, p.line)
	p.check(err)
	if !equal(back.Append(nil), b) {
		p.t.Fatal("stored state is not what was stored")
	}
	p.g.Drop()
	p.g = back
}

// kept is the commit, written down and read back in a room where people do so.
func (p *person) kept(s *Staged) *Staged {
	p.t.Helper()
	if !p.rests {
		return s
	}
	b := s.Append(nil)
	back, err := ParseStaged(b, nil)
	p.check(err)
	if !equal(back.Append(nil), b) {
		p.t.Fatal("stored commit is not what was stored")
	}
	back.Drop()
	back, err = ParseStaged(b, p.line) // this lineage may have counted further
	p.check(err)
	s.Drop()
	return back
}

// wire is a message as it comes out at the other end.
func (r *room) wire(m *Message) *Message {
	r.t.Helper()
	back, err := ParseMessage(m.Append(nil))
	r.check(err)
	return back
}

// settle lets the committer merge, and the others process and merge.
func (p *person) settle(s *Staged, others ...*person) {
	p.t.Helper()
	p.rest()
	p.check(p.g.Merge(p.kept(s)))
	for _, o := range others {
		o.rest()
		got, err := o.g.Process(o.env, p.wire(s.Message))
		if err != nil {
			p.t.Fatalf("%s processes the commit of %s: %v", o.name, p.name, err)
		}
		o.rest()
		p.check(o.g.Merge(o.kept(got.Staged)))
	}
	p.agree(append(others, p)...)
}

// commit stages, and settles.
func (p *person) commit(c CommitParams, others ...*person) *Staged {
	p.t.Helper()
	p.rest()
	s, err := p.g.Stage(p.env, c)
	p.check(err)
	p.settle(s, others...)
	return s
}

// add commits that somebody is added, and lets them join.
func (p *person) add(who *person, others ...*person) {
	p.t.Helper()
	k, secrets := who.keyPackage()
	s := p.commit(CommitParams{Proposals: []*Proposal{AddProposal(k)}}, others...)
	who.join(s.Welcome, k, secrets)
	p.agree(append(others, p, who)...)
}

func (p *person) join(welcome *Message, k *KeyPackage, secrets *KeyPackageSecrets) {
	p.t.Helper()
	var err error
	p.g, err = Join(p.env, p.wire(welcome), k, secrets, JoinParams{})
	p.check(err)
}

// agree checks that all are in one epoch, and hear each other.
func (r *room) agree(all ...*person) {
	r.t.Helper()
	for _, p := range all {
		if got, want := p.g.EpochAuthenticator(), all[0].g.EpochAuthenticator(); len(got) == 0 || !equal(got, want) {
			r.t.Fatalf("%s and %s disagree about epoch %d", p.name, all[0].name, p.g.Epoch())
		}
		one, err := p.g.Export("label", []byte("context"), 77)
		r.check(err)
		other, err := all[0].g.Export("label", []byte("context"), 77)
		r.check(err)
		if !one.Equal(other) || len(one.Bytes()) != 77 {
			r.t.Fatal("exporters differ")
		}
	}
	for _, p := range all {
		p.hear(p.say(p.name+" is here"), p.name+" is here", all...)
	}
}

func (p *person) say(text string) *Message {
	p.t.Helper()
	p.rest()
	r, err := p.g.Reserve()
	p.check(err)
	p.rest()
	m, err := r.Seal(p.env, []byte(text), Framing{Padding: 10, AuthenticatedData: []byte("hour")})
	p.check(err)
	return m
}

func (p *person) hear(m *Message, text string, all ...*person) {
	p.t.Helper()
	for _, o := range all {
		if o == p {
			_, err := o.g.Process(o.env, p.wire(m))
			p.refused(err, ErrOwn)
			continue
		}
		o.rest()
		got, err := o.g.Process(o.env, p.wire(m))
		p.check(err)
		o.rest()
		if string(got.Application) != text || got.Sender != (Sender{Type: SenderMember, Leaf: p.g.Self()}) || string(got.AuthenticatedData) != "hour" {
			p.t.Fatalf("got %+v, want %q of %s", got, text, p.name)
		}
		_, err = o.g.Process(o.env, p.wire(m))
		p.refused(err, ErrUsed)
	}
}

// propose lets the others process a proposal.
func (p *person) propose(proposal *Proposal, f Framing, others ...*person) ProposalRef {
	p.t.Helper()
	m, ref, err := p.g.Propose(p.env, proposal, f)
	p.check(err)
	p.proposed(m, ref, others...)
	return ref
}

func (p *person) proposed(m *Message, ref ProposalRef, others ...*person) {
	p.t.Helper()
	p.rest()
	for _, o := range others {
		got, err := o.g.Process(o.env, p.wire(m))
		p.check(err)
		o.rest()
		if got.Ref != ref || got.Content != ContentProposal || got.Proposal == nil {
			p.t.Fatalf("got %+v, want the proposal", got)
		}
	}
	_, err := p.g.Process(p.env, p.wire(m))
	p.refused(err, ErrOwn)
}

// TestConversation is the life of a group: in every suite, in public and in private,
// by value and by reference; and with everybody written down and read back at every
// step.
func TestConversation(t *testing.T) {
	eachSuite(t, func(t *testing.T, s Suite) {
		for _, public := range []bool{false, true} {
			f := Framing{Public: public, AuthenticatedData: []byte("hour"), Padding: 3}
			r := newRoom(t, s)
			r.rests = public
			ann, ben, cat, dan := r.person("ann"), r.person("ben"), r.person("cat"), r.person("dan")
			ann.create()
			r.agree(ann)
			ann.add(ben)
			ben.add(cat, ann)

			// By reference, of three people, in one commit.
			k, secrets := dan.keyPackage()
			ben.propose(AddProposal(k), f, ann, cat)
			m, ref, err := cat.g.ProposeUpdate(r.env, LeafChange{}, f)
			r.check(err)
			cat.proposed(m, ref, ann, ben)
			r.psks["shared"] = NewSecret([]byte("known to all"))
			psk, err := ExternalPSKProposal(r.env, s, []byte("shared"))
			r.check(err)
			old, err := ResumptionPSKProposal(r.env, s, ann.g.GroupID(), ann.g.Epoch()-1)
			r.check(err)
			before := cat.g.Leaf(cat.g.Self())
			staged, err := ann.g.Stage(r.env, CommitParams{AllPending: true, Proposals: []*Proposal{psk}, Framing: f})
			r.check(err)
			ann.settle(staged, ben, cat)
			dan.join(staged.Welcome, k, secrets)
			r.agree(ann, ben, cat, dan)
			if equal(before.EncryptionKey, dan.g.Leaf(cat.g.Self()).EncryptionKey) {
				t.Error("the update did not happen")
			}
			if len(staged.Proposals) != 3 || len(staged.Added) != 1 || len(staged.Updated) != 1 || !staged.Path {
				t.Errorf("got %+v", staged)
			}

			// A PSK of an earlier epoch is known to those who were there.
			s2, err := ann.g.Stage(r.env, CommitParams{Proposals: []*Proposal{old}, Framing: f})
			r.check(err)
			if s2.Path {
				t.Error("a path that nobody needs")
			}
			_, err = dan.g.Process(r.env, r.wire(s2.Message))
			r.refused(err, ErrMissingPSK)
			got, err := ben.g.Process(r.env, r.wire(s2.Message))
			r.check(err)
			got.Staged.Drop()
			s2.Drop()

			// New keys of all kinds.
			key, _, err := NewSignatureKey(r.env.Rand, s)
			r.check(err)
			dan.commit(CommitParams{Leaf: LeafChange{Signer: key, Extensions: []Extension{{ExtApplicationID, []byte("dan")}}}, Framing: f}, ann, ben, cat)
			dan.commit(CommitParams{ForcePath: true, Framing: f}, ann, ben, cat)
			dan.commit(CommitParams{Proposals: []*Proposal{GroupContextProposal([]Extension{RequiredCapabilities{}.Extension()})}, Framing: f}, ann, ben, cat)
			if e := ben.g.Extensions(); len(e) != 1 || e[0].Type != ExtRequiredCapabilities {
				t.Errorf("got extensions %v, want the required capabilities", e)
			}

			// Ben goes.
			staged, err = cat.g.Stage(r.env, CommitParams{Proposals: []*Proposal{RemoveProposal(ben.g.Self())}, Framing: f})
			r.check(err)
			received, err := ben.g.Process(r.env, r.wire(staged.Message))
			r.check(err)
			cat.settle(staged, ann, dan)
			r.check(ben.g.Merge(received.Staged))
			if !ben.g.Removed() || ben.g.EpochAuthenticator() != nil {
				t.Error("who was removed still knows something")
			}
			_, err = ben.g.Process(r.env, ann.say("ben is gone"))
			r.refused(err, ErrRemoved)
			_, err = ben.g.Reserve()
			r.refused(err, ErrRemoved)
			_, err = ben.g.Stage(r.env, CommitParams{})
			r.refused(err, ErrRemoved)
		}
	})
}
