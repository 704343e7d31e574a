package mlspeer

// Client is somebody: a signature key for each suite, an identity, key packages, and
// external pre-shared keys.
type Client struct {
	peer  *Peer
	id    string
	Suite uint16 // of what it makes where nothing else is said
	Key   []byte // its public signature key in that suite
}

// Extension is one of a group.
type Extension struct {
	Type uint16 `json:"type"`
	Data []byte `json:"data"`
}

// Proposal is one that a member makes. Which fields count depends on the type.
type Proposal struct {
	Type       string      `json:"type"`                 // add, update, remove, psk, resumption, reinit, extensions
	KeyPackage []byte      `json:"keyPackage,omitempty"` // add: an MLSMessage
	Leaf       uint32      `json:"leaf"`                 // remove
	PSK        []byte      `json:"pskId,omitempty"`      // psk: the id of an external one
	Usage      string      `json:"usage,omitempty"`      // resumption: application, reinit, branch
	Epoch      uint64      `json:"epoch"`                // resumption
	GroupID    []byte      `json:"groupId,omitempty"`    // resumption, reinit
	Suite      uint16      `json:"suite,omitempty"`      // reinit
	Extensions []Extension `json:"extensions,omitempty"` // reinit, extensions
}

// NewClient makes a client with a basic credential.
func (p *Peer) NewClient(suite uint16, identity []byte) (*Client, error) {
	c := &Client{peer: p, id: p.name(), Suite: suite}
	return c, p.call("client", c.args("suite", suite, "identity", identity), &c)
}

// AddPSK gives it an external pre-shared key.
func (c *Client) AddPSK(id, psk []byte) error {
	return c.peer.call("psk", c.args("pskId", id, "psk", psk), nil)
}

// KeyPackage makes a key package for a suite, that says it supports some extension
// types beside the usual ones. It is an MLSMessage.
func (c *Client) KeyPackage(suite uint16, supports ...uint16) ([]byte, error) {
	return c.message("keyPackage", "suite", suite, "supports", supports)
}

// Create makes a group.
func (c *Client) Create(groupID []byte, supports []uint16, extensions ...Extension) (*Group, error) {
	return c.group("createGroup", nil, "groupId", groupID, "supports", supports, "extensions", extensions)
}

// Join joins by a Welcome. The tree is nil where the Welcome has it; from is a group
// that this one follows, or nil.
func (c *Client) Join(welcome, tree []byte, from *Group) (*Group, error) {
	args := []any{"welcome", welcome, "tree", tree}
	if from != nil {
		args = append(args, "from", from.id)
	}
	return c.group("join", nil, args...)
}

// JoinExternal joins by an external commit, which it returns. With resync it takes
// the place of a leaf with its own signature key.
func (c *Client) JoinExternal(groupInfo, tree []byte, resync bool, supports ...uint16) (g *Group, commit []byte, err error) {
	var m message
	g, err = c.group("joinExternal", &m, "groupInfo", groupInfo, "tree", tree, "resync", resync, "supports", supports)
	return g, m.Message, err
}

// ProposeAdd asks from outside to be added.
func (c *Client) ProposeAdd(groupInfo []byte, supports ...uint16) ([]byte, error) {
	return c.message("externalAdd", "groupInfo", groupInfo, "supports", supports)
}

// ProposeExternal proposes from outside, as the external sender with that index.
func (c *Client) ProposeExternal(groupInfo []byte, index uint32, p Proposal) ([]byte, error) {
	return c.message("externalPropose", "groupInfo", groupInfo, "index", index, "proposal", p)
}

type message struct{ Message []byte }

func (c *Client) message(verb string, args ...any) ([]byte, error) {
	var m message
	err := c.peer.call(verb, c.args(args...), &m)
	return m.Message, err
}

func (c *Client) args(more ...any) map[string]any {
	return fields(append(more, "client", c.id))
}

// fields makes a map of keys and values that alternate.
func fields(list []any) map[string]any {
	m := make(map[string]any)
	for i := 0; i < len(list); i += 2 {
		m[list[i].(string)] = list[i+1]
	}
	return m
}
