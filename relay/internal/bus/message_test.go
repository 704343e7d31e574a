package bus

import (
	"bytes"
	"context"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

var (
	node1 = ID{1, 2, 3, 4, 5, 6, 7, 8}
	node2 = ID{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}
)

// lines is how examples stand on the page: 32 bytes a line.
func lines(b []byte) string {
	var s strings.Builder
	for part := range slices.Chunk(b, 32) {
		s.WriteString(hex.EncodeToString(part) + "\n")
	}
	return s.String()
}

func exampleHello() hello {
	h := hello{number: 7, batches: 12, settled: true, holds: []ID{node2}}
	copy(h.public[:], bytes.Repeat([]byte{0x33}, 32))
	copy(h.digest[:], bytes.Repeat([]byte{0x44}, 8))
	return h
}

func exampleCounts() []byte {
	h := header{kind: kindCounts, from: node1, nonce: counted(5)}
	return h.seal(newAEAD(bytes.Repeat([]byte{0x22}, 32)), node2, count{batch: 9, index: 3, echoes: 2}.append(start(nil)))
}

func exampleOwner(t testing.TB) []byte {
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRealm(k)
	a := bytes.Repeat([]byte{0x55}, wire.AddressSize)
	id := r.ownerOf(a, node1, []ID{node2})
	b := append(r.derive(8, labelOwner, a), id[:]...)
	return append(b, r.Name()...)
}

func TestSpecExamples(t *testing.T) {
	h := exampleHello()
	for name, want := range map[string][]byte{"hello": h.append(nil), "counts": exampleCounts(), "owner": exampleOwner(t)} {
		if got := vectortest.Example(t, "bus.md", name); !bytes.Equal(got, want) {
			t.Errorf("example %s: got %x, want\n%s", name, got, lines(want))
		}
	}
}

// TestAMessageIsForOneReceiver: changed, cut, sent on to another or under
// another name or kind, it does not open.
func TestAMessageIsForOneReceiver(t *testing.T) {
	aead := newAEAD(bytes.Repeat([]byte{0x22}, 32))
	open := func(b []byte, to ID) error {
		h, err := parseHeader(b)
		if err == nil {
			_, err = h.open(aead, to, b)
		}
		return err
	}
	if err := open(exampleCounts(), node2); err != nil {
		t.Fatalf("opening: %v", err)
	}
	if open(exampleCounts(), node1) == nil || open(exampleCounts(), All) == nil {
		t.Error("it opens for another receiver")
	}
	whole := exampleCounts()
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		if open(b, node2) == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
		if open(bytes.Clone(whole[:i]), node2) == nil {
			t.Errorf("it opens cut to %d bytes", i)
		}
	}
}

func TestCountersAreCounters(t *testing.T) {
	h := header{nonce: counted(1<<40 + 3)}
	if got := h.counter(); got != 1<<40+3 {
		t.Errorf("got counter %d", got)
	}
	if h.nonce[11] = 1; h.counter() != 0 {
		t.Error("a nonce that is no counter counts")
	}
}

// FuzzHello: what parses is written again as it was.
func FuzzHello(f *testing.F) {
	h := exampleHello()
	f.Add(h.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHello(b)
		if err != nil {
			return
		}
		if got := h.append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}

// FuzzCounts: what parses is written again as it was.
func FuzzCounts(f *testing.F) {
	f.Add(count{batch: 9, index: 3, echoes: 2, lower: true}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := parseCounts(b)
		if err != nil {
			return
		}
		var got []byte
		for _, c := range all {
			got = c.append(got)
		}
		if !bytes.Equal(got, b) || len(all) > maxCounts {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}

// FuzzNumbered: items are whole and as many as allowed.
func FuzzNumbered(f *testing.F) {
	f.Add(make([]byte, 8+1+2*wire.AddressSize), uint8(1))
	f.Add(make([]byte, 8+window.EntrySize), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, head uint8) {
		head %= 9
		n, extra, items, err := numbered(b, int(head), wire.AddressSize, 1, 4)
		if err != nil {
			return
		}
		if len(extra) != int(head) || len(addresses(items)) < 1 || len(addresses(items)) > 4 {
			t.Errorf("got %d, %d bytes, %d items of %d bytes", n, len(extra), len(addresses(items)), len(b))
		}
	})
}

// nobody is a Node that nothing must reach.
type nobody struct {
	Node
	t *testing.T
}

func (n nobody) Carry([]window.Entry) []Visit { n.t.Error("a cell came through"); return nil }
func (n nobody) Keep([]window.Entry)          { n.t.Error("a cell came through") }
func (n nobody) Lost()                        {}

type sink struct{}

func (sink) Run(context.Context, ID, func([]byte)) error { return nil }

func (sink) Send(ID, []byte) {}
func (sink) Up() bool        { return true }
func (sink) Cut() bool       { return false }

// FuzzReceive: whatever somebody without keys sends, it goes nowhere and makes
// nobody known.
func FuzzReceive(f *testing.F) {
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(exampleCounts())
	h := exampleHello()
	hi := header{kind: kindHello, from: node1}
	f.Add(hi.seal(newAEAD(make([]byte, 32)), All, h.append(start(nil))))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := New(Config{Realm: NewRealm(k), Link: sink{}})
		if err != nil {
			t.Fatal(err)
		}
		m.node = nobody{t: t}
		m.receive(b)
		if len(m.roster.peers) != 0 || !reflect.DeepEqual(m.debts, debts{}) {
			t.Error("a message without a key did something")
		}
	})
}

// TestOwnersAreSpread: a node that goes moves its own share and no other, and
// shares are about equal.
func TestOwnersAreSpread(t *testing.T) {
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRealm(k)
	all := make([]ID, 12)
	for i := range all {
		all[i] = ID{byte(i + 1), 9}
	}
	const n = 6000
	shares := map[ID]int{}
	for i := range n {
		sum := key.Hash("test", []byte{byte(i), byte(i >> 8)})
		who := r.ownerOf(sum[:], all[0], all[1:])
		if again := r.ownerOf(sum[:], all[5], append(slices.Clone(all[6:]), all[:5]...)); again != who {
			t.Fatalf("two nodes do not agree on an owner: %x and %x", who, again)
		}
		shares[who]++
		if without := r.ownerOf(sum[:], all[0], all[1:11]); who != all[11] && without != who {
			t.Fatal("an address moved whose owner stayed")
		}
	}
	for id, share := range shares {
		if share < n/12/2 || share > n/12*2 {
			t.Errorf("node %x owns %d of %d, want about %d", id, share, n, n/12)
		}
	}
	if len(shares) != 12 {
		t.Errorf("got %d owners, want 12", len(shares))
	}
}

// sum is a Tally.
type sum struct{ asked, echoes int }

func (s *sum) Ask(n int)    { s.asked += n }
func (s *sum) Answer(n int) { s.asked, s.echoes = s.asked-1, s.echoes+n }

// TestEachNodeAnswersOnce: a second answer, one of who was not asked, and one to
// what was never put do nothing; the mark of a lower bound stays.
func TestEachNodeAnswersOnce(t *testing.T) {
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Realm: NewRealm(k), Link: sink{}})
	if err != nil {
		t.Fatal(err)
	}
	s := new(sum)
	m.mu.Lock()
	m.enqueue(kindCells, All, []ID{node1, node2}, new(window.Entry), s)
	m.mu.Unlock()
	for _, c := range []struct {
		from ID
		count
		asked, echoes int
	}{
		{ID{9}, count{batch: 1, echoes: 7}, 2, 0},
		{node1, count{batch: 2, echoes: 7}, 2, 0},
		{node1, count{batch: 1, index: 1, echoes: 7}, 2, 0},
		{node1, count{batch: 1, echoes: 3}, 1, 3},
		{node1, count{batch: 1, echoes: 3}, 1, 3},
		{node2, count{batch: 1, echoes: 2, lower: true}, 1, 5},
		{node2, count{batch: 1, echoes: 2}, 1, 5},
	} {
		if m.counts(c.from, []count{c.count}); s.asked != c.asked || s.echoes != c.echoes {
			t.Errorf("after %v from %x: got %d asked, %d echoes; want %d, %d", c.count, c.from, s.asked, s.echoes, c.asked, c.echoes)
		}
	}
}
