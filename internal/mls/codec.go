package mls

import (
	"bytes"
	"encoding/binary"
)

// MaxMessage is the largest encoding that is read or written, 16 MiB: a Welcome
// with the tree of some 10,000 members. Every allocation is bounded by the length
// of what is read.
const MaxMessage = 1 << 24

// reader reads the presentation language of RFC 9420, Section 2.1. After a failure
// it stays failed and returns zeros. What it returns shares memory with its input.
type reader struct {
	b    []byte
	fail bool
	why  error // the kind, if it is not ErrMalformed
}

func (r *reader) take(n int) []byte {
	if r.fail || n > len(r.b) {
		r.fail, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) u8() uint8 {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if v := r.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if v := r.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if v := r.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

// length reads the header of a vector (RFC 9420, Section 2.1.2): the shortest form
// is the only one.
func (r *reader) length() int {
	n, size := parseLength(r.b)
	if size == 0 {
		r.fail = true
		return 0
	}
	r.take(size)
	return n
}

// parseLength reads the length of a vector in 1, 2 or 4 bytes; size is 0 for what
// is none.
func parseLength(b []byte) (n, size int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch b[0] >> 6 {
	case 0:
		return int(b[0]), 1
	case 1:
		if len(b) < 2 {
			return 0, 0
		}
		if n = int(binary.BigEndian.Uint16(b) & 0x3fff); n < 1<<6 {
			return 0, 0
		}
		return n, 2
	case 2:
		if len(b) < 4 {
			return 0, 0
		}
		if n = int(binary.BigEndian.Uint32(b) & 0x3fffffff); n < 1<<14 {
			return 0, 0
		}
		return n, 4
	}
	return 0, 0 // the prefix 11 is not used
}

// vec reads opaque<V>.
func (r *reader) vec() []byte { return r.take(r.length()) }

// present reads the head of an optional<T>.
func (r *reader) present() bool {
	switch r.u8() {
	case 0:
		return false
	case 1:
		return !r.fail
	}
	r.fail = true
	return false
}

// unsupported fails for a type that this program does not have.
func (r *reader) unsupported() {
	if !r.fail {
		r.fail, r.why = true, ErrUnsupported
	}
}

// err is what reading came to; nothing may be left.
func (r *reader) err(what string) error {
	switch {
	case r.fail && r.why != nil:
		return fail(r.why, "", what)
	case r.fail, len(r.b) != 0:
		return fail(ErrMalformed, "", what)
	}
	return nil
}

// list reads T x<V>. Every element takes a byte at least, so the list is bounded by
// its encoding.
func list[T any](r *reader, read func(*reader) T) []T { return listOf(r, MaxMessage, read) }

// listOf reads T x<V> of at most that many elements: for those whose smallest encoding
// is so much smaller than they are in memory that little would become a lot.
func listOf[T any](r *reader, most int, read func(*reader) T) []T {
	sub := reader{b: r.vec(), fail: r.fail}
	var out []T
	for len(sub.b) > 0 && !sub.fail {
		if len(out) == most {
			sub.fail = true
			break
		}
		out = append(out, read(&sub))
	}
	if sub.fail {
		r.fail = true
		if r.why == nil {
			r.why = sub.why
		}
		return nil
	}
	return out
}

// parse reads one whole T from b, of which it keeps a copy.
func parse[T any](b []byte, what string, read func(*reader) T) (T, error) {
	var zero T
	if len(b) > MaxMessage {
		return zero, fail(ErrMalformed, "", what)
	}
	r := reader{b: bytes.Clone(b)}
	v := read(&r)
	if err := r.err(what); err != nil {
		return zero, err
	}
	return v, nil
}

func appendU16(b []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(b, v) }
func appendU32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }
func appendU64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// appendLength appends the header of a vector of n < 2^30 bytes.
func appendLength(b []byte, n int) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return binary.BigEndian.AppendUint16(b, 1<<14|uint16(n))
	case n < 1<<30:
		return binary.BigEndian.AppendUint32(b, 1<<31|uint32(n))
	}
	panic("mls: vector is too long")
}

// appendVec appends opaque<V>.
func appendVec(b, v []byte) []byte { return append(appendLength(b, len(v)), v...) }

// appendList appends T x<V>.
func appendList[T any](b []byte, list []T, put func(b []byte, v T) []byte) []byte {
	at := len(b)
	for _, v := range list {
		b = put(b, v)
	}
	n := len(b) - at
	var head [4]byte
	h := appendLength(head[:0], n)
	b = append(b, h...)
	copy(b[at+len(h):], b[at:at+n])
	copy(b[at:], h)
	return b
}

func appendPresent(b []byte, present bool) []byte {
	if present {
		return append(b, 1)
	}
	return append(b, 0)
}

// equal compares what is public.
func equal(a, b []byte) bool { return bytes.Equal(a, b) }
