package mls

import "bytes"

// What is read shares memory with the message it was read from. A tree keeps nodes
// for years, and must not keep the messages that brought them: so what goes into a
// tree is copied first.

// detach is a copy that shares no memory with what it was read from. A leaf that
// cannot be read again was not read, and shares none.
func (l *LeafNode) detach() *LeafNode {
	if l == nil {
		return nil
	}
	c, err := parse(l.append(make([]byte, 0, 512)), "leaf node", readLeafNode)
	if err != nil {
		return l
	}
	return c
}

// detach is a copy that shares no memory with what it was read from.
func (p *parentNode) detach() *parentNode {
	c := *p // nobody else has the list of unmerged leaves
	c.EncryptionKey, c.ParentHash = bytes.Clone(p.EncryptionKey), bytes.Clone(p.ParentHash)
	return &c
}
