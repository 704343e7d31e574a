package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

// item is an item whose bytes all follow from n.
func item(n byte) ParkItem {
	return ParkItem{Hours: 0x0100 + uint16(n), Address: Address(bytes.Repeat([]byte{n}, AddressSize)), Cell: Cell(bytes.Repeat([]byte{^n}, CellSize))}
}

func TestParkSizes(t *testing.T) {
	for name, c := range map[string][2]int{
		"item": {ParkItemSize, 1314}, "largest body": {MaxParkSize, 21040}, "parked": {ParkedSize, 1329}, "taken": {TakenSize, 3}, "acked": {AckedSize, 3},
		"take header": {TakeHeader, 9}, "ack header": {ParkAckHeader, 97}, "days back": {ParkDaysBack, 61},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %d, want %d", name, c[0], c[1])
		}
	}
	for name, n := range map[string]int{
		"take": TakeHeader + MaxTake*ProofSize, "ack": ParkAckHeader + MaxAckRows*RowIDSize, "parked": ParkedSize,
	} {
		if n > MaxFrame {
			t.Errorf("%s: %d bytes are more than a frame may have", name, n)
		}
	}
}

func TestParkBodiesHaveOneForm(t *testing.T) {
	for k := 1; k <= MaxParkItems; k++ {
		var items []ParkItem
		for i := range k {
			items = append(items, item(byte(i)))
		}
		b, err := AppendPark(nil, [16]byte{9}, items)
		if err != nil || len(b) != 16+k*1314 || ParkItems(int64(len(b))) != k {
			t.Fatalf("%d items: got %d bytes for %d, %v", k, len(b), ParkItems(int64(len(b))), err)
		}
		context, got, err := ParsePark(b)
		if err != nil || context != [16]byte{9} || !slices.Equal(got, items) {
			t.Errorf("%d items: got others, %v", k, err)
		}
	}
	for _, k := range []int{0, MaxParkItems + 1} {
		if b, err := AppendPark(nil, [16]byte{}, make([]ParkItem, k)); b != nil || !errors.Is(err, ErrPark) {
			t.Errorf("%d items: got %d bytes, %v, want %v", k, len(b), err, ErrPark)
		}
	}
	for _, n := range []int{0, 1, 15, 16, 17, 16 + 1313, 16 + 1315, 16 + 2*1314 - 1, 16 + 17*1314} {
		if _, _, err := ParsePark(make([]byte, n)); !errors.Is(err, ErrPark) || ParkItems(int64(n)) != 0 {
			t.Errorf("%d bytes: got %d items, %v, want %v", n, ParkItems(int64(n)), err, ErrPark)
		}
	}
	if n := ParkItems(-1314 + 16); n != 0 {
		t.Errorf("a negative length: got %d items, want 0", n)
	}
}

func TestParkAnswersHaveOneForm(t *testing.T) {
	want := []ParkVerdict{ParkKept, ParkFull, ParkNoRoom}
	if got, err := ParseParkAnswer([]byte{0, 1, 2}, 3); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for name, b := range map[string][]byte{"short": {0}, "long": {0, 0, 0}, "unknown": {0, 3}, "empty": {}} {
		if got, err := ParseParkAnswer(b, 2); !errors.Is(err, ErrPark) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, ErrPark)
		}
	}
}

func TestParkFramesHaveOneForm(t *testing.T) {
	owned := []Owned{{Address{1}, [64]byte{2}}, {Address{3}, [64]byte{4}}}
	b, err := AppendTake(nil, 20_000, owned)
	if err != nil || len(b) != TakeHeader+2*ProofSize {
		t.Fatalf("take: got %d bytes, %v", len(b), err)
	}
	day, proofs, err := ParseTake(b)
	if err != nil || day != 20_000 || !bytes.Equal(proofs, b[TakeHeader:]) || Address(proofs[ProofSize:]) != owned[1].Address {
		t.Errorf("take: got day %d and %d bytes, %v", day, len(proofs), err)
	}
	for _, k := range []int{0, MaxTake + 1} {
		if b, err := AppendTake(nil, 1, make([]Owned, k)); b != nil || !errors.Is(err, ErrFrame) {
			t.Errorf("take of %d: got %d bytes, %v, want %v", k, len(b), err, ErrFrame)
		}
	}
	p := Parked{RowID{1}, Address{2}, Cell{3}}
	if got, err := ParseParked(p.Append(nil)); err != nil || got != p {
		t.Errorf("parked: got another, %v", err)
	}
	a := ParkAck{owned[0], []RowID{{7}, {8}}}
	b, err = a.Append(nil)
	got, perr := ParseParkAck(b)
	if err != nil || perr != nil || got.Owned != a.Owned || !slices.Equal(got.Rows, a.Rows) {
		t.Errorf("ack: got %v, %v, %v", got.Rows, err, perr)
	}
	for _, k := range []int{0, MaxAckRows + 1} {
		a.Rows = make([]RowID, k)
		if b, err := a.Append(nil); b != nil || !errors.Is(err, ErrFrame) {
			t.Errorf("ack of %d: got %d bytes, %v, want %v", k, len(b), err, ErrFrame)
		}
	}
	if n, err := ParseTaken(AppendTaken(nil, 512)); n != 512 || err != nil {
		t.Errorf("taken: got %d, %v", n, err)
	}
	if n, err := ParseAcked(AppendAcked(nil, 64)); n != 64 || err != nil {
		t.Errorf("acked: got %d, %v", n, err)
	}
}

func TestHostileParkFramesAreRefused(t *testing.T) {
	take, _ := AppendTake(nil, 1, make([]Owned, 2))
	ack, _ := (&ParkAck{Rows: make([]RowID, 2)}).Append(nil)
	parked := (&Parked{}).Append(nil)
	other := func(b []byte) []byte { return append([]byte{b[0] + 1}, b[1:]...) }
	for name, err := range map[string]error{
		"take, kind": second(ParseTake(other(take))), "take, short": second(ParseTake(take[:len(take)-1])), "take of none": second(ParseTake(take[:TakeHeader])),
		"take, empty": second(ParseTake(nil)), "take of 513": second(ParseTake(append(bytes.Clone(take[:TakeHeader]), make([]byte, 513*ProofSize)...))),
		"ack, kind": first(ParseParkAck(other(ack))), "ack, short": first(ParseParkAck(ack[:len(ack)-1])), "ack of none": first(ParseParkAck(ack[:ParkAckHeader])),
		"ack, empty": first(ParseParkAck(nil)), "ack of 65": first(ParseParkAck(append(bytes.Clone(ack[:ParkAckHeader]), make([]byte, 65*RowIDSize)...))),
		"parked, kind": first(ParseParked(other(parked))), "parked, short": first(ParseParked(parked[:len(parked)-1])), "parked, long": first(ParseParked(append(parked, 0))),
		"taken, none": first(ParseTaken([]byte{6, 0, 0})), "taken, 513": first(ParseTaken([]byte{6, 2, 1})), "taken, kind": first(ParseTaken([]byte{7, 0, 1})),
		"acked, none": first(ParseAcked([]byte{7, 0, 0})), "acked, 65": first(ParseAcked([]byte{7, 0, 65})), "acked, long": first(ParseAcked([]byte{7, 0, 1, 0})),
		"acked, empty": first(ParseAcked(nil)),
	} {
		if !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %v, want %v", name, err, ErrFrame)
		}
	}
}

func first[T any](_ T, err error) error          { return err }
func second[T, U any](_ T, _ U, err error) error { return err }

// Whatever an ack asks for must be in what is signed.
func TestAckProofCoversItsRows(t *testing.T) {
	p := Proof{Verb: VerbAck, Period: 5}
	plain, rows := p.Append(nil), []RowID{{1}, {2}}
	got := p.AppendAck(nil, rows)
	if want := append(append(plain, rows[0][:]...), rows[1][:]...); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if slices.Reverse(rows); bytes.Equal(got, p.AppendAck(nil, rows)) {
		t.Error("another order signs the same, want another message")
	}
}

func TestParkExamples(t *testing.T) {
	body, err := AppendPark(nil, [16]byte(bytes.Repeat([]byte{0x55}, 16)), []ParkItem{{Hours: 168, Address: Address(bytes.Repeat([]byte{0x44}, 32))}})
	if err != nil {
		t.Fatal(err)
	}
	take, err := AppendTake(nil, 20_600, []Owned{{Address: Address(bytes.Repeat([]byte{0x44}, 32)), Sig: [64]byte(bytes.Repeat([]byte{0x77}, 64))}})
	if err != nil {
		t.Fatal(err)
	}
	parked := (&Parked{ID: RowID(bytes.Repeat([]byte{0x66}, 16)), Address: Address(bytes.Repeat([]byte{0x44}, 32))}).Append(nil)
	p := Proof{Verb: VerbAck, Period: 20_600}
	for i := range 32 {
		p.Realm[i], p.Binding[i], p.Nonce[i], p.Address[i] = 0x11, 0x22, 0x33, 0x44
	}
	for name, want := range map[string][]byte{
		"park": body[:16+2+32], "take": take, "parked": parked[:1+16+32], "taken": AppendTaken(nil, 16), "acked": AppendAcked(nil, 2),
		"ack-proof": p.AppendAck(nil, []RowID{RowID(bytes.Repeat([]byte{0x66}, 16)), RowID(bytes.Repeat([]byte{0x67}, 16))}),
	} {
		if got := vectortest.Example(t, "park.md", name); !bytes.Equal(got, want) {
			t.Errorf("example %s: got %x, want %x", name, got, want)
		}
	}
}

func FuzzParsePark(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(MaxParkSize))
	f.Add([]byte{}, uint16(ContextSize+ParkItemSize))
	f.Fuzz(func(t *testing.T, head []byte, n uint16) {
		b := append(bytes.Clone(head), make([]byte, n)...)
		context, items, err := ParsePark(b)
		if err != nil {
			return
		}
		if got, err := AppendPark(nil, context, items); err != nil || !bytes.Equal(got, b) {
			t.Errorf("got %d other bytes, %v", len(got), err)
		}
	})
}

func FuzzParkFrames(f *testing.F) {
	take, _ := AppendTake(nil, 1, make([]Owned, 2))
	ack, _ := (&ParkAck{Rows: make([]RowID, 2)}).Append(nil)
	for _, b := range [][]byte{take, ack, (&Parked{}).Append(nil), AppendTaken(nil, 1), AppendAcked(nil, 1)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		read := 0
		same := func(got []byte) {
			if read++; !bytes.Equal(got, b) {
				t.Errorf("got %x, want %x", got, b)
			}
		}
		if day, proofs, err := ParseTake(b); err == nil {
			var owned []Owned
			for ; len(proofs) > 0; proofs = proofs[ProofSize:] {
				owned = append(owned, Owned{Address(proofs), [64]byte(proofs[AddressSize:])})
			}
			got, _ := AppendTake(nil, day, owned)
			same(got)
		}
		if a, err := ParseParkAck(b); err == nil {
			got, _ := a.Append(nil)
			same(got)
		}
		if p, err := ParseParked(b); err == nil {
			same(p.Append(nil))
		}
		if n, err := ParseTaken(b); err == nil {
			same(AppendTaken(nil, n))
		}
		if n, err := ParseAcked(b); err == nil {
			same(AppendAcked(nil, n))
		}
		if read > 1 {
			t.Errorf("%x reads as %d frames", b, read)
		}
	})
}
