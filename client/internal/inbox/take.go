package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/tacet-chat/tacet/client/transport"
)

// DayAddress is one address at which cells for this device may be parked in one
// day, with what opens them.
type DayAddress struct {
	Address
	// Open returns when what the cell said is committed; an error is trouble
	// with the store. It is as Opener.Open.
	Open func(ctx context.Context, c *transport.Cell) (Outcome, error)
	// Order says where a cell stands among others of its route, lowest first; 0
	// where nobody can tell. It changes nothing. nil: nobody can tell of any.
	Order func(ctx context.Context, c *transport.Cell) uint64
}

// DayKeys derives addresses of days.
type DayKeys interface {
	// Days returns the addresses at which something may be parked in a UTC day.
	Days(ctx context.Context, day uint64) ([]DayAddress, error)
}

// Parking takes what is parked. client/transport/relay implements it.
type Parking interface {
	Take(ctx context.Context, t transport.Take) error
}

// Taker takes what is parked for this device, day by day. It keeps nothing on
// disk: which days are to be taken is its owner's to know.
type Taker struct {
	Parking Parking
	Keys    DayKeys
	Rand    io.Reader
	// Apart, if not nil, is called between two connections: it waits for as long
	// as it takes that nobody joins them by their times.
	Apart func(ctx context.Context)
	// Time and Trouble are told the relay's signed seconds, and that the store
	// failed. They may be nil.
	Time    func(unix int64)
	Trouble func(error)

	once sync.Once
	rand *source
	seen *seen
}

// ErrStore is returned for a day of which something was left at the relay
// because the store failed.
var ErrStore = errors.New("what was parked could not be kept")

// Day takes all that is parked in a day: for contacts over one connection for
// each 4,096 of their addresses, and for each contact route over its own. It
// goes on after a connection that failed and returns the first error. nil means
// that nothing is left of the day at this moment.
//
// spec: delivery.md#taking
func (t *Taker) Day(ctx context.Context, day uint64) error {
	t.once.Do(func() { t.rand, t.seen = &source{r: t.Rand}, newSeen() })
	all, err := t.Keys.Days(ctx, day)
	if err != nil {
		return fmt.Errorf("deriving addresses: %w", err)
	}
	t.seen.forget(day - min(day, 1))
	opens := make(map[transport.Address]DayAddress, len(all))
	list := make([]Address, 0, len(all))
	for _, a := range all {
		opens[a.Owned.Address] = a
		list = append(list, a.Address)
	}
	var first error
	n := 0
	for _, own := range lanes(list) {
		if len(own) == 0 {
			continue // a day in which nobody could write
		}
		if n++; n > 1 && t.Apart != nil {
			t.Apart(ctx)
		}
		if err := t.lane(ctx, day, own, opens); err != nil && first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return first
}

// lane takes over one connection.
func (t *Taker) lane(ctx context.Context, day uint64, own []Address, opens map[transport.Address]DayAddress) error {
	name, err := t.rand.name()
	if err != nil {
		return err
	}
	decoys, err := t.rand.decoys(padded(len(own)) - len(own))
	if err != nil {
		return err
	}
	owned := make([]transport.Owned, 0, len(own))
	for _, a := range own {
		owned = append(owned, a.Owned)
	}
	set, err := t.rand.mixed(owned, decoys)
	if err != nil {
		return err
	}
	opening := context.WithoutCancel(ctx) // the end of a connection breaks off no commit
	var store error
	err = t.Parking.Take(ctx, transport.Take{
		Day: day, Set: set, Isolate: name, Time: t.Time,
		Deliver: func(batch []transport.Delivery) {
			for _, d := range sorted(opening, batch, opens) {
				if store == nil { // else one commit after the other would fail
					store = t.deliver(opening, day, opens[d.Address], d)
				}
			}
		},
	})
	if store != nil {
		if t.Trouble != nil {
			t.Trouble(store)
		}
		return fmt.Errorf("%w: %w", ErrStore, store)
	}
	return err
}

// sorted puts cells into the order in which they were written, as far as that can
// be told: a relay keeps none, and people want to read what they were told in turn.
func sorted(ctx context.Context, batch []transport.Delivery, opens map[transport.Address]DayAddress) []transport.Delivery {
	if len(batch) < 2 {
		return batch
	}
	type place struct {
		transport.Delivery
		route int64
		at    uint64
	}
	all := make([]place, 0, len(batch))
	for _, d := range batch {
		a := opens[d.Address]
		p := place{Delivery: d, route: a.Route}
		if a.Order != nil {
			p.at = a.Order(ctx, d.Cell)
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.at, b.at)) })
	for i, p := range all {
		batch[i] = p.Delivery
	}
	return batch
}

// deliver takes in one parked cell, and lets the relay delete it when what it
// said is committed, or when it never will be: garbage must not stay. A cell that
// cannot be taken now stays, and so does one that the store failed on.
func (t *Taker) deliver(ctx context.Context, day uint64, a DayAddress, d transport.Delivery) error {
	if a.Open == nil {
		d.Seen() // a decoy's: somebody found out where it is, and may have the room back
		return nil
	}
	nonce := nonceOf(d.Cell)
	if !t.seen.has(a.Route, day, nonce) {
		outcome, err := a.Open(ctx, d.Cell)
		switch {
		case err != nil:
			return err
		case outcome == Busy:
			return nil
		case outcome == Shown || outcome == Nothing:
			t.seen.add(a.Route, day, nonce)
		}
	}
	d.Seen()
	return nil
}
