package main

import (
	"fmt"
	"io"
	"strings"

	"rsc.io/qr"

	"github.com/tacet-chat/tacet/relay"
	"github.com/tacet-chat/tacet/relay/setup"
)

// teller says what quickstart sees and does. It keeps the first error of w.
type teller struct {
	w     io.Writer
	quiet bool
	err   error
}

func (t *teller) say(format string, args ...any) {
	if !t.quiet && t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// checks shows what is not as it should be; what is well is a number.
func (t *teller) checks(all []relay.Check) {
	well := 0
	for _, c := range all {
		if c.Level == relay.OK {
			well++
			continue
		}
		t.say("%s", checkLines(c, onScreen(t.w)))
	}
	t.say("%-4s  %s as it should be\n", relay.OK, things(well))
}

func things(n int) string {
	if n == 1 {
		return "1 thing"
	}
	return fmt.Sprintf("%d things", n)
}

// done are the words for what was changed.
var done = map[string]string{"write": "wrote", "make": "made", "start": "started"}

func (t *teller) step(s setup.Step) { t.say("%-8s%s\n", done[s.What], s.Of) }

// plan shows what would be done, with every byte that would be written.
func (t *teller) plan(p *setup.Plan) {
	if len(p.Steps) == 0 {
		return
	}
	t.say("\nWould be done:\n")
	for _, s := range p.Steps {
		t.say("\n%-8s%s\n", s.What, s.Of)
		for line := range strings.Lines(s.Text) {
			t.say("        %s", line)
		}
	}
}

// end says how it stands, and what is left to do.
func (t *teller) end(p *setup.Plan, s *started) {
	switch {
	case len(s.Changes) > 0 || s.Invite != "":
	case s.Start == "":
		t.say("\nNothing to change: the relay runs as it should.\n")
	default:
		t.say("\nNothing to change.\n")
	}
	if len(p.DNS) > 0 {
		t.say("\nDNS lacks:\n\n")
		for _, l := range p.DNS {
			t.say("    %s\n", l)
		}
	}
	if len(p.Torrc) > 0 {
		t.say("\n/etc/tor/torrc lacks (then: usermod -aG %s debian-tor, and restart tor):\n\n", setup.User)
		for _, l := range p.Torrc {
			t.say("    %s\n", l)
		}
	}
	if p.Start != "" {
		t.say("\nStart the relay with:\n\n    %s\n", p.Start)
	}
	if s.Fingerprint != "" {
		t.say("\nThe realm's key, to compare:\n\n    %s\n", s.Fingerprint)
	}
	if s.Invite != "" {
		t.say("\nThe first invite, for one device and seven days. Whoever has it can join:\n\n    %s\n\n", s.Invite)
		if code, err := qr.Encode(s.Invite, qr.L); err == nil {
			t.say("%s\n", drawQR(code))
		}
		t.say("Join with it yourself, then invite others:\n\n    tacet accept --as YOU '%s'\n    tacet invite new --follow\n", s.Invite)
	}
	if s.DryRun {
		t.say("\nNothing was changed: this was a dry run.\n")
	}
}

// drawQR draws a code in half blocks, with the quiet zone that readers want.
func drawQR(code *qr.Code) string {
	const quiet = 2
	dark := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < code.Size && y < code.Size && code.Black(x, y)
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(map[[2]bool]string{{false, false}: "█", {false, true}: "▀", {true, false}: "▄", {true, true}: " "}[[2]bool{dark(x, y), dark(x, y+1)}])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
