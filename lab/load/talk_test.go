package load

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

// talks are one connection of each sort.
func talks() map[string]talk {
	return map[string]talk{
		"tacet": &tacetTalk{echo: true}, "nats": &natsTalk{echo: true}, "nats sender": &natsTalk{inbox: "i"},
		"mqtt": mqttTalk{}, "centrifugo": &centrifugoTalk{},
	}
}

// serverFrame is a frame as a server sends it.
func serverFrame(op byte, p []byte) []byte {
	return append(append([]byte{0x80 | op, 126}, byte(len(p)>>8), byte(len(p))), p...)
}

// FuzzParse reads anything as each protocol: it must not panic, must not keep
// more than there is, and must say the same however the bytes are cut.
func FuzzParse(f *testing.F) {
	cell := make([]byte, wire.CellSize)
	stamp(cell, 1, 2, 3)
	deliver := append(append([]byte{byte(wire.FrameDeliver)}, make([]byte, wire.EchoNonceSize+wire.AddressSize)...), cell...)
	f.Add(append(serverFrame(opBinary, deliver), serverFrame(opPing, make([]byte, wire.SecondSize))...))
	f.Add(serverFrame(opBinary, make([]byte, 3*wire.AnswerSize)))
	f.Add([]byte("MSG c.x 1 i.y 24\r\n012345678901234567890123\r\nPING\r\nMSG c.x 1 2\r\nhi\r\n"))
	f.Add([]byte("MSG i 1 8\r\n12345678\r\n-ERR 'no'\r\n"))
	f.Add(append(appendText(appendLength([]byte{mqttPublish}, 5+24), "c.x"), make([]byte, 24)...))
	pub := appendField(nil, fieldPush, appendField(nil, fieldPub, appendField(nil, fieldData, cell)))
	f.Add(append(binary.AppendUvarint([]byte{0}, uint64(len(pub))), pub...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, whole := range talks() {
			var cells, answers [2]int
			on := func(i int) *events {
				return &events{cell: func([]byte) { cells[i]++ }, answer: func(uint64, uint16, bool) { answers[i]++ }}
			}
			rest, err := whole.parse(b, on(0))
			if !bytes.HasSuffix(b, rest) {
				t.Fatalf("%s: what is left is not the end", name)
			}
			owed := whole.owed(nil)
			if err != nil {
				continue
			}
			cut := talks()[name]
			at := len(b) / 2
			left, err := cut.parse(b[:at], on(1))
			if err != nil {
				t.Fatalf("%s: a part is wrong of what is right: %v", name, err)
			}
			left, err = cut.parse(append(bytes.Clone(left), b[at:]...), on(1))
			if err != nil || !bytes.Equal(left, rest) || cells[0] != cells[1] || answers[0] != answers[1] {
				t.Fatalf("%s: in two parts: %v, %d left, want %d; %v cells, %v answers", name, err, len(left), len(rest), cells, answers)
			}
			if got := cut.owed(nil); len(got) != len(owed) {
				t.Fatalf("%s: owes %d bytes in two parts, %d in one", name, len(got), len(owed))
			}
		}
	})
}

// TestPutsAreHeard gives what clients put to what receivers read, with what a
// server does in between.
func TestPutsAreHeard(t *testing.T) {
	box := newMailbox()
	cell := make([]byte, wire.CellSize)
	stamp(cell, 11, 22, 33)
	served := map[string]func(put []byte) []byte{
		"nats": func(put []byte) []byte {
			return append([]byte("MSG "+box.name+" 7 "), put[len("PUB ")+len(box.name)+1:]...)
		},
		"mqtt": func(put []byte) []byte { return put },
		"centrifugo": func(put []byte) []byte {
			_, n := binary.Uvarint(put)
			body, _, err := field(put[n:], fieldPublish)
			if err != nil {
				t.Fatal(err)
			}
			data, _, _ := field(body, 2)
			pub := appendField(nil, fieldPush, appendField(nil, fieldPub, appendField(nil, fieldData, data)))
			return append(binary.AppendUvarint(nil, uint64(len(pub))), pub...)
		},
	}
	for name, serve := range served {
		out := talks()[name].appendPut(nil, box, 5, cell)
		heard := 0
		on := &events{cell: func(got []byte) {
			heard++
			if due, sender, number := stamped(got); due != 11 || sender != 22 || number != 33 || len(got) != wire.CellSize {
				t.Errorf("%s: got a cell of %d bytes, due %d, by %d, number %d", name, len(got), due, sender, number)
			}
		}}
		if rest, err := talks()[name].parse(serve(out), on); err != nil || len(rest) > 0 || heard != 1 {
			t.Errorf("%s: got %d cells, %d bytes left, %v", name, heard, len(rest), err)
		}
	}
}

// TestFrameIsMasked reads a frame of ours as a server would.
func TestFrameIsMasked(t *testing.T) {
	for _, size := range []int{0, 1, 7, 125, 126, 1320, 65535, 65536} {
		p := bytes.Repeat([]byte{0xab, 0xcd, 3}, size/3+1)[:size]
		b := appendFrame(nil, opBinary, p)
		head := 2
		switch b[1] & 127 {
		case 126:
			head += 2
		case 127:
			head += 8
		}
		if b[0] != 0x82 || b[1]&0x80 == 0 {
			t.Fatalf("%d bytes: got header % x", size, b[:2])
		}
		mask, got := b[head:head+4], bytes.Clone(b[head+4:])
		for i := range got {
			got[i] ^= mask[i%4]
		}
		if !bytes.Equal(got, p) {
			t.Errorf("%d bytes: got %d others", size, len(got))
		}
		if _, _, _, err := parseFrame(b); err == nil && size > 0 {
			t.Errorf("%d bytes: a masked frame is taken from a server", size)
		}
	}
}
