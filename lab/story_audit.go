package lab

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/relay"
)

// parked has Ada and Bob talk though they are never there at one time, and the
// relay audited while a cell waits there.
func (t *story) parked() error {
	if err := t.quiet(); err != nil {
		return err
	}
	t.title("Never there at the same time")
	t.say("This relay's operator has switched on that cells may wait for who is away. Bob's process ends. Ada writes, and hers is one that ends soon, as `tacet send` does: what nobody takes is left at the relay at once.")
	words, err := t.words(t.ctx, t.link) // while both can be asked
	if err != nil {
		return err
	}
	for _, p := range []*Person{t.Ada, t.Bob} {
		if err := p.Stop(); err != nil {
			return err
		}
		p.order.Brief = true
	}
	if err := t.Ada.Start(t.ctx, Fall{}); err != nil {
		return err
	}
	e, err := t.write(t.Ada, "By the time you read this I am on the train.")
	if err != nil {
		return err
	}
	if _, err = t.Ada.Reach(t.ctx, patience, e.Seq, client.Parked); err != nil {
		return err
	}
	if err := t.audit(append(words, hunt.Needle{What: "message text", Bytes: []byte(e.Text)})); err != nil {
		return err
	}
	since := time.Now()
	if err := errors.Join(t.Ada.Stop(), t.Bob.Start(t.ctx, Fall{})); err != nil {
		return err
	}
	if _, err := t.Bob.Receive(t.ctx, patience, e.Text); err != nil {
		return err
	}
	t.say("Ada's process ends, and only then Bob's starts. He takes the cell and reads it, the relay deletes it, and his ack waits for her in the same way:")
	for until := time.Now().Add(patience); !t.left(t.Bob, since); {
		if err := t.wait(100 * time.Millisecond); err != nil || time.Now().After(until) {
			return errors.Join(err, errors.New("an ack was not parked"))
		}
	}
	if err := errors.Join(t.Bob.Stop(), t.Ada.Start(t.ctx, Fall{})); err != nil {
		return err
	}
	if e, err = t.Ada.Reach(t.ctx, patience, e.Seq, client.OnDevice); err != nil {
		return err
	}
	t.sent(t.Ada, e)
	return t.Bob.Start(t.ctx, Fall{})
}

// left reports whether the relay has answered somebody who parked something.
func (t *story) left(p *Person, since time.Time) bool {
	return slices.ContainsFunc(t.Tap.Seen(since), func(s Sighting) bool {
		return s.Path == "/v1/park" && !s.ToRelay && strings.HasPrefix(s.Peer, p.order.From)
	})
}

// audit has the running relay audited, with all that its people said, are and
// have as what must not be found, and prints the report.
func (t *story) audit(words []hunt.Needle) error {
	t.title("The audit")
	t.say("What an operator can show to whoever asks. The relay runs on; `tacet-relay audit` asks its stores and searches its files, its log and its memory for all that these two people " +
		"said, are called and have as keys, and for every address and cell that the tap saw:")
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
