package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// TestWhoIsBehindOwesManyAcks: it took more texts of one author than one ack names, and
// was let in again all the same.
func TestWhoIsBehindOwesManyAcks(t *testing.T) {
	w := newWorld(t, 96)
	p := w.people("ann", "ben")
	ann, ben := p[0], p[1]
	id := ann.create("walks")
	ann.add(id, ben)
	w.settle(time.Hour)
	ben.on = false
	for i := range 100 {
		ann.send(id, fmt.Sprint("text ", i))
	}
	w.settle(10 * time.Minute)
	ben.change(id, func(r *group.Record) { r.State = group.Behind })
	for _, c := range ann.rows {
		w.deliver(cell{ann, c})
	}
	ben.on = true
	for _, c := range ann.rows {
		w.deliver(cell{ann, c})
	}
	ben.start()
	w.settle(2 * time.Hour)
	w.together(id, ann, ben)
}
