package braid

import (
	"cmp"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
)

// store keeps the braid keys of messages that were overtaken, oldest first. It is
// copied with every message that comes, so it is one piece of memory rather than
// a secret of internal/key for each. Like those it is behind two pointers, the
// state's and its own, since fmt prints what a single one points at.
//
// spec: braid.md#skipped-keys
type store struct{ list *[]skipped }

func newStore(list []skipped) *store { return &store{&list} }

func (s *store) len() int { return len(*s.list) }

func (s *store) at(i int) *skipped { return &(*s.list)[i] }

// skipped is the key of one message.
type skipped struct {
	epoch uint32
	n     uint32 // number in its chain
	at    uint64 // when it was overtaken, in unix seconds
	k     [32]byte
}

func (a skipped) compare(b skipped) int {
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.n, b.n))
}

// expired reports whether the key is older than its time.
func (a *skipped) expired(now uint64) bool {
	return now >= SkippedSeconds && a.at <= now-SkippedSeconds
}

// take removes the key of a message and returns it, unless it has expired.
func (s *store) take(epoch, n uint32, now uint64) (k key.Braid, ok bool) {
	i, found := slices.BinarySearchFunc(*s.list, skipped{epoch: epoch, n: n}, skipped.compare)
	if !found || s.at(i).expired(now) {
		return k, false
	}
	k = cut[key.BraidRole](s.at(i).k[:])
	s.remove(i, i+1)
	return k, true
}

// remove takes keys out and overwrites them.
func (s *store) remove(from, to int) { *s.list = slices.Delete(*s.list, from, to) }

// age drops what has expired. A key whose time lies ahead, since the clock stood
// wrong or stands wrong now, counts as overtaken now.
func (s *store) age(now uint64) {
	n := 0
	for n < s.len() && s.at(n).expired(now) {
		n++
	}
	s.remove(0, n)
	for i := range *s.list {
		s.at(i).at = min(s.at(i).at, now)
	}
}

// add takes in the newest keys of one chain, at most MaxSkipped, and keeps the
// bound at the cost of the oldest. It overwrites fresh.
func (s *store) add(fresh []skipped) {
	if len(fresh) == 0 {
		return
	}
	old := *s.list
	list := make([]skipped, 0, len(old)+len(fresh))
	*s.list = append(append(list, old...), fresh...)
	clear(old)
	clear(fresh)
	if over := s.len() - MaxSkipped; over > 0 {
		s.remove(0, over)
	}
}

func (s *store) clone() *store { return newStore(slices.Clone(*s.list)) }

func (s *store) wipe() {
	clear(*s.list)
	*s.list = nil
}
