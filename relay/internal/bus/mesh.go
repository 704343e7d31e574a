package bus

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// Times of the bus.
//
// spec: bus.md#known-nodes
const (
	helloEvery  = time.Second
	silentAfter = 3 * time.Second
	forgetAfter = 30 * time.Second

	countEarly = 1000 * time.Millisecond                 // a settled count leaves this long after its cell came
	countLate  = wire.EchoWithin + 10*time.Millisecond   // any other, when echoes no longer count
	ownerLate  = wire.EchoWithin + 50*time.Millisecond   // an owner's, who waits for others
	countKept  = wire.AnswerAfter + 500*time.Millisecond // how long a put can be answered: longer than it needs
	grain      = 10 * time.Millisecond                   // what is due soon waits for the rest that is
	joinAfter  = helloEvery + 500*time.Millisecond       // by then every node has been heard that can be
	byeEvery   = 500 * time.Millisecond                  // until all have understood
	byeWithin  = 2 * time.Second
)

// broadcastUpTo is the roster up to which every cell goes to every node.
const broadcastUpTo = 8

// maxQueued is how many cells may wait to be sent. What comes beyond stays here,
// and its count is a lower bound.
const maxQueued = 4096

// Config is what a Mesh is made of.
type Config struct {
	Realm Realm
	Link  Link
	// Broadcast is the roster up to which every cell goes to every node: 0 is 8.
	// All nodes of a realm have the same.
	Broadcast int
}

// Mesh is the bus of a relay of several nodes. It implements Bus. It works
// while Run runs; before and after, it knows no other node.
type Mesh struct {
	cfg    Config
	self   ID
	hello  cipher.AEAD // of the realm
	agree  key.DH
	public key.DHPublic
	sender key.Shared
	node   Node // set by Run

	sending sync.Mutex // guards what follows: the order of counters is the order of messages
	seal    cipher.AEAD
	counter uint64
	buffer  []byte

	poke chan struct{} // a token: the timer looks again
	some chan struct{} // a token: cells wait to be sent

	mu       sync.Mutex // guards what follows
	running  bool
	roster   roster
	numbers  uint64 // of hellos
	leaving  bool
	nextHi   time.Time
	batches  uint64 // to all
	sent     uint64 // the last of them that was sent
	asks     uint64 // to one; has the top bit, so that the two never meet
	out      []*batch
	queued   int // cells in out
	pending  map[uint64]*batch
	old      []*batch // those of pending, oldest first
	debts    debts
	owner    *owner
	entering []window.Entry // of receive alone
}

// New makes a node. Its randomness is fresh: it is another one each time.
func New(cfg Config) (*Mesh, error) {
	if cfg.Broadcast == 0 {
		cfg.Broadcast = broadcastUpTo
	}
	m := &Mesh{
		cfg: cfg, hello: newAEAD(cfg.Realm.cluster.Bytes()), asks: 1 << 63, pending: map[uint64]*batch{},
		poke: make(chan struct{}, 1), some: make(chan struct{}, 1), entering: make([]window.Entry, maxCells),
	}
	rand.Read(m.self[:])
	var err error
	if m.agree, err = key.Generate[key.DHRole](rand.Reader); err != nil {
		return nil, err
	}
	if m.sender, err = key.Generate[key.SharedRole](rand.Reader); err != nil {
		return nil, err
	}
	m.public = key.DHPublicOf(m.agree)
	m.seal = newAEAD(m.sender.Bytes())
	m.roster.init(m.self)
	m.owner = newOwner(m)
	return m, nil
}

// Run carries cells between node and the others until ctx ends. It is called once.
func (m *Mesh) Run(ctx context.Context, node Node) error {
	m.node = node
	m.mu.Lock()
	m.running = true
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { m.ticks(ctx) })
	all.Go(func() { m.publish(ctx) })
	all.Go(func() { m.owner.serve(ctx) })
	err := m.cfg.Link.Run(ctx, m.self, m.receive)
	cancel()
	all.Wait()
	m.mu.Lock()
	m.running = false
	m.roster.init(m.self)
	m.mu.Unlock()
	m.agree.Wipe()
	m.sender.Wipe()
	return err
}

// token puts one into a channel of one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ticks does what is due until ctx ends.
func (m *Mesh) ticks(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-m.poke:
		}
		t.Reset(max(grain, time.Until(m.tick(time.Now()))))
	}
}

// tick does what is due and returns when something is again.
func (m *Mesh) tick(now time.Time) (next time.Time) {
	m.mu.Lock()
	var hi []byte
	if !now.Before(m.nextHi) {
		hi = m.greeting(now)
	}
	counts := m.debts.due(now)
	m.expire(now)
	work := m.owner.due(now)
	next = m.nextHi
	for _, t := range []time.Time{m.debts.next(), m.owner.next(now)} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	m.mu.Unlock()
	if hi != nil {
		m.sendHello(hi)
	}
	for to, all := range counts {
		m.sendCounts(to, all)
	}
	for _, f := range work {
		f()
	}
	return next
}

// send seals a body under our sender key and sends it.
func (m *Mesh) send(k kind, to ID, parts ...[]byte) {
	m.sending.Lock()
	defer m.sending.Unlock()
	b := start(m.buffer)
	for _, p := range parts {
		b = append(b, p...)
	}
	m.counter++
	h := header{kind: k, from: m.self, nonce: counted(m.counter)}
	b = h.seal(m.seal, to, b)
	m.cfg.Link.Send(to, b)
	if m.buffer = b[:0]; cap(b) > 2*MaxMessage {
		m.buffer = nil
	}
}

// State is how the bus is, in counts alone.
type State struct {
	Nodes  int  // that are known, this one among them
	Silent int  // of those, without a sign of life
	Cut    bool // this node is cut off
	Owners bool // cells go to the owners of addresses
}

// State returns how the bus is.
func (m *Mesh) State() State {
	cut := m.cfg.Link.Cut()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Nodes: len(m.roster.peers) + 1, Cut: cut, Owners: m.large()}
	now := time.Now()
	for _, p := range m.roster.peers {
		if p.silent(now) {
			s.Silent++
		}
	}
	return s
}

// large reports whether the roster is too large for sending all to all. Callers
// hold mu.
func (m *Mesh) large() bool { return len(m.roster.peers)+1 > m.cfg.Broadcast }

// Join waits until keys were exchanged with every node that is heard, or ctx
// ends: whoever watches here from then on is found by all.
func (m *Mesh) Join(ctx context.Context) {
	t := time.NewTicker(grain)
	defer t.Stop()
	var since time.Time
	for {
		now := time.Now()
		if !m.cfg.Link.Up() {
			since = time.Time{}
		} else if since.IsZero() {
			since = now
		}
		m.mu.Lock()
		met := m.roster.met()
		m.mu.Unlock()
		if met && !since.IsZero() && now.Sub(since) >= joinAfter {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Leave pays what this node owes and says bye until everybody has understood,
// for two seconds at most. Nobody watches here any more.
func (m *Mesh) Leave(ctx context.Context) {
	m.mu.Lock()
	begun := time.Now()
	m.leaving = true
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, countLate+byeWithin)
	defer cancel()
	t := time.NewTicker(grain)
	defer t.Stop()
	var said time.Time
	for {
		now := time.Now()
		m.mu.Lock()
		ready := m.debts.paid(begun)
		left := m.roster.holders(now)
		m.mu.Unlock()
		if !said.IsZero() && left == 0 {
			return
		}
		if ready && now.Sub(said) >= byeEvery {
			m.mu.Lock()
			rest := m.debts.all()
			m.mu.Unlock()
			for to, all := range rest {
				m.sendCounts(to, all)
			}
			m.send(kindBye, All)
			said = now
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
