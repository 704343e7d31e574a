package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// How often a link looks at the relay.
const (
	linkPoll    = time.Second            // while a person does something
	linkBusy    = 250 * time.Millisecond // while the pack goes over
	linkSlow    = 30 * time.Second       // the most, for who has been silent for long
	linkRetry   = 2 * time.Second        // after the relay failed
	linkNetwork = 3 * time.Second        // that the local network has before the relay is used
	linkIdle    = time.Hour
)

// run does what a link needs, until ctx ends.
func (l *linker) run(ctx context.Context) error {
	l.progress() // a process that just began has not waited for anybody yet
	defer l.rest()
	defer l.hangUp()
	if err := l.again(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.kick:
		case <-timer.C:
		}
		next, err := l.step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (isVault(err) || isVault(vaultError(err)) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrFull)):
			return err
		case err != nil:
			l.say(linkTrouble(err))
			next = linkRetry
		default:
			l.say("")
		}
		timer.Reset(next)
	}
}

// linkTrouble says why a link does not go on. What is no fault of the network is not
// called one.
func linkTrouble(err error) string {
	if s := plain(err); s != plain(ErrNetwork) || errors.Is(err, ErrNetwork) {
		return s
	}
	return "something on this device keeps it from going on, and it is tried again; if that does not help, `tacet device link --cancel` and a new code begin it anew"
}

func (l *linker) say(trouble string) {
	l.mu.Lock()
	same := l.trouble == trouble
	l.trouble = trouble
	l.mu.Unlock()
	if !same {
		l.touch()
	}
}

// step does what is to be done now, and says when to look again.
func (l *linker) step(ctx context.Context) (next time.Duration, err error) {
	next, err = l.forNow(ctx)
	if errors.Is(err, ErrNoLink) { // it ended meanwhile, or another was begun
		next, err = linkPoll, nil
	}
	left, partErr := l.parting(ctx)
	if left {
		next = min(next, linkRetry)
	}
	return next, errors.Join(err, partErr)
}

// forNow does what the link needs that there is now.
func (l *linker) forNow(ctx context.Context) (next time.Duration, err error) {
	s, err := l.load(ctx)
	if err != nil || s == nil {
		return linkIdle, err
	}
	r, err := l.c.realms.relay(s.Realm)
	if err != nil {
		return linkRetry, err
	}
	if s.Phase != phaseEnding && time.Now().Unix() > s.Expires {
		return linkPoll, l.late(ctx, s)
	}
	if len(s.Ports) > 0 && s.Phase != phaseEnding && l.c.opt.Network.Proxy() == "" {
		l.listen(s.Ports)
	}
	switch s.Phase {
	case phaseOffered:
		return linkPoll, l.offered(ctx, r, s)
	case phaseAnswered:
		return linkPoll, l.waiting(ctx, r, s)
	case phaseSending:
		if err := l.fill(ctx, s); err != nil {
			return linkRetry, err
		}
		return l.pace(), l.moving(ctx, r, s)
	case phaseAdmitted:
		return l.pace(), l.moving(ctx, r, s)
	case phaseEnding:
		if err := l.farewell(ctx, r, s); err != nil {
			return linkRetry, err
		}
		return linkRetry, l.drop(ctx, s, Link{})
	}
	return linkIdle, vault.ErrDamaged
}

// pace is how long to wait before the relay is asked again: the longer the new
// device has said nothing, the longer.
func (l *linker) pace() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slower(time.Since(l.heardAt))
}

// slower is a twentieth of a silence, within bounds.
func slower(silent time.Duration) time.Duration { return max(linkBusy, min(silent/20, linkSlow)) }

// late ends what took too long.
func (l *linker) late(ctx context.Context, s *linkState) error {
	switch s.Phase {
	case phaseOffered:
		return l.end(ctx, s, link.Late, "nobody used the code in its ten minutes")
	case phaseAnswered:
		return l.end(ctx, s, link.Late, "the digits were not typed in ten minutes")
	case phaseSending:
		return l.end(ctx, s, link.Late, "it was not done after a day")
	}
	defer l.over()
	return l.drop(ctx, s, Link{Stage: LinkEnded, Reason: "the new device is on the list and has not said that it works; `tacet device revoke` takes it off"})
}

// offered puts the offer and looks for the answer.
func (l *linker) offered(ctx context.Context, r Relay, s *linkState) error {
	if !s.Put {
		if len(s.Entry) > 0 {
			if err := l.entry(ctx, r, s); err != nil {
				return err
			}
		}
		if _, err := r.PutBlob(ctx, linkBlob(s.code().Offer(), s.code().Capability(), s.Offer, 1)); err != nil {
			return networkError(err)
		}
		err := l.update(ctx, s, func(_ vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
			s.Put = s.Phase == phaseOffered
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	blob, err := r.GetBlob(ctx, s.code().Answer())
	switch {
	case errors.Is(err, transport.ErrNothing):
		return nil
	case err != nil:
		return networkError(err)
	}
	defer l.wake()
	return l.answered(ctx, s, blob)
}

// entry has the relay take the new device as a member.
func (l *linker) entry(ctx context.Context, r Relay, s *linkState) error {
	gate, ok := r.(Gate)
	if !ok {
		return transport.ErrRefused
	}
	err := gate.MakeInvite(ctx, [32]byte(s.Entry), 1)
	switch {
	case errors.Is(err, transport.ErrOutside):
		return l.end(ctx, s, link.Failed, "the relay is for members and lets them invite nobody, so it would not take the new device; ask its operator")
	case errors.Is(err, transport.ErrLimit):
		return l.end(ctx, s, link.Failed, "the relay is for members and gives them no more invites today; try again tomorrow")
	case err != nil:
		return networkError(err)
	}
	s.Entry = nil
	return l.update(ctx, s, func(_ vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
		s.Entry = nil
		return nil, nil
	})
}

// waiting puts the reveal, and looks whether the new device gave up.
func (l *linker) waiting(ctx context.Context, r Relay, s *linkState) error {
	session, err := s.session()
	if err != nil {
		return err
	}
	defer session.Wipe()
	if !s.Put {
		if err := putTwice(ctx, r, linkBlob(session.Reveal(), session.Capability(), s.Reveal, 1)); err != nil {
			return err
		}
		err := l.update(ctx, s, func(_ vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
			s.Put = s.Phase == phaseAnswered
			return nil, nil
		})
		if err != nil {
			return err
		}
		// Offer and answer stay until the link ends: who comes second is told that the
		// code was used.
	}
	_, err = l.left(ctx, r, s, session)
	return err
}

// left looks whether the new device gave up, and ends the link if so.
func (l *linker) left(ctx context.Context, r Relay, of *linkState, s *link.Session) (bool, error) {
	blob, err := r.GetBlob(ctx, s.GaveUp(false))
	switch {
	case errors.Is(err, transport.ErrNothing):
		return false, nil
	case err != nil:
		return false, networkError(err)
	}
	if _, err := link.OpenGaveUp(s.First, false, blob); err != nil {
		return false, nil
	}
	if err := l.end(ctx, of, link.Cancelled, "it was taken back on the new device"); err != nil {
		return true, err
	}
	return true, l.admittedLeft(ctx, of)
}

// admittedLeft takes a device off the list that gave up before it heard that it is on
// it. It has destroyed what it had.
func (l *linker) admittedLeft(ctx context.Context, of *linkState) error {
	ended := false
	err := l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (ch *convo.Change, err error) {
		if s.Phase != phaseAdmitted {
			return nil, nil
		}
		id := l.c.engine.Self
		if place, ok := id.Manifest.Find(s.Sign); ok {
			m, err := id.Revoke(now, place)
			if errors.Is(err, device.ErrPlace) {
				m, err = id.Manifest, nil // it was revoked already
			}
			if err != nil {
				return nil, err
			}
			if ch, err = l.c.engine.Adopt(tx, now, m); err != nil {
				return nil, err
			}
		}
		if err := l.done(tx, s); err != nil {
			return nil, err
		}
		s.Why, s.Why2 = link.Cancelled, "it was taken back on the new device, which is off the list again"
		l.note(Link{Stage: LinkEnded, Reason: s.Why2})
		ended = true
		return ch, nil
	})
	if ended && err == nil {
		l.over()
		l.c.wake()
		l.wake()
	}
	return err
}

// putTwice puts a blob that may have been put before.
func putTwice(ctx context.Context, r Relay, p *wire.BlobPut) error {
	receipt, err := r.PutBlob(ctx, p)
	if occupied(receipt, p, err) {
		return nil
	}
	return networkError(err)
}

// occupied reports whether another content lies at an id.
func occupied(r wire.Receipt, p *wire.BlobPut, err error) bool {
	return err != nil && r.ID == p.ID
}

// moving puts what is to go by the relay, and hears how far the new device is.
func (l *linker) moving(ctx context.Context, r Relay, of *linkState) error {
	s, err := l.same(ctx, of)
	if err != nil {
		return err
	}
	session, err := s.session()
	if err != nil {
		return err
	}
	defer session.Wipe()
	// First: one that has given up, and is nobody's, is not put on the list.
	if over, err := l.left(ctx, r, s, session); err != nil || over {
		return err
	}
	if s.Phase == phaseAdmitted {
		if done, err := l.works(ctx, s); err != nil || done {
			return err
		}
	}
	if l.byRelay() {
		days := byte(1)
		if s.Phase == phaseAdmitted {
			days = linkKept
		}
		for n := max(s.OnRelay, s.Acked); n < s.Next; n++ {
			if err := l.putMessage(ctx, r, s, session, n, days); err != nil {
				return err
			}
			if !l.byRelay() {
				break
			}
		}
	}
	for {
		heard, err := l.ask(ctx, r, s, session)
		if err != nil {
			return err
		}
		if !heard {
			break
		}
		l.wake() // there is room now
	}
	return nil
}

// works ends a link to a device that has begun a session with this one: it works, also
// if its word of that was lost.
func (l *linker) works(ctx context.Context, of *linkState) (done bool, err error) {
	err = l.update(ctx, of, func(tx vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase != phaseAdmitted {
			return nil, nil
		}
		d, err := tx.DeviceOf(l.c.engine.Self.Manifest.Root, s.Sign)
		if errors.Is(err, contact.ErrUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		sessions, err := tx.SessionsOf(d.ID)
		if err != nil || len(sessions) == 0 {
			return nil, err
		}
		done = true
		return nil, l.done(tx, s)
	})
	if done && err == nil {
		l.c.opt.at(BoundaryLinkDone)
		l.over()
		l.wake()
	}
	return done, err
}

// done ends a link that has come to its end. What lies at the relay is left to
// farewell.
func (l *linker) done(tx vault.Store, s *linkState) error {
	if err := dropMessages(tx.Tx, s.Acked, s.Next); err != nil {
		return err
	}
	*s = linkState{Phase: phaseEnding, Realm: s.Realm, Secret: s.Secret, Put: true, Expires: s.Expires}
	l.note(Link{Stage: LinkDone})
	return nil
}

func (l *linker) putMessage(ctx context.Context, r Relay, of *linkState, session *link.Session, n uint32, days byte) error {
	var blob []byte
	err := l.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		row, found, err := tx.Get(vault.Meta, metaPiece+int64(n))
		if found {
			blob = row.V
		}
		return err
	})
	if err != nil {
		return err
	}
	if blob != nil { // else it has arrived meanwhile
		l.goes("relay")
		p := linkBlob(session.Down(n), session.Capability(), blob, days)
		receipt, err := r.PutBlob(ctx, p)
		if occupied(receipt, p, err) && receipt.Hash != sha256.Sum256(blob) {
			return l.end(ctx, of, link.Failed, "something else lies where a piece of it should: the storage of this device may have gone back in time")
		}
		if err != nil && !occupied(receipt, p, err) {
			return networkError(err)
		}
	}
	return l.update(ctx, of, func(_ vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
		s.OnRelay = max(s.OnRelay, n+1)
		return nil, nil
	})
}

// ask looks for the next state of the new device.
func (l *linker) ask(ctx context.Context, r Relay, of *linkState, session *link.Session) (heard bool, err error) {
	s, err := l.same(ctx, of)
	if err != nil {
		return false, err
	}
	id := session.Up(s.Up)
	blob, err := r.GetBlob(ctx, id)
	switch {
	case errors.Is(err, transport.ErrNothing):
		return false, nil
	case err != nil:
		return false, networkError(err)
	}
	st, err := session.OpenUp(s.Up, blob)
	if err != nil {
		return false, l.end(ctx, s, link.Failed, "what the new device says is not well-formed: the relay may have changed it")
	}
	if err := l.heard(ctx, s, st, true); err != nil {
		return false, err
	}
	r.DeleteBlob(ctx, id, session.Capability())
	return true, nil
}

// goes notes by which way the pack goes.
func (l *linker) goes(way string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.way = way
}
