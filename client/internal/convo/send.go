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
	case r.Own || r.Person != 0:
		return ErrBlocked // it is a device
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
	devices, err := tx.DevicesOf(id)
	if err != nil {
		return nil, nil, err
	}
	if len(devices) == 0 {
		return nil, nil, ErrNoDevice
	}
	var ch Change
	ev := &Event{Contact: id, Kind: Text, Out: true, Text: text, Sent: now.Unix(), At: now.Unix(), State: Queued, From: e.Self.Name()}
	if ev.Message, err = e.id(); err != nil {
		return nil, nil, err
	}
	if keep > 0 {
		ev.Expires = now.Add(keep).Unix()
	}
	if err := tx.PutEvent(ev); err != nil {
		return nil, nil, err
	}
	for _, d := range devices {
		c := &content.Content{Sent: uint64(now.Unix()), Text: &content.Text{Body: text}}
		if d.Level >= contact.LevelDevices {
			c.Known = e.known(d).Sequence
		}
		if err := e.ride(tx, d.ID, c); err != nil {
			return nil, nil, err
		}
		rows, err := e.writeAs(tx, now, d, ev.Message, c, Row{Event: ev.Seq, Expires: ev.Expires}, &ch)
		if err != nil {
			return nil, nil, err
		}
		ev.Copies = append(ev.Copies, EventCopy{Device: d.ID, Left: len(rows)})
	}
	ev.left()
	if err := tx.PutEvent(ev); err != nil {
		return nil, nil, err
	}
	ch.Events = append(ch.Events, ev)
	return ev, &ch, e.copyOut(tx, now, r, ev, &ch)
}

// Hello commits the row and the event of a hello that contact.Start made.
func (e *Engine) Hello(tx Tx, now time.Time, out *contact.Outgoing, text string) (*Change, error) {
	ch := &Change{Routes: true}
	// A hello by an earlier invite went nowhere; this one takes its place.
	if out.Contact.State != contact.Member {
		if err := e.dropRows(tx, out.Contact.ID, ch); err != nil {
			return nil, err
		}
	}
	ev := &Event{Contact: out.Contact.PersonID(), Kind: Notice, Out: true, Sent: now.Unix(), At: now.Unix(), State: Queued, Message: out.Message, Left: 1,
		Text: "asked to talk", From: e.Self.Name(), Copies: []EventCopy{{Device: out.Contact.ID, Left: 1}}}
	if text != "" {
		ev.Kind, ev.Text = Text, text
	}
	if err := tx.PutEvent(ev); err != nil {
		return nil, err
	}
	ch.Events = append(ch.Events, ev)
	row := &Row{Contact: out.Contact.ID, Message: out.Message, Sealed: true, Hello: true, Route: out.Route.ID, Event: ev.Seq, State: Queued,
		Born: now.Unix(), Made: now.Unix(), Payload: out.Whole, Until: out.Until}
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
	devices, err := tx.DevicesOf(ev.Contact)
	if err != nil {
		return nil, err
	}
	var rows []*Row
	for _, d := range devices {
		of, err := rowsOfEvent(tx, d.ID, seq)
		if err != nil {
			return nil, err
		}
		rows = append(rows, of...)
	}
	ch := &Change{Events: []*Event{ev}}
	for _, row := range rows {
		if row.State != Queued || row.Left || row.Hello {
			return nil, ErrSent
		}
		if err := tx.DeleteRow(row.ID); err != nil {
			return nil, err
		}
		ch.Removed = append(ch.Removed, row.ID)
	}
	ev.State, ev.Left, ev.Copies = Unsent, 0, nil
	if err := tx.PutEvent(ev); err != nil {
		return nil, err
	}
	for _, d := range devices {
		if err := e.topUp(tx, now, d.ID, ch); err != nil {
			return nil, err
		}
	}
	return ch, e.tellEnds(tx, now, []*Event{ev}, ch)
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
	if until, err = keptFor(tx, ev, row, until); err != nil {
		return nil, err
	}
	if until == ev.Parked {
		return ch, nil
	}
	ev.Parked = until
	ch.Events = append(ch.Events, ev)
	return ch, tx.PutEvent(ev)
}

// keptFor returns until when all that waits of an event is kept for one device of
// theirs at least.
func keptFor(tx Tx, ev *Event, row *Row, until int64) (int64, error) {
	copies := ev.Copies
	if len(copies) == 0 {
		copies = []EventCopy{{Device: row.Contact, Left: ev.Left}}
	}
	most := int64(0)
	for _, c := range copies {
		switch {
		case c.Left == 0:
			continue
		case c.Left == 1 && c.Device == row.Contact:
			most = max(most, until)
			continue
		}
		rows, err := rowsOfEvent(tx, c.Device, ev.Seq)
		if err != nil {
			return 0, err
		}
		least := int64(0)
		for i, r := range rows {
			if i == 0 || r.Parked < least {
				least = r.Parked
			}
		}
		most = max(most, least)
	}
	return most, nil
}

// Expire drops rows whose lifetime ended and says so in the conversation.
func (e *Engine) Expire(tx Tx, now time.Time, ids []int64) (*Change, error) {
	ch := &Change{}
	var ended []*Event
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
				ended = append(ended, ev)
			}
		}
		if err := e.topUp(tx, now, row.Contact, ch); err != nil {
			return nil, err
		}
	}
	return ch, e.tellEnds(tx, now, ended, ch)
}

// acked removes the rows that a device acked.
func (e *Engine) acked(tx Tx, now time.Time, id int64, ids []wire.MessageID, ch *Change) error {
	var reached []*Event
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
		if ev.acked(id) {
			if ev.State < OnDevice {
				reached = append(reached, ev)
				ev.State = OnDevice
			}
			ch.Events = append(ch.Events, ev)
		}
		if err := tx.PutEvent(ev); err != nil {
			return err
		}
	}
	if err := e.tellEnds(tx, now, reached, ch); err != nil {
		return err
	}
	return e.topUp(tx, now, id, ch)
}
