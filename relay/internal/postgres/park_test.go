package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/redis"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// noon is when these tests live: a row of storetest.NewRow lies for a week from there.
var noon = time.Unix(20_000*86_400+12*3600, 0)

func parked(t *testing.T, p *Park, rows ...park.Row) {
	t.Helper()
	for some := range slices.Chunk(rows, wire.MaxParkItems) {
		got, err := p.Put(t.Context(), some, noon)
		if err != nil || !slices.Equal(got, make([]wire.ParkVerdict, len(some))) {
			t.Fatalf("putting: got %v, %v", got, err)
		}
	}
}

func taken(t *testing.T, p *Park, a wire.Address) []wire.Parked {
	t.Helper()
	got, err := p.Take(t.Context(), []wire.Address{a}, park.Mark{}, noon)
	if err != nil {
		t.Fatalf("taking: %v", err)
	}
	return got
}

// query returns the values of a query of one column.
func query(t *testing.T, at, text string) (all []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	rows, err := c.Query(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return all
}

// Keys that were lost take with them what they sealed: a cell that comes again is
// kept anew, and is not taken for one that nobody can read.
func TestLostKeysAreLostCells(t *testing.T) {
	keys := &mapKeys{}
	at := fresh(t)
	a, b := open(t, at).Park(1<<20, keys), open(t, at).Park(1<<20, keys)
	var rows []park.Row
	for n := range uint32(150) {
		rows = append(rows, storetest.NewRow(1, n))
	}
	parked(t, a, rows...)
	keys.lose()
	if got := taken(t, b, rows[0].Address); len(got) != 0 {
		t.Errorf("got %d rows without their keys", len(got))
	}
	parked(t, b, rows[7])
	if got := taken(t, a, rows[0].Address); len(got) != 1 || got[0].Cell != rows[7].Cell {
		t.Errorf("got %d rows, want the one that came again", len(got))
	}
	// A key of one epoch can be gone alone; a page must not end at such rows.
	keys.mu.Lock()
	keys.keys = map[park.Epoch]park.Key{}
	keys.mu.Unlock()
	long := storetest.NewRow(1, 999)
	long.Until = park.Until(noon, 30*24, 30*24)
	parked(t, a, long)
	if got := taken(t, b, rows[0].Address); len(got) != 1 || got[0].Cell != long.Cell {
		t.Errorf("got %d rows, want the one with a key", len(got))
	}
}

// An epoch lies in an unlogged table of its own, which goes as a whole.
func TestEpochsAreTablesThatGo(t *testing.T) {
	at := fresh(t)
	p := open(t, at).Park(1<<20, &mapKeys{})
	short, long := storetest.NewRow(1, 1), storetest.NewRow(1, 2)
	short.Until = park.Until(noon, 1, 30*24)
	parked(t, p, short, long)
	const tables = `SELECT relname || ' ' || relpersistence::text FROM pg_class WHERE relkind = 'r' AND relname LIKE 'parked%' AND relnamespace = current_schema()::regnamespace ORDER BY 1`
	if got, want := query(t, at, tables), []string{"parked_20000 u", fmt.Sprintf("%s u", tableOf(park.EpochOf(long.Until)))}; !slices.Equal(got, want) {
		t.Errorf("got tables %v, want %v", got, want)
	}
	for _, c := range []struct {
		at   time.Time
		left int
	}{{time.Unix(20_001*86_400, 0), 1}, {time.Unix(long.Until, 0), 0}} {
		if left, err := p.Sweep(t.Context(), c.at, park.Last(c.at, 30*24)); err != nil || left != c.left {
			t.Errorf("sweeping: got %d left, %v, want %d", left, err, c.left)
		}
		if got := query(t, at, tables); len(got) != c.left {
			t.Errorf("got tables %v, want %d", got, c.left)
		}
	}
}

// Nodes put, take, ack and sweep while days go by: none waits for another for
// ever, and nothing is lost that was not over.
func TestNodesParkWhileEpochsGo(t *testing.T) {
	at, keys := fresh(t), &mapKeys{}
	var mu sync.Mutex // guards day
	day := 0
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return noon.Add(time.Duration(day) * 24 * time.Hour) }
	var all sync.WaitGroup
	for node := range uint32(3) {
		p := open(t, at).Park(64<<20, keys)
		for part := range uint32(4) {
			all.Go(func() {
				for n := range uint32(40) {
					r, from := storetest.NewRow(node*4+part, n), now()
					r.Until = park.Until(from, uint16(24*(2+n%5)), 30*24)
					v, err := p.Put(t.Context(), []park.Row{r}, from)
					if err != nil && now().Unix() >= r.Until {
						continue // its time went by meanwhile, and its table with it
					}
					if err != nil || v[0] != wire.ParkKept {
						t.Errorf("putting: got %v, %v", v, err)
						return
					}
					got, err := p.Take(t.Context(), []wire.Address{r.Address}, park.Mark{}, from)
					if err != nil || !slices.ContainsFunc(got, func(w wire.Parked) bool { return w.Cell == r.Cell }) && now().Unix() < r.Until {
						t.Errorf("taking: got %d rows without the one, %v", len(got), err)
						return
					}
					if n%2 == 0 {
						for _, w := range got {
							if _, err := p.Ack(t.Context(), w.Address, []wire.RowID{w.ID}); err != nil {
								t.Errorf("acking: %v", err)
								return
							}
						}
					}
				}
			})
		}
		all.Go(func() {
			for range 10 {
				mu.Lock()
				day++
				mu.Unlock()
				if _, err := p.Sweep(t.Context(), now(), park.Last(now(), 30*24)); err != nil {
					t.Errorf("sweeping: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// found says which needles lie in the files below dir, or in what more hands
// over: as they are, by a half, or as hex.
func found(t *testing.T, needles map[string][]byte, dir string, more func(func([]byte)) error) (all []string) {
	t.Helper()
	search := func(b []byte) {
		for what, n := range needles {
			if slices.Contains(all, what) {
				continue
			}
			if bytes.Contains(b, n[:(len(n)+1)/2]) || bytes.Contains(b, n[len(n)/2:]) || bytes.Contains(b, fmt.Appendf(nil, "%x", n)) {
				all = append(all, what)
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if search(b); errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if more != nil {
		if err := more(search); err != nil {
			t.Logf("SKIPPED 1 test: memory of a process cannot be read here: %v", err)
		}
	}
	slices.Sort(all)
	return all
}

// A marker in a cell's place is nowhere in the files of PostgreSQL and in the
// memory of Redis: not while it waits, not after its ack, sweep and epoch. What
// is put into a table and a key as it is, is found there by the same search.
func TestNothingOfACellIsLeft(t *testing.T) {
	pg, rd := servers.NewPostgres(t, servers.PostgresOptions{}), servers.NewRedis(t)
	d := open(t, pg.URL(""))
	keys, err := redis.Open(t.Context(), redis.Options{URL: rd.URL(0), Random: rand.Reader, Raise: d.Raise})
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if _, err := keys.Root(t.Context(), 20_000, 20_000); err != nil {
		t.Fatal(err)
	}
	p := d.Park(64<<20, keys)
	secret := func(n byte) []byte { return bytes.Repeat([]byte{n, 0xa5, ^n, 0x3c}, 16) }
	needles := map[string][]byte{"acked": secret(1), "over": secret(2), "control": secret(3), "address": nil}
	var rows []park.Row
	for n := range uint32(200) {
		r := storetest.NewRow(n%5, n)
		copy(r.Cell[500:], needles[map[bool]string{true: "acked", false: "over"}[n%2 == 0]])
		rows = append(rows, r)
	}
	address := rows[0].Address
	needles["address"] = address[:]
	parked(t, p, rows...)
	// The controls: a logged row, and a token's mark beside it.
	sql(t, pg.URL(""), "CREATE TABLE control (b bytea)", fmt.Sprintf("INSERT INTO control VALUES ('\\x%x')", needles["control"]), "CHECKPOINT")
	if v, err := keys.Spend(t.Context(), gate.Mark{Until: 20_002, Hash: 1, Request: 1}); err != nil || v != gate.First {
		t.Fatalf("got verdict %d, %v", v, err)
	}
	rdb := map[string][]byte{"acked": needles["acked"], "over": needles["over"], "root": []byte("{tacet}:root")}
	if got := found(t, needles, pg.Data(), nil); !slices.Equal(got, []string{"control"}) && !slices.Equal(got, []string{"address", "control"}) {
		t.Errorf("while cells wait: found %v, want the control and no cell", got)
	}
	if got := found(t, rdb, rd.Dir(), rd.Memory); len(got) > 0 && !slices.Equal(got, []string{"root"}) {
		t.Errorf("in Redis: found %v, want the name of its root and no cell", got)
	}
	// Unlogged pages are written at a stop in good order: then addresses lie in the files.
	restart := func() {
		t.Helper()
		pg.Stop()
		if err := pg.Start(); err != nil {
			t.Fatal(err)
		}
		for range mostConns + 1 {
			if p.recount(t.Context()) == nil {
				return
			}
		}
		t.Fatal("the database did not come back")
	}
	restart()
	if got := found(t, needles, pg.Data(), nil); !slices.Equal(got, []string{"address", "control"}) {
		t.Errorf("after a stop: found %v, want addresses and the control, and no cell", got)
	}
	for _, r := range rows[:5] {
		for _, w := range taken(t, p, r.Address) {
			if bytes.Contains(w.Cell[:], needles["acked"]) {
				if gone, err := p.Ack(t.Context(), w.Address, []wire.RowID{w.ID}); err != nil || gone != 1 {
					t.Fatalf("acking: got %d, %v", gone, err)
				}
			}
		}
	}
	end := time.Unix(rows[0].Until, 0)
	epoch := park.EpochOf(rows[0].Until)
	if left, err := p.Sweep(t.Context(), end, park.Last(end, 30*24)); err != nil || left != 0 {
		t.Fatalf("sweeping: got %d left, %v", left, err)
	}
	if _, ks, err := keys.ParkKeys(t.Context(), []park.Epoch{epoch}, false); err != nil || ks[0] != nil {
		t.Errorf("got a key of an epoch that is over, %v", err)
	}
	sql(t, pg.URL(""), "DROP TABLE control", "CHECKPOINT")
	restart()
	// What was logged stays in the log for long; what was not is gone.
	if got := found(t, needles, pg.Data(), nil); !slices.Equal(got, []string{"control"}) {
		t.Errorf("after ack, sweep and the end of the epoch: found %v, want the logged control alone", got)
	}
	if got := found(t, rdb, rd.Dir(), rd.Memory); slices.Contains(got, "acked") || slices.Contains(got, "over") {
		t.Errorf("in Redis: found %v, want no cell", got)
	}
}

// PostgreSQL empties unlogged tables after a crash of its own: cells are lost, and
// with them no message; the store goes on.
func TestACrashOfTheServerEmptiesPark(t *testing.T) {
	pg := servers.NewPostgres(t, servers.PostgresOptions{})
	keys := &mapKeys{}
	p := open(t, pg.URL("")).Park(64<<20, keys)
	r := storetest.NewRow(1, 1)
	parked(t, p, r)
	again := func() {
		t.Helper()
		if err := pg.Start(); err != nil {
			t.Fatal(err)
		}
		for range mostConns + 1 {
			if err := p.recount(t.Context()); err == nil {
				return
			}
		}
		t.Fatal("the database did not come back")
	}
	pg.Stop()
	if _, err := p.Put(t.Context(), []park.Row{r}, noon); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without a server: got %v, want %v", err, ErrUnreachable)
	}
	again()
	if got := taken(t, p, r.Address); len(got) != 1 {
		t.Errorf("after a stop in good order: got %d rows, want 1", len(got))
	}
	pg.Kill()
	again()
	if got := taken(t, p, r.Address); len(got) != 0 {
		t.Errorf("after a crash: got %d rows, want none", len(got))
	}
	parked(t, p, r)
	if got := taken(t, p, r.Address); len(got) != 1 || got[0].Cell != r.Cell {
		t.Errorf("got %d rows, want the one that came again", len(got))
	}
}

// A cell that comes at once at three nodes, with three lives, is one row.
func TestACellIsOneRowWhateverItsLife(t *testing.T) {
	at, keys := fresh(t), &mapKeys{}
	var nodes []*Park
	for i := range 3 {
		p := open(t, at).Park(64<<20, keys)
		r := storetest.NewRow(9, uint32(i))
		r.Until = park.Until(noon, uint16(24*(2+3*i)), 30*24) // makes the table
		parked(t, p, r)
		nodes = append(nodes, p)
	}
	for n := range uint32(40) {
		var all sync.WaitGroup
		for i, p := range nodes {
			rows := []park.Row{storetest.NewRow(1, n)} // and more, which take their time
			for k := range uint32(wire.MaxParkItems - 1) {
				rows = append(rows, storetest.NewRow(100+uint32(i), n*wire.MaxParkItems+k))
			}
			rows[0].Until = park.Until(noon, uint16(24*(2+3*i)), 30*24)
			all.Go(func() {
				if v, err := p.Put(t.Context(), rows, noon); err != nil || v[0] != wire.ParkKept {
					t.Errorf("putting: got %v, %v", v, err)
				}
			})
		}
		all.Wait()
	}
	if got := taken(t, nodes[0], storetest.NewRow(1, 0).Address); len(got) != 40 {
		t.Errorf("got %d rows of 40 cells", len(got))
	}
}

// A day of three nodes that put and sweep every five minutes, with a clock that
// is set, and with one that is off for two hours: no row is older than its
// promise and ten minutes, no table than its epoch.
func TestNoRowOutlivesItsPromise(t *testing.T) {
	at, keys := fresh(t), &mapKeys{}
	var nodes []*Park
	for range 3 {
		nodes = append(nodes, open(t, at).Park(64<<20, keys))
	}
	const minute, span = 60, 26 * 60
	n, most, gone := uint32(0), 0, 0
	for m := range span {
		now := noon.Add(time.Duration(m) * time.Minute)
		for i, p := range nodes {
			if i == 2 && m > 300 && m < 420 || (m+2*i)%5 != 0 {
				continue
			}
			r := storetest.NewRow(uint32(i), n)
			r.Until = park.Until(now, uint16(1+n%5), 30*24)
			n++
			if v, err := p.Put(t.Context(), []park.Row{r}, now); err != nil || v[0] != wire.ParkKept {
				t.Fatalf("putting: got %v, %v", v, err)
			}
			left, err := p.Sweep(t.Context(), now, park.Last(now, 30*24))
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, left)
		}
		if m%3 != 0 {
			continue
		}
		var oldest, tables int64
		if err := nodes[0].one(t.Context(), []any{&oldest, &tables}, `SELECT coalesce(min(until), $1), (SELECT count(*) FROM pg_inherits WHERE inhparent = 'parked'::regclass) FROM parked`, now.Unix()); err != nil {
			t.Fatal(err)
		}
		if late := now.Unix() - oldest; late > 10*minute {
			t.Fatalf("minute %d: a row is %d s past its promise", m, late)
		} else if late > 0 {
			gone++
		}
		if tables > 3 {
			t.Fatalf("minute %d: got tables of %d epochs", m, tables)
		}
	}
	if most < 50 || gone == 0 {
		t.Errorf("at most %d rows waited, %d times one was past its promise: this tested nothing", most, gone)
	}
}
