package relay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// probed is how long a ping of the client may stay without an answer.
const probed = 10 * time.Second

// deaf is a watch that begins well and then hears and says nothing: a
// connection whose way is gone.
func deaf(f *fake) func(ws *websocket.Conn) {
	return func(ws *websocket.Conn) {
		f.write(ws, greet(f.second(time.Now())))
		f.read(ws)
		f.write(ws, watchedFrame(1, 0))
		f.swallow(ws)
	}
}

// swallow takes in what comes on a connection and answers nothing, pings neither.
func (f *fake) swallow(ws *websocket.Conn) {
	f.mu.Lock()
	u := f.unders[ws]
	f.mu.Unlock()
	go io.Copy(io.Discard, u.conn)
	<-f.stop.Done()
}

func TestAPutThatBreaksMakesAWatchProveThatItIsThere(t *testing.T) {
	for _, c := range []struct {
		name  string
		hides bool
		dead  bool
		ends  time.Duration // after the put broke, 0: not at all
	}{
		{"gone", false, true, probed},
		{"there", false, false, 0},
		{"behind a proxy", true, true, quiet},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "relay.example")
				o := f.options(nil)
				o.HidesAddress = c.hides
				r, err := relay.New(o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { r.Close() })
				if c.dead {
					f.script("/v1/watch", deaf(f))
				}
				w := start(t, r, transport.Watch{Set: owns(1)})
				<-w.ready
				began := time.Now()
				f.script("/v1/put", func(ws *websocket.Conn) {}) // ends at once
				if _, err := put(t, r, ""); err == nil {
					t.Fatal("got no error of a put that broke")
				}
				if c.ends == 0 {
					time.Sleep(quiet - time.Second)
					synctest.Wait()
					if len(w.ended) != 0 {
						t.Errorf("a watch that answers ended: %v", <-w.ended)
					}
					return
				}
				mustBeTemporary(t, <-w.ended)
				if got := time.Since(began); got != c.ends {
					t.Errorf("got the end after %v, want it after %v", got, c.ends)
				}
			})
		})
	}
}

// placed is a connection whose own end has an address.
type placed struct {
	net.Conn
	at net.Addr
}

func (p placed) LocalAddr() net.Addr { return p.at }

func TestAConnectionFromAnAddressThatIsGoneEnds(t *testing.T) {
	for name, c := range map[string]struct {
		at   net.IP
		gone bool
	}{
		"another network's": {net.IPv4(192, 0, 2, 77), true}, // for documentation: no machine has it
		"loopback":          {net.IPv4(127, 0, 0, 77), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "relay.example")
				r, err := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
					conn, err := f.dial(ctx, network, addr, isolate)
					return placed{conn, &net.TCPAddr{IP: c.at}}, err
				}))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { r.Close() })
				w := start(t, r, transport.Watch{Set: owns(1)})
				<-w.ready
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if got := len(w.ended) != 0; got != c.gone {
					t.Errorf("got ended %v, want %v", got, c.gone)
				}
				if c.gone {
					mustBeTemporary(t, <-w.ended)
				}
			})
		})
	}
}

// TestAWatchThatIsBehindIsNotTakenForGone: who does not read hears no answer.
func TestAWatchThatIsBehindIsNotTakenForGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, me := newFake(t, "relay.example"), own()
		const many = 300 // more than wait for Deliver
		f.script("/v1/watch", func(ws *websocket.Conn) {
			f.write(ws, greet(f.second(time.Now())))
			f.read(ws)
			f.write(ws, watchedFrame(1, 0))
			go f.drain(ws)
			for i := range uint64(many) {
				f.write(ws, deliverFrame(i, me.Address))
			}
			<-f.stop.Done()
		})
		release := make(chan struct{})
		var got atomic.Int32
		r := f.join()
		w := start(t, r, transport.Watch{Set: []transport.Owned{me}, Deliver: func(transport.Delivery) { <-release; got.Add(1) }})
		<-w.ready
		synctest.Wait()
		f.script("/v1/put", func(ws *websocket.Conn) {})
		if _, err := put(t, r, ""); err == nil {
			t.Fatal("got no error of a put that broke")
		}
		time.Sleep(2 * probed)
		close(release)
		synctest.Wait()
		if len(w.ended) != 0 || got.Load() != many {
			t.Errorf("got %d cells and %d ends, want %d and none", got.Load(), len(w.ended), many)
		}
	})
}

// TestAPutConnectionThatIsGoneEnds: one with nothing to say is no better than a
// watch.
func TestAPutConnectionThatIsGoneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		r := f.join()
		f.script("/v1/put", func(ws *websocket.Conn) {
			f.write(ws, answers(f.read(ws), 0))
			f.swallow(ws)
		})
		if _, err := put(t, r, "one"); err != nil {
			t.Fatal(err)
		}
		before := f.asked("/v1/put")
		f.script("/v1/watch", func(ws *websocket.Conn) {}) // a watch that breaks
		if err := <-start(t, r, transport.Watch{Set: owns(1)}).ended; err == nil || errors.Is(err, transport.ErrRefused) {
			t.Fatalf("got error %v, want a temporary one", err)
		}
		time.Sleep(probed)
		synctest.Wait()
		f.script("/v1/put", func(ws *websocket.Conn) { f.write(ws, answers(f.read(ws), wire.MaxPuts)); f.drain(ws) })
		if _, err := put(t, r, "one"); err != nil {
			t.Errorf("got error %v of the next put, want a new connection for it", err)
		}
		if got := f.asked("/v1/put") - before; got != 1 {
			t.Errorf("got %d new connections, want one", got)
		}
	})
}

func TestAnAnswerThatIsOverdueMakesAllProveThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		r := f.join()
		f.script("/v1/watch", deaf(f))
		w := start(t, r, transport.Watch{Set: owns(1)})
		<-w.ready
		f.script("/v1/put", func(ws *websocket.Conn) { f.read(ws); f.swallow(ws) })
		const want = wire.AnswerAfter + 5*time.Second + probed
		began := time.Now()
		_, err := put(t, r, "")
		mustBeTemporary(t, err)
		if got := time.Since(began); got != want {
			t.Errorf("got the end of the put after %v, want it after %v", got, want)
		}
		mustBeTemporary(t, <-w.ended)
		if got := time.Since(began); got != want {
			t.Errorf("got the end of the watch after %v, want it after %v", got, want)
		}
	})
}
