package mls

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"
)

// Lineage is what the clones of one group share in a process: which generations of its
// own ratchets this member has spoken, by epoch. Two clones never seal under the same
// key, not even if they came to an epoch on their own, by processing the same commit.
//
// States of one group that are read back side by side are read with one Lineage. Each
// state holds the counters of its whole lineage as they were when it was written;
// reading takes the higher ones. It is safe for use by several goroutines.
type Lineage struct {
	mu      sync.Mutex
	entries map[epochID]*spoken
	live    map[uint64]int // clones that can advance, by their epoch
}

// NewLineage is a lineage of a group that is in no process yet.
func NewLineage() *Lineage {
	return &Lineage{entries: map[epochID]*spoken{}, live: map[uint64]int{}}
}

// epochID names an epoch of one branch, as a certain member.
type epochID struct {
	epoch uint64
	hash  [32]byte
}

// spoken counts the generations of an epoch. It belongs to its lineage's mutex.
type spoken struct {
	id      epochID
	next    [ratchetKinds]uint32
	holders int
}

// enter takes a hold of the counters of an epoch.
func (l *Lineage) enter(id epochID, advances bool) *spoken {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.entry(id)
	l.hold(s, advances)
	return s
}

func (l *Lineage) entry(id epochID) *spoken {
	s := l.entries[id]
	if s == nil {
		s = &spoken{id: id}
		l.entries[id] = s
	}
	return s
}

func (l *Lineage) hold(s *spoken, advances bool) {
	s.holders++
	if advances {
		l.live[s.id.epoch]++
	}
}

// share takes another hold of counters that are held.
func (l *Lineage) share(s *spoken, advances bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold(s, advances)
}

// leave gives a hold back. Counters that nobody holds stay as long as there is a clone
// of an earlier epoch: it may yet process the commit that leads there.
func (l *Lineage) leave(s *spoken, advances bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.holders--
	if advances {
		if l.live[s.id.epoch]--; l.live[s.id.epoch] == 0 {
			delete(l.live, s.id.epoch)
		}
	}
	l.prune()
}

func (l *Lineage) prune() {
	first := uint64(math.MaxUint64)
	for epoch := range l.live {
		first = min(first, epoch)
	}
	for id, s := range l.entries {
		if s.holders == 0 && (first >= id.epoch || s.next == [ratchetKinds]uint32{}) {
			delete(l.entries, id)
		}
	}
}

// entriesNow are the counters as they are.
func (l *Lineage) entriesNow() (list []spoken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.entries {
		list = append(list, spoken{id: s.id, next: s.next})
	}
	return list
}

// next takes a generation that no clone has spoken, at least that one. It fails with
// ErrArgument if there is none left.
func (l *Lineage) next(s *spoken, kind ratchetKind, least uint32) (uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := max(s.next[kind], least)
	if g == math.MaxUint32 {
		return 0, fail(ErrArgument, "9.1", "the generations of this epoch are used up")
	}
	s.next[kind] = g + 1
	return g, nil
}

// append writes the counters that are not zero, in order.
func (l *Lineage) append(b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*spoken
	for _, s := range l.entries {
		if s.next != [ratchetKinds]uint32{} {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *spoken) int { return a.id.compare(b.id) })
	return appendList(b, list, func(b []byte, s *spoken) []byte {
		b = append(appendU64(b, s.id.epoch), s.id.hash[:]...)
		return appendU32(appendU32(b, s.next[handshakeRatchet]), s.next[applicationRatchet])
	})
}

func (a epochID) compare(b epochID) int {
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), bytes.Compare(a.hash[:], b.hash[:]))
}

// readSpoken reads what append wrote.
func readSpoken(r *reader) []spoken {
	entries := list(r, func(r *reader) spoken {
		s := spoken{id: epochID{epoch: r.u64()}}
		copy(s.id.hash[:], r.take(len(s.id.hash)))
		s.next = [ratchetKinds]uint32{r.u32(), r.u32()}
		return s
	})
	for i, s := range entries {
		if s.next == [ratchetKinds]uint32{} || i > 0 && entries[i-1].id.compare(s.id) >= 0 {
			r.fail = true
		}
	}
	return entries
}

// merge takes the higher counters. The caller holds an entry of its own already, so
// that prune, which leave calls, decides what is still needed.
func (l *Lineage) merge(entries []spoken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		s := l.entry(e.id)
		for kind := range s.next {
			s.next[kind] = max(s.next[kind], e.next[kind])
		}
	}
}
