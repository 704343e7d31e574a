package bus_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// wires is what carries messages in memory, as well or badly as it is told.
type wires struct {
	mu    sync.Mutex
	links []*memory
	cut   func(from, to int) bool // nil: nothing is
	twice bool                    // some messages come twice, and some late
	seen  func(to bus.ID, b []byte)
	lose  func(from, to int, b []byte) bool // nil: nothing is
}

// memory is the link of one node.
type memory struct {
	*wires
	n    int
	self bus.ID
	mail chan []byte
	runs bool
}

func (s *wires) link(n int) bus.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &memory{wires: s, n: n, mail: make(chan []byte, 1<<14)}
	s.links = append(s.links, m)
	return m
}

func (m *memory) Run(ctx context.Context, self bus.ID, receive func([]byte)) error {
	m.mu.Lock()
	m.self, m.runs = self, true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.runs = false
		m.mu.Unlock()
	}()
	var kept []byte
	for {
		select {
		case <-ctx.Done():
			return nil
		case b := <-m.mail:
			m.mu.Lock()
			twice := m.twice
			m.mu.Unlock()
			if twice {
				again := bytes.Clone(b)
				switch rand.IntN(8) {
				case 0:
					receive(bytes.Clone(b))
				case 1:
					if kept != nil {
						receive(kept)
					}
					kept = again
				}
			}
			receive(b)
		}
	}
}

func (m *memory) Send(to bus.ID, b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.runs {
		return
	}
	if m.seen != nil {
		m.seen(to, b)
	}
	for _, x := range m.links {
		if x == m || !x.runs || to != bus.All && to != x.self || m.cut != nil && m.cut(m.n, x.n) ||
			m.lose != nil && m.lose(m.n, x.n, b) {
			continue
		}
		select {
		case x.mail <- bytes.Clone(b):
		default:
		}
	}
}

func (m *memory) Up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.links {
		if x != m && x.runs {
			return m.runs
		}
	}
	return false
}

func (m *memory) Cut() bool { return false }

func (s *wires) set(cut func(from, to int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
}
