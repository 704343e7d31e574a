package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// toll is the gate of a relay inside the test: members, issuing and spending, as
// docs/spec/gate.md says, over real tokens. Whoever holds the realm may have it lie.
type toll struct {
	gate string

	mu       sync.Mutex
	seed     [32]byte
	since    uint64
	invites  map[[32]byte]int // uses left, by hash of the secret
	members  map[[32]byte]bool
	issued   map[string][]byte
	spent    map[[token.NonceSize]byte][32]byte // request hash, by nonce
	contexts map[string][16]byte                // of each device and connection name
	paid     map[transport.Purpose]int
	used     int // uses of realm invites that were taken
	asked    int // batches
	double   int // tokens presented for two requests
	// keys, if set, gives a device issuer keys of its own.
	keys map[string][32]byte
	// forge, if set, answers requests for tokens.
	forge func(by string, answer []byte) ([]byte, error)
	judge *token.Judge
	// memberInvites says whether members may invite.
	memberInvites bool
}

// wantsTokens gives a relay a gate.
func (r *realm) wantsTokens(gate string) *toll {
	t := &toll{gate: gate, since: uint64(time.Now().Unix()/86400) - 100, invites: map[[32]byte]int{}, members: map[[32]byte]bool{}, issued: map[string][]byte{},
		spent: map[[token.NonceSize]byte][32]byte{}, contexts: map[string][16]byte{}, paid: map[transport.Purpose]int{}, keys: map[string][32]byte{}, memberInvites: true}
	rand.Read(t.seed[:])
	t.judge, _ = token.NewJudge(&t.seed, 1)
	r.lie(func() { r.toll = t })
	return t
}

// invite makes a realm invite and returns its link.
func (r *realm) invite(uses int) string {
	l := wire.RealmLink{Relay: r.called()}
	rand.Read(l.Secret[:])
	copy(l.Print[:], r.pin[:])
	r.toll.mu.Lock()
	defer r.toll.mu.Unlock()
	r.toll.invites[key.Hash("tacet/v1/gate/invite", l.Secret[:])] = uses
	return l.String()
}

func (t *toll) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func (t *toll) issuer(by string, kind token.Kind, epoch uint32) *token.Issuer {
	seed := t.seed
	if own, ok := t.keys[by]; ok {
		seed = own
	}
	i, err := token.DeriveIssuer(&seed, kind, epoch)
	if err != nil {
		panic(err)
	}
	return i
}

// describe says what the descriptor says of tokens.
func (t *toll) describe(by string, d *wire.Descriptor) (a transport.Announcement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now().Unix()
	add := func(kind token.Kind, epoch uint32) {
		k := t.issuer(by, kind, epoch).Public()
		d.Issuers = append(d.Issuers, wire.Issuer{Kind: uint64(kind), Epoch: uint64(epoch), Key: k})
		a.Issuers = append(a.Issuers, transport.Issuer{Kind: byte(kind), Epoch: epoch, Key: k})
	}
	for e := token.MemberEpoch(now) - 1; e <= token.MemberEpoch(now)+1; e++ {
		add(token.Member, e)
	}
	for e := token.GuestEpoch(now) - 4; e <= token.GuestEpoch(now)+1; e++ {
		add(token.Guest, e)
	}
	d.Roles, d.Gate, d.Class, d.IssuedDay = append(d.Roles, wire.RoleToken), t.gate, 1024, t.since
	a.Class, a.Since, a.Gate = 1024, t.since, t.gate
	return a
}

// PayWith implements Gate.
func (e *endpoint) PayWith(p transport.Payer) { e.payer = p }

// pay has a device pay for one request.
func (e *endpoint) pay(ctx context.Context, p transport.Purpose, binding []byte) error {
	t := e.tolled()
	if t == nil {
		return nil
	}
	if e.payer == nil {
		return transport.ErrEmpty
	}
	if err := e.heard(ctx); err != nil {
		return err
	}
	for range 3 {
		b, err := e.payer.Pay(ctx, p, binding)
		if err != nil {
			return err
		}
		if e.isCut() {
			return errors.New("the connection broke")
		}
		if t.spend(b, p, binding) == nil {
			return nil
		}
	}
	e.forget()
	return transport.ErrSpent
}

// spend takes a token as a relay does.
func (t *toll) spend(b []byte, p transport.Purpose, binding []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now().Unix()
	shown, err := token.ParsePresented(b)
	request := token.RequestHash(token.Purpose(p), binding)
	if err != nil || !token.Accepts(shown.Kind, shown.Epoch, now) || p == transport.PayInvite && shown.Kind != token.Member {
		return token.ErrToken
	}
	if err := t.issuer("", shown.Kind, shown.Epoch).Check(&shown, request); err != nil {
		return err
	}
	if was, ok := t.spent[shown.Nonce]; ok && was != request {
		t.double++
		return token.ErrToken
	}
	t.spent[shown.Nonce] = request
	t.paid[p]++
	return nil
}

// context pays for a put context, if the device has none of that name.
func (e *endpoint) context(ctx context.Context, name string) error {
	t := e.tolled()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	_, open := t.contexts[e.name+" "+name]
	t.mu.Unlock()
	if open {
		return nil
	}
	var id [16]byte
	rand.Read(id[:])
	if err := e.pay(ctx, transport.PayPut, id[:]); err != nil {
		return err
	}
	t.locked(func() { t.contexts[e.name+" "+name] = id })
	return nil
}

// Join implements Gate.
func (e *endpoint) Join(_ context.Context, b []byte) error {
	if err := e.asked("member", e.pin); err != nil || e.isCut() {
		return errors.Join(err, errors.New("the connection broke"))
	}
	t := e.tolled()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(b) != 64 {
		return transport.ErrRefused
	}
	hash, credential := key.Hash("tacet/v1/gate/invite", b[:32]), [32]byte(b[32:])
	switch {
	case t.members[credential]:
	case t.gate == "closed", t.invites[hash] == 0:
		return transport.ErrOutside
	default:
		t.invites[hash]--
		t.used++
		t.members[credential] = true
	}
	return nil
}

// Issue implements Gate.
func (e *endpoint) Issue(_ context.Context, b []byte) ([]byte, error) {
	if err := e.asked("token", e.pin); err != nil || e.isCut() {
		return nil, errors.Join(err, errors.New("the connection broke"))
	}
	t := e.tolled()
	q, err := wire.ParseTokenRequest(b)
	if err != nil {
		return nil, transport.ErrRefused
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now().Unix()
	switch {
	case q.Epoch != token.EpochAt(token.Kind(q.Kind), now):
		return nil, transport.ErrRefused
	case q.How == wire.ByCredential && !t.members[key.Hash("tacet/v1/gate/credential", q.Right)]:
		return nil, transport.ErrOutside
	case q.How == wire.ByPuzzle && t.gate != "open":
		return nil, transport.ErrOutside
	case q.How == wire.ByPuzzle:
		a, err := t.judge.Claim(q.Right, token.PuzzleTokens, token.BuyBinding(token.Kind(q.Kind), q.Epoch, q.Part, q.Blinded), now)
		if err == nil {
			err = t.judge.Judge(a, now)
		}
		if err != nil {
			return nil, transport.ErrOutside
		}
	default:
		name := string(b[:wire.TokenHeadSize]) + string(q.Right)
		if was := t.issued[name]; was != nil && !bytes.Equal(was, b) {
			return nil, transport.ErrLimit
		}
		t.issued[name] = bytes.Clone(b)
	}
	t.asked++
	answer, err := t.issuer(e.name, token.Kind(q.Kind), q.Epoch).Evaluate(q.Blinded, rand.Reader)
	if err == nil && t.forge != nil {
		answer, err = t.forge(e.name, answer)
	}
	return answer, err
}

// Challenge implements Gate.
func (e *endpoint) Challenge(_ context.Context, b []byte) ([]byte, error) {
	t := e.tolled()
	if len(b) != 33 || t.gate != "open" {
		return nil, transport.ErrOutside
	}
	c, err := t.judge.Challenge(token.PuzzlePurpose(b[0]), [32]byte(b[1:]), token.MinStamp, time.Now().Unix(), rand.Reader)
	return c.Append(nil), err
}

// MakeInvite implements Gate.
func (e *endpoint) MakeInvite(ctx context.Context, hash [32]byte, days byte) error {
	if err := e.asked("member invite", e.pin); err != nil {
		return err
	}
	if err := e.pay(ctx, transport.PayInvite, hash[:]); err != nil {
		return err
	}
	t := e.tolled()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.memberInvites || t.gate == "closed" {
		return transport.ErrOutside
	}
	t.invites[hash] = 1
	return nil
}

func (e *endpoint) tolled() *toll {
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	return e.toll
}

// isCut reports whether what this device sends reaches nobody, which takes a while.
func (e *endpoint) isCut() bool {
	e.realm.mu.Lock()
	cut := e.cut == e.name
	e.realm.mu.Unlock()
	if cut {
		time.Sleep(time.Second)
	}
	return cut
}

// heard fetches the descriptor once an hour, as the transport does.
func (e *endpoint) heard(ctx context.Context) error {
	e.realm.mu.Lock()
	fresh := !e.fetched.IsZero() && time.Since(e.fetched) < time.Hour
	e.realm.mu.Unlock()
	if fresh {
		return nil
	}
	_, err := e.Descriptor(ctx)
	return err
}

func (e *endpoint) forget() {
	e.realm.mu.Lock()
	defer e.realm.mu.Unlock()
	e.fetched = time.Time{}
}

// cities is a Network of several realms, by name.
type cities struct {
	by    string
	realm map[string]*realm
}

func (c *cities) Proxy() string { return "" }

func (c *cities) way(name string) (*way, error) {
	r := c.realm[name]
	if r == nil {
		return nil, errors.New("no such relay")
	}
	return &way{realm: r, name: c.by}, nil
}

func (c *cities) Identify(ctx context.Context, name string) ([32]byte, error) {
	w, err := c.way(name)
	if err != nil {
		return [32]byte{}, err
	}
	return w.Identify(ctx, name)
}

func (c *cities) Open(name string, pin [32]byte) (transport.Transport, error) {
	w, err := c.way(name)
	if err != nil {
		return nil, err
	}
	return w.Open(name, pin)
}

func (c *cities) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	w, err := c.way(name)
	if err != nil {
		return nil, [32]byte{}, err
	}
	return w.FetchUnpinned(ctx, name, id)
}

// city makes a realm of a name beside others.
func city(name string) *realm {
	r := newRealm(1800)
	r.title, r.pin = name, sha256.Sum256([]byte("realm key of "+name))
	r.shows = r.pin
	return r
}

// settle makes a profile without a relay, and runs it.
func settle(t *testing.T, name string, realms ...*realm) *person {
	t.Helper()
	net := &cities{by: name, realm: map[string]*realm{}}
	for _, r := range realms {
		net.realm[r.called()] = r
	}
	p := &person{t: t, name: name, opt: Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: net, WeakVault: true}}
	if _, err := Create(t.Context(), p.opt, NewProfile{Name: name}); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}
