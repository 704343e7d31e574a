package commits

import (
	"container/heap"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// began is the wall clock at the begin of every run.
var began = time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC)

// world is one run.
type world struct {
	ctx    context.Context
	c      Schedule
	seed   uint64
	trace  io.Writer
	crypto group.Crypto
	plant  plant // a fault that is there on purpose

	now    time.Duration
	queue  events
	serial int
	steps  int

	chance draw // of the network and of what befalls devices
	work   draw // what people do
	nodes  []*node
	realms []*realm
	cut    map[[2]int]bool // devices that cannot reach each other
	rcut   map[[2]int]bool // device and realm
	healed bool

	book   book
	words  bool          // tell every word and cell
	before func() *store // of the device whose transaction just committed
}

type event struct {
	at time.Duration
	n  int
	f  func()
}

type events []*event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *events) Pop() any {
	o := *q
	x := o[len(o)-1]
	*q = o[:len(o)-1]
	return x
}

// after runs f when d has passed.
func (w *world) after(d time.Duration, f func()) {
	w.serial++
	heap.Push(&w.queue, &event{w.now + max(0, d), w.serial, f})
}

func (w *world) log(format string, a ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%s  %s\n", clock(w.now), fmt.Sprintf(format, a...))
	}
}

// clock shows virtual time as day and time of day.
func clock(d time.Duration) string {
	return fmt.Sprintf("d%02d %02d:%02d:%06.3f", int(d/(24*time.Hour)), int(d.Hours())%24, int(d.Minutes())%60, (d % time.Minute).Seconds())
}

// maxSteps ends a run that does not end by itself.
const maxSteps = 3_000_000

// run works off the queue up to the end.
func (w *world) run() {
	for w.queue.Len() > 0 {
		if w.queue[0].at > w.c.end {
			break
		}
		e := heap.Pop(&w.queue).(*event)
		w.now = e.at
		if w.ended(livelock) || w.steps&255 == 0 && w.ctx != nil && w.ctx.Err() != nil {
			return
		}
		if w.steps++; w.steps > maxSteps {
			w.fail(livelock, "more than %d steps", maxSteps)
			return
		}
		e.f()
	}
	w.now = w.c.end
}

// lag is how long something is on its way: mostly a moment, sometimes long.
func (w *world) lag() time.Duration {
	if !w.healed && w.chance.chance(0.1) {
		return w.chance.between(5*time.Second, 20*time.Minute)
	}
	return w.chance.between(50*time.Millisecond, 3*time.Second)
}

// send carries something from one device to another: lost, doubled, late or not.
func (w *world) send(from, to int, f func()) {
	k := 1
	if w.chance.chance(w.c.double) {
		k = 2
	}
	for ; k > 0; k-- {
		if !w.healed && w.chance.chance(w.c.lose) {
			continue
		}
		w.after(w.lag(), func() {
			if w.nodes[to].on && !w.cut[[2]int{from, to}] {
				f()
			}
		})
	}
}
