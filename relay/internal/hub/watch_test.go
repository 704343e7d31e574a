package hub

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

func TestWrongProofsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(p *wire.Proof, sig, address []byte, k ed25519.PrivateKey) []byte{
		"another realm":   func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Realm[0]++; return nil },
		"another binding": func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Binding[31]++; return nil },
		"another nonce":   func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Nonce[7]++; return nil },
		"another address": func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Address[0]++; return nil },
		"to take":         func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Verb = wire.VerbTake; return nil },
		"another period":  func(p *wire.Proof, _, _ []byte, _ ed25519.PrivateKey) []byte { p.Period++; return nil },
	} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			k, good := owner(t), owners(t, 40)
			p := w.greeted()
			proof := wire.Proof{Realm: realm, Nonce: p.server, Address: address(k), Verb: wire.VerbWatch, Period: w.period()}
			spoil(&proof, nil, nil, k)
			b := append(p.frame(0, w.period(), good...), k[32:]...)
			p.send(append(b, ed25519.Sign(k, proof.Append(nil))...)) // behind many good ones
			if code, reason := p.end(); code != ws.Policy || reason != wire.ReasonProof {
				t.Errorf("%s: got code %d, reason %d, want %d, %d", name, code, reason, ws.Policy, wire.ReasonProof)
			}
			synctest.Wait()
			a := address(good[0])
			if one, many := w.hub.table.find(&a); one != nil || many != nil {
				t.Errorf("%s: got an address watched beside one that was not proven", name)
			}
		})
	}
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p := w.greeted()
		b := p.frame(0, w.period(), owner(t))
		b[len(b)-40] ^= 1
		p.send(b)
		if _, reason := p.end(); reason != wire.ReasonProof {
			t.Errorf("a bit of the signature: got reason %d, want %d", reason, wire.ReasonProof)
		}
	})
}

func TestPeriodsOfAWatch(t *testing.T) {
	for _, c := range []struct {
		first, second int64 // from the running period
		reason        wire.Reason
	}{
		{0, 0, 0}, {1, 1, 0}, {-1, -1, 0},
		{2, 0, wire.ReasonPeriod}, {-2, 0, wire.ReasonPeriod}, {1 << 40, 0, wire.ReasonPeriod}, {-1 << 40, 0, wire.ReasonPeriod},
		{0, 1, wire.ReasonPeriod}, {0, -1, wire.ReasonPeriod}, {1, 0, wire.ReasonPeriod}, {-1, 0, wire.ReasonPeriod},
	} {
		virtual(t, Config{Live: 10 * time.Minute}, func(t *testing.T, w *world) {
			p, k := w.greeted(), owner(t)
			p.send(p.frame(0, w.period()+uint64(c.first), k))
			if c.first == c.second || c.first*c.first == 1 || c.first == 0 {
				p.watched(1)
				p.send(p.frame(0, w.period()+uint64(c.second), owner(t)))
			}
			if c.reason == 0 {
				p.watched(2)
				return
			}
			if code, reason := p.end(); code != ws.Policy || reason != c.reason {
				t.Errorf("periods %+d, %+d: got code %d, reason %d, want %d, %d", c.first, c.second, code, reason, ws.Policy, c.reason)
			}
		})
	}
}

// TestForgottenWatchEnds: a client that never ends the connection of a period
// has it ended, so that no address stays in memory for long.
func TestForgottenWatchEnds(t *testing.T) {
	virtual(t, Config{Live: 10 * time.Minute}, func(t *testing.T, w *world) {
		k := owner(t)
		p := w.watch(k)
		first := w.period()
		p.pong.Store(true)
		if code, reason := p.end(); code != ws.Policy || reason != wire.ReasonPeriod {
			t.Errorf("got code %d, reason %d, want %d, %d", code, reason, ws.Policy, wire.ReasonPeriod)
		}
		if got := w.period() - first; got != 3 {
			t.Errorf("got the end %d periods on, want 3", got)
		}
		synctest.Wait()
		a := address(k)
		if one, _ := w.hub.table.find(&a); one != nil {
			t.Error("got the address still watched")
		}
	})
}

func TestBadFramesAreRefused(t *testing.T) {
	put := make([]byte, wire.PutSize)
	for name, frame := range map[string]func(p *watching) []byte{
		"empty":               func(*watching) []byte { return nil },
		"kind 0":              func(*watching) []byte { return []byte{0} },
		"a kind of the relay": func(*watching) []byte { return []byte{byte(wire.FrameWatched), 0, 1} },
		"a put":               func(*watching) []byte { return put },
		"watch of none":       func(p *watching) []byte { return p.frame(0, p.w.period()) },
		"watch cut short":     func(p *watching) []byte { b := p.frame(0, p.w.period(), owner(p.t)); return b[:len(b)-1] },
		"watch too long":      func(p *watching) []byte { return append(p.frame(0, p.w.period(), owner(p.t)), 0) },
		"unknown flag":        func(p *watching) []byte { return p.frame(2, p.w.period(), owner(p.t)) },
		"watch, header only":  func(*watching) []byte { return []byte{byte(wire.FrameWatch), 0, 0} },
		"unwatch of none":     func(*watching) []byte { return []byte{byte(wire.FrameUnwatch)} },
		"unwatch of 31 bytes": func(*watching) []byte { return append([]byte{byte(wire.FrameUnwatch)}, make([]byte, 31)...) },
		"echo of none":        func(*watching) []byte { return []byte{byte(wire.FrameEcho)} },
		"echo of 7 bytes":     func(*watching) []byte { return append([]byte{byte(wire.FrameEcho)}, make([]byte, 7)...) },
		"echo of 1,025":       func(*watching) []byte { return append([]byte{byte(wire.FrameEcho)}, make([]byte, 8*1025)...) },
	} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			p := w.greeted()
			p.send(frame(p))
			if code, reason := p.end(); code != ws.Policy || reason != wire.ReasonFrame {
				t.Errorf("%s: got code %d, reason %d, want %d, %d", name, code, reason, ws.Policy, wire.ReasonFrame)
			}
		})
	}
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p := w.greeted()
		go p.write(ws.Binary, p.frame(0, w.period(), owners(t, 513)...))
		if code, _ := p.end(); code != ws.TooBig {
			t.Errorf("watch of 513: got code %d, want %d", code, ws.TooBig)
		}
	})
}

func TestAddressesOfOneConnectionAreBounded(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p, set := w.greeted(), owners(t, wire.MaxWatched+1)
		for n := 0; n < wire.MaxWatched; n += wire.MaxWatch {
			p.send(p.frame(0, w.period(), set[n:n+wire.MaxWatch]...))
			p.watched(n + wire.MaxWatch)
		}
		p.send(p.frame(0, w.period(), set[:wire.MaxWatch]...)) // those it has are no more
		p.watched(wire.MaxWatched)
		p.send(append([]byte{byte(wire.FrameUnwatch)}, set[7][32:]...))
		p.send(p.frame(0, w.period(), set[7]))
		p.watched(wire.MaxWatched)
		p.send(p.frame(0, w.period(), set[wire.MaxWatched]))
		if code, reason := p.end(); code != ws.Policy || reason != wire.ReasonLimit {
			t.Errorf("got code %d, reason %d, want %d, %d", code, reason, ws.Policy, wire.ReasonLimit)
		}
		synctest.Wait()
		for i := range w.hub.table.shards {
			if s := &w.hub.table.shards[i]; len(s.one)+len(s.many) != 0 {
				t.Fatalf("got %d addresses of a connection that has gone", len(s.one)+len(s.many))
			}
		}
	})
}

func TestWatchingTwiceIsWatchingOnce(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k, p := owner(t), w.open("/v1/put")
		a := w.watch(k)
		a.send(a.frame(0, w.period(), k, k, k))
		a.watched(1)
		b := w.watch(k)
		b.send(b.frame(0, w.period(), k))
		b.watched(1)
		p.send(putFrame(k, 1))
		a.echo(a.cell(k, 1))
		b.echo(b.cell(k, 1))
		if got := p.answer(1); got != 2 {
			t.Errorf("got %d delivered, want 2", got)
		}
		a.silent()
		b.silent()
	})
}

func TestUnwatchedAddressesGetNothing(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		set, p := owners(t, 5), w.open("/v1/put")
		a, b := w.watch(set...), w.watch(set[0])
		stranger := owner(t)
		a.send(bytes.Join([][]byte{{byte(wire.FrameUnwatch)}, set[0][32:], stranger[32:], set[3][32:], set[3][32:]}, nil))
		synctest.Wait()
		for n, k := range set {
			p.send(putFrame(k, uint64(n)))
		}
		for _, n := range []uint64{1, 2, 4} {
			a.echo(a.cell(set[n], n))
		}
		b.echo(b.cell(set[0], 0)) // another's watch is not touched
		got := p.answers(5)
		for n, want := range []int{1, 1, 1, 0, 1} {
			if got[uint64(n)].delivered != want {
				t.Errorf("address %d: got %d delivered, want %d", n, got[uint64(n)].delivered, want)
			}
		}
		a.silent()
		a.send(a.frame(0, w.period(), set[3]))
		a.watched(4)
		p.send(putFrame(set[3], 9))
		a.cell(set[3], 9)
	})
}

// TestSecondIsSharedAndTrue: greeting and pings carry the same signed time.
func TestSecondIsSharedAndTrue(t *testing.T) {
	virtual(t, Config{Ping: 7 * time.Second}, func(t *testing.T, w *world) {
		public := key.SignPublicOf(seed(t))
		check := func(second []byte, at time.Duration) {
			t.Helper()
			if len(second) != wire.SecondSize {
				t.Fatalf("got a second of %d bytes, want %d", len(second), wire.SecondSize)
			}
			unix := int64(binary.BigEndian.Uint64(second))
			if !key.Verify(public, key.Signature(second[8:]), wire.LabelSecond, second[:8]) {
				t.Error("got a second that does not verify")
			}
			if d := w.start.Add(at).Sub(time.Unix(unix, 0)); d < 0 || d > time.Second {
				t.Errorf("got a second that is %v old", d)
			}
		}
		time.Sleep(2500 * time.Millisecond)
		a, b := w.greeted(), w.greeted()
		check(a.second, w.now())
		if !bytes.Equal(a.second, b.second) {
			t.Error("got two seconds in one second")
		}
		if a.server == b.server {
			t.Error("got one server nonce for two connections")
		}
		p := w.open("/v1/put")
		p.send(putFrame(owner(t), 1))
		p.answer(1)
		a.send(a.frame(0, w.period(), owner(t)))
		a.watched(1)
		for _, p := range []*peer{a.peer, p} {
			f := p.want(ws.Ping)
			check(f.p, f.at)
		}
	})
}

// limiter allows so many of each.
type limiter struct {
	most, held [6]atomic.Int64
	refused    atomic.Int64
}

func (l *limiter) Allow(_ netip.Addr, what gate.What) (release func(), ok bool) {
	if l.held[what].Add(1) > l.most[what].Load() {
		l.held[what].Add(-1)
		l.refused.Add(1)
		return nil, false
	}
	return func() { l.held[what].Add(-1) }, true
}

func TestLimitsAreAskedAndGivenBack(t *testing.T) {
	l := new(limiter)
	l.most[gate.Watch].Store(2)
	l.most[gate.Put].Store(1)
	l.most[gate.Refusal].Store(1)
	virtual(t, Config{Limit: l}, func(t *testing.T, w *world) {
		a := w.watch(owner(t))
		w.watch(owner(t))
		if _, reason := w.greeted().end(); reason != wire.ReasonLimit {
			t.Errorf("got reason %d, want %d", reason, wire.ReasonLimit)
		}
		l.most[gate.Refusal].Store(0) // too many are being told already
		if got := w.get("/v1/watch", upgradeHeaders); got.StatusCode != 429 {
			t.Errorf("got status %d, want 429", got.StatusCode)
		}
		a.nc.Close()
		synctest.Wait()
		w.watch(owner(t))
		p := w.open("/v1/put")
		if got := w.get("/v1/put", upgradeHeaders); got.StatusCode != 429 {
			t.Errorf("got status %d, want 429", got.StatusCode)
		}
		if got := w.post(make([]byte, wire.PostPutSize)); got.StatusCode != 429 {
			t.Errorf("got status %d, want 429", got.StatusCode)
		}
		p.nc.Close()
		synctest.Wait()
		if got := w.post(make([]byte, wire.PostPutSize)); got.StatusCode != 200 {
			t.Errorf("got status %d, want 200", got.StatusCode)
		}
		synctest.Wait()
		if held, puts := l.held[gate.Watch].Load(), l.held[gate.Put].Load(); held != 2 || puts != 0 {
			t.Errorf("got %d watches and %d puts held, want 2 and 0", held, puts)
		}
	})
	if w, p, r := l.held[gate.Watch].Load(), l.held[gate.Put].Load(), l.refused.Load(); w != 0 || p != 0 || r != 5 {
		t.Errorf("got %d watches and %d puts held at the end, %d refused, want 0, 0, 5", w, p, r)
	}
}
