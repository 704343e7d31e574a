package group

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/mls"
	"github.com/tacet-chat/tacet/internal/roster"
)

// PackageLife is how long a key package may be used, and how far a clock may be
// behind that of its maker.
const (
	PackageLife  = 90 * 24 * time.Hour
	packageEarly = 24 * time.Hour
)

// SealOverhead is what a message under MLS takes beside its plain text, in bytes, for
// group ids of 16 bytes, no authenticated data and plain texts from 64 to 16,383 bytes:
//
//	version 2 ‖ wire format 2 ‖ group id 1+16 ‖ epoch 8 ‖ content type 1 ‖ authenticated data 1 ‖
//	sender data 1+12+16 ‖ length 2 ‖ (length 2 ‖ plain ‖ signature 2+64) ‖ tag 16
const SealOverhead = 2 + 2 + 17 + 8 + 1 + 1 + 29 + 2 + 2 + 66 + 16

// MLS is RFC 9420 as groups use it, by internal/mls.
type MLS struct{}

// env is what internal/mls needs from outside. Lifetimes of what others sent do not
// count: all members come to the same epoch, whenever they read a commit. Those of
// what this device adds are always checked.
//
// spec: group.md#credential
func env(v Env) mls.Env {
	return mls.Env{
		Now: v.Now, Rand: v.Rand, Late: true,
		Authenticate: func(c mls.Credential, leafKey []byte) error {
			_, err := credential(c, leafKey)
			return err
		},
		Successor: func(old, next mls.Credential) error {
			a, err := roster.ParseCredential(old.Identity)
			if err != nil {
				return err
			}
			b, err := roster.ParseCredential(next.Identity)
			if err != nil {
				return err
			}
			if !a.Follows(b) {
				return roster.ErrCredential
			}
			return nil
		},
	}
}

func credential(c mls.Credential, leafKey []byte) (*roster.Credential, error) {
	if c.Type != mls.CredentialBasic {
		return nil, roster.ErrCredential
	}
	r, err := roster.ParseCredential(c.Identity)
	if err != nil {
		return nil, err
	}
	return r, r.Check(leafKey)
}

func capabilities() mls.Capabilities {
	c := mls.DefaultCapabilities()
	c.Extensions = append(c.Extensions, mls.ExtensionType(roster.ExtState), mls.ExtensionType(roster.ExtRoute))
	return c
}

// context is the extensions of a group context: what members must be able to do, and
// the state.
func context(state []byte) []mls.Extension {
	required := mls.RequiredCapabilities{
		Extensions:  []mls.ExtensionType{mls.ExtensionType(roster.ExtState), mls.ExtensionType(roster.ExtRoute)},
		Credentials: []mls.CredentialType{mls.CredentialBasic},
	}
	return []mls.Extension{required.Extension(), {Type: mls.ExtensionType(roster.ExtState), Data: state}}
}

// stateOf is the state in a group context; false for one of another make.
func stateOf(ext []mls.Extension) ([]byte, bool) {
	if len(ext) != 2 {
		return nil, false
	}
	want := context(ext[1].Data)
	for i := range ext {
		if ext[i].Type != want[i].Type || !bytes.Equal(ext[i].Data, want[i].Data) {
			return nil, false
		}
	}
	return ext[1].Data, true
}

func routeOf(l *mls.LeafNode) (*roster.Route, error) {
	for _, x := range l.Extensions {
		if x.Type == mls.ExtensionType(roster.ExtRoute) {
			return roster.ParseRoute(x.Data)
		}
	}
	return nil, roster.ErrRoute
}

// leaf makes the parameters of a leaf with a fresh signature key.
func leaf(v Env, s Suite, p LeafParams) (mls.LeafParams, error) {
	m, err := manifest.Parse(p.Manifest)
	if err != nil {
		return mls.LeafParams{}, err
	}
	private, public, err := mls.NewSignatureKey(v.Rand, mls.Suite(s))
	if err != nil {
		return mls.LeafParams{}, err
	}
	return mls.LeafParams{
		Suite:        mls.Suite(s),
		Credential:   mls.BasicCredential(roster.NewCredential(p.Device, m, public, roster.Membership{Entry: p.Entry, Times: p.Times, For: p.For}).Append(nil)),
		Signer:       private,
		Capabilities: capabilities(),
		Extensions:   []mls.Extension{{Type: mls.ExtensionType(roster.ExtRoute), Data: p.Route.Append(nil)}},
		Lifetime:     mls.Lifetime{NotBefore: uint64(v.Now.Add(-packageEarly).Unix()), NotAfter: uint64(v.Now.Add(PackageLife).Unix())},
	}, nil
}

// Create makes a group of one in epoch 0.
func (MLS) Create(v Env, p CreateParams) (Tree, error) {
	l, err := leaf(v, p.Suite, p.Leaf)
	if err != nil {
		return nil, err
	}
	defer l.Signer.Wipe()
	g, err := mls.Create(env(v), mls.CreateParams{GroupID: p.ID[:], Leaf: l, Extensions: context(p.State)})
	if err != nil {
		return nil, err
	}
	return wrap(g)
}

// Package makes a key package for one use, and its secrets.
func (MLS) Package(v Env, s Suite, p LeafParams) (public, secrets []byte, err error) {
	l, err := leaf(v, s, p)
	if err != nil {
		return nil, nil, err
	}
	defer l.Signer.Wipe()
	k, private, err := mls.NewKeyPackage(env(v), l, nil)
	if err != nil {
		return nil, nil, err
	}
	defer private.Wipe()
	return k.Append(nil), private.Append(nil), nil
}

// PackageOf reads whose a key package is.
func (MLS) PackageOf(public []byte) (*roster.Credential, *roster.Route, Suite, error) {
	k, err := mls.ParseKeyPackage(public)
	if err != nil {
		return nil, nil, 0, err
	}
	c, err := credential(k.Leaf.Credential, k.Leaf.SignatureKey)
	if err != nil {
		return nil, nil, 0, err
	}
	r, err := routeOf(k.Leaf)
	if err != nil {
		return nil, nil, 0, err
	}
	return c, r, Suite(k.Suite), nil
}

// Join enters a group by a Welcome. It fails with ErrNotForUs.
func (MLS) Join(v Env, welcome, tree, public, secrets []byte) (Tree, error) {
	m, err := mls.ParseMessage(welcome)
	if err != nil {
		return nil, err
	}
	k, err := mls.ParseKeyPackage(public)
	if err != nil {
		return nil, err
	}
	private, err := mls.ParseKeyPackageSecrets(secrets)
	if err != nil {
		return nil, err
	}
	defer private.Wipe()
	g, err := mls.Join(env(v), m, k, private, mls.JoinParams{Tree: tree})
	if err != nil {
		return nil, own(err)
	}
	return wrap(g)
}

// IsCommit reports whether a message says of itself that it is a commit.
func (MLS) IsCommit(message []byte) bool {
	m, err := mls.ParseMessage(message)
	if err != nil || m.Wire != mls.WirePrivate {
		return false
	}
	_, _, content, ok := m.Group()
	return ok && content == mls.ContentCommit
}

// realFixed is what is not secret of a tree, with what the engine reads of it.
type realFixed struct {
	*mls.Public
	members []Member
	state   []byte
}

// fixedOf reads what the engine needs; false if the group is of another make.
func fixedOf(p *mls.Public) (*realFixed, bool) {
	f := &realFixed{Public: p}
	var ok bool
	if f.state, ok = stateOf(p.Extensions()); !ok {
		return nil, false
	}
	f.members, ok = membersOf(p.Members())
	return f, ok
}

// Fixed reads what the Fixed of a Tree appended.
func (MLS) Fixed(b []byte) (Fixed, error) {
	p, err := mls.ParsePublic(b)
	if err != nil {
		return nil, err
	}
	f, ok := fixedOf(p)
	if !ok {
		return nil, ErrForeign
	}
	return f, nil
}

// PastFixed reads what the Fixed of a Past appended.
func (MLS) PastFixed(b []byte) (Fixed, error) { return mls.ParsePastPublic(b) }

// Parse reads what Append wrote.
func (MLS) Parse(f Fixed, b []byte) (Tree, error) {
	r, ok := f.(*realFixed)
	if !ok {
		return nil, ErrForeign
	}
	l := mls.NewLineage()
	g, err := r.Group(b, l)
	if err != nil {
		return nil, err
	}
	return &realTree{g: g, l: l, f: r}, nil
}

// ParsePast reads what Past.Append wrote.
func (MLS) ParsePast(f Fixed, b []byte) (Past, error) {
	r, ok := f.(*mls.PastPublic)
	if !ok {
		return nil, ErrForeign
	}
	p, err := r.Epoch(b, nil)
	if err != nil {
		return nil, err
	}
	return realPast{p, r}, nil
}

// own names the errors of MLS that the engine branches on.
func own(err error) error {
	switch {
	case errors.Is(err, mls.ErrOwn):
		return ErrOwn
	case errors.Is(err, mls.ErrPath):
		return ErrPath
	case errors.Is(err, mls.ErrUsed):
		return ErrUsed
	case errors.Is(err, mls.ErrNotWelcome):
		return ErrNotForUs
	}
	return err
}

type realTree struct {
	g *mls.Group
	l *mls.Lineage
	f *realFixed // of this epoch
}

// wrap takes a group whose context and leaves are of our make.
func wrap(g *mls.Group) (*realTree, error) {
	f, ok := fixedOf(g.Public())
	if !ok || len(g.GroupID()) != roster.GroupIDSize {
		g.Drop()
		return nil, ErrForeign
	}
	return &realTree{g: g, f: f}, nil
}

func (t *realTree) ID() ID                { return ID(t.g.GroupID()) }
func (t *realTree) Epoch() uint64         { return t.g.Epoch() }
func (t *realTree) Suite() Suite          { return Suite(t.g.Suite()) }
func (t *realTree) Self() uint32          { return uint32(t.g.Self()) }
func (t *realTree) Close()                { t.g.DropExporter() }
func (t *realTree) Authenticator() []byte { return t.g.EpochAuthenticator() }
func (t *realTree) Public() []byte        { return t.g.Tree() }

func (t *realTree) State() []byte     { return t.f.state }
func (t *realTree) Members() []Member { return t.f.members }
func (t *realTree) Fixed() Fixed      { return t.f }

// membersOf is all members; false if a leaf is of another make.
func membersOf(all iter.Seq2[mls.LeafIndex, *mls.LeafNode]) (out []Member, ok bool) {
	for i, l := range all {
		c, err := roster.ParseCredential(l.Credential.Identity)
		if err != nil {
			return nil, false
		}
		r, err := routeOf(l)
		if err != nil {
			return nil, false
		}
		out = append(out, Member{Leaf: roster.Leaf{Index: uint32(i), Root: c.Root(), Device: c.Device, Entry: c.Entry}, Credential: c, Route: r})
	}
	return out, true
}

func (t *realTree) Export(label string, n int) []byte {
	s, err := t.g.Export(label, nil, n)
	if err != nil {
		return nil
	}
	defer s.Wipe()
	return slices.Clone(s.Bytes())
}

func (t *realTree) Append(b []byte) []byte { return t.g.AppendSecret(b) }

// Stage makes a commit. It always has a path: whoever commits heals.
func (t *realTree) Stage(v Env, p StageParams) (*Staged, error) {
	c := mls.CommitParams{ForcePath: true, TreeAside: true, Framing: mls.Framing{AuthenticatedData: p.Carried}}
	for _, b := range p.Add {
		k, err := mls.ParseKeyPackage(b)
		if err != nil {
			return nil, err
		}
		c.Proposals = append(c.Proposals, mls.AddProposal(k))
	}
	for _, i := range p.Remove {
		c.Proposals = append(c.Proposals, mls.RemoveProposal(mls.LeafIndex(i)))
	}
	if p.State != nil {
		c.Proposals = append(c.Proposals, mls.GroupContextProposal(context(p.State)))
	}
	if p.Leaf != nil {
		l, err := leaf(v, t.Suite(), *p.Leaf)
		if err != nil {
			return nil, err
		}
		defer l.Signer.Wipe()
		c.Leaf = mls.LeafChange{Signer: l.Signer, Credential: &l.Credential, Extensions: l.Extensions}
	}
	s, err := t.g.Stage(env(v), c)
	if err != nil {
		return nil, err
	}
	out := staged(s)
	out.Commit = s.Message.Append(nil)
	if s.Welcome != nil {
		out.Welcome, out.Tree = s.Welcome.Append(nil), s.Tree
	}
	out.Stored = s.Append(nil)
	return out, nil
}

// staged reads what a commit does.
//
// spec: group.md#suite
func staged(s *mls.Staged) *Staged {
	out := &Staged{Carried: s.AuthenticatedData, Maker: uint32(s.Committer.Leaf), Handle: s}
	out.Others = s.Committer.Type != mls.SenderMember || len(s.Updated) > 0 || !s.Path
	for _, p := range s.Proposals {
		if p.Ref != "" {
			out.Others = true
		}
		switch q := p.Proposal; q.Type {
		case mls.ProposalAdd:
			out.Add = append(out.Add, q.KeyPackage.Append(nil))
			if _, err := routeOf(q.KeyPackage.Leaf); err != nil {
				out.Others = true
			}
		case mls.ProposalRemove:
			out.Remove = append(out.Remove, uint32(q.Removed))
		case mls.ProposalGroupContext:
			state, ok := stateOf(q.Extensions)
			out.State, out.Others = state, out.Others || !ok
		default:
			out.Others = true
		}
	}
	if n := s.Next(); n != nil && !n.Removed() {
		if l := n.Leaf(s.Committer.Leaf); l == nil {
			out.Others = true
		} else if r, err := routeOf(l); err != nil || !goodRoute(r) {
			out.Others = true
		}
	}
	return out
}

// Unstage reads Staged.Stored again.
func (t *realTree) Unstage(stored []byte) (*Staged, error) {
	s, err := mls.ParseStaged(stored, t.l)
	if err != nil {
		return nil, err
	}
	out := staged(s)
	out.Commit, out.Tree = s.Message.Append(nil), s.Tree
	if s.Welcome != nil {
		out.Welcome = s.Welcome.Append(nil)
	}
	out.Stored = stored
	return out, nil
}

func (t *realTree) Process(v Env, message []byte) (*Opened, error) {
	m, err := mls.ParseMessage(message)
	if err != nil {
		return nil, err
	}
	if m.Wire != mls.WirePrivate {
		return nil, ErrForeign
	}
	// Before it is opened: a proposal would be pending then, and stored.
	if _, _, content, ok := m.Group(); !ok || content != mls.ContentCommit && content != mls.ContentApplication {
		return nil, ErrForeign
	}
	r, err := t.g.Process(env(v), m)
	if err != nil {
		return nil, own(err)
	}
	o := &Opened{From: uint32(r.Sender.Leaf)}
	switch r.Content {
	case mls.ContentCommit:
		o.Staged = staged(r.Staged)
	case mls.ContentApplication:
		o.Plain = r.Application
	default:
		return nil, ErrForeign
	}
	return o, nil
}

func (t *realTree) Merge(s *Staged) (Past, error) {
	h, ok := s.Handle.(*mls.Staged)
	if !ok {
		return nil, ErrForeign
	}
	p, err := t.g.Past()
	if err != nil {
		return nil, err
	}
	if err := t.g.Merge(h); err != nil {
		p.Drop()
		return nil, err
	}
	if t.f, ok = fixedOf(t.g.Public()); !ok {
		p.Drop()
		return nil, ErrForeign // the tree is of no use any more: nothing of it is stored
	}
	return realPast{p, p.Public()}, nil
}

func (t *realTree) Seal(v Env, plain []byte, size int) ([]byte, error) {
	r, err := t.g.Reserve()
	if err != nil {
		return nil, err
	}
	return seal(r, v, plain, size)
}

func seal(r *mls.Reservation, v Env, plain []byte, size int) ([]byte, error) {
	padding := size - SealOverhead - len(plain)
	if padding < 0 || len(plain) < 64 {
		r.Drop()
		return nil, fmt.Errorf("sealing for a group: %w", ErrLong)
	}
	m, err := r.Seal(env(v), plain, mls.Framing{Padding: padding})
	if err != nil {
		return nil, err
	}
	b := m.Append(nil)
	if len(b) != size {
		panic("group: size of a sealed message") // SealOverhead is wrong
	}
	return b, nil
}

type realPast struct {
	p *mls.PastEpoch
	f *mls.PastPublic
}

func (p realPast) Fixed() Fixed           { return p.f }
func (p realPast) Append(b []byte) []byte { return p.p.AppendSecret(b) }

func (p realPast) Seal(v Env, plain []byte, size int) ([]byte, error) {
	r, err := p.p.Reserve()
	if err != nil {
		return nil, err
	}
	return seal(r, v, plain, size)
}

func (p realPast) Process(_ Env, message []byte) (*Opened, error) {
	m, err := mls.ParseMessage(message)
	if err != nil {
		return nil, err
	}
	o, err := p.p.Open(m)
	if err != nil {
		return nil, own(err)
	}
	return &Opened{From: uint32(o.Sender), Plain: o.Application}, nil
}

// device is a device's name.
func device(s key.Sign) Device { return key.SignPublicOf(s) }
