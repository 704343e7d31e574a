package inbox

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/memory"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// party is a device with real routes, on a memory network.
type party struct {
	t      *testing.T
	owners []key.Owner
	offers []*addr.Offer

	mu    sync.Mutex
	shown map[uint64]int // by message
}

func newParty(t *testing.T, routes int) *party {
	p := &party{t: t, shown: map[uint64]int{}}
	for range routes {
		owner, public, err := addr.NewOwner(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := key.Generate[key.RouteRole](rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		p.owners = append(p.owners, owner)
		p.offers = append(p.offers, &addr.Offer{Public: public, Secret: secret, Birth: period() - 1, Period: uint16(live / time.Second)})
	}
	return p
}

// at returns a route's secrets in a period.
func (p *party) at(route int, period uint64) *addr.Period {
	s, err := addr.NewChain(p.offers[route], addr.Live).At(period)
	if err != nil {
		p.t.Errorf("deriving period: %v", err)
	}
	return s
}

func (p *party) Addresses(_ context.Context, period uint64) ([]Address, error) {
	var list []Address
	for i := range p.offers {
		s := p.at(i, period)
		list = append(list, Address{Route: int64(i), Owned: transport.Owned{
			Address: transport.Address(s.Address),
			Sign: func(m []byte) ([]byte, error) {
				sig, err := s.Sign(p.owners[i], rand.Reader, m)
				return sig[:], err
			},
		}})
	}
	return list, nil
}

// Open shows each message once. The message stands behind the nonce.
func (p *party) Open(_ context.Context, route int64, a transport.Address, c *transport.Cell) (Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := binary.BigEndian.Uint64(c[wire.NonceSize:])
	if int64(m%uint64(len(p.offers))) != route {
		p.t.Errorf("message %d: got route %d", m, route)
		return Rejected, nil
	}
	p.shown[m]++
	if p.shown[m] > 1 {
		return Nothing, nil
	}
	return Shown, nil
}

// put puts a message to the present period's address, as a sender does.
func (p *party) put(from *memory.Endpoint, m uint64) (transport.Receipt, error) {
	c := cell()
	binary.BigEndian.PutUint64(c[wire.NonceSize:], m)
	put := transport.Put{Address: transport.Address(p.at(int(m)%len(p.offers), period()).Address), Cell: c, Isolate: "put"}
	rand.Read(put.ID[:])
	return from.Put(p.t.Context(), put)
}

// tapped collects what whoever runs the network sees of watches.
type tapped struct {
	mu   sync.Mutex
	sets map[string][]transport.Address // by connection name
}

func (s *tapped) tap(e memory.Event) {
	if !e.Watch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.sets[e.Isolate], e.Address) {
		s.sets[e.Isolate] = append(s.sets[e.Isolate], e.Address)
	}
}

// check checks that no two connections have an address in common.
func (s *tapped) check(t *testing.T, least int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := map[transport.Address]string{}
	for name, set := range s.sets {
		for _, a := range set {
			if other, ok := of[a]; ok {
				t.Errorf("got connections %s and %s joined by an address", name, other)
			}
			of[a] = name
		}
	}
	if len(s.sets) < least {
		t.Errorf("got %d connection names, want at least %d", len(s.sets), least)
	}
}

func (p *party) start(end transport.Transport) *Inbox {
	n := New(Config{Transport: end, Keys: p, Opener: p, Live: live, Rand: rand.Reader})
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	p.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("running: got %v, want nil", err)
		}
		synctest.Wait()
	})
	return n
}

// While the line is up, no moment of ten periods is without somebody who
// listens: every first try arrives.
func TestNoMomentIsWithoutAListener(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := &tapped{sets: map[string][]transport.Address{}}
		net := memory.New(memory.Options{Live: live, Tap: seen.tap})
		p := newParty(t, 5)
		p.start(net.Endpoint("device"))
		from := net.Endpoint("sender")
		pass(time.Second)
		for m := range uint64(860) { // one every 7 s, ten periods long
			r, err := p.put(from, m)
			if err != nil || r.Delivered != 1 || !r.Complete {
				t.Fatalf("message %d, %v into its period: got %+v, %v, want it delivered", m, time.Since(time.Unix(int64(period())*600, 0)), r, err)
			}
			pass(5500 * time.Millisecond)
		}
		seen.check(t, 10)
	})
}

// Whatever breaks, a sender that tries again gets everything through, and a
// count above zero is always true.
func TestEverythingArrivesInTheEnd(t *testing.T) {
	for seed, f := range []memory.Faults{
		{Lose: 0.3},
		{Repeat: 0.5, Delay: 100 * time.Millisecond, Spread: 3 * time.Second},
		{Lose: 0.2, Repeat: 0.2, Break: 0.05, Spread: time.Second},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			bubble(t, func(t *testing.T) { breakAndGo(t, uint64(seed), f) })
		})
	}
}

func breakAndGo(t *testing.T, seed uint64, f memory.Faults) {
	seen := &tapped{sets: map[string][]transport.Address{}}
	net := memory.New(memory.Options{Live: live, Seed: seed, Tap: seen.tap})
	net.SetFaults(f)
	p := newParty(t, 5)
	end := net.Endpoint("device")
	n := p.start(end)
	from := net.Endpoint("sender")
	chaos := mrand.New(mrand.NewPCG(seed, 7))
	var senders sync.WaitGroup
	for m := range uint64(300) {
		wait := time.Duration(chaos.Int64N(int64(4 * live)))
		senders.Go(func() {
			time.Sleep(wait)
			for {
				r, err := p.put(from, m)
				p.mu.Lock()
				shown := p.shown[m]
				p.mu.Unlock()
				if err == nil && r.Delivered > 0 && shown == 0 {
					t.Errorf("message %d: got delivered %d, but nobody opened it", m, r.Delivered)
				}
				if shown > 0 {
					return
				}
				time.Sleep(10 * time.Second)
			}
		})
	}
	for range 40 {
		time.Sleep(time.Duration(chaos.Int64N(int64(90 * time.Second))))
		switch chaos.IntN(3) {
		case 0:
			net.Break(end)
		case 1:
			net.Part(end)
			time.Sleep(time.Duration(chaos.Int64N(int64(time.Minute))))
			net.Heal(end)
		case 2:
			n.Kick()
			n.Refresh()
		}
	}
	senders.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range uint64(300) {
		if p.shown[m] == 0 {
			t.Errorf("message %d never arrived", m)
		}
	}
	seen.check(t, 4)
}
