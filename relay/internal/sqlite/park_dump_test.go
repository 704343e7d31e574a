package sqlite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

const (
	dumpTrials, dumpDevices, dumpCells = 40, 6, 3
	dumpRows                           = dumpDevices * dumpCells
)

// TestADumpGroupsNothing parks 3 cells of each of 6 devices, each at an address of
// its own, one device after the other, and looks at every order that a dump of the
// tables has: that of the file, and that of each column. Rows of one device stand
// side by side no more often than those of devices dealt out by chance.
func TestADumpGroupsNothing(t *testing.T) {
	beside := map[string]int{} // pairs of neighbours of one device, by order
	dice := rand.New(rand.NewPCG(5, 6))
	orders := map[string]string{
		"the file": "SELECT address FROM parked NOT INDEXED", "the index": "SELECT address FROM parked INDEXED BY parked_until ORDER BY until",
		"address": "SELECT address FROM parked ORDER BY address", "id": "SELECT address FROM parked ORDER BY id",
		"until": "SELECT address FROM parked ORDER BY until, id", "body": "SELECT address FROM parked ORDER BY body",
		"planted": "SELECT address FROM planted ORDER BY n",
	}
	now := time.Unix(20_000*86_400+45_000, 0)
	for trial := range dumpTrials {
		dir := t.TempDir()
		p, stop := startPark(t, dir, 1000)
		of := map[string]int{}
		var arrived []string
		for d := range dumpDevices {
			for c := range dumpCells {
				r := storetest.NewRow(uint32(trial*1000+d*10+c), 1)
				r.Until = park.Until(now.Add(time.Duration(d)*time.Minute), 168, 720)
				if _, err := p.Put(t.Context(), []park.Row{r}, now); err != nil {
					t.Fatal(err)
				}
				of[string(r.Address[:])] = d
				arrived = append(arrived, string(r.Address[:]))
			}
		}
		stop()
		db, err := sqlite3.Open(filepath.Join(dir, "park.db"))
		if err != nil {
			t.Fatal(err)
		}
		// The control: a column that counts as rows come.
		if err := db.Exec("CREATE TABLE planted (n INTEGER PRIMARY KEY, address BLOB)"); err != nil {
			t.Fatal(err)
		}
		for n, a := range arrived {
			if err := db.Exec(fmt.Sprintf("INSERT INTO planted VALUES (%d, x'%x')", n, a)); err != nil {
				t.Fatal(err)
			}
		}
		for order, sql := range orders {
			var seen []int
			if err := each(db, sql, func(q *sqlite3.Stmt) { seen = append(seen, of[string(q.ColumnRawBlob(0))]) }); err != nil {
				t.Fatal(err)
			}
			if len(seen) != dumpRows {
				t.Fatalf("order of %s: got %d rows, want %d", order, len(seen), dumpRows)
			}
			beside[order] += neighbours(seen)
		}
		var dealt []int
		for i := range dumpRows {
			dealt = append(dealt, i/dumpCells)
		}
		dice.Shuffle(dumpRows, func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
		beside["chance"] += neighbours(dealt)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A pair of neighbours is of one device with 2/17. Pairs hardly depend on
	// each other; five deviations of as many throws.
	n, q := float64(dumpTrials*(dumpRows-1)), 2.0/17
	want, bound := n*q, 5*math.Sqrt(n*q*(1-q))
	t.Logf("neighbours of one device, by order: %v; by chance %.0f ± %.0f", beside, want, bound)
	for order, got := range beside {
		if off := math.Abs(float64(got) - want); (order == "planted") != (off > bound) {
			t.Errorf("order of %s: got %d neighbours of one device, by chance it is %.0f ± %.0f", order, got, want, bound)
		}
	}
}

func neighbours(devices []int) (n int) {
	for i := 1; i < len(devices); i++ {
		if devices[i] == devices[i-1] {
			n++
		}
	}
	return n
}
