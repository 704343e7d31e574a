package hub

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// first makes a client's frame whose first byte is given: FIN, reserved bits and
// opcode as a test wants them.
func first(b byte, payload []byte) []byte {
	f := mask(ws.Binary, payload)
	f[0] = b
	return f
}

// closing makes a close frame.
func closing(code uint16, reason string) []byte {
	return mask(ws.Close, append(binary.BigEndian.AppendUint16(nil, code), reason...))
}

// exchange is what a client says on a put connection and all that it hears.
type exchange struct {
	name  string
	says  []byte
	hears string // frames in order; "open" says that the connection goes on
	why   string
}

const (
	malformed = "the frame is fine and was heard whole; its content is not k × 1,320 bytes, k from 1 to 64"
	noText    = "RFC 6455, but nothing here is text"
	noParts   = "RFC 6455, but nothing here is said in parts: refused at the first, so whatever comes between is not heard"
	reserved  = "5.2: no extension was agreed on"
	opcode    = "5.2: an unknown opcode"
	control   = "5.5: control frames are whole and have at most 125 bytes"
	inKind    = "5.5.1: answered with the same code, in full after what was queued"
	badCode   = "7.4: this code must not be in a frame"
)

// exchanges goes through RFC 6455 in the order of its customary test suite:
// 1 sizes, 2 pings, 3 reserved bits, 4 opcodes, 5 fragments, 6 text, 7 closing;
// then what that suite does not ask.
func exchanges() (all []exchange) {
	add := func(name string, says []byte, hears, why string) {
		all = append(all, exchange{name, says, hears, why})
	}
	put := func(k int) []byte { return mask(ws.Binary, make([]byte, k*wire.PutSize)) }
	hello := []byte("Hello")

	for _, n := range []int{0, 1, 125, 126, 127, 128, 65535, 65536} {
		add(fmt.Sprint("1.1 text of ", n), mask(ws.Text, make([]byte, n)), "close 1003", noText)
		add(fmt.Sprint("1.2 binary of ", n), mask(ws.Binary, make([]byte, n)), "close 1008", malformed)
	}
	add("1.2 one put", put(1), "open", "answered after 1.5 s, which this test does not wait for")
	add("1.2 64 puts", put(64), "open", "the largest message: 84,480 bytes")
	add("1.2 64 puts and a byte", mask(ws.Binary, make([]byte, 64*wire.PutSize+1)), "close 1009", "judged by its header: none of it is kept")

	for _, n := range []int{0, 5, 125} {
		add(fmt.Sprint("2.1 ping of ", n), mask(ws.Ping, bytes.Repeat([]byte{0xfe}, n)), fmt.Sprintf("pong %x, open", bytes.Repeat([]byte{0xfe}, n)), "5.5.3: the same bytes come back")
	}
	add("2.5 ping of 126", mask(ws.Ping, make([]byte, 126)), "close 1002", control)
	add("2.7 pong nobody asked for", mask(ws.Pong, nil), "open", "5.5.3: not answered")
	add("2.8 pong with bytes", mask(ws.Pong, hello), "open", "the same")
	add("2.9 pong, then ping", slices.Concat(mask(ws.Pong, hello), mask(ws.Ping, []byte{1})), "pong 01, open", "the same")
	add("2.10 ten pings", slices.Concat(mask(ws.Ping, []byte{1}), mask(ws.Ping, []byte{2}), mask(ws.Ping, []byte{3}), mask(ws.Ping, []byte{4}), mask(ws.Ping, []byte{5}),
		mask(ws.Ping, []byte{6}), mask(ws.Ping, []byte{7}), mask(ws.Ping, []byte{8}), mask(ws.Ping, []byte{9}), mask(ws.Ping, []byte{10})),
		"pong 01, pong 02, pong 03, pong 04, pong 05, pong 06, pong 07, pong 08, pong 09, pong 0a, open", "every one, in order")

	for bits := byte(0x10); bits < 0x80; bits += 0x10 {
		for _, op := range []ws.Op{ws.Text, ws.Binary, ws.Close, ws.Ping, ws.Pong} {
			add(fmt.Sprintf("3 reserved bits %x, opcode %d", bits>>4, op), first(0x80|bits|byte(op), hello), "close 1002", reserved)
		}
	}
	add("3 reserved bit after a put and a ping", slices.Concat(put(1), mask(ws.Ping, hello), first(0xc2, hello)), "pong 48656c6c6f, close 1002", "what came before counts")

	for _, op := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		add(fmt.Sprint("4 opcode ", op), first(0x80|op, nil), "close 1002", opcode)
		add(fmt.Sprint("4 opcode ", op, " with bytes, after a ping"), slices.Concat(mask(ws.Ping, nil), first(0x80|op, hello), mask(ws.Ping, nil)), "pong , close 1002", opcode+"; what follows is not heard")
	}

	part := func(b byte, n int) []byte { return first(b, make([]byte, n)) }
	add("5.1 ping in two parts", slices.Concat(part(0x09, 1), part(0x80, 1)), "close 1002", control)
	add("5.2 pong in two parts", slices.Concat(part(0x0a, 1), part(0x80, 1)), "close 1002", control)
	add("5.2 close in two parts", slices.Concat(part(0x08, 1), part(0x80, 1)), "close 1002", control)
	add("5.3 text in two parts", slices.Concat(part(0x01, 2), part(0x80, 2)), "close 1003", noParts)
	add("5.3 a put in two parts", slices.Concat(part(0x02, 700), part(0x80, 620)), "close 1003", noParts)
	add("5.6 ping between parts", slices.Concat(part(0x02, 700), mask(ws.Ping, hello), part(0x80, 620)), "close 1003", noParts)
	add("5.9 last part of nothing", part(0x80, 5), "close 1002", "5.4: nothing has begun")
	add("5.12 middle part of nothing", part(0x00, 5), "close 1002", "5.4: nothing has begun")
	add("5.18 text begins inside text", slices.Concat(part(0x01, 5), part(0x81, 5)), "close 1003", noParts)
	add("5 a first part of no bytes", part(0x02, 0), "close 1003", noParts)

	add("6.1 text, UTF-8", mask(ws.Text, []byte("κόσμε")), "close 1003", noText)
	add("6.3 text, not UTF-8", mask(ws.Text, []byte{0xce, 0xba, 0xe1, 0xbd, 0xb9, 0xed, 0xa0, 0x80}), "close 1003", noText+"; so it is not looked into either")

	add("7.1 put, then close", slices.Concat(put(1), closing(1000, "")), "close 1000", inKind)
	add("7.1 two close frames", slices.Concat(closing(1000, ""), closing(1001, "")), "close 1000", "one answer, to the first")
	add("7.1 ping after close", slices.Concat(closing(1000, ""), mask(ws.Ping, hello)), "close 1000", "5.5.1: nothing is heard after it")
	add("7.1 breach after close", slices.Concat(closing(1000, ""), first(0xff, hello)), "close 1000", "the same")
	add("7.1 part, then close", slices.Concat(part(0x02, 5), closing(1000, "")), "close 1003", noParts)
	add("7.3 close without a code", mask(ws.Close, nil), "close 1000", "5.5.1: a code is ours to choose")
	add("7.3 close with half a code", mask(ws.Close, []byte{3}), "close 1002", "5.5.1: two bytes or none")
	add("7.3 close with a reason", closing(1000, "Hello"), "close 1000", inKind)
	add("7.3 reason of 123", closing(1000, strings.Repeat("x", 123)), "close 1000", inKind)
	add("7.3 reason of 124", closing(1000, strings.Repeat("x", 124)), "close 1002", control)
	add("7.5 reason not UTF-8", closing(1000, "\xce\xba\xe1\xbd\xb9\xed\xa0\x80"), "close 1007", "5.5.1: a reason is UTF-8")
	for _, code := range []uint16{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999} {
		add(fmt.Sprint("7.7 code ", code), closing(code, ""), fmt.Sprint("close ", code), inKind)
	}
	for _, code := range []uint16{0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535} {
		add(fmt.Sprint("7.9 code ", code), closing(code, ""), "close 1002", badCode)
		add(fmt.Sprint("7.9 code ", code, " with a reason"), closing(code, "reason"), "close 1002", badCode)
	}

	const unmasked = "5.1: a client masks everything, also with zeros"
	for _, op := range []ws.Op{ws.Text, ws.Binary, ws.Close, ws.Ping, ws.Pong} {
		add(fmt.Sprint("8 not masked, opcode ", op), ws.AppendHeader(nil, op, 0), "close 1002", unmasked)
	}
	add("8 masked with zeros", []byte{0x89, 0x81, 0, 0, 0, 0, 7}, "pong 07, open", "5.3: any key is one")
	const shortest = "5.2: the shortest way to write a length is the only one"
	add("8 length 125 in two bytes", slices.Concat([]byte{0x82, 0xfe, 0, 125, 0, 0, 0, 0}, make([]byte, 125)), "close 1002", shortest)
	add("8 length 65535 in eight bytes", []byte{0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}, "close 1002", shortest)
	add("8 length of 64 bits", []byte{0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "close 1002", "5.2: the top bit is zero")
	add("8 length of 63 bits", []byte{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, "close 1009", "judged by its header")
	add("8 close length in two bytes", []byte{0x88, 0xfe, 0, 2, 0, 0, 0, 0, 3, 232}, "close 1002", control)
	return all
}

// TestConformance holds a connection to exchanges, said in one piece and byte by
// byte, on sockets that we poll, under TLS and on those that can only be waited for.
func TestConformance(t *testing.T) {
	for _, way := range []string{"tcp", "tls", "waiting"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := real(t, way, Config{})
			for _, x := range exchanges() {
				for pieces, size := range map[string]int{"whole": len(x.says), "byte by byte": 1} {
					if size == 1 && len(x.says) > 3000 {
						size = 1009 // large ones in pieces that fit nowhere
					}
					if got := w.hears(x.says, size); got != x.hears {
						t.Errorf("%s, %s: got %q, want %q (%s)", x.name, pieces, got, x.hears, x.why)
					}
				}
			}
		})
	}
}

// hears opens a put connection, says something in pieces of a size, and notes all
// that comes until the relay ends it or has answered one more ping.
func (w *world) hears(says []byte, size int) string {
	w.t.Helper()
	p := w.open("/v1/put")
	defer p.nc.Close()
	go func() {
		for b := says; len(b) > 0; b = b[min(size, len(b)):] {
			if _, err := p.nc.Write(b[:min(size, len(b))]); err != nil {
				return // it has ended already
			}
		}
		p.write(ws.Ping, []byte("still there?"))
	}()
	var heard []string
	for f := range p.frames {
		switch {
		case f.op == ws.Pong && string(f.p) == "still there?":
			return strings.Join(append(heard, "open"), ", ")
		case f.op == ws.Pong:
			heard = append(heard, fmt.Sprintf("pong %x", f.p))
		case f.op == ws.Close && len(f.p) == 2:
			heard = append(heard, fmt.Sprint("close ", binary.BigEndian.Uint16(f.p)))
		case f.op == ws.Binary && len(f.p)%wire.AnswerSize == 0: // an answer, on a slow day
		default:
			heard = append(heard, fmt.Sprintf("opcode %d %x", f.op, f.p))
		}
	}
	return strings.Join(heard, ", ")
}
