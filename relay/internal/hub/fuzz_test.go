package hub

import (
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// sink is a socket that takes everything and of which nothing comes.
type sink struct{ net.Conn }

func (sink) Write(b []byte) (int, error)      { return len(b), nil }
func (sink) SetWriteDeadline(time.Time) error { return nil }
func (sink) Close() error                     { return nil }
func (sink) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// noting is a role that notes what it is told.
type noting struct {
	conn
	log []string
}

func (n *noting) largest() int { return 10_000 }
func (n *noting) greet()       {}
func (n *noting) settle()      {}
func (n *noting) idle(int64)   {}
func (n *noting) leave()       {}
func (n *noting) gone()        {}
func (n *noting) message(p []byte, _ int64) ws.Code {
	n.log = append(n.log, fmt.Sprintf("%x", p))
	return 0
}

// hear feeds bytes to a reader, in pieces of those sizes in turn.
func hear(h *Hub, b, pieces []byte) []string {
	n := new(noting)
	n.init(h, sink{}, putRole, n)
	r := &reader{c: &n.conn, pool: &h.words}
	defer r.part(0)
	for i := 0; len(b) > 0; i++ {
		room := r.target()
		k := min(len(b), len(room))
		if len(pieces) > 0 {
			k = min(k, 1+int(pieces[i%len(pieces)])*int(pieces[i%len(pieces)]))
		}
		copy(room, b[:k])
		r.took(k)
		r.release()
		b = b[k:]
		if len(r.carry) > 2*n.largest() || cap(r.carry) > 2*n.largest()+ws.MaxHeader {
			panic("a part of a frame takes more room than the frame")
		}
	}
	n.log = append(n.log, fmt.Sprint("over ", n.over.Load(), ", a part of ", len(r.carry)))
	if n.over.Load() {
		n.log[len(n.log)-1] = "over"
	}
	return n.log
}

// FuzzPieces: whatever a client says and however it comes in pieces, the same is
// heard.
func FuzzPieces(f *testing.F) {
	h := New(Config{Time: seed(f)})
	f.Add(bytes.Repeat(mask(ws.Binary, make([]byte, 1320)), 3), []byte{1, 0, 40})
	f.Add(append(mask(ws.Binary, make([]byte, 9000)), mask(ws.Ping, []byte("x"))...), []byte{7})
	f.Add(append(mask(ws.Binary, make([]byte, 4090)), mask(ws.Binary, make([]byte, 4091))...), []byte{64, 1, 1})
	f.Add(append(mask(ws.Close, []byte{3, 232}), mask(ws.Binary, nil)...), []byte{0})
	f.Fuzz(func(t *testing.T, b, pieces []byte) {
		whole := hear(h, bytes.Clone(b), nil)
		cut := hear(h, bytes.Clone(b), pieces)
		if fmt.Sprint(whole) != fmt.Sprint(cut) {
			t.Fatalf("got %.200q in pieces, want %.200q", cut, whole)
		}
	})
}

// FuzzWords: whatever a watcher says is taken, refused or ends it, and never
// watches an address without a proof.
func FuzzWords(f *testing.F) {
	h := New(Config{Realm: realm, Time: seed(f), WindowBytes: 1 << 20})
	go h.verify(nil)
	p := watching{}
	f.Add(p.frame(0, h.period(), owner(f)))
	f.Add(p.frame(wire.FlagReplay, h.period(), owner(f), owner(f)))
	f.Add(append([]byte{byte(wire.FrameUnwatch)}, make([]byte, 64)...))
	f.Add(append([]byte{byte(wire.FrameEcho)}, make([]byte, 16)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := new(watcher)
		w.init(h, sink{}, 0, w)
		if len(b) > w.largest() {
			return
		}
		kept := bytes.Clone(b)
		code := w.message(b, h.now())
		if code != 0 && code != ws.Policy {
			t.Fatalf("got code %d", code)
		}
		if !bytes.Equal(b, kept) {
			t.Fatal("what was said was changed")
		}
		if len(w.addresses) != 0 && (b[0] != byte(wire.FrameWatch) || code != 0) {
			t.Fatalf("got %d addresses after code %d", len(w.addresses), code)
		}
		w.gone()
		for i := range h.table.shards {
			if s := &h.table.shards[i]; len(s.one)+len(s.many) != 0 {
				t.Fatal("got an address left behind")
			}
		}
	})
}
