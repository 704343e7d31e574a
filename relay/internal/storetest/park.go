package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// OpenPark returns an empty store that takes at least so many rows, and at most a
// quarter more. It ends with the test.
type OpenPark func(t *testing.T, rows int) park.Store

// noon is when the suite lives: the middle of a day.
var noon = time.Unix(20_000*86_400+12*3600, 0)

// week is a life in hours.
const week = 7 * 24

// Park runs the suite.
func Park(t *testing.T, open OpenPark) {
	for name, f := range map[string]func(*testing.T, OpenPark){
		"what is put is taken until it is acked":     takenUntilAcked,
		"the same cell again is one row":             sameIsOne,
		"of the same cell at once there is one row":  sameAtOnceIsOne,
		"only the rows of the address are acked":     ackedAtTheirAddress,
		"what is over is given to nobody and goes":   overGoes,
		"what would last too long goes":              tooLongGoes,
		"an address has a bound":                     addressFull,
		"a full store says so and keeps what it has": parkFull,
		"pages have every row once":                  pages,
		"rows that stay are on some page":            pagesWhileAcked,
		"ids tell nothing":                           idsTellNothing,
		"it does what a map would do in parking":     parksLikeAMap,
		"parked buffers are not shared":              parkedIsOwn,
	} {
		t.Run(name, func(t *testing.T) { f(t, open) })
	}
}

// NewRow returns a row for an address that follows from device, with a cell that
// follows from device and n, of a life of a week.
func NewRow(device, n uint32) park.Row {
	r := park.Row{Until: park.Until(noon, week, 30*24)}
	rng := rand.NewChaCha8([32]byte(fmt.Appendf(nil, "address of %-22d", device)))
	rng.Read(r.Address[:])
	rng = rand.NewChaCha8([32]byte(fmt.Appendf(nil, "cell %-13d of %-10d", n, device)))
	rng.Read(r.Cell[:])
	return r
}

// put puts rows that must be kept.
func put(t *testing.T, s park.Store, now time.Time, rows ...park.Row) {
	t.Helper()
	for chunk := range slices.Chunk(rows, wire.MaxParkItems) {
		got, err := s.Put(t.Context(), chunk, now)
		if want := make([]wire.ParkVerdict, len(chunk)); err != nil || !slices.Equal(got, want) {
			t.Fatalf("putting: got %v, %v, want %v", got, err, want)
		}
	}
}

// take returns all rows of the addresses, page by page.
func take(t *testing.T, s park.Store, now time.Time, addresses ...wire.Address) (all []wire.Parked) {
	t.Helper()
	slices.SortFunc(addresses, func(a, b wire.Address) int { return bytes.Compare(a[:], b[:]) })
	addresses = slices.Compact(addresses)
	var after park.Mark
	for {
		page, err := s.Take(t.Context(), addresses, after, now)
		if err != nil || len(page) > park.PageRows {
			t.Fatalf("taking: got %d rows, %v, want at most %d", len(page), err, park.PageRows)
		}
		all = append(all, page...)
		if len(page) < park.PageRows {
			return all
		}
		last := page[len(page)-1]
		after = park.Mark{Address: last.Address, ID: last.ID}
	}
}

// wantRows takes and wants exactly these cells at these addresses.
func wantRows(t *testing.T, got []wire.Parked, want ...park.Row) {
	t.Helper()
	type pair struct {
		a wire.Address
		c wire.Cell
	}
	have := map[pair]int{}
	ids := map[wire.RowID]bool{}
	for _, p := range got {
		have[pair{p.Address, p.Cell}]++
		if ids[p.ID] {
			t.Error("got one row twice")
		}
		ids[p.ID] = true
	}
	for _, r := range want {
		if have[pair{r.Address, r.Cell}] != 1 {
			t.Errorf("got a row %d times, want once", have[pair{r.Address, r.Cell}])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d rows, want %d", len(got), len(want))
	}
}

func ack(t *testing.T, s park.Store, want int, a wire.Address, ids ...wire.RowID) {
	t.Helper()
	if gone, err := s.Ack(t.Context(), a, ids); err != nil || gone != want {
		t.Errorf("acking: got %d gone, %v, want %d", gone, err, want)
	}
}

func sweep(t *testing.T, s park.Store, now time.Time, want int) {
	t.Helper()
	if left, err := s.Sweep(t.Context(), now, park.Last(now, 30*24)); err != nil || left != want {
		t.Errorf("sweeping: got %d left, %v, want %d", left, err, want)
	}
}

func takenUntilAcked(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	a1, a2, b1 := NewRow(1, 1), NewRow(1, 2), NewRow(2, 1)
	wantRows(t, take(t, s, noon, a1.Address))
	put(t, s, noon, a1, a2, b1)
	wantRows(t, take(t, s, noon, a1.Address), a1, a2)
	wantRows(t, take(t, s, noon, a1.Address, b1.Address, NewRow(3, 1).Address), a1, a2, b1)
	got := take(t, s, noon, b1.Address)
	wantRows(t, got, b1)
	ack(t, s, 1, b1.Address, got[0].ID)
	wantRows(t, take(t, s, noon, b1.Address))
	wantRows(t, take(t, s, noon, a1.Address), a1, a2)
	ack(t, s, 0, b1.Address, got[0].ID)
	sweep(t, s, noon, 2)
	wantRows(t, take(t, s, noon, a1.Address), a1, a2)
}

func sameIsOne(t *testing.T, open OpenPark) {
	s, r := open(t, 1000), NewRow(1, 1)
	other := NewRow(2, 1)
	other.Cell = r.Cell // the same cell elsewhere is another row
	put(t, s, noon, r, other, r)
	first := take(t, s, noon, r.Address)
	wantRows(t, first, r)
	again := r
	again.Until = park.Until(noon, 30*24, 30*24) // in another epoch
	put(t, s, noon.Add(time.Minute), again)
	wantRows(t, take(t, s, noon, r.Address, other.Address), r, other)
	if got := take(t, s, noon, r.Address); len(got) == 1 && got[0].ID != first[0].ID {
		t.Error("got another id, want that of the first")
	}
	// The first life holds.
	over := time.Unix(r.Until, 0)
	wantRows(t, take(t, s, over, r.Address))
	// Once it is over it can come again, swept or not.
	other.Until = park.Until(over, week, 30*24)
	put(t, s, over, other)
	wantRows(t, take(t, s, over, other.Address), other)
	sweep(t, s, over, 1)
	again.Until = park.Until(over, week, 30*24)
	put(t, s, over, again)
	wantRows(t, take(t, s, over, r.Address), again)
	wantRows(t, take(t, s, time.Unix(again.Until-1, 0), r.Address, other.Address), again, other)
}

func sameAtOnceIsOne(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	rows := []park.Row{NewRow(1, 1), NewRow(1, 2), NewRow(2, 1)}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got, err := s.Put(context.WithoutCancel(t.Context()), rows, noon); err != nil || !slices.Equal(got, make([]wire.ParkVerdict, 3)) {
				t.Errorf("putting: got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	wantRows(t, take(t, s, noon, rows[0].Address, rows[2].Address), rows...)
	sweep(t, s, noon, 3)
}

func ackedAtTheirAddress(t *testing.T, open OpenPark) {
	s, a, b := open(t, 1000), NewRow(1, 1), NewRow(2, 1)
	put(t, s, noon, a, b)
	id := take(t, s, noon, a.Address)[0].ID
	ack(t, s, 0, b.Address, id, wire.RowID{1})
	wantRows(t, take(t, s, noon, a.Address, b.Address), a, b)
	ack(t, s, 1, a.Address, wire.RowID{1}, id, id)
	wantRows(t, take(t, s, noon, a.Address, b.Address), b)
}

func overGoes(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	short, mid, long := NewRow(1, 1), NewRow(1, 2), NewRow(1, 3)
	short.Until, mid.Until = park.Until(noon, 1, 30*24), park.Until(noon, 5, 30*24)
	put(t, s, noon, short, mid, long)
	at := func(until int64, before time.Duration) time.Time { return time.Unix(until, 0).Add(-before) }
	wantRows(t, take(t, s, at(short.Until, time.Second), short.Address), short, mid, long)
	wantRows(t, take(t, s, at(short.Until, 0), short.Address), mid, long) // not swept yet, and over all the same
	sweep(t, s, at(short.Until, time.Second), 3)
	sweep(t, s, at(short.Until, 0), 2)
	wantRows(t, take(t, s, noon, short.Address), mid, long)
	sweep(t, s, at(mid.Until, 0), 1)
	sweep(t, s, at(long.Until, time.Second), 1)
	sweep(t, s, at(long.Until, 0), 0)
	wantRows(t, take(t, s, noon, short.Address))
}

func tooLongGoes(t *testing.T, open OpenPark) {
	s, r, far := open(t, 1000), NewRow(1, 1), NewRow(1, 2)
	far.Until = park.Until(noon.Add(300*24*time.Hour), week, 30*24)
	put(t, s, noon, r, far)
	sweep(t, s, noon, 1)
	wantRows(t, take(t, s, noon, r.Address), r)
	put(t, s, noon, far) // its key went with it: there is another
	wantRows(t, take(t, s, noon, r.Address), r, far)
	sweep(t, s, noon, 1)
}

func addressFull(t *testing.T, open OpenPark) {
	s := open(t, 2*wire.MaxParkRows)
	var rows []park.Row
	for n := range uint32(wire.MaxParkRows) {
		rows = append(rows, NewRow(1, n))
	}
	put(t, s, noon, rows[2:]...)
	last := []park.Row{rows[5], rows[0], rows[1], NewRow(1, 5000), NewRow(2, 1), rows[7], NewRow(1, 5001)}
	got, err := s.Put(t.Context(), last, noon)
	if want := []wire.ParkVerdict{0, 0, 0, 1, 0, 0, 1}; err != nil || !slices.Equal(got, want) {
		t.Errorf("at the bound: got %v, %v, want %v", got, err, want)
	}
	all := take(t, s, noon, rows[0].Address)
	wantRows(t, all, rows...)
	ack(t, s, 1, rows[0].Address, all[0].ID)
	put(t, s, noon, NewRow(1, 5000))
}

func parkFull(t *testing.T, open OpenPark) {
	const most = 200
	s := open(t, most)
	var kept []park.Row
	full := false
	for n := uint32(0); n < 2*most && !full; n++ {
		r := NewRow(n, 1)
		got, err := s.Put(t.Context(), []park.Row{r}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if full = got[0] == wire.ParkNoRoom; !full {
			kept = append(kept, r)
		}
	}
	if !full || len(kept) < most || len(kept) > most*5/4 {
		t.Fatalf("got %d rows, full %v, want about %d", len(kept), full, most)
	}
	// What is there already needs no room.
	got, err := s.Put(t.Context(), []park.Row{NewRow(9999, 1), kept[0]}, noon)
	if want := []wire.ParkVerdict{wire.ParkNoRoom, wire.ParkKept}; err != nil || !slices.Equal(got, want) {
		t.Errorf("full: got %v, %v, want %v", got, err, want)
	}
	for _, r := range kept {
		wantRows(t, take(t, s, noon, r.Address), r)
	}
	ack(t, s, 1, kept[0].Address, take(t, s, noon, kept[0].Address)[0].ID)
	put(t, s, noon, NewRow(9999, 1))
}

func pages(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	var want []park.Row
	var addresses []wire.Address
	for device := range uint32(20) { // 0, 7, 14 … of them, and one of exactly a page
		n := 7 * device
		if device == 1 {
			n = park.PageRows
		}
		for i := range n {
			want = append(want, NewRow(device, i))
		}
		addresses = append(addresses, NewRow(device, 0).Address)
	}
	want = want[:min(len(want), 990)]
	put(t, s, noon, want...)
	wantRows(t, take(t, s, noon, addresses...), want...)
	var one []park.Row
	for _, r := range want {
		if r.Address == addresses[1] {
			one = append(one, r)
		}
	}
	wantRows(t, take(t, s, noon, addresses[1]), one...)
}

func pagesWhileAcked(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	var rows []park.Row
	for n := range uint32(5 * park.PageRows) {
		rows = append(rows, NewRow(1, n))
	}
	put(t, s, noon, rows...)
	var got []wire.Parked
	var after park.Mark
	for {
		page, err := s.Take(t.Context(), []wire.Address{rows[0].Address}, after, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, page...); len(page) < park.PageRows {
			break
		}
		for _, p := range page {
			ack(t, s, 1, p.Address, p.ID)
		}
		last := page[len(page)-1]
		after = park.Mark{Address: last.Address, ID: last.ID}
	}
	wantRows(t, got, rows...)
}

// idsTellNothing: ids of cells that came in a row are no more alike, and no more
// in order, than random ones; and another store has others.
func idsTellNothing(t *testing.T, open OpenPark) {
	s, s2 := open(t, 1000), open(t, 1000)
	var up, pairs int
	var last uint64
	var rows []park.Row
	for n := range uint32(400) {
		rows = append(rows, NewRow(1, n))
	}
	put(t, s, noon, rows...)
	put(t, s2, noon, rows...)
	by := map[wire.Cell]wire.RowID{}
	for _, p := range take(t, s, noon, rows[0].Address) {
		by[p.Cell] = p.ID
	}
	ones := 0
	for i, r := range rows {
		id := by[r.Cell]
		n := binary.BigEndian.Uint64(id[:])
		for _, b := range id {
			for ; b != 0; b &= b - 1 {
				ones++
			}
		}
		if i > 0 {
			pairs++
			if n > last {
				up++
			}
		}
		last = n
	}
	// Five deviations of a fair coin with 399 and 51,200 throws. Of what follows
	// each other one half goes up, with a smaller deviation.
	if up < pairs/2-50 || up > pairs/2+50 {
		t.Errorf("of %d ids that follow %d are higher, want about half", pairs, up)
	}
	if want := len(rows) * wire.RowIDSize * 8 / 2; ones < want-566 || ones > want+566 {
		t.Errorf("ids have %d ones, want about %d", ones, want)
	}
	for _, p := range take(t, s2, noon, rows[0].Address) {
		if by[p.Cell] == p.ID {
			t.Fatal("got the id of another store, want one of its own")
		}
	}
}

func parkedIsOwn(t *testing.T, open OpenPark) {
	s := open(t, 1000)
	rows := []park.Row{NewRow(1, 1)}
	put(t, s, noon, rows...)
	clear(rows[0].Cell[:])
	clear(rows[0].Address[:])
	want := NewRow(1, 1)
	got := take(t, s, noon, want.Address)
	wantRows(t, got, want)
	clear(got[0].Cell[:])
	wantRows(t, take(t, s, noon, want.Address), want)
}

// parksLikeAMap plays random calls against the store and against a map.
func parksLikeAMap(t *testing.T, open OpenPark) {
	s := open(t, 10_000)
	dice := rand.New(rand.NewPCG(3, 4))
	type at struct{ device, n uint32 }
	have := map[at]park.Row{}
	ids := map[at]wire.RowID{}
	now := noon
	lives := []uint16{1, 2, 5, 47, 48, 100}
	for step := range 1500 {
		device := uint32(dice.IntN(4))
		switch dice.IntN(5) {
		case 0, 1:
			var rows []park.Row
			for range 1 + dice.IntN(5) {
				k := at{device, uint32(dice.IntN(30))}
				r := NewRow(k.device, k.n)
				r.Until = park.Until(now, lives[dice.IntN(len(lives))], 30*24)
				if old, ok := have[k]; !ok || now.Unix() >= old.Until {
					have[k] = r
				}
				rows = append(rows, r)
			}
			put(t, s, now, rows...)
		case 2:
			var want []park.Row
			for k, r := range have {
				if k.device == device && now.Unix() < r.Until {
					want = append(want, r)
				}
			}
			got := take(t, s, now, NewRow(device, 0).Address)
			wantRows(t, got, want...)
			for _, p := range got {
				for n := range uint32(30) {
					if k := (at{device, n}); have[k].Cell == p.Cell {
						ids[k] = p.ID
					}
				}
			}
		case 3:
			k := at{device, uint32(dice.IntN(30))}
			id, known := ids[k]
			want := 0
			if _, ok := have[k]; ok && known {
				want = 1
				delete(have, k)
			}
			ack(t, s, want, NewRow(device, 0).Address, id)
		case 4:
			now = now.Add(time.Duration(dice.IntN(180)) * time.Minute)
			for k, r := range have {
				if now.Unix() >= r.Until {
					delete(have, k)
				}
			}
			sweep(t, s, now, len(have))
		}
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
}
