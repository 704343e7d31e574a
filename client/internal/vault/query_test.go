package vault

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEachSelectsInTheOrderOfIDs(t *testing.T) {
	v, _ := newVault(t)
	var all []Row
	rng := rand.New(rand.NewPCG(5, 6))
	update(t, v, func(tx *Tx) error {
		for range 200 {
			r := Row{A: rng.Int64N(3), B: rng.Int64N(20) - 10, V: []byte{1}}
			id, err := tx.Insert(Event, r)
			if err != nil {
				return err
			}
			r.ID = id
			all = append(all, r)
		}
		return nil
	})
	view(t, v, func(tx *Tx) error {
		for range 400 {
			q := randomQuery(rng)
			want := expect(all, q)
			var got []int64
			if err := tx.Each(Event, q, func(r Row) error { got = append(got, r.ID); return nil }); err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: got %v, want %v", q, got, want)
			}
			if n, err := tx.Count(Event, q); err != nil || n != len(want) {
				t.Fatalf("%+v: got count %d, %v, want %d", q, n, err, len(want))
			}
		}
		return nil
	})
}

func randomQuery(rng *rand.Rand) Query {
	var q Query
	if rng.IntN(2) == 0 {
		q.A = ptr64(rng.Int64N(4))
	}
	if rng.IntN(3) == 0 {
		q.BFrom = ptr64(rng.Int64N(24) - 12)
	}
	if rng.IntN(3) == 0 {
		q.BTo = ptr64(rng.Int64N(24) - 12)
	}
	if rng.IntN(3) == 0 {
		q.AfterID = rng.Int64N(210)
	}
	if rng.IntN(3) == 0 {
		q.BeforeID = rng.Int64N(210)
	}
	if rng.IntN(2) == 0 {
		q.Limit = rng.IntN(100)
	}
	q.Desc = rng.IntN(2) == 0
	return q
}

// expect is what Query says, once more.
func expect(all []Row, q Query) (ids []int64) {
	for _, r := range all {
		if (q.A == nil || *q.A == r.A) && (q.BFrom == nil || r.B >= *q.BFrom) && (q.BTo == nil || r.B <= *q.BTo) &&
			r.ID > q.AfterID && (q.BeforeID == 0 || r.ID < q.BeforeID) {
			ids = append(ids, r.ID)
		}
	}
	if q.Desc {
		slices.Reverse(ids)
	}
	if q.Limit > 0 && len(ids) > q.Limit {
		ids = ids[:q.Limit]
	}
	return ids
}

func TestRowsOfOneAComeFromTheIndex(t *testing.T) {
	v, _ := newVault(t)
	if err := v.turn.take(t.Context(), reading); err != nil {
		t.Fatal(err)
	}
	defer v.turn.give()
	q := Query{A: ptr64(1), BFrom: ptr64(2), AfterID: 3}
	where, _ := q.where()
	s, err := v.db.stmt("EXPLAIN QUERY PLAN SELECT v FROM event AS t" + where + " ORDER BY t.id LIMIT 10")
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	for s.Step() {
		plan = append(plan, s.ColumnText(3))
	}
	s.Reset()
	if want := []string{"SEARCH t USING INDEX event_a (a=? AND id>?)"}; !slices.Equal(plan, want) {
		t.Errorf("got plan %q, want %q", plan, want)
	}
}

func TestEachLetsItsFunctionWrite(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error {
		for range 100 {
			if _, err := tx.Insert(Outbox, Row{A: 1}); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, v, func(tx *Tx) error {
		n := 0
		err := tx.Each(Outbox, Query{A: ptr64(1)}, func(r Row) error {
			n++
			if r.ID%2 == 0 {
				return tx.Delete(Outbox, r.ID)
			}
			r.B = 7
			return tx.Put(Outbox, r)
		})
		if n != 100 {
			t.Errorf("got %d rows, want 100", n)
		}
		return err
	})
	view(t, v, func(tx *Tx) error {
		n, err := tx.Count(Outbox, Query{BFrom: ptr64(7), BTo: ptr64(7)})
		if n != 50 {
			t.Errorf("got %d rows, want 50", n)
		}
		return err
	})
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEachEndsWithErrorAndContext(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error {
		for range 100 {
			if _, err := tx.Insert(Event, Row{}); err != nil {
				return err
			}
		}
		return nil
	})
	mine, n := errors.New("mine"), 0
	err := v.View(t.Context(), func(tx *Tx) error {
		return tx.Each(Event, Query{}, func(Row) error { n++; return mine })
	})
	if err != mine || n != 1 {
		t.Errorf("got %v after %d rows, want mine after 1", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	err = v.View(ctx, func(tx *Tx) error {
		return tx.Each(Event, Query{}, func(Row) error { n++; cancel(); return nil })
	})
	if !errors.Is(err, context.Canceled) || n > chunk {
		t.Errorf("got %v after %d rows, want context.Canceled after at most %d", err, n, chunk)
	}
}

func TestIDsAreNotUsedTwice(t *testing.T) {
	v, _ := newVault(t)
	insert := func(id int64) (got int64) {
		update(t, v, func(tx *Tx) (err error) {
			got, err = tx.Insert(Event, Row{ID: id})
			return err
		})
		return got
	}
	for _, c := range []struct{ id, want int64 }{{0, 1}, {0, 2}, {10, 10}, {5, 5}, {0, 11}} {
		if got := insert(c.id); got != c.want {
			t.Errorf("inserting %d: got id %d, want %d", c.id, got, c.want)
		}
	}
	update(t, v, func(tx *Tx) error { return tx.Delete(Event, 11, 10, 99) })
	v = reopen(t, v)
	if got := insert(0); got != 12 {
		t.Errorf("after deleting the last: got id %d, want 12", got)
	}
}

func TestDuplicatesAreRefusedAndTheUpdateGoesOn(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error {
		for id := int64(1); id <= 2; id++ {
			if err := tx.Put(Contact, Row{ID: id, H: []byte{byte(id)}, V: []byte("old")}); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, v, func(tx *Tx) error {
		if _, err := tx.Insert(Contact, Row{ID: 1}); err != ErrDuplicate {
			t.Errorf("inserting an id again: got %v, want ErrDuplicate", err)
		}
		if _, err := tx.Insert(Contact, Row{H: []byte{2}}); err != ErrDuplicate {
			t.Errorf("inserting a handle again: got %v, want ErrDuplicate", err)
		}
		if err := tx.Put(Contact, Row{ID: 1, H: []byte{2}}); err != ErrDuplicate {
			t.Errorf("putting another's handle: got %v, want ErrDuplicate", err)
		}
		for range 2 { // no handle is no duplicate; event handles need not be unique
			if _, err := tx.Insert(Contact, Row{}); err != nil {
				return err
			}
			if _, err := tx.Insert(Event, Row{H: []byte{1}}); err != nil {
				return err
			}
		}
		r, ok, err := tx.Find(Event, []byte{1})
		if !ok || r.ID != 1 {
			t.Errorf("got row %d, %t, want the first", r.ID, ok)
		}
		return err
	})
	if got := get(t, v, Contact, 1); string(got) != "old" {
		t.Errorf("got %q, want old", got)
	}
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBoundsAreKept(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error {
		for name, r := range map[string]Row{
			"id 0":           {},
			"negative id":    {ID: -1},
			"id too great":   {ID: maxID + 1},
			"H too long":     {ID: 1, H: make([]byte, MaxH+1)},
			"value too long": {ID: 1, V: make([]byte, MaxV+1)},
		} {
			if err := tx.Put(Meta, r); err != ErrRow {
				t.Errorf("%s: got %v, want ErrRow", name, err)
			}
		}
		if err := tx.Put("sqlite_schema", Row{ID: 1}); err != ErrRow {
			t.Errorf("no table: got %v, want ErrRow", err)
		}
		if _, _, err := tx.Get("ledger", 1); err != ErrRow {
			t.Errorf("no table: got %v, want ErrRow", err)
		}
		if _, _, err := tx.Find("state", []byte{1}); err != ErrRow {
			t.Errorf("no table: got %v, want ErrRow", err)
		}
		for _, q := range []Query{{Limit: -1}, {AfterID: -1}, {BeforeID: -1}} {
			if err := tx.Each(Meta, q, nil); err != ErrRow {
				t.Errorf("%+v: got %v, want ErrRow", q, err)
			}
		}
		if _, ok, err := tx.Find(Meta, nil); ok || err != nil {
			t.Errorf("empty handle: got %t, %v, want nothing", ok, err)
		}
		return tx.Put(Meta, Row{ID: maxID, A: -1 << 63, B: 1<<63 - 1, H: make([]byte, MaxH), V: make([]byte, MaxV)})
	})
	v = reopen(t, v)
	if got := get(t, v, Meta, maxID); len(got) != MaxV {
		t.Errorf("got %d bytes, want %d", len(got), MaxV)
	}
	err := v.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.Insert(Meta, Row{})
		return err
	})
	if !errors.Is(err, ErrRow) {
		t.Errorf("after the last id: got %v, want ErrRow", err)
	}
}
