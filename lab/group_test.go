package lab

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/wire"
)

// circle is a relay behind a tap and people at addresses of their own, who make a
// group. The relay keeps its stores in a directory.
type circle struct {
	t      *testing.T
	host   *Host
	tap    *Tap
	data   string
	people map[string]*client.Client
	stop   map[string]func()
	stock  time.Duration // client.Options.Stock
}

// from is where people are.
var from = map[string]string{"Ada": "127.0.0.2", "Bob": "127.0.0.3", "Carol": "127.0.0.4", "Dave": "127.0.0.5"}

// newCircle starts the relay and lets Ada meet the others.
func newCircle(t *testing.T, names ...string) *circle {
	t.Helper()
	c := &circle{t: t, data: filepath.Join(t.TempDir(), "relay"), people: map[string]*client.Client{}, stop: map[string]func(){}}
	c.host = &Host{Data: c.data, Config: `roles = ["live", "blob", "park"]`, log: io.Discard}
	if err := c.host.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.host.Stop() })
	var err error
	if c.tap, err = NewTap(c.host.Addr(), true, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.tap.Close() })
	for _, n := range append([]string{"Ada"}, names...) {
		c.enter(n)
	}
	for _, n := range names {
		acquaint(t, c.people["Ada"], c.people[n], "hello Ada")
	}
	return c
}

// enter makes a person, whose process thinks that it ends soon: what nobody takes is
// parked at once.
func (c *circle) enter(name string) {
	c.t.Helper()
	if !here(from[name]) {
		c.t.Fatalf("this system has no address %s to tell people apart by", from[name])
	}
	o := client.Options{Dir: c.t.TempDir() + "/p", Passphrase: []byte("x"), Network: wayFrom(from[name]), WeakVault: true, AckMean: 50 * time.Millisecond, Spread: -1, Brief: true, Stock: c.stock}
	if _, err := client.Create(c.t.Context(), o, client.NewProfile{Name: name, Relay: c.tap.Name()}); err != nil {
		c.t.Fatal(err)
	}
	p, err := client.Open(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.people[name] = p
	c.run(name)
	c.t.Cleanup(func() {
		c.leave(name)
		if err := p.Close(); err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	})
}

func (c *circle) run(name string) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.people[name].Run(ctx) }()
	c.stop[name] = func() {
		stop()
		if err := <-done; err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	}
}

// leave ends somebody's Run: they are away.
func (c *circle) leave(name string) {
	if f := c.stop[name]; f != nil {
		delete(c.stop, name)
		f()
	}
}

// until waits for a condition, with patience for a loaded machine.
func (c *circle) until(what string, ok func() bool) {
	c.t.Helper()
	for range 4 { // the helper's own patience is half a minute
		if waited(ok) {
			return
		}
	}
	for n, p := range c.people {
		g, err := p.Groups(context.Background())
		st, _ := p.Status(context.Background())
		events, _ := p.Read(context.Background(), client.Query{})
		c.t.Logf("%s: %+v, %v; %+v", n, g, err, st)
		for _, e := range events {
			c.t.Logf("%s: %s %s: %s (%s, %d of %d)", n, e.Group, e.From, e.Text, e.State, e.Reached, e.Of)
		}
	}
	c.t.Fatalf("waited in vain for %s", what)
}

func waited(ok func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// gather makes a group of people and waits until each of them sees all.
func (c *circle) gather(name string, others ...string) {
	c.t.Helper()
	if _, err := c.people["Ada"].CreateGroup(c.t.Context(), client.GroupOptions{Name: name, People: others}); err != nil {
		c.t.Fatal(err)
	}
	c.members(name, append([]string{"Ada"}, others...)...)
}

// members waits until each of some people sees as many members as they are, and
// nothing that is wanted and not done.
func (c *circle) members(name string, all ...string) {
	c.t.Helper()
	for _, n := range all {
		c.until(fmt.Sprintf("%s to see %d members", n, len(all)), func() bool {
			g, err := c.people[n].GroupInfo(c.t.Context(), name)
			return err == nil && g.State == "active" && len(g.Members) == len(all) && len(g.Changes) == 0
		})
	}
}

// say says something in a group and waits until so many devices have it.
func (c *circle) say(who, group, text string, of int) client.Event {
	c.t.Helper()
	e, err := c.people[who].Send(c.t.Context(), client.Outgoing{To: group, Text: text})
	if err != nil {
		c.t.Fatal(err)
	}
	c.until(fmt.Sprintf("%q of %s to be on %d devices", text, who, of), func() bool { return c.event(who, e.Seq).Reached == of })
	return e
}

func (c *circle) event(who string, seq int64) client.Event {
	c.t.Helper()
	all, err := c.people[who].Read(c.t.Context(), client.Query{After: seq - 1})
	if err != nil || len(all) == 0 {
		c.t.Fatal(err)
	}
	return all[0]
}

// got counts how often somebody was shown a text in a group.
func (c *circle) got(who, text string) (n int) {
	c.t.Helper()
	all, err := c.people[who].Read(c.t.Context(), client.Query{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range all {
		if e.GroupID != 0 && e.State == client.Received && e.Text == text {
			n++
		}
	}
	return n
}

// quiet waits until nobody has anything left to say.
func (c *circle) quiet() {
	c.t.Helper()
	for n := range c.stop {
		c.until("the last acks of "+n, func() bool {
			st, err := c.people[n].Status(c.t.Context())
			return err == nil && st.Waiting == 0
		})
	}
}

// TestAMessageInAGroupOfThree has three people in a group talk, and looks at what the
// relay was given and at what it kept: a message is copies to addresses of their own
// under seals of their own, with nothing in common, and no two rows of a store share a
// value.
func TestAMessageInAGroupOfThree(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 group of three on the wire: short")
	}
	t.Parallel()
	c := newCircle(t, "Bob", "Carol")
	c.gather("walkers", "Bob", "Carol")
	c.say("Ada", "walkers", "the first", 2)
	texts := []string{"the first", "while you are away"}
	var cells map[wire.Address][]Cell
	var hers map[wire.Address]bool
	for i := range 8 { // what else a device has to say at times is no part of the message
		c.quiet()
		began := time.Now()
		text := fmt.Sprint("to both of you, ", i)
		texts = append(texts, text)
		c.say("Ada", "walkers", text, 2)
		cells, hers = c.puts(began, "Ada")
		if len(hers) == 2 {
			break
		}
		t.Logf("Ada put at %d addresses, another device had something else to hear: once more", len(hers))
	}
	// Hers are the leaves of Bob and Carol; their acks go to a third.
	if len(hers) != 2 || len(cells) < 3 {
		t.Errorf("got puts of hers at %d addresses and at %d in all, want 2 and, with the acks, at least 3", len(hers), len(cells))
	}
	look := func(plant bool) *ledger {
		l, n := newLedger(), 0
		for a, all := range cells {
			for i, cell := range all {
				n++
				b := bytes.Clone(cell.Cell[:])
				if plant && hers[a] && i == 0 {
					b[199+n] = byte(n) // between bytes that differ
					copy(b[200+n:], "an epoch")
					b[208+n] = byte(n)
				}
				l.add(n, b)
			}
			n++
			l.add(n, a[:])
		}
		return l
	}
	if l := look(false); len(l.found) != 0 {
		t.Errorf("cells of one message have in common: %v", l.found)
	} else {
		t.Logf("looked at %d bytes of %d addresses", l.bytes, len(cells))
	}
	if l := look(true); len(l.found) != 1 {
		t.Errorf("found %v of eight bytes that were planted in both copies, want them and nothing else", l.found)
	}

	// Both go away: what is said is parked for each. A change lies at a slot.
	c.leave("Bob")
	c.leave("Carol")
	away := time.Now()
	if _, err := c.people["Ada"].ChangeGroup(t.Context(), client.GroupChange{Group: "walkers", Action: client.GroupRename, Name: "slow walkers"}); err != nil {
		t.Fatal(err)
	}
	c.until("the group to have its new name", func() bool {
		g, err := c.people["Ada"].GroupInfo(t.Context(), "slow walkers")
		return err == nil && len(g.Changes) == 0
	})
	if _, err := c.people["Ada"].Send(t.Context(), client.Outgoing{To: "slow walkers", Text: "while you are away"}); err != nil {
		t.Fatal(err)
	}
	c.until("two copies to be parked", func() bool {
		n := 0
		for _, s := range c.tap.Seen(away) {
			if s.Path == "/v1/park" && s.ToRelay {
				n += len(s.Cells())
			}
		}
		return n >= 2
	})
	if err := c.host.Stop(); err != nil { // what it was asked for is on its disk
		t.Fatal(err)
	}
	c.sharesNothing()
	if err := c.host.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	// They come back and have all of it, once.
	c.run("Bob")
	c.run("Carol")
	for _, n := range []string{"Bob", "Carol"} {
		c.until(n+" to read what was said meanwhile", func() bool { return c.got(n, "while you are away") == 1 })
	}
	c.members("slow walkers", "Ada", "Bob", "Carol")
	c.say("Carol", "slow walkers", "back again", 2)
	for _, text := range texts {
		for _, n := range []string{"Bob", "Carol"} {
			if got := c.got(n, text); got != 1 {
				t.Errorf("%s was shown %q %d times, want once", n, text, got)
			}
		}
	}
}

// puts are the cells that were put since then, by address, and at which of them somebody
// did.
func (c *circle) puts(since time.Time, who string) (cells map[wire.Address][]Cell, by map[wire.Address]bool) {
	cells, by = map[wire.Address][]Cell{}, map[wire.Address]bool{}
	for _, s := range c.tap.Seen(since) {
		if !s.ToRelay || s.Kind() != KindPut {
			continue
		}
		for _, cell := range s.Cells() {
			cells[cell.Address] = append(cells[cell.Address], cell)
			if peerIs(&s, from[who]) {
				by[cell.Address] = true
			}
		}
	}
	return cells, by
}

// rows returns the values of a query of one of the relay's stores, row by row.
func (c *circle) rows(store, query string) (all [][][]byte) {
	c.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(c.data, store))
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		c.t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([][]byte, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, values)
	}
	if err := errors.Join(rows.Err(), db.Close()); err != nil {
		c.t.Fatal(err)
	}
	return all
}

// sharesNothing looks at every row of the relay's stores: of blobs, slots among them,
// and of what is parked. A blob's id stands beside its content in two tables; but for
// that no two rows have eight bytes in common. Days are numbers and not looked at.
func (c *circle) sharesNothing() {
	c.t.Helper()
	blobs := c.rows("blobs.db", "SELECT r.id, hash, body FROM record r JOIN content c ON c.id = r.id")
	slots := c.rows("blobs.db", "SELECT r.id FROM record r WHERE capability IS NULL AND until IS NOT NULL")
	parked := c.rows("park.db", "SELECT address, body FROM parked")
	if len(slots) < 2 || len(parked) < 2 {
		c.t.Fatalf("the stores have %d slots and %d parked cells: the test sees nothing", len(slots), len(parked))
	}
	// What is parked at one address of a day belongs together for anybody who looks.
	whose := map[string]int{}
	look := func(plant bool) *ledger {
		l := newLedger()
		for i, row := range append(blobs, parked...) {
			if at, ok := whose[string(row[0])]; ok {
				i = at
			}
			whose[string(row[0])] = i
			for n, v := range row {
				if plant && n == len(row)-1 && i < 2 {
					v = append(bytes.Clone(v), byte(i), 'a', ' ', 'g', 'r', 'o', 'u', 'p', '!')
				}
				l.add(i, v)
			}
		}
		return l
	}
	if l := look(false); len(l.found) != 0 {
		c.t.Errorf("rows of the stores have in common: %v", l.found)
	} else {
		c.t.Logf("looked at %d bytes of %d blobs (%d slots) and %d parked cells", l.bytes, len(blobs), len(slots), len(parked))
	}
	if l := look(true); len(l.found) != 1 {
		c.t.Errorf("found %v of eight bytes that were planted in two rows, want them and nothing else", l.found)
	}
}
