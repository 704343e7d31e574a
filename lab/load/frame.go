package load

import (
	"bufio"
	"bytes"
	"crypto/sha1" // RFC 6455 asks for it; nothing secret depends on it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
)

// Opcodes of RFC 6455, Section 5.2.
const (
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

var errFrame = errors.New("the server sent a frame that is none")

// appendFrame appends a whole frame as a client sends it, masked. Clients of the
// load are to cost little, so this is not a library's.
func appendFrame(b []byte, op byte, payload []byte) []byte {
	b = append(b, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	default:
		b = append(b, 0x80|127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	mask := rand.Uint32()
	b = binary.LittleEndian.AppendUint32(b, mask)
	at := len(b)
	b = append(b, payload...)
	p, wide := b[at:], uint64(mask)|uint64(mask)<<32
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^wide)
	}
	for i := range p {
		p[i] ^= byte(wide >> (8 * i))
	}
	return b
}

// parseFrame reads a frame as a server sends it. size is 0 while b does not hold
// all of it; payload aliases b.
func parseFrame(b []byte) (op byte, payload []byte, size int, err error) {
	if len(b) < 2 {
		return 0, nil, 0, nil
	}
	head, n := 2, uint64(b[1])
	if b[0]&0xf0 != 0x80 || n > 127 { // whole, no extensions, not masked
		return 0, nil, 0, errFrame
	}
	switch n {
	case 126:
		head = 4
		if len(b) < head {
			return 0, nil, 0, nil
		}
		n = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		head = 10
		if len(b) < head {
			return 0, nil, 0, nil
		}
		n = binary.BigEndian.Uint64(b[2:])
	}
	if n > maxRead {
		return 0, nil, 0, errFrame
	}
	if size = head + int(n); len(b) < size {
		return 0, nil, 0, nil
	}
	return b[0] & 15, b[head:size], size, nil
}

// upgrade makes a WebSocket of c. What came together with the answer is early.
func upgrade(c net.Conn, path string, header http.Header) (early []byte, err error) {
	nonce := base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, rand.Uint64()), rand.Uint64()))
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n", path, c.RemoteAddr(), nonce)
	header.Write(&b)
	b.WriteString("\r\n")
	if _, err := c.Write(b.Bytes()); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, 512)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, fmt.Errorf("opening a WebSocket: %w", err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("opening a WebSocket: the server answered %s", res.Status)
	}
	sum := sha1.Sum([]byte(nonce + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if res.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, errors.New("opening a WebSocket: the answer belongs to another question")
	}
	early, err = r.Peek(r.Buffered())
	return bytes.Clone(early), err
}

// framed is a byte stream in WebSocket messages, for protocols that do not care
// where a message ends.
type framed struct {
	net.Conn
	in   []byte // not yet parsed
	left []byte // parsed, not yet read; aliases in
	rest int    // where what follows left begins in in

	mu  sync.Mutex // guards out
	out []byte
}

func newFramed(c net.Conn, early []byte) *framed {
	return &framed{Conn: c, in: append(make([]byte, 0, max(4096, len(early))), early...)}
}

func (f *framed) Read(p []byte) (int, error) {
	for len(f.left) == 0 {
		f.in = append(f.in[:0], f.in[f.rest:]...)
		f.rest = 0
		op, payload, size, err := parseFrame(f.in)
		if err != nil {
			return 0, err
		}
		if size == 0 {
			if len(f.in) == cap(f.in) {
				f.in = append(make([]byte, 0, 2*cap(f.in)), f.in...)
			}
			n, err := f.Conn.Read(f.in[len(f.in):cap(f.in)])
			if f.in = f.in[:len(f.in)+n]; n == 0 && err != nil {
				return 0, err
			}
			continue
		}
		f.rest = size
		switch op {
		case opBinary:
			f.left = payload
		case opPing:
			if _, err := f.Conn.Write(appendFrame(nil, opPong, payload)); err != nil {
				return 0, err
			}
		case opClose:
			return 0, io.EOF
		}
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	return n, nil
}

func (f *framed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = appendFrame(f.out[:0], opBinary, p)
	if _, err := f.Conn.Write(f.out); err != nil {
		return 0, err
	}
	return len(p), nil
}
