package hub

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// patience is how long a test waits for what has to come. It is no measurement:
// running into it is a failure.
const patience = 3 * time.Hour

var realm = [32]byte{0x11, 0x22, 0x33}

func seed(t testing.TB) key.Sign {
	t.Helper()
	s, err := key.New[key.SignRole](bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world is a hub behind net/http, and the way to it.
type world struct {
	t     testing.TB
	hub   *Hub
	start time.Time
	dial  func() net.Conn
	from  atomic.Pointer[string] // for whom a proxy asks from now on; nil: there is none
	stop  func()                 // ends Run
	ended chan error             // what Run returned
}

// newWorld starts a hub on a listener. It ends with the test.
func newWorld(t testing.TB, cfg Config, ln net.Listener, dial func() net.Conn) *world {
	cfg.Realm, cfg.Time = realm, seed(t)
	w := &world{t: t, hub: New(cfg), start: time.Now(), dial: dial, ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/put", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.hub.ServePostPut(rw, r)
			return
		}
		w.hub.ServePut(rw, r)
	})
	mux.HandleFunc("/v1/watch", w.hub.ServeWatch)
	forwarded := func(rw http.ResponseWriter, r *http.Request) {
		if from := w.from.Load(); from != nil {
			r.RemoteAddr = *from
		}
		mux.ServeHTTP(rw, r)
	}
	srv := &http.Server{Handler: http.HandlerFunc(forwarded), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 5 * time.Second}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.ended <- w.hub.Run(ctx) })
	wg.Go(func() { srv.Serve(ln) })
	t.Cleanup(func() {
		w.stop()
		srv.Close()
		wg.Wait()
	})
	return w
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
func (p *pipes) dial() net.Conn {
	a, b := net.Pipe()
	p.conns <- b
	return a
}

// virtual runs a test in a bubble of its own time, over pipes.
func virtual(t *testing.T, cfg Config, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		test(t, newWorld(t, cfg, p, p.dial))
	})
}

// now returns the time since the hub was made.
func (w *world) now() time.Duration { return time.Since(w.start) }

func (w *world) period() uint64 { return w.hub.period() }

// received is a frame that came from the hub.
type received struct {
	at time.Duration
	op ws.Op
	p  []byte
}

// peer is the other end of a WebSocket, as crude as can be: it writes what it is
// told to and notes what comes. It answers no ping by itself.
type peer struct {
	t      testing.TB
	w      *world
	nc     net.Conn
	frames chan received
	pong   atomic.Bool // answer pings, and do not note them
	wmu    sync.Mutex
}

// open opens a WebSocket and starts to listen.
func (w *world) open(path string) *peer {
	p := w.openDeaf(path)
	go p.listen()
	return p
}

// openDeaf opens a WebSocket that nobody reads yet.
func (w *world) openDeaf(path string) *peer {
	w.t.Helper()
	nc := w.dial()
	p := &peer{t: w.t, w: w, nc: nc, frames: make(chan received, 1<<16)}
	w.t.Cleanup(func() { nc.Close() })
	w.shake(nc, path)
	return p
}

// shake does a client's part of the opening handshake.
func (w *world) shake(nc net.Conn, path string) {
	w.t.Helper()
	if _, err := io.WriteString(nc, "GET "+path+" HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"); err != nil {
		w.t.Fatal(err)
	}
	br := bufio.NewReaderSize(oneByOne{nc}, 16) // not a byte beyond the answer
	r, err := http.ReadResponse(br, nil)
	if err != nil || r.StatusCode != http.StatusSwitchingProtocols || r.Header.Get("Sec-Websocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		w.t.Fatalf("opening %s: got %v, %v", path, r, err)
	}
}

type oneByOne struct{ io.Reader }

func (r oneByOne) Read(b []byte) (int, error) { return r.Reader.Read(b[:1]) }

// listen notes frames until the connection ends, then closes frames.
func (p *peer) listen() {
	defer close(p.frames)
	br := bufio.NewReaderSize(p.nc, 64<<10)
	for {
		f, err := readFrame(br)
		if err != nil {
			return
		}
		f.at = p.w.now()
		if f.op == ws.Ping && p.pong.Load() {
			go p.write(ws.Pong, f.p)
			continue
		}
		p.frames <- f
	}
}

// readFrame reads what a server may send.
func readFrame(r io.Reader) (f received, err error) {
	var h [8]byte
	if _, err := io.ReadFull(r, h[:2]); err != nil {
		return f, err
	}
	if h[0]&0xf0 != 0x80 || h[1]&0x80 != 0 {
		return f, errors.New("not a frame of a server")
	}
	f.op = ws.Op(h[0] & 15)
	n := int(h[1])
	switch n {
	case 126:
		if _, err := io.ReadFull(r, h[:2]); err != nil {
			return f, err
		}
		n = int(binary.BigEndian.Uint16(h[:]))
	case 127:
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return f, err
		}
		n = int(binary.BigEndian.Uint64(h[:]))
	}
	f.p = make([]byte, n)
	_, err = io.ReadFull(r, f.p)
	return f, err
}

// mask makes a client's frame.
func mask(op ws.Op, payload []byte) []byte {
	b := ws.AppendHeader(nil, op, len(payload))
	b[1] |= 0x80
	k := uint32(len(payload))*2654435761 + uint32(op)
	b = binary.LittleEndian.AppendUint32(b, k)
	at := len(b)
	b = append(b, payload...)
	ws.Mask(b[at:], k)
	return b
}

func (p *peer) write(op ws.Op, payload []byte) error {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	_, err := p.nc.Write(mask(op, payload))
	return err
}

func (p *peer) send(payload []byte) {
	p.t.Helper()
	if err := p.write(ws.Binary, payload); err != nil {
		p.t.Fatalf("writing: %v", err)
	}
}

// next returns the next frame. Where the clock is a real one it waits for long.
func (p *peer) next() received {
	p.t.Helper()
	select {
	case f, ok := <-p.frames:
		if !ok {
			p.t.Fatal("got the end of the connection, want a frame")
		}
		return f
	case <-time.After(patience):
		p.t.Fatal("got nothing, want a frame")
	}
	panic("not reached")
}

// want returns the payload of the next frame, which must be of that kind.
func (p *peer) want(op ws.Op) received {
	p.t.Helper()
	f := p.next()
	if f.op != op {
		p.t.Fatalf("got frame %d %x at %v, want %d", f.op, f.p[:min(len(f.p), 16)], f.at, op)
	}
	return f
}

// end waits for the end of the connection and returns its close code, 0 without.
func (p *peer) end() (code ws.Code, reason wire.Reason) {
	p.t.Helper()
	for {
		select {
		case f, ok := <-p.frames:
			switch {
			case !ok:
				return code, reason
			case f.op == ws.Close:
				code = ws.Code(binary.BigEndian.Uint16(f.p))
				p.nc.Close()
			case f.op == ws.Binary && len(f.p) == wire.RefusedSize && f.p[0] == byte(wire.FrameRefused):
				reason = wire.Reason(f.p[1])
			}
		case <-time.After(patience):
			p.t.Fatal("got an open connection, want its end")
		}
	}
}

// silent fails if anything came so far.
func (p *peer) silent() {
	p.t.Helper()
	select {
	case f, ok := <-p.frames:
		p.t.Fatalf("got frame %d %x (%v), want none", f.op, f.p[:min(len(f.p), 16)], ok)
	default:
	}
}

// watching is a peer that watches.
type watching struct {
	*peer
	server  [32]byte
	binding [32]byte
	second  []byte
}

// greeted opens a watch connection and takes the greeting.
func (w *world) greeted() *watching {
	w.t.Helper()
	p := w.open("/v1/watch")
	g := p.want(ws.Binary).p
	if len(g) != wire.GreetingSize || g[0] != byte(wire.FrameGreeting) {
		w.t.Fatalf("got greeting %x", g)
	}
	return &watching{peer: p, server: [32]byte(g[1:]), second: g[33:]}
}

// watch opens a watch connection for the running period and waits for its set.
func (w *world) watch(set ...ed25519.PrivateKey) *watching {
	w.t.Helper()
	p := w.greeted()
	p.send(p.frame(0, w.period(), set...))
	p.watched(len(set))
	return p
}

// frame makes a watch frame.
func (p *watching) frame(flags byte, period uint64, set ...ed25519.PrivateKey) []byte {
	b := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), flags}, period)
	for _, k := range set {
		proof := wire.Proof{Realm: realm, Binding: p.binding, Nonce: p.server, Address: address(k), Verb: wire.VerbWatch, Period: period}
		b = append(append(b, proof.Address[:]...), ed25519.Sign(k, proof.Append(nil))...)
	}
	return b
}

// watched takes the answer to a watch frame.
func (p *watching) watched(n int) (reach uint32) {
	p.t.Helper()
	f := p.want(ws.Binary)
	if len(f.p) != wire.WatchedSize || f.p[0] != byte(wire.FrameWatched) || int(binary.BigEndian.Uint16(f.p[1:])) != n {
		p.t.Fatalf("got %x, want watched %d", f.p[:min(len(f.p), 16)], n)
	}
	return binary.BigEndian.Uint32(f.p[3:])
}

// cell takes a cell and checks that it is the n-th for an address.
func (p *watching) cell(k ed25519.PrivateKey, n uint64) (nonce []byte) {
	p.t.Helper()
	f := p.want(ws.Binary)
	if len(f.p) != wire.DeliverSize || f.p[0] != byte(wire.FrameDeliver) {
		p.t.Fatalf("got %x, want a cell", f.p[:min(len(f.p), 16)])
	}
	want := putFrame(k, n)
	if !bytes.Equal(f.p[9:], want[8:]) {
		p.t.Fatalf("got cell %d for %x, want %d for %x", binary.BigEndian.Uint64(f.p[41:]), f.p[9:13], n, want[8:12])
	}
	return f.p[1:9]
}

func (p *watching) echo(nonces ...[]byte) {
	p.t.Helper()
	p.send(bytes.Join(append([][]byte{{byte(wire.FrameEcho)}}, nonces...), nil))
}

func owner(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func owners(t testing.TB, n int) []ed25519.PrivateKey {
	t.Helper()
	s := make([]ed25519.PrivateKey, n)
	for i := range s {
		s[i] = owner(t)
	}
	return s
}

func address(k ed25519.PrivateKey) wire.Address { return wire.Address(k[32:]) }

// putFrame makes the n-th put for an address: its id is n, and all of its cell
// depends on n.
func putFrame(k ed25519.PrivateKey, n uint64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, wire.PutSize), n)
	b = append(b, k[32:]...)
	b = binary.BigEndian.AppendUint64(b, n)
	for len(b) < wire.PutSize {
		b = append(b, byte(n*31)+byte(len(b)))
	}
	return b
}

// answers collects n answers by put id.
func (p *peer) answers(n int) map[uint64]answered {
	p.t.Helper()
	got := map[uint64]answered{}
	for len(got) < n {
		f := p.next()
		if f.op == ws.Ping {
			continue
		}
		if f.op != ws.Binary || len(f.p) == 0 || len(f.p)%wire.AnswerSize != 0 {
			p.t.Fatalf("got frame %d %x, want answers", f.op, f.p[:min(len(f.p), 16)])
		}
		for b := f.p; len(b) > 0; b = b[wire.AnswerSize:] {
			a, err := wire.ParseAnswer(b[:wire.AnswerSize])
			id := binary.BigEndian.Uint64(b)
			if _, twice := got[id]; err != nil || !a.Complete || twice {
				p.t.Fatalf("got answer %x, %v (a second time: %v)", b[:wire.AnswerSize], err, twice)
			}
			got[id] = answered{int(a.Delivered), f.at}
		}
	}
	return got
}

type answered struct {
	delivered int
	at        time.Duration
}

// answer takes the answer to the put with an id and returns what was delivered.
func (p *peer) answer(id uint64) int {
	p.t.Helper()
	a, ok := p.answers(1)[id]
	if !ok {
		p.t.Fatalf("got another's answer, want that to %d", id)
	}
	return a.delivered
}

// deafConn is a socket of which nothing comes and into which nothing goes.
type deafConn struct{ net.Conn }

func (deafConn) Close() error { return nil }
