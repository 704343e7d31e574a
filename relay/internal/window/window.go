// Package window is the last minute: the cells that went through the relay,
// kept in memory so that a device which was away for a moment can have those of
// its own addresses again.
//
// It is bounded twice. No cell is older than Span: what has aged is overwritten
// with zeros, not merely forgotten. And all of it fits a number of bytes, which
// a busy relay fills sooner than Span: so whoever reads is told how far back
// the window reaches. What was offered and found no room is noted for its
// address alone, in a sixteenth of those bytes beside them. It does not know who put a cell or who reads it, and it
// keeps nothing on disk.
//
// Spec: docs/spec/relay-api.md#replay.
package window

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Span is how long a cell is kept.
const Span = wire.WindowSpan

// EntrySize is the size of one entry in bytes: address 32 ‖ cell 1,280.
const EntrySize = wire.AddressSize + wire.CellSize

// Entry is an address and a cell for it, as they follow each other in a put.
type Entry [EntrySize]byte

const (
	maxShards = 64
	minBlocks = 8 // per shard, before there are more shards

	// blockBytes is what a block of entries takes from the bound: the size class
	// of the allocator that holds it. A test checks it.
	blockBytes = 21_760
)

// Window is the last minute. Its methods may be called from any goroutine. They
// take the time as nanoseconds of one clock that never goes back.
type Window struct {
	shards []shard
	seed   maphash.Seed // secret: nobody picks addresses that push out those of another
	start  int64
}

// Position is a place in the order of the cells of one address, for Read.
type Position uint64

// New returns a window of at most max bytes that begins now, and of a sixteenth
// more from when something offered found no room until Span after it last did. One with less than
// the size of a block, 21,760 bytes, keeps nothing.
func New(max int, now int64) *Window {
	blocks := max / blockBytes
	w := &Window{shards: make([]shard, min(maxShards, blocks/minBlocks+1)), seed: maphash.MakeSeed(), start: now}
	for i := range w.shards {
		w.shards[i].most = blocks / len(w.shards)
	}
	return w
}

func (w *Window) find(address []byte) (*shard, uint64) {
	tag := maphash.Bytes(w.seed, address)
	return &w.shards[tag>>32%uint64(len(w.shards))], tag
}

// Add keeps a copy of an entry.
func (w *Window) Add(now int64, e *Entry) {
	s, tag := w.find(e[:wire.AddressSize])
	if s.most == 0 {
		return
	}
	s.mu.Lock()
	s.add(now, tag, e)
	s.mu.Unlock()
}

// Offer is Add for an entry that is to push out no other: where there is no room
// it is not kept, and Reach says so for its address, and for few others.
func (w *Window) Offer(now int64, e *Entry) {
	s, tag := w.find(e[:wire.AddressSize])
	if s.most == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks == s.most && s.tail.n == perBlock {
		if s.marks == nil {
			s.marks = newMarks(s.most)
		}
		s.refused = max(s.refused, now)
		s.marks.set(tag, s.refused)
		return
	}
	s.add(now, tag, e)
}

// Read copies entries of an address that are younger than Span into dst, oldest
// first, starting at from: 0 for all there are. It returns how many, and where
// to go on. Less than len(dst) means that there are no more for now.
func (w *Window) Read(dst []Entry, now int64, a *wire.Address, from Position) (int, Position) {
	s, tag := w.find(a[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(dst, now-int64(Span), tag, a, from)
}

// Reach returns how far back the window has everything that was put to an
// address: to its own beginning, to the last entry that had to make room, to the
// last that was offered for the address and not kept, or Span.
func (w *Window) Reach(now int64, a *wire.Address) time.Duration {
	s, tag := w.find(a[:])
	if s.most == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reach := min(Span, time.Duration(now-w.start))
	if s.lost {
		reach = min(reach, time.Duration(now-s.lostAt))
	}
	if s.marks != nil {
		if since, ever := s.marks.since(tag, max(now, s.refused)); ever {
			reach = min(reach, since)
		}
	}
	return max(0, reach)
}

// Lost says that entries put until now may be missing.
func (w *Window) Lost(now int64) {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		s.lost, s.lostAt = true, max(s.lostAt, now)
		s.mu.Unlock()
	}
}

// Sweep wipes what is older than Span. Called once a second, it keeps no entry
// longer than Span and a second.
func (w *Window) Sweep(now int64) {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		s.sweep(now - int64(Span))
		s.mu.Unlock()
	}
}

// Clear wipes everything.
func (w *Window) Clear() {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		for s.head != nil {
			s.drop()
		}
		s.marks = nil
		s.mu.Unlock()
	}
}

// shard has the entries of some addresses in the order in which they came, as a
// list of blocks. mu guards it all but most.
type shard struct {
	most int // blocks that it may have

	mu         sync.Mutex
	head, tail *block
	blocks     int
	next       Position // of the next entry
	lost       bool     // an entry had to make room
	lostAt     int64    // when the youngest of those was put
	marks      *marks   // of what was offered and not kept; nil: nothing within Span
	refused    int64    // when that was last

	_ [64]byte // shards do not share cache lines
}
