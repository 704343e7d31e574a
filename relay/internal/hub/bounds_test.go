package hub

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// deaf opens a watch connection that has its set and reads nothing more.
func (w *world) deaf(k []byte) *watching {
	w.t.Helper()
	d := &watching{peer: w.openDeaf("/v1/watch")}
	g, err := readFrame(d.nc)
	if err != nil {
		w.t.Fatal(err)
	}
	d.server = [32]byte(g.p[1:])
	d.send(d.frame(0, w.period(), k))
	if g, err = readFrame(d.nc); err != nil || g.p[0] != byte(wire.FrameWatched) {
		w.t.Fatal(g, err)
	}
	return d
}

// TestTheSlowestIsCutOffFirst: at the bound of all that waits, those who make
// most wait go, and the rest stay.
func TestTheSlowestIsCutOffFirst(t *testing.T) {
	virtual(t, Config{QueueBytes: 16 * putBuffer}, func(t *testing.T, w *world) {
		worst, small := owner(t), owner(t)
		w.deaf(worst)
		for range 11 { // each makes a piece wait
			w.deaf(small)
		}
		p := w.open("/v1/put")
		p.pong.Store(true)
		p.send(putFrame(small, 1))
		for n := range uint64(4 * 48) { // four more pieces
			p.send(putFrame(worst, n))
		}
		synctest.Wait()
		if w.watched(worst) {
			t.Error("got the slowest still there, want it cut off")
		}
		a := address(small)
		if _, many := w.hub.table.find(&a); len(many) != 11 {
			t.Errorf("got %d of the others left, want 11", len(many))
		}
		time.Sleep(writeWithin + time.Second) // nobody has read anything by then
		synctest.Wait()
		if got := w.hub.backlog.pieces.Load(); got != 0 {
			t.Errorf("got %d pieces when all had gone, want 0", got)
		}
	})
}

// TestAllThatWaitsIsBounded: however many do not read, and however fast it comes.
func TestAllThatWaitsIsBounded(t *testing.T) {
	for _, way := range []string{"tcp", "tls"} {
		t.Run(way, func(t *testing.T) {
			w := real(t, way, Config{QueueBytes: 16 * putBuffer})
			k := owner(t)
			for range 24 {
				w.deaf(k)
			}
			p := w.open("/v1/put")
			p.pong.Store(true)
			batch := bytes.Repeat(putFrame(k, 1), wire.MaxPuts)
			a := address(k)
			if !w.hub.Watches(&a) {
				t.Fatal("got nobody watching")
			}
			for w.hub.Watches(&a) { // until all are cut off, by this bound or their own
				if p.write(ws.Binary, batch) != nil { // on a machine that stands still it is slow itself
					p = w.open("/v1/put")
					p.pong.Store(true)
				}
				if got := w.hub.backlog.pieces.Load(); got > 33 { // one is being refused
					t.Fatalf("got %d pieces waiting, want at most 32", got)
				}
			}
			w.stop()
			<-w.ended
			if got := w.hub.backlog.pieces.Load(); got != 0 {
				t.Errorf("got %d pieces at the end, want 0", got)
			}
		})
	}
}

// TestHeavyConnectionsTakeTurns: while others have all turns, who brings much is
// not read, and who brings little is.
func TestHeavyConnectionsTakeTurns(t *testing.T) {
	for _, way := range []string{"tcp", "tls"} {
		t.Run(way, func(t *testing.T) {
			w := real(t, way, Config{})
			quiet, loud, heavy := owner(t), owner(t), owner(t)
			a, b := w.watch(quiet), w.watch(heavy)
			p := w.open("/v1/put")
			for _, x := range []*peer{a.peer, b.peer, p} {
				x.pong.Store(true)
			}
			for range cap(w.hub.turns) {
				w.hub.turns <- struct{}{}
			}
			// Nobody watches loud: what makes it heavy is what it brings.
			go func() {
				for range 8 * lightBurst / (wire.MaxPuts * wire.PutSize) {
					p.write(ws.Binary, bytes.Repeat(putFrame(loud, 1), wire.MaxPuts))
				}
				p.write(ws.Binary, putFrame(heavy, 7))
			}()
			for range 14 { // long enough for all of it to be read if that went on
				q := w.open("/v1/put")
				q.pong.Store(true)
				for n := range uint64(140) {
					q.send(putFrame(quiet, n))
					a.cell(quiet, n)
				}
			}
			b.silent()
			for range cap(w.hub.turns) {
				<-w.hub.turns
			}
			b.cell(heavy, 7)
		})
	}
}

func TestWorkIsForgivenWithTime(t *testing.T) {
	var x turn
	now := int64(time.Hour)
	for range 1000 { // a cell and its copy, fifty times a second
		now += int64(20 * time.Millisecond)
		if x.charge(wire.PutSize+perFrame+perCopy, now); x.heavy() {
			t.Fatal("got heavy for a busy person, want light")
		}
	}
	for range 1000 {
		x.charge(wire.PutSize, now)
	}
	if !x.heavy() {
		t.Fatal("got light after a megabyte at once, want heavy")
	}
	if x.charge(1, now+int64(4*time.Second)); x.heavy() {
		t.Error("got heavy after four quiet seconds, want light")
	}
}

// TestPartsOfLargeFramesAreBounded: a large frame that has not come whole takes
// room, and where there is none its connection ends.
func TestPartsOfLargeFramesAreBounded(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k := owner(t)
		var frames []byte
		for n := range uint64(wire.MaxPuts) {
			frames = append(frames, putFrame(k, n)...)
		}
		half := mask(ws.Binary, frames)
		var gives []func() // loopback may have all that is free, half by half
		for n := int64(maxParts / 2); n > 0; {
			if give, ok := w.hub.parts.Take("", n); ok {
				gives = append(gives, give)
			} else {
				n /= 2
			}
		}
		p := w.open("/v1/put")
		p.nc.Write(half[:20<<10])
		if code, _ := p.end(); code != ws.TryLater {
			t.Errorf("got code %d, want %d", code, ws.TryLater)
		}
		for _, give := range gives {
			give()
		}
		p = w.open("/v1/put")
		p.nc.Write(half[:20<<10])
		synctest.Wait()
		if _, ok := w.hub.parts.Take("", maxParts); ok {
			t.Error("got all the room beside a large part, want less")
		}
		p.nc.Write(half[20<<10:])
		p.answers(wire.MaxPuts)
		if _, ok := w.hub.parts.Take("", maxParts); !ok {
			t.Error("got less than all the room after the part had become whole")
		}
	})
}

// TestTLSKeepsNoHalfMessages: TLS itself would wait for 256 KiB of a handshake
// message in which nothing is for us, on every connection.
func TestTLSKeepsNoHalfMessages(t *testing.T) {
	w := real(t, "tls", Config{})
	var log bytes.Buffer
	var c *tls.Conn
	dial := w.dial
	w.dial = func() net.Conn {
		plain := dial().(*tls.Conn).NetConn()
		c = tls.Client(plain, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &log})
		return c
	}
	p := w.openDeaf("/v1/put")
	s := clientSealer(t, c, log.String())
	s.sequence = 1                                                          // the request was a record
	c.NetConn().Write(s.record(23, mask(ws.Binary, putFrame(owner(t), 1)))) // it has begun
	var once sync.Once
	done := make(chan struct{})
	go func() {
		for {
			if _, err := readFrame(p.nc); err != nil {
				once.Do(func() { close(done) })
				return
			}
		}
	}()
	message := append([]byte{11, 0x03, 0, 0}, make([]byte, 16_000)...) // a certificate of 192 KiB
	sent := 0
	for range 12 {
		b := s.record(22, message)
		n, err := c.NetConn().Write(b)
		if sent += n; err != nil {
			break
		}
		message = make([]byte, 16_000)
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Errorf("got the connection kept after %d bytes of half a message, want it ended", sent)
	}
}

// TestFirstProofsGoBeforeLargeSets: whatever waits of large sets, a device's
// first proofs are checked before it.
func TestFirstProofsGoBeforeLargeSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{Time: seed(t)})
		quit := make(chan struct{})
		defer close(quit)
		w := func(proved int) *watcher { return &watcher{conn: conn{hub: h}, proved: proved} }
		var mu sync.Mutex
		var order []string
		check := func(name string, proved int) {
			w(proved).proven(1, make([]byte, wire.ProofSize))
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}
		for range 20 {
			go check("large", firstProofs)
			synctest.Wait()
		}
		go check("first", 0)
		synctest.Wait()
		stop := make(chan struct{})
		go func() { // a verifier that stops after one
			h.verifyOne(quit)
			close(stop)
		}()
		<-stop
		synctest.Wait()
		mu.Lock()
		if len(order) != 1 || order[0] != "first" {
			t.Errorf("got %v checked first, want the first proofs of a device", order)
		}
		mu.Unlock()
		for range 20 {
			h.verifyOne(quit)
		}
		synctest.Wait()
	})
}

// TestAHandshakeIsBounded: crypto/tls would take 64 KiB of a ClientHello, and
// 256 KiB of what may follow.
func TestAHandshakeIsBounded(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln = Listen(ln, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	defer ln.Close()
	go func() {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return
		}
		hello := append([]byte{1, 0, 0xff, 0}, make([]byte, 0xff00)...)
		for ; len(hello) > 0; hello = hello[min(len(hello), 8000):] {
			part := hello[:min(len(hello), 8000)]
			if _, err := c.Write(append([]byte{22, 3, 1, byte(len(part) >> 8), byte(len(part))}, part...)); err != nil {
				return
			}
		}
	}()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := Handshake(c, time.Now().Add(time.Hour)); err != errFlood {
		t.Errorf("got %v, want %v", err, errFlood)
	}
}

// deafClient writes and never reads.
type deafClient struct {
	net.Conn
	end chan struct{}
}

func (c deafClient) Read([]byte) (int, error) {
	<-c.end
	return 0, net.ErrClosed
}

// TestAHandshakeThatIsNotReadHoldsNoTurn: what waits for a client lets others compute.
func TestAHandshakeThatIsNotReadHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		shaking := make(turns, 1)
		server := tls.Server(&inner{Conn: here, turns: shaking}, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
		client := deafClient{there, make(chan struct{})}
		go tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake()
		ended := make(chan error)
		go func() { ended <- Handshake(server, time.Now().Add(firstWithin)) }()
		synctest.Wait()
		if len(shaking) != 0 {
			t.Error("got the turn held while the client does not read, want it free")
		}
		if err := <-ended; err == nil {
			t.Error("got a handshake done that nobody read")
		}
		if len(shaking) != 0 {
			t.Error("got the turn held after the end, want it free")
		}
		close(client.end)
		here.Close()
		there.Close()
	})
}

// TestAFloodLeavesTheLastMinute: whoever brings much, and be it to the same
// address, pushes no cell of others out of the window.
func TestAFloodLeavesTheLastMinute(t *testing.T) {
	virtual(t, Config{WindowBytes: 64 << 20}, func(t *testing.T, w *world) {
		k := owner(t)
		p, q := w.open("/v1/put"), w.open("/v1/put")
		p.pong.Store(true)
		q.pong.Store(true)
		q.send(putFrame(k, 4711))
		q.answer(4711)
		const rounds = 40 // 2,560 cells: a shard of the window has room for 768
		for r := range uint64(rounds) {
			var frames []byte
			for n := range uint64(wire.MaxPuts) {
				frames = append(frames, putFrame(k, r*wire.MaxPuts+n)...)
			}
			p.send(frames)
		}
		p.answers(rounds * wire.MaxPuts)
		a := w.greeted()
		a.pong.Store(true)
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		a.cell(k, 4711)
	})
}

// TestAllAddressesAreBounded: they are shared out, and given back.
func TestAllAddressesAreBounded(t *testing.T) {
	virtual(t, Config{Addresses: 40}, func(t *testing.T, w *world) {
		set := owners(t, 20) // pipes are loopback, which gets half
		a := w.watch(set[:18]...)
		b := w.watch(set[:2]...) // the same addresses take places of their own
		a.send(a.frame(0, w.period(), set[18]))
		if _, reason := a.end(); reason != wire.ReasonLimit {
			t.Errorf("got reason %d, want %d", reason, wire.ReasonLimit)
		}
		synctest.Wait()
		if x := address(set[18]); w.hub.Watches(&x) {
			t.Error("got the address watched that there was no place for")
		}
		b.send(b.frame(0, w.period(), set[2:20]...))
		b.watched(20)
		x := address(set[0])
		b.send(append([]byte{byte(wire.FrameUnwatch)}, x[:]...))
		b.send(b.frame(0, w.period(), set[0]))
		b.watched(20)
		b.nc.Close()
		synctest.Wait()
		if !w.hub.watched.Grow("", 20) || w.hub.watched.Grow("", 1) {
			t.Error("got other places free than all when all had gone")
		}
	})
}

// TestSharesAreThoseOfWhomAProxyNames: behind a program that ends TLS all sockets
// are that program's, and one client of it takes no more than one elsewhere.
func TestSharesAreThoseOfWhomAProxyNames(t *testing.T) {
	virtual(t, Config{Addresses: 400}, func(t *testing.T, w *world) {
		ask := func(from string) (got int) {
			w.from.Store(&from)
			for ; ; got++ {
				a := w.greeted()
				a.send(a.frame(0, w.period(), owner(t)))
				if a.next().p[0] != byte(wire.FrameWatched) {
					return got
				}
			}
		}
		if got := ask("192.0.2.1:0"); got == 0 || got > 400/16 {
			t.Errorf("got %d addresses for one client, want at most %d", got, 400/16)
		}
		if got := ask("192.0.2.2:0") + ask("192.0.2.3:0"); got == 0 || got > 400/16 {
			t.Errorf("got %d more for others of its network, want at most %d", got, 400/16)
		}
		if got := ask("198.51.100.1:0"); got < 10 {
			t.Errorf("got %d addresses for a client of another network, want a share", got)
		}

		large := mask(ws.Binary, make([]byte, wire.MaxPuts*wire.PutSize))
		part := func(from string) *peer {
			w.from.Store(&from)
			p := w.open("/v1/put")
			p.nc.Write(large[:len(large)-1])
			return p
		}
		crowd := "192.0.2.1:0"
		if _, ok := w.hub.parts.Take(crowd, maxParts/16); !ok {
			t.Fatal("got no room, want a sixteenth")
		}
		if code, _ := part(crowd).end(); code != ws.TryLater {
			t.Errorf("got code %d for a large part of who holds all it may, want %d", code, ws.TryLater)
		}
		other := part("198.51.100.1:0")
		other.nc.Write(large[len(large)-1:])
		if f := other.want(ws.Binary); len(f.p) != wire.MaxPuts*wire.AnswerSize {
			t.Errorf("got %d bytes of answers, want those of the whole frame", len(f.p))
		}
	})
}

// TestAllOpenPutsAreBounded: those of all connections together.
func TestAllOpenPutsAreBounded(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p, q := w.open("/v1/put"), w.open("/v1/put")
		p.send(putFrame(owner(t), 1))
		synctest.Wait()
		if got := w.hub.records.Load(); got != 1 {
			t.Fatalf("got %d blocks of records, want 1", got)
		}
		w.hub.records.Add(maxRecords - 1)
		q.send(putFrame(owner(t), 1))
		if code, _ := q.end(); code != ws.Policy {
			t.Errorf("got code %d, want %d", code, ws.Policy)
		}
		w.hub.records.Add(1 - maxRecords)
		p.answer(1)
		p.send(putFrame(owner(t), 2))
		synctest.Wait()
		p.nc.Close()
		synctest.Wait()
		if got := w.hub.records.Load(); got != 0 {
			t.Errorf("got %d blocks of records at the end, want 0", got)
		}
	})
}

// TestReplaysComeToAnEnd: a connection that asks for the same again and again
// is sent as much as the window holds, then nothing, and is told so.
func TestReplaysComeToAnEnd(t *testing.T) {
	const window = 64 << 10
	virtual(t, Config{WindowBytes: window}, func(t *testing.T, w *world) {
		k := owner(t)
		time.Sleep(10 * time.Second)
		p := w.open("/v1/put")
		p.pong.Store(true)
		for n := range uint64(10) {
			p.send(putFrame(k, n))
		}
		p.answers(10)
		a := w.greeted()
		a.pong.Store(true)
		cells, reach := 0, uint32(1)
		for asked := 0; reach > 0; asked++ {
			if asked > 20 {
				t.Fatalf("got %d cells and no end", cells)
			}
			a.send(a.frame(wire.FlagReplay, w.period(), k))
			for {
				f := a.want(ws.Binary)
				if f.p[0] == byte(wire.FrameWatched) {
					reach = uint32(f.p[6])
					break
				}
				cells++
			}
		}
		if least, most := window/wire.DeliverSize, window/wire.DeliverSize+12; cells < least || cells > most {
			t.Errorf("got %d cells in the end, want %d to %d", cells, least, most)
		}
		p.send(putFrame(k, 99)) // live cells come as ever
		a.cell(k, 99)
	})
}
