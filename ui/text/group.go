package text

import (
	"fmt"

	"github.com/tacet-chat/tacet/client"
)

// With is whom an event's conversation is with: a person or a group.
func With(e client.Event) string {
	if e.GroupID != 0 {
		return e.Group
	}
	return e.Contact
}

// Reached says on how many devices a message to a group is.
func Reached(e client.Event) string {
	if e.Reached == 0 {
		return State(e.State)
	}
	if e.Reached >= e.Of {
		return "on every device"
	}
	return fmt.Sprintf("on %d of %s", e.Reached, Count(e.Of, "device"))
}

// GroupState says how one stands in a group.
func GroupState(g client.Group) string {
	n := Count(len(g.Members), "member")
	switch g.State {
	case "left":
		return "you are not in it any more"
	case "invited":
		return "you are asked whether to join"
	case "declined":
		return "you did not join"
	case "behind":
		return "this device missed changes and waits to be let in again"
	case "entering":
		return "this device waits until another of yours, or an admin's, lets it in"
	case "waiting":
		return n + "; member changes are waiting, messages go on"
	}
	if g.Admin {
		return n + ", you are an admin"
	}
	return n
}

// Hybrid says whether a group is protected against quantum computers.
func Hybrid(yes bool) string {
	if yes {
		return "protected against those that may come"
	}
	return "not protected: the group was made for many"
}

// Fanout says how messages of a group leave.
func Fanout(g client.Group) string {
	if g.Shared {
		return "one for all: the relay sees how many listen"
	}
	return "a copy for each device, with nothing in common"
}
