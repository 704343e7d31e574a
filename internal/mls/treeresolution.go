package mls

// resolution is the nodes that together stand for all members under x (RFC 9420,
// Section 4.1.1).
func (t tree) resolution(x NodeIndex) []NodeIndex {
	s := t.find(x)
	if s == nil {
		return nil
	}
	return s.resolution(nil, x)
}

// resolution appends the resolution of the subtree, which stands at x.
func (s *subtree) resolution(to []NodeIndex, x NodeIndex) []NodeIndex {
	switch {
	case s.blank():
		return to
	case s.node == nil:
		return s.right.resolution(s.left.resolution(to, x.left()), x.right())
	}
	to = append(to, x)
	if s.node.Parent != nil {
		for _, i := range s.node.Parent.Unmerged {
			to = append(to, i.Node())
		}
	}
	return to
}

// filteredPath is the direct path of a leaf, from below, without the parents whose
// other side has nobody in it (RFC 9420, Section 4.1.1); and for each of its nodes
// the child on that other side. The leaf itself may be blank.
func (t tree) filteredPath(i LeafIndex) (path, copath []NodeIndex) {
	t.eachOnPath(i, func(x, other NodeIndex, _ *subtree, side *subtree) {
		if !side.blank() {
			path, copath = append(path, x), append(copath, other)
		}
	})
	return path, copath
}

// eachOnPath calls f for the parents above a leaf, from below: x and its subtree,
// and its child on the other side with its.
func (t tree) eachOnPath(i LeafIndex, f func(x, other NodeIndex, s, side *subtree)) {
	var down func(s *subtree, x NodeIndex)
	down = func(s *subtree, x NodeIndex) {
		if x.level() == 0 || s.left == nil {
			return // a blank subtree has nobody on either side
		}
		if i.Node() < x {
			down(s.left, x.left())
			f(x, x.right(), s, s.right)
		} else {
			down(s.right, x.right())
			f(x, x.left(), s, s.left)
		}
	}
	down(t.root, t.rootIndex())
}
