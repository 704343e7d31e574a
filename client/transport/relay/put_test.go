package relay_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crypto/rand"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// newPut makes a put to somewhere.
func newPut(isolate string) transport.Put {
	p := transport.Put{Cell: new(transport.Cell), Isolate: isolate}
	rand.Read(p.Address[:])
	rand.Read(p.ID[:])
	return p
}

func put(t *testing.T, r *relay.Relay, isolate string) (transport.Receipt, error) {
	return r.Put(t.Context(), newPut(isolate))
}

// answers appends the answers to a message of puts.
func answers(b []byte, delivered uint16) (out []byte) {
	for ; len(b) > 0; b = b[wire.PutSize:] {
		out = wire.Answer{ID: [8]byte(b), Delivered: delivered, Complete: true}.Append(out)
	}
	return out
}

func TestPutsShareMessagesAndSayNothingOfTheirIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		var messages atomic.Int32
		ids := map[uint64]bool{}
		f.script("/v1/put", func(ws *websocket.Conn) {
			for b := f.read(ws); b != nil; b = f.read(ws) {
				messages.Add(1)
				for p := b; len(p) > 0; p = p[wire.PutSize:] {
					ids[binary.BigEndian.Uint64(p)] = true
				}
				f.write(ws, answers(b, 3))
			}
		})
		hold := make(chan struct{})
		r, _ := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
			<-hold
			return f.dial(ctx, network, addr, isolate)
		}))
		t.Cleanup(func() { r.Close() })
		var all sync.WaitGroup
		for range 640 {
			all.Go(func() {
				if got, err := put(t, r, ""); err != nil || got != (transport.Receipt{Delivered: 3, Complete: true}) {
					t.Errorf("got %+v, %v, want the relay's receipt", got, err)
				}
			})
		}
		synctest.Wait() // all of them wait for the connection
		close(hold)
		all.Wait()
		if got := messages.Load(); got != 640/wire.MaxPuts {
			t.Errorf("got %d messages, want %d", got, 640/wire.MaxPuts)
		}
		for i := range uint64(640) {
			if !ids[i+1] {
				t.Fatalf("got no put id %d, want them counted on the connection", i+1)
			}
		}
	})
}

func TestSamePutAtOnceIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		var puts atomic.Int32
		f.script("/v1/put", func(ws *websocket.Conn) {
			for b := f.read(ws); b != nil; b = f.read(ws) {
				puts.Add(int32(len(b) / wire.PutSize))
				f.sleep(time.Second)
				f.write(ws, answers(b, 1))
			}
		})
		r, p := f.join(), newPut("")
		elsewhere := p
		elsewhere.Address[0] ^= 1
		var all sync.WaitGroup
		for _, p := range []transport.Put{p, p, p, elsewhere} {
			all.Go(func() {
				if got, err := r.Put(t.Context(), p); err != nil || got.Delivered != 1 {
					t.Errorf("got %+v, %v, want a receipt", got, err)
				}
			})
		}
		all.Wait()
		if got := puts.Load(); got != 2 {
			t.Errorf("got %d cells written, want 2: one for each address", got)
		}
	})
}

func TestBoundOfPutsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		r := f.join()
		var all sync.WaitGroup
		for range 1024 {
			all.Go(func() {
				if _, err := put(t, r, ""); err != nil {
					t.Errorf("got error %v, want a receipt", err)
				}
			})
		}
		synctest.Wait()
		_, err := put(t, r, "")
		mustBeTemporary(t, err)
		if _, err := put(t, r, "another connection"); err != nil {
			t.Errorf("got error %v, want a receipt", err)
		}
		all.Wait()
	})
}

func TestPutWithoutAnswerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		f.script("/v1/put", func(ws *websocket.Conn) {
			go f.drain(ws)
			for range 10 { // alive, and silent about puts
				f.sleep(5 * time.Second)
				f.ping(ws, f.second(time.Now()))
			}
		})
		began := time.Now()
		_, err := put(t, f.join(), "")
		mustBeTemporary(t, err)
		if got, want := time.Since(began), wire.AnswerAfter+20*time.Second; got != want {
			t.Errorf("got the error after %v, want it after %v", got, want)
		}
	})
}

func TestAnswersThatFitNoPutBreakTheConnection(t *testing.T) {
	for name, answer := range map[string]func(b []byte) []byte{
		"to another put":      func(b []byte) []byte { return wire.Answer{ID: [8]byte{1}, Delivered: 1}.Append(nil) },
		"twice":               func(b []byte) []byte { return append(answers(b, 1), answers(b, 1)...) },
		"with a byte too few": func(b []byte) []byte { return answers(b, 1)[:10] },
		"with a bad boolean":  func(b []byte) []byte { a := answers(b, 1); a[10] = 2; return a },
		"empty":               func(b []byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.script("/v1/put", func(ws *websocket.Conn) {
					f.write(ws, answer(f.read(ws)))
					f.drain(ws)
				})
				r := f.join()
				var all sync.WaitGroup
				all.Go(func() {
					got, err := put(t, r, "")
					if name == "twice" {
						if err != nil || got.Delivered != 1 {
							t.Errorf("got %+v, %v, want the first answer", got, err)
						}
						return
					}
					mustBeTemporary(t, err)
					if got != (transport.Receipt{}) {
						t.Errorf("got receipt %+v, want none", got)
					}
				})
				all.Wait()
				synctest.Wait()
				f.replace("/v1/put", nil)
				put(t, r, "")
				if got := f.asked("/v1/put"); got != 2 {
					t.Errorf("got %d connections, want another after the first was broken", got)
				}
			})
		})
	}
}

func TestReconnectsBackOffAndRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		var dials atomic.Int32
		var down atomic.Bool
		down.Store(true)
		r, _ := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
			dials.Add(1)
			if down.Load() {
				return nil, errors.New("no way to 192.0.2.1:7117")
			}
			return f.dial(ctx, network, addr, isolate)
		}))
		t.Cleanup(func() { r.Close() })
		var last time.Duration
		for i := range 12 {
			began := time.Now()
			_, err := put(t, r, "")
			mustBeTemporary(t, err)
			last = time.Since(began)
			if i == 0 && last != 0 {
				t.Errorf("got the first error after %v, want it at once", last)
			}
		}
		if got := dials.Load(); got != 12 {
			t.Errorf("got %d attempts, want 12", got)
		}
		if last < 7500*time.Millisecond || last > 22500*time.Millisecond {
			t.Errorf("got a pause of %v, want 15 s × U(0.5, 1.5)", last)
		}
		// Puts that come while it waits wait with it, and make no attempt of their own.
		before := dials.Load()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { put(t, r, "") })
		}
		all.Wait()
		if got := dials.Load() - before; got != 1 {
			t.Errorf("got %d attempts for ten puts, want 1", got)
		}
		// A connection that gave an answer ends it: after its break there is no pause.
		down.Store(false)
		f.script("/v1/put", func(ws *websocket.Conn) {
			f.write(ws, answers(f.read(ws), 1))
			f.read(ws)
		})
		if _, err := put(t, r, ""); err != nil {
			t.Errorf("got error %v, want a receipt", err)
		}
		began := time.Now()
		_, err := put(t, r, "")
		mustBeTemporary(t, err)
		if _, err := put(t, r, ""); err != nil {
			t.Errorf("got error %v, want a receipt", err)
		}
		if got := time.Since(began); got != 0 {
			t.Errorf("got an error and a receipt after %v, want them at once", got)
		}
	})
}

func TestAbandonedPutIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		hold := make(chan struct{})
		r, _ := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
			<-hold
			return f.dial(ctx, network, addr, isolate)
		}))
		t.Cleanup(func() { r.Close() })
		kept, left := newPut(""), newPut("")
		left.Cell[0] = 99
		var wanted atomic.Bool
		f.script("/v1/put", func(ws *websocket.Conn) {
			for b := f.read(ws); b != nil; b = f.read(ws) {
				f.write(ws, answers(b, 0))
				for ; len(b) > 0; b = b[wire.PutSize:] {
					if b[40] == 99 && !wanted.Load() {
						t.Error("got a put that was given up, want it dropped")
					}
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := r.Put(ctx, left); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v, want the context's", err)
			}
		})
		all.Go(func() { r.Put(ctx, kept) }) // gives up, and the other caller does not
		all.Go(func() {
			if _, err := r.Put(t.Context(), kept); err != nil {
				t.Errorf("got error %v, want a receipt", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(hold)
		all.Wait()
		wanted.Store(true) // and can be tried again
		again, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := r.Put(again, left); err != nil {
			t.Errorf("got error %v, want a receipt", err)
		}
	})
}

func TestIdlePutConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		ended := make(chan time.Time, 1)
		f.script("/v1/put", func(ws *websocket.Conn) {
			f.write(ws, answers(f.read(ws), 0))
			done := make(chan struct{})
			go func() {
				defer close(done)
				for f.ping(ws, f.second(time.Now())) == nil {
					f.sleep(time.Minute)
				}
			}()
			f.drain(ws)
			ended <- time.Now()
			<-done
		})
		r := f.join()
		put(t, r, "")
		answered := time.Now()
		time.Sleep(time.Hour)
		if got := (<-ended).Sub(answered); got != 4*time.Minute {
			t.Errorf("got an idle connection closed after %v, want it after 4 min", got)
		}
		f.replace("/v1/put", nil)
		if _, err := put(t, r, ""); err != nil {
			t.Errorf("got error %v, want a receipt over a new connection", err)
		}
	})
}

func TestPutWithoutCellIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		if _, err := f.join().Put(t.Context(), transport.Put{}); !errors.Is(err, transport.ErrRefused) {
			t.Errorf("got error %v, want ErrRefused", err)
		}
	})
}

func TestCloseWhileConnecting(t *testing.T) {
	for _, in := range []string{"dial", "TLS"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, "relay.example")
			r, _ := relay.New(f.options(func(ctx context.Context, _, _, _ string) (net.Conn, error) {
				if in == "TLS" {
					here, there := net.Pipe() // and nobody speaks
					context.AfterFunc(ctx, func() { there.Close() })
					return here, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			ended := make(chan error, 3)
			go func() { _, err := put(t, r, ""); ended <- err }()
			go func() {
				ended <- r.Watch(t.Context(), transport.Watch{Set: owns(1), Deliver: func(transport.Delivery) {}})
			}()
			go func() { _, err := r.GetBlob(t.Context(), wire.BlobID{}); ended <- err }()
			synctest.Wait()
			r.Close()
			for range 3 {
				if err := <-ended; !errors.Is(err, transport.ErrClosed) {
					t.Errorf("got error %v in the %s, want ErrClosed", err, in)
				}
			}
		})
	}
}
