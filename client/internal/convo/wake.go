package convo

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Wake tickets that contacts are given.
//
// spec: wake.md#tickets-between-contacts
const (
	ticketsEach  = 4 // that a contact should have
	ticketsLeast = 2 // at so many, or fewer, they are given more
	ticketsHour  = 8 // given to one contact in an hour, at the most
	ticketLife   = 7 * daySeconds
	ticketSoon   = 2 * daySeconds // before its end a ticket counts as used
	// wakeApart is how soon a device is woken again of which nothing was heard.
	wakeApart = 10 * time.Minute
)

// ErrNoTicket is returned where a contact's device cannot be woken now.
var ErrNoTicket = errors.New("there is no wake ticket to use now")

// WakeRecord is what is kept of waking one contact's device, and ours for them.
type WakeRecord struct {
	Given  []GivenTicket    `cbor:"1,keyasint"` // ours that they have, oldest first
	Set    int64            `cbor:"2,keyasint"` // of which endpoint of ours those are; 0: none were given
	Hour   int64            `cbor:"3,keyasint"` // unix seconds when counting began
	Count  int              `cbor:"4,keyasint"` // given since
	Held   []HeldTicket     `cbor:"5,keyasint"` // theirs that we have, oldest first
	Woken  int64            `cbor:"6,keyasint"` // unix seconds when one was last used; 0: since then their device was heard of
	Offers []wire.MessageID `cbor:"7,keyasint"` // messages with tickets that wait for an ack
}

// GivenTicket is a ticket of ours. Its keys are derived from its id.
type GivenTicket struct {
	ID      [wake.IDSize]byte `cbor:"1,keyasint"`
	Expires int64             `cbor:"2,keyasint"` // unix seconds
}

// HeldTicket is a ticket of theirs.
type HeldTicket struct {
	Ticket  []byte `cbor:"1,keyasint"`
	Expires int64  `cbor:"2,keyasint"` // unix seconds
}

// Wakes keeps these records.
type Wakes interface {
	Wake(contact int64) (*WakeRecord, error) // an empty one if there is none
	PutWake(contact int64, r *WakeRecord) error
	DeleteWake(contact int64) error
	// EachWake calls f with every record.
	EachWake(f func(contact int64, r *WakeRecord) error) error
}

// Waking is how this device is woken, once its endpoint is proven.
type Waking struct {
	Set     int64 // another with each endpoint
	Gateway wake.Gateway
	Public  key.XWingPublic // of the gateway
	Secret  key.Wake        // that the keys of tickets are derived from
	Family  [wake.FamilySize]byte
	MAC     [wake.MACSize]byte
	URL     string // of the endpoint
}

// Ticket makes a ticket that is good until a time, in unix seconds.
func (w *Waking) Ticket(rand io.Reader, expires int64) (raw []byte, id [wake.IDSize]byte, err error) {
	if _, err := io.ReadFull(rand, id[:]); err != nil {
		return nil, id, err
	}
	private, auth := wake.PushKeys(w.Secret, id)
	raw, err = wake.Seal(w.Public, w.Gateway, &wake.Ticket{
		Expires: uint64(expires), ID: id, Family: w.Family, MAC: w.MAC, Subscription: wake.NewSubscription(w.URL, private, auth),
	})
	return raw, id, err
}

// HandTickets gives contacts the tickets that they lack, at most so many contacts
// at a time. It reports whether there are more.
func (e *Engine) HandTickets(tx Tx, now time.Time, most int) (ch *Change, more bool, err error) {
	ch = &Change{}
	devices, err := tx.Devices()
	if err != nil {
		return nil, false, err
	}
	for _, r := range devices {
		if !r.Kept() || r.Stop {
			continue
		}
		if _, err := primary(tx, r.ID); errors.Is(err, ErrBlocked) {
			continue // not met yet
		} else if err != nil {
			return nil, false, err
		}
		rec, err := tx.Wake(r.ID)
		if err != nil {
			return nil, false, err
		}
		n, forget, err := e.lacks(tx, now, r, rec)
		if err != nil {
			return nil, false, err
		}
		if n == 0 && !forget {
			continue
		}
		if most--; most < 0 {
			return ch, true, nil
		}
		if err := e.hand(tx, now, r, rec, n, forget, ch); err != nil {
			return nil, false, err
		}
	}
	return ch, false, nil
}

// lacks says how many tickets a contact is to be given now, and whether those
// they have are to be forgotten.
func (e *Engine) lacks(tx Tx, now time.Time, r *contact.Record, rec *WakeRecord) (n int, forget bool, err error) {
	set := int64(0)
	if e.Waking != nil {
		set = e.Waking.Set
	}
	forget = rec.Set != 0 && rec.Set != set
	if forget {
		rec.Given = nil
	}
	for _, m := range rec.Offers {
		switch _, err := tx.RowOf(r.ID, m); {
		case err == nil:
			return 0, false, nil // one that is away for a year gets no fifty batches
		case !errors.Is(err, ErrGone):
			return 0, false, err
		}
	}
	if set == 0 {
		return 0, forget, nil
	}
	rec.Given = slices.DeleteFunc(rec.Given, func(g GivenTicket) bool { return g.Expires <= now.Unix() })
	left := 0
	for _, g := range rec.Given {
		if g.Expires > now.Unix()+ticketSoon {
			left++
		}
	}
	if left > ticketsLeast {
		return 0, forget, nil
	}
	if now.Unix()-rec.Hour >= 3600 || now.Unix() < rec.Hour {
		rec.Hour, rec.Count = now.Unix(), 0
	}
	return min(ticketsEach-left, ticketsHour-rec.Count), forget, nil
}

// hand gives a contact tickets, in a message of their own.
func (e *Engine) hand(tx Tx, now time.Time, r *contact.Record, rec *WakeRecord, n int, forget bool, ch *Change) error {
	b := wake.Batch{Forget: forget}
	rec.Set = 0
	if e.Waking != nil {
		expires := now.Unix() + ticketLife
		rec.Set, b.Expires = e.Waking.Set, uint32(expires)
		for range n {
			raw, id, err := e.Waking.Ticket(e.Rand, expires)
			if err != nil {
				return err
			}
			b.Tickets = append(b.Tickets, raw)
			rec.Given = append(rec.Given, GivenTicket{id, expires})
		}
		rec.Count += n
	}
	raw, err := b.Append(nil)
	if err != nil {
		return err
	}
	rows, err := e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Control: &content.Control{Tickets: raw}}, Row{}, ch)
	if err != nil {
		return err
	}
	rec.Offers = nil
	for _, row := range rows {
		rec.Offers = append(rec.Offers, row.Message)
	}
	return tx.PutWake(r.ID, rec)
}

// takeTickets keeps what a contact gave.
func (e *Engine) takeTickets(tx Tx, now time.Time, r *contact.Record, raw []byte) error {
	b, err := wake.ParseBatch(raw)
	if err != nil {
		return nil // of a newer version, or nonsense
	}
	rec, err := tx.Wake(r.ID)
	if err != nil {
		return err
	}
	if b.Forget {
		rec.Held = nil
	}
	rec.Held = slices.DeleteFunc(rec.Held, func(h HeldTicket) bool { return h.Expires <= now.Unix() })
	for _, t := range b.Tickets {
		rec.Held = append(rec.Held, HeldTicket{slices.Clone(t), int64(b.Expires)})
	}
	if n := len(rec.Held); n > wake.MaxBatch {
		rec.Held = rec.Held[n-wake.MaxBatch:]
	}
	return tx.PutWake(r.ID, rec)
}

// TakeTicket takes out the ticket with which a contact's device is woken now. It
// fails with ErrNoTicket if there is none, if one was used and nothing has been
// heard of the device since, or if we are not on speaking terms.
func (e *Engine) TakeTicket(tx Tx, now time.Time, id int64, heard bool) (t HeldTicket, err error) {
	r, err := tx.Contact(id)
	if errors.Is(err, contact.ErrUnknown) || err == nil && (!r.Kept() || r.Stop) {
		return t, ErrNoTicket
	}
	if err != nil {
		return t, err
	}
	rec, err := tx.Wake(id)
	if err != nil {
		return t, err
	}
	since := now.Unix() - rec.Woken
	if !heard && since >= 0 && since < int64(wakeApart/time.Second) {
		return t, ErrNoTicket
	}
	rec.Held = slices.DeleteFunc(rec.Held, func(h HeldTicket) bool { return h.Expires <= now.Unix()+60 })
	if len(rec.Held) == 0 {
		return t, ErrNoTicket
	}
	t = rec.Held[0]
	rec.Held, rec.Woken = rec.Held[1:], now.Unix()
	return t, tx.PutWake(id, rec)
}

// ReturnTicket puts back a ticket that did not leave, unless the contact was
// dropped meanwhile.
func (e *Engine) ReturnTicket(tx Tx, id int64, t HeldTicket) error {
	r, err := tx.Contact(id)
	if errors.Is(err, contact.ErrUnknown) || err == nil && !r.Kept() {
		return nil
	}
	if err != nil {
		return err
	}
	rec, err := tx.Wake(id)
	if err != nil {
		return err
	}
	rec.Held = append([]HeldTicket{t}, rec.Held...)
	rec.Woken = 0
	return tx.PutWake(id, rec)
}

// Pushed finds the ticket whose keys open a pushed body, and counts it as used. It
// reports false for a body that none opens: of a contact that was blocked, of an
// endpoint before this one, or of nobody.
func (e *Engine) Pushed(tx Tx, body []byte) (found bool, err error) {
	if e.Waking == nil {
		return false, nil
	}
	var of int64
	var rec *WakeRecord
	err = tx.EachWake(func(id int64, r *WakeRecord) error {
		if found || r.Set != e.Waking.Set {
			return nil
		}
		for i, g := range r.Given {
			private, auth := wake.PushKeys(e.Waking.Secret, g.ID)
			if m, err := wake.Decrypt(private, auth, body); err == nil && !m.Challenge {
				r.Given = slices.Delete(r.Given, i, i+1)
				found, of, rec = true, id, r
				return nil
			}
		}
		return nil
	})
	if err != nil || !found {
		return false, err
	}
	return true, tx.PutWake(of, rec)
}
