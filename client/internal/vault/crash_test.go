package vault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// What the test binary does instead of testing, as a child of itself.
const (
	roleEnv   = "TACET_VAULT_TEST_ROLE"
	dirEnv    = "TACET_VAULT_TEST_DIR"
	roleWrite = "write"   // update until killed
	roleOpen  = "open"    // open the vault, say what came of it
	roleTake  = "take"    // take the lock, say what came of it
	roleFill  = "fill"    // write until the file size limit says no
	crashers  = 8         // goroutines that write in the child
	roleReady = "ready\n" // the child has the vault
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := child(role, os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(role, dir string) error {
	switch role {
	case roleWrite:
		return crashChild(dir)
	case roleOpen:
		_, err := Open(dir, pass)
		fmt.Println(errors.Is(err, ErrLocked))
		return nil
	case roleTake:
		_, err := Take(dir)
		fmt.Println(errors.Is(err, ErrLocked))
		return nil
	case roleFill:
		return fillChild(dir)
	}
	return errors.New("no such role")
}

func command(t testing.TB, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// crashChild lets writers update for ever, each printing what was acknowledged.
func crashChild(dir string) error {
	v, err := Open(dir, pass)
	if err != nil {
		return err
	}
	fmt.Print(roleReady)
	var wg sync.WaitGroup
	for w := range int64(crashers) {
		wg.Go(func() {
			for {
				n, err := crashStep(v, w+1)
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				// One short write, so that a kill cannot cut it.
				os.Stdout.WriteString(fmt.Sprintf("%d %d\n", w+1, n))
			}
		})
	}
	wg.Wait()
	return nil
}

// crashStep counts a writer's counter up by one, notes the step as an event,
// and replaces its one row of the outbox. Now and then it fails on purpose, to
// have half an update undone, and now and then it empties the log.
func crashStep(v *Vault, w int64) (n int64, err error) {
	ctx := context.Background()
	mine := errors.New("mine")
	step := func(fail bool) error {
		return v.Update(ctx, func(tx *Tx) error {
			r, _, err := tx.Get(Contact, w)
			if err != nil {
				return err
			}
			n = r.B + 1
			if err := tx.Put(Contact, Row{ID: w, B: n, H: []byte{byte(w)}}); err != nil {
				return err
			}
			if fail {
				return mine
			}
			if _, err := tx.Insert(Event, Row{A: w, B: n, V: value(int(n), 300)}); err != nil {
				return err
			}
			if err := tx.Delete(Outbox, w<<32|(n-1)); err != nil {
				return err
			}
			return tx.Put(Outbox, Row{ID: w<<32 | n, A: w, B: n, V: value(int(n), 1400)})
		})
	}
	switch rand.IntN(40) {
	case 0:
		if err := step(true); err != mine {
			return 0, fmt.Errorf("failing on purpose: %w", err)
		}
	case 1:
		if err := v.Checkpoint(ctx); err != nil {
			return 0, err
		}
	}
	return n, step(false)
}

func TestKillLosesNoAcknowledgedUpdate(t *testing.T) {
	const kills = 12
	v, dir := newVault(t)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	total, acked := 0, map[int64]int64{}
	for range kills {
		total += crashOnce(t, dir, acked, 50+rand.IntN(800))
		v := openVault(t, dir)
		if err := v.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		for w := int64(1); w <= crashers; w++ {
			n := checkWriter(t, v, w)
			if n < acked[w] || n > acked[w]+1 {
				t.Errorf("writer %d: got update %d, want %d or one more", w, n, acked[w])
			}
			acked[w] = n
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d updates acknowledged", kills, total)
}

// crashOnce runs a child, kills it after some acknowledgements, and notes all
// that it gave.
func crashOnce(t *testing.T, dir string, acked map[int64]int64, after int) (lines int) {
	t.Helper()
	cmd := command(t, roleWrite, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(out)
	for s.Scan() {
		var w, n int64
		if _, err := fmt.Sscanf(s.Text(), "%d %d", &w, &n); err != nil {
			continue // it is ready
		}
		acked[w] = max(acked[w], n)
		if lines++; lines == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait() // killed: what it says is no news
	if lines < after {
		t.Fatalf("got %d acknowledgements, want at least %d", lines, after)
	}
	return lines
}

// checkWriter checks that three tables agree on what a writer has done, and
// returns how far it came.
func checkWriter(t *testing.T, v *Vault, w int64) (n int64) {
	t.Helper()
	view(t, v, func(tx *Tx) error {
		r, _, err := tx.Get(Contact, w)
		if err != nil {
			return err
		}
		n = r.B
		next := int64(1)
		err = tx.Each(Event, Query{A: &w}, func(r Row) error {
			if r.B != next || string(r.V) != string(value(int(next), 300)) {
				t.Errorf("writer %d: got event %d, want %d whole", w, r.B, next)
			}
			next++
			return nil
		})
		if err != nil {
			return err
		}
		if next != n+1 {
			t.Errorf("writer %d: got %d events, want %d", w, next-1, n)
		}
		rows := []int64{}
		err = tx.Each(Outbox, Query{A: &w}, func(r Row) error { rows = append(rows, r.B); return nil })
		if n > 0 && (len(rows) != 1 || rows[0] != n) {
			t.Errorf("writer %d: got outbox rows %v, want %d alone", w, rows, n)
		}
		return err
	})
	return n
}
