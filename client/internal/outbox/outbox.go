// Package outbox keeps offering what waits until the device it is for acks it.
// It decides when a copy goes and to whom next; it holds a few words per copy
// and never the sealed bytes, which it asks for again at every try, so that a
// retry is always a fresh outer seal under the present period.
//
// It belongs to the moving half of the client: it sees the network and never
// plaintext. It keeps nothing on disk, decides nothing about content and never
// drops a copy: rows leave by Remove, which the owner calls on the device's ack
// or on unsending, and by the end of their lifetime.
//
// Spec: docs/spec/delivery.md.
package outbox

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Errors that a Sealer answers with. Others mean trouble with the store: the
// copy rests and is tried again.
var (
	// ErrNoRoute: there is no way to the device yet. The copy waits until
	// something is heard from it.
	ErrNoRoute = errors.New("no route to the device yet")
	// ErrGone: the row was deleted in the meantime.
	ErrGone = errors.New("row is gone")
)

// Errors that a Parker answers with for a copy, beside ErrGone and ErrNoRoute.
var (
	// ErrFull: too much waits for the device already, or for everybody. The copy
	// waits here and is tried again.
	ErrFull = errors.New("no room to park the copy")
	// ErrNoPark: this copy is not parked, or nothing is for its device.
	ErrNoPark = errors.New("the copy is not parked")
)

// errRunning is returned by a second Run.
var errRunning = errors.New("outbox is running already")

// errNoCells is what a copy rests with whose Sealer gave nothing to put.
var errNoCells = errors.New("sealer gave no cells")

// State says how far a copy got. It only goes up: that a device had the copy at
// one moment stays true when the device falls silent later.
type State byte

// States of a copy, in the order people see them.
const (
	Queued  State = 1 // here, on this device
	Offered State = 2 // the transport took it and answered
	Live    State = 3 // a live device opened it
)

// Item is one copy for one device.
type Item struct {
	ID      int64
	Peer    int64 // the device it goes to
	Order   int64 // smallest first
	State   State
	Born    time.Time // when it was written
	Expires time.Time // zero: never
	Kept    time.Time // until when it is parked for the device; zero: it is not
	Hello   bool      // it is parked as soon as nobody took it, without waiting
}

// Sealed is one cell, ready to be put.
type Sealed struct {
	Address transport.Address
	Cell    *transport.Cell
	ID      transport.CellID
	Isolate string
}

// Store keeps the rows. Its methods are called from several goroutines.
type Store interface {
	// Items returns all rows.
	Items(ctx context.Context) ([]Item, error)
	// Mark raises a row's state. A row that is gone is no error.
	Mark(ctx context.Context, id int64, s State) error
	// Expire ends rows whose lifetime is over. Rows that are gone are no error.
	Expire(ctx context.Context, ids []int64) error
}

// Sealer makes the cells of one try: one for a message, four for a hello. It is
// called from several goroutines, and for every try anew.
type Sealer interface {
	Seal(ctx context.Context, id int64) ([]Sealed, error) // ErrNoRoute, ErrGone
}

// Parker has copies kept for a device that is away, at the relay where it looks
// when it comes back.
//
// spec: delivery.md#parking
type Parker interface {
	// Park parks copies for one device, at most MaxPark, each sealed anew for
	// that, and notes it in the store. It returns what became of each, in order.
	// An error is about all of them: ErrNoPark, where nothing is parked for this
	// device, or trouble on the way there.
	Park(ctx context.Context, ids []int64) ([]Kept, error)
}

// Kept says until when a copy is kept, or why it is not.
type Kept struct {
	Until time.Time
	Err   error // ErrGone, ErrNoRoute, ErrFull, ErrNoPark, or trouble with the store
}

// Config is what an Outbox works with. Changed and Trouble may be nil; they are
// called from the goroutines of Run, with no lock held, and must return soon.
type Config struct {
	Transport transport.Transport
	Store     Store
	Sealer    Sealer
	Rand      io.Reader // read with a lock held: it must not block
	// Parker may be nil: nothing is parked. After ParkAfter of silence a device
	// counts as away for long, zero: at once.
	Parker    Parker
	ParkAfter time.Duration
	// Changed is called when a row's state went up and the store has it.
	Changed func(id int64, s State)
	// Trouble is called with what a person should see: a refusal, a wrong
	// identity, a store that fails. id is 0 where it holds back everything to a
	// device, and peer too where it is about the store as a whole. The rows stay.
	Trouble func(id, peer int64, err error)
	// Waker is told of devices that fall silent; nil: nobody is.
	Waker Waker
}

// Status is what there is to say about one device.
type Status struct {
	Waiting int       // copies that wait for the device's ack
	Live    int       // how many of them a live device has
	Kept    int       // how many of them are parked for it
	Silent  bool      // nobody took the last copy, and the transport was sure of it
	Blocked error     // why nothing goes for the moment; nil: copies go
	Next    time.Time // when something is tried again by itself; zero: nothing is planned
}

// Outbox offers copies. Its methods may be called from any goroutine, before,
// during and after Run.
type Outbox struct {
	cfg  Config
	live bool          // the transport's counts mean something
	wake chan struct{} // capacity 1

	mu       sync.Mutex // guards all below, and rows and peers
	rows     map[int64]*row
	peers    map[int64]*peer
	turns    []*peer // those with ready copies, the next one first
	alarms   alarms
	flying   int
	soonest  time.Time // the first end of a lifetime; zero: there is none
	ended    []int64   // lifetimes that the store does not know to be over yet
	retry    time.Time // when to tell it again
	broken   error     // randomness failed
	running  bool
	sleepers []int64       // devices that the waker is still to be told of
	rested   chan struct{} // closed and replaced when something has landed
}

// New makes an Outbox. It offers nothing before Run.
func New(cfg Config) *Outbox {
	return &Outbox{
		cfg: cfg, live: cfg.Transport.Caps().LiveCount, wake: make(chan struct{}, 1), rested: make(chan struct{}),
		rows: map[int64]*row{}, peers: map[int64]*peer{},
	}
}

// Add takes in a row that the store has just committed. A known one is ignored.
func (o *Outbox) Add(it Item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.rows[it.ID]; r != nil {
		if it.Kept.IsZero() { // sealed again: what is parked of it may open no more
			o.unpark(r)
		}
		return
	}
	p := o.peers[it.Peer]
	if p == nil {
		p = newPeer(it.Peer)
		o.peers[it.Peer] = p
	}
	r := newRow(it, p)
	o.rows[it.ID], p.rows[it.ID] = r, r
	o.soonest = earlier(o.soonest, it.Expires)
	o.begins(r, time.Now())
	o.kick()
}

// Remove forgets rows that a device acked or that were taken back. When it
// returns nothing more is sent for them but what is in flight already.
func (o *Outbox) Remove(ids ...int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		if r := o.rows[id]; r != nil {
			o.detach(r)
		}
	}
	o.kick()
}

// Heard says that a cell came from the device: everything that waits for it
// goes. It is also what makes copies without a route look for one again.
func (o *Outbox) Heard(peer int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.peers[peer]; p != nil {
		o.heard(p, time.Now())
		o.kick()
	}
}

// Found says that something of the device was found where it was parked: it may
// be away again, but what has no route to it may find one now.
func (o *Outbox) Found(peer int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.peers[peer]; p != nil {
		for _, r := range p.rows {
			if r.phase == unrouted {
				o.ready(r)
			}
		}
		o.kick()
	}
}

// Reconnected says that the link was down and is back: everything goes at once.
func (o *Outbox) Reconnected() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, p := range o.peers {
		o.renew(p, now)
	}
	o.kick()
}

// Status says how things stand with a device.
func (o *Outbox) Status(peer int64) Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.peers[peer]
	if p == nil {
		return Status{}
	}
	s := Status{Waiting: len(p.rows), Silent: p.mode == silent && p.known, Next: p.alarm.when}
	for _, r := range p.rows {
		if r.State >= Live {
			s.Live++
		}
		if r.phase == kept {
			s.Kept++
		}
		if w := r.alarm.when; !w.IsZero() && (s.Next.IsZero() || w.Before(s.Next)) {
			s.Next = w
		}
	}
	if p.mode == blocked || p.mode == trying {
		s.Blocked = p.blame
	}
	return s
}

// landed tells those who wait for everything to rest.
func (o *Outbox) landed() {
	close(o.rested)
	o.rested = make(chan struct{})
}

// kick makes Run look again.
func (o *Outbox) kick() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// detach forgets a row. What is in flight for it still tells about the device.
func (o *Outbox) detach(r *row) {
	p := r.peer
	r.gone = true
	o.leave(r)
	delete(o.rows, r.ID)
	delete(p.rows, r.ID)
	if p.probe == r && r.phase != flying {
		p.probe = nil // it stood in a full queue: the next answer sets the alarm
	}
	o.forget(p)
}

// forget drops a device that nothing waits for.
func (o *Outbox) forget(p *peer) {
	if len(p.rows) == 0 && p.flying == 0 && o.peers[p.id] == p {
		o.alarms.stop(&p.alarm)
		delete(o.peers, p.id)
	}
}

// sweep takes out rows whose lifetime is over.
func (o *Outbox) sweep(now time.Time) {
	if o.soonest.IsZero() || now.Before(o.soonest) {
		return
	}
	o.soonest = time.Time{}
	for _, r := range o.rows {
		if r.Expires.IsZero() || now.Before(r.Expires) {
			o.soonest = earlier(o.soonest, r.Expires)
			continue
		}
		o.ended = append(o.ended, r.ID)
		o.detach(r)
	}
	slices.Sort(o.ended)
}
