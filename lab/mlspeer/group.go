package mlspeer

import "encoding/json"

// Group is one member's state of one group, as of the last call that changed it.
type Group struct {
	peer *Peer
	id   string
	View
}

// View is what all members must agree about, and who this one is.
type View struct {
	Group         []byte
	Epoch         uint64
	Authenticator []byte // epoch_authenticator
	TreeHash      []byte
	Transcript    []byte // confirmed_transcript_hash
	Extensions    []Extension
	Members       []uint32 // leaves that are not blank

	Leaf      uint32 // its own
	Proposals int    // that wait for a commit
	State     string // active, suspendedPendingReinit, removedFromGroup
}

// Commit is one that waits for [Group.Merge].
type Commit struct {
	Message []byte
	Welcome []byte // nil if it adds nobody
}

// CommitOptions say how to commit.
type CommitOptions struct {
	Proposals []Proposal // by value; what has come in is committed by reference
	Public    bool       // a PublicMessage
	Tree      bool       // the Welcome has the tree
	AD        []byte     // authenticated data
}

// Propose proposes, and keeps the proposal for the next commit.
func (g *Group) Propose(p Proposal, public bool, ad []byte) ([]byte, error) {
	return g.message("propose", "proposal", p, "public", public, "ad", ad)
}

// Commit makes a commit of all proposals that wait, and those given.
func (g *Group) Commit(o CommitOptions) (Commit, error) {
	var c Commit
	err := g.peer.call("commit", g.args("proposals", o.Proposals, "public", o.Public, "tree", o.Tree, "ad", o.AD), &c)
	return c, err
}

// Merge takes the last commit of its own.
func (g *Group) Merge() error { return g.change("merge") }

// Received is what a message brought.
type Received struct {
	Data []byte // of an application message
	AD   []byte // authenticated data
}

// Process takes what another member has sent: a proposal, a commit, or an
// application message.
func (g *Group) Process(m []byte) (Received, error) {
	var v struct {
		View
		Received
	}
	if err := g.peer.call("process", g.args("message", m), &v); err != nil {
		return Received{}, err
	}
	if v.Group != nil {
		g.View = v.View
	}
	return v.Received, nil
}

// Encrypt makes an application message with some bytes of padding.
func (g *Group) Encrypt(data, ad []byte, padding int) ([]byte, error) {
	return g.message("encrypt", "data", data, "ad", ad, "padding", padding)
}

// Export is MLS-Exporter.
func (g *Group) Export(label string, context []byte, length int) ([]byte, error) {
	var v struct{ Secret []byte }
	err := g.peer.call("export", g.args("label", label, "context", context, "length", length), &v)
	return v.Secret, err
}

// GroupInfo makes a GroupInfo with external_pub, and with the tree if asked for.
func (g *Group) GroupInfo(tree bool) ([]byte, error) { return g.message("groupInfo", "tree", tree) }

// Tree is the ratchet tree, as it goes beside a Welcome or a GroupInfo.
func (g *Group) Tree() ([]byte, error) {
	var v struct{ Tree []byte }
	err := g.peer.call("tree", g.args(), &v)
	return v.Tree, err
}

// Restore writes the state to bytes and reads it back.
func (g *Group) Restore() error { return g.change("restore") }

// Clone makes a second state of the same member.
func (g *Group) Clone() (*Group, error) {
	to := &Group{peer: g.peer, id: g.peer.name()}
	return to, g.peer.call("clone", g.args("to", to.id), &to.View)
}

// Drop forgets the state.
func (g *Group) Drop() error { return g.peer.call("drop", g.args(), nil) }

// Next is what a group that follows another starts with.
type Next struct {
	GroupID     []byte
	Suite       uint16
	Extensions  []Extension // of a reinit; a branch has those of the group
	Supports    []uint16
	KeyPackages [][]byte // of all others
}

// Reinit makes the group after a reinit that was committed, and returns its Welcome
// and its tree.
func (g *Group) Reinit(n Next) (next *Group, welcome, tree []byte, err error) {
	return g.follow("reinit", n)
}

// Branch makes a branch of the group.
func (g *Group) Branch(n Next) (next *Group, welcome, tree []byte, err error) {
	return g.follow("branch", n)
}

func (g *Group) follow(verb string, n Next) (*Group, []byte, []byte, error) {
	to := &Group{peer: g.peer, id: g.peer.name()}
	var v struct {
		View
		Welcome, Tree []byte
	}
	err := g.peer.call(verb, g.args("to", to.id, "groupId", n.GroupID, "suite", n.Suite, "extensions", n.Extensions,
		"supports", n.Supports, "keyPackages", n.KeyPackages), &v)
	to.View = v.View
	return to, v.Welcome, v.Tree, err
}

// group makes one by a verb; more may be nil.
func (c *Client) group(verb string, more any, args ...any) (*Group, error) {
	g := &Group{peer: c.peer, id: c.peer.name()}
	var raw json.RawMessage
	if err := c.peer.call(verb, c.args(append(args, "group", g.id)...), &raw); err != nil {
		return nil, err
	}
	if more != nil {
		if err := json.Unmarshal(raw, more); err != nil {
			return nil, err
		}
	}
	return g, json.Unmarshal(raw, &g.View)
}

// change calls a verb that answers with a view.
func (g *Group) change(verb string) error {
	var v View
	err := g.peer.call(verb, g.args(), &v)
	if err == nil {
		g.View = v
	}
	return err
}

func (g *Group) message(verb string, args ...any) ([]byte, error) {
	var m message
	err := g.peer.call(verb, g.args(args...), &m)
	return m.Message, err
}

func (g *Group) args(more ...any) map[string]any {
	return fields(append(more, "group", g.id))
}
