package braid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// states are one of every kind: all phases, and some with keys set aside.
func states(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	r := stream("states")
	take := func(s *State) {
		name := fmt.Sprint("phase ", s.phase)
		if s.lags() {
			name = "lagging"
		}
		if out[name] == nil {
			out[name] = s.Append(nil)
		}
	}
	for _, keepAck := range []int{1, 3} { // with losses, a key comes before ct1 is acknowledged
		a, b := pair(t, "states")
		for n := range 400 {
			take(a)
			p := send(t, a, r)
			take(a)
			receives(t, b, start, p)
			take(b)
			p = send(t, b, r)
			take(b)
			if n%keepAck == 0 {
				receives(t, a, start, p)
			}
		}
		if keepAck == 3 {
			out["skipped"] = a.Append(nil)
		}
	}
	if len(out) != len(contents)+2 {
		t.Fatalf("got %d states, want %d", len(out), len(contents)+2)
	}
	return out
}

func TestStatesAreReadBack(t *testing.T) {
	for name, b := range states(t) {
		s, err := Parse(b)
		if err != nil || !bytes.Equal(s.Append([]byte("x"))[1:], b) {
			t.Errorf("%s: got %v, want the same state", name, err)
		}
		if len(b) > MaxState-MaxSkipped*keySize && name != "skipped" {
			t.Errorf("%s: got %d bytes, want at most %d", name, len(b), MaxState-MaxSkipped*keySize)
		}
	}
}

func TestMalformedStatesAreRefused(t *testing.T) {
	good := states(t)
	edit := func(name string, at int, to ...byte) []byte {
		b := bytes.Clone(good[name])
		if at < 0 {
			at += len(b)
		}
		copy(b[at:], to)
		return b
	}
	const keys = 4 + 4 + 8 + 32
	some := good["skipped"]
	n := func() int { s, _ := Parse(some); return s.Skipped() }()
	first := len(some) - n*keys
	swapped := bytes.Clone(some)
	copy(swapped[first:], some[first+keys:first+2*keys])
	copy(swapped[first+keys:], some[first:first+keys])
	cases := map[string][]byte{
		"nothing":                            nil,
		"the head alone":                     some[:stateHead+1],
		"another version":                    edit("phase 1", 0, 2),
		"an unknown phase":                   edit("phase 1", 1, 11),
		"unknown waiting":                    edit("phase 1", 2, 3),
		"another phase":                      edit("phase 1", 1, 2),
		"chains that wait before a key":      edit("phase 1", 2, 2),
		"chains that do not wait":            edit("phase 7", 2, 0),
		"one chain that waits for a sender":  edit("phase 7", 2, 1),
		"epoch 0":                            edit("phase 1", 3, 0, 0, 0, 0),
		"an epoch beyond the last":           edit("phase 1", 3, 0x80, 0, 0, 1),
		"messages before the first epoch":    edit("phase 1", 15, 0, 0, 0, 1),
		"a pair beyond the last":             edit("phase 1", -4, 0x20, 0),
		"as many chunks as it takes":         withChunks(t, good["phase 5"], 3),
		"times out of order":                 edit("skipped", first+8, 0xff),
		"keys out of order":                  swapped,
		"more keys than there are":           edit("skipped", first-2, 0xff, 0xff),
		"fewer keys than there are":          edit("skipped", first-2, 0, 1),
		"a key of an epoch to come":          edit("skipped", -keys, 0x7f),
		"a key of a message yet to come":     edit("skipped", -keys+4, 0x7f),
		"a lagging end that has chunks":      withChunks(t, good["lagging"], 1),
		"a lagging end without its chain":    edit("lagging", 2, 0),
		"a lagging end in the first epoch":   edit("lagging", 3, 0, 0, 0, 1),
		"a chunk beyond the last":            edit("phase 9", -2-34, 0x40, 0),
		"a chunk twice":                      edit("phase 9", -2-34, chunkBefore(good["phase 9"])...),
		"more skipped keys than are allowed": append(edit("phase 1", -2, 0x07, 0xd1), make([]byte, (MaxSkipped+1)*keys)...),
	}
	for name, b := range good {
		cases[name+", cut"] = b[:len(b)-1]
		cases[name+", one byte more"] = append(bytes.Clone(b), 0)
	}
	if _, err := Parse(withChunks(t, good["phase 5"], 2)); err != nil {
		t.Errorf("two chunks: got %v, want no error", err)
	}
	for name, b := range cases {
		if _, err := Parse(b); !errors.Is(err, ErrState) {
			t.Errorf("%s: got %v, want %v", name, err, ErrState)
		}
	}
}

// withChunks returns a state that has n chunks of a header.
func withChunks(t *testing.T, b []byte, n int) []byte {
	t.Helper()
	s, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	s.in.have = nil
	for x := range uint16(n) {
		s.in.have = append(s.in.have, piece{x: x})
	}
	return s.Append(nil)
}

// chunkBefore returns the number of the last chunk but one of a state without
// keys set aside.
func chunkBefore(b []byte) []byte { return b[len(b)-2-2*34:][:2] }

// TestLargestStateIsRead fills every bound.
func TestLargestStateIsRead(t *testing.T) {
	s, err := Parse(states(t)["phase 7"])
	if err != nil {
		t.Fatal(err)
	}
	for x := uint16(100); len(s.in.have) < ekSize/chunkSize-1; x++ {
		s.in.add(x, chunk{})
	}
	s.epoch += 4
	*s.skipped.list = nil
	for n := range uint32(MaxSkipped) {
		*s.skipped.list = append(*s.skipped.list, skipped{epoch: 1 + n/1000, n: n})
	}
	if got := len(s.Append(nil)); got != MaxState {
		t.Errorf("got %d bytes, want %d", got, MaxState)
	}
	again(t, s)
}

func FuzzParse(f *testing.F) {
	for _, b := range states(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
		r := stream("fuzz")
		c := s.Clone()
		for range 3 {
			field, _, err := c.Send(r)
			if err != nil {
				break
			}
			again(t, c)
			s.Clone().Receive(start, field[:])
		}
		s.Wipe()
	})
}

// FuzzReceive feeds any fields, two in a row, to states of every phase. The
// first is of an epoch and number that fit, so that its chunks are looked at.
func FuzzReceive(f *testing.F) {
	all := states(f)
	names := make([]string, 0, len(all))
	for i := range contents {
		names = append(names, fmt.Sprint("phase ", i))
	}
	names = append(names, "skipped", "lagging")
	for i := range names {
		for k := kindNone; k <= kindCt2; k++ {
			m := message{kind: k, pair: uint16(i)}
			b := m.bytes()
			f.Add(byte(i), uint32(i), b[12:], b[:])
		}
	}
	f.Fuzz(func(t *testing.T, which byte, ahead uint32, tail, second []byte) {
		name := names[int(which)%len(names)]
		s, err := Parse(all[name])
		if err != nil {
			t.Fatal(err)
		}
		field := make([]byte, Size)
		binary.BigEndian.PutUint32(field, s.receiving()+ahead>>31)
		binary.BigEndian.PutUint32(field[4:], s.chains.received+ahead&0x3ff)
		copy(field[12:], tail)
		for _, b := range [][]byte{field, second} {
			k, err := s.Receive(start, b)
			if (err == nil) != k.Valid() || err != nil && err != ErrField {
				t.Fatalf("%s: got %v", name, err)
			}
			if err == nil { // whoever does this has the message keys: it is committed
				s = again(t, s)
			}
		}
		if s.Skipped() > MaxSkipped || strings.HasPrefix(name, "phase") && s.Skipped() > MaxSkipped {
			t.Fatalf("%s: got %d keys", name, s.Skipped())
		}
		if _, _, err := s.Send(stream("fuzz")); err != nil {
			t.Fatal(err)
		}
	})
}
