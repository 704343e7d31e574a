package client

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Take takes what a device says in its pair session for groups. It implements
// convo.Groups.
func (g *groups) Take(tx convo.Tx, now time.Time, from *contact.Record, payload []byte, _ *convo.Change) error {
	s, ok := tx.(vault.Store)
	if !ok {
		return vault.ErrTx
	}
	var heard *group.Change
	// What fails leaves nothing: the rest of the message is kept without it.
	err := s.Try(func() (err error) {
		heard, err = g.engine.Hear(s, now, from.Sign, from.Root, payload)
		return err
	})
	switch {
	case err == nil:
		g.note(heard)
	case errors.Is(err, group.ErrBusy):
		return convo.ErrBusy
	case ofStore(err):
		return err
	default: // it cannot be right: its author would try for ever
		g.failedIn(group.ID{}, err)
	}
	return nil
}

// Revoked is told of every newer manifest. It implements convo.Groups.
func (g *groups) Revoked(tx convo.Tx, now time.Time, _ key.SignPublic, m *manifest.Manifest, _ *convo.Change) error {
	s, ok := tx.(vault.Store)
	if !ok {
		return vault.ErrTx
	}
	var heard *group.Change
	err := s.Try(func() (err error) {
		heard, err = g.engine.Manifest(s, now, m)
		return err
	})
	if err != nil {
		return err // it was checked before: a group that cannot take it does so later
	}
	g.note(heard)
	return nil
}

// failedIn notes that something could not be done in a group, or, of no group, that a
// word was not taken. What members say and what a realm answers may be wrong: that is
// no failure of ours.
func (g *groups) failedIn(id group.ID, err error) {
	if group.Wrong(err) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failing[id] = plain(err)
}

// tended notes in which groups a round over all of them failed.
func (g *groups) tended(failed []group.Failed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.failing, func(id group.ID, _ string) bool { return id != group.ID{} })
	for _, f := range failed {
		g.failing[f.Group] = plain(f.Err)
	}
}

// failures says which groups fail, by their names here, and why.
func (g *groups) failures(tx vault.Store) (out []string, err error) {
	g.mu.Lock()
	failing := maps.Clone(g.failing)
	g.mu.Unlock()
	lines, err := tx.Lines()
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		why, bad := failing[l.Group]
		if delete(failing, l.Group); !bad {
			if why, err = g.broken(tx, l.Group); err != nil {
				return nil, err
			}
		}
		if why != "" {
			out = append(out, l.Name+": "+why)
		}
	}
	for range failing { // what was said to us, and in groups without a conversation
		out = append(out, "a word of somebody else's device could not be taken")
		break
	}
	return out, nil
}

// broken says what a group lacks that it cannot go on without; empty: nothing.
func (g *groups) broken(tx vault.Store, id group.ID) (string, error) {
	r, err := tx.Group(id)
	if errors.Is(err, group.ErrUnknown) {
		return "", nil
	}
	if err != nil || r.State == group.Out || r.State == group.Replaced || r.State == group.Entering {
		return "", err
	}
	switch _, err = tx.Epoch(id, r.Head); {
	case errors.Is(err, group.ErrUnknown):
		return "its newest state is not here", nil
	default:
		return "", err
	}
}

// ofStore reports whether an error is the store's and not about what was to be taken.
func ofStore(err error) bool {
	for _, e := range []error{vault.ErrStorage, vault.ErrDamaged, vault.ErrFull, vault.ErrTx, vault.ErrClosed, vault.ErrRow, ErrDamaged, ErrFull,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
