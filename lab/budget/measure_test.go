package budget

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/relay"
)

// What a measured figure may be over the model's, and the counts below which a
// difference of so many says nothing.
const (
	least, most = 0.6, 1.6
	few         = 8.0
)

// lightDay is a day of "light" with what programs can do now.
func lightDay() plan {
	return plan{Profile: LightPairs(), days: 1, relay: relay.Config{Roles: roles()}}
}

func roles() []string {
	return []string{relay.RoleLive, relay.RoleBlob, relay.RolePark, relay.RoleToken}
}

// modelled is what the model says of a plan.
func modelled(p Profile) Spending {
	u := Present()
	u.Relays = 0 // one relay for all
	s := Presets(p)[0]
	s.Wake = false // not set up
	r := Measure(p, s, u, 1, 40)
	return r.Spending
}

// compare writes both down and returns which rows do not fit.
func compare(model, measured Spending) (table string, wrong []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %10s %10s %8s\n", "a day of one device", "model", "measured", "ratio")
	is := measured.rows()
	for i, m := range model.rows() {
		want, got := *m.of, *is[i].of
		mark := ""
		if d := got - want; (d > few || d < -few) && (got > want*most || got < want*least) {
			mark = "  outside"
			wrong = append(wrong, m.name)
		}
		ratio := "–"
		if want > 0 {
			ratio = fmt.Sprintf("%.2f", got/want)
		}
		fmt.Fprintf(&b, "%-24s %10.1f %10.1f %8s%s\n", m.name, want, got, ratio, mark)
	}
	return b.String(), wrong
}

// TestModelFitsPrograms holds the model against a day of real clients and a real
// relay. With TACET_LONG=1 it is three days of "normal".
func TestModelFitsPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	p := lightDay()
	if os.Getenv("TACET_LONG") == "1" {
		p.Profile, p.days = NormalPairs(), 3
	}
	table, wrong := compare(modelled(p.Profile), live(t, p))
	t.Log("\n" + table)
	if len(wrong) > 0 {
		t.Errorf("got other than the model says: %s; want from %.1f to %.1f of it", strings.Join(wrong, ", "), least, most)
	}
}

// TestFaultsShow has a device whose relay pings every 5 s, and which opens a put
// context for every cell: both have to be outside.
func TestFaultsShow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	p := lightDay()
	p.Contacts = 2
	p.relay.Ping = 5
	n := 0
	var mu sync.Mutex
	p.fault = func(p *transport.Put) {
		mu.Lock()
		defer mu.Unlock()
		n++
		p.Isolate = fmt.Sprint(p.Isolate, "/", n)
	}
	table, wrong := compare(modelled(p.Profile), live(t, p))
	t.Log("\n" + table)
	for _, name := range []string{"pings", "tokens: put, park", "put connections"} {
		if !slices.Contains(wrong, name) {
			t.Errorf("%s: got them within bounds, want them outside", name)
		}
	}
}
