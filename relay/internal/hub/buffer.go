package hub

import "sync"

// Sizes of pooled buffers in bytes. A connection has none while it is idle.
const (
	putBuffer    = 64 << 10          // one read of a put connection, about 49 puts; and a piece of a queue, as many cells
	wordBuffer   = 8 << 10           // one read of a watch connection
	cipherBuffer = putBuffer + 1<<10 // a piece of a queue, encrypted
)

// buffer is a pooled piece of memory; len(b) is what has been used of it.
type buffer struct{ b []byte }

// pool hands out buffers of one size.
type pool struct {
	size int
	free sync.Pool
}

// get returns an empty buffer with room for size bytes.
func (p *pool) get() *buffer {
	if x, ok := p.free.Get().(*buffer); ok {
		return x
	}
	return &buffer{make([]byte, 0, p.size)}
}

// put takes a buffer back, wiped: cells must not outlive their minute here.
func (p *pool) put(x *buffer) {
	clear(x.b)
	if cap(x.b) == p.size {
		x.b = x.b[:0]
		p.free.Put(x)
	}
}
