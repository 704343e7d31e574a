package gate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Labels of this room. The marks are HMACs under the root's key.
const (
	labelInvite     = "tacet/v1/gate/invite"     // hash of a realm invite's secret 32
	labelCredential = "tacet/v1/gate/credential" // hash of a credential 32
	labelSpent      = "tacet/v1/gate/spent"      // mark of a token, parts: kind 1, epoch 4, nonce 16
	labelUse        = "tacet/v1/gate/use"        // what it was spent on, parts: request hash 32, place
	labelIssued     = "tacet/v1/gate/issued"     // mark of a part, parts: kind 1, epoch 4, part 1, credential 32
	labelElements   = "tacet/v1/gate/elements"   // what was issued, part: SHA-256 of the blinded elements 32
	labelBought     = "tacet/v1/gate/bought"     // a purchase by puzzle, part: binding 32
	labelSlot       = "tacet/v1/gate/slot"       // one of a day's invites by members, parts: day 4, number 4
	labelSlotFor    = "tacet/v1/gate/slot-for"   // which invite took it, part: hash 32
	labelPuzzle     = "tacet/v1/gate/puzzle"     // secret of puzzles from the root's key
	labelContext    = "tacet/v1/gate/context"    // place of a put context, parts: key of the period 32, id 16
)

// Access says who gets tokens, and who becomes a member.
//
// spec: gate.md#gate
type Access string

// Sorts of access.
const (
	Open       Access = "open"   // tokens for members and for puzzles
	ByInvite   Access = "invite" // tokens for members; an invite makes one
	NobodyElse Access = "closed" // tokens for members; nobody becomes one
)

const (
	sweepEvery = 5 * time.Minute
	storeTime  = 10 * time.Second // for one call of a store
	retryAfter = "10"             // seconds, where the relay is too busy

	checkPlaces = 256 // tokens that wait to be checked
	issuePlaces = 64  // requests for a batch that wait: 2 MiB of bodies
	linePlaces  = 128 // puzzle answers that wait to be judged: 4 MiB of bodies
	bodyRoom    = 16 << 20
)

// Limiter says whether a network may begin one more of something.
type Limiter interface {
	Allow(remote netip.Addr, what What) (release func(), ok bool)
}

// KeeperConfig has what a Keeper needs of its surroundings.
type KeeperConfig struct {
	Members Members
	Spent   Spent
	Access  Access
	Class   int           // tokens that a device may have for a day: 1,024, 4,096 or 16,384
	Invites int           // realm invites that all members together may make in a day; 0: none
	Live    time.Duration // live period
	Began   Day           // a new seed begins on no earlier day
	Limit   Limiter       // nil allows everything
	Now     func() time.Time
	Random  io.Reader

	// Failed is told when a store failed, with the reason. It must not block.
	Failed func(error)
	// Renewed, if not nil, is told the day of a root before anything is issued or
	// announced under it.
	Renewed func(began Day) error

	Work     int // least zero bits of a sub-puzzle; 0 is token.CalmWork
	Places   int // puzzle answers that wait at most; 0 is 128
	Contexts int // put contexts that are remembered at most; 0 is 262,144
}

// Keeper keeps the gate of a realm: it makes members, issues tokens, takes them,
// and counts what they have paid. It knows no person, and joins nothing of one
// call to anything of another. A nil Keeper admits everything. Its methods may
// be called from any goroutine.
type Keeper struct {
	cfg   KeeperConfig
	state atomic.Pointer[epochs]
	renew sync.Mutex // held while a new root is read

	checking *Room         // places for tokens that wait to be checked
	checks   chan struct{} // tokens that are being checked
	issuing  *Room         // places for requests that wait for a batch
	batches  chan struct{} // batches that are being computed
	bodies   *Room         // bytes

	recent   recent
	times    times
	contexts contexts
	node     [16]byte // random: contexts are this node's alone
	line     line
	inviting sync.Mutex // held while a member's invite is made
	made     made
	invited  atomic.Uint32 // the day on which members have made all the invites they may
}

// NewKeeper reads the root, or has it made, and returns the keeper of it.
func NewKeeper(ctx context.Context, cfg KeeperConfig) (*Keeper, error) {
	if cfg.Places == 0 {
		cfg.Places = linePlaces
	}
	if cfg.Contexts == 0 {
		cfg.Contexts = maxContexts
	}
	// Half of the processors at the most for each sort of work: the rest is for cells.
	half := max(1, runtime.GOMAXPROCS(0)/2)
	k := &Keeper{
		cfg: cfg, checking: NewRoom(checkPlaces), checks: make(chan struct{}, half),
		issuing: NewRoom(issuePlaces), batches: make(chan struct{}, min(2, half)), bodies: NewRoom(bodyRoom),
		recent: newRecent(), times: times{all: map[uint64]uint8{}}, contexts: contexts{max: cfg.Contexts},
		line: newLine(cfg.Places, min(2, half)),
	}
	if _, err := io.ReadFull(cfg.Random, k.node[:]); err != nil {
		return nil, fmt.Errorf("naming contexts: %w", err)
	}
	return k, k.load(ctx)
}

// load reads the root. It is called at the start, and when the store began anew.
func (k *Keeper) load(ctx context.Context) error {
	k.renew.Lock()
	defer k.renew.Unlock()
	began := max(k.today(), k.cfg.Began)
	if s := k.state.Load(); s != nil {
		began = max(began, s.root.Began+1)
	}
	root, err := k.cfg.Spent.Root(ctx, began, k.today())
	if err != nil {
		return fmt.Errorf("reading issuer seed: %w", err)
	}
	if s := k.state.Load(); s != nil && s.root == root {
		return nil
	}
	s, err := newEpochs(root, k.cfg.Work)
	if err == nil && k.cfg.Renewed != nil {
		err = k.cfg.Renewed(root.Began)
	}
	if err != nil {
		return err
	}
	k.state.Store(s)
	return nil
}

// Reload reads the root again, for a store that several nodes share: another node
// may have been first to find that it began anew.
func (k *Keeper) Reload(ctx context.Context) error { return k.load(ctx) }

// Run deletes what is over, at the start and then every five minutes, until ctx
// ends. A failure is told; the next one may work.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		today := k.today()
		if err := errors.Join(k.cfg.Members.Sweep(ctx, today), k.cfg.Spent.Sweep(ctx, today)); err != nil && ctx.Err() == nil {
			k.cfg.Failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k *Keeper) today() Day { return DayOf(k.cfg.Now()) }

// call returns a context for one call of a store. A client that goes away must
// not leave what it began half done.
func call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeTime)
}

// epochs is a root, and what follows from it.
type epochs struct {
	root  Root
	judge *token.Judge

	mu      sync.Mutex // guards issuers
	issuers map[issuerID]*token.Issuer
}

type issuerID struct {
	kind  token.Kind
	epoch uint32
}

const maxIssuers = 64 // that are kept at hand: nine are announced

func newEpochs(root Root, work int) (*epochs, error) {
	var secret [32]byte
	defer clear(secret[:])
	key.KDF(secret[:], root.Key[:], labelPuzzle)
	judge, err := token.NewJudge(&secret, work)
	if err != nil {
		return nil, err
	}
	return &epochs{root: root, judge: judge, issuers: map[issuerID]*token.Issuer{}}, nil
}

// issuer returns the key of a kind and epoch.
func (s *epochs) issuer(kind token.Kind, epoch uint32) (*token.Issuer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := issuerID{kind, epoch}
	if i := s.issuers[id]; i != nil {
		return i, nil
	}
	i, err := token.DeriveIssuer(&s.root.Seed, kind, epoch)
	if err != nil {
		return nil, err
	}
	if len(s.issuers) >= maxIssuers { // the days have gone by; whoever uses one still has it
		clear(s.issuers)
	}
	s.issuers[id] = i
	return i, nil
}

// hash is a keyed hash of 8 bytes.
func (s *epochs) hash(label string, parts ...[]byte) uint64 {
	var space [256]byte
	m := hmac.New(sha256.New, s.root.Key[:])
	m.Write(key.Info(space[:0], label, parts...))
	return binary.BigEndian.Uint64(m.Sum(space[:0]))
}

// scope is how kind and epoch stand as parts of a label.
func scope(k token.Kind, epoch uint32) (kind, number []byte) {
	return []byte{byte(k)}, binary.BigEndian.AppendUint32(nil, epoch)
}

// until is the day from which no token of the kind and epoch is good.
func until(k token.Kind, epoch uint32) Day { return Day(token.Ends(k, epoch) / 86_400) }

// Began returns the day of the root.
func (k *Keeper) Began() Day { return k.state.Load().root.Began }

// Announced returns what the descriptor says of tokens at this moment: it changes
// with the UTC day and with the root.
//
// spec: gate.md#issuer-keys
func (k *Keeper) Announced() (issuers []wire.Issuer, began Day, err error) {
	s, unix := k.state.Load(), k.cfg.Now().Unix()
	add := func(kind token.Kind, epoch, from, to uint32) error {
		for e := epoch - min(from, epoch); e <= epoch+to; e++ {
			i, err := s.issuer(kind, e)
			if err != nil {
				return err
			}
			issuers = append(issuers, wire.Issuer{Kind: uint64(kind), Epoch: uint64(e), Key: i.Public()})
		}
		return nil
	}
	if err := errors.Join(add(token.Member, token.MemberEpoch(unix), 1, 1), add(token.Guest, token.GuestEpoch(unix), 4, 1)); err != nil {
		return nil, 0, err
	}
	return issuers, s.root.Began, nil
}
