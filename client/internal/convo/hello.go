package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Met takes a whole hello that came by the contact route of an invite of ours.
// A stranger's hello is answered neutrally, later, and is never echoed.
//
// spec: hello.md#answers
func (e *Engine) Met(tx Tx, now time.Time, route *contact.RouteRecord, whole []byte) (*Change, error) {
	ch := &Change{}
	inv, err := tx.Invite(route.Invite)
	if errors.Is(err, contact.ErrInvite) {
		return ch, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := contact.Receive(tx, e.Rand, now, e.Self, inv, whole)
	if errors.Is(err, contact.ErrHello) {
		return ch, nil
	}
	if err != nil {
		return nil, err
	}
	r := in.Contact
	p, err := contact.Principal(tx, r)
	if err != nil {
		return nil, err
	}
	if in.Doubtful {
		return ch, e.notice(tx, now, r.ID, r.Warning, ch)
	}
	if in.Duplicate {
		return e.repeated(tx, now, r, in.Message)
	}
	ch.Routes, ch.Invites = true, inv.Gone
	if in.Followed {
		// The manifest that came with it may end other devices.
		if err := e.follow(tx, now, p, true, ch); err != nil {
			return nil, err
		}
		if r, err = tx.Contact(r.ID); errors.Is(err, contact.ErrUnknown) {
			return ch, nil // this very device
		} else if err != nil {
			return nil, err
		}
	}
	s, err := tx.SessionsOf(r.ID)
	if err != nil {
		return nil, err
	}
	if len(s) == 0 {
		return ch, nil // the manifest that came with it ended this very device
	}
	rec := s[len(s)-1]
	if err := tx.PutOpened(r.ID, session.InnerHash(whole), in.Message, now.Unix()/daySeconds, true); err != nil {
		return nil, err
	}
	why := "took up your invite"
	if r.State == contact.Request {
		why, ch.Stranger, r.Neutral = "wants to talk with you", r.ID, now.Unix()
		if err := tx.PutContact(r); err != nil {
			return nil, err
		}
	} else {
		ch.owes(r.ID)
	}
	if r.State == contact.Member && !in.Introduced {
		why = "wants to talk with you"
	}
	if err := e.notice(tx, now, r.ID, why, ch); err != nil {
		return nil, err
	}
	if _, _, err := e.take(tx, now, r, rec, in.Block, false, ch); err != nil {
		return nil, err
	}
	if !r.Kept() {
		return ch, nil
	}
	// What waits for somebody we had asked ourselves is in a session that they
	// may never get.
	if err := e.resealAll(tx, now, r.ID, ch); err != nil {
		return nil, err
	}
	return ch, e.accept(tx, now, r, ch)
}

// neutralEvery is how often the hello of somebody who was not accepted is
// answered again. Each answer tells them that this device was there.
const neutralEvery = 24 * time.Hour

// repeated answers a hello that came before once more: its ack was lost, or
// somebody wants to know whether we are there.
func (e *Engine) repeated(tx Tx, now time.Time, r *contact.Record, m wire.MessageID) (*Change, error) {
	ch := &Change{}
	switch r.State {
	case contact.Request:
		if since := now.Sub(time.Unix(r.Neutral, 0)); since >= 0 && since < neutralEvery {
			return ch, nil
		}
		r.Neutral, ch.Stranger = now.Unix(), r.ID
		return ch, errors.Join(tx.PutContact(r), tx.Settle(r.ID, []wire.MessageID{m}, true))
	case contact.Accepted, contact.Pending, contact.Member:
		_, ch, err := e.again(tx, r.ID, m, ch)
		ch.Heard = 0 // anybody may repeat a hello's cells: it proves nobody's presence
		return ch, err
	}
	return ch, nil
}
