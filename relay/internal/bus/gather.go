package bus

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// batch is cells that go out in one message, and who is to answer for them.
type batch struct {
	kind     kind
	number   uint64
	to       ID
	asked    []ID
	at       time.Time
	cells    []byte
	tallies  []Tally
	answered []uint64 // for each cell a bit for each of asked
}

// Publish implements Bus.
//
// spec: bus.md#cells
func (m *Mesh) Publish(cell *window.Entry, t Tally) {
	cut := m.cfg.Link.Cut()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case cut:
		t.Ask(1) // who would answer cannot be known
		m.miss()
	case len(m.roster.peers) == 0:
		m.miss() // for those who are there and out of reach
	case m.large():
		m.ask(cell, t)
	default:
		m.enqueue(kindCells, All, m.roster.asked, cell, t)
	}
}

// enqueue puts a cell into a batch that waits to be sent. Callers hold mu.
func (m *Mesh) enqueue(k kind, to ID, asked []ID, cell *window.Entry, t Tally) {
	t.Ask(len(asked))
	if m.queued >= maxQueued {
		m.miss()
		return
	}
	b := m.waiting(k, to)
	if b == nil || b.hole() || len(b.tallies) == maxCells || !slices.Equal(b.asked, asked) {
		b = &batch{kind: k, to: to, asked: asked, at: time.Now()}
		if k == kindCells {
			m.batches++
			b.number = m.batches
		} else {
			m.asks++
			b.number = m.asks
		}
		m.out = append(m.out, b)
		m.pending[b.number] = b
		m.old = append(m.old, b)
	}
	b.cells = append(b.cells, cell[:]...)
	b.tallies = append(b.tallies, t)
	b.answered = append(b.answered, 0)
	m.queued++
	token(m.some)
}

// miss gives a number to a cell that stays here: the next hello tells the others
// that it has gone past them, even if they did not know this node then. The
// number waits for its turn: a hello must not tell of batches that are still to
// be sent. Callers hold mu.
func (m *Mesh) miss() {
	if b := m.waiting(kindCells, All); b != nil && b.hole() {
		return
	}
	m.batches++
	m.out = append(m.out, &batch{kind: kindCells, to: All, number: m.batches})
	token(m.some)
}

// hole reports whether a batch is the number of cells that are not sent.
func (b *batch) hole() bool { return len(b.tallies) == 0 }

// waiting returns the batch that waits for more of the same, or nil. Batches to
// all are sent in their order, so only the last can take more. Callers hold mu.
func (m *Mesh) waiting(k kind, to ID) *batch {
	for i := len(m.out) - 1; i >= 0 && i >= len(m.out)-16; i-- {
		if b := m.out[i]; b.kind == k && b.to == to {
			return b
		}
	}
	return nil
}

// publish sends what waits until ctx ends. What comes while it sends shares the
// next message.
func (m *Mesh) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.some:
		}
		m.mu.Lock()
		list := m.out
		m.out, m.queued = nil, 0
		digest := m.roster.digest
		m.mu.Unlock()
		for _, b := range list {
			if !b.hole() {
				number := binary.BigEndian.AppendUint64(nil, b.number)
				if b.kind == kindAsk {
					number = append(number, digest[:]...)
				}
				m.send(b.kind, b.to, number, b.cells)
				clear(b.cells)
				b.cells = nil
			}
			if b.kind == kindCells {
				m.mu.Lock()
				m.sent = b.number
				m.mu.Unlock()
			}
		}
	}
}

// spoil makes lower bounds of all that is not answered yet. Callers hold mu.
func (m *Mesh) spoil() {
	for _, b := range m.old {
		for _, t := range b.tallies {
			t.Ask(1)
		}
	}
}

// expire forgets puts whose answers have left. An owner that did not answer may
// not have got the cell, and does not know. Callers hold mu.
func (m *Mesh) expire(now time.Time) {
	n := 0
	for n < len(m.old) && now.Sub(m.old[n].at) > countKept {
		b := m.old[n]
		if delete(m.pending, b.number); b.kind == kindAsk && slices.Contains(b.answered, 0) {
			m.miss()
		}
		m.old[n] = nil
		n++
	}
	if m.old = m.old[n:]; len(m.old) == 0 {
		m.old = nil
	}
}

// counts takes the answers of a node, each once.
func (m *Mesh) counts(from ID, all []count) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range all {
		b := m.pending[c.batch]
		if b == nil || int(c.index) >= len(b.tallies) {
			continue
		}
		i := slices.Index(b.asked, from)
		if i < 0 || i >= 64 || b.answered[c.index]&(1<<i) != 0 {
			continue
		}
		b.answered[c.index] |= 1 << i
		t := b.tallies[c.index]
		if c.lower {
			t.Ask(1)
		}
		t.Answer(int(c.echoes))
	}
}

// debt is a count that a node is owed for a cell of its own.
type debt struct {
	to    ID
	batch uint64
	index uint8
	visit Visit // nil: nobody watched
	at    time.Time
	late  time.Duration // after at it is paid whatever it is
}

// lower is what a visit also is whose count may be less than the truth.
type lower interface{ Lower() bool }

// debts are what this node owes, by when it is due.
type debts struct {
	early, late, later []debt // each in the order of time
}

// owe adds a debt.
func (d *debts) owe(x debt) { d.early = append(d.early, x) }

// due takes out what is to be paid.
func (d *debts) due(now time.Time) map[ID][]count {
	var pay map[ID][]count
	add := func(x *debt, n int) {
		if pay == nil {
			pay = map[ID][]count{}
		}
		c := count{batch: x.batch, index: x.index, echoes: uint16(min(n, 1<<16-1))}
		if l, ok := x.visit.(lower); ok {
			c.lower = l.Lower()
		}
		pay[x.to] = append(pay[x.to], c)
	}
	d.early = take(d.early, now, func(x *debt) time.Duration { return countEarly }, func(x *debt) {
		n, all := 0, true
		if x.visit != nil {
			n, all = x.visit.Echoes()
		}
		switch {
		case all:
			add(x, n)
		case x.late > countLate:
			d.later = append(d.later, *x)
		default:
			d.late = append(d.late, *x)
		}
	})
	final := func(x *debt) {
		n, _ := x.visit.Echoes()
		add(x, n)
	}
	after := func(x *debt) time.Duration { return x.late }
	d.late = take(d.late, now, after, final)
	d.later = take(d.later, now, after, final)
	return pay
}

// take hands over those at the front that are due and returns the rest.
func take(list []debt, now time.Time, after func(*debt) time.Duration, f func(*debt)) []debt {
	n := 0
	for n < len(list) && !now.Before(list[n].at.Add(after(&list[n]))) {
		f(&list[n])
		list[n] = debt{}
		n++
	}
	if n == len(list) {
		return nil
	}
	return list[n:]
}

// next returns when something is due, zero if nothing is owed.
func (d *debts) next() (t time.Time) {
	for i, list := range [][]debt{d.early, d.late, d.later} {
		if len(list) == 0 {
			continue
		}
		at := list[0].at.Add(countEarly)
		if i > 0 {
			at = list[0].at.Add(list[0].late)
		}
		if t.IsZero() || at.Before(t) {
			t = at
		}
	}
	return t
}

// paid reports whether everything was paid that was owed for cells that came
// before a time.
func (d *debts) paid(begun time.Time) bool {
	for _, list := range [][]debt{d.early, d.late, d.later} {
		if len(list) > 0 && list[0].at.Before(begun) {
			return false
		}
	}
	return true
}

// all takes out everything, due or not.
func (d *debts) all() map[ID][]count { return d.due(time.Now().Add(time.Hour)) }

// sendCounts sends what was taken out for one node.
func (m *Mesh) sendCounts(to ID, all []count) {
	for ; len(all) > 0; all = all[min(len(all), maxCounts):] {
		b := make([]byte, 0, min(len(all), maxCounts)*countSize)
		for _, c := range all[:min(len(all), maxCounts)] {
			b = c.append(b)
		}
		m.send(kindCounts, to, b)
	}
}

// came takes cells of another node and owes an answer for each.
func (m *Mesh) came(p *peer, number uint64, b []byte) {
	m.mu.Lock()
	twice, lost := number <= p.batches, number > p.batches+1
	if !twice {
		p.batches = number
	}
	m.mu.Unlock()
	if twice {
		return
	}
	if lost {
		m.node.Lost()
	}
	m.carried(p, number, b)
}

// carried gives cells of another node to our watchers, and owes it an answer for
// each. Where that node does not list us we may not be asked, and who is not
// asked must not echo: the cells are kept, and nobody here gets them.
func (m *Mesh) carried(p *peer, number uint64, b []byte) {
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
	for i, v := range visits {
		m.debts.owe(debt{to: p.id, batch: number, index: uint8(i), visit: v, at: now, late: countLate})
	}
	token(m.poke)
}

// receive takes one message. It is called by one goroutine.
func (m *Mesh) receive(b []byte) {
	h, err := parseHeader(b)
	if err != nil || h.from == m.self || h.from == All {
		return
	}
	to := m.self
	if h.kind.toAll() {
		to = All
	}
	now := time.Now()
	if h.kind == kindHello {
		if body, err := h.open(m.hello, to, b); err == nil {
			if hi, err := parseHello(body); err == nil {
				m.met(h.from, &hi, now)
			}
		}
		return
	}
	m.mu.Lock()
	p := m.roster.peers[h.from]
	m.mu.Unlock()
	if p == nil {
		return
	}
	if h.kind == kindKey {
		if body, err := h.open(p.pair, to, b); err == nil && len(body) == 32 {
			m.took(p, body, now)
			clear(body)
		}
		return
	}
	n := h.counter()
	if p.open == nil || n <= p.counter { // both are changed by this goroutine alone
		return
	}
	body, err := h.open(p.open, to, b)
	if err != nil {
		return
	}
	p.counter = n
	m.handle(&h, p, body, now)
}

// handle takes the body of a message under a sender key.
func (m *Mesh) handle(h *header, p *peer, body []byte, now time.Time) {
	defer clear(body)
	switch h.kind {
	case kindCells:
		if n, _, cells, err := numbered(body, 0, window.EntrySize, 1, maxCells); err == nil {
			m.came(p, n, cells)
		}
	case kindCounts:
		if all, err := parseCounts(body); err == nil {
			m.counts(p.id, all)
		}
	case kindBye:
		if len(body) == 0 {
			m.parted(p.id, now)
		}
	case kindAsk:
		if n, digest, cells, err := numbered(body, 8, window.EntrySize, 1, maxCells); err == nil {
			m.asked(p, n, [8]byte(digest), cells)
		}
	case kindCarry:
		if n, _, cells, err := numbered(body, 0, window.EntrySize, 1, maxCells); err == nil {
			m.carried(p, n, cells)
		}
	case kindRegister:
		if n, flags, list, err := numbered(body, 1, wire.AddressSize, 0, maxAddresses); err == nil && flags[0] <= 3 {
			m.owner.register(p, n, flags[0], addresses(list))
		}
	case kindUnregister:
		if n, _, list, err := numbered(body, 0, wire.AddressSize, 1, maxAddresses); err == nil {
			m.owner.unregister(p, n, addresses(list))
		}
	case kindPast:
		if n, _, cells, err := numbered(body, 0, window.EntrySize, 1, maxCells); err == nil {
			m.owner.past(p, n, cells)
		}
	case kindRegistered:
		if n, reach, _, err := numbered(body, 4, 1, 0, 0); err == nil {
			m.owner.registered(p, n, binary.BigEndian.Uint32(reach), now)
		}
	}
}
