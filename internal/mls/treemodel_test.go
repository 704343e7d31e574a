package mls

import "slices"

// treeModel is a ratchet tree as RFC 9420 tells it: an array of nodes, with nothing
// kept and nothing shared. It is slow and judges the real one.
type treeModel struct {
	p     *suiteParams
	nodes []*node // all of them: 2*width-1
}

func (m *treeModel) width() uint32 { return uint32(len(m.nodes)+1) / 2 }

// resolution: Section 4.1.1.
func (m *treeModel) resolution(x NodeIndex) []NodeIndex {
	n := m.nodes[x]
	switch {
	case n != nil && n.Leaf != nil:
		return []NodeIndex{x}
	case n != nil:
		list := []NodeIndex{x}
		for _, i := range n.Parent.Unmerged {
			list = append(list, i.Node())
		}
		return list
	case x.level() == 0:
		return nil
	}
	return append(m.resolution(x.left()), m.resolution(x.right())...)
}

// filteredPath: Section 4.1.1.
func (m *treeModel) filteredPath(i LeafIndex) (path, copath []NodeIndex) {
	all := i.Node().copath(m.width())
	for k, x := range i.Node().directPath(m.width()) {
		if len(m.resolution(all[k])) > 0 {
			path, copath = append(path, x), append(copath, all[k])
		}
	}
	return path, copath
}

// hash: Section 7.8.
func (m *treeModel) hash(x NodeIndex) []byte {
	n := m.nodes[x]
	var b []byte
	if x.level() == 0 {
		b = appendU32([]byte{1}, uint32(x)/2)
		if n == nil {
			return m.p.digest(append(b, 0))
		}
		return m.p.digest(n.Leaf.append(append(b, 1)))
	}
	if n == nil {
		b = []byte{2, 0}
	} else {
		b = n.Parent.append([]byte{2, 1})
	}
	return m.p.digest(appendVec(appendVec(b, m.hash(x.left())), m.hash(x.right())))
}

// parentHash: Section 7.9, of the parent at x with the child s on the copath.
func (m *treeModel) parentHash(x, s NodeIndex) []byte {
	parent := m.nodes[x].Parent
	original := &treeModel{m.p, slices.Clone(m.nodes)}
	for _, i := range parent.Unmerged {
		original.nodes[i.Node()] = nil
		for y, n := range original.nodes {
			if n != nil && n.Parent != nil {
				without := *n.Parent
				without.Unmerged = slices.DeleteFunc(slices.Clone(without.Unmerged), func(j LeafIndex) bool { return j == i })
				original.nodes[y] = &node{Parent: &without}
			}
		}
	}
	b := appendVec(appendVec(nil, parent.EncryptionKey), parent.ParentHash)
	return m.p.digest(appendVec(b, original.hash(s)))
}

// add: Sections 7.7 and 12.1.1.
func (m *treeModel) add(l *LeafNode) LeafIndex {
	x := NodeIndex(0)
	for int(x) < len(m.nodes) && m.nodes[x] != nil {
		x += 2
	}
	if int(x) >= len(m.nodes) {
		m.nodes = append(m.nodes, make([]*node, len(m.nodes)+1)...)
	}
	m.nodes[x] = &node{Leaf: l}
	for _, a := range x.directPath(m.width()) {
		if n := m.nodes[a]; n != nil {
			with := *n.Parent
			with.Unmerged = append(slices.Clone(with.Unmerged), LeafIndex(x/2))
			slices.Sort(with.Unmerged)
			m.nodes[a] = &node{Parent: &with}
		}
	}
	return LeafIndex(x / 2)
}

func (m *treeModel) blankPath(i LeafIndex) {
	for _, a := range i.Node().directPath(m.width()) {
		m.nodes[a] = nil
	}
}

// update: Section 12.1.2.
func (m *treeModel) update(i LeafIndex, l *LeafNode) {
	m.nodes[i.Node()] = &node{Leaf: l}
	m.blankPath(i)
}

// remove: Sections 12.1.3 and 7.7.
func (m *treeModel) remove(i LeafIndex) {
	m.nodes[i.Node()] = nil
	m.blankPath(i)
	for len(m.nodes) > 1 {
		half := len(m.nodes) / 2
		for x := half + 1; x < len(m.nodes); x += 2 {
			if m.nodes[x] != nil {
				return
			}
		}
		m.nodes = m.nodes[:half]
	}
}

// path: Sections 7.5 and 7.9, with keys that somebody else made; the leaf's parent
// hash is returned.
func (m *treeModel) path(i LeafIndex, leaf *LeafNode, key func(NodeIndex) []byte) []byte {
	path, copath := m.filteredPath(i)
	m.blankPath(i)
	m.nodes[i.Node()] = &node{Leaf: leaf}
	hash := []byte{}
	for k := len(path) - 1; k >= 0; k-- {
		m.nodes[path[k]] = &node{Parent: &parentNode{EncryptionKey: key(path[k]), ParentHash: hash}}
		hash = m.parentHash(path[k], copath[k])
	}
	return hash
}

// parentHashesValid: Section 7.9.2, from below: every parent is in exactly one chain
// that begins at a leaf.
func (m *treeModel) parentHashesValid() bool {
	chains := make(map[NodeIndex]int)
	var up func(d NodeIndex)
	up = func(d NodeIndex) {
		for _, p := range d.directPath(m.width()) {
			if m.nodes[p] != nil && m.validFor(d, p) {
				if chains[p]++; chains[p] == 1 {
					up(p)
				}
			}
		}
	}
	for x := NodeIndex(0); int(x) < len(m.nodes); x += 2 {
		if m.nodes[x] != nil {
			up(x)
		}
	}
	for x, n := range m.nodes {
		if n != nil && n.Parent != nil && chains[NodeIndex(x)] != 1 {
			return false
		}
	}
	return true
}

// validFor is "the parent hash of d is valid with respect to p".
func (m *treeModel) validFor(d, p NodeIndex) bool {
	c, s := p.left(), p.right()
	if !d.below(c) {
		c, s = s, c
	}
	resolution := m.resolution(c)
	at := slices.Index(resolution, d)
	if at < 0 {
		return false
	}
	var unmerged []NodeIndex
	for _, i := range m.nodes[p].Parent.Unmerged {
		if i.Node().below(c) {
			unmerged = append(unmerged, i.Node())
		}
	}
	rest := slices.Delete(resolution, at, at+1)
	slices.Sort(rest)
	if !slices.Equal(unmerged, rest) {
		return false
	}
	n := m.nodes[d]
	hash := []byte(nil)
	if n.Parent != nil {
		hash = n.Parent.ParentHash
	} else if n.Leaf.Source == LeafCommit {
		hash = n.Leaf.ParentHash
	}
	return equal(hash, m.parentHash(p, s))
}

// array is the nodes without the blank ones at the end.
func (m *treeModel) array() []*node {
	n := len(m.nodes)
	for n > 0 && m.nodes[n-1] == nil {
		n--
	}
	return m.nodes[:n]
}
