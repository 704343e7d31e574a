package grouptest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Run runs the suite that every store of groups passes.
func Run(t *testing.T, make func(t *testing.T) Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s Store)
	}{
		{"what is unknown", unknown},
		{"records are copies", copies},
		{"a refused transaction leaves nothing", rollback},
		{"a part that failed leaves nothing", part},
		{"epochs come in order and without secrets", epochs},
		{"parts of an epoch change on their own", parts},
		{"who was there when a message was written", saw},
		{"messages come in the order they were made", messages},
		{"a message is seen once a device and line", seen},
		{"packages", packages},
		{"notes", notes},
		{"a deleted group leaves nothing", deleted},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

func update(t *testing.T, s Store, f func(tx group.Tx) error) {
	t.Helper()
	if err := s.Update(f); err != nil {
		t.Fatal(err)
	}
}

func isUnknown(err error) error {
	if !errors.Is(err, group.ErrUnknown) {
		return errors.Join(errors.New("want group.ErrUnknown"), err)
	}
	return nil
}

var errRefused = errors.New("refused")

func part(t *testing.T, s Store) {
	put := func(tx group.Tx, n byte) error { return tx.PutGroup(&group.Record{ID: group.ID{n}, Name: "g"}) }
	update(t, s, func(tx group.Tx) error {
		if err := put(tx, 1); err != nil {
			return err
		}
		err := tx.Try(func() error {
			if err := errors.Join(put(tx, 2), tx.DeleteGroup(group.ID{1}), tx.PutNote("a/b/c", []byte{1})); err != nil {
				return err
			}
			if err := tx.Try(func() error { return put(tx, 3) }); err != nil {
				return err
			}
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			t.Errorf("got %v, want what the part failed with", err)
		}
		if err := tx.Try(func() error { return put(tx, 4) }); err != nil {
			return err
		}
		return put(tx, 5)
	})
	update(t, s, func(tx group.Tx) error {
		var got []byte
		all, err := tx.Groups()
		for _, r := range all {
			got = append(got, r.ID[0])
		}
		slices.Sort(got)
		if !slices.Equal(got, []byte{1, 4, 5}) {
			t.Errorf("got groups %d, want 1, 4 and 5", got)
		}
		_, noted := tx.Note("a/b/c")
		return errors.Join(err, isUnknown(noted))
	})
}

func unknown(t *testing.T, s Store) {
	update(t, s, func(tx group.Tx) error {
		_, a := tx.Group(group.ID{1})
		_, b := tx.Epoch(group.ID{1}, 3)
		_, c := tx.Message(group.ID{1}, wire.MessageID{1})
		_, d := tx.OwnPackage([32]byte{1})
		_, e := tx.Note("a")
		if err := errors.Join(isUnknown(a), isUnknown(b), isUnknown(c), isUnknown(d), isUnknown(e)); err != nil {
			return err
		}
		all, err := tx.Groups()
		if len(all) != 0 {
			t.Errorf("got %d groups, want none", len(all))
		}
		stock, err2 := tx.Stock(group.Device{1})
		if len(stock) != 0 {
			t.Errorf("got a stock of %d, want none", len(stock))
		}
		return errors.Join(err, err2)
	})
}

func copies(t *testing.T, s Store) {
	r := &group.Record{ID: group.ID{1}, Origin: group.ID{2}, Name: "a", State: group.Active, Wishes: []group.Wanted{{Wish: []byte("w")}},
		Decided: []group.Decided{{Epoch: 3, Receipt: wire.Receipt{Hash: [32]byte{7}}, Second: &wire.Receipt{}}}}
	update(t, s, func(tx group.Tx) error { return tx.PutGroup(r) })
	r.Name, r.Wishes[0].Wish[0] = "b", 'x'
	update(t, s, func(tx group.Tx) error {
		got, err := tx.Group(group.ID{1})
		if err != nil {
			return err
		}
		if got.ID != r.ID || got.Name != "a" || string(got.Wishes[0].Wish) != "w" || got.Decided[0].Receipt.Hash != [32]byte{7} || got.Decided[0].Second == nil {
			t.Errorf("got %+v, want what was put", got)
		}
		got.Name = "c" // not put
		again, err := tx.Group(group.ID{1})
		if again.Name != "a" {
			t.Errorf("got name %q, want a: a change that was not put shows", again.Name)
		}
		return err
	})
}

func rollback(t *testing.T, s Store) {
	id := group.ID{1}
	update(t, s, func(tx group.Tx) error {
		return errors.Join(tx.PutGroup(&group.Record{ID: id, Name: "a"}), tx.PutNote("n", []byte("1")),
			tx.PutEpoch(small(id, 1)))
	})
	err := s.Update(func(tx group.Tx) error {
		err := errors.Join(tx.PutGroup(&group.Record{ID: id, Name: "b"}), tx.PutGroup(&group.Record{ID: group.ID{2}}), tx.PutNote("n", []byte("2")),
			tx.PutNote("m", nil), tx.DeleteEpoch(id, 1), tx.PutMessage(&group.Message{Group: id, ID: wire.MessageID{1}}),
			tx.MarkSeen(id, group.Device{1}, wire.MessageID{1}, 1), tx.PutOwnPackage(&group.OwnPackage{Hash: [32]byte{1}}),
			tx.PutStock(group.Device{1}, &group.Package{Hash: [32]byte{1}}))
		if r, e := tx.Group(id); e != nil || r.Name != "b" {
			t.Errorf("got %v, %v: a transaction does not see what it put", r, e)
		}
		return errors.Join(err, errRefused)
	})
	if !errors.Is(err, errRefused) {
		t.Fatalf("got %v, want the transaction's own error", err)
	}
	update(t, s, func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		b, err := tx.Note("n")
		_, ep := tx.Epoch(id, 1)
		_, other := tx.Group(group.ID{2})
		_, m := tx.Message(id, wire.MessageID{1})
		_, own := tx.OwnPackage([32]byte{1})
		was, err2 := tx.Seen(id, group.Device{1}, wire.MessageID{1})
		stock, err3 := tx.Stock(group.Device{1})
		if r.Name != "a" || string(b) != "1" || ep != nil || was || len(stock) != 0 {
			t.Error("a refused transaction left something")
		}
		return errors.Join(err, err2, err3, isUnknown(other), isUnknown(m), isUnknown(own))
	})
}

func epochs(t *testing.T, s Store) {
	id := group.ID{1}
	update(t, s, func(tx group.Tx) error {
		var errs []error
		for _, n := range []uint64{300, 2, 40} {
			e := small(id, n)
			e.Left, e.End = int64(n), &group.Ending{Staged: &group.Commit{Blob: []byte("b")}, Added: []group.Joiner{{Leaf: roster.Leaf{Index: 7}}}}
			errs = append(errs, tx.PutEpoch(e))
		}
		return errors.Join(append(errs, tx.PutEpoch(small(group.ID{2}, 5)))...)
	})
	update(t, s, func(tx group.Tx) error {
		all, err := tx.Epochs(id)
		if err != nil {
			return err
		}
		var got []uint64
		for _, e := range all {
			got = append(got, e.Number)
			if e.Secret != nil || e.Basis != nil || e.End != nil || e.Group != id || e.Left != int64(e.Number) {
				t.Errorf("got %+v, want the epoch without its secrets and large parts", e)
			}
		}
		if !slices.Equal(got, []uint64{2, 40, 300}) {
			t.Errorf("got epochs %v, want them ascending", got)
		}
		e, err := tx.Epoch(id, 40)
		if err == nil && (string(e.Secret) != "secret" || fixed(e) != "fixed" || e.Number != 40 || string(e.End.Staged.Blob) != "b" || e.End.Added[0].Leaf.Index != 7) {
			t.Errorf("got %+v, want the whole epoch", e)
		}
		return errors.Join(err, tx.DeleteEpoch(id, 40))
	})
	update(t, s, func(tx group.Tx) error {
		_, err := tx.Epoch(id, 40)
		return isUnknown(err)
	})
}

// Blob is what is fixed of an epoch, for tests that have no tree.
type Blob []byte

// Append appends it.
func (b Blob) Append(to []byte) []byte { return append(to, b...) }

func small(id group.ID, n uint64) *group.Epoch {
	return &group.Epoch{Group: id, Number: n, Secret: []byte("secret"),
		Basis: group.NewBasis(Blob("fixed"), []roster.Leaf{{Index: uint32(n)}}, [][]byte{{1}}, []byte("state"))}
}

// fixed is what is fixed of an epoch that was read.
func fixed(e *group.Epoch) string {
	f, err := e.Fixed(func(b []byte) (group.Fixed, error) { return Blob(b), nil })
	if err != nil {
		return err.Error()
	}
	return string(f.Append(nil))
}

// saw puts messages that few and many leaves saw, in place of each other.
func saw(t *testing.T, s Store) {
	id := group.ID{1}
	for i, n := range []int{40, 3, 0, 100, 100, 2000} {
		leaves := make([]roster.Leaf, n)
		for j := range leaves {
			leaves[j] = roster.Leaf{Index: uint32(i + j)}
		}
		update(t, s, func(tx group.Tx) error {
			m, err := tx.Message(id, wire.MessageID{1})
			if errors.Is(err, group.ErrUnknown) {
				m, err = &group.Message{Group: id, ID: wire.MessageID{1}}, nil
			}
			m.Saw = leaves
			return errors.Join(err, tx.PutMessage(m))
		})
		for range 2 {
			update(t, s, func(tx group.Tx) error {
				m, err := tx.Message(id, wire.MessageID{1})
				if err == nil && !slices.Equal(m.Saw, leaves) {
					t.Errorf("got %d leaves, want the %d that were put", len(m.Saw), n)
				}
				m.Born++
				return errors.Join(err, tx.PutMessage(m))
			})
		}
	}
}

// parts changes one part of an epoch after the other: each comes back as it was put
// last, beside another epoch with the same parts.
func parts(t *testing.T, s Store) {
	id := group.ID{1}
	want := small(id, 1)
	other := small(id, 2)
	other.Basis = want.Basis
	update(t, s, func(tx group.Tx) error { return errors.Join(tx.PutEpoch(want), tx.PutEpoch(other)) })
	long := make([]byte, 100_000)
	for i, change := range []func(e *group.Epoch){
		func(e *group.Epoch) { e.Secret = []byte("next") },
		func(e *group.Epoch) { e.Secret = append([]byte("long"), long...) },
		func(e *group.Epoch) { e.End = &group.Ending{Commit: long, Welcome: []byte("w"), Aside: []byte("a")} },
		func(e *group.Epoch) {
			e.Basis = group.NewBasis(Blob(append([]byte("other"), long...)), e.Roster, e.Routes, []byte("two"))
		},
		func(e *group.Epoch) { e.End = &group.Ending{Commit: []byte("c")} },
		func(e *group.Epoch) { e.End, e.Secret = nil, []byte("short") },
		func(e *group.Epoch) { e.Basis = group.NewBasis(Blob("fixed"), e.Roster, e.Routes, []byte("state")) },
	} {
		update(t, s, func(tx group.Tx) error {
			e, err := tx.Epoch(id, 1)
			if err != nil {
				return err
			}
			change(e)
			change(want)
			return tx.PutEpoch(e)
		})
		update(t, s, func(tx group.Tx) error {
			e, err := tx.Epoch(id, 1)
			if err != nil {
				return err
			}
			end := want.End
			if end == nil {
				end = &group.Ending{}
			}
			if e.End == nil {
				e.End = &group.Ending{}
			}
			if !bytes.Equal(e.Secret, want.Secret) || fixed(e) != fixed(want) || string(e.State) != string(want.State) || e.Roster[0].Index != 1 || e.End.Name() != end.Name() {
				t.Errorf("change %d: got another epoch than was put", i)
			}
			o, err := tx.Epoch(id, 2)
			if err == nil && (string(o.Secret) != "secret" || fixed(o) != "fixed" || string(o.State) != "state") {
				t.Errorf("change %d: it changed another epoch", i)
			}
			return err
		})
	}
}

func messages(t *testing.T, s Store) {
	id := group.ID{1}
	for _, n := range []byte{9, 3, 7} {
		update(t, s, func(tx group.Tx) error {
			return tx.PutMessage(&group.Message{Group: id, ID: wire.MessageID{n}, Epoch: ^uint64(0), Content: []byte{n}, Waits: []group.Waiting{{Device: group.Device{n}, Parts: 5}}})
		})
	}
	update(t, s, func(tx group.Tx) error {
		m, err := tx.Message(id, wire.MessageID{9})
		if err != nil {
			return err
		}
		m.Sealed = [][]byte{{1}, {2}} // put again it keeps its place
		return tx.PutMessage(m)
	})
	update(t, s, func(tx group.Tx) error {
		all, err := tx.Messages(id)
		if err != nil {
			return err
		}
		var got []byte
		for _, m := range all {
			got = append(got, m.ID[0])
			if m.Epoch != ^uint64(0) || m.Waits[0].Device != (group.Device{m.ID[0]}) || m.Waits[0].Parts != 5 || m.Group != id {
				t.Errorf("got %+v, want what was put", m)
			}
		}
		if !slices.Equal(got, []byte{9, 3, 7}) || len(all[0].Sealed) != 2 {
			t.Errorf("got messages %v, want 9 3 7", got)
		}
		return tx.DeleteMessage(id, wire.MessageID{3})
	})
	update(t, s, func(tx group.Tx) error {
		_, err := tx.Message(id, wire.MessageID{3})
		return isUnknown(err)
	})
}

func seen(t *testing.T, s Store) {
	id, from, m := group.ID{1}, group.Device{2}, wire.MessageID{3}
	update(t, s, func(tx group.Tx) error {
		return errors.Join(tx.MarkSeen(id, from, m, 20_000), tx.MarkSeen(id, from, m, 20_001))
	})
	update(t, s, func(tx group.Tx) error {
		a, e1 := tx.Seen(id, from, m)
		b, e2 := tx.Seen(group.ID{9}, from, m)
		c, e3 := tx.Seen(id, group.Device{9}, m)
		d, e4 := tx.Seen(id, from, wire.MessageID{9})
		if !a || b || c || d {
			t.Errorf("got %t %t %t %t, want only the first seen", a, b, c, d)
		}
		return errors.Join(e1, e2, e3, e4)
	})
}

func packages(t *testing.T, s Store) {
	me := group.Device{1}
	update(t, s, func(tx group.Tx) error {
		return errors.Join(tx.PutOwnPackage(&group.OwnPackage{Hash: [32]byte{1}, Public: []byte("p"), Secrets: []byte("s"), Owner: []byte("o"), For: me, Born: 5}),
			tx.PutStock(me, &group.Package{Hash: [32]byte{9}, Public: []byte("old"), Born: 1}),
			tx.PutStock(me, &group.Package{Hash: [32]byte{1}, Public: []byte("new"), Born: 2}),
			tx.PutStock(group.Device{2}, &group.Package{Hash: [32]byte{1}, Born: 3}))
	})
	update(t, s, func(tx group.Tx) error {
		p, err := tx.OwnPackage([32]byte{1})
		if err != nil {
			return err
		}
		all, err := tx.OwnPackages()
		if len(all) != 1 || all[0].Hash != p.Hash || string(p.Secrets) != "s" || p.For != me || string(p.Owner) != "o" {
			t.Errorf("got %+v and %d in all, want the one that was put", p, len(all))
		}
		stock, err2 := tx.Stock(me)
		if len(stock) != 2 || string(stock[0].Public) != "old" || stock[1].Hash != [32]byte{1} {
			t.Errorf("got a stock of %d, want two, oldest first", len(stock))
		}
		return errors.Join(err, err2, tx.DeleteStock(me, [32]byte{9}), tx.DeleteOwnPackage([32]byte{1}))
	})
	update(t, s, func(tx group.Tx) error {
		_, err := tx.OwnPackage([32]byte{1})
		stock, err2 := tx.Stock(me)
		if len(stock) != 1 {
			t.Errorf("got a stock of %d, want one", len(stock))
		}
		return errors.Join(isUnknown(err), err2)
	})
}

func notes(t *testing.T, s Store) {
	update(t, s, func(tx group.Tx) error {
		return errors.Join(tx.PutNote("a/2", []byte("x")), tx.PutNote("a/1", nil), tx.PutNote("a_1", []byte("y")), tx.PutNote("b%", []byte("z")), tx.PutNote("a/2", []byte("w")))
	})
	update(t, s, func(tx group.Tx) error {
		names, err := tx.Notes("a/")
		if !slices.Equal(names, []string{"a/1", "a/2"}) {
			t.Errorf("got notes %q, want a/1 and a/2", names)
		}
		b, err2 := tx.Note("a/2")
		if string(b) != "w" {
			t.Errorf("got note %q, want the one put last", b)
		}
		none, err3 := tx.Notes("b_") // no pattern
		if len(none) != 0 {
			t.Errorf("got notes %q for b_, want none", none)
		}
		return errors.Join(err, err2, err3, tx.DeleteNotes("a/"))
	})
	update(t, s, func(tx group.Tx) error {
		names, err := tx.Notes("")
		if !slices.Equal(names, []string{"a_1", "b%"}) {
			t.Errorf("got notes %q, want a_1 and b%%", names)
		}
		return err
	})
}

func deleted(t *testing.T, s Store) {
	id := group.ID{1}
	update(t, s, func(tx group.Tx) error {
		return errors.Join(tx.PutGroup(&group.Record{ID: id}), tx.PutEpoch(small(id, 1)),
			tx.PutMessage(&group.Message{Group: id, ID: wire.MessageID{1}}), tx.PutGroup(&group.Record{ID: group.ID{2}}))
	})
	update(t, s, func(tx group.Tx) error { return tx.DeleteGroup(id) })
	update(t, s, func(tx group.Tx) error {
		_, a := tx.Group(id)
		_, b := tx.Epoch(id, 1)
		_, c := tx.Message(id, wire.MessageID{1})
		all, err := tx.Groups()
		if len(all) != 1 || all[0].ID != (group.ID{2}) {
			t.Errorf("got %d groups, want the other one", len(all))
		}
		return errors.Join(isUnknown(a), isUnknown(b), isUnknown(c), err)
	})
}
