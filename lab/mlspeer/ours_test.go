package mlspeer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/internal/mls"
)

// ours is somebody in internal/mls.
type ours struct {
	env      mls.Env
	leaf     mls.LeafParams
	packages []ourPackage
	psks     map[string]mls.Secret
}

type ourPackage struct {
	public  *mls.KeyPackage
	secrets *mls.KeyPackageSecrets
}

func newOurs(suite uint16, identity string) (*ours, error) {
	a := &ours{psks: map[string]mls.Secret{}}
	a.env = mls.Env{Now: time.Now(), Rand: rand.Reader, PSK: a.psk, Authenticate: func(c mls.Credential, key []byte) error {
		if c.Type != mls.CredentialBasic || len(c.Identity) == 0 || len(key) == 0 {
			return errors.New("nobody")
		}
		return nil
	}}
	var err error
	a.leaf, err = newLeaf(suite, identity)
	return a, err
}

// newLeaf makes what leaf nodes in a suite are made of, with a signature key.
func newLeaf(suite uint16, identity string) (l mls.LeafParams, err error) {
	l = mls.LeafParams{Suite: mls.Suite(suite), Credential: mls.BasicCredential([]byte(identity)), Capabilities: mls.DefaultCapabilities()}
	l.Capabilities.Extensions = append(l.Capabilities.Extensions, extensionType)
	l.Lifetime = mls.Lifetime{NotBefore: uint64(time.Now().Add(-time.Hour).Unix()), NotAfter: uint64(time.Now().Add(24 * time.Hour).Unix())}
	l.Signer, _, err = mls.NewSignatureKey(rand.Reader, l.Suite)
	return l, err
}

// leafIn is the same person's in a suite.
func (a *ours) leafIn(suite uint16) (mls.LeafParams, error) {
	if mls.Suite(suite) == a.leaf.Suite {
		return a.leaf, nil
	}
	return newLeaf(suite, string(a.leaf.Credential.Identity))
}

func (a *ours) psk(id mls.PreSharedKeyID) (mls.Secret, error) {
	if s, ok := a.psks[string(id.ID)]; ok && id.Type == mls.PSKExternal {
		return s, nil
	}
	return mls.Secret{}, mls.ErrMissingPSK
}

func (a *ours) kind() string { return "tacet" }

func (a *ours) addPSK(id, psk []byte) error {
	a.psks[string(id)] = mls.NewSecret(psk)
	return nil
}

func (a *ours) key() ([]byte, error) { return mls.SignaturePublic(a.leaf.Suite, a.leaf.Signer) }

func (a *ours) keyPackage(suite uint16) ([]byte, error) {
	leaf, err := a.leafIn(suite)
	if err != nil {
		return nil, err
	}
	k, secrets, err := mls.NewKeyPackage(a.env, leaf, nil)
	if err != nil {
		return nil, err
	}
	a.packages = append(a.packages, ourPackage{k, secrets})
	return (&mls.Message{Wire: mls.WireKeyPackage, KeyPackage: k}).Append(nil), nil
}

func (a *ours) create(groupID []byte, extensions ...Extension) (seat, error) {
	return a.sit(mls.Create(a.env, mls.CreateParams{GroupID: groupID, Leaf: a.leaf, Extensions: ourExtensions(extensions)}))
}

func (a *ours) proposeAdd(info []byte) ([]byte, error) {
	m, err := mls.ParseMessage(info)
	if err != nil {
		return nil, err
	}
	if _, err := a.keyPackage(uint16(a.leaf.Suite)); err != nil {
		return nil, err
	}
	k := a.packages[len(a.packages)-1].public
	return encoded(mls.ProposeSelf(a.env, m.GroupInfo.Context, k, a.leaf.Signer, nil))
}

func (a *ours) proposeExternal(info []byte, index uint32, p Proposal) ([]byte, error) {
	m, err := mls.ParseMessage(info)
	if err != nil {
		return nil, err
	}
	made, err := a.proposal(p)
	if err != nil {
		return nil, err
	}
	return encoded(mls.ProposeExternal(a.env, m.GroupInfo.Context, index, a.leaf.Signer, made, []byte("outside")))
}

func (a *ours) join(welcome, tree []byte, from seat) (seat, error) {
	m, err := mls.ParseMessage(welcome)
	if err != nil {
		return nil, err
	}
	params := mls.JoinParams{Tree: tree}
	if from != nil {
		params.Predecessor = from.(*ourSeat).g
	}
	for _, k := range a.packages {
		if k.public.Suite != m.Welcome.Suite {
			continue
		}
		g, err := mls.Join(a.env, m, k.public, k.secrets, params)
		if !errors.Is(err, mls.ErrNotWelcome) {
			return a.sit(g, err)
		}
	}
	return nil, errors.New("a welcome for none of our key packages")
}

func (a *ours) joinExternal(info, tree []byte, old seat, psks ...[]byte) (seat, []byte, error) {
	m, err := mls.ParseMessage(info)
	if err != nil {
		return nil, nil, err
	}
	params := mls.ExternalJoinParams{Leaf: a.leaf, Tree: tree, AuthenticatedData: []byte("external")}
	for _, id := range psks {
		params.PSKs = append(params.PSKs, mls.PreSharedKeyID{Type: mls.PSKExternal, ID: id})
	}
	if old != nil {
		leaf := mls.LeafIndex(old.see().Leaf)
		params.Replace = &leaf
	}
	g, commit, err := mls.JoinExternal(a.env, m, params)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.sit(g, nil)
	return s, commit.Append(nil), err
}

func (a *ours) sit(g *mls.Group, err error) (seat, error) {
	if err != nil {
		return nil, err
	}
	return &ourSeat{who: a, g: g}, nil
}

func encoded(m *mls.Message, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return m.Append(nil), nil
}

// ourSeat is one's group, what a commit of one's own would lead to, and the last
// epochs.
type ourSeat struct {
	who    *ours
	g      *mls.Group
	staged *mls.Staged
	past   []*mls.PastEpoch
	last   int // proposals that the last commit covered
}

func (s *ourSeat) see() View {
	c := s.g.Context()
	v := View{
		Group: c.GroupID, Epoch: c.Epoch, TreeHash: c.TreeHash, Transcript: c.ConfirmedTranscriptHash,
		Authenticator: s.g.EpochAuthenticator(), Leaf: uint32(s.g.Self()), Proposals: len(s.g.Pending()), State: "active",
	}
	for _, e := range c.Extensions {
		v.Extensions = append(v.Extensions, Extension{uint16(e.Type), e.Data})
	}
	for i := range s.g.Members() {
		v.Members = append(v.Members, uint32(i))
	}
	switch {
	case s.g.Removed():
		v.State = "removedFromGroup"
	case s.g.ReInit() != nil:
		v.State = "suspendedPendingReinit"
	}
	return v
}

func ourExtensions(list []Extension) (out []mls.Extension) {
	for _, e := range list {
		out = append(out, mls.Extension{Type: mls.ExtensionType(e.Type), Data: e.Data})
	}
	return out
}

func ourKeyPackage(b []byte) (*mls.KeyPackage, error) {
	m, err := mls.ParseMessage(b)
	if err != nil {
		return nil, err
	}
	return m.KeyPackage, nil
}

// proposal makes what p says, but for an update.
func (a *ours) proposal(p Proposal) (*mls.Proposal, error) {
	switch p.Type {
	case "add":
		k, err := ourKeyPackage(p.KeyPackage)
		return mls.AddProposal(k), err
	case "remove":
		return mls.RemoveProposal(mls.LeafIndex(p.Leaf)), nil
	case "psk":
		return mls.ExternalPSKProposal(a.env, a.leaf.Suite, p.PSK)
	case "resumption":
		return mls.ResumptionPSKProposal(a.env, a.leaf.Suite, p.GroupID, p.Epoch)
	case "reinit":
		return mls.ReInitProposal(mls.ReInit{GroupID: p.GroupID, Version: mls.Version, Suite: mls.Suite(p.Suite), Extensions: ourExtensions(p.Extensions)}), nil
	case "extensions":
		return mls.GroupContextProposal(ourExtensions(p.Extensions)), nil
	}
	return nil, fmt.Errorf("no proposal %s", p.Type)
}

func (s *ourSeat) propose(p Proposal, public bool, ad []byte) ([]byte, error) {
	f := mls.Framing{AuthenticatedData: ad, Public: public}
	if p.Type == "update" {
		m, _, err := s.g.ProposeUpdate(s.who.env, mls.LeafChange{}, f)
		return encoded(m, err)
	}
	made, err := s.who.proposal(p)
	if err != nil {
		return nil, err
	}
	m, _, err := s.g.Propose(s.who.env, made, f)
	return encoded(m, err)
}

func (s *ourSeat) commit(o CommitOptions, path bool) (Commit, error) {
	params := mls.CommitParams{AllPending: true, ForcePath: path, TreeAside: !o.Tree, Framing: mls.Framing{AuthenticatedData: o.AD, Public: o.Public, Padding: 16}}
	for _, p := range o.Proposals {
		made, err := s.who.proposal(p)
		if err != nil {
			return Commit{}, err
		}
		params.Proposals = append(params.Proposals, made)
	}
	staged, err := s.g.Stage(s.who.env, params)
	if err != nil {
		return Commit{}, err
	}
	if s.staged != nil {
		s.staged.Drop()
	}
	s.staged = staged
	c := Commit{Message: staged.Message.Append(nil)}
	if staged.Welcome != nil {
		c.Welcome = staged.Welcome.Append(nil)
	}
	return c, nil
}

func (s *ourSeat) merge() error { return s.advance(s.staged) }

// advance goes to the next epoch, and keeps what opens the messages of this one.
func (s *ourSeat) advance(to *mls.Staged) error {
	past, err := s.g.Past()
	if err != nil {
		return err
	}
	if s.past = append(s.past, past); len(s.past) > 2 {
		s.past[0].Drop()
		s.past = s.past[1:]
	}
	if s.staged != nil && s.staged != to {
		s.staged.Drop()
	}
	s.staged, s.last = nil, len(to.Proposals)
	return s.g.Merge(to)
}

func (s *ourSeat) consider(commit []byte) error {
	m, err := mls.ParseMessage(commit)
	if err != nil {
		return err
	}
	got, err := s.g.Process(s.who.env, m)
	if err != nil {
		return err
	}
	got.Staged.Drop()
	return nil
}

func (s *ourSeat) covered() int { return s.last }

func (s *ourSeat) process(b []byte) (Received, error) {
	m, err := mls.ParseMessage(b)
	if err != nil {
		return Received{}, err
	}
	got, err := s.g.Process(s.who.env, m)
	if errors.Is(err, mls.ErrPastEpoch) {
		return s.processPast(m)
	}
	if err != nil {
		return Received{}, err
	}
	if got.Staged != nil {
		return Received{AD: got.AuthenticatedData}, s.advance(got.Staged)
	}
	return Received{got.Application, got.AuthenticatedData}, nil
}

func (s *ourSeat) processPast(m *mls.Message) (Received, error) {
	for _, p := range s.past {
		got, err := p.Open(m)
		if errors.Is(err, mls.ErrPastEpoch) || errors.Is(err, mls.ErrFutureEpoch) {
			continue
		}
		if err != nil {
			return Received{}, err
		}
		return Received{got.Application, got.AuthenticatedData}, nil
	}
	return Received{}, errors.New("a message of an epoch that was forgotten")
}

func (s *ourSeat) encrypt(data, ad []byte, padding int) ([]byte, error) {
	r, err := s.g.Reserve()
	if err != nil {
		return nil, err
	}
	return encoded(r.Seal(s.who.env, data, mls.Framing{AuthenticatedData: ad, Padding: padding}))
}

func (s *ourSeat) export(label string, context []byte, length int) ([]byte, error) {
	secret, err := s.g.Export(label, context, length)
	return secret.Bytes(), err
}

func (s *ourSeat) groupInfo(tree bool) ([]byte, error) {
	return encoded(s.g.GroupInfo(s.who.env, mls.GroupInfoParams{TreeAside: !tree, External: true}))
}

func (s *ourSeat) tree() ([]byte, error) { return s.g.Tree(), nil }

func (s *ourSeat) reinit(n Next) (seat, []byte, []byte, error) { return s.follow(s.g.Successor, n) }
func (s *ourSeat) branch(n Next) (seat, []byte, []byte, error) { return s.follow(s.g.Branch, n) }

func (s *ourSeat) follow(start func(mls.Env, mls.SuccessorParams) (*mls.Group, *mls.Staged, error), n Next) (seat, []byte, []byte, error) {
	leaf, err := s.who.leafIn(n.Suite)
	if err != nil {
		return nil, nil, nil, err
	}
	params := mls.SuccessorParams{Leaf: leaf, GroupID: n.GroupID, Extensions: s.g.Extensions(), TreeAside: true}
	for _, b := range n.KeyPackages {
		k, err := ourKeyPackage(b)
		if err != nil {
			return nil, nil, nil, err
		}
		params.Members = append(params.Members, k)
	}
	g, staged, err := start(s.who.env, params)
	if err != nil {
		return nil, nil, nil, err
	}
	welcome, tree := staged.Welcome.Append(nil), staged.Tree
	if err := g.Merge(staged); err != nil {
		return nil, nil, nil, err
	}
	next, err := s.who.sit(g, nil)
	return next, welcome, tree, err
}

func (s *ourSeat) restore() error {
	lineage := mls.NewLineage()
	g, err := mls.ParseGroup(s.g.Append(nil), lineage)
	if err != nil {
		return err
	}
	s.g.Drop()
	s.g = g
	if s.staged != nil {
		staged, err := mls.ParseStaged(s.staged.Append(nil), lineage)
		if err != nil {
			return err
		}
		s.staged.Drop()
		s.staged = staged
	}
	for i, p := range s.past {
		if s.past[i], err = mls.ParsePastEpoch(p.Append(nil), lineage); err != nil {
			return err
		}
		p.Drop()
	}
	return nil
}

func (s *ourSeat) drop() {
	for _, p := range s.past {
		p.Drop()
	}
	if s.staged != nil {
		s.staged.Drop()
	}
	s.g.Drop()
}
