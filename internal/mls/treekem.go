package mls

import (
	"fmt"
	"io"
)

// pathSecrets is what the maker of a path knows (RFC 9420, Section 7.4). It owns its
// secrets.
type pathSecrets struct {
	nodes   []NodeIndex // the filtered direct path
	secrets []Secret    // path_secret of each
	commit  Secret      // commit_secret
}

func (s *pathSecrets) wipe() {
	if s == nil {
		return
	}
	wipe(s.secrets...)
	s.commit.Wipe()
}

// common is the path secret of the lowest node that a member shares with the maker:
// what a Welcome tells it (RFC 9420, Section 12.4.3.1). It stays the path's.
func (s *pathSecrets) common(i LeafIndex) Secret {
	for k, x := range s.nodes {
		if i.Node().below(x) {
			return s.secrets[k]
		}
	}
	return Secret{}
}

// nodeKey is the key pair of the node of a path secret (RFC 9420, Section 7.4).
func (p *suiteParams) nodeKey(pathSecret Secret) (Secret, []byte) {
	node := p.deriveSecret(pathSecret, "node")
	defer node.Wipe()
	return p.deriveKeyPair(node.Bytes())
}

// newPath gives new keys to a leaf, which may be blank before, and to the parents
// above it (RFC 9420, Sections 7.4 and 7.5). makeLeaf makes the new leaf, signed,
// of source commit. It fails with the error of rand and of makeLeaf.
func (t tree) newPath(rand io.Reader, i LeafIndex, makeLeaf func(encryptionKey, parentHash []byte) (*LeafNode, error)) (next tree, secrets *pathSecrets, priv *privateTree, err error) {
	path, copath := t.filteredPath(i)
	secrets = &pathSecrets{nodes: path}
	defer func() {
		if err != nil {
			secrets.wipe()
			priv.wipe()
			next, secrets, priv = tree{}, nil, nil
		}
	}()
	leafSecret, leafKey, err := t.p.generateKeyPair(rand)
	if err != nil {
		return next, secrets, priv, err
	}
	priv = newPrivateTree(i, leafKey, leafSecret)

	first := make([]byte, t.p.nh)
	secret := own(first)
	if _, err = io.ReadFull(rand, first); err != nil {
		return next, secrets, priv, fmt.Errorf("making a path secret: %w", err)
	}
	keys := make([][]byte, len(path))
	for k, x := range path {
		private, public := t.p.nodeKey(secret)
		keys[k] = public
		priv.put(x, public, private)
		secrets.secrets = append(secrets.secrets, secret)
		secret = t.p.deriveSecret(secret, "path")
	}
	secrets.commit = secret

	parents, parentHash := t.pathParents(copath, keys)
	leaf, err := makeLeaf(leafKey, parentHash)
	if err != nil {
		return next, secrets, priv, err
	}
	return t.setPath(i, leaf, path, parents), secrets, priv, nil
}

// pathParents is the parents of a new path, with their parent hashes, made from the
// top down, and the parent hash of its leaf (RFC 9420, Section 7.9). The new keys
// have no unmerged leaves, so the original sibling of each is the one there is.
func (t tree) pathParents(copath []NodeIndex, keys [][]byte) (parents []*node, leaf []byte) {
	parents = make([]*node, len(keys))
	hash := []byte{} // of the topmost
	for k := len(keys) - 1; k >= 0; k-- {
		parents[k] = &node{Parent: (&parentNode{EncryptionKey: keys[k], ParentHash: hash}).detach()}
		hash = t.p.parentHash(parents[k].Parent, t.hashOf(copath[k]))
	}
	return parents, hash
}

// setPath is the tree with a new leaf and the parents of a path above it. The rest
// of its direct path is blank (RFC 9420, Section 7.5).
func (t tree) setPath(i LeafIndex, leaf *LeafNode, path []NodeIndex, parents []*node) tree {
	k := len(path)
	return t.set(i, leaf, func(x NodeIndex, _ *node) *node { // from the top
		if k == 0 || path[k-1] != x {
			return nil
		}
		k--
		return parents[k]
	})
}

// recipients is the nodes that the path secret of the parent over a copath node is
// encrypted to: its resolution without leaves that the same commit added (RFC 9420,
// Section 7.5).
func (t tree) recipients(copath NodeIndex, exclude map[LeafIndex]bool) []NodeIndex {
	all := t.resolution(copath)
	to := all[:0]
	for _, x := range all {
		if i, ok := x.leaf(); !ok || !exclude[i] {
			to = append(to, x)
		}
	}
	return to
}

const labelPathNode = "UpdatePathNode"
