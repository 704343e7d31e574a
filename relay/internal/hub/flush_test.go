package hub

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// counted is a listener whose sockets count how often they are read and written
// without waiting, but for what the timer of life writes.
type counted struct {
	net.Listener
	mu   sync.Mutex
	took []*countedConn
}

type countedConn struct {
	net.Conn
	reads, writes atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	x := &countedConn{Conn: c}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, x)
	return x, nil
}

func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	return &countedRaw{raw, c}, err
}

type countedRaw struct {
	syscall.RawConn
	c *countedConn
}

func (r *countedRaw) Read(f func(uintptr) bool) error {
	err := r.RawConn.Read(f)
	r.c.reads.Add(1) // what it brought is handled after that
	return err
}

func (r *countedRaw) Write(f func(uintptr) bool) error {
	if !visiting() {
		r.c.writes.Add(1)
	}
	return r.RawConn.Write(f)
}

// visiting reports whether the caller is the timer that looks for signs of life,
// which writes what it finds: on a slow day in the middle of a read's cells.
func visiting() bool {
	at := make([]uintptr, 32)
	frames := runtime.CallersFrames(at[:runtime.Callers(2, at)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, ".(*conn).check") {
			return true
		}
		if !more {
			return false
		}
	}
}

// gathering collects what is written until it is let go in one piece.
type gathering struct {
	net.Conn
	on  bool
	out []byte
}

func (g *gathering) Write(b []byte) (int, error) {
	if !g.on {
		return g.Conn.Write(b)
	}
	g.out = append(g.out, b...)
	return len(b), nil
}

// TestOneWriteForEachReadAndWatcher: cells that are read together leave together,
// also when TLS cut them into records: a watcher is written to no more often
// than the putter is read.
func TestOneWriteForEachReadAndWatcher(t *testing.T) {
	for _, way := range []string{"tcp", "tls"} {
		t.Run(way, func(t *testing.T) {
			base, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ln := &counted{Listener: base}
			var gathered *gathering
			dial := func() net.Conn {
				c, err := net.Dial("tcp", base.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				gathered = &gathering{Conn: c}
				if way == "tls" {
					return tls.Client(gathered, &tls.Config{InsecureSkipVerify: true})
				}
				return gathered
			}
			served := net.Listener(ln)
			if way == "tls" {
				served = Listen(ln, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
			}
			w := newWorld(t, Config{}, served, dial)
			k := owner(t)
			var watchers []*bufio.Reader
			var echo []func(nonces []byte)
			for range 2 {
				a, br := w.rawWatch(k)
				watchers = append(watchers, br)
				echo = append(echo, func(nonces []byte) { a.send(append([]byte{byte(wire.FrameEcho)}, nonces...)) })
			}
			p := w.openDeaf("/v1/put")
			go io.Copy(io.Discard, p.nc)
			const batches, each = 20, 32
			w.rest()           // who has just written looks once more whether there is anything
			var pings [2]int64 // each is a write of its own, on a slow day
			from := ln.writes(3)
			reads := ln.took[2].reads.Load()
			for batch := range uint64(batches) {
				gathered.on = true
				for n := range uint64(each) {
					if _, err := p.nc.Write(mask(ws.Binary, putFrame(k, batch*each+n))); err != nil {
						t.Fatal(err)
					}
				}
				gathered.on = false
				if _, err := gathered.Conn.Write(gathered.out); err != nil {
					t.Fatal(err)
				}
				gathered.out = nil
				for i, br := range watchers {
					var nonces []byte
					for n := range uint64(each) {
						f, err := readFrame(br)
						for err == nil && f.op == ws.Ping {
							pings[i]++
							f, err = readFrame(br)
						}
						if err != nil || len(f.p) != wire.DeliverSize || !bytes.Equal(f.p[9:], putFrame(k, batch*each+n)[8:]) {
							t.Fatalf("got another frame, %v, want cell %d", err, batch*each+n)
						}
						nonces = append(nonces, f.p[1:9]...)
					}
					echo[i](nonces)
				}
			}
			reads = ln.took[2].reads.Load() - reads
			for i, before := range from[:2] {
				wrote := ln.writes(3)[i] - before
				t.Logf("%d cells, %d reads of the putter, %d writes to watcher %d, %d pings", batches*each, reads, wrote, i, pings[i])
				if wrote > reads+pings[i] {
					t.Errorf("got %d writes to watcher %d, want at most one for each of %d reads and %d pings", wrote, i, reads, pings[i])
				}
			}
			if reads > batches*each/4 {
				t.Errorf("got %d reads of %d cells; the test proves nothing", reads, batches*each)
			}
		})
	}
}

// rest waits until nobody writes to any connection.
func (w *world) rest() {
	still := func() bool {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		for c := range w.hub.conns {
			c.mu.Lock()
			busy := c.flushing
			c.mu.Unlock()
			if busy {
				return false
			}
		}
		return true
	}
	for !still() {
		runtime.Gosched()
	}
}

// writes returns how often each of the first n sockets was written to.
func (l *counted) writes(n int) (all []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.took[:n] {
		all = append(all, c.writes.Load())
	}
	return all
}

// TestWhatComesWithTheEndLeavesAtOnce: a cell that is read together with the end
// of its connection is written to the watcher by that connection. If it were
// only queued there, nobody else would write either: somebody is about to.
func TestWhatComesWithTheEndLeavesAtOnce(t *testing.T) {
	for _, way := range []string{"tls", "tls of net/http"} {
		t.Run(way, func(t *testing.T) {
			w := real(t, way, Config{})
			var gathered *gathering
			plain := w.dial
			w.dial = func() net.Conn {
				gathered = &gathering{Conn: plain().(*tls.Conn).NetConn()}
				cfg := &tls.Config{InsecureSkipVerify: true}
				if way != "tls" { // before TLS 1.3 crypto/tls returns bytes and the end in one call
					cfg.MaxVersion = tls.VersionTLS12
				}
				return tls.Client(gathered, cfg)
			}
			k := owner(t)
			a := w.watch(k)
			a.pong.Store(true)
			honest := w.openDeaf("/v1/put")
			go io.Copy(io.Discard, honest.nc)
			last := w.openDeaf("/v1/put")
			gathered.on = true
			last.nc.Write(mask(ws.Binary, putFrame(k, 1)))
			last.nc.(*tls.Conn).CloseWrite() // close_notify, in the same packet
			gathered.on = false
			gathered.SetWriteDeadline(time.Time{})
			if _, err := gathered.Conn.Write(gathered.out); err != nil {
				t.Fatal(err)
			}
			for left := 3; left > 2; { // until the hub has done with it
				time.Sleep(time.Millisecond)
				w.hub.mu.Lock()
				left = len(w.hub.conns)
				w.hub.mu.Unlock()
			}
			x := address(k)
			one, _ := w.hub.table.find(&x)
			one.mu.Lock()
			promised := one.promised
			one.mu.Unlock()
			if promised {
				t.Error("got somebody about to write to the watcher when the putter had gone, want nobody")
			}
			a.cell(k, 1)
			honest.send(putFrame(k, 2))
			a.cell(k, 2)
		})
	}
}
