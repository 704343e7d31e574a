package window

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// entry is the n-th cell for the a-th address.
func entry(a, n int) *Entry {
	var e Entry
	binary.BigEndian.PutUint32(e[:], uint32(a))
	binary.BigEndian.PutUint64(e[wire.AddressSize:], uint64(n))
	e[EntrySize-1] = 0xff
	return &e
}

func address(a int) *wire.Address { x := wire.Address(entry(a, 0)[:]); return &x }

// all reads everything there is for an address, k entries at a time.
func all(t *testing.T, w *Window, now int64, a, k int) (numbers []int) {
	t.Helper()
	dst := make([]Entry, k)
	var from Position
	for {
		n, next := w.Read(dst, now, address(a), from)
		for _, e := range dst[:n] {
			if wire.Address(e[:]) != *address(a) || e[EntrySize-1] != 0xff {
				t.Fatalf("address %d: got another's entry", a)
			}
			numbers = append(numbers, int(binary.BigEndian.Uint64(e[wire.AddressSize:])))
		}
		if n < k {
			return numbers
		}
		from = next
	}
}

// TestAgainstAList compares the window with a list of everything, at random.
func TestAgainstAList(t *testing.T) {
	type put struct {
		at   int64
		a, n int
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		bytes := blockBytes * (1 + r.IntN(40))
		now := second * int64(r.IntN(100))
		start := now
		w := New(bytes, now)
		var list []put
		for n := range 3000 {
			now += r.Int64N(second / 10)
			a := r.IntN(12)
			w.Add(now, entry(a, n))
			list = append(list, put{now, a, n})
			if r.IntN(50) == 0 {
				w.Sweep(now)
			}
			if r.IntN(20) != 0 {
				continue
			}
			a = r.IntN(12)
			got := all(t, w, now, a, 1+r.IntN(5))
			reach := w.Reach(now, address(a))
			var want []int
			for _, p := range list {
				if p.a == a && now-p.at < int64(Span) {
					want = append(want, p.n)
				}
			}
			if len(got) > len(want) {
				t.Fatalf("seed %d: got %d entries, want at most %d", seed, len(got), len(want))
			}
			missing := want[:len(want)-len(got)]
			for i, v := range want[len(missing):] {
				if got[i] != v {
					t.Fatalf("seed %d: got entry %d at place %d, want %d", seed, got[i], i, v)
				}
			}
			for _, v := range missing { // what is missing is no younger than the reach
				if at := list[v].at; time.Duration(now-at) < reach {
					t.Fatalf("seed %d: entry put %v ago is missing, want all of the last %v", seed, time.Duration(now-at), reach)
				}
			}
			if reach > Span || reach > time.Duration(now-start) {
				t.Fatalf("seed %d: got reach %v %v after the start", seed, reach, time.Duration(now-start))
			}
		}
	}
}

func TestBytesAreBounded(t *testing.T) {
	for _, bound := range []int{0, 1, blockBytes - 1, blockBytes, 10 * blockBytes, 1 << 20, 8 << 20} {
		w := New(bound, 0)
		for n := range 10_000 {
			w.Add(1, entry(n, n))
		}
		blocks, kept := 0, 0
		for i := range w.shards {
			blocks += w.shards[i].blocks
			for b := w.shards[i].head; b != nil; b = b.next {
				kept += b.n - b.first
			}
		}
		if blocks*blockBytes > bound {
			t.Errorf("bound %d: got %d blocks of %d bytes", bound, blocks, blockBytes)
		}
		if want := min(10_000, bound/blockBytes*perBlock/2); kept < want {
			t.Errorf("bound %d: got %d entries kept, want at least %d", bound, kept, want)
		}
		if bound < blockBytes && w.Reach(5*second, address(1)) != 0 {
			t.Errorf("bound %d: got reach %v of a window that keeps nothing", bound, w.Reach(5*second, address(1)))
		}
	}
}

// TestBlockBytes checks what a block really costs.
func TestBlockBytes(t *testing.T) {
	const n = 500
	keep := make([]*block, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = new(block)
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	if got := int(after.TotalAlloc-before.TotalAlloc) / n; got > blockBytes+50 || got < blockBytes*9/10 { // beside a few of the runtime's own
		t.Errorf("got blocks of %d bytes, want about %d", got, blockBytes)
	}
}

func TestAgedEntriesAreWiped(t *testing.T) {
	w := New(blockBytes, 0)
	for n := range 10 {
		w.Add(int64(n)*10*second, entry(3, n+1))
	}
	if got := all(t, w, 90*second, 3, 4); len(got) != 6 || got[0] != 5 { // put at 40 s and later
		t.Errorf("got entries %v before a sweep, want 5 to 10", got)
	}
	b := w.shards[0].head
	w.Sweep(90 * second)
	for i := range b.entry {
		empty := b.entry[i] == Entry{} && b.at[i] == 0 && b.tag[i] == 0
		if aged := i < 4 || i >= 10; empty != aged {
			t.Errorf("entry %d: got wiped %v, want %v", i, empty, aged)
		}
	}
	w.Sweep(151 * second)
	if w.shards[0].head != nil || w.shards[0].tail != nil || *b != (block{}) {
		t.Error("got a block left over when all its entries have aged")
	}
	if got := w.Reach(151*second, address(3)); got != Span {
		t.Errorf("got reach %v, want %v: ageing is no loss", got, Span)
	}
	w.Add(152*second, entry(3, 99))
	if got := all(t, w, 152*second, 3, 4); len(got) != 1 || got[0] != 99 {
		t.Errorf("got entries %v after all had aged, want 99", got)
	}
}

// TestWhatMadeRoomIsWiped: of entries that had to make room, the next sweep
// leaves nothing.
func TestWhatMadeRoomIsWiped(t *testing.T) {
	w := New(2*blockBytes, 0)
	for n := range 2*perBlock + 3 { // the last three lie where the first were
		w.Add(int64(n), entry(7, n))
	}
	b := w.shards[0].tail
	if b.entry[3] != *entry(7, 3) {
		t.Fatal("got a block wiped before it is reused; the test proves nothing")
	}
	w.Sweep(second)
	for i := range b.entry {
		empty := b.entry[i] == Entry{} && b.at[i] == 0 && b.tag[i] == 0
		if empty != (i >= 3) {
			t.Errorf("entry %d: got wiped %v, want %v", i, empty, i >= 3)
		}
	}
	if got := all(t, w, second, 7, 5); len(got) != perBlock+3 || got[0] != perBlock {
		t.Errorf("got entries %v, want %d to %d", got, perBlock, 2*perBlock+2)
	}
	for n := range 20 { // on through both blocks again
		w.Add(second, entry(7, 100+n))
		w.Sweep(second)
	}
	if got := all(t, w, second, 7, 5); got[len(got)-1] != 119 || len(got) < perBlock {
		t.Errorf("got entries %v, want them up to 119", got)
	}
}

func TestReachTellsWhatMadeRoom(t *testing.T) {
	w := New(blockBytes, 10*second)
	if got := w.Reach(15*second, address(1)); got != 5*time.Second {
		t.Errorf("got reach %v, want the 5s since the start", got)
	}
	for n := range perBlock {
		w.Add(20*second+int64(n)*second, entry(1, n))
	}
	if got := w.Reach(40*second, address(1)); got != 30*time.Second {
		t.Errorf("got reach %v, want the 30s since the start", got)
	}
	w.Add(40*second, entry(1, 100)) // takes the block whose last entry came at 35 s
	if got := w.Reach(41*second, address(1)); got != 6*time.Second {
		t.Errorf("got reach %v, want 6s", got)
	}
	if got := all(t, w, 41*second, 1, 3); len(got) != 1 || got[0] != 100 {
		t.Errorf("got entries %v, want 100", got)
	}
}

func TestClearWipes(t *testing.T) {
	w := New(4*blockBytes, 0)
	for n := range 40 {
		w.Add(1, entry(1, n))
	}
	b := w.shards[0].head
	w.Clear()
	if got := all(t, w, 2, 1, 3); len(got) != 0 || !bytes.Equal(b.entry[0][:], make([]byte, EntrySize)) {
		t.Errorf("got entries %v, want none and no bytes of them", got)
	}
}

func TestSameTagIsNotSameAddress(t *testing.T) {
	s := shard{most: 1}
	s.add(1, 7, entry(1, 1))
	s.add(1, 7, entry(2, 2))
	dst := make([]Entry, 4)
	if n, _ := s.read(dst, 0, 7, address(2), 0); n != 1 || dst[0] != *entry(2, 2) {
		t.Errorf("got %d entries, want the one of the address", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	w := New(32<<20, 0) // room for all of them
	var wg sync.WaitGroup
	for a := range 8 {
		wg.Go(func() {
			for n := range 200 {
				w.Add(int64(n), entry(a, n))
				if n%20 == 0 {
					w.Sweep(int64(n))
				}
				w.Reach(int64(n), address(a))
				got := all(t, w, int64(n), a, 7)
				if len(got) == 0 || got[len(got)-1] != n {
					t.Errorf("address %d: got %v, want up to %d", a, got, n)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkAdd(b *testing.B) {
	w := New(64<<20, 0)
	e := entry(1, 1)
	for n := range b.N {
		binary.BigEndian.PutUint32(e[:], uint32(n))
		w.Add(1, e)
	}
}

// BenchmarkRead looks for one of many addresses in a full window of 64 MiB.
func BenchmarkRead(b *testing.B) {
	w := New(64<<20, 0)
	for n := range 60_000 {
		w.Add(1, entry(n, n))
	}
	dst := make([]Entry, 16)
	for n := range b.N {
		w.Read(dst, 2, address(n), 0)
	}
}

// What is offered goes where there is room, pushes nothing out, and is missed
// openly where it was not kept.
func TestWhatIsOfferedPushesNothingOut(t *testing.T) {
	w := New(3*blockBytes, 1)
	first, flood := Entry{1}, Entry{2}
	w.Add(2, &first)
	kept := 0
	for n := range int64(1000) {
		w.Offer(3+n, &flood)
	}
	a, b := wire.Address(first[:]), wire.Address(flood[:])
	dst := make([]Entry, 100)
	if n, _ := w.Read(dst, 1003, &a, 0); n != 1 {
		t.Errorf("got %d entries of the first address, want 1", n)
	}
	if kept, _ = w.Read(dst, 1003, &b, 0); kept != 3*perBlock-1 {
		t.Errorf("got %d of the flood, want %d: all there was room for", kept, 3*perBlock-1)
	}
	if got := w.Reach(1002, &b); got != 0 {
		t.Errorf("got a reach of %v, want none", got)
	}
	w.Add(1004, &first) // makes room as ever
	if n, _ := w.Read(dst, 1005, &a, 0); n != 1 {
		t.Errorf("got %d entries of the first address after another, want 1: the oldest block went", n)
	}
}
