package ws

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// masked is a client's frame, written apart from the code under test: first
// byte, length as it stands on the line, key, payload byte by byte.
func masked(first byte, length string, key uint32, payload []byte) []byte {
	l, err := hex.DecodeString(length)
	if err != nil {
		panic(err)
	}
	l[0] |= 0x80
	b := append([]byte{first}, l...)
	b = binary.LittleEndian.AppendUint32(b, key)
	k := b[len(b)-4:]
	for i, v := range payload {
		b = append(b, v^k[i%4])
	}
	return b
}

// TestConformance goes through RFC 6455, Sections 5.1 to 5.5, row by row.
func TestConformance(t *testing.T) {
	const max = 70_000
	for _, c := range []struct {
		name   string
		frame  string // hex; a dot stands for the masking key 01020304
		op     Op
		length int
		code   Code
	}{
		{"5.2 binary, empty", "82 80 .", Binary, 0, 0},
		{"5.2 binary, 1", "82 81 .", Binary, 1, 0},
		{"5.2 binary, 125", "82 fd .", Binary, 125, 0},
		{"5.2 binary, 126", "82 fe 007e .", Binary, 126, 0},
		{"5.2 binary, 65535", "82 fe ffff .", Binary, 65535, 0},
		{"5.2 binary, 65536", "82 ff 0000000000010000 .", Binary, 65536, 0},
		{"5.2 binary, at the bound", "82 ff 0000000000011170 .", Binary, max, 0},
		{"5.2 binary, over the bound", "82 ff 0000000000011171 .", 0, 0, TooBig},
		{"5.2 length of 62 bits", "82 ff 3fffffffffffffff .", 0, 0, TooBig},
		{"5.2 length with the top bit", "82 ff 8000000000000000 .", 0, 0, Protocol},
		{"5.2 length 125 in two bytes", "82 fe 007d .", 0, 0, Protocol},
		{"5.2 length 0 in two bytes", "82 fe 0000 .", 0, 0, Protocol},
		{"5.2 length 65535 in eight bytes", "82 ff 000000000000ffff .", 0, 0, Protocol},
		{"5.1 not masked", "82 01 00", 0, 0, Protocol},
		{"5.1 text not masked", "81 01 00", 0, 0, Protocol},
		{"5.1 first fragment not masked", "02 01 00", 0, 0, Protocol},
		{"5.1 ping not masked", "89 00", 0, 0, Protocol},
		{"5.2 reserved bit 1", "c2 80 .", 0, 0, Protocol},
		{"5.2 reserved bit 2", "a2 80 .", 0, 0, Protocol},
		{"5.2 reserved bit 3", "92 80 .", 0, 0, Protocol},
		{"7692 compressed", "c1 80 .", 0, 0, Protocol},
		{"5.2 opcode 3", "83 80 .", 0, 0, Protocol},
		{"5.2 opcode 7", "87 80 .", 0, 0, Protocol},
		{"5.2 opcode 11", "8b 80 .", 0, 0, Protocol},
		{"5.2 opcode 15", "8f 80 .", 0, 0, Protocol},
		{"5.4 first fragment", "02 80 .", 0, 0, Unsupported},
		{"5.4 middle fragment of nothing", "00 80 .", 0, 0, Protocol},
		{"5.4 last fragment of nothing", "80 80 .", 0, 0, Protocol},
		{"5.6 text", "81 80 .", 0, 0, Unsupported},
		{"5.5.1 close", "88 82 .", Close, 2, 0},
		{"5.5.2 ping", "89 fd .", Ping, 125, 0},
		{"5.5.3 pong", "8a 80 .", Pong, 0, 0},
		{"5.5 ping of 126", "89 fe 007e .", 0, 0, Protocol},
		{"5.5 close of 65536", "88 ff 0000000000010000 .", 0, 0, Protocol},
		{"5.5 fragmented ping", "09 80 .", 0, 0, Protocol},
		{"5.5 fragmented close", "08 80 .", 0, 0, Protocol},
	} {
		b, err := hex.DecodeString(strings.NewReplacer(" ", "", ".", "01020304").Replace(c.frame))
		if err != nil {
			t.Fatal(err)
		}
		h, code := ParseHeader(b, max)
		if code != c.code || h.Op != c.op || h.Length != c.length {
			t.Errorf("%s: got opcode %d, length %d, code %d, want %d, %d, %d", c.name, h.Op, h.Length, code, c.op, c.length, c.code)
		}
		if code == 0 && (h.Size != len(b) || h.Key != 0x04030201) {
			t.Errorf("%s: got size %d, key %08x, want %d, 04030201", c.name, h.Size, h.Key, len(b))
		}
		for n := range b { // a part of a header is never taken for a whole one
			if h, _ := ParseHeader(b[:n], max); h.Size != 0 {
				t.Errorf("%s: got a whole header from %d of %d bytes", c.name, n, len(b))
			}
		}
	}
}

func TestMaskTakesWhatAPeerPutOn(t *testing.T) {
	for n := range 200 {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i*7 + n)
		}
		b := masked(0x82, "00", 0xa1b2c3d4, p)[6:]
		if Mask(b, 0xa1b2c3d4); !bytes.Equal(b, p) {
			t.Fatalf("%d bytes: got other bytes back", n)
		}
	}
}

func TestHeadersOfTheServer(t *testing.T) {
	for n, want := range map[int]string{
		0: "8200", 125: "827d", 126: "827e007e", 65535: "827effff", 65536: "827f0000000000010000",
	} {
		if got := hex.EncodeToString(AppendHeader(nil, Binary, n)); got != want {
			t.Errorf("%d bytes: got header %s, want %s", n, got, want)
		}
	}
	if got := hex.EncodeToString(AppendClose(nil, GoingAway)); got != "880203e9" {
		t.Errorf("got close frame %s, want 880203e9", got)
	}
}

func TestCloseIsAnsweredInKind(t *testing.T) {
	for _, c := range []struct {
		payload string // hex
		want    Code
	}{
		{"", Normal}, {"03", Protocol},
		{"03e8", 1000}, {"03e9", 1001}, {"03eb", 1003}, {"03ef", 1007}, {"03f6", 1014}, {"0bb8", 3000}, {"1387", 4999},
		{"0000", Protocol}, {"03e7", Protocol}, {"03ec", Protocol}, {"03ed", Protocol}, {"03ee", Protocol}, {"03f7", Protocol},
		{"0bb7", Protocol}, {"1388", Protocol}, {"ffff", Protocol},
		{"03e8c3a4", 1000}, {"03e8c3", Inconsistent}, {"03e8ff", Inconsistent},
	} {
		p, err := hex.DecodeString(c.payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := Reply(p); got != c.want {
			t.Errorf("close %q: got %d, want %d", c.payload, got, c.want)
		}
	}
}

// FuzzFrame holds the parser to an encoder: what is accepted is a frame that a
// client writes in exactly these bytes.
func FuzzFrame(f *testing.F) {
	f.Add(masked(0x82, "7e0528", 0x01020304, make([]byte, 1320)))
	f.Add(masked(0x89, "05", 0xffffffff, []byte("hello")))
	f.Add(masked(0x82, "7f0000000000014a00", 7, make([]byte, 84480)))
	f.Add([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4})
	f.Add([]byte{0x88, 0x80, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		const max = 84_480
		h, code := ParseHeader(b, max)
		if code != 0 || h.Size == 0 {
			if h != (Header{}) {
				t.Fatalf("got header %+v beside code %d", h, code)
			}
			return
		}
		if h.Length > max || h.Op >= Close && h.Length > MaxControl || h.Size > MaxHeader {
			t.Fatalf("got header %+v, over a bound", h)
		}
		again := AppendHeader(nil, h.Op, h.Length)
		again[1] |= 0x80
		again = binary.LittleEndian.AppendUint32(again, h.Key)
		if !bytes.Equal(again, b[:h.Size]) {
			t.Fatalf("got header from %x, which is written %x", b[:h.Size], again)
		}
		if h.Op == Close && len(b) >= h.Size+h.Length {
			p := bytes.Clone(b[h.Size:][:h.Length])
			Mask(p, h.Key)
			if r := Reply(p); Reply(binary.BigEndian.AppendUint16(nil, uint16(r))) != r {
				t.Fatalf("close %x is answered with %d, which no close frame may have", p, r)
			}
		}
	})
}
