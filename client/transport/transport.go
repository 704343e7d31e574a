// Package transport is the contract between Tacet's client and whatever
// carries its cells: opaque cells to and from opaque addresses, with the
// carrier's capabilities stated. It speaks bytes and imports nothing of ours,
// so that anyone can write one; transporttest has the suite to pass.
//
// A transport does not keep order, does not remove duplicates, does not retry
// and does not keep anything on disk: all of that lives above it.
package transport

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sizes in bytes, and the bound of a watch.
const (
	AddressSize = 32
	CellSize    = 1280
	MaxWatched  = 4096 // addresses on one watch, Set and More together
)

type (
	// Address is where a cell goes.
	Address [AddressSize]byte
	// Cell is one envelope, random-looking.
	Cell [CellSize]byte
	// CellID makes a put idempotent: the same id is the same put, tried again.
	CellID [16]byte
	// DeliveryID names a stored delivery for Ack.
	DeliveryID [16]byte
)

// Errors that a caller branches on. Others are temporary: try again later.
var (
	// ErrRefused: the other end refuses this for good; trying again is no use.
	ErrRefused = errors.New("refused by the transport")
	// ErrIdentity: the other end is not who was pinned. Never carry on.
	ErrIdentity = errors.New("the other end does not have the pinned key")
	// ErrFronted: TLS to the other end ends in front of it, which its user did not
	// allow. It is an ErrIdentity: who was pinned did not show itself.
	ErrFronted = fmt.Errorf("TLS ends in a program in front of the relay, which is weaker and was not allowed: %w", ErrIdentity)
	// ErrForeign: what answers is not of this transport at all, as a network's
	// sign-in page is not. It may be gone soon: try again later.
	ErrForeign = errors.New("what answers in its place is no relay")
	// ErrTime: the other end's signed time is not to be believed, or ours is not.
	ErrTime = errors.New("signed time is too far from the local clock")
	// ErrNothing: what was asked for is not there, or not any more.
	ErrNothing = errors.New("nothing is there")
	// ErrRoom: the other end has no room for it. It may have some later.
	ErrRoom = errors.New("no room at the other end")
	// ErrClosed: the transport was closed.
	ErrClosed = errors.New("transport is closed")
)

// Caps says what a transport can do.
type Caps struct {
	Stored       bool          // keeps cells for who is away
	Retention    time.Duration // for how long
	Acks         bool          // Ack deletes what is stored
	LiveCount    bool          // Receipt.Delivered counts devices that called Seen
	HidesAddress bool          // the other end does not see our network address
	Wakes        bool          // can wake a sleeping device
}

// Put is one cell on its way.
type Put struct {
	Address Address
	ID      CellID
	Cell    *Cell
	// Isolate names the connection to use: puts with different names share no
	// connection where the transport hides network addresses.
	Isolate string
}

// Receipt says what became of a put.
type Receipt struct {
	Delivered int  // devices that opened the cell and said so in time
	Complete  bool // false: Delivered is a lower bound
	Stored    bool // kept for who was away
}

// Owned is an address that the caller owns, with the means to prove it.
type Owned struct {
	Address Address
	// Sign signs an ownership proof: the transport builds the message, the
	// owner of the address signs it. It returns 64 bytes.
	Sign func(message []byte) ([]byte, error)
	// Replay asks for what the transport still holds for the address.
	Replay bool
}

// Watch asks for the cells of a set of addresses, all of one period, over one
// connection of its own. Deliver is required, the other callbacks may be nil.
type Watch struct {
	Period uint64 // the live period that all addresses belong to
	// Set is what to watch from the start: 1 to 4,096 addresses, those of More
	// included. It is the caller's to pad and to shuffle: it is sent as it is,
	// but for addresses with Replay, which go first.
	Set     []Owned
	Isolate string // as in Put
	// More brings further addresses of the same period for the connection that
	// is running. What a transport refuses ends the watch with an error, as it
	// does for Set. nil or closed: there are none.
	More <-chan []Owned
	// Ready is called once, when every address of Set is being watched.
	// since says how far back a replay reached (0: nothing was replayed).
	Ready func(since time.Duration)
	// Time is called with every signed time that was verified, in unix seconds,
	// as soon as it arrives. What to make of the distance from the local clock
	// is the callee's to decide. Ready and Time must not block: they are called
	// by the goroutine that reads the connection.
	Time func(unix int64)
	// Deliver is called for every cell, from one goroutine. Duplicates and any
	// order are allowed. It may take its time: reading goes on for a while.
	Deliver func(Delivery)
}

// Delivery is one cell that arrived.
type Delivery struct {
	Address Address
	Cell    *Cell      // the callee's own
	ID      DeliveryID // zeros where nothing is stored
	// Seen says that a device opened the cell and accepts its sender: the
	// receipt echo. It may be called from any goroutine and never blocks; a
	// second call and one after the end of the watch do nothing. Never nil.
	Seen func()
}

// Bounds of parking.
const (
	MaxPark  = 16   // cells in one Park
	MaxTaken = 4096 // addresses in one Take
	MaxBatch = 512  // cells that a Take delivers at a time
)

// Park asks the other end to keep cells for somebody who is away. Transports
// without it fail with ErrNothing.
type Park struct {
	Cells   []Parking // 1 to MaxPark
	Isolate string    // as in Put
}

// Parking is one cell to keep.
type Parking struct {
	Address Address
	Cell    *Cell
	Hours   int // for how long at the most, at least 1
}

// Fate says what became of a cell that was to be parked.
type Fate byte

// Fates of a cell.
const (
	Parked Fate = 0 // it is kept until its owner has it, for Hours at the least
	Full   Fate = 1 // too much is kept for this address already
	NoRoom Fate = 2 // too much is kept for everybody together
)

// Kept is the answer for one cell.
type Kept struct {
	Fate  Fate
	Hours int // asked for, or what the other end keeps a cell for at the longest
}

// Take asks for what is parked for addresses, all of one day, over a connection
// of its own.
type Take struct {
	Day uint64 // UTC, days since 1970
	// Set is 1 to MaxTaken addresses. It is the caller's to pad and to shuffle.
	Set     []Owned
	Isolate string
	// Time is as in Watch. It may be nil.
	Time func(unix int64)
	// Deliver is called with cells as they came, in any order, at most MaxBatch at
	// a time, from one goroutine; with all there are where they are fewer. Those
	// whose Seen it calls before it returns are deleted at the other end: only
	// what was committed may be, or what never will be.
	Deliver func([]Delivery)
}

// ErrHeld is returned by a take that brought everything, of which something was
// left where it lies because its Seen was not called.
var ErrHeld = errors.New("something was left at the relay")

// Transport carries cells.
type Transport interface {
	// Caps never changes during the life of a transport.
	Caps() Caps
	// Put returns when the fate of the cell is known or ctx ends. A put whose
	// connection broke before the answer is an error and no receipt, whatever
	// became of the cell: put it again. The cell is not kept after Put returned.
	Put(ctx context.Context, p Put) (Receipt, error)
	// Watch delivers until ctx ends or the connection breaks, and says why: its
	// error is never nil. It does not connect again.
	Watch(ctx context.Context, w Watch) error
	// Ack deletes stored deliveries. Transports without Acks do nothing.
	Ack(ctx context.Context, ids []DeliveryID) error
	// Close ends all connections and every call that is under way, with
	// ErrClosed, and returns when nothing of them is left running: so it must not
	// be called by Deliver.
	Close() error
}
