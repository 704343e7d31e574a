package redis

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// BenchmarkSpend is tokens that are spent, by 32 at a time, and what each takes of
// the server's memory for as long as it is good.
func BenchmarkSpend(b *testing.B) {
	rd := servers.NewRedis(b)
	s, err := Open(b.Context(), Options{URL: rd.URL(0), Random: zeros{}, Raise: new(raise).run})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Root(b.Context(), today, today); err != nil {
		b.Fatal(err)
	}
	used := func() float64 {
		info, err := s.client.Info(b.Context(), "memory").Result()
		if err != nil {
			b.Fatal(err)
		}
		_, info, _ = strings.Cut(info, "used_memory:")
		text, _, _ := strings.Cut(info, "\r")
		n, _ := strconv.ParseFloat(text, 64)
		return n
	}
	before := used()
	var n atomic.Uint64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m := gate.Mark{Until: today + 2, Hash: n.Add(1) * 0x9e3779b97f4a7c15, Request: 1}
			if v, err := s.Spend(b.Context(), m); err != nil || v != gate.First {
				b.Error(v, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "spends/s")
	b.ReportMetric((used()-before)/float64(b.N), "bytes/token") // with the 120 s for which its request is known
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
