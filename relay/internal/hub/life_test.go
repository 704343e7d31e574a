package hub

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// near reports whether got is at want or within a tick after it.
func near(got, want time.Duration) bool {
	return got >= want && got <= want+time.Duration(tick)
}

// TestSilenceIsAskedThenEnded: after the configured silence comes a ping, and
// three seconds after a ping without an answer the end. Put connections too.
func TestSilenceIsAskedThenEnded(t *testing.T) {
	for _, ping := range []time.Duration{0, 5 * time.Second, 240 * time.Second} {
		for _, kind := range []string{"watch", "put"} {
			virtual(t, Config{Ping: ping}, func(t *testing.T, w *world) {
				want := ping
				if ping == 0 {
					want = 60 * time.Second
				}
				p := w.begun(kind)
				for range 3 { // any frame shows life
					at := w.now()
					if f := p.want(ws.Ping); !near(f.at-at, want) {
						t.Errorf("%s: got a ping after %v, want %v", kind, f.at-at, want)
					}
					time.Sleep(2900 * time.Millisecond)
					p.write(ws.Pong, []byte("not the ping's payload"))
				}
				at := p.want(ws.Ping).at
				if code, _ := p.end(); code != 0 || !near(w.now()-at, 3*time.Second) {
					t.Errorf("%s: got code %d %v after a ping, want none and 3s", kind, code, w.now()-at)
				}
			})
		}
	}
}

// begun opens a connection of a kind that has said what it is for, and whose
// last frame from us is just now.
func (w *world) begun(kind string) *peer {
	if kind == "watch" {
		return w.watch(owner(w.t)).peer
	}
	p := w.open("/v1/put")
	p.send(putFrame(owner(w.t), 1))
	p.answer(1)
	p.write(ws.Pong, nil)
	return p
}

func TestFramesPostponeThePing(t *testing.T) {
	virtual(t, Config{Ping: 10 * time.Second}, func(t *testing.T, w *world) {
		k := owner(t)
		p, q := w.watch(k), w.open("/v1/put")
		for n := range 20 {
			time.Sleep(9 * time.Second)
			switch n % 4 {
			case 0:
				p.write(ws.Ping, []byte{byte(n)})
				if f := p.want(ws.Pong); len(f.p) != 1 || f.p[0] != byte(n) {
					t.Errorf("got pong %x, want %x", f.p, n)
				}
			case 1:
				p.write(ws.Pong, nil)
			case 2:
				p.send(p.frame(0, w.period(), k))
				p.watched(1)
			case 3:
				p.send(append([]byte{byte(wire.FrameUnwatch)}, make([]byte, 32)...))
			}
		}
		p.silent()
		_ = q
	})
}

// TestUnechoedCellIsAskedAboutAtOnce: a frozen program is found out by the first
// cell, not by the next silence.
func TestUnechoedCellIsAskedAboutAtOnce(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k := owner(t)
		a, p := w.watch(k), w.open("/v1/put")
		p.pong.Store(true)
		p.send(putFrame(owner(t), 0))
		time.Sleep(20 * time.Second)

		p.send(putFrame(k, 1)) // echoed: no ping
		a.echo(a.cell(k, 1))
		time.Sleep(10 * time.Second)
		a.silent()

		at := w.now()
		p.send(putFrame(k, 2)) // not echoed, but it lives
		a.cell(k, 2)
		if f := a.want(ws.Ping); !near(f.at-at, wire.EchoWithin) {
			t.Errorf("got a ping %v after a cell, want %v", f.at-at, wire.EchoWithin)
		}
		a.write(ws.Pong, nil)
		time.Sleep(10 * time.Second)
		a.silent()

		// A frame after a first cell says nothing of a second.
		p.send(putFrame(k, 3))
		a.cell(k, 3)
		time.Sleep(500 * time.Millisecond)
		a.write(ws.Pong, nil)
		time.Sleep(500 * time.Millisecond)
		at = w.now()
		p.send(putFrame(k, 4))
		a.cell(k, 4)
		f := a.want(ws.Ping)
		if !near(f.at-at, wire.EchoWithin) {
			t.Errorf("got a ping %v after the second cell, want %v", f.at-at, wire.EchoWithin)
		}
		if a.end(); !near(w.now()-f.at, wire.PongWithin) {
			t.Errorf("got the end %v after a ping, want %v", w.now()-f.at, wire.PongWithin)
		}
		p.send(putFrame(k, 5))
		if got := p.answers(6)[5].delivered; got != 0 {
			t.Errorf("got %d delivered to one who has gone, want 0", got)
		}
	})
}

// TestFrozenReaderIsReaped: who does not even read is gone within echo time and
// pong time, and is never counted.
func TestFrozenReaderIsReaped(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k := owner(t)
		a := &watching{peer: w.openDeaf("/v1/watch")}
		for i := range 2 {
			f, err := readFrame(a.nc)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				a.server = [32]byte(f.p[1:])
				a.send(a.frame(0, w.period(), k))
			}
		}
		p := w.open("/v1/put")
		p.pong.Store(true)
		at := w.now()
		for n := range uint64(9) {
			p.send(putFrame(k, n))
			time.Sleep(time.Second)
			if n == 3 && !w.watched(k) {
				t.Errorf("got the end of a reader after %v", w.now()-at)
			}
			if n == 4 && w.watched(k) {
				t.Errorf("got a frozen reader still there after %v", w.now()-at)
			}
		}
		for id, a := range p.answers(9) {
			if a.delivered != 0 {
				t.Errorf("put %d: got %d delivered to a frozen reader", id, a.delivered)
			}
		}
	})
}

// watched reports whether anybody watches.
func (w *world) watched(k []byte) bool {
	synctest.Wait()
	a := wire.Address(k[32:])
	one, many := w.hub.table.find(&a)
	return one != nil || many != nil
}

func TestFirstFrameMustCome(t *testing.T) {
	for _, path := range []string{"/v1/watch", "/v1/put"} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			p := w.open(path)
			go func() {
				for range 4 { // signs of life are not enough
					time.Sleep(time.Second)
					p.write(ws.Ping, nil)
				}
			}()
			if p.end(); !near(w.now(), 5*time.Second) {
				t.Errorf("%s: got the end after %v, want 5s", path, w.now())
			}
		})
	}
}

func TestFrameMustComeWhole(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p := w.open("/v1/put")
		frame := mask(ws.Binary, append(putFrame(owner(t), 1), putFrame(owner(t), 2)...))
		for i, b := range frame[:50] { // a byte every 500 ms: 25 s, then the rest
			_ = i
			p.nc.Write([]byte{b})
			time.Sleep(500 * time.Millisecond)
		}
		p.nc.Write(frame[50:])
		p.answers(2)
		at := w.now()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			for _, b := range frame {
				if _, err := p.nc.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(500 * time.Millisecond)
			}
		})
		if p.end(); !near(w.now()-at, 30*time.Second) {
			t.Errorf("got the end of a frame that does not come whole after %v, want 30s", w.now()-at)
		}
	})
}

func TestCloseIsAnswered(t *testing.T) {
	for payload, want := range map[string]ws.Code{"": ws.Normal, "\x03\xe9bye": ws.GoingAway, "\x03": ws.Protocol, "\x0f\xa0": 4000} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			p := w.watch(owner(t))
			p.write(ws.Close, []byte(payload))
			if code, _ := p.end(); code != want || w.now() > 0 {
				t.Errorf("close %x: got code %d after %v, want %d at once", payload, code, w.now(), want)
			}
		})
	}
}

func TestBreachesOfRFC6455EndTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		bytes []byte
		want  ws.Code
	}{
		"not masked": {[]byte{0x82, 1, 0}, ws.Protocol},
		"text":       {mask(ws.Text, []byte("hello")), ws.Unsupported},
		"fragment":   {append([]byte{0x02}, mask(ws.Binary, putFrame(owner(t), 1))[1:]...), ws.Unsupported},
		"compressed": {append([]byte{0xc2}, mask(ws.Binary, putFrame(owner(t), 1))[1:]...), ws.Protocol},
		"long ping":  {mask(ws.Ping, make([]byte, 126)), ws.Protocol},
		"huge":       {binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<40), ws.TooBig},
	} {
		for _, path := range []string{"/v1/put", "/v1/watch"} {
			virtual(t, Config{}, func(t *testing.T, w *world) {
				p := w.open(path)
				go p.nc.Write(append(c.bytes, mask(ws.Ping, nil)...))
				if code, _ := p.end(); code != c.want {
					t.Errorf("%s, %s: got code %d, want %d", path, name, code, c.want)
				}
			})
		}
	}
}

// TestNothingIsHeardAfterTheEnd: what follows a close frame or a breach, even in
// the same packet, is not taken.
func TestNothingIsHeardAfterTheEnd(t *testing.T) {
	for name, last := range map[string][]byte{
		"close": mask(ws.Close, []byte{3, 232}), "text": mask(ws.Text, nil), "bad put": mask(ws.Binary, make([]byte, 7)),
	} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			k := owner(t)
			a, p := w.watch(k), w.open("/v1/put")
			go p.nc.Write(slices.Concat(mask(ws.Binary, putFrame(k, 1)), last, mask(ws.Binary, putFrame(k, 2))))
			p.end()
			a.cell(k, 1)
			synctest.Wait()
			if a.silent(); t.Failed() {
				t.Errorf("%s: got the cell after it", name)
			}
		})
	}
}

// TestGoodbye: when the hub stops, everybody is told, and nobody is left.
func TestGoodbye(t *testing.T) {
	virtual(t, Config{WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		k := owner(t)
		a, p, idle := w.watch(k), w.open("/v1/put"), w.open("/v1/put")
		deaf := w.openDeaf("/v1/watch")
		p.send(putFrame(k, 1))
		a.cell(k, 1)
		status := make(chan int)
		go func() { status <- w.post(make([]byte, wire.PostPutSize)).StatusCode }()
		synctest.Wait()
		at := w.now()
		w.stop()
		for _, p := range []*peer{a.peer, p, idle} {
			if code, _ := p.end(); code != ws.GoingAway {
				t.Errorf("got close code %d, want %d", code, ws.GoingAway)
			}
		}
		if got := <-status; got != 503 {
			t.Errorf("got status %d for a put under way, want 503", got)
		}
		if err := <-w.ended; err != nil || w.now()-at > 2*time.Second {
			t.Errorf("got %v %v after the end, want nil within 2s", err, w.now()-at)
		}
		w.ended <- nil
		if w.hub.active != 0 || len(w.hub.conns) != 0 {
			t.Errorf("got %d active, %d connections left", w.hub.active, len(w.hub.conns))
		}
		if got := w.post(make([]byte, wire.PostPutSize)); got.StatusCode != 503 {
			t.Errorf("got status %d for a late put, want 503", got.StatusCode)
		}
		_ = deaf
	})
}
