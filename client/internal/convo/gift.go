package convo

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
)

// Gifts is where guest tokens come from and go to: opaque here, as content
// carries them.
type Gifts interface {
	// Give takes up to n tokens for our own realm out. nil: there are none, or the
	// realm wants none.
	Give(tx Tx, n int) ([]byte, error)
	// Keep takes what a contact gave for the realm that they live on.
	Keep(tx Tx, of contact.Realm, gift []byte) error
}

// Guest tokens that a contact is given.
//
// spec: content.md#guest-tokens
const (
	giftOffer   = 4       // with a route offer
	giftRefill  = 12      // when they have fewer than giftLeast
	giftLeast   = 4       // that they should have
	giftHello   = 4       // in the first block of a hello, if they fit
	giftEnough  = 2       // at least as many: the answer and one try more
	giftDays    = 21      // after which what was given is taken to be over
	giftFixed   = 32 + 5  // bytes before the tokens
	giftToken   = 48      // bytes of each
	giftPeriod  = 30 * 60 // seconds in which one token is thought to be spent
	firstMargin = 24      // bytes around a gift in a content
)

// elsewhere reports whether a contact lives on another realm than we do.
func (e *Engine) elsewhere(r *contact.Record) bool {
	return e.Gifts != nil && e.Home.Live != 0 && r.Realm.Pin != e.Home.Realm.Pin
}

// gift takes tokens for a contact who lives elsewhere into a control.
func (e *Engine) gift(tx Tx, now time.Time, r *contact.Record, ctl *content.Control, n int) error {
	if !e.elsewhere(r) {
		return nil
	}
	g, err := e.Gifts.Give(tx, n)
	if err != nil || len(g) == 0 {
		return err
	}
	ctl.Guest = g
	r.Guests += (len(g) - giftFixed) / giftToken
	r.GuestsAt = now.Unix()
	return nil
}

// refill gives a contact tokens in a message of their own when they have few.
func (e *Engine) refill(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	if !e.elsewhere(r) {
		return nil
	}
	if now.Unix()-r.GuestsAt >= giftDays*daySeconds {
		r.Guests = 0
	}
	if r.Guests >= giftLeast {
		return nil
	}
	ctl := &content.Control{}
	if err := e.gift(tx, now, r, ctl, giftRefill); err != nil || ctl.Guest == nil {
		return err
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	_, err := e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Control: ctl}, Row{}, ch)
	return err
}

// arrived counts what a contact spends to write to us: one token in a live
// period, at the most.
func (e *Engine) arrived(tx Tx, now time.Time, r *contact.Record) error {
	if !e.elsewhere(r) || r.Guests == 0 || now.Unix()/giftPeriod == r.GuestsUsed/giftPeriod {
		return nil
	}
	r.Guests--
	r.GuestsUsed = now.Unix()
	return tx.PutContact(r)
}

// FirstGift puts tokens for our realm into what a hello says first, for who
// lives elsewhere: without one they could not answer. It reports whether there
// was room for what there is; it is not called where the realm wants none.
func (e *Engine) FirstGift(tx Tx, now time.Time, c *content.Content, theirs contact.Realm, room int) (given int, err error) {
	if e.Gifts == nil || e.Home.Live == 0 || theirs.Pin == e.Home.Realm.Pin {
		return 0, nil
	}
	n := min(giftHello, (room-giftFixed-firstMargin)/giftToken)
	if n < giftEnough {
		return 0, ErrLong
	}
	g, err := e.Gifts.Give(tx, n)
	if err != nil || len(g) == 0 {
		return 0, err
	}
	c.Control = &content.Control{Guest: g}
	return (len(g) - giftFixed) / giftToken, nil
}
