package postgres

import (
	"crypto/rand"
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/redis"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// durable starts servers as a realm has them: what is committed survives a power cut.
func durable(b *testing.B) (*DB, *redis.Store) {
	pg, rd := servers.NewPostgres(b, servers.PostgresOptions{Durable: true, Settings: []string{"shared_buffers = 256MB"}}), servers.NewRedis(b)
	d, err := Open(b.Context(), Options{URL: pg.URL(""), Realm: [32]byte{1}, Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(d.Close)
	keys, err := redis.Open(b.Context(), redis.Options{URL: rd.URL(0), Random: rand.Reader, Raise: d.Raise})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { keys.Close() })
	return d, keys
}

// BenchmarkPark is a cell that is put, taken and acked, by 64 at a time, as the
// benchmark of the same name in package sqlite.
func BenchmarkPark(b *testing.B) {
	d, keys := durable(b)
	p := d.Park(1<<30, keys)
	now := time.Now()
	var device atomic.Uint32
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := storetest.NewRow(device.Add(1), 1)
			r.Until = park.Until(now, 168, 720)
			if v, err := p.Put(b.Context(), []park.Row{r}, now); err != nil || v[0] != wire.ParkKept {
				b.Error(v, err)
				return
			}
			got, err := p.Take(b.Context(), []wire.Address{r.Address}, park.Mark{}, now)
			if err != nil || len(got) != 1 {
				b.Error(len(got), err)
				return
			}
			if n, err := p.Ack(b.Context(), r.Address, []wire.RowID{got[0].ID}); err != nil || n != 1 {
				b.Error(n, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

// BenchmarkParkManyEpochs is the same where tables of 30 epochs are there.
func BenchmarkParkManyEpochs(b *testing.B) {
	d, keys := durable(b)
	p := d.Park(1<<30, keys)
	now := time.Now()
	for day := range uint32(30) {
		r := storetest.NewRow(1<<31+day, 1)
		r.Until = park.Until(now, uint16(24*(day+1)), 720)
		if _, err := p.Put(b.Context(), []park.Row{r}, now); err != nil {
			b.Fatal(err)
		}
	}
	var device atomic.Uint32
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := storetest.NewRow(device.Add(1), 1)
			r.Until = park.Until(now, 168, 720)
			if v, err := p.Put(b.Context(), []park.Row{r}, now); err != nil || v[0] != wire.ParkKept {
				b.Error(v, err)
				return
			}
			got, err := p.Take(b.Context(), []wire.Address{r.Address}, park.Mark{}, now)
			if err != nil || len(got) != 1 {
				b.Error(len(got), err)
				return
			}
			if _, err := p.Ack(b.Context(), r.Address, []wire.RowID{got[0].ID}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

// BenchmarkTakeFrame is a whole take frame of 512 addresses at which nothing
// waits, with tables of 30 epochs.
func BenchmarkTakeFrame(b *testing.B) {
	d, keys := durable(b)
	p := d.Park(1<<30, keys)
	now := time.Now()
	for day := range uint32(30) {
		r := storetest.NewRow(1<<31+day, 1)
		r.Until = park.Until(now, uint16(24*(day+1)), 720)
		if _, err := p.Put(b.Context(), []park.Row{r}, now); err != nil {
			b.Fatal(err)
		}
	}
	addresses := make([]wire.Address, wire.MaxTake)
	for i := range addresses {
		addresses[i][0], addresses[i][1] = byte(i>>8), byte(i)
	}
	for b.Loop() {
		if _, err := p.Take(b.Context(), addresses, park.Mark{}, now); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBlob is a blob of 16 KiB that is put, by 32 at a time.
func BenchmarkBlob(b *testing.B) {
	d, _ := durable(b)
	s := d.Blobs(1 << 40)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			e := storetest.NewEntry(1, 16<<10)
			rand.Read(e.ID[:])
			e.Hash = sha256.Sum256(e.Content)
			if _, err := s.Create(b.Context(), e, blob.Day(20_000)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "blobs/s")
}
