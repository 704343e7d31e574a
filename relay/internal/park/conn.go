package park

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

const (
	largest    = wire.TakeHeader + wire.MaxTake*wire.ProofSize // bytes of a frame
	smallFrame = 4 << 10                                       // one of more takes part of the room
)

// writer writes to a connection, whole frames at a time.
type writer struct {
	nc net.Conn
	mu sync.Mutex // held while writing
}

// write writes b in pieces, each of which the peer has to take in time.
func (w *writer) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		w.nc.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.nc.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// frame writes one binary frame.
func (w *writer) frame(payload []byte) error {
	return w.write(append(ws.AppendHeader(nil, ws.Binary, len(payload)), payload...))
}

// close says why the connection ends.
func (w *writer) close(code ws.Code) { w.write(ws.AppendClose(nil, code)) }

// read reads frames until the connection ends.
func (s *session) read() {
	defer close(s.frames)
	within := firstWithin
	for {
		f, op, code := s.next(within)
		switch {
		case code != 0:
			s.out.close(code)
			s.nc.Close()
			return
		case op == ws.Ping:
			if s.out.write(append(ws.AppendHeader(nil, ws.Pong, len(f)), f...)) != nil {
				return
			}
		case op == ws.Close:
			s.out.close(ws.Reply(f))
			s.nc.Close()
			return
		case op == ws.Binary:
			s.busy.Add(1)
			select {
			case s.frames <- f:
			case <-s.ctx.Done():
				return
			}
			within = idleWithin
		}
	}
}

// next reads one frame that begins within a time.
func (s *session) next(within time.Duration) (payload []byte, op ws.Op, code ws.Code) {
	var head [ws.MaxHeader]byte
	if code := s.begin(head[:2], within); code != 0 {
		return nil, 0, code
	}
	s.nc.SetReadDeadline(time.Now().Add(frameWithin))
	h, n := ws.Header{}, 2
	for h.Size == 0 {
		if h, code = ws.ParseHeader(head[:n], largest); code != 0 {
			return nil, 0, code
		}
		if h.Size == 0 {
			if _, err := io.ReadFull(s.nc, head[n:n+1]); err != nil {
				return nil, 0, ws.GoingAway
			}
			n++
		}
	}
	if h.Length > smallFrame {
		give, ok := s.p.room.Take(s.remote, int64(h.Length))
		if !ok {
			return nil, 0, ws.TryLater
		}
		defer give()
	}
	payload = make([]byte, h.Length)
	if _, err := io.ReadFull(s.nc, payload); err != nil {
		return nil, 0, ws.GoingAway
	}
	ws.Mask(payload, h.Key)
	return payload, h.Op, 0
}

// begin reads the first bytes of a frame. Silence while frames are being answered
// is no silence: the time counts from when the last was.
func (s *session) begin(b []byte, within time.Duration) ws.Code {
	first := within == firstWithin
	for {
		s.nc.SetReadDeadline(time.Now().Add(within))
		n, err := io.ReadFull(s.nc, b)
		if err == nil {
			return 0
		}
		if t, ok := err.(net.Error); !ok || !t.Timeout() || n > 0 || first {
			return ws.GoingAway
		}
		within = idleWithin
		if s.busy.Load() == 0 {
			if within -= time.Since(s.born.Add(time.Duration(s.done.Load()))); within <= 0 {
				return ws.GoingAway
			}
		}
	}
}
