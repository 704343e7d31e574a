package client

import (
	"context"
	"errors"
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
	ch, err := g.engine.Hear(s, now, from.Sign, from.Root, payload)
	if err != nil {
		return heard(err)
	}
	g.note(ch)
	return nil
}

// Revoked is told of every newer manifest. It implements convo.Groups.
func (g *groups) Revoked(tx convo.Tx, now time.Time, _ key.SignPublic, m *manifest.Manifest, _ *convo.Change) error {
	s, ok := tx.(vault.Store)
	if !ok {
		return vault.ErrTx
	}
	ch, err := g.engine.Manifest(s, now, m)
	if err != nil {
		return heard(err)
	}
	g.note(ch)
	return nil
}

// heard says what an error of the engine means for the message that it was about: the
// store's trouble, or that it cannot be taken now, has it offered again. What cannot be
// right is acked and dropped: its author would try for ever.
func heard(err error) error {
	switch {
	case errors.Is(err, group.ErrBusy):
		return convo.ErrBusy
	case ofStore(err):
		return err
	}
	return nil
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
