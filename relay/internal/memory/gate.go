package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Gate is a gate.Members and a gate.Spent. It loses all at its end, the root
// with the marks, so every start is a new realm for its members.
type Gate struct {
	random io.Reader
	max    int

	mu      sync.Mutex // guards the below
	root    gate.Root
	swept   gate.Day // the latest by which marks were swept
	invites map[[32]byte]gate.Invite
	members map[[32]byte]struct{}
	marks   map[gate.Day]map[uint64]uint64 // request by hash; 0 is not told to anybody
	kept    int
}

// NewGate returns an empty store of at most max marks, and as many members and
// invites each. A mark takes about 40 bytes.
func NewGate(max int, random io.Reader) *Gate {
	return &Gate{random: random, max: max, invites: map[[32]byte]gate.Invite{}, members: map[[32]byte]struct{}{}, marks: map[gate.Day]map[uint64]uint64{}}
}

// AddInvite adds an invite.
func (g *Gate) AddInvite(_ context.Context, i gate.Invite) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.invites[i.Hash]; ok {
		return nil
	}
	if len(g.invites) >= g.max {
		return gate.ErrFull
	}
	g.invites[i.Hash] = i
	return nil
}

// Join takes a use of an invite and adds a credential.
func (g *Gate) Join(_ context.Context, invite, credential [32]byte, today gate.Day) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[credential]; ok {
		return nil
	}
	i, ok := g.invites[invite]
	switch {
	case !ok || today > i.Last:
		return gate.ErrNoInvite
	case len(g.members) >= g.max:
		return gate.ErrFull
	}
	if i.Uses--; i.Uses == 0 {
		delete(g.invites, invite)
	} else {
		g.invites[invite] = i
	}
	g.members[credential] = struct{}{}
	return nil
}

// Member reports whether a credential is there.
func (g *Gate) Member(_ context.Context, credential [32]byte) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.members[credential]
	return ok, nil
}

// Invites lists the invites that can be used.
func (g *Gate) Invites(_ context.Context, today gate.Day) ([]gate.Invite, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.DeleteFunc(slices.Collect(maps.Values(g.invites)), func(i gate.Invite) bool { return today > i.Last })
	slices.SortFunc(list, func(a, b gate.Invite) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	return list, nil
}

// Revoke deletes an invite.
func (g *Gate) Revoke(_ context.Context, hash [32]byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.invites[hash]; !ok {
		return gate.ErrNoInvite
	}
	delete(g.invites, hash)
	return nil
}

// Root returns the root. It makes one at the first call, and where the clock went back.
func (g *Gate) Root(_ context.Context, began, today gate.Day) (gate.Root, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.root == (gate.Root{}) || gate.Ahead(g.swept, today) {
		r := gate.Root{Began: max(began, g.root.Began+1)}
		for _, b := range [][]byte{r.Seed[:], r.Key[:]} {
			if _, err := io.ReadFull(g.random, b); err != nil {
				return gate.Root{}, fmt.Errorf("making issuer seed: %w", err)
			}
		}
		g.root, g.swept, g.kept = r, 0, 0
		clear(g.marks)
	}
	return g.root, nil
}

// Spend keeps a mark.
func (g *Gate) Spend(_ context.Context, m gate.Mark) (gate.Verdict, error) {
	v, err := g.mark(m)
	if v == gate.Again {
		v = gate.Other // 120 s are the keeper's business
	}
	return v, err
}

// Issue keeps a mark and knows its request again.
func (g *Gate) Issue(_ context.Context, m gate.Mark) (gate.Verdict, error) { return g.mark(m) }

func (g *Gate) mark(m gate.Mark) (gate.Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	day := g.marks[m.Until]
	request, ok := day[m.Hash]
	switch {
	case m.Root != 0 && m.Root != g.root.Began:
		return 0, gate.ErrLost
	case m.Until <= g.swept && gate.Ahead(g.swept, m.Today):
		return 0, gate.ErrLost
	case m.Until <= g.swept:
		return gate.Other, nil
	case ok && request == m.Request:
		return gate.Again, nil
	case ok:
		return gate.Other, nil
	case g.kept >= g.max:
		return 0, gate.ErrFull
	case day == nil:
		day = map[uint64]uint64{}
		g.marks[m.Until] = day
	}
	day[m.Hash] = m.Request
	g.kept++
	return gate.First, nil
}

// Sweep deletes what is over.
func (g *Gate) Sweep(_ context.Context, today gate.Day) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.swept = max(g.swept, today)
	for until, day := range g.marks {
		if today >= until {
			g.kept -= len(day)
			clear(day)
			delete(g.marks, until)
		}
	}
	for hash, i := range g.invites {
		if today > i.Last {
			delete(g.invites, hash)
		}
	}
	return nil
}

var (
	_ gate.Members = (*Gate)(nil)
	_ gate.Spent   = (*Gate)(nil)
)
