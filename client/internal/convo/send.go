package convo

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/wire"
)

// MaySend says whether messages to the contact are taken.
func MaySend(r *contact.Record) error {
	switch {
	case r.Stop:
		return ErrStopped
	case r.State == contact.Request:
		return ErrNotYet
	case r.State != contact.Accepted && r.State != contact.Pending:
		return ErrBlocked
	}
	return nil
}

// Send commits a text: the event, the ratchet's step and the sealed bytes.
// keep bounds its life in the outbox; zero keeps it until it is acked.
func (e *Engine) Send(tx Tx, now time.Time, id int64, text string, keep time.Duration) (*Event, *Change, error) {
	r, err := tx.Contact(id)
	if err != nil {
		return nil, nil, err
	}
	if err := MaySend(r); err != nil {
		return nil, nil, err
	}
	if text == "" {
		return nil, nil, ErrEmpty
	}
	var ch Change
	c := &content.Content{Sent: uint64(now.Unix()), Text: &content.Text{Body: text}}
	if err := e.ride(tx, id, c); err != nil {
		return nil, nil, err
	}
	ev := &Event{Contact: id, Kind: Text, Out: true, Text: text, Sent: now.Unix(), At: now.Unix(), State: Queued}
	if keep > 0 {
		ev.Expires = now.Add(keep).Unix()
	}
	if err := tx.PutEvent(ev); err != nil {
		return nil, nil, err
	}
	rows, err := e.write(tx, now, r, c, Row{Event: ev.Seq, Expires: ev.Expires}, &ch)
	if err != nil {
		return nil, nil, err
	}
	ev.Message, ev.Left = rows[0].Message, len(rows)
	if err := tx.PutEvent(ev); err != nil {
		return nil, nil, err
	}
	ch.Events = append(ch.Events, ev)
	return ev, &ch, nil
}

// Hello commits the row and the event of a hello that contact.Start made.
func (e *Engine) Hello(tx Tx, now time.Time, out *contact.Outgoing, text string) (*Change, error) {
	ev := &Event{Contact: out.Contact.ID, Kind: Notice, Out: true, Sent: now.Unix(), At: now.Unix(), State: Queued, Message: out.Message, Left: 1,
		Text: "asked to talk"}
	if text != "" {
		ev.Kind, ev.Text = Text, text
	}
	if err := tx.PutEvent(ev); err != nil {
		return nil, err
	}
	row := &Row{Contact: out.Contact.ID, Message: out.Message, Sealed: true, Hello: true, Route: out.Route.ID, Event: ev.Seq, State: Queued,
		Born: now.Unix(), Made: now.Unix(), Payload: out.Whole, Until: out.Until}
	ch := &Change{Events: []*Event{ev}, Routes: true}
	// A hello by an earlier invite went nowhere; this one takes its place.
	if err := e.dropRows(tx, out.Contact.ID, ch); err != nil {
		return nil, err
	}
	if err := tx.PutRow(row); err != nil {
		return nil, err
	}
	ch.Added = append(ch.Added, row)
	return ch, nil
}

// Unsend takes back a message of which nothing has left this device. It fails
// with ErrSent otherwise. Sealed bytes that never left cost a gap in the
// ratchet, which the other end skips over.
func (e *Engine) Unsend(tx Tx, now time.Time, seq int64) (*Change, error) {
	ev, err := tx.Event(seq)
	if err != nil {
		return nil, err
	}
	if !ev.Out || ev.State == Expired || ev.State == Unsent {
		return nil, ErrGone
	}
	if ev.State != Queued {
		return nil, ErrSent
	}
	rows, err := tx.RowsOf(ev.Contact)
	if err != nil {
		return nil, err
	}
	ch := &Change{Events: []*Event{ev}}
	for _, row := range rows {
		if row.Event != seq {
			continue
		}
		if row.State != Queued || row.Left || row.Hello {
			return nil, ErrSent
		}
		if err := tx.DeleteRow(row.ID); err != nil {
			return nil, err
		}
		ch.Removed = append(ch.Removed, row.ID)
	}
	ev.State, ev.Left = Unsent, 0
	if err := tx.PutEvent(ev); err != nil {
		return nil, err
	}
	return ch, e.topUp(tx, now, ev.Contact, ch)
}

// Leaving notes that a row is about to leave this device. It is committed before
// the first byte of it goes.
func (e *Engine) Leaving(tx Tx, id int64) error {
	row, err := tx.Row(id)
	if err != nil || row.Left {
		return err
	}
	row.Left = true
	return tx.PutRow(row)
}

// Moved notes what the relay said of a row. States only rise.
func (e *Engine) Moved(tx Tx, id int64, s EventState) (*Change, error) {
	row, err := tx.Row(id)
	if err != nil {
		return nil, err
	}
	ch := &Change{}
	if s <= row.State {
		return ch, nil
	}
	row.State = s
	if err := tx.PutRow(row); err != nil {
		return nil, err
	}
	if row.Event == 0 {
		return ch, nil
	}
	ev, err := tx.Event(row.Event)
	if err != nil || ev.State >= s {
		return ch, err
	}
	ev.State = s
	ch.Events = append(ch.Events, ev)
	return ch, tx.PutEvent(ev)
}

// Parked notes until when the other end's relay keeps a row for its device. What
// is shown says so once that is true of all that waits of the message.
func (e *Engine) Parked(tx Tx, id, until int64) (*Change, error) {
	row, err := tx.Row(id)
	if err != nil {
		return nil, err
	}
	ch := &Change{}
	row.Parked = until
	if err := tx.PutRow(row); err != nil || row.Event == 0 {
		return ch, err
	}
	ev, err := tx.Event(row.Event)
	if err != nil {
		return nil, err
	}
	if ev.Left > 1 {
		rows, err := tx.RowsOf(row.Contact)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.Event == row.Event {
				until = min(until, r.Parked)
			}
		}
	}
	if until == ev.Parked {
		return ch, nil
	}
	ev.Parked = until
	ch.Events = append(ch.Events, ev)
	return ch, tx.PutEvent(ev)
}

// Expire drops rows whose lifetime ended and says so in the conversation.
func (e *Engine) Expire(tx Tx, now time.Time, ids []int64) (*Change, error) {
	ch := &Change{}
	for _, id := range ids {
		row, err := tx.Row(id)
		if err == ErrGone {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := tx.DeleteRow(id); err != nil {
			return nil, err
		}
		ch.Removed = append(ch.Removed, id)
		if row.Event != 0 {
			ev, err := tx.Event(row.Event)
			if err != nil {
				return nil, err
			}
			if ev.State < OnDevice {
				ev.State = Expired
				if err := tx.PutEvent(ev); err != nil {
					return nil, err
				}
				ch.Events = append(ch.Events, ev)
			}
		}
		if err := e.topUp(tx, now, row.Contact, ch); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// acked removes the rows that a device acked.
func (e *Engine) acked(tx Tx, now time.Time, id int64, ids []wire.MessageID, ch *Change) error {
	for _, m := range ids {
		row, err := tx.RowOf(id, m)
		if err == ErrGone {
			continue
		}
		if err != nil {
			return err
		}
		if err := tx.DeleteRow(row.ID); err != nil {
			return err
		}
		ch.Removed = append(ch.Removed, row.ID)
		if err := e.routeAcked(tx, now, row); err != nil {
			return err
		}
		if row.Event == 0 {
			continue
		}
		ev, err := tx.Event(row.Event)
		if err != nil {
			return err
		}
		if ev.Left--; ev.Left <= 0 {
			ev.Left, ev.State = 0, OnDevice
			ch.Events = append(ch.Events, ev)
		}
		if err := tx.PutEvent(ev); err != nil {
			return err
		}
	}
	return e.topUp(tx, now, id, ch)
}
