package vault

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

// exampleKeys are keys in which each cipher has the bytes 00 … 1f.
func exampleKeys(t testing.TB) *keys {
	t.Helper()
	k, err := deriveKeys(exampleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	a, err := chacha20poly1305.NewX(count(0, 32))
	if err != nil {
		t.Fatal(err)
	}
	k.row, k.mark = a, a
	return k
}

var exampleRow = Row{ID: 7, A: 1, B: -1, H: []byte("h"), V: []byte("value")}

func TestSealedRowIsTheExample(t *testing.T) {
	got, err := exampleKeys(t).sealRow(Meta, &exampleRow, 9, bytes.NewReader(count(0x30, 24)))
	if err != nil {
		t.Fatal(err)
	}
	if want := vectortest.Example(t, "vault.md", "row"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestMarkSlotIsTheExample(t *testing.T) {
	got, err := sealMark(exampleKeys(t), 258, bytes.NewReader(count(0x30, 24)))
	if err != nil {
		t.Fatal(err)
	}
	if want := vectortest.Example(t, "vault.md", "mark-slot"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestRowOpensOnlyWhereItWasSealed(t *testing.T) {
	k := exampleKeys(t)
	v, err := k.sealRow(Meta, &exampleRow, 9, bytes.NewReader(count(0, 24)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		table   Table
		version uint64
		change  func(*Row)
		want    error
	}{
		{"in its place", Meta, 9, func(*Row) {}, nil},
		{"in another table", Contact, 9, func(*Row) {}, ErrDamaged},
		{"with another id", Meta, 9, func(r *Row) { r.ID = 8 }, ErrDamaged},
		{"with another A", Meta, 9, func(r *Row) { r.A = 2 }, ErrDamaged},
		{"with another B", Meta, 9, func(r *Row) { r.B = 1 }, ErrDamaged},
		{"with another H", Meta, 9, func(r *Row) { r.H = []byte("g") }, ErrDamaged},
		{"without H", Meta, 9, func(r *Row) { r.H = nil }, ErrDamaged},
		{"with A and B exchanged", Meta, 9, func(r *Row) { r.A, r.B = r.B, r.A }, ErrDamaged},
		{"when the ledger has an older version", Meta, 8, func(*Row) {}, ErrDamaged},
		{"when the ledger has a newer version", Meta, 10, func(*Row) {}, ErrDamaged},
	} {
		r := Row{ID: exampleRow.ID, A: exampleRow.A, B: exampleRow.B, H: exampleRow.H}
		c.change(&r)
		err := k.openRow(c.table, &r, v, c.version)
		if err != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if err == nil && !bytes.Equal(r.V, exampleRow.V) {
			t.Errorf("%s: got %q, want %q", c.name, r.V, exampleRow.V)
		}
	}
	for i := range v {
		c := bytes.Clone(v)
		c[i] ^= 0x40
		r := exampleRow
		if err := k.openRow(Meta, &r, c, 9); err != ErrDamaged {
			t.Errorf("byte %d flipped: got %v, want ErrDamaged", i, err)
		}
		if err := k.openRow(Meta, &r, v[:i], 9); err != ErrDamaged {
			t.Errorf("%d bytes: got %v, want ErrDamaged", i, err)
		}
	}
}

func TestDerivedKeysDiffer(t *testing.T) {
	k, err := deriveKeys(exampleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	// One nonce, one plaintext: equal outputs would be equal keys.
	seen := map[string]string{string(k.file.Bytes()): "file"}
	for name, a := range map[string]interface {
		Seal(dst, nonce, plain, ad []byte) []byte
	}{"row": k.row, "state": k.state, "mark": k.mark} {
		out := string(a.Seal(nil, make([]byte, nonceSize), make([]byte, 16), nil))
		if other, ok := seen[out]; ok {
			t.Errorf("keys %s and %s are the same", name, other)
		}
		seen[out] = name
	}
	e := k.entry(0, 0)
	if bytes.Equal(e[:], make([]byte, 16)) {
		t.Error("got an entry of zeros")
	}
}

func TestSumTakesBackWhatItAdded(t *testing.T) {
	var s sum
	all := [16]byte{0: 0xff, 8: 0xff, 15: 0xff}
	one := [16]byte{15: 1}
	s.remove(one)
	if s != (sum{^uint64(0), ^uint64(0)}) {
		t.Errorf("0 − 1: got %x, want all ones", s)
	}
	s.add(all)
	s.add(one)
	s.remove(all)
	if s != (sum{}) {
		t.Errorf("got %x, want 0", s)
	}
	a, b := sum{}, sum{}
	a.add(all)
	a.add(one)
	b.add(one)
	b.add(all)
	if a != b || a == (sum{}) {
		t.Errorf("got %x and %x, want the same in either order", a, b)
	}
}

func FuzzState(f *testing.F) {
	s := state{generation: 7, sum: sum{1, 2}}
	for i := range s.next {
		s.next[i] = int64(i + 1)
	}
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b, tableCount)
		if err == nil && !bytes.Equal(s.Append(nil), b) {
			t.Errorf("got %x, want %x", s.Append(nil), b)
		}
	})
}

func TestMarkKeepsTheGreaterSlot(t *testing.T) {
	k := exampleKeys(t)
	path := filepath.Join(t.TempDir(), markName)
	rand := bytes.NewReader(count(0, 24*10))
	if err := createMark(path, k, 5, rand); err != nil {
		t.Fatal(err)
	}
	for want := uint64(5); want < 9; want++ {
		m, got, err := openMark(path, k, rand)
		if err != nil || got != want {
			t.Fatalf("got generation %d, %v, want %d", got, err, want)
		}
		if err := m.set(want + 1); err != nil {
			t.Fatal(err)
		}
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(good) != markSize {
		t.Fatalf("got %d bytes, want %d", len(good), markSize)
	}
	for _, c := range []struct {
		name string
		bad  []int // where a byte is flipped
		cut  int
		want uint64
		err  error
	}{
		{"whole", nil, markSize, 9, nil},
		{"first slot torn", []int{3}, markSize, 9, nil},
		{"second slot torn", []int{markSector + 40}, markSize, 8, nil},
		{"both torn", []int{3, markSector + 40}, markSize, 0, ErrDamaged},
		{"second slot cut off", nil, markSector, 8, nil},
		{"empty", nil, 0, 0, ErrDamaged},
	} {
		b := bytes.Clone(good)
		for _, i := range c.bad {
			b[i] ^= 1
		}
		if err := os.WriteFile(path, b[:c.cut], 0o600); err != nil {
			t.Fatal(err)
		}
		m, got, err := openMark(path, k, rand)
		if got != c.want || err != c.err {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, got, err, c.want, c.err)
		}
		if err == nil {
			m.close()
		}
	}
}
