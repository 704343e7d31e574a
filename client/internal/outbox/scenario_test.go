package outbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crypto/ed25519"
	crand "crypto/rand"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/memory"
)

// device is the far end: it opens each message once, acks it after a while and
// echoes duplicates once a minute, as the inbox does.
type device struct {
	id      int64
	address transport.Address
	sign    func([]byte) ([]byte, error)
	end     *memory.Endpoint

	mu     sync.Mutex
	shown  map[int64]int
	echoed time.Time
	random *rand.Rand
	ack    func(id int64)
}

func newDevice(n *memory.Network, id int64, seed uint64, ack func(int64)) *device {
	pub, priv, _ := ed25519.GenerateKey(crand.Reader)
	return &device{
		id: id, address: transport.Address(pub), end: n.Endpoint(fmt.Sprint(id)),
		sign:  func(m []byte) ([]byte, error) { return ed25519.Sign(priv, m), nil },
		shown: map[int64]int{}, random: rand.New(rand.NewPCG(seed, uint64(id))), ack: ack,
	}
}

// live watches until ctx ends, connecting again after a second.
func (d *device) live(ctx context.Context, period time.Duration) {
	for ctx.Err() == nil {
		d.end.Watch(ctx, transport.Watch{
			Period:  uint64(time.Now().Unix()) / uint64(period/time.Second),
			Set:     []transport.Owned{{Address: d.address, Sign: d.sign, Replay: true}},
			Deliver: d.deliver,
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (d *device) deliver(c transport.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := int64(binary.BigEndian.Uint64(c.Cell[:]))
	d.shown[id]++
	if d.shown[id] == 1 {
		c.Seen()
	} else if time.Since(d.echoed) >= time.Minute {
		d.echoed = time.Now()
		c.Seen()
	}
	if d.random.Float64() < 0.9 { // an ack may get lost: the next copy brings another
		time.AfterFunc(time.Duration(d.random.ExpFloat64()*5*float64(time.Second)), func() { d.ack(id) })
	}
}

// carrier seals to devices and keeps rows, over a memory network.
type carrier struct {
	*world
	devices map[int64]*device
}

func (c carrier) Seal(ctx context.Context, id int64) ([]Sealed, error) {
	cells, err := c.world.Seal(ctx, id)
	for i := range cells {
		peer := int64(binary.BigEndian.Uint64(cells[i].Address[:]))
		cells[i].Address = c.devices[peer].address
	}
	return cells, err
}

// Whatever the network does, every message gets there and every row goes.
func TestNothingIsLost(t *testing.T) {
	for seed, f := range []memory.Faults{
		{},
		{Lose: 0.3},
		{Repeat: 0.5, Delay: 100 * time.Millisecond, Spread: 2 * time.Second},
		{Break: 0.05},
		{Lose: 0.2, Repeat: 0.2, Break: 0.02, Delay: 50 * time.Millisecond, Spread: time.Second},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			bubble(t, func(t *testing.T) { bothWays(t, uint64(seed), f) })
		})
	}
}

const (
	scenarioDevices = 5
	scenarioLive    = time.Hour
)

func bothWays(t *testing.T, seed uint64, f memory.Faults) {
	n := memory.New(memory.Options{Live: scenarioLive, Seed: seed})
	n.SetFaults(f)
	w := newWorld(t, nil)
	c := carrier{w, map[int64]*device{}}
	end := n.Endpoint("sender")
	o := New(Config{Transport: end, Store: w, Sealer: c, Rand: crand.Reader})
	for p := range int64(scenarioDevices) {
		c.devices[p] = newDevice(n, p, seed, func(id int64) {
			o.Heard(p)
			w.mu.Lock()
			delete(w.rows, id)
			w.mu.Unlock()
			o.Remove(id)
		})
	}
	for id := range int64(1500) { // 1,100 of them for one device
		w.add(id+1, max(id%15-10, 0))
	}
	w.run(o)

	chaos := rand.New(rand.NewPCG(seed, 1))
	for _, d := range c.devices {
		synctestGo(t, func(ctx context.Context) { d.comeAndGo(ctx, rand.New(rand.NewPCG(seed, uint64(d.id)+2))) })
	}
	for range 20 {
		time.Sleep(time.Duration(chaos.Int64N(int64(3 * time.Minute))))
		n.Part(end)
		time.Sleep(time.Duration(chaos.Int64N(int64(time.Minute))))
		n.Heal(end)
		if chaos.IntN(2) == 0 {
			o.Reconnected()
		}
	}
	n.SetFaults(memory.Faults{})
	pass(2 * time.Hour)
	for id := range int64(1500) {
		p := max(id%15-10, 0)
		c.devices[p].mu.Lock()
		if c.devices[p].shown[id+1] == 0 {
			t.Errorf("message %d to %d never arrived", id+1, p)
		}
		c.devices[p].mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rows) != 0 {
		t.Errorf("got %d rows waiting at the end, want none", len(w.rows))
	}
}

// comeAndGo is live now and then, and for good after an hour.
func (d *device) comeAndGo(ctx context.Context, r *rand.Rand) {
	end := time.Now().Add(time.Hour)
	for time.Now().Before(end) && ctx.Err() == nil {
		on, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(4*time.Minute))))
		d.live(on, scenarioLive)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(r.Int64N(int64(10 * time.Minute)))):
		}
	}
	d.live(ctx, scenarioLive)
}

// synctestGo runs f until the test ends.
func synctestGo(t *testing.T, f func(context.Context)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() { f(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done; synctest.Wait() })
}
