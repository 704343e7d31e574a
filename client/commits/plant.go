package commits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// plant is a fault that is put into the world on purpose, around an engine that is as
// it is: what a client would be that has it. A run with it has to fail.
type plant string

const (
	forgetsSeen   plant = "forgets-seen"    // what was shown is not noted
	twoChildren   plant = "two-children"    // a relay that is said to be honest confirms two commits of one epoch
	falseReceipt  plant = "false-receipt"   // a device believes that its put won, whatever lies there
	seesTooLittle plant = "sees-too-little" // an author is shown the roster of the beginning, and writes to that of now
	acksFirst     plant = "acks-first"      // what was taken is acked before it is stored
	dropsRows     plant = "drops-rows"      // a copy leaves the outbox when it was sent
	revokesNobody plant = "revokes-nobody"  // a revocation is told to no engine
	losesCommit   plant = "loses-commit"    // a crash takes back the last thing that was stored
)

// Plants are all of them.
var Plants = []string{string(forgetsSeen), string(twoChildren), string(falseReceipt), string(seesTooLittle), string(acksFirst), string(dropsRows), string(revokesNobody), string(losesCommit)}

func parsePlant(s string) (plant, error) {
	if s != "" && !slices.Contains(Plants, s) {
		return "", fmt.Errorf("faults to plant are %s", strings.Join(Plants, ", "))
	}
	return plant(s), nil
}

// sow puts the fault in that the relay has.
func (w *world) sow() {
	if w.plant == twoChildren {
		w.realms[0].conduct = lies
	}
	for _, n := range w.nodes {
		if r := n.current(); r != nil {
			n.first = n.expected(r)
		}
	}
}

// seenBy is the roster that an author is shown.
func (w *world) seenBy(n *node, r *group.Record) []roster.Leaf {
	if w.plant == seesTooLittle && n.first != nil {
		return n.first
	}
	return n.expected(r)
}
