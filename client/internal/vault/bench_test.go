package vault

import (
	"path/filepath"
	"testing"
)

func BenchmarkOpenWithDefaultParams(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "profile")
	v, err := Create(dir, pass, Default)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
		if v, err = Open(dir, pass); err != nil {
			b.Fatal(err)
		}
	}
	v.Close()
}

// BenchmarkOpenLedger opens a vault of 50,000 rows; the key derivation is weak,
// so that what remains is the ledger.
func BenchmarkOpenLedger(b *testing.B) {
	v, dir := newVault(b)
	fillRows(b, v, Seen, 50_000, 16)
	for b.Loop() {
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
		v = openVault(b, dir)
	}
}

func fillRows(tb testing.TB, v *Vault, t Table, n, size int) {
	tb.Helper()
	for done := 0; done < n; done += 1000 {
		update(tb, v, func(tx *Tx) error {
			for i := range min(1000, n-done) {
				h := []byte{byte((done + i) >> 16), byte((done + i) >> 8), byte(done + i)}
				if _, err := tx.Insert(t, Row{A: int64(i % 10), H: h, V: make([]byte, size)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// onDisk is newVault with a disk to wait for.
func onDisk(b *testing.B) *Vault {
	v, dir := newVault(b)
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	v, err := Open(dir, pass)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { v.Close() })
	return v
}

// message is what sending one message writes: an event, an outbox row and the
// session.
func message(tx *Tx, session int64) error {
	if _, err := tx.Insert(Event, Row{A: session, V: make([]byte, 200)}); err != nil {
		return err
	}
	if _, err := tx.Insert(Outbox, Row{A: session, H: make([]byte, 16), V: make([]byte, 1300)}); err != nil {
		return err
	}
	return tx.Put(Session, Row{ID: session, A: session, V: make([]byte, 600)})
}

func BenchmarkUpdate(b *testing.B) {
	v := onDisk(b)
	for b.Loop() {
		update(b, v, func(tx *Tx) error { return message(tx, 1) })
	}
}

func BenchmarkUpdate64Writers(b *testing.B) {
	v := onDisk(b)
	b.SetParallelism(32) // times two processors
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := v.Update(b.Context(), func(tx *Tx) error { return message(tx, 1) }); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkView(b *testing.B) {
	v, _ := newVault(b)
	update(b, v, func(tx *Tx) error { return message(tx, 1) })
	for b.Loop() {
		view(b, v, func(tx *Tx) error {
			_, _, err := tx.Get(Session, 1)
			return err
		})
	}
}
