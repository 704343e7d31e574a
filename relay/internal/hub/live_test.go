package hub

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// certificate makes what a server of a test shows.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, pub, priv)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: priv}
}

// ways are the ways in which a connection can come to a hub.
var ways = []string{"tcp", "unix", "tls", "tls of net/http", "waiting"}

// real starts a hub on real sockets.
func real(t testing.TB, way string, cfg Config) *world {
	t.Helper()
	network, at := "tcp", "127.0.0.1:0"
	if way == "unix" {
		network, at = "unix", filepath.Join(t.TempDir(), "relay")
	}
	ln, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial(network, ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	switch way {
	case "tls", "tls of net/http":
		server := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		if way == "tls" {
			ln = Listen(ln, server)
		} else {
			ln = tls.NewListener(ln, server)
		}
		plain := dial
		dial = func() net.Conn { return tls.Client(plain(), &tls.Config{InsecureSkipVerify: true}) }
	case "waiting":
		ln = hiding{ln}
	}
	return newWorld(t, cfg, ln, dial)
}

// hiding hides that a connection is a socket.
type hiding struct{ net.Listener }

func (h hiding) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	return struct{ net.Conn }{c}, err
}

// stranger is a client that is not ours.
type stranger struct {
	t testing.TB
	*websocket.Conn
}

func (w *world) stranger(path string) *stranger {
	w.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return w.dial(), nil }}}
	c, _, err := websocket.Dial(w.t.Context(), "ws://relay"+path, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		w.t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	w.t.Cleanup(func() { c.CloseNow() })
	return &stranger{w.t, c}
}

func (s *stranger) read() []byte {
	s.t.Helper()
	kind, b, err := s.Read(s.t.Context())
	if err != nil || kind != websocket.MessageBinary {
		s.t.Fatalf("got %v, %v, want a binary message", kind, err)
	}
	return b
}

func (s *stranger) write(b []byte) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), websocket.MessageBinary, b); err != nil {
		s.t.Fatal(err)
	}
}

// TestLivePathWithAStranger: an independent client puts, watches, echoes,
// replays and is refused, over every kind of socket.
func TestLivePathWithAStranger(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := real(t, way, Config{WindowBytes: 8 << 20})
			k := owner(t)
			watch := func(flags byte, spoil bool) *stranger {
				c := w.stranger("/v1/watch")
				g := c.read()
				if len(g) != wire.GreetingSize || g[0] != byte(wire.FrameGreeting) {
					t.Fatalf("got greeting %x", g)
				}
				p := watching{peer: &peer{t: t, w: w}, server: [32]byte(g[1:])}
				b := p.frame(flags, w.period(), k)
				if spoil {
					b[len(b)-1] ^= 1
				}
				c.write(b)
				return c
			}
			a := watch(0, false)
			if got := a.read(); !bytes.Equal(got[:3], []byte{byte(wire.FrameWatched), 0, 1}) {
				t.Fatalf("got %x, want watched 1", got)
			}
			p := w.stranger("/v1/put")
			at := time.Now()
			for n := range uint64(2) {
				p.write(putFrame(k, n))
				cell := a.read()
				if len(cell) != wire.DeliverSize || !bytes.Equal(cell[9:], putFrame(k, n)[8:]) {
					t.Fatalf("got another cell, want %d", n)
				}
				if n == 0 {
					a.write(append([]byte{byte(wire.FrameEcho)}, cell[1:9]...))
				}
			}
			var answers []byte
			for len(answers) < 2*wire.AnswerSize {
				answers = append(answers, p.read()...)
			}
			if d := time.Since(at); d < wire.AnswerAfter {
				t.Errorf("got answers after %v, want none before %v", d, wire.AnswerAfter)
			}
			for n, want := range []uint16{1, 0} {
				got, err := wire.ParseAnswer(answers[n*wire.AnswerSize:][:wire.AnswerSize])
				if err != nil || binary.BigEndian.Uint64(got.ID[:]) != uint64(n) || got.Delivered != want || !got.Complete {
					t.Errorf("got answer %+v, %v, want delivered %d", got, err, want)
				}
			}
			pinger := w.stranger("/v1/put")
			if err := pinger.Ping(pinger.CloseRead(t.Context())); err != nil {
				t.Errorf("got %v, want a pong", err)
			}
			b := watch(wire.FlagReplay, false)
			for n := range uint64(2) {
				if got := b.read(); len(got) != wire.DeliverSize || !bytes.Equal(got[9:], putFrame(k, n)[8:]) {
					t.Errorf("got another cell replayed, want %d", n)
				}
			}
			bad := watch(0, true)
			if got := bad.read(); !bytes.Equal(got, []byte{byte(wire.FrameRefused), byte(wire.ReasonProof)}) {
				t.Errorf("got %x, want refused for the proof", got)
			}
			if _, _, err := bad.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("got %v, want close code %d", err, websocket.StatusPolicyViolation)
			}
			text := w.stranger("/v1/put")
			text.Write(t.Context(), websocket.MessageText, []byte("hello"))
			if _, _, err := text.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
				t.Errorf("got %v, want close code %d", err, websocket.StatusUnsupportedData)
			}
			if err := a.Close(websocket.StatusNormalClosure, "bye"); err != nil {
				t.Errorf("got %v on closing, want none", err)
			}
			b.CloseNow()
			pinger.CloseNow()
			w.stop()
			if _, _, err := p.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("got %v, want close code %d", err, websocket.StatusGoingAway)
			}
			if err := <-w.ended; err != nil {
				t.Errorf("got %v, want nil", err)
			}
			w.ended <- nil
		})
	}
}

// TestFramesComeInAnyPieces cuts what a client says at random places, batches
// and trickles: what arrives is the same.
func TestFramesComeInAnyPieces(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := real(t, way, Config{})
			k := owner(t)
			a, p := w.watch(k), w.open("/v1/put")
			a.pong.Store(true)
			p.pong.Store(true)
			r := mrand.New(mrand.NewPCG(1, 2))
			var all []byte
			var puts uint64
			for puts < 320 { // all of it fits the queue, however late the watcher reads
				if r.IntN(4) == 0 {
					all = append(all, mask(ws.Pong, make([]byte, r.IntN(126)))...)
					continue
				}
				var m []byte
				for range 1 + r.IntN(1+r.IntN(64)) {
					m = append(m, putFrame(k, puts)...)
					puts++
				}
				all = append(all, mask(ws.Binary, m)...)
			}
			go func() {
				for len(all) > 0 {
					n := 1 + r.IntN(1<<r.IntN(18))
					n = min(n, len(all))
					if _, err := p.nc.Write(all[:n]); err != nil {
						return
					}
					if all = all[n:]; r.IntN(20) == 0 {
						time.Sleep(time.Millisecond) // lets what was written be read by itself
					}
				}
			}()
			for n := range puts {
				a.echo(a.cell(k, n))
			}
			for id, got := range p.answers(int(puts)) {
				if got.delivered > 1 {
					t.Errorf("put %d: got %d delivered, want 1", id, got.delivered)
				}
			}
		})
	}
}

// TestSlowReaderIsDroppedAndOthersAreNot floods one who does not read beside
// one who does.
func TestSlowReaderIsDroppedAndOthersAreNot(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := real(t, way, Config{})
			slow, fast := owner(t), owner(t)
			deaf := &watching{peer: w.openDeaf("/v1/watch")}
			g, err := readFrame(deaf.nc)
			if err != nil {
				t.Fatal(err)
			}
			deaf.server = [32]byte(g.p[1:])
			deaf.send(deaf.frame(0, w.period(), slow))
			if g, err = readFrame(deaf.nc); err != nil || g.p[0] != byte(wire.FrameWatched) {
				t.Fatal(g, err)
			}
			a, p, q := w.watch(fast), w.open("/v1/put"), w.open("/v1/put")
			a.pong.Store(true)
			p.pong.Store(true)
			q.pong.Store(true)
			var wg sync.WaitGroup
			wg.Go(func() { // until the hub has had enough: queue and socket are full
				batch := bytes.Repeat(putFrame(slow, 1), wire.MaxPuts)
				for {
					x := address(slow)
					if one, _ := w.hub.table.find(&x); one == nil {
						return
					}
					p.send(batch)
				}
			})
			for n := range uint64(200) {
				q.send(putFrame(fast, n))
				a.echo(a.cell(fast, n))
			}
			for id, got := range q.answers(200) {
				if got.delivered > 1 {
					t.Errorf("put %d: got %d delivered, want 1", id, got.delivered)
				}
			}
			wg.Wait()
		})
	}
}
