package mls

import "slices"

// Clone returns an independent copy of the group, another branch of its history. What
// does not change is shared: a clone costs a few kilobytes, whatever the size of the
// group. No two clones ever seal under the same key.
func (g *Group) Clone() *Group {
	c := *g
	c.proposals = g.proposals.clone()
	if g.removed {
		return &c
	}
	c.private = g.private.clone()
	c.secrets = g.secrets.clone()
	c.signer = g.signer.Clone()
	c.messages = g.messages.clone()
	c.updates = slices.Clone(g.updates)
	for i := range c.updates {
		u := &c.updates[i]
		u.private, u.signer = u.private.Clone(), u.signer.Clone()
	}
	c.resumption = cloneResumption(g.resumption)
	return &c
}

func cloneResumption(list []resumptionPSK) []resumptionPSK {
	c := slices.Clone(list)
	for i := range c {
		c[i].psk = c[i].psk.Clone()
	}
	return c
}

// Drop wipes all secrets that no other clone holds. The group is not used after it,
// but for what names it.
func (g *Group) Drop() {
	g.private.wipe()
	if g.secrets != nil {
		g.secrets.wipe()
	}
	if g.messages != nil {
		g.messages.drop()
	}
	g.signer.Wipe()
	for _, u := range g.updates {
		wipe(u.private, u.signer)
	}
	for _, r := range g.resumption {
		r.psk.Wipe()
	}
	g.secrets, g.messages, g.updates, g.resumption = nil, nil, nil, nil
	g.proposals = pendingProposals{}
	g.removed = true
}

// Past is what opens and seals the application messages of this epoch after the group
// has left it, without the secrets that lead to the epochs after it. It fails with
// ErrRemoved.
func (g *Group) Past() (*PastEpoch, error) {
	if g.removed {
		return nil, fail(ErrRemoved, "", "group")
	}
	return g.messages.pastOf(), nil
}

// Reserve takes a generation for an application message, before there is anything to
// encrypt. Write the group down before the message leaves; then no crash leads to the
// use of a key twice. It fails with ErrRemoved and ErrEnded.
func (g *Group) Reserve() (*Reservation, error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	return g.messages.reserve(ContentApplication)
}
