package load

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// span is the time in which what happens is measured: cells that were due in it.
type span struct{ from, to atomic.Int64 }

// ear listens on one watch connection of one mailbox.
type ear struct {
	line *line
	sum  *atomic.Int64 // deliveries so far, shared by those who listen to one sender

	mu sync.Mutex // guards h
	h  histogram  // from when a cell was due to when it was read

	// Of the goroutine that listens, until it has ended.
	last    uint64
	doubled int64 // seen again, or out of order
	err     error
	over    chan struct{} // closed when it has ended

	closed, cut bool // by us; by the server before that
}

// take adds what was heard since it was taken before.
func (e *ear) take(h *histogram) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h.merge(&e.h)
	e.h = histogram{}
}

// hear begins to listen. wake is called after each read that brought something.
func (e *ear) hear(in *span, size int, wake func()) {
	e.over = make(chan struct{})
	at := int64(0)
	on := events{
		read: func() { at = 0 },
		cell: func(cell []byte) {
			if at == 0 { // one time for all cells of a read: that is when they came
				at = now()
			}
			due, _, number := stamped(cell)
			if due >= in.from.Load() && due < in.to.Load() {
				e.mu.Lock()
				e.h.add(time.Duration(at - due))
				e.mu.Unlock()
			}
			if number <= e.last {
				e.doubled++
			}
			e.last = max(e.last, number)
		},
		done: func(cells int) {
			e.sum.Add(int64(cells))
			wake()
		},
	}
	go func() {
		defer close(e.over)
		e.err = e.line.listen(size, &on)
	}()
}

// end closes the connection and waits for the goroutine. It may be called again.
func (e *ear) end() {
	if !e.closed {
		e.closed, e.cut = true, ended(e.over)
	}
	e.line.Close()
	<-e.over
}

// mouth puts cells to one mailbox over one connection, which it opens with the
// first: a relay wants nobody to open one ahead of need.
type mouth struct {
	to   *mailbox
	id   uint32
	in   *span
	cell []byte
	wake chan struct{} // something came to those who listen
	open func() (*line, error)

	// heard is told of an answer; nil if nobody wants to know. Of the goroutine that hears.
	heard func(id uint64, delivered uint16)

	// Of the goroutine that sends, until it has ended.
	line *line // nil before the first put
	over chan struct{}
	out  []byte
	late histogram // how long after its time a cell was written

	sent    atomic.Int64
	answers atomic.Int64
	told    atomic.Int64 // sum of delivered over all answers
	unsure  atomic.Int64 // answers that were not complete
	down    atomic.Bool  // nothing is heard, as the server has ended the connection
	cuts    atomic.Int64 // connections that the server has ended
	orphans atomic.Int64 // puts whose answers had no connection to come to
}

// newMouth is a sender. heard gets its answers, and may be nil.
func newMouth(s *server, v *variant, to *mailbox, id int, in *span, heard func(uint64, uint16)) *mouth {
	m := &mouth{to: to, id: uint32(id), in: in, cell: make([]byte, wire.CellSize), wake: make(chan struct{}, 1), heard: heard}
	rand.Read(m.cell)
	m.open = func() (*line, error) { return s.put(s, to, v.echo) }
	return m
}

// connect opens a connection and begins to count answers.
func (m *mouth) connect() error {
	l, err := m.open()
	for i := 1; err != nil && i < tries; i++ {
		l, err = m.open()
	}
	if err != nil {
		return fmt.Errorf("connecting a sender: %w", err)
	}
	over := make(chan struct{})
	m.line, m.over = l, over
	m.down.Store(false)
	on := events{
		cell: func([]byte) {},
		answer: func(id uint64, delivered uint16, complete bool) {
			if m.heard != nil {
				m.heard(id, delivered)
			}
			m.answers.Add(1)
			m.told.Add(int64(delivered))
			if !complete {
				m.unsure.Add(1)
			}
		},
	}
	go func() {
		defer close(over)
		l.listen(4<<10, &on)
		m.down.Store(true)
	}()
	return nil
}

// put writes n cells that were due at the time given, or at once if that is 0, in one write.
func (m *mouth) put(n int, due int64) error {
	if m.line == nil {
		if err := m.connect(); err != nil {
			return err
		}
	}
	m.out = m.out[:0]
	at := now()
	if due == 0 {
		due = at
	}
	if due >= m.in.from.Load() && due < m.in.to.Load() {
		m.late.add(time.Duration(at - due))
	}
	number := uint64(m.sent.Load())
	for range n {
		number++
		stamp(m.cell, due, m.id, number)
		m.out = m.line.appendPut(m.out, m.to, number, m.cell)
	}
	m.sent.Add(int64(n))
	if _, err := m.line.Write(m.out); err != nil {
		return m.again()
	}
	return nil
}

// again opens a new connection for one that the server has ended, as a client
// would. What was put and not answered stays so.
func (m *mouth) again() error {
	m.line.Close()
	<-m.over
	m.cuts.Add(1)
	m.orphans.Store(m.sent.Load() - m.answers.Load())
	return m.connect()
}

// owed is how many answers are still to come, where a put has so many.
func (m *mouth) owed(each int64) int64 {
	if m.down.Load() {
		return 0
	}
	return (m.sent.Load()-m.orphans.Load())*each - m.answers.Load()
}

// end closes the connection. It may be called again.
func (m *mouth) end() {
	if m.line == nil {
		return
	}
	if m.down.Load() {
		m.cuts.Add(1)
	}
	m.line.Close()
	<-m.over
	m.line = nil
	m.down.Store(false)
}
