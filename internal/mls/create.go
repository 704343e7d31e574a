package mls

import (
	"fmt"
	"io"
	"slices"
)

// CreateParams is what a new group is made of.
type CreateParams struct {
	GroupID    []byte // unique; 16 random bytes are good
	Leaf       LeafParams
	Extensions []Extension // of the group context
}

// Create makes a group of one (RFC 9420, Section 11). It fails with ErrArgument,
// ErrUnsupported, ErrInvalid, and the errors of env.
func Create(env Env, c CreateParams) (*Group, error) {
	if len(c.GroupID) == 0 {
		return nil, fail(ErrArgument, "11", "group without an identifier")
	}
	leaf, key, err := newKeyPackageLeaf(env.Rand, c.Leaf)
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	p := c.Leaf.Suite.params()
	t := newTree(p, leaf)
	context := GroupContext{
		Version: Version, Suite: c.Leaf.Suite, GroupID: slices.Clone(c.GroupID),
		TreeHash: t.hash(), Extensions: slices.Clone(c.Extensions),
	}
	if err := checkGroupExtensions(env, context.Extensions); err != nil {
		return nil, err
	}
	rules := leafRules{p: p, context: &context, now: env.Now, checkLifetime: true, authenticate: env.Authenticate, t: t}
	if err := rules.check(leaf, LeafKeyPackage, 0); err != nil {
		return nil, err
	}
	secret := make([]byte, p.nh)
	defer clear(secret)
	if _, err := io.ReadFull(env.Rand, secret); err != nil {
		return nil, fmt.Errorf("drawing the first epoch secret: %w", err)
	}
	return newGroup(groupParts{
		p: p, context: context, tree: t, private: newPrivateTree(0, leaf.EncryptionKey, key.Clone()),
		signer: c.Leaf.Signer.Clone(), secrets: p.epochFrom(NewSecret(secret)),
	}), nil
}
