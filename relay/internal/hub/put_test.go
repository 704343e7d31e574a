package hub

import (
	"crypto/ed25519"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// answerTime is when an answer to a put received at a time has to come.
func answerTime(at time.Duration) time.Duration {
	const grain = 10 * time.Millisecond
	return (at + 1500*time.Millisecond + grain - 1) / grain * grain
}

// TestAnswerTimeDependsOnNothing puts at odd times to addresses in every state
// there is, and wants each answer at the same distance, to the nanosecond of a
// virtual clock.
func TestAnswerTimeDependsOnNothing(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *world, k ed25519.PrivateKey) []*watching
		during  func(all []*watching, k ed25519.PrivateKey)
		want    int
	}{
		"nobody": {nil, nil, 0},
		"watched and echoed": {
			func(w *world, k ed25519.PrivateKey) []*watching { return []*watching{w.watch(k)} },
			func(all []*watching, k ed25519.PrivateKey) { all[0].echo(all[0].cell(k, 1)) }, 1,
		},
		"watched and not echoed": {
			func(w *world, k ed25519.PrivateKey) []*watching { return []*watching{w.watch(k)} }, nil, 0,
		},
		"watched by five": {
			func(w *world, k ed25519.PrivateKey) (all []*watching) {
				for range 5 {
					all = append(all, w.watch(k))
				}
				return all
			},
			func(all []*watching, k ed25519.PrivateKey) {
				for i, p := range all {
					time.Sleep(time.Duration(i) * 7 * time.Millisecond)
					p.echo(p.cell(k, 1))
				}
			}, 5,
		},
		"watched by one who leaves": {
			func(w *world, k ed25519.PrivateKey) []*watching { return []*watching{w.watch(k)} },
			func(all []*watching, k ed25519.PrivateKey) { all[0].cell(k, 1); all[0].nc.Close() }, 0,
		},
		"watched by one who echoes and leaves": {
			func(w *world, k ed25519.PrivateKey) []*watching { return []*watching{w.watch(k)} },
			func(all []*watching, k ed25519.PrivateKey) {
				all[0].echo(all[0].cell(k, 1))
				all[0].nc.Close()
			}, 1,
		},
		"watched by one who does not read": {
			func(w *world, k ed25519.PrivateKey) []*watching {
				p := &watching{peer: w.openDeaf("/v1/watch")}
				g, err := readFrame(p.nc)
				if err != nil {
					w.t.Fatal(err)
				}
				p.server = [32]byte(g.p[1:])
				p.send(p.frame(0, w.period(), k))
				if g, err = readFrame(p.nc); err != nil || g.p[0] != byte(wire.FrameWatched) {
					w.t.Fatal(g, err)
				}
				return []*watching{p}
			}, nil, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, Config{WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
				k := owner(t)
				var all []*watching
				if c.prepare != nil {
					all = c.prepare(w, k)
				}
				p := w.open("/v1/put")
				time.Sleep(4321*time.Microsecond + 17)
				at := w.now()
				p.send(putFrame(k, 1))
				if c.during != nil {
					c.during(all, k)
				}
				a := p.answers(1)[1]
				if a.at != answerTime(at) {
					t.Errorf("got an answer after %v, want %v", a.at-at, answerTime(at)-at)
				}
				if a.delivered != c.want {
					t.Errorf("got %d delivered, want %d", a.delivered, c.want)
				}
			})
		})
	}
}

// TestAnswerIsMadeOfTheRecordAlone: between receipt and answer the record is all
// that the answer's side touches, and it costs the same whatever was counted.
func TestAnswerIsMadeOfTheRecordAlone(t *testing.T) {
	h := New(Config{Time: seed(t)})
	cost := func(delivered uint32) float64 {
		q := new(putter)
		q.init(h, deafConn{}, putRole, q)
		q.answers.fire = q.answer
		frame := make([]byte, wire.PutSize)
		return testing.AllocsPerRun(200, func() {
			rec, _ := q.record(frame, 5)
			rec.delivered.Store(delivered)
			q.rmu.Lock()
			q.head.done, q.head.n = 0, 1
			q.rmu.Unlock()
			q.answer(rec.dueAt() - 1)
			if q.open != 1 {
				t.Fatal("got an answer before it was due")
			}
			q.state = closed // nothing is written
			q.answer(rec.dueAt())
			if q.open != 0 {
				t.Fatal("got no answer when it was due")
			}
			q.state = open
		})
	}
	if a, b := cost(0), cost(3); a != b {
		t.Errorf("got %v allocations for nobody and %v for three", a, b)
	}
}

func TestManyPutsInOneMessage(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k, other := owner(t), owner(t)
		a, p := w.watch(k), w.open("/v1/put")
		var b []byte
		for n := range uint64(64) {
			to := k
			if n%4 == 3 {
				to = other
			}
			b = append(b, putFrame(to, n)...)
		}
		at := w.now()
		p.send(b)
		for n := range uint64(64) {
			if n%4 != 3 {
				nonce := a.cell(k, n)
				if n%2 == 0 {
					a.echo(nonce)
				}
			}
		}
		for id, got := range p.answers(64) {
			want := 0
			if id%2 == 0 {
				want = 1
			}
			if got.delivered != want || got.at != answerTime(at) {
				t.Errorf("put %d: got %d delivered after %v, want %d after %v", id, got.delivered, got.at-at, want, answerTime(at)-at)
			}
		}
	})
}

// TestAnswersKeepTheirOrder puts all the time: every answer comes at its own
// constant time, in the order of the puts.
func TestAnswersKeepTheirOrder(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k, p := owner(t), w.open("/v1/put")
		const n = 400
		sent := map[uint64]time.Duration{}
		for id := range uint64(n) {
			sent[id] = w.now()
			p.send(putFrame(k, id))
			time.Sleep(time.Duration(id*id%23) * 3333 * time.Microsecond)
		}
		time.Sleep(2 * time.Second)
		var last time.Duration
		got := p.answers(n)
		for id := range uint64(n) {
			if got[id].at != answerTime(sent[id]) || got[id].at < last {
				t.Errorf("put %d: got an answer after %v, want %v", id, got[id].at-sent[id], answerTime(sent[id])-sent[id])
			}
			last = got[id].at
		}
	})
}

func TestBadPutsEndTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		payload []byte
		code    ws.Code
	}{
		"empty":         {nil, ws.Policy},
		"one byte less": {make([]byte, wire.PutSize-1), ws.Policy},
		"one byte more": {make([]byte, wire.PutSize+1), ws.Policy},
		"one of 65":     {make([]byte, 65*wire.PutSize), ws.TooBig},
		"an echo":       {make([]byte, 1+wire.EchoNonceSize), ws.Policy},
	} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			p := w.open("/v1/put")
			go p.write(ws.Binary, c.payload)
			if code, _ := p.end(); code != c.code {
				t.Errorf("%s: got close code %d, want %d", name, code, c.code)
			}
		})
	}
}

// TestUnansweredPutsAreBounded holds a connection to its bound of open records.
func TestUnansweredPutsAreBounded(t *testing.T) {
	h := New(Config{Time: seed(t)})
	q := new(putter)
	q.init(h, deafConn{}, putRole, q)
	frame := make([]byte, wire.PutSize)
	for n := range maxOpen {
		if r, _ := q.record(frame, int64(n)); r == nil {
			t.Fatalf("got no record for put %d, want %d", n, maxOpen)
		}
	}
	if _, ok := q.record(frame, 0); ok {
		t.Error("got a record beyond the bound")
	}
	if code := q.message(frame, 0); code != ws.Policy {
		t.Errorf("got code %d, want %d", code, ws.Policy)
	}
	q.state = closed // nothing is written
	q.answer(1 << 60)
	if q.open != 0 || q.head != nil || q.tail != nil {
		t.Errorf("got %d records left after all answers", q.open)
	}
}

func TestPutConnectionTakesNoWords(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		p := w.open("/v1/put")
		synctest.Wait()
		p.silent() // no greeting either
	})
}
