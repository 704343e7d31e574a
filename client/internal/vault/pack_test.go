package vault

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// packed runs a pack to its end, a piece for each transaction.
func packed(t *testing.T, v *Vault, p *Packed, room int, keep func(Table, *Row) (bool, error)) (pieces [][]byte) {
	t.Helper()
	for !p.Done() {
		err := v.Update(t.Context(), func(tx *Tx) error {
			b, err := tx.Pack(p, nil, room, keep)
			if len(b) > 0 {
				pieces = append(pieces, b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(pieces) > 10_000 {
			t.Fatal("the pack does not end")
		}
	}
	return pieces
}

func TestPackGoesOverInPieces(t *testing.T) {
	v, _ := newVault(t)
	var p *Packed
	err := v.Update(t.Context(), func(tx *Tx) error {
		for i := range 100 {
			if _, err := tx.Insert(Event, Row{A: int64(i % 3), B: 1, H: fmt.Appendf(nil, "h%d", i), V: bytes.Repeat([]byte{byte(i)}, i*3)}); err != nil {
				return err
			}
		}
		if err := tx.Delete(Event, 50, 51); err != nil {
			return err
		}
		if _, err := tx.Insert(Contact, Row{H: []byte("c"), V: []byte("who")}); err != nil {
			return err
		}
		var err error
		p, err = tx.BeginPack(Contact, Route, Event)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != 99 {
		t.Errorf("got %d rows in all, want 99", p.Total)
	}
	// What comes later does not belong to it.
	v.Update(t.Context(), func(tx *Tx) error { _, err := tx.Insert(Event, Row{V: []byte("late")}); return err })
	pieces := packed(t, v, p, 1000, func(tb Table, r *Row) (bool, error) {
		if tb == Contact {
			r.V = []byte("changed")
		}
		return r.ID != 7 || tb != Event, nil
	})
	if len(pieces) < 10 {
		t.Errorf("got %d pieces, want many of at most 1,000 bytes", len(pieces))
	}
	w, _ := newVault(t)
	n := 0
	for _, b := range pieces {
		if len(b) > 1000 {
			t.Errorf("got a piece of %d bytes, want at most 1,000", len(b))
		}
		rows, err := ParsePiece(append(b, make([]byte, 40)...), Contact, Event)
		if err != nil {
			t.Fatal(err)
		}
		n += len(rows)
		err = w.Update(t.Context(), func(tx *Tx) error {
			for _, r := range rows {
				if err := tx.Put(r.Table, r.Row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n != 98 || p.Rows != 99 {
		t.Errorf("got %d rows over and %d looked at, want 98 and 99", n, p.Rows)
	}
	err = v.View(t.Context(), func(a *Tx) error {
		return w.View(t.Context(), func(b *Tx) error {
			return a.Each(Event, Query{}, func(r Row) error {
				got, found, err := b.Get(Event, r.ID)
				want := r.ID != 7 && string(r.V) != "late"
				if err != nil || found != want || found && (!bytes.Equal(got.V, r.V) || !bytes.Equal(got.H, r.H) || got.A != r.A || got.B != r.B) {
					t.Errorf("row %d: got %+v, %v, %v, want it as it is: %v", r.ID, got, found, err, want)
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	// A row that fits into no piece is an error and not an endless pack.
	v.Update(t.Context(), func(tx *Tx) error {
		tx.Insert(Event, Row{V: make([]byte, 2000)})
		p, _ = tx.BeginPack(Event)
		p.After = p.Last[0] - 1
		if _, err := tx.Pack(p, nil, 1000, func(Table, *Row) (bool, error) { return true, nil }); !errors.Is(err, ErrRow) {
			t.Errorf("got %v, want ErrRow", err)
		}
		return nil
	})
}

func TestPiecesThatAreNone(t *testing.T) {
	good := appendPacked(nil, 5, &Row{ID: 9, A: 1, B: 2, H: []byte("h"), V: []byte("value")})
	if rows, err := ParsePiece(good, Event); err != nil || len(rows) != 1 || rows[0].Table != Event || string(rows[0].V) != "value" {
		t.Fatalf("the control: got %+v, %v", rows, err)
	}
	change := func(at int, to byte) []byte { b := bytes.Clone(good); b[at] = to; return b }
	for name, b := range map[string][]byte{
		"cut":               good[:len(good)-1],
		"another kind":      change(0, 2),
		"no table":          change(1, 0),
		"an unknown table":  change(1, 200),
		"a table too many":  change(1, 1),
		"id 0":              change(9, 0),
		"a negative id":     change(2, 0x80),
		"a long h":          change(26, 65),
		"a value too long":  change(28, 1),
		"something behind":  append(bytes.Clone(good), 0, 1),
		"a row behind zero": append(append(bytes.Clone(good), 0), good...),
	} {
		if rows, err := ParsePiece(b, Event); !errors.Is(err, ErrPack) {
			t.Errorf("%s: got %+v, %v, want ErrPack", name, rows, err)
		}
	}
}

func FuzzPiece(f *testing.F) {
	f.Add(appendPacked(nil, 5, &Row{ID: 9, A: 1, B: 2, H: []byte("h"), V: []byte("value")}))
	f.Add(append(appendPacked(appendPacked(nil, 2, &Row{ID: 1}), 4, &Row{ID: maxID}), 0, 0, 0))
	all := tables()
	f.Fuzz(func(t *testing.T, in []byte) {
		rows, err := ParsePiece(in, all[:]...)
		if err != nil {
			return
		}
		var out []byte
		for _, r := range rows {
			n, _ := r.Table.number()
			out = appendPacked(out, byte(n), &r.Row)
		}
		if !bytes.HasPrefix(in, out) || bytes.Trim(in[len(out):], "\x00") != nil && len(bytes.Trim(in[len(out):], "\x00")) > 0 {
			t.Fatal("a piece is written in two ways")
		}
	})
}
