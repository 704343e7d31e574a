package relay_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// quiet is the silence that the client takes for a broken connection: ping 60 s,
// pong 3 s, and a slack of 15 s.
const quiet = 78 * time.Second

func own() transport.Owned {
	pub, private, _ := ed25519.GenerateKey(rand.Reader)
	return transport.Owned{
		Address: transport.Address(pub),
		Sign:    func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil },
	}
}

func owns(n int) []transport.Owned {
	set := make([]transport.Owned, n)
	for i := range set {
		set[i] = own()
	}
	return set
}

// watching is a watch that runs.
type watching struct {
	stop  context.CancelFunc
	ready chan time.Duration
	times chan int64
	got   chan transport.Delivery
	ended chan error
}

// start starts a watch of w, with the running period and callbacks filled in.
func start(t *testing.T, r *relay.Relay, w transport.Watch) *watching {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	v := &watching{
		stop: stop, ready: make(chan time.Duration, 9), times: make(chan int64, 9999),
		got: make(chan transport.Delivery, 9999), ended: make(chan error, 1),
	}
	w.Period = uint64(time.Now().Unix() / 1800)
	w.Ready = func(d time.Duration) { v.ready <- d }
	w.Time = func(unix int64) { v.times <- unix }
	if w.Deliver == nil {
		w.Deliver = func(d transport.Delivery) { v.got <- d }
	}
	go func() { v.ended <- r.Watch(ctx, w) }()
	return v
}

// script serves a WebSocket: it may read and write until it returns.
func (f *fake) script(path string, play func(ws *websocket.Conn)) {
	f.replace(path, func(w http.ResponseWriter, r *http.Request) {
		ws := f.upgrade(w, r)
		defer ws.CloseNow()
		play(ws)
	})
}

func (f *fake) write(ws *websocket.Conn, b []byte) {
	ws.Write(f.stop, websocket.MessageBinary, b)
}

func (f *fake) read(ws *websocket.Conn) []byte {
	_, b, err := ws.Read(f.stop)
	if err != nil {
		return nil
	}
	return b
}

// sleep ends with the relay: a bubble's time stands still once its test is over.
func (f *fake) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.stop.Done():
	}
}

// drain reads until the connection ends.
func (f *fake) drain(ws *websocket.Conn) {
	for f.read(ws) != nil {
	}
}

// greet makes a first frame.
func greet(second []byte) []byte {
	b := append([]byte{byte(wire.FrameGreeting)}, make([]byte, wire.ServerNonceSize)...)
	return append(b, second...)
}

func watchedFrame(n int, reach uint32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{byte(wire.FrameWatched)}, uint16(n))
	return binary.BigEndian.AppendUint32(b, reach)
}

func deliverFrame(nonce uint64, a transport.Address) []byte {
	b := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameDeliver)}, nonce)
	return append(append(b, a[:]...), make([]byte, wire.CellSize)...)
}

// mustBeTemporary wants an error that invites another try.
func mustBeTemporary(t *testing.T, err error) {
	t.Helper()
	for _, final := range []error{transport.ErrRefused, transport.ErrIdentity, transport.ErrTime, transport.ErrClosed} {
		if err == nil || errors.Is(err, final) {
			t.Errorf("got error %v, want a temporary one", err)
		}
	}
}

func TestSilenceEndsAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		w := start(t, f.join(), transport.Watch{Set: owns(1)})
		<-w.ready
		began := time.Now()
		mustBeTemporary(t, <-w.ended)
		if got := time.Since(began); got != quiet {
			t.Errorf("got the end after %v of silence, want it after %v", got, quiet)
		}
	})
}

func TestSilenceFromTheStartEndsAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		f.script("/v1/watch", func(ws *websocket.Conn) { f.drain(ws) })
		began := time.Now()
		mustBeTemporary(t, <-start(t, f.join(), transport.Watch{Set: owns(1)}).ended)
		if got := time.Since(began); got != quiet {
			t.Errorf("got the end after %v without a greeting, want it after %v", got, quiet)
		}
	})
}

func TestPingsKeepAWatchAndTellTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		const pings = 100
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			f.read(ws)
			f.write(ws, watchedFrame(1, 0))
			go f.drain(ws)
			for range pings {
				f.sleep(time.Minute)
				if err := f.ping(ws, f.second(time.Now())); err != nil {
					t.Errorf("got error %v, want a pong", err)
				}
			}
		})
		w := start(t, f.join(), transport.Watch{Set: owns(1)})
		began := time.Now().Unix()
		mustBeTemporary(t, <-w.ended)
		if len(w.times) != 1+pings {
			t.Fatalf("got %d times, want one by the greeting and %d by pings", len(w.times), pings)
		}
		for i := range int64(1 + pings) {
			if got := <-w.times; got != began+60*i {
				t.Errorf("got time %d, want %d", got, began+60*i)
			}
		}
	})
}

func TestTimeThatDoesNotVerifyEndsAWatch(t *testing.T) {
	other := &fake{time: newSign()}
	for name, second := range map[string]func(f *fake) []byte{
		"signed by another key": func(f *fake) []byte { return other.second(time.Now()) },
		"of another second": func(f *fake) []byte {
			b := f.second(time.Now())
			b[7] ^= 1
			return b
		},
		"too short":     func(f *fake) []byte { return f.second(time.Now())[:71] },
		"empty":         func(f *fake) []byte { return nil },
		"beyond a date": func(f *fake) []byte { return f.second(time.Unix(1<<50, 0)) },
	} {
		for _, in := range []string{"greeting", "ping", "ping of a put"} {
			t.Run(name+" in the "+in, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake(t, "localhost")
					r := f.join()
					f.script("/v1/watch", func(ws *websocket.Conn) {
						if in == "greeting" {
							f.write(ws, greet(second(f)))
							f.drain(ws)
							return
						}
						f.write(ws, greet(f.second(time.Now())))
						go f.ping(ws, second(f))
						f.drain(ws)
					})
					f.script("/v1/put", func(ws *websocket.Conn) {
						go f.ping(ws, second(f))
						f.drain(ws)
					})
					var err error
					if in == "ping of a put" {
						_, err = put(t, r, "")
					} else {
						err = <-start(t, r, transport.Watch{Set: owns(1)}).ended
					}
					if in == "greeting" && len(second(f)) != wire.SecondSize {
						mustBeTemporary(t, err) // no greeting at all
					} else if !errors.Is(err, transport.ErrTime) {
						t.Errorf("got error %v, want ErrTime", err)
					}
					// An operator who changed keys must not lock everybody out.
					f.replace("/v1/watch", nil)
					f.replace("/v1/put", nil)
					before := f.asked("/v1/realm")
					<-start(t, r, transport.Watch{Set: owns(1)}).ready
					if errors.Is(err, transport.ErrTime) && f.asked("/v1/realm") == before {
						t.Error("got no new descriptor after ErrTime, want one")
					}
				})
			})
		}
	}
}

func TestRefusalSaysWhetherToTryAgain(t *testing.T) {
	for reason, final := range map[wire.Reason]bool{
		wire.ReasonProof: true, wire.ReasonPeriod: true, wire.ReasonFrame: true, wire.ReasonLimit: false, 9: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "localhost")
			f.script("/v1/watch", func(ws *websocket.Conn) {
				f.write(ws, greet(f.second(time.Now())))
				f.read(ws)
				f.write(ws, []byte{byte(wire.FrameRefused), byte(reason)})
			})
			err := <-start(t, f.join(), transport.Watch{Set: owns(1)}).ended
			if got := errors.Is(err, transport.ErrRefused); err == nil || got != final {
				t.Errorf("got error %v for reason %d, want final to be %v", err, reason, final)
			}
		})
	}
}

func TestRelayThatBreaksTheProtocolEndsAWatch(t *testing.T) {
	me := own()
	for name, frames := range map[string][][]byte{
		"nothing":                    {},
		"an empty frame":             {{}},
		"an unknown kind":            {{0x77}},
		"a client's frame":           {{byte(wire.FrameEcho), 0, 0, 0, 0, 0, 0, 0, 0}},
		"a short cell":               {deliverFrame(1, me.Address)[:500]},
		"a long cell":                {append(deliverFrame(1, me.Address), 0)},
		"a huge frame":               {make([]byte, 1<<20)},
		"another greeting":           {watchedFrame(1, 0), greet(make([]byte, wire.SecondSize))},
		"a cell for somebody else":   {watchedFrame(1, 0), deliverFrame(1, own().Address)},
		"another number":             {watchedFrame(2, 0)},
		"none of them":               {watchedFrame(0, 0)},
		"an answer to nothing":       {watchedFrame(1, 0), watchedFrame(1, 0)},
		"a short answer":             {watchedFrame(1, 0)[:6]},
		"a refusal without a reason": {{byte(wire.FrameRefused)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.script("/v1/watch", func(ws *websocket.Conn) {
					f.write(ws, greet(f.second(time.Now())))
					f.read(ws)
					for _, b := range frames {
						f.write(ws, b)
					}
					if len(frames) > 0 { // the client has to be the one that ends it
						f.drain(ws)
					}
				})
				began := time.Now()
				w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}})
				mustBeTemporary(t, <-w.ended)
				if got := time.Since(began); got >= quiet {
					t.Errorf("got the end after %v, want it at once", got)
				}
				if len(w.got) != 0 {
					t.Errorf("got %d cells, want none", len(w.got))
				}
			})
		})
	}
}

func TestTextMessageEndsAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		f.script("/v1/watch", func(ws *websocket.Conn) {
			ws.Write(f.stop, websocket.MessageText, greet(f.second(time.Now())))
			f.drain(ws)
		})
		began := time.Now()
		mustBeTemporary(t, <-start(t, f.join(), transport.Watch{Set: owns(1)}).ended)
		if got := time.Since(began); got != 0 {
			t.Errorf("got the end after %v, want it at once", got)
		}
	})
}

func TestBigSetGoesInFramesWithReplayFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		set := owns(1300)
		for i := range set {
			set[i].Replay = i%2 == 0
		}
		sizes := make(chan []int, 1)
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			var got []int
			for n, total := 0, 0; total < len(set); total += n {
				b := f.read(ws)
				n = (len(b) - wire.WatchHeader) / wire.ProofSize
				if b[1] == wire.FlagReplay {
					got = append(got, -n)
					f.write(ws, watchedFrame(total+n, uint32(60-len(got))))
				} else {
					got = append(got, n)
					f.write(ws, watchedFrame(total+n, 0))
				}
			}
			sizes <- got
			f.drain(ws)
		})
		w := start(t, f.join(), transport.Watch{Set: slices.Concat(set, set[:5])})
		if got := <-sizes; !slices.Equal(got, []int{-512, -138, 512, 138}) {
			t.Errorf("got frames of %v proofs, below 0 with replay, want -512 -138 512 138", got)
		}
		if got := <-w.ready; got != 58*time.Second {
			t.Errorf("got a replay of %v, want the shortest, 58 s", got)
		}
	})
}

// echoScript sends n cells for an address and passes on the echo frames.
func echoScript(f *fake, a transport.Address, n int, frames chan<- []byte) {
	f.script("/v1/watch", func(ws *websocket.Conn) {
		f.write(ws, greet(f.second(time.Now())))
		f.read(ws)
		f.write(ws, watchedFrame(1, 0))
		for i := range n {
			f.write(ws, deliverFrame(uint64(i), a))
		}
		for {
			b := f.read(ws)
			if b == nil {
				close(frames)
				return
			}
			frames <- b
		}
	})
}

func TestEchoesLeaveAtOnceAndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		f, me := newFake(t, "localhost"), own()
		frames := make(chan []byte, n)
		echoScript(f, me.Address, n, frames)
		w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}})
		var cells []transport.Delivery
		for range n {
			cells = append(cells, <-w.got)
		}
		began := time.Now()
		for _, d := range cells {
			d.Seen()
			d.Seen()
		}
		synctest.Wait()
		if got := time.Since(began); got != 0 {
			t.Errorf("got echoes after %v, want them at once", got)
		}
		echoed := map[uint64]int{}
		for range len(frames) {
			b := <-frames
			if k := (len(b) - 1) / 8; wire.FrameKind(b[0]) != wire.FrameEcho || k > wire.MaxEchoes || len(b) != 1+8*k {
				t.Errorf("got a frame of kind %d with %d bytes, want an echo of at most %d", b[0], len(b), wire.MaxEchoes)
			}
			for b = b[1:]; len(b) > 0; b = b[8:] {
				echoed[binary.BigEndian.Uint64(b)]++
			}
		}
		for i := range uint64(n) {
			if echoed[i] != 1 {
				t.Fatalf("got nonce %d echoed %d times, want once", i, echoed[i])
			}
		}
	})
}

func TestEchoesThatGatheredShareAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, me := newFake(t, "localhost"), own()
		frames, hold := make(chan []byte, 100), make(chan struct{})
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			f.read(ws)
			f.write(ws, watchedFrame(1, 0))
			for i := range 100 {
				f.write(ws, deliverFrame(uint64(i), me.Address))
			}
			<-hold // the pipe has no buffer: the client's writer is stuck
			for b := f.read(ws); b != nil; b = f.read(ws) {
				frames <- b
			}
		})
		w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(d transport.Delivery) { d.Seen() }})
		<-w.ready
		synctest.Wait() // all were seen, so Seen has not waited for the writer
		close(hold)
		synctest.Wait()
		if len(frames) > 2 {
			t.Errorf("got %d frames for 100 echoes, want at most 2", len(frames))
		}
		if len(w.ended) != 0 {
			t.Errorf("got end %v, want the watch running", <-w.ended)
		}
	})
}

func TestLastEchoesLeaveBeforeAWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, me := newFake(t, "localhost"), own()
		hold, echoed := make(chan struct{}), make(chan bool, 1)
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			f.read(ws)
			f.write(ws, watchedFrame(1, 0))
			f.write(ws, deliverFrame(7, me.Address))
			<-hold
			f.read(ws) // More
			b := f.read(ws)
			echoed <- len(b) == 9 && wire.FrameKind(b[0]) == wire.FrameEcho && b[8] == 7
			f.drain(ws)
		})
		more := make(chan []transport.Owned)
		w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}, More: more})
		d := <-w.got
		more <- owns(1)
		synctest.Wait() // the writer is busy with it
		d.Seen()
		w.stop()
		close(hold)
		<-w.ended
		if !<-echoed {
			t.Error("got no echo, want the one that was owed")
		}
	})
}

func TestStuckWriterDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, me := newFake(t, "localhost"), own()
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			<-f.stop.Done() // and reads nothing
		})
		w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}})
		synctest.Wait()
		began := time.Now()
		w.stop()
		if err := <-w.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want the context's", err)
		}
		if got := time.Since(began); got > time.Second {
			t.Errorf("got the end after %v, want it within a second", got)
		}
	})
}

func TestSlowDeliverDoesNotStopPongs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, me := newFake(t, "localhost"), own()
		release := make(chan struct{})
		var pongs atomic.Int32
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			f.read(ws)
			f.write(ws, watchedFrame(1, 0))
			go f.drain(ws)
			for i := range 20 {
				f.write(ws, deliverFrame(uint64(i), me.Address))
				if f.ping(ws, f.second(time.Now())) == nil {
					pongs.Add(1)
				}
			}
			// The connection breaks, and what has arrived is delivered all the same.
		})
		got := make(chan transport.Delivery, 20)
		w := start(t, f.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(d transport.Delivery) { <-release; got <- d }})
		synctest.Wait()
		if pongs.Load() != 20 {
			t.Errorf("got %d pongs, want 20", pongs.Load())
		}
		close(release)
		mustBeTemporary(t, <-w.ended)
		if len(got) != 20 {
			t.Errorf("got %d cells, want all 20 that arrived", len(got))
		}
	})
}

func TestWatchStatusSaysWhetherToTryAgain(t *testing.T) {
	for status, final := range map[int]bool{400: true, 403: true, 404: false, 429: false, 500: false, 503: false, 302: false, 200: false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "localhost")
			f.replace("/v1/watch", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://elsewhere.example/v1/watch")
				w.WriteHeader(status)
			})
			err := <-start(t, f.join(), transport.Watch{Set: owns(1)}).ended
			if got := errors.Is(err, transport.ErrRefused); err == nil || got != final {
				t.Errorf("got error %v for status %d, want final to be %v", err, status, final)
			}
			if f.asked("/v1/watch") != 1 {
				t.Errorf("got %d requests, want 1 that follows nothing", f.asked("/v1/watch"))
			}
		})
	}
}
