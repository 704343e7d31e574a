// Package convo is the conversations: it turns what people say into sealed
// bytes and sealed bytes back into what people said. Cryptographic state, the
// event that is shown and the bytes that leave are changed in one transaction,
// which the caller opens and the vault provides.
//
// It belongs to the sealing half of the client: it sees plaintext and never the
// network. It keeps no clock and no state of its own outside the transaction.
//
// Spec: docs/spec/cell.md, docs/spec/session.md, docs/spec/content.md.
package convo

import (
	"errors"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds.
const (
	MaxSealed  = 256 // unacked messages of one contact that are sealed at a time
	MaxAcks    = 64  // message ids in one ack
	AcksRiding = 8   // message ids that ride on something else
	SeenDays   = 90  // how long an opened message is known again
	ResealDays = 28  // after which an unacked message is sealed again
)

// Errors that faces branch on.
var (
	// ErrStopped: the contact's devices are in doubt; nothing is sent until a person decides.
	ErrStopped = errors.New("sending to this contact is stopped")
	// ErrNotYet: the contact has not been accepted by us.
	ErrNotYet = errors.New("accept the request before you answer")
	// ErrBlocked: the contact is blocked, declined or failed.
	ErrBlocked = errors.New("nothing can be sent to this contact")
	// ErrGone: the row is not there any more: acked, unsent or expired.
	ErrGone = errors.New("message is not waiting any more")
	// ErrSent: too late to take it back.
	ErrSent = errors.New("message has left this device")
	// ErrEmpty: nothing to send.
	ErrEmpty = errors.New("message is empty")
	// ErrLong: longer than 64 blocks.
	ErrLong = errors.New("message is too long")
	// ErrNoDevice: every device of theirs was revoked, and no other has come yet.
	ErrNoDevice = errors.New("they have no device that could get it")
)

// EventKind says what an event shows.
type EventKind byte

// Kinds of events.
const (
	Text   EventKind = 1
	Notice EventKind = 2 // something the client tells: a request, a warning
	Gone   EventKind = 3 // was a text, which disappeared: its name alone is kept, so that it is not shown again
)

// EventState says where an outgoing message is.
type EventState byte

// States of an outgoing event, in the order people see them.
const (
	Queued   EventState = 1 // on this device
	Offered  EventState = 2 // a relay offered it
	Live     EventState = 3 // and a live device has it
	OnDevice EventState = 4 // their device acked it
	Expired  EventState = 5 // its lifetime ended here, unacked
	Unsent   EventState = 6 // taken back before it left
	Copied   EventState = 7 // another device of ours sent it, and has not told more
)

// String names the state as people see it.
func (s EventState) String() string {
	switch s {
	case Queued:
		return "queued"
	case Offered:
		return "offered"
	case Live:
		return "live"
	case OnDevice:
		return "device"
	case Expired:
		return "expired"
	case Unsent:
		return "unsent"
	case Copied:
		return "copied"
	}
	return ""
}

// Event is one line of a conversation.
type Event struct {
	Seq     int64          `cbor:"-"` // order of arrival on this device
	Contact int64          `cbor:"-"` // that stands for the person
	Kind    EventKind      `cbor:"1,keyasint"`
	Out     bool           `cbor:"2,keyasint"`
	Message wire.MessageID `cbor:"3,keyasint"` // logical id
	Text    string         `cbor:"4,keyasint"`
	Sent    int64          `cbor:"5,keyasint"`            // unix seconds, by its author
	At      int64          `cbor:"6,keyasint"`            // unix seconds, here
	State   EventState     `cbor:"7,keyasint"`            // outgoing only
	Left    int            `cbor:"8,keyasint"`            // parts that wait for an ack, of the device that lacks the fewest
	Expires int64          `cbor:"9,keyasint"`            // unix seconds; 0: never
	Parked  int64          `cbor:"10,keyasint"`           // unix seconds until which their relay keeps all that waits of it; 0: it does not
	From    key.SignPublic `cbor:"11,keyasint"`           // the device that wrote it
	Copies  []EventCopy    `cbor:"12,keyasint,omitempty"` // outgoing: by device of theirs; none in those of before there were several
	Seen    bool           `cbor:"13,keyasint,omitempty"` // received: a person has seen it on another device

	// Timer is after how many seconds a text is deleted: of ours from when it was sent,
	// of others from when a person read it; 0: never.
	Timer uint32 `cbor:"14,keyasint,omitempty"`
	Rest  uint32 `cbor:"15,keyasint,omitempty"` // in a pack only: 1 + how many of them are left; 0: they do not run yet

	Group *GroupPart `cbor:"20,keyasint,omitempty"` // of a group's conversation
}

// GroupPart is what an event of a group has beside what others have. Contact is
// below zero: minus the number of the group's conversation.
type GroupPart struct {
	By      key.SignPublic `cbor:"1,keyasint"` // root of who said or did it; zeros: nobody
	Reached int            `cbor:"2,keyasint"` // outgoing: how many devices have it
	Of      int            `cbor:"3,keyasint"`
}

// A device that wrote a text, and the text's id, name it among all our devices.
const labelText = "tacet/v1/text/name"

// TextName names a text.
//
// spec: content.md#between-own-devices
func TextName(author key.SignPublic, id wire.MessageID) content.Name {
	h := key.Hash(labelText, author[:], id[:])
	return content.Name(h[:content.NameSize])
}

// Name returns the name of a text; ok is false for other events and for texts of
// before devices had names.
func (e *Event) Name() (n content.Name, ok bool) {
	if e.Kind != Text && e.Kind != Gone || e.From == (key.SignPublic{}) {
		return n, false
	}
	return TextName(e.From, e.Message), true
}

// EventCopy is what one device of the person still has to ack of an event.
type EventCopy struct {
	Device int64 `cbor:"1,keyasint"`
	Left   int   `cbor:"2,keyasint"` // parts; 0: it has it
}

// Reached returns on how many of the person's devices the message is.
func (e *Event) Reached() (n int) {
	for _, c := range e.Copies {
		if c.Left == 0 {
			n++
		}
	}
	return n
}

// left sets Left by the copies.
func (e *Event) left() {
	e.Left = 0
	for _, c := range e.Copies {
		if c.Left > 0 && (e.Left == 0 || c.Left < e.Left) {
			e.Left = c.Left
		}
	}
}

// acked counts one part that a device acked, and reports whether that device has the
// whole now.
func (e *Event) acked(device int64) bool {
	c := e.copyFor(device)
	if c == nil { // of before there were several devices
		e.Left = max(0, e.Left-1)
		return e.Left == 0
	}
	c.Left = max(0, c.Left-1)
	e.left()
	return c.Left == 0
}

// copyFor returns the copy for a device, nil if it has none.
func (e *Event) copyFor(device int64) *EventCopy {
	for i := range e.Copies {
		if e.Copies[i].Device == device {
			return &e.Copies[i]
		}
	}
	return nil
}

// Row is one copy of one message waiting for its device's ack. Its contact is the
// device.
type Row struct {
	ID      int64          `cbor:"-"`
	Contact int64          `cbor:"-"`
	Message wire.MessageID `cbor:"-"`
	Sealed  bool           `cbor:"-"`          // Payload is there
	Hello   bool           `cbor:"1,keyasint"` // Payload is a whole hello, else one pair message
	Route   int64          `cbor:"2,keyasint"` // where it must go; 0: the contact's newest route
	Event   int64          `cbor:"3,keyasint"` // 0: nothing is shown for it
	State   EventState     `cbor:"4,keyasint"`
	Born    int64          `cbor:"5,keyasint"` // unix seconds
	Made    int64          `cbor:"6,keyasint"` // unix seconds of the last sealing
	Expires int64          `cbor:"7,keyasint"` // unix seconds; 0: never
	Block   []byte         `cbor:"8,keyasint"` // the content block, to seal it again
	Payload []byte         `cbor:"9,keyasint"`
	NewWay  int64          `cbor:"10,keyasint"`           // a route of ours that the message offers; acked with it
	Left    bool           `cbor:"11,keyasint"`           // it may have left this device
	Parked  int64          `cbor:"12,keyasint"`           // unix seconds until which their relay keeps it; 0: it does not
	Until   int64          `cbor:"13,keyasint"`           // unix seconds after which keeping a hello there is no use: its invite has ended; 0: no such time
	Same    []byte         `cbor:"14,keyasint,omitempty"` // names the whole of what it is a part of, where the same is not queued twice
}

// Events keeps what is shown.
type Events interface {
	Event(seq int64) (*Event, error) // ErrGone
	PutEvent(*Event) error           // inserts when Seq is zero
	// Named finds a text by its name, or fails with ErrGone.
	Named(content.Name) (*Event, error)
	// Events calls f with the events of a contact after one, oldest first.
	Events(contact, after int64, f func(*Event) error) error
}

// Timers keeps when texts disappear. It has a clock of its own.
type Timers interface {
	// SetTimer lets an event disappear timer seconds from now, or, unless it runs, from
	// when RunTimers is called for it.
	SetTimer(seq int64, timer uint32, runs bool) error
	// RunTimers lets those of a conversation run that were read, up to an event.
	RunTimers(contact, upTo int64) error
}

// SharedMap keeps what the devices of a person agree on. Entries without a count
// are for this device alone: they wait for something that is still to come.
type SharedMap interface {
	Shared(key []byte) (*content.Entry, error) // nil: there is none
	PutShared(*content.Entry) error
	DeleteShared(key []byte) error
	SharedCount() (uint64, error) // the greatest there was
	EachShared(f func(*content.Entry) error) error
	// EachAlone calls f with those that are for this device alone.
	EachAlone(f func(*content.Entry) error) error
	// SharedRows counts both.
	SharedRows() (shared, alone int, err error)
}

// Rows keeps the outbox.
type Rows interface {
	Row(id int64) (*Row, error) // ErrGone
	RowOf(contact int64, m wire.MessageID) (*Row, error)
	RowsOf(contact int64) ([]*Row, error)
	PutRow(*Row) error
	DeleteRow(id int64) error
	// SealedRows counts the contact's rows that are sealed, and NextUnsealed
	// finds its oldest that is not (ErrGone when there is none).
	SealedRows(contact int64) (int, error)
	NextUnsealed(contact int64) (*Row, error)
}

// Seen keeps the hashes of what was opened, and which of it still owes an ack.
type Seen interface {
	Opened(hash [16]byte) (m wire.MessageID, ok bool, err error)
	// Known reports whether a message of the contact was opened, under
	// whatever ciphertext: it may have been sealed again.
	Known(contact int64, m wire.MessageID) (bool, error)
	PutOpened(contact int64, hash [16]byte, m wire.MessageID, day int64, owes bool) error
	// Owed returns what waits for an ack that is not on its way. Leaving says
	// that one is, Settle that none is owed any more, or again.
	Owed(contact int64, max int) ([]wire.MessageID, error)
	Leaving(contact int64, ids []wire.MessageID) error
	Settle(contact int64, ids []wire.MessageID, owes bool) error
	ForgetOpened(beforeDay int64) error
}

// Parts keeps the parts of long messages until all are there.
type Parts interface {
	// PutPart stores a part and returns all of them in order once there are
	// parts of them, dropping them from the store.
	PutPart(contact int64, logical wire.MessageID, part, parts byte, content []byte, now int64) (whole []byte, err error)
	// OpenParts names the messages of a contact that are not whole yet.
	OpenParts(contact int64) ([]wire.MessageID, error)
	DropParts(contact int64) error
}

// Tx is one transaction over everything a conversation changes.
type Tx interface {
	contact.Tx
	Events
	Rows
	Seen
	Parts
	Wakes
	SharedMap
	Timers
}
