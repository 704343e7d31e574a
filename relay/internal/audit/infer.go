package audit

import "slices"

// Infer returns what a relay can still tell, in words that promise no more than
// the design does. A role's sentences stand only where the role is on.
//
// spec: docs/threat-model.md
func Infer(roles []string) (all []string) {
	for _, i := range inferences {
		if i.role == "" || slices.Contains(roles, i.role) {
			all = append(all, i.says)
		}
	}
	return all
}

var inferences = []struct{ role, says string }{
	{"", "Whoever runs this relay, or has broken into it, sees the network addresses of those who connect while they do. " +
		"So it can tell who talks to whom by network address, unless people come through Tor, another proxy or a front."},
	{"", "A device that writes to several addresses in one moment shows that these belong together. Clients spread what they send; a watchful relay still has statistics."},
	{"", "One connection watches the addresses of one device for one period: until the period ends they are one set. Nothing that is kept joins two periods."},
	{"blob", "A blob's size is one of four, and the end of its life is a whole day. Who stored or read it is not kept; a watchful relay sees which network address asks for which id, and that two ask for the same."},
	{"park", "A cell that waits shows that its address has something waiting, and roughly until when. It does not show since when, from whom, or that two addresses of two days are one device's."},
	{"token", "There are so many members, and so many devices had tokens today. Which token was whose cannot be computed from what the relay saw; a new member's first tokens are used at once, so their time gives them away."},
	{"wake", "The gateway sees push endpoints for as long as a push takes, and when. It keeps the ids of tickets that were used until they expire. Together with the relay that asked it can join endpoint and time."},
	{"", "Nothing here shows what the machine, its memory beyond this process, its provider or its network keep: snapshots, swap, flow records."},
}
