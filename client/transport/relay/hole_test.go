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

	"github.com/tacet-chat/tacet/client/transport/relay"
)

// TestAWayThatSwallowsLargePacketsIsTriedWithSmallOnes: package lab has such a
// way with real packets. Here the first connection is mute, by silence or by an
// end without a word, and what is seen is who tries again and when.
func TestAWayThatSwallowsLargePacketsIsTriedWithSmallOnes(t *testing.T) {
	for _, c := range []struct {
		name  string
		hides bool
		mute  func(there net.Conn) // what is at the other end of the first
		tries int
		took  time.Duration
	}{
		{"silence", false, func(there net.Conn) { io.Copy(io.Discard, there) }, 2, 10 * time.Second},
		{"ended after a while", false, func(there net.Conn) {
			go io.Copy(io.Discard, there)
			time.Sleep(5 * time.Second)
			there.Close()
		}, 2, 5 * time.Second},
		{"ended at once", false, func(there net.Conn) { there.Close() }, 1, 0},
		{"behind a proxy", true, func(there net.Conn) {
			go io.Copy(io.Discard, there)
			time.Sleep(5 * time.Second)
			there.Close()
		}, 1, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "relay.example")
				var tries atomic.Int32
				o := f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
					if tries.Add(1) > 1 {
						return f.dial(ctx, network, addr, isolate)
					}
					here, there := net.Pipe()
					go c.mute(there)
					return here, nil
				})
				o.HidesAddress = c.hides
				r, err := relay.New(o)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = r.Descriptor(t.Context())
				if got := time.Since(began); got != c.took {
					t.Errorf("got the end after %v, want it after %v", got, c.took)
				}
				if n := int(tries.Load()); n != c.tries || (err == nil) != (c.tries == 2) {
					t.Errorf("got %d tries and error %v, want %d tries", n, err, c.tries)
				}
				r.Close()
			})
		})
	}
}

// TestOnlyAMuteRelayIsTriedAgain: one that shows another key is not.
func TestOnlyAMuteRelayIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		chains["another realm"].make(f)
		var tries atomic.Int32
		r, err := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
			tries.Add(1)
			return f.dial(ctx, network, addr, isolate)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Descriptor(t.Context()); !errors.Is(err, chains["another realm"].want) || tries.Load() != 1 {
			t.Errorf("got %d tries and error %v, want one and %v", tries.Load(), err, chains["another realm"].want)
		}
	})
}
