package bus

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

const (
	registeredWithin = time.Second
	renewAtMost      = 16 * time.Second // between whole sets for an owner that does not answer
	maxPast          = 4096             // cells that one registration brings from one owner
	maxHeld          = 8 << 20          // bytes of those that came and were not handed on
	maxAsking        = 8                // watch frames that wait for the last minute at a time
	maxWanted        = 64               // registrations that wait for it at an owner
)

// leases are the registrations of this node at the owners of what is watched
// here. Nothing is kept of an address but in the hub: after a change of the
// roster, or when an answer is late, everything is registered anew.
//
// spec: bus.md#owners
type leases struct {
	m *Mesh

	// order is held while registrations are made and sent: so the last word
	// about an address is what the hub knew last. It is taken before Mesh.mu.
	order sync.Mutex

	asking chan struct{} // holds a token for each who waits for the last minute

	// Guarded by Mesh.mu.
	held  int // bytes of past cells
	at    map[ID]*lease
	made  [8]byte // digest of the roster that they were made for
	stale bool
	base  uint64 // the highest number that an owner was sent who was forgotten
}

// lease is what one owner was told.
type lease struct {
	number   uint64
	answered uint64
	since    time.Time     // when the first unanswered one was sent
	patience time.Duration // until the whole set goes again; doubles, and has a random part
	waits    map[uint64]*wait
}

// wait is somebody who waits for an answer. Its fields but for the channels are
// guarded by Mesh.mu.
type wait struct {
	done  chan struct{} // closed by the answer
	more  chan struct{} // a token: cells came
	cells [][]byte      // that came and were not handed on
	got   int           // cells that came
	reach time.Duration // as answered
	over  bool          // some had no room
}

func (l *leases) init(m *Mesh) {
	l.m, l.at, l.stale, l.asking = m, map[ID]*lease{}, true, make(chan struct{}, maxAsking)
}

func (l *leases) changed() { l.stale = true }

// back is called when a node has our key again: what it was sent meanwhile, it
// could not read. Callers hold mu.
func (l *leases) back(id ID) {
	if x := l.at[id]; x != nil {
		x.patience = registeredWithin
	}
	token(l.m.poke)
}

// settled reports whether all that is watched here was registered for the
// present roster. Callers hold mu.
func (o *owner) settled() bool {
	l := &o.lease
	if !o.m.large() {
		return true
	}
	if l.stale || l.made != o.m.roster.digest {
		return false
	}
	for _, x := range l.at {
		if x.answered < x.number {
			return false
		}
	}
	return true
}

// next returns when something is to be done, zero if nothing. Callers hold mu.
func (o *owner) next(now time.Time) (t time.Time) {
	l := &o.lease
	if o.lost {
		return now
	}
	if !o.m.large() {
		return t
	}
	if l.stale {
		return now
	}
	for _, x := range l.at {
		if late := x.since.Add(x.patience); x.answered < x.number && (t.IsZero() || late.Before(t)) {
			t = late
		}
	}
	return t
}

// due returns what is to be done without holding mu. Callers hold mu.
func (o *owner) due(now time.Time) []func() {
	if t := o.next(now); t.IsZero() || now.Before(t) {
		return nil
	}
	lost := o.lost
	o.lost = false
	var late []ID
	for id, x := range o.lease.at {
		if o.m.large() && !o.lease.stale && x.answered < x.number && !now.Before(x.since.Add(x.patience)) {
			late = append(late, id)
			x.since, x.patience = now, min(2*x.patience, renewAtMost)
			x.patience += rand.N(x.patience / 4)
		}
	}
	return []func(){func() {
		if lost {
			o.m.node.Lost()
		}
		l := &o.lease
		l.order.Lock()
		defer l.order.Unlock()
		l.renew(late)
	}}
}

// renew registers everything that is watched here anew: at all owners where the
// roster has changed, else at those who are late. One that does not answer must
// not cost the others anything. Callers hold order.
func (l *leases) renew(late []ID) {
	m := l.m
	m.mu.Lock()
	if !m.large() {
		m.mu.Unlock()
		return
	}
	others, to := m.roster.asked, late
	if l.stale {
		to = others
	}
	l.made, l.stale = m.roster.digest, false
	for id, x := range l.at {
		if m.roster.peers[id] == nil {
			// It may not have forgotten us, and takes no number again.
			l.base = max(l.base, x.number)
			delete(l.at, id)
		} else if !slices.Contains(late, id) {
			x.patience = registeredWithin
		}
	}
	m.mu.Unlock()
	sets := map[ID][]byte{}
	for _, id := range to {
		if slices.Contains(others, id) {
			sets[id] = nil
		}
	}
	if len(sets) == 0 {
		return
	}
	m.node.Addresses(func(a *wire.Address) {
		id := m.cfg.Realm.ownerOf(a[:], m.self, others)
		if _, ok := sets[id]; ok {
			sets[id] = append(sets[id], a[:]...)
		}
	})
	for id, set := range sets {
		for flags := byte(flagWhole); flags != 0 || len(set) > 0; flags = 0 {
			n := min(len(set), maxAddresses*wire.AddressSize)
			l.send(kindRegister, id, flags, set[:n], nil)
			clear(set[:n])
			set = set[n:]
		}
	}
}

// send sends one registration. Callers hold order.
func (l *leases) send(k kind, to ID, flags byte, addresses []byte, w *wait) {
	m := l.m
	m.mu.Lock()
	x := l.at[to]
	if x == nil {
		x = &lease{number: l.base, answered: l.base, patience: registeredWithin, waits: map[uint64]*wait{}}
		l.at[to] = x
	}
	if x.answered == x.number || flags&flagWhole != 0 {
		x.since = time.Now()
	}
	x.number++
	head := binary.BigEndian.AppendUint64(nil, x.number)
	if w != nil {
		x.waits[x.number] = w
	}
	m.mu.Unlock()
	if k == kindRegister {
		head = append(head, flags)
	}
	m.send(k, to, head, addresses)
	token(m.poke)
}

// past takes cells that an owner still holds.
func (o *owner) past(p *peer, number uint64, b []byte) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	x := o.lease.at[p.id]
	if x == nil || x.waits[number] == nil {
		return
	}
	w := x.waits[number]
	if w.got += len(b) / window.EntrySize; w.got > maxPast || o.lease.held+len(b) > maxHeld {
		w.over = true
		return
	}
	o.lease.held += len(b)
	w.cells = append(w.cells, bytes.Clone(b))
	token(w.more)
}

// registered takes the answer of an owner.
func (o *owner) registered(p *peer, number uint64, reach uint32, now time.Time) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	x := o.lease.at[p.id]
	if x == nil || number > x.number {
		return
	}
	// An owner takes registrations in their order, and answers those late of which
	// it has to replay something.
	if number > x.answered {
		if x.answered, x.since = number, now; number == x.number {
			x.patience = registeredWithin
		}
	}
	if w := x.waits[number]; w != nil {
		delete(x.waits, number)
		if w.reach = min(window.Span, time.Duration(reach)*time.Second); w.over {
			w.reach = 0
		}
		close(w.done)
	}
}

// Watch implements Bus. Where every cell goes to every node there is nothing to do.
func (m *Mesh) Watch(list []wire.Address, past func(*window.Entry) bool) time.Duration {
	l := &m.owner.lease
	m.mu.Lock()
	large := m.large() && m.running
	m.mu.Unlock()
	if !large {
		return window.Span
	}
	reach := window.Span
	late := time.NewTimer(registeredWithin)
	defer late.Stop()
	replay := past != nil
	if replay {
		select {
		case l.asking <- struct{}{}:
			defer func() { <-l.asking }()
		case <-late.C: // the others take long: this one hears that there is nothing
			replay, reach = false, 0
		}
		late.Reset(registeredWithin)
	}
	waits := l.watch(list, replay)
	defer l.forget(waits)
	for _, w := range waits {
		for waiting := true; waiting; {
			select {
			case <-w.more:
			case <-w.done:
				waiting = false
			case <-late.C:
				late.Reset(0)
				waiting = false
			}
			if !l.hand(w, past) {
				return 0
			}
		}
		reach = min(reach, l.reached(w))
	}
	return reach
}

// hand hands on the cells that an owner sent, and reports whether all were wanted.
func (l *leases) hand(w *wait, past func(*window.Entry) bool) bool {
	l.m.mu.Lock()
	all := w.cells
	w.cells = nil
	for _, b := range all {
		l.held -= len(b)
	}
	l.m.mu.Unlock()
	wanted := true
	for _, b := range all {
		for e := b; len(e) > 0 && wanted; e = e[window.EntrySize:] {
			wanted = past((*window.Entry)(e))
		}
		clear(b)
	}
	return wanted
}

// reached returns how far back goes what an owner sent, 0 if it has not answered.
func (l *leases) reached(w *wait) time.Duration {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return w.reach
}

// watch registers addresses with their owners.
func (l *leases) watch(list []wire.Address, past bool) (waits []*wait) {
	l.order.Lock()
	defer l.order.Unlock()
	m := l.m
	m.mu.Lock()
	others, stale := m.roster.asked, l.stale
	m.mu.Unlock()
	if stale {
		l.renew(nil)
	}
	flags := byte(0)
	if past {
		flags = flagPast
	}
	for id, set := range l.byOwner(list, others) {
		for len(set) > 0 {
			n := min(len(set), maxAddresses*wire.AddressSize)
			w := &wait{done: make(chan struct{}), more: make(chan struct{}, 1)}
			waits = append(waits, w)
			l.send(kindRegister, id, flags, set[:n], w)
			clear(set[:n])
			set = set[n:]
		}
	}
	return waits
}

// byOwner sorts addresses by the node that owns them, leaving out our own.
func (l *leases) byOwner(list []wire.Address, others []ID) map[ID][]byte {
	sets := map[ID][]byte{}
	for i := range list {
		if id := l.m.cfg.Realm.ownerOf(list[i][:], l.m.self, others); id != l.m.self {
			sets[id] = append(sets[id], list[i][:]...)
		}
	}
	return sets
}

// forget ends waits, answered or not, and wipes what came.
func (l *leases) forget(waits []*wait) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	for _, x := range l.at {
		for n, w := range x.waits {
			for _, mine := range waits {
				if w == mine {
					delete(x.waits, n)
				}
			}
		}
	}
	for _, w := range waits {
		for _, b := range w.cells {
			l.held -= len(b)
			clear(b)
		}
		w.cells = nil
	}
}

// Unwatch implements Bus.
func (m *Mesh) Unwatch(list []wire.Address) {
	l := &m.owner.lease
	m.mu.Lock()
	large := m.large() && m.running
	m.mu.Unlock()
	if !large {
		return
	}
	l.order.Lock()
	defer l.order.Unlock()
	m.mu.Lock()
	others, stale := m.roster.asked, l.stale
	m.mu.Unlock()
	if stale {
		return // all will be registered anew
	}
	var left []wire.Address
	for i := range list {
		if !m.node.Watches(&list[i]) {
			left = append(left, list[i])
		}
	}
	for id, set := range l.byOwner(left, others) {
		for len(set) > 0 {
			n := min(len(set), maxAddresses*wire.AddressSize)
			l.send(kindUnregister, id, 0, set[:n], nil)
			clear(set[:n])
			set = set[n:]
		}
	}
}
