package hub

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/window"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// others is a bus whose other nodes do as they are told.
type others struct {
	nodes int // that every put asks

	mu      sync.Mutex
	tallies []bus.Tally
	past    []window.Entry
	reach   time.Duration
	joined  []wire.Address
	left    []wire.Address
}

func (o *others) Publish(_ *window.Entry, t bus.Tally) {
	t.Ask(o.nodes)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tallies = append(o.tallies, t)
}

func (o *others) Watch(a []wire.Address, past func(*window.Entry) bool) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.joined = append(o.joined, a...)
	for i := range o.past {
		if past == nil || !past(&o.past[i]) {
			break
		}
	}
	return o.reach
}

func (o *others) Unwatch(a []wire.Address) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = append(o.left, a...)
}

func (o *others) tally(n int) bus.Tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tallies[n]
}

// TestOtherNodesCountUntilTheAnswer: what others say is added up, and who has
// not spoken when the answer leaves makes it a lower bound.
func TestOtherNodesCountUntilTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answers  []int
		late     bool // the last of them
		want     uint16
		complete bool
	}{
		"all":         {[]int{0, 3}, false, 4, true},
		"all nothing": {[]int{0, 0}, false, 1, true},
		"one silent":  {[]int{3}, false, 4, false},
		"none":        {nil, false, 1, false},
		"one late":    {[]int{2, 3}, true, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &others{nodes: 2}
			virtual(t, Config{Bus: o}, func(t *testing.T, w *world) {
				k := owner(t)
				a, p := w.watch(k), w.open("/v1/put")
				sent := w.now()
				p.send(putFrame(k, 1))
				a.echo(a.cell(k, 1))
				for i, n := range c.answers {
					if c.late && i == len(c.answers)-1 {
						time.AfterFunc(wire.AnswerAfter+100*time.Millisecond, func() { o.tally(0).Answer(n) })
						continue
					}
					o.tally(0).Answer(n)
				}
				f := p.want(ws.Binary)
				got, err := wire.ParseAnswer(f.p)
				if err != nil || got.Delivered != c.want || got.Complete != c.complete {
					t.Errorf("got %d, complete %v, %v; want %d, %v", got.Delivered, got.Complete, err, c.want, c.complete)
				}
				if f.at != answerTime(sent) {
					t.Errorf("got the answer at %v, want %v", f.at, answerTime(sent))
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// slow is a bus that takes longer to ask than an answer has.
type slow struct{ bus.Alone }

func (slow) Publish(_ *window.Entry, t bus.Tally) {
	time.Sleep(2 * wire.AnswerAfter)
	t.Ask(1)
}

// TestAnAnswerBeforeAnybodyWasAskedIsALowerBound: the clock of a put runs from
// its receipt, whatever holds the relay up then.
func TestAnAnswerBeforeAnybodyWasAskedIsALowerBound(t *testing.T) {
	virtual(t, Config{Bus: slow{}}, func(t *testing.T, w *world) {
		p := w.open("/v1/put")
		p.send(putFrame(owner(t), 1))
		if got, err := wire.ParseAnswer(p.want(ws.Binary).p); err != nil || got.Complete {
			t.Errorf("got %+v, %v; want a lower bound", got, err)
		}
		time.Sleep(2 * wire.AnswerAfter)
	})
}

// TestACellOfAnotherNode is kept, delivered and counted here for as long as one
// of ours.
func TestACellOfAnotherNode(t *testing.T) {
	virtual(t, Config{WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		k, nobody := owner(t), owner(t)
		a, b := w.watch(k), w.watch(k)
		cells := []window.Entry{window.Entry(putFrame(k, 7)[wire.PutIDSize:]), window.Entry(putFrame(nobody, 8)[wire.PutIDSize:])}
		v := w.hub.Carry(cells)
		if len(v) != 2 || v[0] == nil || v[1] != nil {
			t.Fatalf("got visits %v, want one of a watched address and none of the other", v)
		}
		a.echo(a.cell(k, 7))
		late := b.cell(k, 7)
		time.Sleep(wire.EchoWithin / 2)
		if n, all := v[0].Echoes(); n != 1 || all {
			t.Errorf("got %d echoes, all %v; want 1 of two", n, all)
		}
		time.Sleep(wire.EchoWithin/2 + time.Millisecond)
		b.echo(late)
		b.send(b.frame(0, w.period(), nobody)) // its answer says that the echo was read
		b.watched(2)
		if n, all := v[0].Echoes(); n != 1 || all {
			t.Errorf("got %d echoes, all %v after one that came too late; want 1 of two", n, all)
		}
		c := w.greeted()
		c.send(c.frame(wire.FlagReplay, w.period(), k))
		c.cell(k, 7)
		c.watched(1)
	})
}

// TestTheBusIsTold what is watched and what no more, and its past comes before
// the word that all is watched.
func TestTheBusIsTold(t *testing.T) {
	k := owner(t)
	o := &others{past: []window.Entry{window.Entry(putFrame(k, 5)[wire.PutIDSize:])}, reach: 7 * time.Second}
	virtual(t, Config{Bus: o, WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		time.Sleep(30 * time.Second)
		a := w.greeted()
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		a.cell(k, 5)
		if reach := a.watched(1); reach != 7 {
			t.Errorf("got reach %d, want 7 as others said", reach)
		}
		w.hub.Lost()
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		a.cell(k, 5)
		if reach := a.watched(1); reach != 0 {
			t.Errorf("got reach %d after a loss just now, want 0", reach)
		}
		if !w.hub.Watches(new(address(k))) || w.hub.Watches(new(address(owner(t)))) {
			t.Error("got the wrong watched address")
		}
		var all []wire.Address
		w.hub.Addresses(func(a *wire.Address) { all = append(all, *a) })
		if len(all) != 1 || all[0] != address(k) {
			t.Errorf("got %d watched addresses, want the one", len(all))
		}
		a.send(append([]byte{byte(wire.FrameUnwatch)}, k[32:]...))
		a.send(a.frame(0, w.period(), k))
		a.watched(1)
		o.mu.Lock()
		if len(o.joined) != 3 || len(o.left) != 1 {
			t.Errorf("got %d told of watching and %d of giving up, want 3 and 1", len(o.joined), len(o.left))
		}
		o.mu.Unlock()
		a.nc.Close()
		time.Sleep(time.Second)
		o.mu.Lock()
		if len(o.left) != 2 || w.hub.Watches(new(address(k))) {
			t.Error("the end of a connection was not told")
		}
		o.mu.Unlock()
	})
}

// TestDrain: every connection goes at a moment of its own, puts are answered
// first, and nobody comes in meanwhile.
func TestDrain(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		const n, spread = 12, 4 * time.Second
		k := owner(t)
		var all []*peer
		for range n {
			all = append(all, w.watch(owner(t)).peer, w.open("/v1/put"))
		}
		for i := 1; i < len(all); i += 2 {
			all[i].send(putFrame(k, uint64(i)))
		}
		time.Sleep(time.Millisecond)
		begun := w.now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.hub.Drain(context.Background(), spread)
		}()
		moments := map[time.Duration]bool{}
		for i, p := range all {
			if i%2 == 1 {
				p.answer(uint64(i))
			}
			f := p.want(ws.Close)
			if code := ws.Code(f.p[0])<<8 | ws.Code(f.p[1]); code != ws.GoingAway {
				t.Errorf("got close code %d, want %d", code, ws.GoingAway)
			}
			if d := f.at - begun; d > spread+wire.AnswerAfter+100*time.Millisecond {
				t.Errorf("got the end after %v, want within the spread", d)
			}
			moments[f.at] = true
			p.nc.Close()
		}
		<-done
		if len(moments) < n/2 {
			t.Errorf("got %d connections told at %d moments, want them spread", len(all), len(moments))
		}
		nc := w.dial()
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(time.Minute))
		if _, err := nc.Write([]byte("GET /v1/put HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<10)
		for {
			if _, err := nc.Read(buf); err != nil {
				if e, ok := err.(interface{ Timeout() bool }); ok && e.Timeout() {
					t.Error("a newcomer was let in while the hub drains")
				}
				break
			}
		}
	})
}
