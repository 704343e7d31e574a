// Package ws is as much of WebSocket (RFC 6455) as a relay needs: the server's
// side of the opening handshake, and single frames as bytes in, bytes out.
//
// It refuses what Tacet does not use: fragments, text, extensions, and frames
// from a client that are not masked. It has no connection, no buffer and no
// time of its own; whoever reads and writes keeps those.
package ws

import "encoding/binary"

// Op is the opcode of a frame (RFC 6455, Section 5.2).
type Op byte

// Opcodes.
const (
	Continuation Op = 0x0
	Text         Op = 0x1
	Binary       Op = 0x2
	Close        Op = 0x8
	Ping         Op = 0x9
	Pong         Op = 0xa
)

// Sizes in bytes.
const (
	MaxHeader  = 2 + 8 + 4 // the largest header: fixed 2 ‖ length 8 ‖ masking key 4
	MaxControl = 125       // the largest payload of a control frame
)

const final = 0x80 // FIN without reserved bits, the first byte beside the opcode

// Header is what stands before the payload of a client's frame.
type Header struct {
	Op     Op
	Key    uint32 // masking key, little-endian
	Size   int    // of the header itself, 6 to MaxHeader
	Length int    // of the payload
}

// ParseHeader reads the header of a client's frame from the start of b. Size 0
// says that b does not hold all of it yet. A code other than 0 says that the
// frame is not acceptable and is what to close the connection with; max bounds
// the payload.
func ParseHeader(b []byte, max int) (Header, Code) {
	if len(b) < 2 {
		return Header{}, 0
	}
	h := Header{Op: Op(b[0] & 0x0f), Length: int(b[1] & 0x7f)}
	if code := checkStart(b[0], b[1], h.Op); code != 0 {
		return Header{}, code
	}
	at := 2
	switch h.Length { // RFC 6455, Section 5.2: the least number of bytes
	case 126:
		if len(b) < at+2 {
			return Header{}, 0
		}
		if h.Length, at = int(binary.BigEndian.Uint16(b[at:])), at+2; h.Length < 126 {
			return Header{}, Protocol
		}
	case 127:
		if len(b) < at+8 {
			return Header{}, 0
		}
		n := binary.BigEndian.Uint64(b[at:])
		if n < 1<<16 || n >= 1<<63 {
			return Header{}, Protocol
		}
		h.Length, at = int(min(n, 1<<31-1)), at+8
	}
	if h.Length > max {
		return Header{}, TooBig
	}
	if len(b) < at+4 {
		return Header{}, 0
	}
	h.Key, h.Size = binary.LittleEndian.Uint32(b[at:]), at+4
	return h, 0
}

// checkStart judges the first two bytes.
func checkStart(first, second byte, op Op) Code {
	switch op {
	case Continuation, Text, Binary, Close, Ping, Pong:
	default:
		return Protocol
	}
	control := op >= Close
	switch {
	case first&0x70 != 0: // reserved bits: no extension was agreed on
		return Protocol
	case control && (first&final == 0 || second&0x7f > MaxControl):
		return Protocol
	case op == Continuation: // of nothing: a first fragment ends the connection
		return Protocol
	case second&0x80 == 0: // RFC 6455, Section 5.1
		return Protocol
	case first&final == 0, op == Text: // fine with RFC 6455, not with us
		return Unsupported
	}
	return 0
}

// AppendHeader appends the header of an unmasked, final frame with n bytes of
// payload: what a server sends. n is not negative.
func AppendHeader(b []byte, op Op, n int) []byte {
	switch {
	case n < 126:
		return append(b, final|byte(op), byte(n))
	case n < 1<<16:
		return append(b, final|byte(op), 126, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, final|byte(op), 127), uint64(n))
}

// Mask applies a masking key to b in place; once more takes it off again.
func Mask(b []byte, key uint32) {
	le := binary.LittleEndian
	k := uint64(key)<<32 | uint64(key)
	for len(b) >= 32 {
		le.PutUint64(b, le.Uint64(b)^k)
		le.PutUint64(b[8:], le.Uint64(b[8:])^k)
		le.PutUint64(b[16:], le.Uint64(b[16:])^k)
		le.PutUint64(b[24:], le.Uint64(b[24:])^k)
		b = b[32:]
	}
	for len(b) >= 4 {
		le.PutUint32(b, le.Uint32(b)^key)
		b = b[4:]
	}
	for i := range b {
		b[i] ^= byte(key >> (8 * i))
	}
}
