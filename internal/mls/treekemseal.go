package mls

// sealPath makes the UpdatePath of a path that newPath made (RFC 9420, Section 7.6).
// t is the tree that newPath returned, context the serialised provisional group
// context, exclude the leaves that the same commit added. It fails with ErrInvalid
// if a member's key is none.
func (t tree) sealPath(s *pathSecrets, i LeafIndex, context []byte, exclude map[LeafIndex]bool) (*updatePath, error) {
	u := &updatePath{Leaf: t.leaf(i), Nodes: make([]updatePathNode, len(s.nodes))}
	_, copath := t.filteredPath(i)
	for k, x := range s.nodes {
		n := &u.Nodes[k]
		n.EncryptionKey = t.at(x).encryptionKey()
		for _, to := range t.recipients(copath[k], exclude) {
			c, err := t.p.encryptWithLabel(t.at(to).encryptionKey(), labelPathNode, context, s.secrets[k].Bytes())
			if err != nil {
				return nil, err
			}
			n.Secrets = append(n.Secrets, c)
		}
	}
	return u, nil
}
