package hub

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// BenchmarkPutDeliver puts one cell after the other over loopback and measures
// from the write of the put to the arrival of the cell, one in flight.
func BenchmarkPutDeliver(b *testing.B) {
	for _, way := range []string{"tcp", "tls", "unix"} {
		b.Run(way, func(b *testing.B) {
			w := real(b, way, Config{WindowBytes: 64 << 20})
			k := owner(b)
			a, br := w.rawWatch(k)
			p := w.openDeaf("/v1/put")
			go io.Copy(io.Discard, p.nc)
			cell := make([]byte, 4+wire.DeliverSize)
			took := make([]time.Duration, 0, b.N)
			var echo []byte
			b.ResetTimer()
			for n := range uint64(b.N) {
				put := putFrame(k, n)
				frame := mask(ws.Binary, put)
				at := time.Now()
				p.nc.Write(frame)
				if _, err := io.ReadFull(br, cell); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(at))
				if !bytes.Equal(cell[13:], put[8:]) {
					b.Fatal("got another cell")
				}
				echo = append(append(echo[:0], byte(wire.FrameEcho)), cell[5:13]...)
				a.nc.Write(mask(ws.Binary, echo))
			}
			b.StopTimer()
			report(b, took)
		})
	}
}

// report gives what the middle and the slow ones took.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	us := func(q float64) float64 {
		return float64(took[min(len(took)-1, int(q*float64(len(took))))].Nanoseconds()) / 1000
	}
	b.ReportMetric(us(0.5), "p50-µs")
	b.ReportMetric(us(0.99), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// rawWatch watches, and leaves what comes to the caller.
func (w *world) rawWatch(k []byte) (*watching, *bufio.Reader) {
	a := &watching{peer: w.openDeaf("/v1/watch")}
	br := bufio.NewReaderSize(a.nc, 64<<10)
	g, err := readFrame(br)
	if err != nil {
		w.t.Fatal(err)
	}
	a.server = [32]byte(g.p[1:])
	a.send(a.frame(0, w.period(), k))
	if _, err := readFrame(br); err != nil {
		w.t.Fatal(err)
	}
	return a, br
}

// BenchmarkThrough pushes cells from 8 putters to 8 watchers as fast as they go,
// 64 in flight each, with echoes and answers. One op is one cell delivered.
func BenchmarkThrough(b *testing.B) {
	for _, way := range []string{"tcp", "tls"} {
		b.Run(way, func(b *testing.B) {
			w := real(b, way, Config{WindowBytes: 64 << 20})
			const pairs = 8
			var wg sync.WaitGroup
			b.ResetTimer()
			for range pairs {
				k := owner(b)
				a, br := w.rawWatch(k)
				p := w.openDeaf("/v1/put")
				go io.Copy(io.Discard, p.nc)
				room := make(chan bool, 64)
				n := b.N/pairs + 1
				wg.Go(func() {
					frame := mask(ws.Binary, putFrame(k, 1))
					for range n {
						room <- true
						p.nc.Write(frame)
					}
				})
				wg.Go(func() {
					cell := make([]byte, 4+wire.DeliverSize)
					var echo []byte
					for range n {
						if _, err := io.ReadFull(br, cell); err != nil {
							b.Error(err)
							return
						}
						<-room
						if echo = append(echo, cell[5:13]...); br.Buffered() < len(cell) {
							a.nc.Write(mask(ws.Binary, append([]byte{byte(wire.FrameEcho)}, echo...)))
							echo = echo[:0]
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
