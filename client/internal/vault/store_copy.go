package vault

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Copy is one MLS message that waits for one leaf's ack. What it says is kept once
// for all leaves that it goes to.
type Copy struct {
	ID      int64          `cbor:"-"`
	Peer    int64          `cbor:"-"` // stands for the leaf's device in this group, for the outbox
	Group   group.ID       `cbor:"-"`
	Epoch   uint64         `cbor:"-"`
	Leaf    uint32         `cbor:"-"`
	Message wire.MessageID `cbor:"-"`
	To      group.Device   `cbor:"1,keyasint"`
	Body    int64          `cbor:"2,keyasint"` // row of what it says
	State   byte           `cbor:"3,keyasint"` // how far it got, as in outbox.State
	Born    int64          `cbor:"4,keyasint"` // unix seconds
	Parked  int64          `cbor:"5,keyasint"` // unix seconds until which their relay keeps it; 0: it does not
}

// GroupCopy: A = peer; B = row of what it says; H = group 16 ‖ epoch 8 ‖ leaf 4 ‖
// message 8. CopyBody: A = 0; B = how many copies go by it; H = SHA-256.

func copyKey(k group.RowKey) []byte {
	b := binary.BigEndian.AppendUint32(epochKey(k.Group, k.Epoch), k.Leaf)
	return append(b, k.Message[:]...)
}

// CopyPeer is the number that stands for a device in a group.
func CopyPeer(id group.ID, d group.Device) int64 {
	h := sha256.Sum256(append(id[:len(id):len(id)], d[:]...))
	return int64(binary.BigEndian.Uint64(h[:])>>1) | 1
}

func copyOf(row Row) (*Copy, error) {
	c := &Copy{}
	if err := decode(GroupCopy, row, c); err != nil {
		return nil, err
	}
	const size = 16 + 8 + 4 + 8
	if len(row.H) != size {
		return nil, ErrDamaged
	}
	c.ID, c.Peer, c.Group = row.ID, row.A, group.ID(row.H)
	c.Epoch, c.Leaf = binary.BigEndian.Uint64(row.H[16:]), binary.BigEndian.Uint32(row.H[24:])
	c.Message = wire.MessageID(row.H[28:])
	return c, nil
}

// AddCopy keeps a copy for its leaf. The same one again is the row that there is,
// and false.
func (s Store) AddCopy(k *group.Copy, now int64) (c *Copy, added bool, err error) {
	key := group.RowKey{Group: k.Group, Epoch: k.Epoch, Leaf: k.Leaf, Message: k.Message}
	hash := sha256.Sum256(k.Payload)
	body, found, err := s.Find(CopyBody, hash[:])
	if err != nil {
		return nil, false, err
	}
	if found {
		if c, err = s.copyWith(key, body.ID); err != nil || c != nil {
			return c, false, err
		}
	} else {
		body = Row{H: hash[:], V: k.Payload}
		if body.ID, err = s.Insert(CopyBody, body); err != nil {
			return nil, false, err
		}
	}
	body.B++
	if err := s.Put(CopyBody, body); err != nil {
		return nil, false, err
	}
	c = &Copy{Peer: CopyPeer(k.Group, k.To), Group: k.Group, Epoch: k.Epoch, Leaf: k.Leaf, Message: k.Message, To: k.To, Body: body.ID, Born: now}
	return c, true, s.PutCopy(c)
}

// PutCopy writes a copy.
func (s Store) PutCopy(c *Copy) error {
	return s.put(GroupCopy, &c.ID, c.Peer, c.Body, copyKey(group.RowKey{Group: c.Group, Epoch: c.Epoch, Leaf: c.Leaf, Message: c.Message}), c)
}

// copyWith finds the copy that has a key and says what a row of CopyBody says.
func (s Store) copyWith(k group.RowKey, body int64) (found *Copy, err error) {
	h := copyKey(k)
	err = s.eachH(GroupCopy, h, func(row Row) error {
		if row.B == body {
			found, err = copyOf(row)
		}
		return err
	})
	return found, err
}

// CopiesOf returns the ids of the copies with a key: one for each block.
func (s Store) CopiesOf(k group.RowKey) (ids []int64, err error) {
	err = s.eachH(GroupCopy, copyKey(k), func(row Row) error { ids = append(ids, row.ID); return nil })
	return ids, err
}

// Copies calls f with all copies, oldest first; peer 0 means everybody's.
func (s Store) Copies(peer int64, f func(*Copy) error) error {
	q := Query{}
	if peer != 0 {
		q.A = ptr(peer)
	}
	return s.Each(GroupCopy, q, func(row Row) error {
		c, err := copyOf(row)
		if err != nil {
			return err
		}
		return f(c)
	})
}

// Copy returns a copy and what it says, or group.ErrUnknown.
func (s Store) Copy(id int64) (*Copy, []byte, error) {
	row, found, err := s.Get(GroupCopy, id)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, group.ErrUnknown
	}
	c, err := copyOf(row)
	if err != nil {
		return nil, nil, err
	}
	body, found, err := s.Get(CopyBody, c.Body)
	if err == nil && !found {
		err = ErrDamaged
	}
	return c, body.V, err
}

// DeleteCopy deletes a copy, and what it says with the last one that says it. One
// that is gone is no error.
func (s Store) DeleteCopy(id int64) error {
	row, found, err := s.Get(GroupCopy, id)
	if err != nil || !found {
		return err
	}
	if err := s.Delete(GroupCopy, id); err != nil {
		return err
	}
	body, found, err := s.Get(CopyBody, row.B)
	if err != nil || !found {
		return err
	}
	if body.B--; body.B > 0 {
		return s.Put(CopyBody, body)
	}
	return s.Delete(CopyBody, body.ID)
}

// Line is the conversation of a group and of all that it was made again as. It
// outlives each of them: history stays when a group is left.
//
// Line: A = 0; H = origin.
type Line struct {
	ID     int64    `cbor:"-"`
	Origin group.ID `cbor:"-"`
	Name   string   `cbor:"1,keyasint"` // what it is called here, unlike any other conversation
	Read   int64    `cbor:"2,keyasint"` // newest event that a person has seen
	Group  group.ID `cbor:"3,keyasint"` // the one of the line that counts now
	Since  int64    `cbor:"4,keyasint"` // unix seconds
	Own    string   `cbor:"5,keyasint"` // what its members call it; Name follows when this changes

	Invited bool `cbor:"6,keyasint,omitempty"` // it began with a question whether to join, and nobody said yes so far
}

func lineOf(row Row) (*Line, error) {
	l := &Line{}
	if err := decode(GroupLine, row, l); err != nil {
		return nil, err
	}
	if len(row.H) != len(l.Origin) {
		return nil, ErrDamaged
	}
	l.ID, l.Origin = row.ID, group.ID(row.H)
	return l, nil
}

// Line returns the conversation of a group by its origin, or group.ErrUnknown.
func (s Store) Line(origin group.ID) (*Line, error) {
	row, found, err := s.Find(GroupLine, origin[:])
	if err == nil && !found {
		err = group.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	return lineOf(row)
}

// LineOf returns a conversation by its number, or group.ErrUnknown.
func (s Store) LineOf(id int64) (*Line, error) {
	row, found, err := s.Get(GroupLine, id)
	if err == nil && !found {
		err = group.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	return lineOf(row)
}

// Lines returns the conversations of all groups, in the order they were met.
func (s Store) Lines() (all []*Line, err error) {
	err = s.Each(GroupLine, Query{}, func(row Row) error {
		l, err := lineOf(row)
		all = append(all, l)
		return err
	})
	return all, err
}

// PutLine writes one.
func (s Store) PutLine(l *Line) error {
	return s.put(GroupLine, &l.ID, 0, 0, l.Origin[:], l)
}

// eachH calls f with the rows of one H, in the order of their ids.
func (s Store) eachH(t Table, h []byte, f func(Row) error) error {
	if err := s.readable(); err != nil {
		return err
	}
	rows, err := s.read(t, " WHERE t.h = ? ORDER BY t.id", h)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if string(r.H) != string(h) {
			return ErrDamaged
		}
		if err := f(r.Row); err != nil {
			return err
		}
	}
	return nil
}

// Events of a group: A = minus the number of its line; B as of others; H = line 8 ‖
// message 8.

// PutGroupEvent writes an event of the line that has an origin, and names the line in it.
func (s Store) PutGroupEvent(origin group.ID, e *convo.Event) error {
	l, err := s.Line(origin)
	if err != nil {
		return err
	}
	e.Contact = -l.ID
	received := int64(1)
	if e.Out {
		received = 0
	}
	return s.put(Event, &e.Seq, e.Contact, received, messageKey(l.ID, e.Message), e)
}

// GroupEvent finds a message of ours in a line, or fails with convo.ErrGone.
func (s Store) GroupEvent(origin group.ID, m wire.MessageID) (*convo.Event, error) {
	l, err := s.Line(origin)
	if errors.Is(err, group.ErrUnknown) {
		return nil, convo.ErrGone
	}
	if err != nil {
		return nil, err
	}
	var found *convo.Event
	err = s.eachH(Event, messageKey(l.ID, m), func(row Row) error {
		if row.A != -l.ID || row.B != 0 {
			return nil
		}
		found = &convo.Event{}
		err := decode(Event, row, found)
		found.Seq, found.Contact = row.ID, row.A
		return err
	})
	if err == nil && found == nil {
		err = convo.ErrGone
	}
	return found, err
}
