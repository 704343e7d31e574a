//go:build unix

package gate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// cpu returns the processor time of this process so far, in microseconds.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}

// onDisk is a realm whose store is a file.
func onDisk(b *testing.B) *realm {
	store, err := sqlite.OpenGate(filepath.Join(b.TempDir(), "gate.db"), today, today, seeded())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- store.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, store.Close()); err != nil {
			b.Error(err)
		}
	})
	return open(b, func(c *gate.KeeperConfig) { c.Members, c.Spent = store, store })
}

// BenchmarkRedeem is what a token costs on the whole way from a request's header to
// the disk: go test ./relay/internal/gate -run - -bench Redeem -benchtime 2000x
func BenchmarkRedeem(b *testing.B) {
	r := onDisk(b)
	var list []token.Raw
	for len(list) < b.N {
		list = append(list, r.buy(b, r.joined(b), token.Member, uint32(today))...)
	}
	requests := make([]*http.Request, b.N)
	for i := range requests {
		requests[i] = watch(&list[i], uint64(i))
		requests[i].RemoteAddr = "@"
	}
	var next atomic.Int64
	b.SetParallelism(64)
	b.ResetTimer()
	before := cpu()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if status := r.Admit(requests[next.Add(1)-1], token.Watch, nil); status != 0 {
				b.Errorf("got status %d", status)
			}
		}
	})
	b.ReportMetric((cpu()-before)/float64(b.N), "cpu-µs/op")
}

// BenchmarkIssue is what a part of a batch costs the relay, 1,024 tokens.
func BenchmarkIssue(b *testing.B) {
	r := onDisk(b)
	batch, err := token.NewBatch(&[32]byte{9}, token.Member, uint32(today), 0)
	if err != nil {
		b.Fatal(err)
	}
	bodies := make([][]byte, b.N)
	for i := range bodies {
		var credential [32]byte
		rand.Read(credential[:])
		hash := gate.CredentialHash(credential[:])
		secret, _, err := gate.NewInvite(b.Context(), r.members, rand.Reader, 1, today)
		if err != nil {
			b.Fatal(err)
		}
		if status, _ := r.post("/v1/member", someone, append(secret[:], hash[:]...)); status != http.StatusNoContent {
			b.Fatal(status)
		}
		bodies[i] = ask(wire.ByCredential, token.Member, uint32(today), 0, credential[:], batch.Blinded())
	}
	b.ResetTimer()
	before := cpu()
	for _, body := range bodies {
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/token", bytes.NewReader(body))
		q.RemoteAddr = someone
		if r.ServeToken(w, q); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
	b.ReportMetric((cpu()-before)/float64(b.N), "cpu-µs/op")
}

// BenchmarkCell is what a paid context costs for each cell.
func BenchmarkCell(b *testing.B) {
	r := open(b, nil)
	list, id := todays(b, 1), [16]byte{}
	c, status := r.Context(bearing(&list[0], token.Member, uint32(today), token.PutContext, id[:]), id)
	if status != 0 {
		b.Fatal(status)
	}
	for b.Loop() {
		c.Cell()
	}
}
