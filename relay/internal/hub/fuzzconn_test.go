package hub

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// FuzzConnection: whatever comes in on a connection, in whatever pieces, it ends
// or is answered in good frames, and leaves nothing behind when it is gone.
func FuzzConnection(f *testing.F) {
	h := New(Config{Realm: realm, Time: seed(f), WindowBytes: 2 << 20})
	for range 2 {
		go h.verify(nil)
	}
	all := exchanges()
	for i := 0; i < len(all); i += 7 {
		if len(all[i].says) < 4000 {
			f.Add(i%14 == 0, all[i].says, []byte{3, 60})
		}
	}
	p := watching{}
	f.Add(false, mask(ws.Binary, make([]byte, 2*wire.PutSize)), []byte{255})
	f.Add(true, mask(ws.Binary, p.frame(wire.FlagReplay, h.period(), owner(f))), []byte{11})
	f.Add(true, slices.Concat(mask(ws.Binary, append([]byte{byte(wire.FrameUnwatch)}, make([]byte, 64)...)), mask(ws.Pong, nil), closing(1000, "")), []byte{1})
	f.Add(true, mask(ws.Binary, append([]byte{byte(wire.FrameEcho)}, make([]byte, 16)...)), []byte{})
	f.Fuzz(func(t *testing.T, watch bool, says, pieces []byte) {
		what := gate.Put
		if watch {
			what = gate.Watch
		}
		there, here := net.Pipe()
		c, err := h.adopt(here, what, true)
		if err != nil {
			t.Fatal(err)
		}
		c.release = func() {}
		go c.serve()
		go func() { // and then what ends every frame that has begun, and breaks the next
			b := slices.Concat(says, closing(1000, ""), make([]byte, wire.MaxPuts*wire.PutSize+2*ws.MaxHeader))
			for i := 0; len(b) > 0; i++ {
				n := len(b)
				if len(pieces) > 0 && len(b) > wire.MaxPuts*wire.PutSize {
					n = min(n, 1+int(pieces[i%len(pieces)])*8)
				}
				if _, err := there.Write(b[:n]); err != nil {
					return
				}
				b = b[n:]
			}
		}()
		hears, err := io.ReadAll(there) // its end is the relay's doing
		if err != nil {
			t.Fatal(err)
		}
		there.Close()
		checkHeard(t, hears)
		checkNothingLeft(t, h)
	})
}

// checkHeard: what a client hears are frames, pongs and messages of known sizes,
// and a close frame at the end, whatever it said.
func checkHeard(t *testing.T, b []byte) {
	t.Helper()
	r := bytes.NewReader(b)
	for {
		f, err := readFrame(r)
		if err != nil {
			t.Fatalf("got %v, want a close frame at the end of %d bytes", err, len(b))
		}
		switch {
		case f.op == ws.Binary && len(f.p) > 0, f.op == ws.Pong && len(f.p) <= ws.MaxControl:
		case f.op == ws.Close && len(f.p) == 2 && ws.Reply(f.p) != 0:
			if r.Len() != 0 {
				t.Fatalf("got %d bytes after the close frame", r.Len())
			}
			return
		default:
			t.Fatalf("got opcode %d, %x", f.op, f.p)
		}
	}
}

// checkNothingLeft waits until all goroutines of connections have ended, and
// looks for what they could have left.
func checkNothingLeft(t *testing.T, h *Hub) {
	t.Helper()
	for {
		h.mu.Lock()
		active, conns := h.active, len(h.conns)
		h.mu.Unlock()
		if active == 0 {
			if conns != 0 {
				t.Fatalf("got %d connections left", conns)
			}
			break
		}
		runtime.Gosched()
	}
	for i := range h.table.shards {
		if s := &h.table.shards[i]; len(s.one)+len(s.many) != 0 {
			t.Fatal("got an address left behind")
		}
	}
	for _, w := range h.wheels {
		for i := range w.slots {
			if s := &w.slots[i]; s.next != s {
				t.Fatal("got a timer left behind")
			}
		}
	}
}
