package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// mostParting is for how many links that are over something is still to be done. The
// oldest is forgotten first: all that lies at the relay ends by itself.
const mostParting = 8

// farewell tells the new device that the link was given up, and takes back what the
// relay still has of it.
//
// spec: link.md#how-it-ends
func (l *linker) farewell(ctx context.Context, r Relay, s *linkState) error {
	late := time.Now().Unix() >= s.Expires
	if s.First != nil && !late {
		session, err := sessionOf(s.First, s.First, "")
		if err != nil {
			return err
		}
		defer session.Wipe()
		blob, err := link.SealGaveUp(l.c.opt.rand(), session.First, true, s.Why)
		if err != nil {
			return err
		}
		if err := putTwice(ctx, r, linkBlob(session.GaveUp(true), session.Capability(), blob, 1)); err != nil {
			return err
		}
	}
	if !s.Put {
		return nil
	}
	for _, id := range []wire.BlobID{s.code().Offer(), s.code().Answer()} {
		if err := r.DeleteBlob(ctx, id, s.code().Capability()); err != nil && !errors.Is(err, transport.ErrNothing) && !late {
			return networkError(err)
		}
	}
	return nil
}

// part notes that the farewell of a link is still to come, when another one is begun.
func part(tx *vault.Tx, s *linkState) error {
	var all []linkState
	if _, err := readMeta(tx, metaParting, &all); err != nil {
		return err
	}
	all = append(all, linkState{Phase: phaseEnding, Realm: s.Realm, Secret: s.Secret, First: s.First, Why: s.Why, Put: s.Put, Expires: s.Expires})
	return writeMeta(tx, metaParting, all[max(0, len(all)-mostParting):])
}

// parting does what is still to be done for links before this one. It reports whether
// something is left to be done; what the network keeps from being done is no error.
func (l *linker) parting(ctx context.Context) (left bool, err error) {
	var all []linkState
	err = l.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		_, err = readMeta(tx, metaParting, &all)
		return err
	})
	if err != nil || len(all) == 0 {
		return false, err
	}
	done := map[[link.SecretSize]byte]bool{}
	for _, s := range all {
		r, err := l.c.realms.relay(s.Realm)
		if err == nil {
			err = l.farewell(ctx, r, &s)
		}
		if ctx.Err() != nil {
			return true, nil
		}
		done[s.Secret] = err == nil || time.Now().Unix() >= s.Expires
	}
	err = l.c.vault.Update(ctx, func(tx *vault.Tx) error {
		all, left = nil, false
		if _, err := readMeta(tx, metaParting, &all); err != nil {
			return err
		}
		keep := all[:0]
		for _, s := range all {
			if !done[s.Secret] {
				keep = append(keep, s)
			}
		}
		if left = len(keep) > 0; !left {
			return tx.Delete(vault.Meta, metaParting)
		}
		return writeMeta(tx, metaParting, keep)
	})
	return left, err
}
