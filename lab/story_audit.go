package lab

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/relay"
)

// audit has the running relay audited, with all that its people said, are and
// have as what must not be found, and prints the report.
func (t *story) audit() error {
	t.title("The audit")
	t.say("What an operator can show to whoever asks. The relay runs on; `tacet-relay audit` asks its stores and searches its files, its log and its memory for all that these two people " +
		"said, are called and have as keys, and for every address and cell that the tap saw:")
	words, err := t.words(t.ctx, t.link)
	if err != nil {
		return err
	}
	r, err := relay.Audit(t.ctx, relay.Config{Data: t.Host.Data}, relay.AuditOptions{
		Logs: []string{t.Logs()}, Memory: canSearch, Needles: strings.NewReader(needleList(slices.Concat(words, t.keys), t.traces())),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(t.out)
	for line := range strings.Lines(r.Text()) {
		if line != "\n" {
			line = "    " + line
		}
		fmt.Fprint(t.out, line)
	}
	fmt.Fprintf(t.out, "\n%s\n", r.Line())
	t.want(r.OK(), "the audit has %d findings; of %d planted it found %d", len(r.Findings), r.Hunted.Planted, r.Hunted.Found)
	return nil
}

// needleList writes what must be nowhere, and what may be under way in memory.
func needleList(never, traces []hunt.Needle) string {
	var b strings.Builder
	for _, n := range never {
		fmt.Fprintf(&b, "never\t%s\t%s\n", n.What, hex.EncodeToString(n.Bytes))
	}
	for _, n := range traces {
		where := "kept"
		if n.What == "address" { // some are watched now
			where = "now"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\n", where, n.What, hex.EncodeToString(n.Bytes))
	}
	return b.String()
}
