package hub

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/lxzan/gws"

	"github.com/tacet-chat/tacet/internal/wire"
)

// other is a client of yet another make, which has its own reading of RFC 6455.
// It notes what comes; control frames are told by their kind.
type other struct {
	gws.BuiltinEventHandler
	t     testing.TB
	conn  *gws.Conn
	heard chan heard
}

type heard struct {
	kind gws.Opcode
	b    []byte
	err  error
}

func (o *other) OnMessage(_ *gws.Conn, m *gws.Message) {
	defer m.Close()
	o.heard <- heard{kind: m.Opcode, b: bytes.Clone(m.Bytes())}
}
func (o *other) OnPong(_ *gws.Conn, b []byte) {
	o.heard <- heard{kind: gws.OpcodePong, b: bytes.Clone(b)}
}
func (o *other) OnClose(_ *gws.Conn, err error) {
	o.heard <- heard{kind: gws.OpcodeCloseConnection, err: err}
}

// other opens a WebSocket with it. It offers compression, which nobody takes.
func (w *world) other(path string) *other {
	w.t.Helper()
	o := &other{t: w.t, heard: make(chan heard, 1<<10)}
	c, _, err := gws.NewClientFromConn(o, &gws.ClientOption{
		Addr: "ws://relay" + path, PermessageDeflate: gws.PermessageDeflate{Enabled: true},
	}, w.dial())
	if err != nil {
		w.t.Fatal(err)
	}
	o.conn = c
	go c.ReadLoop()
	w.t.Cleanup(func() { c.NetConn().Close() })
	return o
}

func (o *other) write(b []byte) {
	o.t.Helper()
	if err := o.conn.WriteMessage(gws.OpcodeBinary, b); err != nil {
		o.t.Fatal(err)
	}
}

// read returns the next binary message.
func (o *other) read() []byte {
	o.t.Helper()
	h := <-o.heard
	if h.kind != gws.OpcodeBinary {
		o.t.Fatalf("got opcode %d, %v, want a binary message", h.kind, h.err)
	}
	return h.b
}

// ended returns the close code with which the relay ended it.
func (o *other) ended() uint16 {
	o.t.Helper()
	for h := range o.heard {
		if h.kind != gws.OpcodeCloseConnection {
			continue
		}
		var c *gws.CloseError
		if !errors.As(h.err, &c) {
			o.t.Fatalf("got %v, want a close frame", h.err)
		}
		return c.Code
	}
	panic("not reached")
}

// TestLivePathWithGws: what the live path does, with a peer that reads frames
// its own way.
func TestLivePathWithGws(t *testing.T) {
	for _, way := range []string{"tcp", "tls"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := real(t, way, Config{WindowBytes: 8 << 20})
			k := owner(t)
			watch := func(flags byte) *other {
				a := w.other("/v1/watch")
				g := a.read()
				if len(g) != wire.GreetingSize {
					t.Fatalf("got greeting of %d bytes", len(g))
				}
				p := watching{peer: &peer{t: t, w: w}, server: [32]byte(g[1:])}
				a.write(p.frame(flags, w.period(), k))
				return a
			}
			a, p := watch(0), w.other("/v1/put")
			if got := a.read(); got[0] != byte(wire.FrameWatched) {
				t.Fatalf("got %x, want watched", got)
			}
			var all []byte
			for n := range uint64(wire.MaxPuts) {
				all = append(all, putFrame(k, n)...)
			}
			p.write(all) // the largest message there is
			echoes := []byte{byte(wire.FrameEcho)}
			for n := range uint64(wire.MaxPuts) {
				got := a.read()
				if len(got) != wire.DeliverSize || !bytes.Equal(got[9:], putFrame(k, n)[8:]) {
					t.Fatalf("got another cell, want %d", n)
				}
				echoes = append(echoes, got[1:9]...)
			}
			a.write(echoes)
			var answers []byte
			for len(answers) < wire.MaxPuts*wire.AnswerSize {
				answers = append(answers, p.read()...)
			}
			for n := range wire.MaxPuts {
				b := answers[n*wire.AnswerSize:][:wire.AnswerSize]
				got, err := wire.ParseAnswer(b)
				if err != nil || binary.BigEndian.Uint64(b) != uint64(n) || got.Delivered > 1 || !got.Complete {
					t.Fatalf("got answer %+v, %v, want that to %d", got, err, n)
				}
			}
			b := watch(wire.FlagReplay)
			for n := range uint64(wire.MaxPuts) {
				if got := b.read(); !bytes.Equal(got[9:], putFrame(k, n)[8:]) {
					t.Fatalf("got another cell replayed, want %d", n)
				}
			}
			if err := p.conn.WritePing([]byte("ping")); err != nil {
				t.Fatal(err)
			}
			if h := <-p.heard; h.kind != gws.OpcodePong || string(h.b) != "ping" {
				t.Errorf("got opcode %d %q, want the pong", h.kind, h.b)
			}
			p.write(make([]byte, wire.PutSize-1))
			if code := p.ended(); code != 1008 {
				t.Errorf("got code %d for a short put, want 1008", code)
			}
			text := w.other("/v1/put")
			if err := text.conn.WriteMessage(gws.OpcodeText, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if code := text.ended(); code != 1003 {
				t.Errorf("got code %d for text, want 1003", code)
			}
			huge := w.other("/v1/put")
			huge.write(make([]byte, wire.MaxPuts*wire.PutSize+1))
			if code := huge.ended(); code != 1009 {
				t.Errorf("got code %d for a message over the bound, want 1009", code)
			}
			w.stop()
			if code := a.ended(); code != 1001 {
				t.Errorf("got code %d when the relay stops, want 1001", code)
			}
		})
	}
}
