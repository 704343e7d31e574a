package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestFlippedBytesAreNoticed flips bytes of every file of a profile, one at a
// time. Opening and reading then either fail with an error of ours or show
// exactly what was there: nothing else is ever shown, and nothing panics.
func TestFlippedBytesAreNoticed(t *testing.T) {
	flips := 60
	if testing.Short() {
		flips = 15
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		for i := range 10 {
			ada.send("bob", fmt.Sprint("message ", i))
		}
		time.Sleep(time.Minute)
		ada.stop()
		bob.stop()
		o := ada.opt
		want, err := everything(o)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(o.Dir, "vault", "*"))
		if err != nil || len(files) < 4 {
			t.Fatalf("got files %v, %v", files, err)
		}
		rnd := rand.New(rand.NewPCG(3, 4))
		noticed := map[string]int{}
		for _, f := range files {
			whole, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for range flips {
				if len(whole) == 0 {
					break
				}
				broken := slices.Clone(whole)
				broken[rnd.IntN(len(broken))] ^= 1 << rnd.IntN(8)
				if err := os.WriteFile(f, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := everything(o)
				switch {
				case err == nil && !slices.Equal(got, want):
					t.Errorf("%s: got other contents and no error", filepath.Base(f))
				case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrPassphrase) && !errors.Is(err, ErrNewer):
					t.Errorf("%s: got error %v, want one that a face knows", filepath.Base(f), err)
				case err != nil:
					noticed[filepath.Base(f)]++
				}
			}
			if err := os.WriteFile(f, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"key", "rows.db"} { // of the mark's two slots one is enough
			if noticed[f] == 0 {
				t.Errorf("no flipped byte of %s was ever noticed: %v", f, noticed)
			}
		}
		if got, err := everything(o); err != nil || !slices.Equal(got, want) {
			t.Errorf("put back, the profile reads %d events, %v, want what it was", len(got), err)
		}
	})
}

// everything opens a profile and reads all that a face can show.
func everything(o Options) (events []Event, err error) {
	c, err := Open(context.Background(), o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if events, err = c.Read(context.Background(), Query{}); err != nil {
		return nil, err
	}
	if _, err := c.Contacts(context.Background()); err != nil {
		return nil, err
	}
	_, err = c.Invites(context.Background())
	return events, err
}
