package inbox

import (
	"sync"

	"github.com/tacet-chat/tacet/client/transport"
)

// Bounds of the seen-set, in nonces of 24 bytes.
//
// spec: delivery.md#duplicates
const (
	seenPerRoute = 4096    // and period
	seenInAll    = 131_072 // some 10 MB
	seenPeriods  = 2       // beyond the one a cell came in
)

type nonce [24]byte

func nonceOf(c *transport.Cell) nonce { return nonce(c[:24]) }

// seen remembers the nonces of cells, per route and period: the address and the
// seal of a cell belong to one period, so it cannot come again in another.
type seen struct {
	mu    sync.Mutex // guards the rest
	total int
	sets  map[seenKey]*ring
}

type seenKey struct {
	route  int64
	period uint64
}

// ring is a set that forgets its oldest member.
type ring struct {
	members map[nonce]bool
	order   []nonce // oldest first
}

func newSeen() *seen { return &seen{sets: map[seenKey]*ring{}} }

func (s *seen) has(route int64, period uint64, n nonce) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.sets[seenKey{route, period}]
	return r != nil && r.members[n]
}

func (s *seen) add(route int64, period uint64, n nonce) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := seenKey{route, period}
	r := s.sets[k]
	if r == nil {
		r = &ring{members: map[nonce]bool{}}
		s.sets[k] = r
	}
	if r.members[n] {
		return
	}
	full := s.total == seenInAll
	switch {
	case len(r.order) == seenPerRoute, full && len(r.order) > 0:
		delete(r.members, r.order[0])
		r.order = r.order[1:]
	case full:
		return // the ratchet knows it again
	default:
		s.total++
	}
	r.members[n] = true
	r.order = append(r.order, n)
}

// forget drops periods that are over for seenPeriods.
func (s *seen) forget(t uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, r := range s.sets {
		if k.period+seenPeriods < t {
			s.total -= len(r.order)
			delete(s.sets, k)
		}
	}
}
