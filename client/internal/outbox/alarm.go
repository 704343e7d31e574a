package outbox

import (
	"container/heap"
	"time"
)

// alarm is one time at which something is due for a row or for a device.
type alarm struct {
	when time.Time // zero: not set
	pos  int       // in the heap
	row  *row      // or
	peer *peer
}

// alarms is a heap of set alarms, the earliest first.
type alarms struct{ list alarmHeap }

// set sets or moves an alarm.
func (s *alarms) set(a *alarm, when time.Time) {
	if a.when.IsZero() {
		a.when = when
		heap.Push(&s.list, a)
		return
	}
	a.when = when
	heap.Fix(&s.list, a.pos)
}

// stop unsets an alarm.
func (s *alarms) stop(a *alarm) {
	if !a.when.IsZero() {
		heap.Remove(&s.list, a.pos)
		a.when = time.Time{}
	}
}

// due takes out the earliest alarm if its time has come.
func (s *alarms) due(now time.Time) *alarm {
	if len(s.list) == 0 || s.list[0].when.After(now) {
		return nil
	}
	a := heap.Pop(&s.list).(*alarm)
	a.when = time.Time{}
	return a
}

// next returns the time of the earliest alarm, zero when there is none.
func (s *alarms) next() time.Time {
	if len(s.list) == 0 {
		return time.Time{}
	}
	return s.list[0].when
}

type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.pos = len(*h)
	*h = append(*h, a)
}

func (h *alarmHeap) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return a
}
