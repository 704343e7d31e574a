package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// errCycle is returned for a cell that was put and not taken, or not acked.
var errCycle = errors.New("a parked cell did not come back")

// MeasureParking puts, takes and acks cells through the store of parked cells
// alone, in an empty directory: what it can do on this machine, without a relay
// above it. Each of so many workers has so many cells (1 to 16) on their way, at an
// address of their own. It goes on until ctx ends and returns how many cells went
// all the way.
func MeasureParking(ctx context.Context, dir string, workers, cells int) (done int64, err error) {
	p, err := sqlite.OpenPark(sqlite.Options{Path: filepath.Join(dir, parkFile), Max: 1 << 30, Random: rand.Reader})
	if err != nil {
		return 0, err
	}
	below, stop := context.WithCancel(context.WithoutCancel(ctx))
	parts := newGroup(below)
	parts.run(p.Run)
	var all atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := parkingCycle(below, p, cells); err != nil {
					failed.Store(&err)
					return
				}
				all.Add(int64(cells))
			}
		})
	}
	wg.Wait()
	stop()
	err = errors.Join(parts.wait(), p.Close())
	if f := failed.Load(); f != nil {
		err = errors.Join(*f, err)
	}
	return all.Load(), err
}

// parkingCycle is one worker's round.
func parkingCycle(ctx context.Context, s park.Store, cells int) error {
	now := time.Now()
	rows := make([]park.Row, cells)
	rand.Read(rows[0].Address[:])
	for i := range rows {
		rows[i].Address, rows[i].Until = rows[0].Address, park.Until(now, 168, 720)
		rand.Read(rows[i].Cell[:])
	}
	if _, err := s.Put(ctx, rows, now); err != nil {
		return err
	}
	got, err := s.Take(ctx, []wire.Address{rows[0].Address}, park.Mark{}, now)
	if err != nil {
		return err
	}
	ids := make([]wire.RowID, len(got))
	for i := range got {
		ids[i] = got[i].ID
	}
	gone, err := s.Ack(ctx, rows[0].Address, ids)
	if err == nil && gone != cells {
		err = errCycle
	}
	return err
}
