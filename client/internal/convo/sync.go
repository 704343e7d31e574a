package convo

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pad"
)

// met returns our other devices: those that messages are written for.
func (e *Engine) others(tx Tx) ([]*contact.Record, error) { return tx.OwnDevices() }

// tell writes something to each of our other devices. It waits there until the
// device has it, or until there is a session with it.
//
// spec: content.md#between-own-devices
func (e *Engine) tell(tx Tx, now time.Time, s *content.Sync, ch *Change) error {
	own, err := e.others(tx)
	if err != nil {
		return err
	}
	for _, d := range own {
		if err := e.tellOne(tx, now, d, s, ch); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) tellOne(tx Tx, now time.Time, d *contact.Record, s *content.Sync, ch *Change) error {
	_, err := e.write(tx, now, d, &content.Content{Sent: uint64(now.Unix()), Sync: s}, Row{}, ch)
	return err
}

// copyOf is how a text is told to our other devices.
func copyOf(p *contact.Record, ev *Event) *content.Copy {
	return &content.Copy{Person: p.Root, Author: ev.From, ID: ev.Message, Out: ev.Out, Sent: uint64(ev.Sent), Body: ev.Text}
}

// copyOut gives our other devices a text that this one sent. Before they know the
// person nothing is told: introduceOthers brings what was said by then.
func (e *Engine) copyOut(tx Tx, now time.Time, p *contact.Record, ev *Event, ch *Change) error {
	if !p.Known {
		return nil
	}
	return e.tell(tx, now, &content.Sync{Copy: copyOf(p, ev)}, ch)
}

// text takes a text of a person: the first one of its name. Those of our devices of
// which its author did not know get it from here.
func (e *Engine) text(tx Tx, now time.Time, r *contact.Record, b *pad.Block, c *content.Content, ch *Change) (shown bool, err error) {
	if r.Own || r.State == contact.Member {
		return false, nil
	}
	ev := &Event{Contact: r.PersonID(), Kind: Text, Message: b.Logical, Text: c.Text.Body, Sent: int64(c.Sent), At: now.Unix(), From: r.Sign}
	if fresh, err := e.keepText(tx, ev, ch); err != nil || !fresh {
		return false, err
	}
	own, err := e.others(tx)
	if err != nil || len(own) == 0 {
		return true, err
	}
	p, err := contact.Principal(tx, r)
	if err != nil || !p.Known {
		return true, err
	}
	for _, d := range own {
		if d.Joined != 0 && b.Theirs.Sequence >= d.Joined {
			continue // its author wrote to it, too
		}
		if err := e.tellOne(tx, now, d, &content.Sync{Copy: copyOf(p, ev)}, ch); err != nil {
			return false, err
		}
	}
	return true, nil
}

// keepText stores a text unless one of its name is there, and does to it what was
// told before it came.
func (e *Engine) keepText(tx Tx, ev *Event, ch *Change) (fresh bool, err error) {
	name, named := ev.Name()
	if named {
		if _, err := tx.Named(name); err == nil {
			return false, nil
		} else if !errors.Is(err, ErrGone) {
			return false, err
		}
		if ev.Seen, err = tookEarly(tx, keyEarlyRead, name, nil); err != nil {
			return false, err
		}
		if _, err = tookEarly(tx, keyEarlyEnd, name, func(v []byte) { ev.State = EventState(v[0]) }); err != nil {
			return false, err
		}
		ev.Seen = ev.Seen && !ev.Out
	}
	if err := tx.PutEvent(ev); err != nil {
		return false, err
	}
	ch.Events = append(ch.Events, ev)
	if ev.Seen {
		return true, e.advance(tx, ev.Contact)
	}
	return true, nil
}

// early remembers what was told of a text that is still to come.
func early(tx Tx, kind byte, name content.Name, value []byte) error {
	return tx.PutShared(&content.Entry{Key: append([]byte{kind}, name[:]...), Value: value})
}

// tookEarly takes out what was remembered.
func tookEarly(tx Tx, kind byte, name content.Name, f func([]byte)) (bool, error) {
	k := append([]byte{kind}, name[:]...)
	was, err := tx.Shared(k)
	if err != nil || was == nil || len(was.Value) == 0 {
		return false, err
	}
	if f != nil {
		f(was.Value)
	}
	return true, tx.DeleteShared(k)
}

// tellEnds tells our other devices what became of texts that this one sent.
func (e *Engine) tellEnds(tx Tx, now time.Time, events []*Event, ch *Change) error {
	ends := map[content.Name]byte{}
	for _, ev := range events {
		p, err := tx.Contact(ev.Contact)
		if err != nil {
			return err
		}
		if name, ok := ev.Name(); ok && p.Known && ev.Out {
			ends[name] = byte(ev.State)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	return e.tell(tx, now, &content.Sync{Ends: ends}, ch)
}

// MarkRead notes that a person has seen an event, and all before it in the same
// conversation, and tells our other devices which texts those are.
func (e *Engine) MarkRead(tx Tx, now time.Time, seq int64) (*Change, error) {
	ch := &Change{}
	ev, err := tx.Event(seq)
	if err != nil {
		return nil, err
	}
	p, err := tx.Contact(ev.Contact)
	if err != nil || seq <= p.Read {
		return ch, err
	}
	var names []content.Name
	err = tx.Events(p.ID, p.Read, func(o *Event) error {
		if o.Seq > seq {
			return errEnough
		}
		if name, ok := o.Name(); ok && !o.Out && !o.Seen {
			names = append(names, name)
		}
		return nil
	})
	if err != nil && err != errEnough {
		return nil, err
	}
	p.Read = seq
	if err := tx.PutContact(p); err != nil {
		return nil, err
	}
	if err := e.advance(tx, p.ID); err != nil || !p.Known {
		return ch, err
	}
	for some := range slices.Chunk(names, content.MaxNames) {
		if err := e.tell(tx, now, &content.Sync{Read: some}, ch); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

var errEnough = errors.New("enough")

// advance moves the mark of what was read over what was seen on other devices.
func (e *Engine) advance(tx Tx, person int64) error {
	p, err := tx.Contact(person)
	if err != nil {
		return err
	}
	read := p.Read
	err = tx.Events(person, p.Read, func(o *Event) error {
		switch {
		case o.Seen:
			read = o.Seq
		case !o.Out && o.Kind == Text:
			return errEnough
		}
		return nil
	})
	if err != nil && err != errEnough || read == p.Read {
		return ignore(err, errEnough)
	}
	p.Read = read
	return tx.PutContact(p)
}

func ignore(err, which error) error {
	if err == which {
		return nil
	}
	return err
}

// synced takes what another device of ours told.
func (e *Engine) synced(tx Tx, now time.Time, s *content.Sync, ch *Change) error {
	for i := range s.Entries {
		if err := e.takeEntry(tx, now, &s.Entries[i], ch); err != nil {
			return err
		}
	}
	if s.Copy != nil {
		if err := e.takeCopy(tx, now, s.Copy, ch); err != nil {
			return err
		}
	}
	for _, name := range s.Read {
		if err := e.takeRead(tx, name, ch); err != nil {
			return err
		}
	}
	for name, end := range s.Ends {
		if err := e.takeEnd(tx, name, EventState(end), ch); err != nil {
			return err
		}
	}
	return nil
}

// takeCopy keeps a text that our other device sent, or received. If the person is
// not known yet, what tells of them is still on its way: the text is offered again.
func (e *Engine) takeCopy(tx Tx, now time.Time, c *content.Copy, ch *Change) error {
	p, err := tx.ContactOf(c.Person)
	if errors.Is(err, contact.ErrUnknown) {
		return ErrBusy
	}
	if err != nil || p.State == contact.Blocked {
		return err
	}
	ev := &Event{Contact: p.ID, Kind: Text, Out: c.Out, Message: c.ID, Text: c.Body, Sent: int64(c.Sent), At: now.Unix(), From: key.SignPublic(c.Author)}
	if c.Out {
		ev.State = Copied
	}
	_, err = e.keepText(tx, ev, ch)
	return err
}

func (e *Engine) takeRead(tx Tx, name content.Name, ch *Change) error {
	ev, err := tx.Named(name)
	if errors.Is(err, ErrGone) {
		return early(tx, keyEarlyRead, name, []byte{1})
	}
	if err != nil || ev.Out || ev.Seen {
		return err
	}
	ev.Seen = true
	if err := tx.PutEvent(ev); err != nil {
		return err
	}
	ch.Events = append(ch.Events, ev)
	return e.advance(tx, ev.Contact)
}

func (e *Engine) takeEnd(tx Tx, name content.Name, end EventState, ch *Change) error {
	if end != OnDevice && end != Expired && end != Unsent {
		return nil // of a newer version
	}
	ev, err := tx.Named(name)
	if errors.Is(err, ErrGone) {
		return early(tx, keyEarlyEnd, name, []byte{byte(end)})
	}
	if err != nil || !ev.Out || ev.State != Copied {
		return err
	}
	ev.State = end
	ch.Events = append(ch.Events, ev)
	return tx.PutEvent(ev)
}
