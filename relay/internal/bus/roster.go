package bus

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// peer is another node that is known: it was sent our key.
type peer struct {
	id     ID
	public key.DHPublic
	pair   cipher.AEAD
	open   cipher.AEAD // under its sender key; nil until it was given

	heard   time.Time // when its last hello came
	number  uint64    // of that hello
	counter uint64    // of the last message under its sender key
	batches uint64    // the last batch of cells that came or was missed
	holds   bool      // it has our key
	ending  bool      // it is not listed in our hellos any more, and forgotten with the next
	digest  [8]byte   // of its roster
	settled bool
}

func (p *peer) silent(now time.Time) bool { return now.Sub(p.heard) > silentAfter }

// roster is who is known. Its fields are guarded by Mesh.mu.
type roster struct {
	self   ID
	peers  map[ID]*peer
	asked  []ID // the known ones; never changed in place
	gone   map[ID]time.Time
	digest [8]byte
}

func (r *roster) init(self ID) {
	*r = roster{self: self, peers: map[ID]*peer{}, gone: map[ID]time.Time{}}
	r.changed()
}

// changed derives what depends on who is known.
func (r *roster) changed() {
	r.asked = nil
	for id := range r.peers {
		r.asked = append(r.asked, id)
	}
	all := append(slices.Clone(r.asked), r.self)
	slices.SortFunc(all, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	parts := make([]byte, 0, len(all)*len(ID{}))
	for _, id := range all {
		parts = append(parts, id[:]...)
	}
	sum := key.Hash(labelRoster, parts)
	r.digest = [8]byte(sum[:])
}

// forget drops who was silent for too long, and reports whether anybody was. A
// node is asked for one hello longer than it is listed: so nobody who believes
// to be asked is not.
func (r *roster) forget(now time.Time) (any bool) {
	for id, p := range r.peers {
		switch {
		case now.Sub(p.heard) <= forgetAfter:
			p.ending = false
		case !p.ending:
			p.ending = true
		default:
			delete(r.peers, id)
			any = true
		}
	}
	for id, at := range r.gone {
		if now.Sub(at) > 2*forgetAfter {
			delete(r.gone, id)
		}
	}
	if any {
		r.changed()
	}
	return any
}

// met reports whether keys were exchanged with everybody.
func (r *roster) met() bool {
	for _, p := range r.peers {
		if p.open == nil || !p.holds {
			return false
		}
	}
	return true
}

// holders returns how many have our key and give signs of life.
func (r *roster) holders(now time.Time) (n int) {
	for _, p := range r.peers {
		if p.holds && !p.silent(now) {
			n++
		}
	}
	return n
}

// greeting makes the body of the next hello. Callers hold mu.
func (m *Mesh) greeting(now time.Time) []byte {
	if m.roster.forget(now) {
		m.owner.changed(now)
	}
	m.nextHi = now.Add(helloEvery)
	m.numbers++
	h := hello{public: m.public, number: m.numbers, batches: m.sent, digest: m.roster.digest, settled: m.owner.settled()}
	for id, p := range m.roster.peers {
		if p.open != nil && !p.ending {
			h.holds = append(h.holds, id)
		}
	}
	return h.append(start(nil))
}

func (m *Mesh) sendHello(b []byte) {
	h := header{kind: kindHello, from: m.self}
	rand.Read(h.nonce[:])
	m.cfg.Link.Send(All, h.seal(m.hello, All, b))
}

// met takes a hello.
//
// spec: bus.md#hello
func (m *Mesh) met(from ID, h *hello, now time.Time) {
	m.mu.Lock()
	p := m.roster.peers[from]
	if _, gone := m.roster.gone[from]; gone || p != nil && h.number <= p.number {
		m.mu.Unlock()
		return
	}
	if p == nil {
		if p = m.meet(from, h.public, now); p == nil {
			m.mu.Unlock()
			return
		}
	}
	p.heard, p.number, p.digest, p.settled = now, h.number, h.digest, h.settled
	held := p.holds
	if p.holds = slices.Contains(h.holds, m.self); held && !p.holds {
		m.owner.lease.changed() // it has forgotten us, and what we registered there
		token(m.poke)
	} else if !held && p.holds {
		m.owner.lease.back(from)
	}
	give := !p.holds && !m.leaving
	lost := p.open != nil && h.batches > p.batches || p.open == nil && h.batches > 0
	if lost {
		p.batches = h.batches
	}
	m.mu.Unlock()
	if give {
		m.give(p)
	}
	if lost {
		m.node.Lost()
	}
}

// meet makes a node known, or not: it may have made no key, or there are too
// many. From now on it is asked, and what was asked before is a lower bound,
// as it may get a cell of that. Callers hold mu.
//
// spec: bus.md#known-nodes
func (m *Mesh) meet(id ID, public key.DHPublic, now time.Time) *peer {
	if len(m.roster.peers) >= maxPeers || m.leaving {
		return nil
	}
	shared, err := key.Agree(m.agree, public)
	if err != nil {
		return nil
	}
	defer shared.Wipe()
	low, high := m.self, id
	if bytes.Compare(low[:], high[:]) > 0 {
		low, high = high, low
	}
	var k [32]byte
	defer clear(k[:])
	key.KDF(k[:], shared.Bytes(), labelPair, m.cfg.Realm.cluster.Bytes(), low[:], high[:])
	p := &peer{id: id, public: public, pair: newAEAD(k[:])}
	m.roster.peers[id] = p
	m.roster.changed()
	m.spoil()
	m.owner.changed(now)
	m.nextHi = now
	token(m.poke)
	return p
}

// give sends a node our sender key.
func (m *Mesh) give(p *peer) {
	h := header{kind: kindKey, from: m.self}
	rand.Read(h.nonce[:])
	m.cfg.Link.Send(p.id, h.seal(p.pair, p.id, append(start(nil), m.sender.Bytes()...)))
}

// took takes the sender key of a node. It keeps the first: a node has one.
func (m *Mesh) took(p *peer, k []byte, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.open == nil {
		p.open = newAEAD(k)
		m.nextHi = now // it waits to hear that we have it
		token(m.poke)
	}
}

// parted takes a bye.
func (m *Mesh) parted(id ID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roster.gone[id] = now
	delete(m.roster.peers, id)
	m.roster.changed()
	m.owner.changed(now)
	m.nextHi = now // it waits to hear that it was understood
	token(m.poke)
}
