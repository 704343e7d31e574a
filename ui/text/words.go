package text

import (
	"fmt"
	"strings"

	"github.com/tacet-chat/tacet/client"
)

// State says in a few words where a message is.
func State(s client.State) string {
	switch s {
	case client.Queued:
		return "queued here"
	case client.Offered:
		return "offered"
	case client.Parked:
		return "parked at their relay"
	case client.Live:
		return "live: a device has it"
	case client.OnDevice:
		return "on their device"
	case client.Expired:
		return "expired here, no ack came"
	case client.Unsent:
		return "taken back"
	case client.Received:
		return "received"
	case client.Told:
		return "notice"
	case client.Disappeared:
		return "disappeared"
	}
	return Line(string(s)) // of a newer version
}

// Outlook says what a state means for the message, and what has to happen next.
// moving says that a process goes on moving messages after this one.
func Outlook(s client.State, who string, moving bool) string {
	next := "Nothing moves while no process runs: leave `tacet chat` or `tacet read --follow` open."
	if moving {
		next = "A running process goes on with it."
	}
	switch s {
	case client.Queued:
		return "The message waits on this device; no relay has answered for it yet. " + next
	case client.Offered:
		return "The relay offered it, and no device of " + who + " was there to take it. The message waits on this device. " + next
	case client.Parked:
		return "No device of " + who + " was there, so their relay keeps it, sealed, until one comes. It stays on this device too, until theirs says that it has it."
	case client.Live:
		return "A device of " + who + " has it. The copy here goes when that device says so for good. " + next
	case client.Expired:
		return "Its time ran out before a device of " + who + " acked it. It is not sent again."
	}
	return ""
}

// Relation says how we stand with a contact.
func Relation(c client.Contact) string {
	switch c.State {
	case "accepted":
		if c.Verified {
			return "verified"
		}
		return "not verified"
	case "pending":
		return "asked, no answer yet"
	case "request":
		return "asks to talk with you"
	case "declined":
		return "declined by you"
	case "blocked":
		return "blocked by you"
	case "failed":
		return "the invite did not work"
	}
	return Line(c.State)
}

// InviteState says what can be done with an invite of ours.
func InviteState(i client.Invite) string {
	switch {
	case i.State == "open" && !i.Online:
		return "open; the relay does not have it yet"
	case i.State == "open":
		return "open"
	case i.State == "used":
		return "used up"
	}
	return Line(i.State)
}

// InviteFor says who may use an invite: for one person, for 5 people (2 did).
func InviteFor(i client.Invite) string {
	s := "for one person"
	if i.Uses != 1 {
		s = fmt.Sprintf("for %d people", i.Uses)
		if i.Used > 0 {
			s += fmt.Sprintf(" (%d did)", i.Used)
		}
	}
	if i.Ask {
		s += ", you are asked"
	}
	return s
}

// Count says a number of things: 1 message, 2 messages.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// SafetyNumber shows 60 digits in three rows of four groups.
func SafetyNumber(n string) string {
	groups := strings.Fields(n)
	var b strings.Builder
	for i, g := range groups {
		switch {
		case i == 0:
		case i%4 == 0:
			b.WriteByte('\n')
		default:
			b.WriteString("  ")
		}
		b.WriteString(Line(g))
	}
	return b.String()
}

// RelayKey shows the fingerprint of a relay's key in groups of eight digits, to
// be compared with what the relay shows.
func RelayKey(k string) string {
	k = Line(k)
	var groups []string
	for len(k) > 8 {
		groups, k = append(groups, k[:8]), k[8:]
	}
	return strings.Join(append(groups, k), " ")
}

// Grid shows recovery words with their numbers, four in a row.
func Grid(words []string) string {
	var rows [][]string
	for i, w := range words {
		if i%4 == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], fmt.Sprintf("%2d  %s", i+1, w))
	}
	return Table(rows)
}
