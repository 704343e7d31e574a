//go:build unix

package lab

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
)

// Cells of dwellers, after 16 random bytes: kind 1, and then
//
//	letter: number 8 ‖ from 1
//	acks:   count 1 ‖ count × number 8
const (
	kindLetter = 1
	kindAcks   = 2
	maxAcks    = 100
)

// dweller is somebody who is away half of the time, with an outbox that keeps a
// letter until the other device has acked it, and an inbox.
type dweller struct {
	w        *sharedWorld
	n        int
	all      []*dweller
	home     *relay.Relay
	pay      *payer
	live     flat // watched while here
	parked   flat // taken when coming back
	heard    *tally
	presence atomic.Int64 // nanoseconds spent here

	mu   sync.Mutex // guards what follows
	out  map[uint64]*letter
	in   map[uint64]bool // shown
	owed map[int][]uint64
}

type letter struct {
	to   int
	cell *transport.Cell // as it was parked: the same again is the same row
	next time.Time
	busy bool
}

// tally counts over everybody.
type tally struct {
	shown, again, direct, kept, taken, failed atomic.Int64
}

func (d *dweller) send(id uint64, to int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out[id] = &letter{to: to, cell: letterCell(id, d.n)}
}

func letterCell(id uint64, from int) *transport.Cell {
	c := new(transport.Cell)
	rand.Read(c[:])
	c[16] = kindLetter
	binary.BigEndian.PutUint64(c[17:], id)
	c[25] = byte(from)
	return c
}

func acksCell(ids []uint64) *transport.Cell {
	c := new(transport.Cell)
	rand.Read(c[:])
	c[16], c[17] = kindAcks, byte(len(ids))
	for i, id := range ids {
		binary.BigEndian.PutUint64(c[18+8*i:], id)
	}
	return c
}

// hear takes in a cell: it is shown at most once, and acked every time.
func (d *dweller) hear(c *transport.Cell) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c[16] {
	case kindLetter:
		id, from := binary.BigEndian.Uint64(c[17:]), int(c[25])
		if d.in[id] {
			d.heard.again.Add(1)
		} else {
			d.in[id] = true
			d.heard.shown.Add(1)
		}
		d.owed[from] = append(d.owed[from], id)
	case kindAcks:
		for i := range int(c[17]) {
			delete(d.out, binary.BigEndian.Uint64(c[18+8*i:]))
		}
	}
}

// live is a life of being here and away, until ctx ends.
func (d *dweller) dwell(ctx context.Context) {
	for here := d.n%2 == 0; ctx.Err() == nil; here = !here {
		span := time.Duration(1500+mathrand.IntN(3000)) * time.Millisecond
		from := time.Now()
		if here {
			d.visit(ctx, span)
			d.presence.Add(int64(time.Since(from)))
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(span):
		}
	}
}

// visit is being here: watching, taking, and sending what is due.
func (d *dweller) visit(ctx context.Context, span time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var work sync.WaitGroup
	deliver := func(x transport.Delivery) { d.hear(x.Cell); x.Seen() }
	work.Go(func() {
		for ctx.Err() == nil {
			d.home.Watch(ctx, transport.Watch{Period: presentPeriod(), Set: []transport.Owned{d.live.Owned}, Isolate: "live", Deliver: deliver})
			pause(ctx, 100*time.Millisecond)
		}
	})
	work.Go(func() {
		for ctx.Err() == nil {
			took := func(batch []transport.Delivery) {
				for _, x := range batch {
					d.heard.taken.Add(1)
					deliver(x)
				}
			}
			err := d.home.Take(ctx, transport.Take{Day: uint64(time.Now().Unix()) / 86_400, Set: []transport.Owned{d.parked.Owned}, Isolate: "park", Deliver: took})
			if err != nil {
				pause(ctx, 300*time.Millisecond)
			} else {
				pause(ctx, 1200*time.Millisecond)
			}
		}
	})
	for to := range d.all {
		if to != d.n {
			work.Go(func() { d.serve(ctx, to) })
		}
	}
	work.Wait()
}

// serve sends to one other what is due: the oldest live; and the rest live if that
// was taken, else parked.
func (d *dweller) serve(ctx context.Context, to int) {
	for ctx.Err() == nil {
		ids, cells, acks := d.due(to)
		if len(cells) == 0 {
			pause(ctx, 150*time.Millisecond)
			continue
		}
		ok := d.offer(ctx, to, cells)
		d.mu.Lock()
		for _, id := range ids {
			if l := d.out[id]; l != nil {
				l.busy = false
				if l.next = time.Now().Add(4 * time.Second); !ok {
					l.next = time.Now().Add(500 * time.Millisecond)
				}
			}
		}
		if !ok {
			d.owed[to] = append(d.owed[to], acks...)
		}
		d.mu.Unlock()
		if !ok {
			d.heard.failed.Add(1)
			pause(ctx, 200*time.Millisecond)
		}
	}
}

// due returns letters whose time has come, and what acks are owed.
func (d *dweller) due(to int) (ids []uint64, cells []*transport.Cell, acks []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if acks = d.owed[to]; len(acks) > 0 {
		acks = acks[:min(len(acks), maxAcks)]
		d.owed[to] = d.owed[to][len(acks):]
		cells = append(cells, acksCell(acks))
	}
	for id, l := range d.out {
		if len(cells) == transport.MaxPark {
			break
		}
		if l.to == to && !l.busy && !time.Now().Before(l.next) {
			l.busy = true
			ids, cells = append(ids, id), append(cells, l.cell)
		}
	}
	return ids, cells, acks
}

// offer reports whether every cell was taken by a device or kept by the realm.
func (d *dweller) offer(ctx context.Context, to int, cells []*transport.Cell) bool {
	peer := d.all[to]
	said, err := d.put(ctx, peer, cells[0])
	if err == nil && said {
		good := atomic.Bool{}
		good.Store(true)
		var work sync.WaitGroup
		for _, c := range cells[1:] {
			work.Go(func() {
				if said, err := d.put(ctx, peer, c); err != nil || !said {
					good.Store(false)
				}
			})
		}
		work.Wait()
		return good.Load()
	}
	var all []transport.Parking
	for _, c := range cells {
		all = append(all, transport.Parking{Address: peer.parked.address, Cell: c, Hours: 24})
	}
	kept, err := d.home.Park(ctx, transport.Park{Cells: all, Isolate: fmt.Sprint("to/", to)})
	if err != nil {
		return false
	}
	for _, k := range kept {
		if k.Fate != transport.Parked {
			return false
		}
	}
	d.heard.kept.Add(int64(len(kept)))
	return true
}

// put offers a cell live, anew: another look for whoever watches the relay.
func (d *dweller) put(ctx context.Context, peer *dweller, c *transport.Cell) (bool, error) {
	again := *c
	rand.Read(again[:16])
	said, err := d.home.Put(ctx, transport.Put{Address: peer.live.address, ID: transport.CellID(again[:16]), Cell: &again, Isolate: fmt.Sprint("to/", peer.n)})
	if err == nil && said.Delivered > 0 {
		d.heard.direct.Add(1)
		return true, nil
	}
	return false, err
}

func pause(ctx context.Context, p time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(p):
	}
}

// waiting counts letters that no device has acked yet.
func (d *dweller) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.out)
}

// TestClusterSharesWhatItKeeps: members of a realm of three nodes, with one
// PostgreSQL and one Redis, write to each other and are away half of the time.
// A node is killed every few seconds, and both servers are started again once.
// Every letter is shown, and acked; no spent token is honoured again; nothing
// is kept for longer than was promised. 5,000 letters with TACET_LONG=1.
func TestClusterSharesWhatItKeeps(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts three relays, PostgreSQL and Redis, and takes half a minute")
	}
	letters, people := long(120, 5000), long(4, 10)
	w := newSharedWorld(t, "gate = 'invite'\nclass = 16384")
	ctx, stop := context.WithTimeout(w.ctx, time.Duration(long(8, 25))*time.Minute)
	defer stop()
	var tasks sync.WaitGroup
	heard := &tally{}
	all := make([]*dweller, people)
	for n := range all {
		d := &dweller{w: w, n: n, all: all, heard: heard, pay: w.join(t), home: w.open(w.name), live: newFlat(t), parked: newFlat(t),
			out: map[uint64]*letter{}, in: map[uint64]bool{}, owed: map[int][]uint64{}}
		d.home.PayWith(d.pay)
		all[n] = d
	}
	for i := range uint64(letters) {
		from, to := mathrand.IntN(people), mathrand.IntN(people-1)
		if to >= from {
			to++
		}
		all[from].send(i+1, to)
	}
	rogueHome := w.open(w.name)
	rogue := &cheat{w: w, pay: w.join(t), look: func(ctx context.Context) { rogueHome.Descriptor(ctx) }}
	rogueHome.PayWith(rogue.pay)
	began := time.Now()
	shopping := func(p *payer, r *relay.Relay) {
		look := func(ctx context.Context) { r.Descriptor(ctx) }
		look(ctx)
		p.shop(ctx, look)
	}
	for _, d := range all {
		tasks.Go(func() { shopping(d.pay, d.home) })
		tasks.Go(func() { d.dwell(ctx) })
	}
	tasks.Go(func() { shopping(rogue.pay, rogueHome) })
	tasks.Go(func() { rogue.run(ctx, t) })

	kills := w.trouble(ctx, func() float64 { return float64(heard.shown.Load()) / float64(letters) }, func() bool {
		left := 0
		for _, d := range all {
			left += d.waiting()
		}
		return left == 0
	})
	took := time.Since(began)
	stop()
	tasks.Wait()

	shown, ended := map[uint64]int{}, rogue.pay.lost
	here := 0.0
	for _, d := range all {
		for id := range d.in {
			shown[id]++
		}
		ended += d.pay.lost
		if n := d.waiting(); n > 0 {
			t.Errorf("%d letters of one wait still", n)
		}
		here += float64(d.presence.Load()) / float64(took) / float64(people)
	}
	lost := 0
	for id := range uint64(letters) {
		if shown[id+1] != 1 {
			lost++
		}
	}
	if lost > 0 || len(shown) != letters {
		t.Errorf("%d of %d letters were not shown to exactly one", lost, letters)
	}
	if rogue.honoured == 0 || rogue.refused == 0 {
		t.Errorf("the cheat had %d tokens honoured and %d refused: this tested nothing", rogue.honoured, rogue.refused)
	}
	if ended == 0 {
		t.Error("no token ended with its seed: the loss of Redis was not seen")
	}
	if err := w.pg.SQL(`DO $$ BEGIN IF (SELECT count(*) FROM parked WHERE until < extract(epoch FROM now()) - 600) > 0 THEN RAISE 'a row outlived its promise'; END IF; END $$`); err != nil {
		t.Error(err)
	}
	t.Logf("%d letters of %d people who were here %.0f %% of the time, %d lost, %d came again and were known; %d taken by a live device, %d parked, %d rows taken; %d tokens spent by the cheat, %d presented again and refused, %d without an answer; %d tokens ended with their seed; %d nodes killed; %.0f s",
		letters, people, 100*here, lost, heard.again.Load(), heard.direct.Load(), heard.kept.Load(), heard.taken.Load(), rogue.honoured, rogue.refused, rogue.unsure, ended, kills, took.Seconds())
}

// trouble kills a node every few seconds, and starts each server again once on
// the way, until it is over. progress goes from 0 to 1.
func (w *sharedWorld) trouble(ctx context.Context, progress func() float64, over func() bool) (kills int) {
	w.t.Helper()
	redis, postgres := false, false
	for !over() || !redis || !postgres {
		pause(ctx, time.Duration(1500+mathrand.IntN(2500))*time.Millisecond)
		switch p := progress(); {
		case ctx.Err() != nil:
			w.t.Fatal("not over in time")
		case !redis && p > 0.3:
			redis = true
			w.rd.Stop()
			pause(ctx, time.Second)
			if err := w.rd.Start(); err != nil {
				w.t.Fatal(err)
			}
			continue
		case !postgres && p > 0.6:
			postgres = true
			w.pg.Stop()
			pause(ctx, time.Second)
			if err := w.pg.Start(); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		kills++
		i := mathrand.IntN(len(w.nodes))
		w.nodes[i].Kill()
		pause(ctx, time.Duration(mathrand.IntN(500))*time.Millisecond)
		w.again(i)
	}
	return kills
}

// TestClusterSharedPeople: two people with the real client, each away while the
// other is there, on three nodes that are killed, with PostgreSQL and Redis
// started again on the way. Nothing is lost, and nothing shown twice.
func TestClusterSharedPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts five processes, PostgreSQL and Redis, and takes half a minute")
	}
	w := newSharedWorld(t, "")
	d := raiseAt(t, StageOptions{AckMean: 200 * time.Millisecond, Brief: true}, w.name, long(25, 400))
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	visits := long(5, 40)
	for i := range visits {
		switch i {
		case visits / 3:
			w.rd.Stop()
			if err := w.rd.Start(); err != nil {
				t.Fatal(err)
			}
		case 2 * visits / 3:
			w.pg.Stop()
			if err := w.pg.Start(); err != nil {
				t.Fatal(err)
			}
		default:
			n := d.dice.IntN(len(w.nodes))
			w.nodes[n].Kill()
			w.again(n)
		}
		d.kill(i%2, time.Second+d.upTo(2*time.Second))
	}
	d.calm()
	d.reckon()
}
