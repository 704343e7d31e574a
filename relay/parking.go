package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// parking is the role "park" of a relay. The zero value is none.
type parking struct {
	*park.Parking
	disk    *sqlite.Park // nil without a data directory
	held    holder       // the same store
	waiting atomic.Int64 // rows, as of the last sweep
}

// openParking opens the store and puts the feature over it.
func (r *Relay) openParking() error {
	room := int64(r.cfg.ParkMiB) << 20
	var store park.Store
	if r.shared.db != nil {
		p := r.shared.db.Park(room, r.shared.redis)
		store, r.parked.held = p, p
	} else if r.cfg.Data == "" {
		room = min(room, maxMemory)
		m, err := memory.NewPark(room, rand.Reader)
		if err != nil {
			return err
		}
		store, r.parked.held = m, m
	} else {
		d, err := sqlite.OpenPark(sqlite.Options{Path: filepath.Join(r.cfg.Data, parkFile), Max: room, Random: rand.Reader})
		if err != nil {
			return adviseParking(err, r.cfg.Data)
		}
		store, r.parked.disk, r.parked.held = d, d, d
	}
	cfg := park.Config{
		Store: store, Realm: r.public, Hours: r.parkHours(), Rows: room / park.RowCost, Live: time.Duration(r.cfg.Period) * time.Second,
		Binding: r.cfg.secure(), Alone: r.alone(), Limit: r.gate, Proofs: r.hub, Now: r.cfg.Now, Failed: r.parkFailed,
	}
	if r.keeper != nil { // else the feature counts by itself
		cfg.AdmitPut, cfg.AdmitTake = r.admitPark, r.admitTake
	}
	r.parked.Parking = park.New(cfg)
	return nil
}

func (r *Relay) parkHours() uint16 { return uint16(24 * r.cfg.ParkDays) }

// describeParking says in the descriptor what is on.
func (r *Relay) describeParking(d *wire.Descriptor) {
	if r.parked.Parking != nil {
		d.ParkHours = uint64(r.parkHours())
	}
}

// routeParking adds the calls.
//
// spec: park.md#park
func (r *Relay) routeParking(mux *http.ServeMux) {
	if r.parked.Parking != nil {
		mux.HandleFunc("POST /v1/park", r.parked.ServePut)
		mux.HandleFunc("GET /v1/take", r.parked.ServeTake)
	}
}

// runParking runs what takes and puts, and the sweep beside them.
func (r *Relay) runParking(front *group) {
	if r.parked.Parking == nil {
		return
	}
	front.run(r.parked.Run)
	front.run(r.sweepParking)
}

// sweepParking deletes parked cells whose time is over, at the start and then
// every sweepEvery. A failure is written down; the next one may work.
func (r *Relay) sweepParking(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if left, err := r.parked.Sweep(ctx); err == nil {
			r.parked.waiting.Store(int64(left))
		} else if ctx.Err() == nil {
			r.parkFailed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *Relay) closeParking() error {
	if r.parked.disk == nil {
		return nil
	}
	err := adviseParking(r.parked.disk.Close(), r.cfg.Data)
	r.parked.disk = nil
	return err
}

// parkFailed writes down that the store failed, and the sort of reason.
func (r *Relay) parkFailed(err error) {
	if c := cause(err); r.seldom.allow(eventPark+c, time.Now()) {
		r.log.Error(eventPark, "cause", c)
	}
}

// adviseParking says what to do about a store of parked cells that cannot be
// used. It is the one store that may be thrown away.
func adviseParking(err error, dir string) error {
	away := "move park.db and park.db-wal out of " + dir + ": cells that waited are lost with them, but no message is, since their senders still have them"
	switch {
	case errors.Is(err, sqlite.ErrNewer):
		return &Problem{err, "start the newer version again, or " + away}
	case errors.Is(err, ErrDamaged):
		return &Problem{err, away}
	case errors.Is(err, ErrForeign):
		return &Problem{err, "park.db in " + dir + " belongs to another program: use another data directory"}
	case errors.Is(err, park.ErrFull):
		return &Problem{err, "the disk of " + dir + " is full: free some space and start again"}
	}
	return advise(err, dir)
}
