package ratchet

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
)

// store keeps the EC keys of messages that were overtaken, oldest first: chains
// in the order in which they ran, keys in the order of their numbers. Their braid
// keys are in the braid's own store: the two are numbered each in its own way.
//
// spec: session.md#skipped-keys
type store struct{ chains []chain }

// chain is what is kept of one receiving chain. It has at least one key.
type chain struct {
	head key.Header // opens the headers of its messages
	keys []skipped
}

// skipped is the key of one message.
type skipped struct {
	n  uint32 // the message's number in its chain
	at uint64 // when it was overtaken, in unix seconds
	ec key.Message
}

// place is where a key lies in the store.
type place struct{ chain, key int }

func (s *store) at(p place) *skipped { return &s.chains[p.chain].keys[p.key] }

func (s *store) len() (n int) {
	for i := range s.chains {
		n += len(s.chains[i].keys)
	}
	return n
}

// find returns the place of the key of message n in the chain of that header
// key, unless it has expired.
func (s *store) find(head key.Header, n uint32, now uint64) (p place, ok bool) {
	for i := range s.chains {
		c := &s.chains[i]
		if !c.head.Equal(head) {
			continue
		}
		j, ok := slices.BinarySearchFunc(c.keys, n, func(k skipped, n uint32) int { return int(k.n) - int(n) })
		if ok && !c.keys[j].expired(now) {
			return place{i, j}, true
		}
	}
	return place{}, false
}

// expired reports whether the key is older than its time.
func (k *skipped) expired(now uint64) bool {
	return now >= SkippedSeconds && k.at <= now-SkippedSeconds
}

// remove takes a key out and wipes it.
func (s *store) remove(p place) {
	c := &s.chains[p.chain]
	c.keys[p.key].ec.Wipe()
	c.keys = slices.Delete(c.keys, p.key, p.key+1)
	if len(c.keys) == 0 {
		c.wipe()
		s.chains = slices.Delete(s.chains, p.chain, p.chain+1)
	}
}

// age drops what has expired. A key whose time lies ahead, since the clock stood
// wrong or stands wrong now, counts as overtaken now: so it never outlives its
// time by more than once, and times stay in order.
func (s *store) age(now uint64) {
	for len(s.chains) > 0 && s.chains[0].keys[0].expired(now) {
		s.remove(place{0, 0})
	}
	for i := range s.chains {
		for j := range s.chains[i].keys {
			k := &s.chains[i].keys[j]
			k.at = min(k.at, now)
		}
	}
}

// add takes in a chain's newest keys and keeps the bounds: first that of the
// chain, then that of all, at the cost of the oldest.
func (s *store) add(c chain) {
	last := len(s.chains) - 1
	if last >= 0 && s.chains[last].head.Equal(c.head) {
		c.head.Wipe()
		s.chains[last].keys = append(s.chains[last].keys, c.keys...)
	} else {
		s.chains = append(s.chains, c)
		last++
	}
	for len(s.chains[last].keys) > MaxSkippedChain {
		s.remove(place{last, 0})
	}
	for over := s.len() - MaxSkipped; over > 0; over-- {
		s.remove(place{0, 0})
	}
}

func (s *store) clone() store {
	c := store{chains: slices.Clone(s.chains)}
	for i := range c.chains {
		k := &c.chains[i]
		k.head = k.head.Clone()
		k.keys = slices.Clone(k.keys)
		for j := range k.keys {
			k.keys[j].ec = k.keys[j].ec.Clone()
		}
	}
	return c
}

func (s *store) wipe() {
	for i := range s.chains {
		s.chains[i].wipe()
	}
	s.chains = nil
}

func (c *chain) wipe() {
	c.head.Wipe()
	for i := range c.keys {
		c.keys[i].ec.Wipe()
	}
	c.keys = nil
}
