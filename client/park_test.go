package client

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// lot is what a realm of the tests keeps for those who are away. Its owner may
// look into it and lie.
type lot struct {
	mu    sync.Mutex // guards the rest
	on    bool
	hours int
	rows  map[[16]byte]lotRow
	full  bool
	count int                               // cells that were parked
	takes map[string]int                    // by who took
	took  map[string][]uint64               // days, by who took
	fail  func(by string) error             // of a park
	cut   func(by string, day uint64) error // of a take, before anything comes
}

// errTestAway is what somebody gets who has no network.
var errTestAway = errors.New("no network")

type lotRow struct {
	transport.Parking
	until time.Time
}

func newLot() *lot {
	return &lot{rows: map[[16]byte]lotRow{}, takes: map[string]int{}, took: map[string][]uint64{}}
}

// parks turns parking on.
func (r *realm) parks(hours int) {
	r.lot.mu.Lock()
	defer r.lot.mu.Unlock()
	r.lot.on, r.lot.hours = hours > 0, hours
}

// left counts what waits, and throws away what is over.
func (r *realm) left() (n int) {
	r.lot.mu.Lock()
	defer r.lot.mu.Unlock()
	r.lot.sweep()
	return len(r.lot.rows)
}

// all returns what waits.
func (l *lot) all() (rows []lotRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rows {
		rows = append(rows, r)
	}
	return rows
}

// sweep throws away what is over. The caller holds the lock.
func (l *lot) sweep() {
	for id, row := range l.rows {
		if !time.Now().Before(row.until) {
			delete(l.rows, id)
		}
	}
}

func (e *endpoint) Park(_ context.Context, p transport.Park) ([]transport.Kept, error) {
	if err := e.asked("park", e.pin); err != nil {
		return nil, err
	}
	if e.Endpoint.Parted() {
		return nil, errTestAway
	}
	l := e.realm.lot
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on {
		return nil, transport.ErrNothing
	}
	if l.fail != nil {
		if err := l.fail(e.name); err != nil {
			return nil, err
		}
	}
	var out []transport.Kept
	for _, c := range p.Cells {
		k := transport.Kept{Hours: min(c.Hours, l.hours)}
		if l.full {
			k.Fate = transport.Full
		} else {
			var id [16]byte
			rand.Read(id[:])
			cell := *c.Cell
			c.Cell = &cell
			l.rows[id] = lotRow{c, time.Now().Add(time.Duration(k.Hours) * time.Hour)}
			l.count++
		}
		out = append(out, k)
	}
	return out, nil
}

func (e *endpoint) Take(_ context.Context, t transport.Take) error {
	if err := e.asked("take", e.pin); err != nil {
		return err
	}
	if e.Endpoint.Parted() {
		return errTestAway
	}
	l := e.realm.lot
	l.mu.Lock()
	if !l.on {
		l.mu.Unlock()
		return transport.ErrNothing
	}
	l.sweep()
	l.takes[e.name]++
	l.took[e.name] = append(l.took[e.name], t.Day)
	if l.cut != nil {
		if err := l.cut(e.name, t.Day); err != nil {
			l.mu.Unlock()
			return err
		}
	}
	mine := map[[16]byte]lotRow{}
	for _, o := range t.Set {
		proof := append([]byte("take"), o.Address[:]...)
		if sig, err := o.Sign(proof); err != nil || !ed25519.Verify(o.Address[:], proof, sig) {
			l.mu.Unlock()
			return transport.ErrRefused
		}
		for id, row := range l.rows {
			if row.Address == o.Address {
				mine[id] = row
			}
		}
	}
	l.mu.Unlock()
	held := false
	var batch []transport.Delivery
	seen := map[[16]byte]bool{}
	for id, row := range mine {
		cell := *row.Cell
		batch = append(batch, transport.Delivery{Address: row.Address, Cell: &cell, ID: id, Seen: func() { seen[id] = true }})
	}
	t.Deliver(batch)
	for id := range mine {
		held = held || !seen[id]
		if seen[id] {
			l.mu.Lock()
			delete(l.rows, id)
			l.mu.Unlock()
		}
	}
	if held {
		return transport.ErrHeld
	}
	return nil
}
