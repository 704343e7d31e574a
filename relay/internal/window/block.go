package window

import "github.com/tacet-chat/tacet/internal/wire"

const perBlock = 16 // entries

// block is a run of entries. Those below first are wiped, those from n on are
// none: empty, or below stale what is left of a block that had to make room.
type block struct {
	next     *block
	base     Position // of its first entry
	first, n int
	stale    int
	tag      [perBlock]uint64 // together, so that looking for one touches few cache lines
	at       [perBlock]int64
	entry    [perBlock]Entry
}

// add appends an entry, taking the oldest block when there may be no more.
func (s *shard) add(now int64, tag uint64, e *Entry) {
	b := s.tail
	if b == nil || b.n == perBlock {
		if b = s.fresh(); s.tail == nil {
			s.head = b
		} else {
			s.tail.next = b
		}
		s.tail = b
		b.base = s.next
		s.blocks++
	}
	b.tag[b.n], b.at[b.n], b.entry[b.n] = tag, now, *e
	b.n++
	s.next++
}

// fresh returns a block without entries that is not in the list. On a busy
// relay that is the oldest one, as it was: the next entries overwrite what lies
// there, and wiping it first cost 8 % of all the work of the live path.
func (s *shard) fresh() *block {
	if s.blocks < s.most {
		return new(block)
	}
	b := s.unlink()
	s.lost, s.lostAt = true, max(s.lostAt, b.at[b.n-1])
	b.next, b.first, b.n, b.stale = nil, 0, 0, b.n
	return b
}

// unlink takes the oldest block out of the list.
func (s *shard) unlink() *block {
	b := s.head
	if s.head = b.next; s.head == nil {
		s.tail = nil
	}
	s.blocks--
	return b
}

// drop takes the oldest block out of the list, wiped.
func (s *shard) drop() { *s.unlink() = block{} }

// sweep wipes what was put at oldest or before, and what was not overwritten
// since it had to make room: only the last block has any, since others are full.
func (s *shard) sweep(oldest int64) {
	if s.refused <= oldest {
		s.marks = nil
	}
	if b := s.tail; b != nil {
		for ; b.stale > b.n; b.stale-- {
			i := b.stale - 1
			b.tag[i], b.at[i], b.entry[i] = 0, 0, Entry{}
		}
	}
	for b := s.head; b != nil; b = s.head {
		for b.first < b.n && b.at[b.first] <= oldest {
			b.tag[b.first], b.at[b.first], b.entry[b.first] = 0, 0, Entry{}
			b.first++
		}
		if b.first < b.n {
			return
		}
		s.drop()
	}
}

// read is Window.Read for what was put after oldest.
func (s *shard) read(dst []Entry, oldest int64, tag uint64, a *wire.Address, from Position) (n int, next Position) {
	for b := s.head; b != nil; b = b.next {
		if b.base+Position(b.n) <= from {
			continue
		}
		for i := b.first; i < b.n; i++ {
			if b.tag[i] != tag || b.base+Position(i) < from || b.at[i] <= oldest || wire.Address(b.entry[i][:]) != *a {
				continue
			}
			if n == len(dst) {
				return n, b.base + Position(i)
			}
			dst[n] = b.entry[i]
			n++
		}
	}
	return n, s.next
}
