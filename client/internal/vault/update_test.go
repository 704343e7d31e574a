package vault

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// heldTurn lets a test have many callers wait: it takes the turn, starts f n
// times, waits until all wait, and gives the turn up.
func heldTurn(t *testing.T, v *Vault, n int, f func(i int)) {
	t.Helper()
	if err := v.turn.take(t.Context(), reading); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	for {
		v.turn.mu.Lock()
		waiting := len(v.turn.writers) + len(v.turn.readers)
		v.turn.mu.Unlock()
		if waiting == n {
			break
		}
		runtime.Gosched()
	}
	v.turn.give()
	wg.Wait()
}

func TestUpdatesThatWaitShareACommit(t *testing.T) {
	v, dir := newVault(t)
	v.Close()
	d := newDisk()
	v = openOn(t, dir, d)
	update(t, v, func(tx *Tx) error { return nil })
	before, syncs := v.Generation(), d.syncs
	heldTurn(t, v, 200, func(i int) {
		err := v.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Insert(Event, Row{B: int64(i)})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	if got := d.syncs - syncs; got > 6 {
		t.Errorf("got %d syncs for 200 updates, want at most 6", got)
	}
	if got := v.Generation(); got != before+200 {
		t.Errorf("got generation %d, want %d", got, before+200)
	}
	view(t, v, func(tx *Tx) error {
		n, err := tx.Count(Event, Query{})
		if n != 200 {
			t.Errorf("got %d events, want 200", n)
		}
		return err
	})
}

// TestGenerationsThatACrashCutOffAreNotUsedAgain opens one state twice, as
// after a crash before the first commit.
func TestGenerationsThatACrashCutOffAreNotUsedAgain(t *testing.T) {
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	at := v.Generation()
	v.Close()
	files := readVault(t, dir)
	seen := map[uint64]bool{}
	for range 20 {
		writeVault(t, dir, files)
		v := openVault(t, dir)
		if got := v.Generation(); got != at {
			t.Errorf("got generation %d after opening, want %d", got, at)
		}
		update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
		g := v.Generation()
		if g <= at || seen[g] {
			t.Errorf("got generation %d, want one above %d that was not used", g, at)
		}
		seen[g] = true
		v.Close()
	}
}

func TestLoneUpdateIsCommittedAtOnce(t *testing.T) {
	v, dir := newVault(t)
	v.Close()
	d := newDisk()
	v = openOn(t, dir, d)
	put := func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) }
	update(t, v, put) // the first one makes the log
	for range 3 {
		before := d.syncs
		update(t, v, put)
		if got := d.syncs - before; got != 1 {
			t.Errorf("got %d syncs for an update, want 1", got)
		}
	}
}

func TestFailingUpdateDoesNotHurtItsBatch(t *testing.T) {
	v, _ := newVault(t)
	mine := errors.New("mine")
	heldTurn(t, v, 60, func(i int) {
		err := v.Update(t.Context(), func(tx *Tx) error {
			if err := tx.Put(Event, Row{ID: int64(i + 1)}); err != nil {
				t.Error(err)
			}
			switch i % 3 {
			case 1:
				return mine
			case 2: // the same handle as all others of its kind: only the first gets in
				_, err := tx.Insert(Meta, Row{H: []byte("same")})
				return err
			}
			return nil
		})
		switch want := []error{nil, mine, ErrDuplicate}[i%3]; {
		case i%3 == 2 && err == nil:
		case !errors.Is(err, want):
			t.Errorf("update %d: got %v, want %v", i, err, want)
		}
	})
	view(t, v, func(tx *Tx) error {
		n, err := tx.Count(Event, Query{})
		if n != 21 {
			t.Errorf("got %d events, want 20 and the one that was first", n)
		}
		return err
	})
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if err := reopen(t, v).Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestViewSeesCommittedRowsOnly has views wait among updates, which must not
// be let in between two updates of one commit.
func TestViewSeesCommittedRowsOnly(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	heldTurn(t, v, 90, func(i int) {
		if i%3 > 0 {
			if err := v.Update(t.Context(), func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, B: int64(i)}) }); err != nil {
				t.Error(err)
			}
			return
		}
		err := v.View(t.Context(), func(tx *Tx) error {
			if v.db.transacting() {
				t.Error("a view runs inside an open transaction")
			}
			if tx.Generation() != v.Generation() {
				t.Errorf("got generation %d, want %d", tx.Generation(), v.Generation())
			}
			_, _, err := tx.Get(Meta, 1)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestPanicAndGoexitUndoTheUpdateAlone(t *testing.T) {
	v, _ := newVault(t)
	heldTurn(t, v, 30, func(i int) {
		done := make(chan struct{})
		go func() { // the goroutine that ends here must not take others with it
			defer close(done)
			defer func() {
				if r := recover(); r != nil && r != "mine" {
					t.Errorf("got panic %v, want mine", r)
				}
			}()
			err := v.Update(t.Context(), func(tx *Tx) error {
				if _, err := tx.Insert(Event, Row{B: int64(i)}); err != nil {
					t.Error(err)
				}
				switch i % 3 {
				case 1:
					panic("mine")
				case 2:
					runtime.Goexit()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		<-done
	})
	view(t, v, func(tx *Tx) error {
		n, err := tx.Count(Event, Query{})
		if n != 10 {
			t.Errorf("got %d events, want 10", n)
		}
		return err
	})
	func() {
		defer func() { recover() }()
		v.View(t.Context(), func(*Tx) error { panic("mine") })
	}()
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	v, _ := newVault(t)
	if err := v.turn.take(t.Context(), reading); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 4 {
		go func() { errs <- v.Update(ctx, func(*Tx) error { return errors.New("must not run") }) }()
		go func() { errs <- v.View(ctx, func(*Tx) error { return errors.New("must not run") }) }()
	}
	cancel()
	for range 8 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
	v.turn.give()
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
}

func TestTurnIsNeverLostToACancelledWaiter(t *testing.T) {
	v, _ := newVault(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%3 == 0 {
					go cancel()
				}
				if i%2 == 0 {
					v.View(ctx, func(*Tx) error { return nil })
				} else {
					v.Update(ctx, func(tx *Tx) error { return tx.Put(Meta, Row{ID: int64(i)}) })
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if v.turn.held || v.batch != nil {
		t.Errorf("got turn held %t, batch %v, want neither", v.turn.held, v.batch)
	}
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWritersDoNotKeepReadersOut(t *testing.T) {
	var u turn
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		if err := u.take(ctx, writing); err != nil {
			t.Fatal(err)
		}
		var order []byte
		wait := func(k kind, c byte) {
			go func() {
				if u.take(ctx, k) == nil {
					order = append(order, c)
					if k == writing {
						if u.pass() {
							return
						}
						u.settled()
					}
					u.give()
				}
			}()
			synctest.Wait()
		}
		wait(writing, 'a')
		wait(reading, 'r')
		wait(writing, 'b')
		wait(reading, 's')
		if !u.pass() {
			t.Fatal("got nobody to pass to, want a writer")
		}
		synctest.Wait()
		if got := string(order); got != "abrs" {
			t.Errorf("got order %s, want abrs", got)
		}
		// After a commit the waiting readers come first, newer ones do not.
		order = nil
		if err := u.take(ctx, writing); err != nil {
			t.Fatal(err)
		}
		wait(writing, 'a')
		wait(reading, 'r')
		wait(reading, 's')
		u.settled()
		u.give()
		synctest.Wait()
		if got := string(order); got != "rsa" {
			t.Errorf("got order %s, want rsa", got)
		}
		if u.held {
			t.Error("got the turn held, want it free")
		}
	})
}

func TestDeletedRowsLeaveTheLogByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, dir := newVault(t)
		size := func() int { return len(readVault(t, dir)[rowsName+logSuffix]) }
		update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
		update(t, v, func(tx *Tx) error { return tx.Delete(Meta, 1) })
		if size() == 0 {
			t.Fatal("got an empty log after an update, want a filled one")
		}
		<-time.After(tidyAfter - 1)
		if size() == 0 {
			t.Error("got an empty log too early")
		}
		<-time.After(2)
		synctest.Wait()
		if n := size(); n != 0 {
			t.Errorf("got a log of %d bytes, want it empty", n)
		}
		update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if n := size(); n != 0 {
			t.Errorf("after closing: got a log of %d bytes, want it empty", n)
		}
	})
}

func TestLongLogIsEmptiedAtOnce(t *testing.T) {
	v, dir := newVault(t)
	v.Close()
	v = openOn(t, dir, newLazyDisk())
	emptied := 0
	for emptied < 2 {
		update(t, v, func(tx *Tx) error {
			_, err := tx.Insert(Event, Row{V: make([]byte, MaxV)})
			return err
		})
		n := len(readVault(t, dir)[rowsName+logSuffix])
		if n == 0 {
			emptied++
		}
		if most := (maxLogPages + 300) * (pageSize + 24); n > most {
			t.Fatalf("got a log of %d bytes, want at most %d", n, most)
		}
	}
}

func TestClosedVaultRefuses(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Update":           v.Update(t.Context(), func(*Tx) error { return nil }),
		"View":             v.View(t.Context(), func(*Tx) error { return nil }),
		"Checkpoint":       v.Checkpoint(t.Context()),
		"Verify":           v.Verify(t.Context()),
		"ChangePassphrase": v.ChangePassphrase(pass, pass),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
	if err := v.Close(); err != nil {
		t.Errorf("closing again: got %v, want no error", err)
	}
	if v.keys.file.Valid() || v.keys.row != nil || v.keys.ledger != nil {
		t.Error("the keys are there after Close")
	}
}

func TestTxEndsWithItsFunction(t *testing.T) {
	v, _ := newVault(t)
	var kept *Tx
	update(t, v, func(tx *Tx) error { kept = tx; return nil })
	if _, _, err := kept.Get(Meta, 1); err != ErrTx {
		t.Errorf("Get: got %v, want ErrTx", err)
	}
	if err := kept.Put(Meta, Row{ID: 1}); err != ErrTx {
		t.Errorf("Put: got %v, want ErrTx", err)
	}
	view(t, v, func(tx *Tx) error {
		kept = tx
		if err := tx.Put(Meta, Row{ID: 1}); err != ErrTx {
			t.Errorf("Put in a view: got %v, want ErrTx", err)
		}
		if _, err := tx.Insert(Meta, Row{}); err != ErrTx {
			t.Errorf("Insert in a view: got %v, want ErrTx", err)
		}
		if err := tx.Delete(Meta, 1); err != ErrTx {
			t.Errorf("Delete in a view: got %v, want ErrTx", err)
		}
		return nil
	})
	if err := kept.Each(Meta, Query{}, func(Row) error { return nil }); err != ErrTx {
		t.Errorf("Each: got %v, want ErrTx", err)
	}
}
