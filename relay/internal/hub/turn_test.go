//go:build unix

package hub

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// still is a socket in a bubble of virtual time: the test says when there is
// something to read, and nobody reads what the hub writes.
type still struct {
	net.Conn // nil: nothing may wait
	fd, peer int
	ready    chan struct{}
}

func newStill(t *testing.T) *still {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		t.Cleanup(func() { syscall.Close(fd) })
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	return &still{nil, fds[0], fds[1], make(chan struct{})}
}

func (s *still) SyscallConn() (syscall.RawConn, error) { return rawStill{s}, nil }
func (s *still) Close() error                          { close(s.ready); return nil }

// says gives the hub something to read.
func (s *still) says(t *testing.T, b []byte) {
	if _, err := syscall.Write(s.peer, b); err != nil {
		t.Fatal(err)
	}
	s.ready <- struct{}{}
	synctest.Wait()
}

type rawStill struct{ *still }

func (s rawStill) Control(f func(uintptr)) error    { f(uintptr(s.fd)); return nil }
func (s rawStill) Write(f func(uintptr) bool) error { f(uintptr(s.fd)); return nil }
func (s rawStill) Read(f func(uintptr) bool) error {
	for !f(uintptr(s.fd)) {
		if _, ok := <-s.ready; !ok {
			return net.ErrClosed
		}
	}
	return nil
}

// TestNobodyIsJudgedWhileWaitingForATurn: neither for half a frame nor for a
// ping, since it is the relay that does not read.
func TestNobodyIsJudgedWhileWaitingForATurn(t *testing.T) {
	for _, what := range []string{"half a frame", "a ping"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := New(Config{Time: seed(t)})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- h.Run(ctx) }()
				s := newStill(t)
				c, err := h.adopt(s, gate.Put, true)
				if err != nil {
					t.Fatal(err)
				}
				c.release = func() {}
				go c.serve()
				frame := mask(ws.Binary, putFrame(owner(t), 1))
				s.says(t, frame)
				if what == "half a frame" {
					s.says(t, frame[:100])
					frame = frame[100:]
				}
				if what == "a ping" {
					time.Sleep(wire.PingDefault + time.Second)
				}
				synctest.Wait()
				c.turn.done = 2 * lightBurst
				for range cap(h.turns) {
					h.turns <- struct{}{}
				}
				s.says(t, frame)
				time.Sleep(2 * frameWithin)
				for range cap(h.turns) {
					<-h.turns
				}
				synctest.Wait()
				q := c.role.(*putter)
				q.rmu.Lock()
				if q.open != 1 {
					t.Errorf("got %d puts after a minute of waiting for a turn, want the one that lay there", q.open)
				}
				q.rmu.Unlock()
				time.Sleep(2 * time.Second)
				stop()
				<-ended
			})
		})
	}
}

// standing is a bus on which everything takes long.
type standing struct{ bus.Alone }

func (standing) Unwatch([]wire.Address) { time.Sleep(time.Second) }

// TestNoTurnIsHeldWhileTheBusTakesLong: what waits for others lets the next one read.
func TestNoTurnIsHeldWhileTheBusTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{Time: seed(t), Bus: standing{}})
		w := new(watcher)
		w.init(h, deafConn{}, gate.Watch, w)
		h.turns <- struct{}{}
		w.turn.has = true
		done := make(chan ws.Code)
		go func() { done <- w.message(append([]byte{byte(wire.FrameUnwatch)}, make([]byte, 32)...), h.now()) }()
		synctest.Wait()
		if len(h.turns) != 0 || !w.busy.Load() {
			t.Errorf("got %d turns held, busy %v, while the bus is told; want none and busy", len(h.turns), w.busy.Load())
		}
		if code := <-done; code != 0 || w.busy.Load() {
			t.Errorf("got code %d, busy %v after it, want 0 and not busy", code, w.busy.Load())
		}
	})
}
