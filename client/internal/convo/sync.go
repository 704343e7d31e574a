package convo

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// others returns our other devices: those that messages are written for.
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
	c := &content.Content{Sent: uint64(now.Unix()), Sync: s, Known: e.Self.Manifest.Sequence}
	_, err := e.write(tx, now, d, c, Row{}, ch)
	return err
}

// copyOf is how a text is told to our other devices.
func copyOf(p *contact.Record, ev *Event) *content.Copy {
	return &content.Copy{Person: p.Root, Author: ev.From, ID: ev.Message, Out: ev.Out, Sent: uint64(ev.Sent), Body: ev.Text, Timer: ev.Timer}
}

// syncOf is what is told of a text to who did not get it: with what is known of it.
func syncOf(p *contact.Record, ev *Event) *content.Sync {
	s := &content.Sync{Copy: copyOf(p, ev)}
	name, named := ev.Name()
	switch {
	case !named:
	case !ev.Out && (ev.Seen || ev.Seq <= p.Read):
		s.Read = []content.Name{name}
	case ev.Out && (ev.State == OnDevice || ev.State == Expired || ev.State == Unsent):
		s.Ends = map[content.Name]byte{name: byte(ev.State)}
	}
	return s
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
// which its author did not know when it was written get it from here. What its block
// names does not tell: a row that waited long is sealed under what is known then.
func (e *Engine) text(tx Tx, now time.Time, r *contact.Record, id wire.MessageID, c *content.Content, ch *Change) (shown bool, err error) {
	if r.Own || r.State == contact.Member {
		return false, nil
	}
	ev := &Event{Contact: r.PersonID(), Kind: Text, Message: id, Text: c.Text.Body, Sent: int64(c.Sent), At: now.Unix(), From: r.Sign, Timer: c.Text.Timer}
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
		if knew(c.Known, d) {
			continue
		}
		if err := e.tellOne(tx, now, d, syncOf(p, ev), ch); err != nil {
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
		read, err := takeAside(tx, keyEarlyRead, name)
		if err != nil {
			return false, err
		}
		end, err := takeAside(tx, keyEarlyEnd, name)
		if err != nil {
			return false, err
		}
		if len(end) == 1 && ev.Out {
			ev.State = EventState(end[0])
		}
		ev.Seen = len(read) > 0 && !ev.Out
	}
	if err := tx.PutEvent(ev); err != nil {
		return false, err
	}
	ch.Events = append(ch.Events, ev)
	if ev.Timer > 0 {
		if err := tx.SetTimer(ev.Seq, ev.Timer, ev.Out || ev.Seen); err != nil {
			return false, err
		}
	}
	if ev.Seen {
		return true, e.advance(tx, ev.Contact)
	}
	return true, nil
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
	if err := errors.Join(tx.PutContact(p), tx.RunTimers(p.ID, seq)); err != nil {
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

// synced takes what another device of ours told, and hands on what was new.
func (e *Engine) synced(tx Tx, now time.Time, r *contact.Record, c *content.Content, ch *Change) error {
	s := c.Sync
	var fresh content.Sync
	if s.Copy != nil {
		is, err := e.takeCopy(tx, now, s.Copy, ch)
		if err != nil {
			return err
		}
		if is != nil {
			fresh = *is
		}
	}
	for i := range s.Entries {
		is, err := e.takeEntry(tx, now, &s.Entries[i], ch)
		if err != nil {
			return err
		}
		if is {
			fresh.Entries = append(fresh.Entries, s.Entries[i])
		}
	}
	for _, name := range s.Read {
		is, err := e.takeRead(tx, now, name, ch)
		if err != nil {
			return err
		}
		if is {
			fresh.Read = append(fresh.Read, name)
		}
	}
	for name, end := range s.Ends {
		is, err := e.takeEnd(tx, now, name, EventState(end), ch)
		if err != nil {
			return err
		}
		if is {
			if fresh.Ends == nil {
				fresh.Ends = map[content.Name]byte{}
			}
			fresh.Ends[name] = end
		}
	}
	return e.handOn(tx, now, r, c.Known, &fresh, ch)
}

// takeCopy keeps a text that our other device sent, or received. It returns what is to
// be told of it, nil if it is not new. If the person is not known yet, it waits until
// they are.
func (e *Engine) takeCopy(tx Tx, now time.Time, c *content.Copy, ch *Change) (fresh *content.Sync, err error) {
	p, err := tx.ContactOf(c.Person)
	if errors.Is(err, contact.ErrUnknown) {
		if is, err := e.copyAside(tx, now, c); err != nil || !is {
			return nil, err
		}
		return &content.Sync{Copy: c}, nil
	}
	if err != nil || p.State == contact.Blocked {
		return nil, err
	}
	ev := &Event{Contact: p.ID, Kind: Text, Out: c.Out, Message: c.ID, Text: c.Body, Sent: int64(c.Sent), At: now.Unix(), From: key.SignPublic(c.Author), Timer: c.Timer}
	if c.Out {
		ev.State = Copied
	}
	if is, err := e.keepText(tx, ev, ch); err != nil || !is {
		return nil, err
	}
	return syncOf(p, ev), nil
}

func (e *Engine) takeRead(tx Tx, now time.Time, name content.Name, ch *Change) (fresh bool, err error) {
	ev, err := tx.Named(name)
	if errors.Is(err, ErrGone) {
		return putAside(tx, now, keyEarlyRead, name, []byte{1})
	}
	if err != nil || ev.Kind == Gone || ev.Out || ev.Seen {
		return false, err
	}
	p, err := tx.Contact(ev.Contact)
	if err != nil {
		return false, err
	}
	ev.Seen = true
	if err := tx.PutEvent(ev); err != nil {
		return false, err
	}
	if ev.Timer > 0 && ev.Seq > p.Read {
		if err := tx.SetTimer(ev.Seq, ev.Timer, true); err != nil {
			return false, err
		}
	}
	ch.Events = append(ch.Events, ev)
	return true, e.advance(tx, ev.Contact)
}

func (e *Engine) takeEnd(tx Tx, now time.Time, name content.Name, end EventState, ch *Change) (fresh bool, err error) {
	if end != OnDevice && end != Expired && end != Unsent {
		return false, nil // of a newer version
	}
	ev, err := tx.Named(name)
	if errors.Is(err, ErrGone) {
		return putAside(tx, now, keyEarlyEnd, name, []byte{byte(end)})
	}
	if err != nil || ev.Kind == Gone || !ev.Out || ev.State != Copied {
		return false, err
	}
	ev.State = end
	ch.Events = append(ch.Events, ev)
	return true, tx.PutEvent(ev)
}
