package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// Flags of a registration.
const (
	flagPast  = 1 // what the owner's window holds is wanted
	flagWhole = 2 // what was registered before is dropped
)

const labelHash = "tacet/v1/bus/registered" // parts: key of the owner 32, address 32

// hashed stands for an address in the owner's memory.
type hashed [16]byte

// owner is what this node keeps as the owner of addresses. Its fields are
// guarded by Mesh.mu, but for key.
//
// spec: bus.md#owners
type owner struct {
	m      *Mesh
	key    [32]byte
	wanted chan wanted
	where  map[hashed][]ID // who watches; never changed in place
	last   map[ID]uint64   // the last registration of each that was taken
	lease  leases
	large  bool // as of the last change of the roster
	lost   bool // what this node owns is not what it owned: its window has gaps
}

func newOwner(m *Mesh) *owner {
	o := &owner{m: m, wanted: make(chan wanted, maxWanted), where: map[hashed][]ID{}, last: map[ID]uint64{}}
	rand.Read(o.key[:])
	o.lease.init(m)
	return o
}

func (o *owner) hash(a []byte) hashed {
	sum := key.Hash(labelHash, o.key[:], a[:wire.AddressSize])
	return hashed(sum[:])
}

// mix is the finaliser of SplitMix64: every bit of x moves half of the result's.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// point is where an address lies for the choice of its owner.
func (r Realm) point(a []byte) uint64 {
	return binary.BigEndian.Uint64(r.derive(8, labelOwner, a[:wire.AddressSize]))
}

// ownerOf returns the owner of an address among nodes: the one that draws the
// highest number for it, so that a node that comes or goes moves its own share
// of the addresses only.
func (r Realm) ownerOf(a []byte, self ID, others []ID) ID {
	h := r.point(a)
	draw := func(id ID) uint64 { return mix(h ^ binary.BigEndian.Uint64(id[:])) }
	best, most := self, draw(self)
	for _, id := range others {
		if n := draw(id); n > most || n == most && bytes.Compare(id[:], best[:]) < 0 {
			best, most = id, n
		}
	}
	return best
}

// ask sends a cell to the owner of its address, or to those who registered for
// it where that is this node. Callers hold mu.
func (m *Mesh) ask(cell *window.Entry, t Tally) {
	to := m.cfg.Realm.ownerOf(cell[:], m.self, m.roster.asked)
	if to != m.self {
		m.enqueue(kindAsk, to, []ID{to}, cell, t)
		return
	}
	if !m.owner.sure(m.roster.digest, time.Now()) {
		t.Ask(1)
	}
	for _, id := range m.owner.where[m.owner.hash(cell[:])] {
		m.enqueue(kindCarry, id, []ID{id}, cell, t)
	}
}

// sure reports whether everybody who watches must have found the owner, when
// asked by a node with that roster. Callers hold mu.
func (o *owner) sure(digest [8]byte, now time.Time) bool {
	if digest != o.m.roster.digest || !o.settled() {
		return false
	}
	for _, p := range o.m.roster.peers {
		if p.silent(now) || !p.settled || p.digest != digest || o.last[p.id] == 0 {
			return false
		}
	}
	return true
}

// gathering is a cell of another node that this one owns: its own watchers, and
// those of the nodes it was carried to.
type gathering struct {
	here   Visit // nil: nobody
	echoes atomic.Int32
	asked  atomic.Int32
	unsure bool
}

// Ask implements Tally.
func (g *gathering) Ask(nodes int) { g.asked.Add(int32(nodes)) }

// Answer implements Tally.
func (g *gathering) Answer(echoes int) {
	g.echoes.Add(int32(echoes))
	g.asked.Add(-1)
}

// Echoes implements Visit.
func (g *gathering) Echoes() (n int, all bool) {
	all = g.asked.Load() == 0
	n = int(g.echoes.Load())
	if g.here != nil {
		k, done := g.here.Echoes()
		n, all = n+k, all && done
	}
	return n, all
}

// Lower implements lower.
func (g *gathering) Lower() bool { return g.unsure || g.asked.Load() != 0 }

// asked takes cells that this node is asked for as their owner.
func (m *Mesh) asked(p *peer, number uint64, digest [8]byte, b []byte) {
	cells := entries(m.entering, b)
	defer clear(cells)
	now := time.Now()
	if !p.holds {
		m.node.Keep(cells)
		return
	}
	visits := m.node.Carry(cells)
	m.mu.Lock()
	defer m.mu.Unlock()
	sure := m.owner.sure(digest, now)
	for i := range cells {
		g := &gathering{here: visits[i], unsure: !sure}
		for _, id := range m.owner.where[m.owner.hash(cells[i][:])] {
			if id != p.id { // it has given them to its own
				m.enqueue(kindCarry, id, []ID{id}, &cells[i], g)
			}
		}
		m.debts.owe(debt{to: p.id, batch: number, index: uint8(i), visit: g, at: now, late: ownerLate})
	}
	token(m.poke)
}

// register takes addresses that another node watches, and says so.
func (o *owner) register(p *peer, number uint64, flags byte, list []wire.Address) {
	o.m.mu.Lock()
	switch last := o.last[p.id]; {
	case flags&flagWhole != 0 && number > last:
		o.drop(p.id)
	case number != last+1: // something before it was lost: it will send all again
		o.m.mu.Unlock()
		clear(list)
		return
	}
	o.last[p.id] = number
	for i := range list {
		h := o.hash(list[i][:])
		if !slices.Contains(o.where[h], p.id) {
			o.where[h] = append(slices.Clone(o.where[h]), p.id)
		}
	}
	o.m.mu.Unlock()
	if flags&flagPast == 0 {
		clear(list)
		o.registeredAt(p, number, window.Span)
		return
	}
	select {
	case o.wanted <- wanted{p, number, list}:
	default: // too many want the same: this one hears that there is nothing
		clear(list)
		o.registeredAt(p, number, 0)
	}
}

// wanted is a registration whose addresses' last minute is asked for.
type wanted struct {
	p      *peer
	number uint64
	list   []wire.Address
}

// serve answers those who want the last minute, one after the other, until ctx
// ends: who asks for much holds up neither counts nor cells.
func (o *owner) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-o.wanted:
			o.replay(&w)
		}
	}
}

// replay sends what the window holds for the addresses, maxPast cells at most.
func (o *owner) replay(w *wanted) {
	defer clear(w.list)
	n := binary.BigEndian.AppendUint64(nil, w.number)
	var cells []byte
	flush := func() {
		o.m.send(kindPast, w.p.id, n, cells)
		clear(cells)
		cells = cells[:0]
	}
	reach, left := window.Span, maxPast
	for i := range w.list {
		reach = min(reach, o.m.node.Past(&w.list[i], func(e *window.Entry) {
			if left--; left < 0 {
				return
			}
			if cells = append(cells, e[:]...); len(cells) == maxCells*window.EntrySize {
				flush()
			}
		}))
		if left < 0 {
			reach = 0
			break
		}
	}
	if len(cells) > 0 {
		flush()
	}
	o.registeredAt(w.p, w.number, reach)
}

// registeredAt answers a registration.
func (o *owner) registeredAt(p *peer, number uint64, reach time.Duration) {
	n := binary.BigEndian.AppendUint64(nil, number)
	o.m.send(kindRegistered, p.id, n, binary.BigEndian.AppendUint32(nil, uint32(reach/time.Second)))
}

// unregister takes addresses that nobody watches at another node any more.
func (o *owner) unregister(p *peer, number uint64, list []wire.Address) {
	defer clear(list)
	o.m.mu.Lock()
	if number != o.last[p.id]+1 {
		o.m.mu.Unlock()
		return
	}
	o.last[p.id] = number
	for i := range list {
		o.remove(o.hash(list[i][:]), p.id)
	}
	o.m.mu.Unlock()
	o.m.send(kindRegistered, p.id, binary.BigEndian.AppendUint64(nil, number), make([]byte, 4))
}

// remove forgets that a node watches. Callers hold mu.
func (o *owner) remove(h hashed, id ID) {
	list := o.where[h]
	i := slices.Index(list, id)
	switch {
	case i < 0:
	case len(list) == 1:
		delete(o.where, h)
	default:
		o.where[h] = slices.Delete(slices.Clone(list), i, i+1)
	}
}

// drop forgets all that a node registered. Callers hold mu.
func (o *owner) drop(id ID) {
	for h, list := range o.where {
		if slices.Contains(list, id) {
			o.remove(h, id)
		}
	}
}

// changed is called when the roster has. Callers hold mu.
func (o *owner) changed(now time.Time) {
	for id := range o.last {
		if o.m.roster.peers[id] == nil {
			o.drop(id)
			delete(o.last, id)
		}
	}
	o.lost = o.lost || o.large || o.m.large()
	o.large = o.m.large()
	o.lease.changed()
	token(o.m.poke)
}
