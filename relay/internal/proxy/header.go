package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// ErrHeader is returned for what is no header of the PROXY protocol.
var ErrHeader = errors.New("this is no PROXY header")

// Sizes in bytes.
const (
	maxV1  = 107 // a line with its end (section 2.1)
	minV1  = len("PROXY UNKNOWN\r\n")
	headV2 = 16
	maxV2  = 536 // after the head: addresses and extras; section 2.2 promises that 536 pass everywhere
)

// signature begins a header of version 2 (section 2.2).
const signature = "\r\n\r\n\x00\r\nQUIT\n"

// Header is what a proxy says about one connection.
type Header struct {
	// Client is whom the proxy speaks for. It is invalid where the proxy speaks
	// for itself (LOCAL, UNKNOWN) or for somebody without a network address.
	Client netip.AddrPort
	// Server is where that client connected to.
	Server netip.AddrPort
}

// AppendV2 appends h as a header of version 2 without extras.
func (h Header) AppendV2(b []byte) []byte {
	b = append(b, signature...)
	if !h.Client.IsValid() {
		return append(b, 0x20, 0x00, 0, 0) // LOCAL, nothing said
	}
	from, to := h.Client.Addr(), h.Server.Addr()
	family := byte(0x11) // TCP over IPv4
	if from.Is6() {
		family = 0x21
	}
	b = append(b, 0x21, family)
	b = binary.BigEndian.AppendUint16(b, uint16(2*from.BitLen()/8+4))
	b = append(append(b, from.AsSlice()...), to.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, h.Client.Port())
	return binary.BigEndian.AppendUint16(b, h.Server.Port())
}

// Read reads one header from r and not one byte more. Extras of version 2 are
// skipped. It asks for few bytes at a time: r should have a deadline.
func Read(r io.Reader) (Header, error) {
	var space [headV2 + maxV2]byte
	if _, err := io.ReadFull(r, space[:len(signature)]); err != nil {
		return Header{}, err
	}
	if string(space[:len(signature)]) == signature {
		if _, err := io.ReadFull(r, space[len(signature):headV2]); err != nil {
			return Header{}, err
		}
		n := int(binary.BigEndian.Uint16(space[headV2-2:]))
		if n > maxV2 {
			return Header{}, ErrHeader
		}
		if _, err := io.ReadFull(r, space[headV2:headV2+n]); err != nil {
			return Header{}, err
		}
		return ParseV2(space[:headV2+n])
	}
	if !bytes.HasPrefix(space[:], []byte("PROXY ")) {
		return Header{}, ErrHeader
	}
	for n := len(signature); n < maxV1; n++ {
		if _, err := io.ReadFull(r, space[n:n+1]); err != nil {
			return Header{}, err
		}
		if space[n] == '\n' {
			return ParseV1(space[:n+1])
		}
	}
	return Header{}, ErrHeader
}

// ParseV2 reads a whole header of version 2:
//
//	signature 12 ‖ version and command 1 ‖ family 1 ‖ length 2 ‖ addresses ‖ extras
func ParseV2(b []byte) (Header, error) {
	if len(b) < headV2 || string(b[:len(signature)]) != signature || int(binary.BigEndian.Uint16(b[14:])) != len(b)-headV2 {
		return Header{}, ErrHeader
	}
	rest := b[headV2:]
	switch b[12] {
	case 0x20: // LOCAL: the proxy's own connection, whatever follows
		return Header{}, nil
	case 0x21:
	default:
		return Header{}, ErrHeader
	}
	size := 0
	switch b[13] {
	case 0x00: // unspecified
		return Header{}, nil
	case 0x11: // TCP over IPv4
		size = 4
	case 0x21: // TCP over IPv6
		size = 16
	case 0x31: // a unix socket
		if len(rest) < 216 {
			return Header{}, ErrHeader
		}
		return Header{}, nil
	default: // datagrams, and what nobody has defined
		return Header{}, ErrHeader
	}
	if len(rest) < 2*size+4 {
		return Header{}, ErrHeader
	}
	from, _ := netip.AddrFromSlice(rest[:size])
	to, _ := netip.AddrFromSlice(rest[size : 2*size])
	ports := rest[2*size:]
	return Header{
		netip.AddrPortFrom(from, binary.BigEndian.Uint16(ports)),
		netip.AddrPortFrom(to, binary.BigEndian.Uint16(ports[2:])),
	}, nil
}

// ParseV1 reads a whole line of version 1 with its end:
//
//	PROXY TCP4|TCP6 client server port port CR LF, or PROXY UNKNOWN … CR LF
func ParseV1(b []byte) (Header, error) {
	line, ok := bytes.CutSuffix(b, []byte("\r\n"))
	if !ok || len(b) > maxV1 || len(b) < minV1 {
		return Header{}, ErrHeader
	}
	word := strings.Split(string(line), " ")
	if len(word) < 2 || word[0] != "PROXY" {
		return Header{}, ErrHeader
	}
	if word[1] == "UNKNOWN" { // what follows is to be ignored (section 2.1)
		return Header{}, nil
	}
	if len(word) != 6 || word[1] != "TCP4" && word[1] != "TCP6" {
		return Header{}, ErrHeader
	}
	from, ok1 := addressV1(word[2], word[1] == "TCP4")
	to, ok2 := addressV1(word[3], word[1] == "TCP4")
	fromPort, ok3 := portV1(word[4])
	toPort, ok4 := portV1(word[5])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return Header{}, ErrHeader
	}
	return Header{netip.AddrPortFrom(from, fromPort), netip.AddrPortFrom(to, toPort)}, nil
}

func addressV1(s string, four bool) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Is4() == four && a.Zone() == ""
}

// portV1 reads a port in decimal without leading zeros.
func portV1(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && strconv.FormatUint(n, 10) == s
}
