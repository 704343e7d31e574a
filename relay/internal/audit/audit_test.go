package audit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tacet-chat/tacet/internal/hunt"
)

// blobs is a store as the inventory has it.
func blobs() Facts {
	f := Facts{Store: "blobs", Place: "blobs.db", Schema: "CREATE TABLE record (id BLOB PRIMARY KEY, hash BLOB NOT NULL)"}
	for _, t := range Inventory() {
		if t.Store != "blobs" {
			continue
		}
		for _, c := range t.Columns {
			f.Columns = append(f.Columns, Place{t.Name, c.Name})
		}
	}
	f.Promises = []Promise{{Says: "gone at the end of its day", Grace: 10 * time.Minute}}
	f.Sizes = []Size{{4096, 2}}
	return f
}

func TestAStoreAsItShouldBePasses(t *testing.T) {
	var r Report
	r.Check([]Facts{blobs()})
	if len(r.Findings) != 0 || r.Facts < 12 {
		t.Errorf("got %d facts and %v, want no findings", r.Facts, r.Findings)
	}
}

func TestWhatIsNotAsItShouldBeIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		check  string
		says   string
	}{
		"an unlisted column": {func(f *Facts) { f.Columns = append(f.Columns, Place{"record", "arrived"}) }, "inventory", "record.arrived is in no inventory"},
		"an unlisted table":  {func(f *Facts) { f.Columns = append(f.Columns, Place{"log", "id"}) }, "inventory", "log.id is in no inventory"},
		"a missing column":   {func(f *Facts) { f.Columns = f.Columns[1:] }, "inventory", "record.id is missing"},
		"a word in a column": {func(f *Facts) { f.Columns = append(f.Columns, Place{"record", "Sender_Key"}) }, "names", `"sender"`},
		"a word in a table":  {func(f *Facts) { f.Columns = append(f.Columns, Place{"chatroom", "id"}) }, "names", `"room"`},
		"a promise":          {func(f *Facts) { f.Promises[0].Late, f.Promises[0].Rows = 11*time.Minute, 3 }, "promises", "3 rows are past it, the oldest by 11 min"},
		"a size of its own":  {func(f *Facts) { f.Sizes = append(f.Sizes, Size{4095, 1}) }, "sizes", "4095 bytes"},
		"a store in trouble": {func(f *Facts) { f.Trouble = "it does not answer" }, "inventory", "does not answer"},
	} {
		f := blobs()
		c.change(&f)
		var r Report
		r.Check([]Facts{f})
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Check == c.check && strings.Contains(f.What, c.says) && f.Hint != "" }) {
			t.Errorf("%s: got %v, want a finding of %s that says %q", name, r.Findings, c.check, c.says)
		}
	}
	f := blobs()
	f.Promises[0].Late, f.Promises[0].Rows = 9*time.Minute, 3
	var r Report
	if r.Check([]Facts{f}); len(r.Findings) != 0 {
		t.Errorf("within its grace: got %v, want no findings", r.Findings)
	}
}

// The inventory itself keeps the rules: every field says something, no name has
// a word that it must not have, and there are fewer tables than eleven.
func TestTheInventoryKeepsTheRules(t *testing.T) {
	seen, tables := map[Place]bool{}, map[string]bool{}
	for _, table := range Inventory() {
		var r Report
		f := Facts{Store: table.Store}
		if table.Store != "PostgreSQL" && table.Store != "Redis" {
			tables[table.Name] = true
		}
		for _, c := range table.Columns {
			p := Place{table.Store + "/" + table.Name, c.Name}
			if seen[p] {
				t.Errorf("%v is listed twice", p)
			}
			seen[p] = true
			if c.Holds == "" || c.Why == "" || c.Stays == "" || c.Links == "" || table.Why == "" {
				t.Errorf("%v: a field says nothing", p)
			}
			f.Columns = append(f.Columns, Place{table.Name, c.Name})
		}
		if r.names(&f); len(r.Findings) != 0 {
			t.Error(r.Findings)
		}
	}
	if n := len(tables); n == 0 || n >= len(Eleven()) {
		t.Errorf("got %d tables, want fewer than %d", n, len(Eleven()))
	}
}

func noise(seed uint64, n int) []byte {
	dice, b := rand.New(rand.NewPCG(seed, 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(dice.Uint32())
	}
	return b
}

// sorts is by name, as the relay's files are.
func sorts(name string) Sort {
	switch {
	case strings.HasSuffix(name, ".log"):
		return Said
	case strings.HasSuffix(name, ".key"):
		return Kept
	}
	return Stored
}

func folder() fstest.MapFS {
	return fstest.MapFS{
		"blobs.db":  {Data: slices.Concat(noise(1, 5000), []byte(blobs().Schema), noise(2, 50_000))},
		"empty.db":  {},
		"relay.log": {Data: []byte("level=INFO msg=ready version=v1.2.3 tls=on store=disk\nlevel=ERROR msg=\"a request ended in a fault of the relay\" where=relay/internal/hub.(*Hub).ServePostPut:123\n")},
		"realm.key": {Data: []byte("tacet-realm-key-1 mZ3xQh8vT0uYk5RrW1sBn7pLd2eCfAgJmZ3xQh8vT0uYk5RrW1s\n")},
	}
}

var needles = []hunt.Needle{{What: "a text", Bytes: []byte("the words of Ada")}, {What: "a key", Bytes: noise(9, 32)}}

func searched(t *testing.T, files fstest.MapFS, needles []hunt.Needle) *Report {
	t.Helper()
	r := new(Report)
	s, err := r.NewSearch(needles, blobs().Schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Files(files, sorts); err != nil {
		t.Fatal(err)
	}
	if err := s.Control(files, sorts, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestACleanFolderHasNoFindingsAndItsControlIsFound(t *testing.T) {
	for name, n := range map[string][]hunt.Needle{"with needles": needles, "without": nil} {
		r := searched(t, folder(), n)
		if len(r.Findings) != 0 || !r.OK() || r.Hunted.Planted < 9 {
			t.Errorf("%s: got %v and %+v, want no findings and all that was planted", name, r.Findings, r.Hunted)
		}
		if !strings.HasSuffix(r.Line(), " facts checked, 0 findings, control found") {
			t.Errorf("%s: got %q", name, r.Line())
		}
	}
}

func TestWhatMustNotBeKeptIsFound(t *testing.T) {
	plant := func(name string, b []byte) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			d := m[name].Data
			m[name] = &fstest.MapFile{Data: slices.Concat(d[:len(d)/2], b, d[len(d)/2:])}
		}
	}
	cases := map[string]func(fstest.MapFS){
		"a text in a store":     plant("blobs.db", []byte("\x00"+canary+"\x00")),
		"a needle in a store":   plant("blobs.db", needles[1].Bytes),
		"a needle among keys":   plant("realm.key", needles[0].Bytes),
		"a needle as a name":    func(m fstest.MapFS) { m["the words of Ada"] = &fstest.MapFile{} },
		"a text beyond a piece": func(m fstest.MapFS) { m["big.db"] = &fstest.MapFile{Data: append(noise(3, piece-30), canary...)} },
	}
	for _, l := range said {
		cases["log with "+l.what+" "+l.sample] = plant("relay.log", []byte(" x="+l.sample+" "))
	}
	for name, change := range cases {
		files := folder()
		change(files)
		if r := searched(t, files, needles); len(r.Findings) == 0 || r.OK() {
			t.Errorf("%s: got no findings", name)
		}
	}
}

// A search that is blind is found out by its control.
func TestABlindSearchIsFoundOut(t *testing.T) {
	r := new(Report)
	s, err := r.NewSearch(needles, canary) // it takes the canary for its own
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Control(folder(), sorts, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	if r.OK() || !strings.HasSuffix(r.Line(), "control NOT found") {
		t.Errorf("got %q, want a control that was not found", r.Line())
	}
}

func TestNoPlaceFillsTheReport(t *testing.T) {
	files := folder()
	files["relay.log"] = &fstest.MapFile{Data: []byte(strings.Repeat("from=203.0.113.9 at=12:13:14\n", 1000))}
	if r := searched(t, files, needles); len(r.Findings) != maxFindings {
		t.Errorf("got %d findings, want %d", len(r.Findings), maxFindings)
	}
}

func TestInferencesGoByRole(t *testing.T) {
	few, all := Infer([]string{"live"}), Infer([]string{"live", "blob", "park", "token", "wake"})
	if len(few) == 0 || len(all) != len(inferences) || len(few) >= len(all) {
		t.Errorf("got %d and %d sentences of %d", len(few), len(all), len(inferences))
	}
}
