package convo

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
)

// A contact may list devices that never come, or come no more. What another device of
// theirs has is not kept for those for ever.
//
// spec: delivery.md#devices-that-do-not-come
const (
	absentDays = 60    // after which a text is not kept for a device that did not ack it
	absentMost = 1_000 // texts that wait for a device with which there never was a session
)

// letGo drops texts that wait for a device of a contact and that another device of
// theirs has: those that are old, and the oldest of many for a device that was never
// met. The event goes on saying that it is not on all devices.
func (e *Engine) letGo(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	if r.Own {
		return nil
	}
	rows, err := tx.RowsOf(r.ID) // oldest first
	if err != nil {
		return err
	}
	have, err := tx.SessionsOf(r.ID)
	if err != nil {
		return err
	}
	over := 0
	if len(have) == 0 {
		over = len(rows) - absentMost
	}
	before := len(ch.Removed)
	for i, row := range rows {
		if row.Event == 0 || row.Hello || i >= over && now.Unix()-row.Born < absentDays*daySeconds {
			continue
		}
		ev, err := tx.Event(row.Event)
		if err != nil {
			return err
		}
		if ev.State != OnDevice {
			continue
		}
		if err := tx.DeleteRow(row.ID); err != nil {
			return err
		}
		ch.Removed = append(ch.Removed, row.ID)
	}
	if len(have) == 0 || len(ch.Removed) == before {
		return nil
	}
	return e.topUp(tx, now, r.ID, ch)
}
