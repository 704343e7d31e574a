package sealed

import (
	"bytes"
	"math/bits"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/wire"
)

// notRandom says what in a set of strings of one size does not look like fair
// random bytes, or nothing. All bounds are six standard deviations or more, so
// that random strings pass; the controls below show what is caught.
func notRandom(list [][]byte) (faults []string) {
	var byValue [256]float64
	ones, total := 0, 0
	for _, b := range list {
		for _, v := range b {
			byValue[v]++
			ones += bits.OnesCount8(v)
		}
		total += len(b)
	}
	// Chi-square over byte values: 255 degrees of freedom, mean 255, σ 22.6.
	chi, expect := 0.0, float64(total)/256
	for _, n := range byValue {
		chi += (n - expect) * (n - expect) / expect
	}
	if chi < 255-6*22.6 || chi > 255+6*22.6 {
		faults = append(faults, "chi-square")
	}
	// Monobit: σ of the number of ones is √(8n)/2.
	if d := float64(ones - 4*total); d*d > 36*2*float64(total) {
		faults = append(faults, "monobit")
	}
	// Each position on its own: no value more than 12 times its share, which
	// sees one constant byte that the sums above drown.
	for i := range list[0] {
		var at [256]int
		for _, b := range list {
			at[b[i]]++
		}
		for _, n := range at {
			if n > 12*len(list)/256 {
				return append(faults, "position")
			}
		}
	}
	return faults
}

// pairOf makes the body of a pair message with a text of n bytes in its block.
// The session's encryption is left out on purpose: the seal alone must hide it.
func pairOf(t testing.TB, n int) *wire.Body {
	t.Helper()
	block := pad.Block{Parts: 1, Content: bytes.Repeat([]byte("a"), n)}
	payload, err := block.Append(make([]byte, wire.PairSize-wire.BlockSize))
	if err != nil {
		t.Fatal(err)
	}
	return pair(payload)
}

func TestCellsLookAlikeWhateverTheyCarry(t *testing.T) {
	const n = 512
	_, hello, err := Fragments(wire.KindHello, make([]byte, wire.HelloSize))
	if err != nil {
		t.Fatal(err)
	}
	_, group, err := Fragments(wire.KindGroup, make([]byte, 5000))
	if err != nil {
		t.Fatal(err)
	}
	r := stream("look alike")
	var all [][]byte
	for name, b := range map[string]*wire.Body{
		"text of 0": pairOf(t, 0), "text of 900": pairOf(t, 900), "hello": &hello[1], "group": &group[4],
		"drop": {Kind: wire.KindDrop, Count: 1},
	} {
		body, err := b.Append(nil)
		if err != nil || len(body) != wire.BodySize {
			t.Fatalf("%s: got a body of %d bytes, %v, want %d", name, len(body), err, wire.BodySize)
		}
		var cells [][]byte
		for range n {
			// One key and address for all: only the nonce differs, the worst case.
			c, err := SealCell(sealKey(t, count(1, 32)), wire.Address(count(2, 32)), b, r)
			if err != nil {
				t.Fatal(err)
			}
			if len(c) != 1280 {
				t.Fatalf("%s: got a cell of %d bytes, want 1280", name, len(c))
			}
			cells = append(cells, c[:])
		}
		if faults := notRandom(cells); faults != nil {
			t.Errorf("%s: cells are not random by %v", name, faults)
		}
		all = append(all, cells...)
	}
	if faults := notRandom(all); faults != nil {
		t.Errorf("all together are not random by %v", faults)
	}
}

func TestSizesDoNotDependOnTheText(t *testing.T) {
	sizes := func(n int) (s [3]int) {
		b := pairOf(t, n)
		body, err := b.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := SealCell(sealKey(t, count(1, 32)), wire.Address{}, b, stream("sizes"))
		if err != nil {
			t.Fatal(err)
		}
		return [3]int{len(b.Payload), len(body), len(c[:])}
	}
	want := [3]int{1198, 1240, 1280}
	for _, n := range []int{0, 1, 900, pad.MaxContent} {
		if got := sizes(n); got != want {
			t.Errorf("text of %d bytes: got %v, want %v", n, got, want)
		}
	}
}

// The controls: what the check must catch.
func TestCheckOfRandomnessCatches(t *testing.T) {
	const n = 512
	r := stream("controls")
	make512 := func(spoil func(b []byte)) (list [][]byte) {
		for range n {
			b := random(t, r, wire.CellSize)
			spoil(b)
			list = append(list, b)
		}
		return list
	}
	plain, err := pairOf(t, 900).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		spoil      func(b []byte)
	}{
		{"random bytes", "", func([]byte) {}},
		{"one constant byte", "position", func(b []byte) { b[24] = 1 }},
		{"a counter in two bytes", "position", func(b []byte) { b[100], b[101] = 0, b[101]&3 }},
		{"a body in the clear", "chi-square", func(b []byte) { copy(b[24:], plain) }},
		{"a body under a short key stream", "position", func(b []byte) { copy(b[24:], bytes.Repeat(count(0, 8), 100)) }},
		{"the top bit clear in one byte of ten", "monobit", func(b []byte) {
			for i := 0; i < len(b); i += 10 {
				b[i] &= 0x7f
			}
		}},
		{"too even", "chi-square", func(b []byte) {
			for i := range b {
				b[i] = byte(i)
			}
		}},
	} {
		got := strings.Join(notRandom(make512(c.spoil)), ", ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
