package mlspeer

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimits has ts-mls fail at what the package comment says it cannot do, so that
// whoever takes a newer one learns which detours of the other tests can go.
func TestLimits(t *testing.T) {
	p := start(t)
	for _, c := range []struct {
		name string
		play func(c *cast) error
		want string // in the refusal
	}{
		{"external_senders is one sender", oneSender, "Could not decode external_senders"},
		{"extensions with a path open for nobody", extensionsWithPath, "OpenError"},
		{"extensions need no path", extensionsWithoutPath, ""},
		{"no extensions are no change", noExtensions, "still has 1 extensions"},
		{"a newcomer on the leaf of the removed", replaced, "No overlap between provided private keys"},
		{"different unmerged leaves", unmerged, "must list leaf node in its unmerged_leaves"},
		{"a left half without members", leftBlank, "Could not verify confirmation tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.play(&cast{t, p})
			if c.want == "" && err != nil {
				must(t, err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want one with %q: ts-mls has changed, and so can peer.mjs and the tests", err, c.want)
			}
		})
	}
}

// cast makes groups of ts-mls alone.
type cast struct {
	*testing.T
	peer *Peer
}

func (c *cast) client(name string) *Client {
	return get[*Client](c.T)(c.peer.NewClient(1, []byte(name)))
}

func (c *cast) add(to *Client) Proposal {
	return Proposal{Type: "add", KeyPackage: get[[]byte](c.T)(to.KeyPackage(1, extensionType))}
}

// group makes a group of n.
func (c *cast) group(n int) (groups []*Group) {
	groups = append(groups, get[*Group](c.T)(c.client("0").Create([]byte("group"), []uint16{extensionType})))
	var o CommitOptions
	var clients []*Client
	for i := 1; i < n; i++ {
		clients = append(clients, c.client(fmt.Sprint(i)))
		o.Proposals = append(o.Proposals, c.add(clients[i-1]))
	}
	commit := get[Commit](c.T)(groups[0].Commit(o))
	must(c.T, groups[0].Merge())
	tree := get[[]byte](c.T)(groups[0].Tree())
	for _, x := range clients {
		groups = append(groups, get[*Group](c.T)(x.Join(commit.Welcome, tree, nil)))
	}
	return groups
}

// commit has the first commit, and all others process; it gives their first error.
func (c *cast) commit(o CommitOptions, first *Group, others ...*Group) (welcome []byte, err error) {
	commit := get[Commit](c.T)(first.Commit(o))
	for _, g := range others {
		if _, err := g.Process(commit.Message); err != nil {
			return nil, err
		}
	}
	must(c.T, first.Merge())
	return commit.Welcome, nil
}

// update has the first propose an update to all others.
func (c *cast) update(first *Group, others ...*Group) {
	m := get[[]byte](c.T)(first.Propose(Proposal{Type: "update"}, true, nil))
	for _, g := range others {
		_, err := g.Process(m)
		must(c.T, err)
	}
}

func extensions(data ...string) (p Proposal) {
	p.Type = "extensions"
	for _, d := range data {
		p.Extensions = append(p.Extensions, Extension{extensionType, []byte(d)})
	}
	return p
}

// RFC 9420, Section 12.1.8.1: ExternalSender external_senders<V>, here with one of a
// key of one byte and an empty basic credential.
func oneSender(c *cast) error {
	list := Extension{5, []byte{5, 1, 'k', 0, 1, 0}}
	_, err := c.client("ann").Create([]byte("group"), nil, list)
	return err
}

func extensionsWithPath(c *cast) error {
	g := c.group(3)
	c.update(g[1], g[0], g[2])
	_, err := c.commit(CommitOptions{Proposals: []Proposal{extensions("new")}}, g[0], g[2])
	return err
}

func extensionsWithoutPath(c *cast) error {
	g := c.group(2)
	_, err := c.commit(CommitOptions{Proposals: []Proposal{extensions("new")}}, g[0], g[1])
	return err
}

func noExtensions(c *cast) error {
	g := c.group(2)
	for _, p := range []Proposal{extensions("new"), extensions()} {
		if _, err := c.commit(CommitOptions{Proposals: []Proposal{p}}, g[0], g[1]); err != nil {
			return err
		}
	}
	if n := len(g[1].Extensions); n > 0 {
		return fmt.Errorf("still has %d extensions", n)
	}
	return nil
}

func replaced(c *cast) error {
	g := c.group(3)
	_, err := c.commit(CommitOptions{Proposals: []Proposal{{Type: "remove", Leaf: 1}, c.add(c.client("new"))}}, g[0], g[1])
	return err
}

// Leaf 4 fills its direct path; then leaf 0 adds leaf 7 and fills the root anew, so
// that node 11 has an unmerged leaf and the root has none.
func unmerged(c *cast) error {
	g := c.group(7)
	if _, err := c.commit(CommitOptions{}, g[4], g[0], g[1]); err != nil {
		return err
	}
	c.update(g[1], g[0])
	late := c.client("late")
	welcome, err := c.commit(CommitOptions{Proposals: []Proposal{c.add(late)}}, g[0])
	if err != nil {
		return err
	}
	_, err = late.Join(welcome, get[[]byte](c.T)(g[0].Tree()), nil)
	return err
}

// Leaf 4, which is ours, removes leaves 0 to 3, so that the root is not on its
// filtered direct path; leaf 5 is of ts-mls.
func leftBlank(c *cast) error {
	w := newWorld(c.T, c.peer, 1, 1)
	w.found()
	pl := w.begin(w.people[0], true)
	pl.added = []*person{w.people[5]}
	pl.byValue = []Proposal{{Type: "add", KeyPackage: w.bytes(w.people[5].keyPackage(1))}}
	w.finish(pl)
	var o CommitOptions
	for leaf := range uint32(4) {
		o.Proposals = append(o.Proposals, Proposal{Type: "remove", Leaf: leaf})
	}
	commit, err := w.people[4].seat.commit(o, false)
	w.must(err)
	_, err = w.people[5].seat.process(commit.Message)
	return err
}
