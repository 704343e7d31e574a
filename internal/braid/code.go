package braid

import (
	"slices"
	"sync"
)

// The erasure code: systematic Reed–Solomon over chunks. The i-th of the N chunks
// of a text is the value at point i of a polynomial of degree below N; every
// later chunk is its value at a later point. Any N chunks give the text. What is
// coded is public, so nothing here needs constant time.
//
// spec: braid.md#erasure-code

// encoder hands out the chunks of a text, two by two, for ever.
type encoder struct {
	data []byte // shared by clones, never changed; nil if nothing is sent
	next uint16 // pair, below 2^13
}

// take returns the next pair of chunks.
func (e *encoder) take() (c [2]chunk) {
	for i := range c {
		c[i] = encode(e.data, 2*e.next+uint16(i))
	}
	e.next = (e.next + 1) & maxPair
	return c
}

// encode returns chunk x of a text.
func encode(data []byte, x uint16) chunk {
	n := len(data) / chunkSize
	if int(x) < n {
		return chunk(data[int(x)*chunkSize:])
	}
	points := firstPoints(n)
	var v lanes
	for i, f := range factors(points, firstWeights(n), x) {
		c := chunk(data[i*chunkSize:])
		v.addScaled(c.lanes(), f)
	}
	return v.chunk()
}

// decoder collects chunks of a text of size bytes.
type decoder struct {
	size int     // 0 if nothing is collected
	have []piece // by rising x, fewer than it takes; shared by clones, never changed
}

// piece is a chunk and the point that it stands at.
type piece struct {
	x uint16
	c chunk
}

// add takes in a chunk and returns the text once there are enough of them. A
// point that is there already is ignored, whatever stands at it.
func (d *decoder) add(x uint16, c chunk) (data []byte) {
	i, found := slices.BinarySearchFunc(d.have, x, func(p piece, x uint16) int { return int(p.x) - int(x) })
	if found {
		return nil
	}
	have := make([]piece, 0, len(d.have)+1)
	have = append(append(append(have, d.have[:i]...), piece{x, c}), d.have[i:]...)
	if len(have)*chunkSize < d.size {
		d.have = have
		return nil
	}
	return decode(have)
}

// decode returns the text that as many different chunks as it has are of.
func decode(have []piece) []byte {
	points := make([]uint16, len(have))
	for i := range have {
		points[i] = have[i].x
	}
	data := make([]byte, len(have)*chunkSize)
	var w []uint16
	for x := range have {
		c := chunk{}
		if i, found := slices.BinarySearch(points, uint16(x)); found {
			c = have[i].c
		} else {
			if w == nil {
				w = weights(points)
			}
			var v lanes
			for i, f := range factors(points, w, uint16(x)) {
				v.addScaled(have[i].c.lanes(), f)
			}
			c = v.chunk()
		}
		copy(data[x*chunkSize:], c[:])
	}
	return data
}

// weights returns 1/Π(p_i − p_k) over k ≠ i for each of the points: the part of
// Lagrange's factors that does not depend on where the polynomial is taken.
func weights(points []uint16) []uint16 {
	w := make([]uint16, len(points))
	for i, p := range points {
		f := uint16(1)
		for k, q := range points {
			if k != i {
				f = mul(f, p^q)
			}
		}
		w[i] = inverse(f)
	}
	return w
}

// factors returns, for each of the points, w_i·Π(x − p_k) over k ≠ i: what the
// value there counts for in the value at x.
func factors(points, w []uint16, x uint16) []uint16 {
	f := make([]uint16, len(points))
	before := uint16(1)
	for i, p := range points {
		f[i] = mul(w[i], before)
		before = mul(before, x^p)
	}
	after := uint16(1)
	for i := len(points) - 1; i >= 0; i-- {
		f[i] = mul(f[i], after)
		after = mul(after, x^points[i])
	}
	return f
}

// firstPoints returns the points 0 … n−1, at which a text itself stands.
func firstPoints(n int) []uint16 { return allPoints[:n:n] }

var allPoints = func() (p [ekSize / chunkSize]uint16) {
	for i := range p {
		p[i] = uint16(i)
	}
	return p
}()

// firstWeights returns the weights of the first n points. The four sizes that
// occur are computed once.
func firstWeights(n int) []uint16 {
	if f := knownWeights[n]; f != nil {
		return f()
	}
	return weights(firstPoints(n))
}

var knownWeights = [len(allPoints) + 1]func() []uint16{
	(headerSize + macSize) / chunkSize: onceWeights((headerSize + macSize) / chunkSize),
	ekSize / chunkSize:                 onceWeights(ekSize / chunkSize),
	ct1Size / chunkSize:                onceWeights(ct1Size / chunkSize),
	(ct2Size + macSize) / chunkSize:    onceWeights((ct2Size + macSize) / chunkSize),
}

func onceWeights(n int) func() []uint16 {
	return sync.OnceValue(func() []uint16 { return weights(firstPoints(n)) })
}
