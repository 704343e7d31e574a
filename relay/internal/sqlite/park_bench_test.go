package sqlite

import (
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// BenchmarkPark is a cell that is put, taken and acked, by 64 at a time.
func BenchmarkPark(b *testing.B) {
	p, err := OpenPark(Options{Path: b.TempDir() + "/park.db", Max: 1 << 30, Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	go p.Run(b.Context())
	now := time.Now()
	var device atomic.Uint32
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := storetest.NewRow(device.Add(1), 1)
			r.Until = park.Until(now, 168, 720)
			if v, err := p.Put(b.Context(), []park.Row{r}, now); err != nil || v[0] != 0 {
				b.Fatal(v, err)
			}
			got, err := p.Take(b.Context(), []wire.Address{r.Address}, park.Mark{}, now)
			if err != nil || len(got) != 1 {
				b.Fatal(len(got), err)
			}
			if n, err := p.Ack(b.Context(), r.Address, []wire.RowID{got[0].ID}); err != nil || n != 1 {
				b.Fatal(n, err)
			}
		}
	})
}
