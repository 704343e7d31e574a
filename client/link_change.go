package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/link"
)

// The state of a link: how it is read and changed, and how it ends. Each change names the
// link that it is about, so that what is over does nothing to the next one.

// update changes the state of one link in one transaction, and fails with ErrNoLink if
// that is not the one that there is now: another may have been begun since its caller
// read it. f drops the link by setting no phase.
func (l *linker) update(ctx context.Context, of *linkState, f func(tx vault.Store, now time.Time, s *linkState) (ch *convo.Change, err error)) error {
	err := l.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		s := &linkState{}
		found, err := readMeta(tx.Tx, metaLink, s)
		if err != nil {
			return nil, err
		}
		if !found || s.Secret != of.Secret {
			return nil, ErrNoLink
		}
		ch, err := f(tx, now, s)
		if err != nil {
			return nil, err
		}
		if s.Phase == 0 {
			if err := dropMessages(tx.Tx, s.Acked, s.Next); err != nil {
				return nil, err
			}
			return ch, tx.Delete(vault.Meta, metaLink)
		}
		return ch, writeMeta(tx.Tx, metaLink, s)
	})
	l.touch()
	return err
}

// load returns the state, nil if there is none.
func (l *linker) load(ctx context.Context) (s *linkState, err error) {
	err = l.c.vault.View(ctx, func(tx *vault.Tx) error {
		s = &linkState{}
		found, err := readMeta(tx, metaLink, s)
		if !found {
			s = nil
		}
		return err
	})
	return s, err
}

// same reads the state of a link again. It fails with ErrNoLink if it is over, or there
// is another: the local network may have brought the end meanwhile.
func (l *linker) same(ctx context.Context, of *linkState) (*linkState, error) {
	s, err := l.load(ctx)
	if err == nil && (s == nil || s.Secret != of.Secret || s.Phase == phaseEnding) {
		return nil, ErrNoLink
	}
	return s, err
}

func (l *linker) state(ctx context.Context) (Link, error) {
	l.mu.Lock()
	version := l.version // before the state is read: a change meanwhile is seen next time
	l.mu.Unlock()
	s, err := l.load(ctx)
	if err != nil {
		return Link{}, vaultError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == nil || s.Phase == phaseEnding {
		out := l.last
		out.Version = version
		if s != nil && out.Stage == LinkNone { // of the process before
			if out.Stage, out.Reason = LinkEnded, s.Why2; s.Why == 0 {
				out.Stage = LinkDone
			}
		}
		return out, nil
	}
	out := Link{Version: version, Device: contact.CleanName(s.Name), Way: l.way, Trouble: l.trouble, Expires: time.Unix(s.Expires, 0)}
	switch s.Phase {
	case phaseOffered:
		out.Stage, out.Code, out.Online = LinkOffered, s.code().String(), s.Put
	case phaseAnswered:
		out.Stage, out.Tries = LinkCompare, linkTries-s.Tries
	case phaseSending:
		out.Stage = LinkSending
	case phaseAdmitted:
		out.Stage = LinkAdmit
	}
	if s.Pack != nil {
		out.Rows, out.Total, out.Sent = s.Pack.Rows, s.Pack.Total, int(s.Acked)
	}
	return out, nil
}

// cancel gives up because a person wants to.
func (l *linker) cancel(ctx context.Context) error {
	s, err := l.load(ctx)
	switch {
	case err != nil:
		return vaultError(err)
	case s == nil || s.Phase == phaseEnding:
		return ErrNoLink
	case s.Phase == phaseAdmitted:
		return ErrState
	}
	return l.end(ctx, s, link.Cancelled, "it was taken back here")
}

// end gives a link up and undoes what was prepared. The other side is told as soon as
// the relay is reached. One that is called late and went on meanwhile is not.
func (l *linker) end(ctx context.Context, of *linkState, why link.Why, reason string) error {
	c, ended := l.c, false
	err := l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase == phaseAdmitted || s.Phase == phaseEnding || why == link.Late && s.Phase != of.Phase {
			return nil, nil
		}
		ch := &convo.Change{}
		if s.Phase == phaseSending {
			var err error
			if ch, err = c.engine.Unwelcome(tx, s.device()); err != nil {
				return nil, err
			}
			if err := dropMessages(tx.Tx, s.Acked, s.Next); err != nil {
				return nil, err
			}
		}
		clear(s.Ephemeral)
		clear(s.Root)
		*s = linkState{Phase: phaseEnding, Realm: s.Realm, Secret: s.Secret, First: s.First, Why: why, Why2: reason, Put: s.Put || s.Phase > phaseOffered,
			Expires: now.Add(linkWithin).Unix()}
		ended = true
		l.note(Link{Stage: LinkEnded, Reason: reason})
		return ch, nil
	})
	if ended && err == nil {
		l.over()
	}
	l.wake()
	if errors.Is(err, ErrNoLink) {
		return nil
	}
	return err
}

// note says what the link comes to by a transaction that is not committed yet. Nobody
// sees it before: who looks between the commit and what follows sees the end, and
// never that there is no link.
func (l *linker) note(last Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.trouble = last, ""
}

// over ends what runs for a link, and tells those who watch.
func (l *linker) over() {
	l.hangUp()
	l.touch()
}

// drop forgets a link whose phase is still what it was; last, unless it is empty, is
// what it came to.
func (l *linker) drop(ctx context.Context, of *linkState, last Link) error {
	err := l.update(ctx, of, func(_ vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase != of.Phase {
			return nil, nil
		}
		if s.Phase = 0; last.Stage != "" {
			l.note(last)
		}
		return nil, nil
	})
	if errors.Is(err, ErrNoLink) {
		return nil
	}
	return err
}
