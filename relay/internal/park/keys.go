package park

import (
	"context"
	"errors"
)

// ErrNoKeys: a Keys is empty: it lost what it had, or is new.
var ErrNoKeys = errors.New("there are no keys of parked cells")

// Keys keeps the keys of a store whose own place is no place for them: its log
// and files are copied, kept and put back. What is destroyed here is destroyed.
//
// spec: park.md#what-a-relay-keeps
type Keys interface {
	// ParkKeys returns the key of row ids and those of epochs. With make those
	// that are not there are made, else they are nil. It fails with ErrNoKeys.
	// The caller wipes them.
	ParkKeys(ctx context.Context, epochs []Epoch, make bool) (ids *Key, keys []*Key, err error)
	// BeginParkKeys makes a key of row ids where there is none.
	BeginParkKeys(ctx context.Context) error
	// DropParkKeys destroys the keys of epochs before first and after last.
	DropParkKeys(ctx context.Context, first, last Epoch) error
}
