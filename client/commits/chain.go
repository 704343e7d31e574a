package commits

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// chain is an abstract MLS: a secret for each epoch, drawn on by a hash from the
// one before and what the commit brings. Whoever lacks an epoch's secret opens
// nothing of it. What a commit brings is in a part for each leaf that stays; only
// who has that leaf's key takes it, by this code's honesty and not by secrecy.
type chain struct{}

var errChain = errors.New("does not open")

// Spoilt is a leaf whose part of a commit is rubbish: the commit is valid for the
// others. Faults.Half makes such commits.
var spoilt = []byte("spoilt")

type chainLeaf struct {
	Index      uint32
	Credential []byte
	Route      []byte
	Key        [32]byte
}

type chainTree struct {
	Group    group.ID
	Number   uint64
	Kind     group.Suite
	Me       uint32
	Context  []byte
	Leaves   []chainLeaf
	Secret   []byte // nil: removed
	Exporter []byte // nil: dropped
	Private  [32]byte
	Sent     uint64
	Used     [][8]byte // nonces of application messages that were opened
}

type chainPackage struct {
	Kind       group.Suite
	Credential []byte
	Route      []byte
	Key        [32]byte
	Init       [32]byte
}

type chainSecrets struct{ Private, Init [32]byte }

type chainCommit struct {
	Maker   uint32
	State   []byte
	Add     [][]byte
	Remove  []uint32
	Carried []byte
	Leaf    *chainLeaf
	Parts   []chainPart
}

type chainPart struct {
	Leaf uint32
	For  [32]byte
	Body []byte
}

type chainWelcome struct {
	Group group.ID
	Parts []chainJoin
}

type chainJoin struct {
	Package [32]byte
	For     [32]byte
	Epoch   uint64
	Kind    group.Suite
	Context []byte
	Secret  []byte
	Tree    [32]byte
}

type chainStaged struct {
	Staged group.Staged
	Next   chainTree
}

type chainMessage struct {
	Kind  byte // 1 commit, 2 application
	Group group.ID
	Epoch uint64
	From  uint32
	Nonce [8]byte
	Body  []byte
	Mac   [32]byte
}

// spoil makes staged commits bad for some leaves; set by the world for a maker who
// cheats.
type spoiler interface{ spoils(leaf uint32) bool }

func pack(v any) []byte {
	b, err := cbor.Marshal(v)
	if err != nil {
		panic("commits: " + err.Error())
	}
	return b
}

func hash(label string, parts ...[]byte) [32]byte { return key.Hash("sim/"+label, parts...) }

func public(private [32]byte) [32]byte { return hash("public", private[:]) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// mask encrypts and decrypts.
func mask(secret []byte, m *chainMessage) {
	for i := 0; i < len(m.Body); i += 32 {
		k := hash("mask", secret, number(uint64(m.From)), m.Nonce[:], number(uint64(i)))
		for j := i; j < min(i+32, len(m.Body)); j++ {
			m.Body[j] ^= k[j-i]
		}
	}
}

func (m *chainMessage) mac(secret []byte) [32]byte {
	return hash("mac", secret, []byte{m.Kind}, number(uint64(m.From)), m.Nonce[:], m.Body)
}

func sealChain(secret []byte, m chainMessage, plain []byte, size int) ([]byte, error) {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(plain)))
	m.Body = append(length, plain...)
	if size > 0 {
		probe := m
		for {
			probe.Body = m.Body
			n := len(pack(&probe))
			if n == size {
				break
			}
			if n > size {
				return nil, errChain
			}
			m.Body = append(m.Body, make([]byte, max(1, (size-n)/2))...)
		}
	}
	m.Body = slices.Clone(m.Body)
	mask(secret, &m)
	m.Mac = m.mac(secret)
	return pack(&m), nil
}

func openChain(secret []byte, b []byte) (*chainMessage, []byte, error) {
	m := new(chainMessage)
	if cbor.Unmarshal(b, m) != nil || len(secret) == 0 || m.mac(secret) != m.Mac {
		return nil, nil, errChain
	}
	mask(secret, m)
	if len(m.Body) < 4 {
		return nil, nil, errChain
	}
	n := int(binary.BigEndian.Uint32(m.Body))
	if n > len(m.Body)-4 {
		return nil, nil, errChain
	}
	return m, m.Body[4 : 4+n], nil
}

func draw32(r io.Reader) (b [32]byte, err error) {
	_, err = io.ReadFull(r, b[:])
	return b, err
}

func newChainLeaf(env group.Env, p group.LeafParams) (l chainLeaf, private [32]byte, err error) {
	if private, err = draw32(env.Rand); err != nil {
		return l, private, err
	}
	l.Key = public(private)
	m, err := manifest.Parse(p.Manifest)
	if err != nil {
		return l, private, err
	}
	l.Credential = roster.NewCredential(p.Device, m, l.Key[:], roster.Membership{Entry: p.Entry, Times: p.Times, For: p.For}).Append(nil)
	if p.Route != nil {
		l.Route = p.Route.Append(nil)
	}
	return l, private, nil
}

func (chain) Create(env group.Env, p group.CreateParams) (group.Tree, error) {
	l, private, err := newChainLeaf(env, p.Leaf)
	if err != nil {
		return nil, err
	}
	s, err := draw32(env.Rand)
	if err != nil {
		return nil, err
	}
	t := &chainTree{Group: p.ID, Kind: p.Suite, Context: bytes.Clone(p.State), Leaves: []chainLeaf{l}, Secret: s[:], Private: private}
	t.exporter()
	return t, nil
}

func (t *chainTree) exporter() {
	e := hash("exporter", t.Secret)
	t.Exporter = e[:]
}

func (chain) Package(env group.Env, s group.Suite, leaf group.LeafParams) (pub, secrets []byte, err error) {
	l, private, err := newChainLeaf(env, leaf)
	if err != nil {
		return nil, nil, err
	}
	init, err := draw32(env.Rand)
	if err != nil {
		return nil, nil, err
	}
	return pack(chainPackage{s, l.Credential, l.Route, l.Key, public(init)}), pack(chainSecrets{private, init}), nil
}

func (chain) PackageOf(pub []byte) (*roster.Credential, *roster.Route, group.Suite, error) {
	var p chainPackage
	if err := cbor.Unmarshal(pub, &p); err != nil {
		return nil, nil, 0, err
	}
	c, err := roster.ParseCredential(p.Credential)
	if err != nil {
		return nil, nil, 0, err
	}
	if err := c.Check(p.Key[:]); err != nil {
		return nil, nil, 0, err
	}
	r, err := roster.ParseRoute(p.Route)
	return c, r, p.Kind, err
}

func (chain) Join(env group.Env, welcome, tree, pub, secrets []byte) (group.Tree, error) {
	var w chainWelcome
	var s chainSecrets
	var leaves []chainLeaf
	if cbor.Unmarshal(welcome, &w) != nil || cbor.Unmarshal(secrets, &s) != nil || cbor.Unmarshal(tree, &leaves) != nil {
		return nil, errChain
	}
	h := sha256.Sum256(pub)
	for _, p := range w.Parts {
		if p.Package != h || p.For != public(s.Init) || p.Tree != sha256.Sum256(tree) {
			continue
		}
		i := slices.IndexFunc(leaves, func(l chainLeaf) bool { return l.Key == public(s.Private) })
		if i < 0 {
			return nil, errChain
		}
		t := &chainTree{Group: w.Group, Number: p.Epoch, Kind: p.Kind, Me: leaves[i].Index, Context: p.Context, Leaves: leaves, Secret: p.Secret, Private: s.Private}
		t.exporter()
		return t, nil
	}
	return nil, errNotForUs
}

func (chain) IsCommit(message []byte) bool {
	m := new(chainMessage)
	return cbor.Unmarshal(message, m) == nil && m.Kind == 1
}

// nothing is what is fixed of a chain: all of it is written each time.
type nothing struct{}

func (nothing) Append(b []byte) []byte { return b }

func (chain) Fixed([]byte) (group.Fixed, error)     { return nothing{}, nil }
func (chain) PastFixed([]byte) (group.Fixed, error) { return nothing{}, nil }

func (chain) Parse(_ group.Fixed, b []byte) (group.Tree, error) {
	t := new(chainTree)
	return t, cbor.Unmarshal(b, t)
}

func (chain) ParsePast(_ group.Fixed, b []byte) (group.Past, error) {
	t := new(chainTree)
	return &chainPast{t}, cbor.Unmarshal(b, t)
}

func (t *chainTree) ID() group.ID       { return t.Group }
func (t *chainTree) Epoch() uint64      { return t.Number }
func (t *chainTree) Suite() group.Suite { return t.Kind }
func (t *chainTree) Self() uint32       { return t.Me }
func (t *chainTree) State() []byte      { return t.Context }
func (t *chainTree) Close()             { t.Exporter = nil }
func (t *chainTree) Fixed() group.Fixed { return nothing{} }
func (t *chainTree) Members() []group.Member {
	var ms []group.Member
	for _, l := range t.Leaves {
		c, err := roster.ParseCredential(l.Credential)
		if err != nil {
			panic("commits: a leaf that was checked: " + err.Error())
		}
		r, _ := roster.ParseRoute(l.Route)
		ms = append(ms, group.Member{Leaf: roster.Leaf{Index: l.Index, Root: c.Root(), Device: c.Device, Entry: c.Entry}, Credential: c, Route: r})
	}
	return ms
}

func (t *chainTree) Export(label string, n int) []byte {
	if t.Exporter == nil {
		return nil
	}
	h := hash("export", t.Exporter, []byte(label))
	return bytes.Clone(h[:n])
}

func (t *chainTree) Authenticator() []byte {
	h := hash("authenticator", t.Secret, pack(t.Leaves), t.Context)
	return h[:]
}

func (t *chainTree) Public() []byte { return pack(t.Leaves) }

func (t *chainTree) Append(b []byte) []byte { return append(b, pack(t)...) }

func (t *chainTree) clone() chainTree {
	n := *t
	n.Leaves = slices.Clone(t.Leaves)
	n.Used = slices.Clone(t.Used)
	return n
}

// next applies a commit to the tree and returns the next epoch without its secret.
func (t *chainTree) next(c *chainCommit) (chainTree, error) {
	n := t.clone()
	n.Number, n.Sent, n.Used = t.Number+1, 0, nil
	if c.State != nil {
		n.Context = c.State
	}
	for _, i := range c.Remove {
		at := slices.IndexFunc(n.Leaves, func(l chainLeaf) bool { return l.Index == i })
		if at < 0 || i == c.Maker {
			return n, errChain
		}
		n.Leaves = slices.Delete(n.Leaves, at, at+1)
	}
	if c.Leaf != nil {
		at := slices.IndexFunc(n.Leaves, func(l chainLeaf) bool { return l.Index == c.Maker })
		if at < 0 {
			return n, errChain
		}
		was, err := roster.ParseCredential(n.Leaves[at].Credential)
		if err != nil {
			return n, err
		}
		is, err := roster.ParseCredential(c.Leaf.Credential)
		if err != nil || is.Check(c.Leaf.Key[:]) != nil || !was.Follows(is) {
			return n, errChain
		}
		n.Leaves[at] = *c.Leaf
	}
	for _, a := range c.Add {
		var p chainPackage
		if cbor.Unmarshal(a, &p) != nil {
			return n, errChain
		}
		cred, err := roster.ParseCredential(p.Credential)
		if err != nil || cred.Check(p.Key[:]) != nil || p.Kind != t.Kind {
			return n, errChain
		}
		if slices.ContainsFunc(n.Leaves, func(l chainLeaf) bool { return l.Key == p.Key }) {
			return n, errChain
		}
		free := uint32(0)
		for slices.ContainsFunc(n.Leaves, func(l chainLeaf) bool { return l.Index == free }) {
			free++
		}
		n.Leaves = append(n.Leaves, chainLeaf{free, p.Credential, p.Route, p.Key})
		slices.SortFunc(n.Leaves, func(a, b chainLeaf) int { return int(a.Index) - int(b.Index) })
	}
	return n, nil
}

func (t *chainTree) advance(n *chainTree, fresh, commit []byte) {
	s := hash("next", t.Secret, fresh, commit)
	n.Secret = s[:]
	n.exporter()
}

func (t *chainTree) Stage(env group.Env, p group.StageParams) (*group.Staged, error) {
	if t.Secret == nil {
		return nil, errChain
	}
	fresh, err := draw32(env.Rand)
	if err != nil {
		return nil, err
	}
	c := &chainCommit{Maker: t.Me, State: p.State, Add: p.Add, Remove: p.Remove, Carried: p.Carried}
	private := t.Private
	if p.Leaf != nil {
		l, key, err := newChainLeaf(env, *p.Leaf)
		if err != nil {
			return nil, err
		}
		l.Index, c.Leaf, private = t.Me, &l, key
	}
	n, err := t.next(c)
	if err != nil {
		return nil, err
	}
	bad, _ := env.Rand.(spoiler)
	for _, l := range t.Leaves {
		if l.Index == t.Me || slices.Contains(p.Remove, l.Index) {
			continue
		}
		body := fresh[:]
		if bad != nil && bad.spoils(l.Index) {
			body = spoilt
		}
		c.Parts = append(c.Parts, chainPart{l.Index, l.Key, body})
	}
	m := chainMessage{Kind: 1, Group: t.Group, Epoch: t.Number, From: t.Me}
	if _, err := io.ReadFull(env.Rand, m.Nonce[:]); err != nil {
		return nil, err
	}
	message, err := sealChain(t.Secret, m, pack(c), 0)
	if err != nil {
		return nil, err
	}
	t.advance(&n, fresh[:], message)
	n.Private = private
	s := &group.Staged{Commit: message, Carried: p.Carried, Maker: t.Me, State: n.Context, Add: p.Add, Remove: p.Remove}
	if len(p.Add) > 0 {
		s.Tree = pack(n.Leaves)
		w := chainWelcome{Group: t.Group}
		for _, a := range p.Add {
			var k chainPackage
			if err := cbor.Unmarshal(a, &k); err != nil {
				return nil, err
			}
			w.Parts = append(w.Parts, chainJoin{sha256.Sum256(a), k.Init, n.Number, n.Kind, n.Context, n.Secret, sha256.Sum256(s.Tree)})
		}
		s.Welcome = pack(w)
	}
	s.Stored = pack(chainStaged{*s, n})
	s.Handle = &n
	return s, nil
}

func (t *chainTree) Unstage(stored []byte) (*group.Staged, error) {
	var c chainStaged
	if err := cbor.Unmarshal(stored, &c); err != nil {
		return nil, err
	}
	if c.Next.Number != t.Number+1 || c.Next.Group != t.Group {
		return nil, errChain
	}
	s := c.Staged
	s.Stored, s.Handle = stored, &c.Next
	return &s, nil
}

func (t *chainTree) Process(_ group.Env, message []byte) (*group.Opened, error) {
	m, plain, err := openChain(t.Secret, message)
	if err != nil || m.Group != t.Group || m.Epoch != t.Number {
		return nil, errChain
	}
	if m.From == t.Me {
		return nil, errOwn
	}
	if m.Kind == 2 {
		return t.take(m, plain)
	}
	c := new(chainCommit)
	if cbor.Unmarshal(plain, c) != nil || c.Maker != m.From {
		return nil, errChain
	}
	n, err := t.next(c)
	if err != nil {
		return nil, err
	}
	s := &group.Staged{Carried: c.Carried, Maker: c.Maker, State: n.Context, Add: c.Add, Remove: c.Remove}
	if slices.Contains(c.Remove, t.Me) {
		n.Secret, n.Exporter, n.Private = nil, nil, [32]byte{}
	} else {
		i := slices.IndexFunc(c.Parts, func(p chainPart) bool { return p.Leaf == t.Me && p.For == public(t.Private) })
		if i < 0 || bytes.Equal(c.Parts[i].Body, spoilt) {
			return nil, errOthers
		}
		t.advance(&n, c.Parts[i].Body, message)
	}
	s.Handle = &n
	return &group.Opened{From: m.From, Staged: s}, nil
}

// take opens each application message once.
func (t *chainTree) take(m *chainMessage, plain []byte) (*group.Opened, error) {
	if slices.Contains(t.Used, m.Nonce) {
		return nil, errUsed
	}
	if !slices.ContainsFunc(t.Leaves, func(l chainLeaf) bool { return l.Index == m.From }) {
		return nil, errChain
	}
	t.Used = append(t.Used, m.Nonce)
	return &group.Opened{From: m.From, Plain: bytes.Clone(plain)}, nil
}

func (t *chainTree) Merge(s *group.Staged) (group.Past, error) {
	n, ok := s.Handle.(*chainTree)
	if !ok || n.Number != t.Number+1 {
		return nil, errChain
	}
	past := t.clone()
	past.Exporter, past.Private, past.Context = nil, [32]byte{}, nil
	*t = n.clone()
	return &chainPast{&past}, nil
}

func (t *chainTree) Seal(env group.Env, plain []byte, size int) ([]byte, error) {
	t.Sent++
	m := chainMessage{Kind: 2, Group: t.Group, Epoch: t.Number, From: t.Me}
	if _, err := io.ReadFull(env.Rand, m.Nonce[:]); err != nil {
		return nil, err
	}
	return sealChain(t.Secret, m, plain, size)
}

// chainPast is an epoch that was left: commits of it are not opened any more.
type chainPast struct{ t *chainTree }

func (p *chainPast) Process(env group.Env, message []byte) (*group.Opened, error) {
	m, plain, err := openChain(p.t.Secret, message)
	if err != nil || m.Kind != 2 || m.Group != p.t.Group || m.Epoch != p.t.Number {
		return nil, errChain
	}
	if m.From == p.t.Me {
		return nil, errOwn
	}
	return p.t.take(m, plain)
}
func (p *chainPast) Seal(env group.Env, plain []byte, size int) ([]byte, error) {
	return p.t.Seal(env, plain, size)
}
func (p *chainPast) Fixed() group.Fixed     { return nothing{} }
func (p *chainPast) Append(b []byte) []byte { return p.t.Append(b) }

// Errors that the engine tells apart.
var (
	errOwn      = group.ErrOwn
	errUsed     = group.ErrUsed
	errOthers   = errors.New("good for others only")
	errNotForUs = group.ErrNotForUs
)
