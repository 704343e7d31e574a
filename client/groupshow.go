package client

import (
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// What a face is shown of a group: who is in it, what is wanted, and how it stands.

// people returns the members of a group in the order of their first leaves, and how
// many devices each has in it.
func (g *groups) people(tx vault.Store, id group.ID) (roots []key.SignPublic, devices map[key.SignPublic]int, err error) {
	r, err := tx.Group(id)
	if err != nil {
		return nil, nil, err
	}
	e, err := tx.Epoch(id, r.Head)
	if errors.Is(err, group.ErrUnknown) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	devices = map[key.SignPublic]int{}
	for _, l := range e.Roster {
		if devices[l.Root]++; devices[l.Root] == 1 {
			roots = append(roots, l.Root)
		}
	}
	return roots, devices, nil
}

// shown is a group as faces see it.
func (g *groups) shown(tx vault.Store, l *vault.Line) (Group, error) {
	out := Group{ID: l.ID, Name: l.Name, State: "left", Since: time.Unix(l.Since, 0)}
	var err error
	if out.Unread, err = tx.Unread(-l.ID, l.Read); err != nil {
		return out, err
	}
	var invited bool
	if out.Questions, invited, err = g.asked(tx, l); err != nil {
		return out, err
	}
	r, err := tx.Group(l.Group)
	if errors.Is(err, group.ErrUnknown) {
		switch {
		case invited:
			out.State = "invited"
		case l.Invited:
			out.State = "declined"
		}
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if out.State, out.Epoch = groupStates[r.State], r.Head; invited && r.State == group.Out {
		out.State = "invited"
	}
	waiting, err := tx.Messages(l.Group)
	if err != nil {
		return out, err
	}
	out.Waiting = len(waiting)
	for _, w := range r.Wishes {
		if w.Applied == 0 {
			words, err := g.wanted(tx, w.Wish)
			if err != nil {
				return out, err
			}
			out.Changes = append(out.Changes, words)
		}
	}
	state, hybrid, err := g.state(tx, r)
	if err != nil || state == nil {
		return out, err
	}
	roots, devices, err := g.people(tx, l.Group)
	if err != nil {
		return out, err
	}
	leaves := 0
	for _, root := range roots {
		m := GroupMember{Root: hex.EncodeToString(root[:]), You: root == g.c.root, Devices: devices[root]}
		if m.Name, err = g.nameOf(tx, root); err != nil {
			return out, err
		}
		if err := g.known(tx, root, &m); err != nil {
			return out, err
		}
		if rank, ok := state.Rank(root); ok {
			m.Rank = rank + 1
			out.Admin = out.Admin || m.You
		}
		leaves += m.Devices
		out.Members = append(out.Members, m)
	}
	out.Relay, out.Timer, out.Hybrid, out.Shared = state.Home.Name, time.Duration(state.Timer)*time.Second, hybrid, state.Shares(leaves)
	out.Picture = len(state.Picture) > 0
	return out, nil
}

// known says what is known of a member beside the group.
func (g *groups) known(tx vault.Store, root key.SignPublic, m *GroupMember) error {
	c, err := tx.ContactOf(root)
	if errors.Is(err, contact.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.State == contact.Member {
		m.Claimed = c.Claimed
	} else {
		m.ContactID = c.ID
	}
	devices, err := tx.DevicesOf(c.ID)
	for _, d := range devices {
		ok, err := convo.HasSession(tx, root, d.Sign)
		if err != nil {
			return err
		}
		m.Met = m.Met || ok
	}
	return err
}

// wanted says what a wish wants.
func (g *groups) wanted(tx vault.Store, raw []byte) (string, error) {
	w, err := roster.ParseWish(raw)
	if err != nil {
		return "a change that this version cannot read", nil
	}
	whom, err := g.nameOf(tx, w.Root)
	if err != nil {
		return "", err
	}
	text := ""
	switch w.Kind {
	case roster.Rename:
		text = strconv.Quote(w.Text)
	case roster.SetTimer:
		text = (time.Duration(w.Number) * time.Second).String()
	}
	return wishWords(w.Kind, whom, text), nil
}

// count adds what the groups have to the state of the profile.
func (g *groups) count(tx vault.Store, st *Status) error {
	lines, err := tx.Lines()
	if err != nil {
		return err
	}
	for _, l := range lines {
		unread, err := tx.Unread(-l.ID, l.Read)
		if err != nil {
			return err
		}
		waiting, err := tx.Messages(l.Group)
		if err != nil {
			return err
		}
		st.Unread += unread
		st.Waiting += len(waiting)
		st.Groups++
	}
	st.GroupsFailing, err = g.failures(tx)
	return err
}
