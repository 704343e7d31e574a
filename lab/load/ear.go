package load

import (
	"sync"
	"sync/atomic"
	"time"
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

// end closes the connection and waits for the goroutine.
func (e *ear) end() {
	e.line.Close()
	<-e.over
}

// mouth puts cells to one mailbox over one connection.
type mouth struct {
	line *line
	to   *mailbox
	id   uint32
	in   *span
	cell []byte
	out  []byte
	wake chan struct{} // something came to those who listen

	sent    atomic.Int64
	answers atomic.Int64
	told    atomic.Int64 // sum of delivered over all answers
	unsure  atomic.Int64 // answers that were not complete
	late    histogram    // how long after its time a cell was written; of the goroutine that sends
	over    chan struct{}

	heard func(id uint64, delivered uint16) // an answer; nil if nobody wants to know. Of the goroutine that hears.
}

// hear begins to count answers.
func (m *mouth) hear() {
	m.over = make(chan struct{})
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
		defer close(m.over)
		m.line.listen(4<<10, &on)
	}()
}

// put writes n cells that were due at the time given, 0 for now, in one write.
func (m *mouth) put(n int, due int64) error {
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
	_, err := m.line.Write(m.out)
	return err
}

func (m *mouth) answered() int64 { return m.answers.Load() }

func (m *mouth) end() {
	m.line.Close()
	<-m.over
}
