package client

import (
	"context"
	"fmt"
	"time"
)

// doctorWithin bounds the checks that ask the relay: longer than it takes to find
// that it is mute.
const doctorWithin = 20 * time.Second

// warner is a relay that has something to tell about itself.
type warner interface{ Warnings() []string }

// Doctor checks what can be checked from here: one line a check.
func (c *Client) Doctor(ctx context.Context) ([]Check, error) {
	st, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	checks := []Check{{"vault", "ok", "opens, and every row that was read is as it was written", ""}}
	checks = append(checks, c.doctorRelay(ctx)...)
	tokens, err := c.doctorTokens(ctx)
	if err != nil {
		return nil, err
	}
	checks = append(checks, tokens...)
	switch {
	case st.Running && st.Connected && st.Trouble == "":
		checks = append(checks, Check{"messages", "ok", "a process is moving messages and has its relay", ""})
	case st.Running:
		checks = append(checks, Check{"messages", "warn", orElse(st.Trouble, "a process runs and is looking for its relay"), "messages wait here; nothing is lost"})
	default:
		checks = append(checks, Check{"messages", "warn", "nothing moves: no process is running", "leave `tacet chat` or `tacet read --follow` open"})
	}
	if st.Waiting > 0 {
		checks = append(checks, Check{"outbox", "warn", fmt.Sprintf("%d waiting for a device's ack", st.Waiting), "they go by themselves when the other device is there"})
	} else {
		checks = append(checks, Check{"outbox", "ok", "nothing waits", ""})
	}
	for _, text := range st.GroupsFailing {
		checks = append(checks, Check{"group", "fail", text, "other groups go on, and it is tried again; if it stays, ask an admin of the group to remove and add you"})
	}
	people, err := c.Contacts(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		if p.Stopped {
			checks = append(checks, Check{"contact", "fail", p.Name + ": " + p.Warning, "compare safety numbers, then `tacet contacts trust`"})
		}
	}
	return append(checks, Check{"exposure", "ok", st.Exposure, ""}), nil
}

func (c *Client) doctorRelay(ctx context.Context) []Check {
	p := c.home()
	if p.Live == 0 {
		return []Check{{"relay", "warn", "none is set", "accept an invite, or make a profile with --relay"}}
	}
	r, err := c.realms.relay(p.Realm)
	if err != nil {
		return []Check{{"relay", "fail", plain(err), "check --proxy and the network"}}
	}
	ctx, stop := context.WithTimeout(ctx, doctorWithin)
	defer stop()
	d, err := r.Descriptor(ctx)
	if err != nil {
		return []Check{{"relay", "fail", plain(err), "is the relay running, and is its name right? " + p.Realm.Name}}
	}
	out := []Check{{"relay", "ok", p.Realm.Name + " answers and has the pinned key", ""}}
	if uint16(d.Period) != p.Live {
		out = append(out, Check{"period", "fail", "the relay changed its live period", "ask its operator to set it back: routes were offered for the old one"})
	}
	if w, ok := r.(warner); ok {
		for _, text := range w.Warnings() {
			out = append(out, Check{"relay", "warn", text, "the operator can end TLS in the relay itself"})
		}
	}
	return out
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
