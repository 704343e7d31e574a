package memory

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// Park is a park.Store that forgets all with the process. Bodies are sealed all
// the same: so what was copied out of memory while an epoch ran, to a swap file
// or a core, opens no more once its key is gone.
type Park struct {
	max    int
	random io.Reader

	mu   sync.Mutex // guards the below
	ids  park.Key
	keys map[park.Epoch]*park.Key
	rows map[wire.Address]map[wire.RowID]*parked
	n    int
}

type parked struct {
	until int64
	body  [park.BodySize]byte
}

// NewPark returns an empty store of at most max bytes, with keys from random.
func NewPark(max int64, random io.Reader) (*Park, error) {
	p := &Park{
		max: int(max / park.RowCost), random: random,
		keys: map[park.Epoch]*park.Key{}, rows: map[wire.Address]map[wire.RowID]*parked{},
	}
	_, err := io.ReadFull(random, p.ids[:])
	return p, err
}

// Put keeps rows.
func (p *Park) Put(_ context.Context, rows []park.Row, now time.Time) ([]wire.ParkVerdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdicts := make([]wire.ParkVerdict, len(rows))
	for i := range rows {
		var err error
		if verdicts[i], err = p.put(&rows[i], now.Unix()); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// put keeps one row. Callers hold mu, as for all below.
func (p *Park) put(r *park.Row, now int64) (wire.ParkVerdict, error) {
	id := park.RowID(&p.ids, &r.Address, &r.Cell)
	at := p.rows[r.Address]
	old := at[id]
	switch {
	case old != nil && now < old.until:
		return wire.ParkKept, nil
	case old != nil:
		p.drop(r.Address, id)
	case len(at) >= wire.MaxParkRows:
		return wire.ParkFull, nil
	case p.n >= p.max:
		return wire.ParkNoRoom, nil
	}
	epoch := park.EpochOf(r.Until)
	key := p.keys[epoch]
	if key == nil {
		var err error
		if key, err = park.NewKey(p.random); err != nil {
			return 0, err
		}
		p.keys[epoch] = key
	}
	if p.rows[r.Address] == nil {
		p.rows[r.Address] = map[wire.RowID]*parked{}
	}
	row := &parked{until: r.Until}
	park.AppendBody(row.body[:0], key, &id, &r.Address, &r.Cell)
	p.rows[r.Address][id] = row
	p.n++
	return wire.ParkKept, nil
}

// drop deletes a row, and overwrites it: memory outlives what is in it.
func (p *Park) drop(a wire.Address, id wire.RowID) bool {
	row := p.rows[a][id]
	if row == nil {
		return false
	}
	clear(row.body[:])
	delete(p.rows[a], id)
	if len(p.rows[a]) == 0 {
		delete(p.rows, a)
	}
	p.n--
	return true
}

// Take returns a page of what waits.
func (p *Park) Take(_ context.Context, addresses []wire.Address, after park.Mark, now time.Time) ([]wire.Parked, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var page []wire.Parked
	for _, a := range addresses {
		order := bytes.Compare(a[:], after.Address[:])
		if order < 0 {
			continue
		}
		var ids []wire.RowID
		for id, row := range p.rows[a] {
			if now.Unix() < row.until && (order > 0 || bytes.Compare(id[:], after.ID[:]) > 0) {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(x, y wire.RowID) int { return bytes.Compare(x[:], y[:]) })
		for _, id := range ids {
			if page == nil { // at once: what grows leaves copies of cells behind
				page = make([]wire.Parked, 0, park.PageRows)
			}
			row := p.rows[a][id]
			page = page[:len(page)+1]
			w := &page[len(page)-1]
			w.ID, w.Address = id, a
			if !park.OpenBody(&w.Cell, row.body[:], p.keys[park.EpochOf(row.until)], &id, &a) {
				panic("memory: a parked body does not open") // nobody else writes here
			}
			if len(page) == park.PageRows {
				return page, nil
			}
		}
	}
	return page, nil
}

// Ack deletes rows of an address.
func (p *Park) Ack(_ context.Context, a wire.Address, ids []wire.RowID) (gone int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if p.drop(a, id) {
			gone++
		}
	}
	return gone, nil
}

// Sweep deletes what is over or would last too long, and keys that none needs.
func (p *Park) Sweep(_ context.Context, now, last time.Time) (left int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, at := range p.rows {
		for id, row := range at {
			if row.until <= now.Unix() || row.until > last.Unix() {
				p.drop(a, id)
			}
		}
	}
	for epoch, key := range p.keys {
		if epoch.Over(now) || epoch > park.EpochOf(last.Unix()) {
			key.Wipe()
			delete(p.keys, epoch)
		}
	}
	return p.n, nil
}

var _ park.Store = (*Park)(nil)

// Held lists what waits at an address.
func (p *Park) Held(_ context.Context, a wire.Address) (all []park.Held, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, row := range p.rows[a] {
		all = append(all, park.Held{ID: id, Until: row.until})
	}
	return all, nil
}
