//go:build unix

package lab

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/wire"
	relayserver "github.com/tacet-chat/tacet/relay"
)

// cluster is some relays in processes of their own that are one realm, and one
// name for all of them.
type cluster struct {
	t     testing.TB
	ctx   context.Context
	nodes []*Host
	lobby *lobby
}

// newCluster starts nodes. config is what each is told beyond being a node; with
// nats it is where they meet, one address for each, else they have routes.
func newCluster(t testing.TB, n int, config func(i int) string, nats []string) *cluster {
	t.Helper()
	c := &cluster{t: t, ctx: t.Context()}
	var known []string
	for i := range n {
		h := &Host{Data: filepath.Join(t.TempDir(), "relay"), log: t.Output()}
		if i > 0 {
			c.share(h)
		}
		h.Config = config(i)
		// Without a store that all share the first node keeps the blobs.
		blobs := i == 0 && !strings.Contains(h.Config, "store = ")
		if nats != nil {
			h.Config += fmt.Sprintf("[cluster]\ndrain = 1\nblobs = %v\n[nats]\nurl = 'nats://%s'\n", blobs, nats[i])
		} else {
			h.Config += fmt.Sprintf("[cluster]\ndrain = 1\nblobs = %v\nlisten = '127.0.0.1:0'\nnodes = ['%s']\n", blobs, strings.Join(known, "', '"))
			h.Config = strings.ReplaceAll(h.Config, "['']", "[]")
		}
		if err := h.Start(c.ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Kill() })
		known = append(known, h.Cluster())
		c.nodes = append(c.nodes, h)
	}
	// From now on each knows all: whoever starts again finds the others.
	for _, h := range c.nodes {
		if nats == nil {
			at := strings.LastIndex(h.Config, "nodes = ")
			h.Config = h.Config[:at] + fmt.Sprintf("nodes = ['%s']\n", strings.Join(known, "', '"))
			h.Config = strings.ReplaceAll(h.Config, "listen = '127.0.0.1:0'", fmt.Sprintf("listen = '%s'", h.Cluster()))
		}
	}
	c.lobby = newLobby(t, c.nodes)
	for i := range c.nodes {
		c.met(i, n)
	}
	return c
}

// share gives a node the realm key of the first.
func (c *cluster) share(h *Host) {
	c.t.Helper()
	if err := os.MkdirAll(h.Data, 0o700); err != nil {
		c.t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(c.nodes[0].Data, "realm.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(h.Data, "realm.key"), b, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) until(what string, cond func() bool) {
	c.t.Helper()
	tell := time.Now().Add(20 * time.Second)
	for end := time.Now().Add(5 * time.Minute); !cond(); {
		now := time.Now()
		if now.After(tell) {
			tell = now.Add(20 * time.Second)
			c.describe(what)
		}
		if now.After(end) {
			c.t.Fatalf("waited in vain until %s", what)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.ctx.Done():
			c.t.Fatal(c.ctx.Err())
		}
	}
}

// describe logs what each node says of the others.
func (c *cluster) describe(what string) {
	for i, h := range c.nodes {
		if s, err := relayserver.AskStatus(h.Data); err != nil || s.Cluster == nil {
			c.t.Logf("still waiting until %s: node %d says nothing: %v", what, i, err)
		} else {
			c.t.Logf("still waiting until %s: node %d: %+v", what, i, *s.Cluster)
		}
	}
}

// met waits until a node knows n nodes, none of them silent.
func (c *cluster) met(i, n int) {
	c.t.Helper()
	c.until("the nodes have met", func() bool {
		s, err := relayserver.AskStatus(c.nodes[i].Data)
		return err == nil && s.Cluster != nil && s.Cluster.Nodes >= n && s.Cluster.Silent == 0 && !s.Cluster.Cut
	})
}

// again starts a node that has ended. It keeps its address for clients.
func (c *cluster) again(i int) {
	c.t.Helper()
	if err := c.nodes[i].Start(c.ctx); err != nil {
		c.t.Fatal(err)
	}
}

// open returns the transport of somebody who uses this relay, or any by the one name.
func (c *cluster) open(at string) *relay.Relay {
	c.t.Helper()
	pin := c.nodes[0].Realm()
	r, err := relay.New(relay.Options{Name: at, Pin: &pin})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { r.Close() })
	return r
}

// lobby is the one name: it leads each connection to a node that answers.
type lobby struct {
	ln    net.Listener
	nodes []*Host
	only  atomic.Int32 // above 0: this node alone, counted from 1
	tasks sync.WaitGroup
}

func newLobby(t testing.TB, nodes []*Host) *lobby {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &lobby{ln: ln, nodes: nodes}
	d.tasks.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			d.tasks.Go(func() { d.lead(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		for _, h := range nodes {
			h.Kill() // ends what is open
		}
		d.tasks.Wait()
	})
	return d
}

func (d *lobby) lead(c net.Conn) {
	defer c.Close()
	for _, i := range mathrand.Perm(len(d.nodes)) {
		if k := int(d.only.Load()); k > 0 && i != k-1 {
			continue
		}
		up, err := net.DialTimeout("tcp", d.nodes[i].Addr(), 5*time.Second)
		if err != nil {
			continue
		}
		splice(c, up, nil)
		return
	}
}

// splice carries bytes both ways until one side ends. While deaf is true they are
// thrown away.
func splice(a, b net.Conn, deaf *atomic.Bool) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 && (deaf == nil || !deaf.Load()) {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	both.Go(func() { one(a, b) })
	both.Go(func() { one(b, a) })
	both.Wait()
}

// wall stands between a node and NATS, and can swallow everything.
type wall struct {
	ln    net.Listener
	deaf  atomic.Bool
	mu    sync.Mutex
	open  []net.Conn
	tasks sync.WaitGroup
}

func newWall(t testing.TB, to string) *wall {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wall{ln: ln}
	w.tasks.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, c, up)
			w.mu.Unlock()
			w.tasks.Go(func() { splice(c, up, &w.deaf) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.mu.Lock()
		for _, c := range w.open {
			c.Close()
		}
		w.mu.Unlock()
		w.tasks.Wait()
	})
	return w
}

// flat is an address that several devices own.
type flat struct {
	transport.Owned
	address transport.Address
}

func newFlat(t testing.TB) flat {
	t.Helper()
	a, sign, err := addr.Decoy(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return flat{transport.Owned{Address: transport.Address(a), Sign: sign}, transport.Address(a)}
}

// roamer is a device that watches an address, over one connection after the other.
type roamer struct {
	c     *cluster
	flat  flat
	heard func(d *roamer, cell *transport.Cell, seen func())
	stop  context.CancelFunc
	done  chan struct{}
	ended func(*roamer) // its connection has; nil: nobody asks
}

// watch starts a device that watches at a place until it is stopped.
func (c *cluster) watch(at string, f flat, replay bool, heard func(*roamer, *transport.Cell, func()), ended func(*roamer)) *roamer {
	d := &roamer{c: c, flat: f, heard: heard, ended: ended, done: make(chan struct{})}
	r := c.open(at)
	d.flat.Replay = replay
	ctx, stop := context.WithCancel(c.ctx)
	d.stop = stop
	go func() {
		defer close(d.done)
		for ctx.Err() == nil {
			r.Watch(ctx, transport.Watch{
				Period: presentPeriod(), Set: []transport.Owned{d.flat.Owned}, Isolate: "one",
				Deliver: func(x transport.Delivery) { heard(d, x.Cell, x.Seen) },
			})
			if d.ended != nil {
				d.ended(d)
			}
			select {
			case <-time.After(time.Duration(mathrand.IntN(300)) * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	c.t.Cleanup(func() { stop(); <-d.done })
	return d
}

// truths has the truth about every cell: who echoed it, and whether the machine
// was quick enough for anybody to know what was in time.
type truths struct {
	mu    sync.Mutex
	cells map[uint64]*outcome
	next  uint64
	jams  []time.Time // when this machine stalled
}

type outcome struct {
	at     time.Time
	echoes []*roamer
	shaky  bool
}

// newTruths also looks out for stalls.
func newTruths(t testing.TB) *truths {
	l := &truths{cells: map[uint64]*outcome{}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now := time.Now(); now.Sub(last) > 250*time.Millisecond {
				l.mu.Lock()
				l.jams = append(l.jams, now)
				l.mu.Unlock()
			}
			last = time.Now()
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return l
}

// cell makes a cell with a number in it.
func (l *truths) cell() (uint64, *transport.Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	l.cells[l.next] = &outcome{at: time.Now()}
	c := new(transport.Cell)
	rand.Read(c[:])
	binary.BigEndian.PutUint64(c[:], l.next)
	return l.next, c
}

// echo writes down that somebody is about to echo.
func (l *truths) echo(d *roamer, c *transport.Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.cells[binary.BigEndian.Uint64(c[:])]
	e.echoes = append(e.echoes, d)
	if time.Since(e.at) > wire.EchoWithin/2 {
		e.shaky = true // from here on it may have been too late
	}
}

// ended is told of the end of a connection: what was echoed on it just before may
// never have left this machine.
func (l *truths) ended(d *roamer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.cells {
		if time.Since(e.at) < 2*wire.AnswerAfter && slices.Contains(e.echoes, d) {
			e.shaky = true
		}
	}
}

// sums is what came of putting.
type sums struct {
	puts, failed, complete, shaky int
}

// put puts one cell and holds the answer against the truth.
func (l *truths) put(t testing.TB, ctx context.Context, r *relay.Relay, a transport.Address, isolate string, s *sums) (transport.Receipt, bool) {
	id, c := l.cell()
	got, err := r.Put(ctx, transport.Put{Address: a, ID: transport.CellID(c[8:]), Cell: c, Isolate: isolate})
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.cells[id]
	s.puts++
	if err != nil {
		s.failed++
		return got, false
	}
	if slices.ContainsFunc(l.jams, func(at time.Time) bool { return at.After(e.at) }) {
		e.shaky = true
	}
	if e.shaky {
		s.shaky++
	}
	if got.Delivered > len(e.echoes) {
		t.Errorf("cell %d: got %d delivered, above the truth of %d", id, got.Delivered, len(e.echoes))
	}
	if got.Complete {
		s.complete++
		if got.Delivered != len(e.echoes) && !e.shaky {
			t.Errorf("cell %d: got %d delivered and complete, want the truth of %d", id, got.Delivered, len(e.echoes))
		}
	}
	return got, true
}

func numberOf(c *transport.Cell) uint64 { return binary.BigEndian.Uint64(c[:]) }

// raiseAt begins a drama with two people who use a relay by another name.
func raiseAt(t *testing.T, o StageOptions, name string, each int) *drama {
	t.Helper()
	o.Seed = mathrand.Uint64()
	t.Logf("seed %d", o.Seed)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(stop)
	s := &Stage{Dir: t.TempDir()}
	var err error
	if s.Tap, err = NewTap(name, false, o.Seed); err != nil {
		t.Fatal(err)
	}
	s.Ada, s.Bob = s.person("Ada Lindqvist", "ada", adaFrom, o), s.person("Bob Okonkwo", "bob", bobFrom, o)
	t.Cleanup(func() { s.Close() })
	for _, p := range []*Person{s.Ada, s.Bob} {
		if err := p.Start(ctx, Fall{}); err != nil {
			t.Fatal(err)
		}
	}
	d := &drama{Stage: s, t: t, ctx: ctx, dice: mathrand.New(mathrand.NewPCG(o.Seed, 1)), began: time.Now()}
	if _, err := s.Meet(ctx, "hello Ada"); err != nil {
		t.Fatal(err)
	}
	const every = 40 * time.Millisecond
	d.talks = [2]*talk{{from: s.Ada, to: s.Bob, who: "bob", every: every}, {from: s.Bob, to: s.Ada, who: "ada", every: every}}
	for i, k := range d.talks {
		for n := range each {
			k.texts = append(k.texts, fmt.Sprintf("%d: message %d", i, n))
		}
	}
	return d
}
