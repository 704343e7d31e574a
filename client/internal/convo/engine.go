package convo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Home is where people reach us.
type Home struct {
	Realm contact.Realm
	Live  uint16 // live period in seconds
}

// Engine seals and opens for one device. It has no state but its identity and
// where it is reached; it is used inside transactions only, one at a time.
type Engine struct {
	Self *device.Identity
	Rand io.Reader
	Home Home
	Name string // what contacts see as ours; may be empty
	// Online says whether what is sealed now may leave at once.
	Online func() bool
	Gifts  Gifts   // nil: nobody is given tokens
	Waking *Waking // nil: this device is not woken
	Groups Groups  // nil: what groups say is acked and dropped
	// Keep stores Self, whose manifest changed in the transaction.
	Keep func(tx Tx) error
	// Agreed is told of entries that our devices share and that this package does not
	// know. nil: they are kept and passed over.
	Agreed func(tx Tx, now time.Time, key, value []byte, ch *Change) error
}

// Change is what a transaction did that others must act on once it committed.
type Change struct {
	Events   []*Event // new or changed, to be shown
	Added    []*Row   // sealed and ready to go
	Removed  []int64  // rows that must not go again
	Owes     []int64  // contacts that wait for an ack
	Stranger int64    // somebody not accepted who waits for the neutral answer
	Again    []int64  // those of them that have an ack of ours already, which they did not get
	Heard    int64    // a device that just proved to be there
	Number   uint32   // of the message that was opened, in its session; of one that came late, of the newest
	Found    int64    // a contact of whom something was found parked: they may be away
	Routes   bool     // the set of own routes changed
	Invites  bool     // an invite was used up: its blob can go
	Wakes    bool     // somebody may be given wake tickets now
	Freed    []int64  // devices to which sending goes on after a stop
	Meets    bool     // there may be devices to begin sessions with: Introduce
	Left     bool     // this device is none of ours any more
}

func (c *Change) owes(contact int64) {
	for _, o := range c.Owes {
		if o == contact {
			return
		}
	}
	c.Owes = append(c.Owes, contact)
}

// block builds one content block for a contact: padded, with both manifests.
//
// spec: cell.md#content-block
func (e *Engine) block(r *contact.Record, logical wire.MessageID, part, parts int, body []byte) ([]byte, error) {
	b := pad.Block{Logical: logical, Part: byte(part), Parts: byte(parts), Ours: e.Self.Manifest.Ref(), Content: body}
	b.Theirs = e.known(r)
	return b.Append(nil)
}

// known is how a block names the manifest of a contact's person.
func (e *Engine) known(r *contact.Record) (ref pad.Ref) {
	if r.Own {
		return e.Self.Manifest.Ref()
	}
	if m, err := manifest.Parse(r.Manifest); err == nil {
		ref = m.Ref()
	}
	return ref
}

// First builds the first content block of a hello. It needs no contact yet:
// the bundle's manifest stands in.
func (e *Engine) First(c *content.Content, theirs *manifest.Manifest) ([]byte, wire.MessageID, error) {
	body, err := c.Append(nil)
	if err != nil {
		return nil, wire.MessageID{}, err
	}
	logical, err := e.id()
	if err != nil {
		return nil, logical, err
	}
	if len(body) > pad.MaxContent {
		return nil, logical, ErrLong
	}
	b := pad.Block{Logical: logical, Parts: 1, Ours: e.Self.Manifest.Ref(), Theirs: theirs.Ref(), Content: body}
	raw, err := b.Append(nil)
	return raw, logical, err
}

func (e *Engine) id() (m wire.MessageID, err error) {
	_, err = io.ReadFull(e.Rand, m[:])
	return m, err
}

// primary returns the session that new messages are sealed in.
func primary(tx contact.Sessions, id int64) (*contact.SessionRecord, error) {
	all, err := tx.SessionsOf(id)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Primary {
			return s, nil
		}
	}
	return nil, ErrBlocked
}

// seal seals a block in the contact's primary session and stores the session's
// next state. Nothing may leave before the caller's transaction commits.
func (e *Engine) seal(tx Tx, id int64, block []byte) ([]byte, error) {
	rec, err := primary(tx, id)
	if err != nil {
		return nil, err
	}
	s, err := session.Parse(rec.State)
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	defer s.Wipe()
	payload, err := s.Seal(e.Rand, block)
	if err != nil {
		return nil, fmt.Errorf("sealing message: %w", err)
	}
	rec.State, rec.Sent, rec.Epoch = s.Append(nil), s.Sent(), s.Epoch()
	return payload, tx.PutSession(rec)
}

// write splits a content into rows and seals as many as may be sealed.
func (e *Engine) write(tx Tx, now time.Time, r *contact.Record, c *content.Content, row Row, ch *Change) ([]*Row, error) {
	logical, err := e.id()
	if err != nil {
		return nil, err
	}
	return e.writeAs(tx, now, r, logical, c, row, ch)
}

// writeAs is write for a message whose id is given: the copies for several devices
// have one.
func (e *Engine) writeAs(tx Tx, now time.Time, r *contact.Record, logical wire.MessageID, c *content.Content, row Row, ch *Change) ([]*Row, error) {
	body, err := c.Append(nil)
	if err != nil {
		return nil, err
	}
	parts, err := pad.Split(body)
	if err != nil {
		return nil, ErrLong
	}
	var rows []*Row
	for i, p := range parts {
		n := row
		n.Contact, n.State, n.Born = r.ID, Queued, now.Unix()
		n.Message = logical // the first part's id names the whole
		if i > 0 {
			if n.Message, err = e.id(); err != nil {
				return nil, err
			}
		}
		if n.Block, err = e.block(r, logical, i, len(parts), p); err != nil {
			return nil, err
		}
		rows = append(rows, &n)
	}
	for _, n := range rows {
		if err := e.queue(tx, now, n, ch); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// queue stores a row, sealed if there is room among the contact's sealed ones
// and nothing older waits.
func (e *Engine) queue(tx Tx, now time.Time, n *Row, ch *Change) error {
	sealed, err := tx.SealedRows(n.Contact)
	if err != nil {
		return err
	}
	if sealed < MaxSealed {
		if _, err := tx.NextUnsealed(n.Contact); err == ErrGone {
			if err := e.sealRow(tx, now, n, ch); !waits(err) {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return tx.PutRow(n)
}

// waits reports whether a message has to wait unsealed: until the other end has
// answered, or until there is a session with its device.
func waits(err error) bool {
	return errors.Is(err, session.ErrFull) || errors.Is(err, ErrBlocked)
}

// sealRow seals a row. Its block names the manifests as they are known now, not as
// they were when it was written: else an old row would look like an old device.
func (e *Engine) sealRow(tx Tx, now time.Time, n *Row, ch *Change) (err error) {
	if err := e.rename(tx, n); err != nil {
		return err
	}
	if n.Payload, err = e.seal(tx, n.Contact, n.Block); err != nil {
		return err
	}
	n.Sealed, n.Made = true, now.Unix()
	n.Parked = 0 // what is kept of it is sealed in another way, which may open no more
	n.Left = n.Left || e.Online != nil && e.Online()
	if err := tx.PutRow(n); err != nil {
		return err
	}
	ch.Added = append(ch.Added, n)
	return nil
}

// rename makes the block of a row name the manifests as they are known now.
func (e *Engine) rename(tx Tx, n *Row) error {
	b, err := pad.Parse(n.Block)
	if err != nil {
		return fmt.Errorf("reading the block of a row: %w", err)
	}
	r, err := tx.Contact(n.Contact)
	if err != nil {
		return err
	}
	b.Ours, b.Theirs = e.Self.Manifest.Ref(), e.known(r)
	n.Block, err = b.Append(nil)
	return err
}

// topUp seals what waits unsealed, now that acks made room.
func (e *Engine) topUp(tx Tx, now time.Time, id int64, ch *Change) error {
	if r, err := tx.Contact(id); err != nil || r.Stop {
		return err
	}
	sealed, err := tx.SealedRows(id)
	if err != nil {
		return err
	}
	for ; sealed < MaxSealed; sealed++ {
		n, err := tx.NextUnsealed(id)
		if err == ErrGone {
			return nil
		}
		if err != nil {
			return err
		}
		err = e.sealRow(tx, now, n, ch)
		if waits(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
