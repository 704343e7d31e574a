package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Ack is a sealed ack, or drop, on its way: put once, not kept. If it is lost the
// other end sends its message again, and that is answered again. Until Put or
// Lost is called it counts as on its way; one whose process ends before that is
// owed again.
type Ack struct {
	Contact int64
	Message wire.MessageID
	Payload []byte // one pair message
	IDs     []wire.MessageID
}

// Acks seals what is owed to a contact. It returns nil when nothing is. Nobody
// who was not accepted gets more than the neutral answer to their hello.
func (e *Engine) Acks(tx Tx, now time.Time, id int64) (*Ack, error) {
	r, err := tx.Contact(id)
	if errors.Is(err, contact.ErrUnknown) {
		return nil, nil // the device was revoked meanwhile
	}
	if err != nil {
		return nil, err
	}
	if !r.MayReceive() && r.State != contact.Request {
		return nil, nil
	}
	ids, err := tx.Owed(id, MaxAcks)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	c := &content.Content{Sent: uint64(now.Unix())}
	if c.Acks, err = e.acks(tx, id, ids); errors.Is(err, ErrBlocked) {
		return nil, nil // the session went while it was owed
	} else if err != nil {
		return nil, err
	}
	return e.once(tx, r, c, ids)
}

// Back seals an "I'm back" drop for a contact, with the acks that are owed: who
// waits for this device need not wait for its own next try. It returns nil for
// somebody who is not accepted.
//
// spec: delivery.md#coming-back
func (e *Engine) Back(tx Tx, now time.Time, id int64) (*Ack, error) {
	r, err := tx.Contact(id)
	if err != nil || !r.Kept() || r.Stop {
		return nil, err
	}
	ids, err := tx.Owed(id, MaxAcks)
	if err != nil {
		return nil, err
	}
	c := &content.Content{Sent: uint64(now.Unix()), Drop: &content.Drop{Back: true}}
	if len(ids) > 0 {
		if c.Acks, err = e.acks(tx, id, ids); err != nil {
			return nil, err
		}
	}
	return e.once(tx, r, c, ids)
}

// once seals what is put once and not kept; the acks in it are on their way.
func (e *Engine) once(tx Tx, r *contact.Record, c *content.Content, ids []wire.MessageID) (*Ack, error) {
	id := r.ID
	body, err := c.Append(nil)
	if err != nil {
		return nil, err
	}
	a := &Ack{Contact: id, IDs: ids}
	if a.Message, err = e.id(); err != nil {
		return nil, err
	}
	block, err := e.block(r, a.Message, 0, 1, body)
	if err != nil {
		return nil, err
	}
	a.Payload, err = e.seal(tx, id, block)
	if errors.Is(err, session.ErrFull) {
		return nil, nil // owed until they have answered
	}
	if err != nil {
		return nil, err
	}
	return a, tx.Leaving(id, ids)
}

func (e *Engine) acks(tx Tx, id int64, ids []wire.MessageID) (*content.Acks, error) {
	s, err := primary(tx, id)
	if err != nil {
		return nil, err
	}
	return &content.Acks{IDs: ids, Highest: s.Highest}, nil
}

// ride lets owed acks go along with something that is kept until it is acked,
// but with nothing that may have to wait unsealed: the other end could be
// waiting for these very acks to make room for the acks that make room here.
// They say nothing of what was received highest: the message may be sealed again
// in another session, whose numbers are others.
func (e *Engine) ride(tx Tx, id int64, c *content.Content) error {
	sealed, err := tx.SealedRows(id)
	if err != nil || sealed+pad.MaxParts > MaxSealed {
		return err
	}
	ids, err := tx.Owed(id, AcksRiding)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.Acks = &content.Acks{IDs: ids}
	return tx.Settle(id, ids, false)
}

// Put settles the acks: their put was answered.
func (e *Engine) Put(tx Tx, a *Ack) error { return tx.Settle(a.Contact, a.IDs, false) }

// Lost owes the acks again: their put failed.
func (e *Engine) Lost(tx Tx, a *Ack) error { return tx.Settle(a.Contact, a.IDs, true) }
