package sqlite

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// old puts a store of a released version into a folder of its own.
func old(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "blobs.db")
	copyFile(t, filepath.Join("testdata", name), path)
	copyFile(t, filepath.Join("testdata", name+"-mark"), path+"-mark")
	return path
}

// Every version that was released can be brought to this one, keeps what it
// holds, and its receipt key.
func TestReleasedStoresCanBeUpgraded(t *testing.T) {
	for name, c := range map[string]struct {
		version  int64
		receipts string // SHA-256 of the seed, hex
	}{
		"blobs-1.db": {1, "6207266b9c9a5b2d93f475c4247a6db28ff416cdab05ada4053a171d6d8a8814"},
	} {
		t.Run(name, func(t *testing.T) {
			path := old(t, name)
			if is, newest, err := Versions(path); err != nil || is != c.version || newest != version {
				t.Errorf("got versions %d and %d, %v", is, newest, err)
			}
			for _, want := range []int64{c.version, version} { // a second time there is nothing to do
				if from, err := Upgrade(path); err != nil || from != want {
					t.Errorf("got it from %d, %v, want from %d", from, err, want)
				}
			}
			s, stop := start(t, filepath.Dir(path), 4<<20)
			defer stop()
			wantContent(t, s, storetest.NewEntry(3, 4096))
			seed := sha(s.Receipts().Bytes())
			if s.Renewed() || hex.EncodeToString(seed[:]) != c.receipts {
				t.Errorf("got the receipt key %x, renewed %t, want that of the old store", seed, s.Renewed())
			}
		})
	}
}

// A gate's store keeps root, marks, invites and members, and nobody is told of a
// new seed.
func TestAReleasedGateCanBeUpgraded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	copyFile(t, filepath.Join("testdata", "gate-1.db"), path)
	copyFile(t, filepath.Join("testdata", "gate-1.db-mark"), path+"-mark")
	if _, err := OpenGate(path, gateToday, gateToday, rand.Reader); !errors.Is(err, ErrOlder) {
		t.Errorf("opening it as it is: got %v, want %v", err, ErrOlder)
	}
	for _, want := range []int64{1, gateVersion} {
		if from, err := Upgrade(path); err != nil || from != want {
			t.Errorf("got it from %d, %v, want from %d", from, err, want)
		}
	}
	g, stop := startGate(t, filepath.Dir(path))
	defer stop()
	r := rootOf(t, g, gateToday+1)
	const seed = "e92a971182508e2bb4535576f8fb8dcda93e0e107694513e359dc44634281dcd" // its SHA-256
	if sum := sha(r.Seed[:]); g.Renewed() || hex.EncodeToString(sum[:]) != seed || r.Began != gateToday {
		t.Errorf("got another root, of day %d, renewed %t", r.Began, g.Renewed())
	}
	spend(t, g, 7, gate.Other)
	spend(t, g, 9, gate.First)
	if v, err := g.Issue(t.Context(), gate.Mark{Until: gateToday + 2, Hash: 8, Request: 9}); err != nil || v != gate.Again {
		t.Errorf("what was issued: got verdict %d, %v, want it known", v, err)
	}
	if list, err := g.Invites(t.Context(), gateToday); err != nil || len(list) != 1 || list[0].Uses != 2 {
		t.Errorf("got invites %v, %v, want one with two uses", list, err)
	}
	if known, err := g.Member(t.Context(), [32]byte{2}); err != nil || !known {
		t.Errorf("got member %t, %v", known, err)
	}
	if f, err := g.Facts(t.Context(), time.Unix(int64(gateToday)*86_400, 0)); err != nil || !strings.Contains(f.Schema, rootSchema) {
		t.Errorf("got the schema %s, %v, want that of a new store", f.Schema, err)
	}
}

func TestAnUpgradeIsWholeOrNone(t *testing.T) {
	grow := func(sql string) upgrade { return func(db *sqlite3.Conn) error { return db.Exec(sql) } }
	rain := errors.New("it rains")
	for name, c := range map[string]struct {
		kind kind
		want error
		to   int64
	}{
		"two steps":     {kind{3, map[int64]upgrade{1: grow("CREATE TABLE a (x)"), 2: grow("CREATE TABLE b (x)")}}, nil, 3},
		"second fails":  {kind{3, map[int64]upgrade{1: grow("CREATE TABLE a (x)"), 2: func(*sqlite3.Conn) error { return rain }}}, rain, 1},
		"step missing":  {kind{3, map[int64]upgrade{1: grow("CREATE TABLE a (x)")}}, ErrForeign, 1},
		"newer than us": {kind{0, nil}, ErrNewer, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := old(t, "blobs-1.db")
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all := map[int64]kind{applicationID: c.kind}
			if from, err := upgradeBy(path, all); !errors.Is(err, c.want) || from != 1 {
				t.Errorf("got from %d, %v, want %v", from, err, c.want)
			}
			db, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			f := &file{db: db}
			is, verr := f.number("PRAGMA user_version")
			grown, gerr := f.number("SELECT count(*) FROM sqlite_schema WHERE name IN ('a', 'b')")
			if err := errors.Join(verr, gerr, db.Close()); err != nil {
				t.Fatal(err)
			}
			if is != c.to || (grown > 0) != (c.to == 3) {
				t.Errorf("got version %d with %d new tables, want version %d", is, grown, c.to)
			}
			after, err := os.ReadFile(path)
			if err != nil || c.want == ErrNewer && !bytes.Equal(before, after) {
				t.Errorf("a newer store was changed: %v", err)
			}
		})
	}
}

func TestAStoreOfAnotherVersionSaysWhich(t *testing.T) {
	for want, sql := range map[error]string{ErrNewer: "PRAGMA user_version=9", ErrForeign: "PRAGMA application_id=9"} {
		path := old(t, "blobs-1.db")
		if err := change(path, sql); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Path: path, Max: 1 << 20}); !errors.Is(err, want) {
			t.Errorf("%s: got %v from opening, want %v", sql, err, want)
		}
		if _, err := Upgrade(path); !errors.Is(err, want) {
			t.Errorf("%s: got %v from an upgrade, want %v", sql, err, want)
		}
	}
}
