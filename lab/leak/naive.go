package leak

import (
	"context"
	"crypto/rand"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/addr"
)

// Way is what a planted naive client does. The zero value is the product as it
// is. Everything but AckMean is done below the client, at its transport: no switch
// for it exists in what people run.
type Way struct {
	OneCircuit bool // every connection over one circuit
	Move       bool // opens the next period's watch in the moment in which it closes the last one's, at a moment of its own
	KeepDecoys bool // watches the same sixteen decoys in every period
	Unpadded   bool // sets are of a size of each person's own
	EchoAll    bool // echoes whatever comes
	BlockHides bool // a block takes somebody out of sight, and changes nothing else
	// AckMean replaces the mean delay of acks; 0 is the product's default.
	AckMean time.Duration
}

// naive is a transport that does what ours must not.
type naive struct {
	*network.Relay
	way    Way
	on     *atomic.Bool
	decoys []transport.Owned // kept
	odd    int               // decoys beyond the padded set

	mu     sync.Mutex // guards the two below
	newest uint64     // period
	end    context.CancelFunc
}

// wrapper returns what makes a naive transport of a common one, or nil if there
// is nothing to do. It behaves once on is set.
func (w Way) wrapper(who int, on *atomic.Bool) func(*network.Relay) transport.Transport {
	if !w.Move && !w.KeepDecoys && !w.Unpadded && !w.EchoAll {
		return nil
	}
	return func(r *network.Relay) transport.Transport {
		n := &naive{Relay: r, way: w, on: on}
		if w.KeepDecoys {
			n.decoys = decoys(16)
		}
		if w.Unpadded {
			n.odd = 1 + who
		}
		return n
	}
}

func decoys(count int) (set []transport.Owned) {
	for range count {
		a, sign, err := addr.Decoy(rand.Reader)
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		set = append(set, transport.Owned{Address: transport.Address(a), Sign: sign, Replay: true})
	}
	return set
}

// Watch implements transport.Transport.
func (n *naive) Watch(ctx context.Context, w transport.Watch) error {
	if !n.on.Load() {
		return n.Relay.Watch(ctx, w)
	}
	w.Set = append(append(w.Set, n.decoys...), decoys(n.odd)...)
	if deliver := w.Deliver; n.way.EchoAll {
		w.Deliver = func(d transport.Delivery) { d.Seen(); deliver(d) }
	}
	if n.way.Move {
		var err error
		if ctx, err = n.turn(ctx, w.Period); err != nil {
			return err
		}
	}
	return n.Relay.Watch(ctx, w)
}

// turn waits until shortly after a period's begin, ends the watch of the last
// period, and lets it not come back.
func (n *naive) turn(ctx context.Context, period uint64) (context.Context, error) {
	at := time.Unix(int64(period)*livePeriod, 0).Add(mrand.N(20 * time.Second))
	select {
	case <-time.After(time.Until(at)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	if period < n.newest {
		n.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if n.end != nil && period > n.newest {
		n.end()
	}
	n.newest = period
	ctx, n.end = context.WithCancel(ctx)
	n.mu.Unlock()
	return ctx, nil
}
