package park

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Errors of a Store that the feature and its callers branch on.
var (
	// ErrFull: there is no room on the disk. Nothing of the call was kept.
	ErrFull = errors.New("no room to park")
	// ErrStopped: the store does not run any more; nothing was changed.
	ErrStopped = errors.New("park store has stopped")
)

// RowCost is what a row counts against the bound of a store, in bytes: what it
// takes on disk with its share of pages that are partly empty.
const RowCost = 2048

// PageRows is how many rows Take returns at the most.
const PageRows = 64

// Row is a cell that is to wait.
type Row struct {
	Address wire.Address
	Until   int64 // unix seconds at which it is over; coarse, see Until
	Cell    wire.Cell
}

// Mark says where a page ended. The zero value is the start.
type Mark struct {
	Address wire.Address
	ID      wire.RowID
}

// Store keeps rows. Its methods may be called from any goroutine; an error that
// is none of the above means that the store itself failed. Bodies are kept
// sealed, under the key of their epoch.
//
// spec: park.md#what-a-relay-keeps
type Store interface {
	// Put keeps rows, at most wire.MaxParkItems, and returns a verdict for each.
	// What is ParkKept is given to every Take that begins after Put has returned.
	// A row that is there already and not over, the same cell at the same address,
	// is ParkKept and stays as it is. Of rows with a new cell those get ParkFull at whose
	// address wire.MaxParkRows wait, and those ParkNoRoom for which the store is at
	// its bound.
	Put(ctx context.Context, rows []Row, now time.Time) ([]wire.ParkVerdict, error)
	// Take returns a page of what waits at the addresses and is not over: the
	// first rows after a mark, in the order of address and id. The addresses are
	// sorted, without doubles, at most wire.MaxTake. The next page begins after the last row;
	// one of fewer than PageRows rows is the last.
	Take(ctx context.Context, addresses []wire.Address, after Mark, now time.Time) ([]wire.Parked, error)
	// Ack deletes rows of an address, at most wire.MaxAckRows, and returns how many
	// were there. None is there when it has returned, also after a crash.
	Ack(ctx context.Context, address wire.Address, ids []wire.RowID) (gone int, err error)
	// Sweep deletes the rows that are over at now or that would last longer
	// than until last, and the keys of epochs in which none can be. It leaves no
	// trace of them, and returns how many rows are left.
	Sweep(ctx context.Context, now, last time.Time) (left int, err error)
}

// Held is what a store has to say of a row without opening it, for an operator
// who is asked what there is at an address.
type Held struct {
	ID    wire.RowID
	Until int64 // unix seconds, coarse
}
