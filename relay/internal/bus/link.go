package bus

import (
	"context"
	"encoding/hex"

	"github.com/tacet-chat/tacet/internal/key"
)

// Link carries messages between the nodes of one realm: at most once, those of
// one sender in their order, to every node that runs. It needs no secrecy and
// no truth: the bus seals what it sends and counts who answers.
type Link interface {
	// Run carries until ctx ends, and hands what is for node self or for all to
	// receive, one message at a time; receive may change the bytes.
	Run(ctx context.Context, self ID, receive func([]byte)) error
	// Send sends to one node or to All. It keeps nothing of b. What cannot be
	// sent is lost.
	Send(to ID, b []byte)
	// Up reports whether the way to at least one other node seems open.
	Up() bool
	// Cut reports whether this node knows that it is cut off from all others
	// while they may well reach each other.
	Cut() bool
}

// Labels of derivations.
const (
	labelCluster = "tacet/v1/bus/cluster"
	labelPair    = "tacet/v1/bus/pair" // parts: k_cluster 32, smaller node 8, larger node 8
	labelRoster  = "tacet/v1/bus/roster"
	labelOwner   = "tacet/v1/bus/owner" // part: address 32
	labelName    = "tacet/v1/bus/name"
	labelRoute   = "tacet/v1/bus/route"
)

// Realm is what all nodes of a realm know and nobody else does.
//
// spec: bus.md#nodes-and-keys
type Realm struct{ cluster key.Shared }

// NewRealm derives it from the realm key.
func NewRealm(realm key.Sign) Realm {
	return Realm{key.Derive[key.SharedRole](realm.Bytes(), labelCluster)}
}

// Name is what the realm's subjects are named, 16 hex digits. It is no secret.
func (r Realm) Name() string { return hex.EncodeToString(r.derive(8, labelName)) }

// Password is what a node shows another that it opens a route to.
func (r Realm) Password() string { return hex.EncodeToString(r.derive(32, labelRoute)) }

func (r Realm) derive(n int, label string, parts ...[]byte) []byte {
	b := make([]byte, n)
	key.KDF(b, r.cluster.Bytes(), label, parts...)
	return b
}
