package window

import "time"

// marks say when entries for an address were last refused, in a fixed number of
// bytes however many addresses there are. Each address has a place in each row,
// shared with others, and is as old as the oldest of its places: so what was
// refused is never forgotten within Span, and an address that nothing was
// refused for is seldom taken for one. 18 hours on, marks can seem new again.
type marks [markRows][]uint16 // 1 + seconds, of which only the last 16 bits count; 0: never

const (
	markRows = 4
	markPart = 16 // a shard's marks are at most such a part of its entries
	second   = int64(time.Second)
	round    = 1<<16 - 1 // seconds until a mark looks the same again
)

// newMarks returns marks for a shard of so many blocks. The length of a row is a
// power of two.
func newMarks(blocks int) *marks {
	n := 1
	for markRows*2*2*n <= blocks*blockBytes/markPart {
		n *= 2
	}
	m := new(marks)
	for i := range m {
		m[i] = make([]uint16, n)
	}
	return m
}

// place returns the place of an address in a row.
func (m *marks) place(row int, tag uint64) *uint16 {
	at := uint32(tag) + uint32(row)*(uint32(tag>>40)|1)
	return &m[row][at&uint32(len(m[row])-1)]
}

// set notes that something was refused at a time.
func (m *marks) set(tag uint64, now int64) {
	for i := range m {
		*m.place(i, tag) = 1 + uint16(now/second%round)
	}
}

// since returns for how long nothing was refused, a second less at worst, and
// whether anything ever was. now is not before the last mark.
func (m *marks) since(tag uint64, now int64) (time.Duration, bool) {
	longest := int64(0)
	for i := range m {
		at := *m.place(i, tag)
		if at == 0 {
			return 0, false
		}
		longest = max(longest, (now/second%round-int64(at-1)+round)%round)
	}
	return time.Duration(max(0, (longest-1)*second+now%second)), true
}
