package hub

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	tableShards = 64
	maxWatchers = 4096 // of one address: a shared group address has many
)

// table says which connections watch which address.
type table struct {
	seed   maphash.Seed // secret: nobody picks addresses that fall into one shard
	shards [tableShards]shard
}

// shard has some of the addresses. Nearly every one has a single watcher, so
// those have a map of their own. Slices in many are never changed in place:
// whoever looks one up reads it without the lock.
type shard struct {
	mu   sync.Mutex
	one  map[wire.Address]*watcher
	many map[wire.Address][]*watcher

	_ [64]byte // shards do not share cache lines
}

func newTable() *table {
	t := &table{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].one, t.shards[i].many = map[wire.Address]*watcher{}, map[wire.Address][]*watcher{}
	}
	return t
}

func (t *table) shard(a *wire.Address) *shard {
	return &t.shards[maphash.Bytes(t.seed, a[:])%tableShards]
}

// find returns the watcher of an address, or its watchers if there are several.
func (t *table) find(a *wire.Address) (one *watcher, many []*watcher) {
	s := t.shard(a)
	s.mu.Lock()
	if one = s.one[*a]; one == nil && len(s.many) > 0 {
		many = s.many[*a]
	}
	s.mu.Unlock()
	return one, many
}

// outcome says what became of adding a watcher.
type outcome byte

const (
	added outcome = iota
	already
	crowded
)

// add makes w a watcher of an address. Doing so twice is once.
func (t *table) add(a *wire.Address, w *watcher) outcome {
	s := t.shard(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	one, many := s.one[*a], s.many[*a]
	switch {
	case one == w, slices.Contains(many, w):
		return already
	case one != nil:
		delete(s.one, *a)
		s.many[*a] = []*watcher{one, w}
	case many == nil:
		s.one[*a] = w
	case len(many) == maxWatchers:
		return crowded
	default:
		s.many[*a] = append(slices.Clone(many), w)
	}
	return added
}

// remove undoes add. It reports whether w was a watcher of the address.
func (t *table) remove(a *wire.Address, w *watcher) bool {
	s := t.shard(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.one[*a] == w {
		delete(s.one, *a)
		return true
	}
	many := s.many[*a]
	i := slices.Index(many, w)
	if i < 0 {
		return false
	}
	if len(many) == 2 {
		delete(s.many, *a)
		s.one[*a] = many[1-i]
		return true
	}
	s.many[*a] = slices.Delete(slices.Clone(many), i, i+1)
	return true
}

// addresses hands over every address that is watched. It holds no lock while it
// does: what changes meanwhile may be in it or not.
func (t *table) addresses(yield func(*wire.Address)) {
	var some []wire.Address
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		some = slices.AppendSeq(some[:0], maps.Keys(s.one))
		some = slices.AppendSeq(some, maps.Keys(s.many))
		s.mu.Unlock()
		for i := range some {
			yield(&some[i])
		}
	}
}

// renew moves what is there to new maps: deleting leaves the bytes of a key in
// the map's memory, and a map never shrinks. Once a period, the old goes.
func (t *table) renew() {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		one, many := make(map[wire.Address]*watcher, len(s.one)), make(map[wire.Address][]*watcher, len(s.many))
		maps.Copy(one, s.one)
		maps.Copy(many, s.many)
		s.one, s.many = one, many
		s.mu.Unlock()
	}
}
