package convo

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// leads reports which of two ends decides where both could: the one with the
// smaller root; between devices of one person the one with the smaller name.
//
// spec: hello.md#simultaneous-hellos
func (e *Engine) leads(r *contact.Record) bool {
	if e.Self.Manifest.Root != r.Root {
		return e.Self.Manifest.Root.Less(r.Root)
	}
	return e.Self.Name().Less(r.Sign)
}

// follow brings the records of a person's devices to what their manifest says: one
// that is revoked or gone loses its sessions, routes and rows at once; for one that
// joined there is a record in which messages wait until it begins a session. What
// no device has acked yet goes to all that are there then.
//
// spec: manifest.md#what-a-change-does
//
// With tell the person is told of devices that joined.
func (e *Engine) follow(tx Tx, now time.Time, p *contact.Record, tell bool, ch *Change) error {
	m, err := manifest.Parse(p.Manifest)
	if err != nil {
		return err
	}
	devices, err := tx.DevicesOf(p.ID)
	if err != nil {
		return err
	}
	waiting, err := waitingEvents(tx, devices)
	if err != nil {
		return err
	}
	had := map[int]bool{}
	ended := false
	for _, d := range devices {
		if d.ID == p.ID {
			d = p
		}
		i, ok := m.Find(d.Sign)
		if ok && !m.Devices[i].Revoked {
			had[i] = true
			if d.Device != i {
				d.Device = i
				if err := tx.PutContact(d); err != nil {
					return err
				}
			}
			continue
		}
		if err := e.end(tx, d, ch); err != nil {
			return err
		}
		ended = true
	}
	known := len(had)
	for i := range m.Devices {
		if _, active := m.Active(i); !active || had[i] {
			continue
		}
		d, err := contact.DeviceFor(tx, p, m, i)
		if err != nil {
			return err
		}
		if err := tx.PutContact(d); err != nil {
			return err
		}
		if !tell || known == 0 { // of a person who begins anew their hello says so
			continue
		}
		if err := e.notice(tx, now, p.ID, noticeJoined, ch); err != nil {
			return err
		}
	}
	if e.Groups != nil {
		if err := e.Groups.Revoked(tx, now, p.Root, m, ch); err != nil {
			return err
		}
	}
	if err := e.spread(tx, now, p, waiting, ch); err != nil {
		return err
	}
	if ended {
		if devices, err = tx.DevicesOf(p.ID); err != nil {
			return err
		}
		if err := e.burn(tx, now, devices, ch); err != nil {
			return err
		}
	}
	if !tell {
		return nil
	}
	return e.listed(tx, now, p, ch)
}

// burn replaces the routes by which devices reach this one: a sister of theirs that
// was revoked may know them, by cards. They are served until the new ones are acked,
// and no longer.
//
// spec: manifest.md#what-a-change-does
func (e *Engine) burn(tx Tx, now time.Time, devices []*contact.Record, ch *Change) error {
	for _, d := range devices {
		if !d.Kept() || d.Stop {
			continue
		}
		if _, err := primary(tx, d.ID); errors.Is(err, ErrBlocked) {
			continue
		} else if err != nil {
			return err
		}
		routes, err := tx.RoutesOf(d.ID)
		if err != nil {
			return err
		}
		for _, r := range routes {
			if r.Mine && r.Invite == 0 && !r.Burnt {
				r.Burnt = true
				if err := tx.PutRoute(r); err != nil {
					return err
				}
			}
		}
		for i := range d.Given {
			d.Given[i].Born = 0 // new prekeys go with the offer
		}
		if err := e.offer(tx, now, d, false, ch); err != nil {
			return err
		}
	}
	return nil
}

// What is told of a change in somebody's devices.
const noticeJoined = "has a new device; their safety number is the same"

// end takes a device out: nothing of it is opened after, and nothing waits for it.
func (e *Engine) end(tx Tx, d *contact.Record, ch *Change) error {
	rows, err := tx.RowsOf(d.ID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := tx.DeleteRow(row.ID); err != nil {
			return err
		}
		ch.Removed = append(ch.Removed, row.ID)
		if row.Event != 0 {
			if err := dropCopy(tx, row.Event, d.ID, ch); err != nil {
				return err
			}
		}
	}
	for {
		ids, err := tx.Owed(d.ID, MaxAcks)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		if err := tx.Settle(d.ID, ids, false); err != nil {
			return err
		}
	}
	if err := errors.Join(tx.DropParts(d.ID), tx.DeleteWake(d.ID), contact.Forget(tx, d.ID)); err != nil {
		return err
	}
	ch.Routes = true
	if d.Person != 0 || d.Own {
		return tx.DeleteContact(d.ID)
	}
	d.ForgetDevice()
	return tx.PutContact(d)
}

// dropCopy takes a device that ended out of an event that it had not acked.
func dropCopy(tx Tx, seq, device int64, ch *Change) error {
	ev, err := tx.Event(seq)
	if err != nil {
		return err
	}
	if len(ev.Copies) == 0 { // of before there were several devices
		ev.Copies = []EventCopy{}
		return nil
	}
	n := len(ev.Copies)
	ev.Copies = slices.DeleteFunc(ev.Copies, func(c EventCopy) bool { return c.Device == device && c.Left > 0 })
	if len(ev.Copies) == n {
		return nil
	}
	ev.left()
	ch.Events = append(ch.Events, ev)
	return tx.PutEvent(ev)
}

// waitingEvents returns the texts that wait for a device of somebody, in order.
func waitingEvents(tx Tx, devices []*contact.Record) (seqs []int64, err error) {
	for _, d := range devices {
		rows, err := tx.RowsOf(d.ID)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Event != 0 && !row.Hello {
				seqs = append(seqs, row.Event)
			}
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs), nil
}

// spread gives texts that some device of a person lacks yet to those of their devices
// that get no copy. Another one that has them may have got them after it had given a
// new one what there was.
func (e *Engine) spread(tx Tx, now time.Time, p *contact.Record, seqs []int64, ch *Change) error {
	devices, err := tx.DevicesOf(p.ID)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		ev, err := tx.Event(seq)
		if err != nil {
			return err
		}
		if ev.Kind != Text || ev.State > OnDevice {
			continue
		}
		if len(ev.Copies) == 0 {
			// Of before there were several: the row that is there is of the person's record.
			if rows, err := rowsOfEvent(tx, p.ID, seq); err != nil {
				return err
			} else if len(rows) > 0 {
				ev.Copies = []EventCopy{{Device: p.ID, Left: len(rows)}}
			}
		}
		for _, d := range devices {
			if ev.copyFor(d.ID) != nil {
				continue
			}
			c := &content.Content{Sent: uint64(ev.Sent), Text: &content.Text{Body: ev.Text, Timer: ev.Timer}}
			if d.Level >= contact.LevelDevices {
				c.Known = e.known(d).Sequence
			}
			rows, err := e.writeAs(tx, now, d, ev.Message, c, Row{Event: seq, Expires: ev.Expires}, ch)
			if err != nil {
				return err
			}
			ev.Copies = append(ev.Copies, EventCopy{Device: d.ID, Left: len(rows)})
		}
		ev.left()
		ch.Events = append(ch.Events, ev)
		if err := tx.PutEvent(ev); err != nil {
			return err
		}
	}
	return nil
}

// rowsOfEvent returns the rows of one event that wait for one device.
func rowsOfEvent(tx Rows, device, seq int64) (of []*Row, err error) {
	rows, err := tx.RowsOf(device)
	for _, row := range rows {
		if row.Event == seq {
			of = append(of, row)
		}
	}
	return of, err
}

// ownFollow does the same for our own devices, after Self has another manifest.
//
// With first this device was just linked, and has nothing of its own to tell.
func (e *Engine) ownFollow(tx Tx, now time.Time, first bool, ch *Change) error {
	m := e.Self.Manifest
	own, err := tx.OwnDevices()
	if err != nil {
		return err
	}
	since, err := e.handSince(tx, now) // before the rows of those that end are gone
	if err != nil {
		return err
	}
	ended := false
	had := map[int]bool{}
	for _, d := range own {
		i, ok := m.Find(d.Sign)
		switch {
		case ok && !m.Devices[i].Revoked:
			had[i] = true
			if d.Device == i && d.Joined != 0 {
				continue
			}
			if d.Joined == 0 {
				d.Joined = m.Sequence
			}
			d.Device = i
			if err := tx.PutContact(d); err != nil {
				return err
			}
		case !ok && d.Joined == 0: // it is being linked
		default:
			if err := e.end(tx, d, ch); err != nil {
				return err
			}
			ended = true
		}
	}
	me := e.Self.Place(m)
	for i := range m.Devices {
		if _, active := m.Active(i); !active || had[i] || i == me {
			continue
		}
		d := e.ownRecord(m, i)
		d.Joined = m.Sequence
		if err := tx.PutContact(d); err != nil {
			return err
		}
		// Its card may have come before the manifest.
		card, err := e.AgreedOn(tx, append(contactKey(keyCard, d.Root), d.Sign[:]...))
		if err != nil {
			return err
		}
		if len(card) > 0 {
			if err := e.takeCard(tx, now, card, ch); err != nil {
				return err
			}
		}
		if first {
			continue
		}
		if err := e.handOver(tx, now, d, since, ch); err != nil {
			return err
		}
	}
	if ended {
		if own, err = tx.OwnDevices(); err != nil {
			return err
		}
		if err := e.burn(tx, now, own, ch); err != nil {
			return err
		}
	}
	ch.Left = ch.Left || !e.Self.Active(m)
	if e.Groups != nil {
		return e.Groups.Revoked(tx, now, m.Root, m, ch)
	}
	return nil
}

// ownRecord makes the record of a device of ours.
func (e *Engine) ownRecord(m *manifest.Manifest, place int) *contact.Record {
	return &contact.Record{Root: m.Root, Own: true, State: contact.Accepted, Sign: m.Devices[place].Sign, Device: place, Level: contact.LevelDevices}
}

// Adopt takes a newer manifest of ours, stores it and tells everybody: contacts,
// and our other devices. Those that it revokes lose everything in this transaction.
// It fails with the errors of device.Identity.Adopt.
//
// spec: manifest.md#what-a-change-does
func (e *Engine) Adopt(tx Tx, now time.Time, m *manifest.Manifest) (*Change, error) {
	ch := &Change{}
	return ch, e.adopt(tx, now, m, ch)
}

func (e *Engine) adopt(tx Tx, now time.Time, m *manifest.Manifest, ch *Change) error {
	had := e.Self.Manifest
	if err := e.Self.Adopt(now, m); err != nil {
		return err
	}
	if had != nil && had.Hash() == m.Hash() {
		return nil
	}
	if e.Keep != nil {
		if err := e.Keep(tx); err != nil {
			return err
		}
	}
	if err := e.ownFollow(tx, now, had == nil, ch); err != nil {
		return err
	}
	return e.Renewed(tx, now, ch)
}

// show tells a device of our newest manifest, once.
func (e *Engine) show(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	if r.Showed >= e.Self.Manifest.Sequence {
		return nil
	}
	r.Showed = e.Self.Manifest.Sequence
	if err := tx.PutContact(r); err != nil {
		return err
	}
	c := &content.Content{Sent: uint64(now.Unix()), Control: &content.Control{Manifest: e.Self.Manifest.Append(nil)}}
	_, err := e.write(tx, now, r, c, Row{}, ch)
	return err
}

// Leave says goodbye: our other devices and all contacts hear that this device is
// given up. The rows are those to wait for before the profile is destroyed. The
// device that has the root revokes this one when it hears of it.
//
// spec: manifest.md#leaving
func (e *Engine) Leave(tx Tx, now time.Time) (*Change, error) {
	ch := &Change{}
	devices, err := tx.Devices()
	if err != nil {
		return nil, err
	}
	for _, r := range devices {
		if !r.Kept() || r.Stop || r.Gone || r.Level < contact.LevelDevices {
			continue
		}
		if _, err := primary(tx, r.ID); errors.Is(err, ErrBlocked) {
			continue
		} else if err != nil {
			return nil, err
		}
		c := &content.Content{Sent: uint64(now.Unix()), Control: &content.Control{Leaves: true}}
		if _, err := e.write(tx, now, r, c, Row{}, ch); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// revokeLeft revokes the devices of ours that said that they are given up, once that
// has been acked: after it nothing goes to them any more.
func (e *Engine) revokeLeft(tx Tx, now time.Time, ch *Change) error {
	if !e.Self.HasRoot() {
		return nil
	}
	own, err := tx.OwnDevices()
	if err != nil {
		return err
	}
	for _, r := range own {
		if !r.Leaves {
			continue
		}
		if owed, err := tx.Owed(r.ID, 1); err != nil {
			return err
		} else if len(owed) > 0 {
			ch.Meets = true
			continue
		}
		place, ok := e.Self.Manifest.Find(r.Sign)
		if !ok {
			continue
		}
		m, err := e.Self.Revoke(now, place)
		if err != nil {
			return err
		}
		if err := e.adopt(tx, now, m, ch); err != nil {
			return err
		}
	}
	return nil
}
