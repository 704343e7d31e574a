package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	// parkLife is how long a message is parked at the most, everyday preset.
	parkLife = 7 * 24 * time.Hour
	// parkAfter is how long a device is silent before what waits for it is parked.
	parkAfter = time.Minute
)

// parkFor is how long what waits may be kept for somebody at their relay; zero:
// not at all.
func (o *Options) parkFor() time.Duration {
	switch {
	case o.Park < 0:
		return 0
	case o.Park == 0:
		return parkLife
	}
	return o.Park
}

// parker is what the outbox parks with.
//
// spec: delivery.md#parking
type parker struct{ c *Client }

// hours says for how long a row is parked: as its sender's preset has it, and not
// beyond its own life. 0: not at all.
func (p parker) hours(row *convo.Row) int {
	limit := p.c.opt.parkFor()
	if limit == 0 {
		return 0
	}
	if row.Until != 0 { // a hello waits for as long as it can be answered
		limit = time.Until(time.Unix(row.Until, 0))
	}
	if row.Expires != 0 {
		limit = min(limit, time.Until(time.Unix(row.Expires, 0)))
	}
	if row.Until == 0 && row.Expires == 0 {
		return int(limit / time.Hour)
	}
	return wholly(limit)
}

// wholly returns how many hours to ask for so that a relay keeps a cell no longer
// than d: it rounds the end up, to a day from 48 hours on, to an hour from 2 on.
//
// spec: park.md#life
func wholly(d time.Duration) int {
	hours := int(d / time.Hour)
	switch {
	case hours >= 72:
		return hours - 24
	case hours >= 3:
		return min(hours-1, 47)
	case d > time.Hour+time.Minute:
		return 1
	}
	return 0
}

// Park implements outbox.Parker.
func (p parker) Park(ctx context.Context, ids []int64) ([]outbox.Kept, error) {
	if p.c.opt.parkFor() == 0 {
		return nil, outbox.ErrNoPark
	}
	all, parcels := make([]outbox.Kept, len(ids)), make([]parcel, len(ids))
	for i, id := range ids {
		if id < 0 {
			parcels[i], all[i].Err = p.c.keys.parkCopy(ctx, -id, int(p.c.opt.parkFor()/time.Hour))
		} else {
			parcels[i], all[i].Err = p.c.keys.parcelOf(ctx, id, p.hours)
		}
		all[i].Err = parkError(all[i].Err)
	}
	p.c.opt.at(BoundaryParkSealed)
	var failed error
	for first := 0; first < len(ids); {
		next, batch := batchOf(parcels, first)
		if len(batch) > 0 && failed == nil {
			failed = p.send(ctx, parcels, all, first, next, batch)
		}
		if failed != nil {
			for i := first; i < next; i++ {
				if all[i].Err == nil {
					all[i].Err = failed
				}
			}
		}
		first = next
	}
	p.c.opt.at(BoundaryParkAnswered)
	if err := p.note(ctx, ids, all); err != nil {
		return nil, err
	}
	p.c.opt.at(BoundaryParkNoted)
	for _, k := range all {
		if k.Err == nil {
			return all, nil
		}
	}
	return all, failed
}

// batchOf returns the cells that go in one request, and the first row that is not
// in it: rows are not torn apart, and a request is for one route's relay.
func batchOf(parcels []parcel, first int) (next int, cells []transport.Parking) {
	for next = first; next < len(parcels); next++ {
		p := parcels[next]
		if len(p.cells) == 0 {
			continue
		}
		if len(cells) > 0 && (p.realm != parcels[first].realm || p.route != parcels[first].route || len(cells)+len(p.cells) > transport.MaxPark) {
			break
		}
		if len(cells) == 0 {
			first = next
		}
		cells = append(cells, p.cells...)
	}
	return next, cells
}

// send parks the rows from first to next, and fills in what became of each.
func (p parker) send(ctx context.Context, parcels []parcel, all []outbox.Kept, first, next int, cells []transport.Parking) error {
	var from parcel
	for i := first; i < next; i++ {
		if from = parcels[i]; len(from.cells) > 0 {
			break
		}
	}
	kept, err := p.c.park(ctx, from.realm, from.route, cells)
	if err != nil {
		return parkError(err)
	}
	for i := first; i < next; i++ {
		n := len(parcels[i].cells)
		if n == 0 {
			continue
		}
		all[i].Until, all[i].Err = whole(kept[:n], time.Now())
		kept = kept[n:]
	}
	return nil
}

// whole says until when all cells of a row are kept.
func whole(kept []transport.Kept, now time.Time) (until time.Time, err error) {
	for _, k := range kept {
		if k.Fate != transport.Parked {
			return time.Time{}, outbox.ErrFull
		}
		if end := now.Add(time.Duration(k.Hours) * time.Hour); until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until, nil
}

// park puts cells into a relay's keeping.
func (c *Client) park(ctx context.Context, realm contact.Realm, route int64, cells []transport.Parking) ([]transport.Kept, error) {
	relay, err := c.realms.relay(realm)
	if err != nil {
		return nil, err
	}
	name := c.realms.isolate(realm, route, addr.DayAt(c.keys.unix()))
	kept, err := relay.Park(ctx, transport.Park{Cells: cells, Isolate: name})
	if err == nil && len(kept) != len(cells) {
		err = errors.New("relay says what became of another number of cells")
	}
	return kept, err
}

// parkError is an error as the outbox knows it.
func parkError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, convo.ErrGone):
		return outbox.ErrGone
	case errors.Is(err, contact.ErrUnknown), errors.Is(err, outbox.ErrNoRoute):
		return outbox.ErrNoRoute
	case errors.Is(err, outbox.ErrGone):
		return outbox.ErrGone
	case errors.Is(err, transport.ErrNothing), errors.Is(err, contact.ErrNoDays), errors.Is(err, errShort):
		return outbox.ErrNoPark
	}
	return err
}

// note commits what is parked, and until when.
func (p parker) note(ctx context.Context, ids []int64, all []outbox.Kept) error {
	ctx = context.WithoutCancel(ctx) // it is parked, whatever ends here
	return p.c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		sum := &convo.Change{}
		for i, k := range all {
			if k.Err != nil {
				continue
			}
			if ids[i] < 0 {
				if err := p.c.groups.keepCopy(tx, -ids[i], k.Until.Unix()); err != nil {
					return nil, err
				}
				continue
			}
			ch, err := p.c.engine.Parked(tx, ids[i], k.Until.Unix())
			if errors.Is(err, convo.ErrGone) {
				continue
			}
			if err != nil {
				return nil, err
			}
			sum.Events = append(sum.Events, ch.Events...)
		}
		return sum, nil
	})
}

// parkOnce parks one body that is no row: an ack that nobody was there to take.
// It reports whether it is kept, or cannot be by this relay at all: then there is
// nothing to try again.
//
// spec: delivery.md#acks
func (c *Client) parkOnce(ctx context.Context, route *contact.RouteRecord, body wire.Body) (settled bool, err error) {
	hours := int(c.opt.parkFor() / time.Hour)
	if hours == 0 {
		return true, nil
	}
	of, err := c.keys.parcel([]*contact.RouteRecord{route}, []wire.Body{body}, hours)
	if err == nil {
		var kept []transport.Kept
		if kept, err = c.park(ctx, of.realm, of.route, of.cells); err == nil {
			return kept[0].Fate == transport.Parked, nil
		}
	}
	if errors.Is(parkError(err), outbox.ErrNoPark) {
		return true, nil
	}
	return false, err
}
