package mls

import "hash/maphash"

// keySet counts keys. It is a value: add and remove return another set that shares
// what did not change. So it takes O(log n) to see that the keys of a tree are still
// unique after a commit (RFC 9420, Section 7.3), and nothing to clone.
//
// It is a search tree over the digits of a hash that nobody outside of the process
// can compute, so that nobody can make it deep.
type keySet struct {
	root *keyNode
	dups int // keys that are there more than once
}

type keyNode struct {
	key   []byte
	hash  uint64
	n     int
	child [keyWays]*keyNode
}

const (
	keyBits = 2
	keyWays = 1 << keyBits
)

var keySeed = maphash.MakeSeed()

// count is how often a key is there.
func (s keySet) count(key []byte) int {
	h := maphash.Bytes(keySeed, key)
	for n, rest := s.root, h; n != nil; n, rest = n.child[rest%keyWays], rest>>keyBits {
		if n.hash == h && equal(n.key, key) {
			return n.n
		}
	}
	return 0
}

// add is the set with a key once more.
func (s keySet) add(key []byte) keySet {
	switch s.count(key) {
	case 0:
		h := maphash.Bytes(keySeed, key)
		s.root = s.root.insert(&keyNode{key: key, hash: h, n: 1}, h)
	case 1:
		s.dups++
		fallthrough
	default:
		s.root = s.root.change(key, 1)
	}
	return s
}

// remove is the set with a key, which is there, once less.
func (s keySet) remove(key []byte) keySet {
	if s.count(key) == 2 {
		s.dups--
	}
	s.root = s.root.change(key, -1)
	return s
}

// insert puts leaf below n; rest is the digits of its hash that are left.
func (n *keyNode) insert(leaf *keyNode, rest uint64) *keyNode {
	if n == nil {
		return leaf
	}
	c := *n
	d := rest % keyWays
	c.child[d] = n.child[d].insert(leaf, rest>>keyBits)
	return &c
}

// change adds by to the count of a key that is there.
func (n *keyNode) change(key []byte, by int) *keyNode {
	h := maphash.Bytes(keySeed, key)
	return n.replace(key, h, h, func(c *keyNode) *keyNode {
		c.n += by
		if c.n == 0 {
			return c.without()
		}
		return c
	})
}

// replace replaces the node of a key by what f makes of its copy.
func (n *keyNode) replace(key []byte, hash, rest uint64, f func(*keyNode) *keyNode) *keyNode {
	c := *n
	if n.hash == hash && equal(n.key, key) {
		return f(&c)
	}
	d := rest % keyWays
	c.child[d] = n.child[d].replace(key, hash, rest>>keyBits, f)
	return &c
}

// without is what stands for n when its key is gone: any node below it that has
// none below itself moves up.
func (n *keyNode) without() *keyNode {
	for d, child := range n.child {
		if child == nil {
			continue
		}
		last, left := child.cut()
		c := *last
		c.child = n.child
		c.child[d] = left
		return &c
	}
	return nil
}

// cut takes a node that has none below itself out of n.
func (n *keyNode) cut() (last, left *keyNode) {
	for d, child := range n.child {
		if child == nil {
			continue
		}
		c := *n
		last, c.child[d] = child.cut()
		return last, &c
	}
	return n, nil
}
