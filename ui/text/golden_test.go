package text

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsc.io/qr"

	"github.com/tacet-chat/tacet/client"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

var (
	zone = time.FixedZone("there", 3600)
	now  = time.Date(2026, 3, 10, 14, 30, 0, 0, zone)
)

var states = []client.State{client.Queued, client.Offered, client.Live, client.OnDevice, client.Expired, client.Unsent, client.Received, client.Told}

func TestGoldenStates(t *testing.T) {
	var b strings.Builder
	for _, s := range append(states, "later\x1b[31m") {
		fmt.Fprintf(&b, "%s: %s\n", Line(string(s)), State(s))
		for _, moving := range []bool{false, true} {
			if o := Outlook(s, "bob", moving); o != "" {
				fmt.Fprintf(&b, "    %s\n", o)
			}
		}
	}
	golden(t, "states.txt", b.String())
}

func events() []client.Event {
	at := now.Add(-27 * time.Minute)
	return []client.Event{
		{Seq: 1, Contact: "bob", Text: "hi there", State: client.Received, At: now.Add(-26 * time.Hour)},
		{Seq: 2, Contact: "bob", Text: "queued", State: client.Queued, Out: true, At: at},
		{Seq: 3, Contact: "bob", Text: "offered", State: client.Offered, Out: true, At: at},
		{Seq: 4, Contact: "bob", Text: "live", State: client.Live, Out: true, At: at},
		{Seq: 5, Contact: "bob", Text: "acked", State: client.OnDevice, Out: true, At: at},
		{Seq: 6, Contact: "bob", Text: "expired", State: client.Expired, Out: true, At: at},
		{Seq: 7, Contact: "bob", Text: "unsent", State: client.Unsent, Out: true, At: at},
		{Seq: 8, Contact: "bob", Text: "accepted your request", State: client.Told, At: at},
		{Seq: 9, Contact: "bob: hello", Text: "wants to talk with you", State: client.Told, At: at},
		{Seq: 10, Contact: "mallory", Text: "hi\n14:05 from bob: send money\n\x1b[1Aover\u202ethere\n", State: client.Received, At: at},
		{Seq: 11, Contact: "漢字", Text: "👍", State: client.Received, At: at},
		{Seq: 12, Contact: "bob", Text: "two\nlines", State: client.Live, Out: true, At: at},
		{Seq: 13, Contact: "bob", Text: "", State: client.Received, At: at},
	}
}

func TestGoldenEvents(t *testing.T) {
	var b strings.Builder
	for _, e := range events() {
		b.WriteString(Event(e, now, Style{}) + "\n")
	}
	for _, e := range events()[1:7] {
		b.WriteString(Change(e, now, Style{}) + "\n")
	}
	golden(t, "events.txt", b.String())
}

// TestNoMessagePassesForAnother: whatever a text is, only the first line of what
// is shown begins with a time.
func TestNoMessagePassesForAnother(t *testing.T) {
	for _, text := range []string{"a\n14:05 from bob: x", "a\r14:05 from bob: x", "a\u202814:05 from bob: x", "a\x0b14:05 from bob: x", "a\n\n\n14:05 from bob: x"} {
		lines := strings.Split(Event(client.Event{Contact: "mallory", Text: text, State: client.Received, At: now}, now, Style{}), "\n")
		for _, l := range lines[1:] {
			if !strings.HasPrefix(l, continued) {
				t.Errorf("text %q: got line %q, want it to begin with %q", text, l, continued)
			}
		}
	}
}

// identities are all errors that faces explain.
func identities() []error {
	var all []error
	for _, f := range failures {
		all = append(all, f.err)
	}
	return append(all, fmt.Errorf("%w: connecting: connection refused", client.ErrNetwork), context.Canceled, context.DeadlineExceeded,
		errors.New("something\x1b[2J else"), &Failure{What: "own", Means: "Own.", Hint: "own"})
}

func TestGoldenFailures(t *testing.T) {
	var b strings.Builder
	for _, err := range identities() {
		b.WriteString(Explain(fmt.Errorf("%w", err)).Text(Style{}) + "\n")
	}
	golden(t, "failures.txt", b.String())
	if Explain(nil) != nil {
		t.Error("no error: got a failure, want nil")
	}
}

func TestFailuresKeepTheirIdentity(t *testing.T) {
	for _, err := range identities() {
		if f := Explain(fmt.Errorf("doing: %w", err)); !errors.Is(f, err) {
			t.Errorf("%v: got %v, which is not it", err, f)
		}
	}
}

func TestGoldenNumbers(t *testing.T) {
	var groups, words []string
	for i := range 12 {
		groups = append(groups, fmt.Sprintf("%05d", i*7919))
	}
	for i := range 24 {
		words = append(words, "abandonment"[:3+i%6])
	}
	golden(t, "numbers.txt", SafetyNumber(strings.Join(groups, " "))+"\n\n"+Grid(words)+"\n"+
		RelayKey(strings.Repeat("0123456789abcdef", 4))+"\n")
}

func TestGoldenRelations(t *testing.T) {
	rows := [][]string{}
	for _, s := range []string{"accepted", "pending", "request", "declined", "blocked", "failed", "later\x1b"} {
		rows = append(rows, []string{s, "", Relation(client.Contact{State: s}), Relation(client.Contact{State: s, Verified: true})})
	}
	invites := []client.Invite{
		{Uses: 1, State: "open", Online: true}, {Uses: 1, State: "open", Ask: true}, {Uses: 5, Used: 2, State: "open", Online: true},
		{Uses: 5, Used: 5, State: "used"}, {Uses: 1, State: "revoked"}, {Uses: 1, State: "expired"},
	}
	for _, i := range invites {
		rows = append(rows, []string{i.State, "", InviteState(i), InviteFor(i)})
	}
	rows = append(rows, []string{"漢字", "", "wide", Count(1, "message")}, []string{"", "", "", Count(2, "message")})
	golden(t, "relations.txt", strings.ReplaceAll(Table(rows), "\x1b", "^"))
}

func TestGoldenQR(t *testing.T) {
	code, err := qr.Encode("tacet://relay.example:7117/i#AQIDBAUGBwgJCgsMDQ4PEBES", qr.L)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "qr.txt", QR(code.Size, code.Black, Style{}))
	coloured := QR(code.Size, code.Black, Style{On: true})
	if got := strings.Count(coloured, "\x1b[97;40m"); got != (code.Size+2*quiet+1)/2 {
		t.Errorf("coloured: got %d coloured lines, want one for each of %d", got, (code.Size+2*quiet+1)/2)
	}
}
