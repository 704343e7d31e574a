// Package content has what people and their devices say to each other, inside
// the encryption: text, acks, control and drops, as deterministic CBOR.
//
// It writes and reads one message and checks its form. It does not cut content
// into blocks, encrypt, judge who may say what, or look into a route offer. It
// does not clean text for a screen either: that is for whoever shows it.
//
// Spec: docs/spec/content.md.
package content

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds, in bytes unless said otherwise.
const (
	MaxSize      = 64 * 988  // of the whole: what the blocks of one message hold
	MaxText      = 60 << 10  // of the body of a text
	MaxAcks      = 64        // ids in one message
	MaxName      = 64        // of a name
	MaxSent      = 1<<32 - 1 // unix seconds: the year 2106, and four bytes
	MaxRoute     = 171       // of a route offer with its realm, opaque here
	MinRoute     = 108
	MaxPrekeys   = 2048 // of prekeys for starting again, opaque here
	MaxManifest  = 1024 // of a manifest, opaque here
	RouteAckSize = 8    // names a route offer
	MaxGuest     = 805  // of guest tokens, opaque here
	MinGuest     = 85
	MaxTickets   = 5 + 16*2048 // of wake tickets, opaque here
	MinTickets   = 5
	MaxGroup     = 60 << 10 // of what groups say, opaque here
	MaxKey       = 96       // of the key of an entry that own devices share
	MaxValue     = 16 << 10 // of its value
	MaxEntries   = 64       // entries in one message
	MaxNames     = 1024     // names of texts in one field
	NameSize     = 16       // of the name of a text, see Name
)

// ErrContent is returned for content that is not well-formed.
var ErrContent = errors.New("content is malformed")

// Content is one message. At least one part is set, and a drop has no text.
type Content struct {
	Sent    uint64 // when it was written, unix seconds by the author's clock
	Text    *Text
	Acks    *Acks
	Control *Control
	Drop    *Drop
	Sync    *Sync  // between devices of one person only
	Group   []byte // 1 … MaxGroup bytes, or nil
	// Known is the sequence of the newest list of the reader's devices that the author
	// knew when it wrote a text or a sync: the author writes it to all of them. 0: not
	// said. It is no part of its own.
	Known uint32
	// Unknown is set by Parse if something in it is of a newer version and was
	// left out. Such content may have no part at all, and is acked like any
	// other: its author would try for ever.
	Unknown bool
}

// Text is what a person wrote: valid UTF-8, at most MaxText bytes, maybe empty.
type Text struct {
	Body string
	// Timer is after how many seconds a device that showed it deletes it. 0: it stays.
	Timer uint32
}

// Acks says what this device has taken into its vault.
type Acks struct {
	IDs     []wire.MessageID // at most MaxAcks
	Highest uint32           // number of the newest message received in this session: a peer that is ahead of us means that our disk went back
}

// Control is what devices settle among themselves. At least one field is set.
type Control struct {
	Route    []byte // an offer with its realm, MinRoute … MaxRoute bytes, or nil
	RouteAck []byte // of an offer that was taken, RouteAckSize bytes, or nil
	Accept   bool   // this contact is accepted
	Name     string // what to call the author, valid UTF-8, at most MaxName bytes
	Prekeys  []byte // to start a session again, at most MaxPrekeys bytes, or nil
	Manifest []byte // the author's newest, at most MaxManifest bytes, or nil
	Guest    []byte // tokens for the author's realm, MinGuest … MaxGuest bytes, or nil
	Tickets  []byte // that wake the author's device, MinTickets … MaxTickets bytes, or nil
	Suite    byte   // newest in which the author's device begins sessions, or 0
	Level    byte   // what the author's version knows, or 0
	Leaves   bool   // the author's device is given up
}

// Drop is cover: a message with nothing to say, except that its device is back.
type Drop struct {
	Back bool
}

// Name names a text among the devices of a person: TextName.
type Name [NameSize]byte

// Sync is what one device tells another one of the same person. At least one field
// is set.
type Sync struct {
	Copy    *Copy         // a text of which the reader's device gets no other copy
	Entries []Entry       // of what the devices share, at most MaxEntries
	Read    []Name        // texts received that a person has seen, at most MaxNames
	Ends    map[Name]byte // what became of texts that were sent, at most MaxNames
}

// Copy is a text of a conversation.
type Copy struct {
	Person [32]byte // root of whom the conversation is with
	Author [32]byte // name of the device that wrote it
	ID     wire.MessageID
	Out    bool   // the person that the devices belong to wrote it
	Sent   uint64 // unix seconds by its author's clock
	Body   string // as in Text
	Timer  uint32 // as in Text
}

// Entry is one entry of the map that the devices of a person share. Of two with
// one key the one with the greater count is newer, of one count that of the greater
// device. The upper half of a count is the sequence of the manifest that its device
// knew when it set the entry: what a device that was revoked has set is older than
// all that is set after, whatever it counted to.
type Entry struct {
	Key    []byte // 1 … MaxKey bytes
	Value  []byte // at most MaxValue bytes
	Count  uint64 // at least 1
	Device [32]byte
}

// Newer reports whether e takes the place of o.
//
// spec: content.md#between-own-devices
func (e *Entry) Newer(o *Entry) bool {
	if e.Count != o.Count {
		return e.Count > o.Count
	}
	if c := bytes.Compare(e.Device[:], o.Device[:]); c != 0 {
		return c > 0
	}
	return bytes.Compare(e.Value, o.Value) > 0
}

// The parts as they are written. Keys are part of the format.
type (
	formContent struct {
		Sent    uint64       `cbor:"0,keyasint"`
		Text    *formText    `cbor:"1,keyasint,omitempty"`
		Acks    *formAcks    `cbor:"2,keyasint,omitempty"`
		Control *formControl `cbor:"3,keyasint,omitempty"`
		Drop    *formDrop    `cbor:"4,keyasint,omitempty"`
		Sync    *formSync    `cbor:"5,keyasint,omitempty"`
		Group   []byte       `cbor:"6,keyasint,omitempty"`
		Known   uint32       `cbor:"7,keyasint,omitempty"`
	}
	formText struct {
		Body  string `cbor:"0,keyasint"`
		Timer uint32 `cbor:"1,keyasint,omitempty"`
	}
	formAcks struct {
		IDs     []byte `cbor:"0,keyasint"` // 8 bytes each, in one string
		Highest uint32 `cbor:"1,keyasint"`
	}
	formControl struct {
		Route    []byte `cbor:"0,keyasint,omitempty"`
		RouteAck []byte `cbor:"1,keyasint,omitempty"`
		Accept   bool   `cbor:"2,keyasint,omitempty"`
		Name     string `cbor:"3,keyasint,omitempty"`
		Prekeys  []byte `cbor:"4,keyasint,omitempty"`
		Manifest []byte `cbor:"5,keyasint,omitempty"`
		Guest    []byte `cbor:"6,keyasint,omitempty"`
		Tickets  []byte `cbor:"7,keyasint,omitempty"`
		Suite    byte   `cbor:"8,keyasint,omitempty"`
		Level    byte   `cbor:"9,keyasint,omitempty"`
		Leaves   bool   `cbor:"10,keyasint,omitempty"`
	}
	formDrop struct {
		Back bool `cbor:"0,keyasint,omitempty"`
	}
	formSync struct {
		Copy    *formCopy   `cbor:"0,keyasint,omitempty"`
		Entries []formEntry `cbor:"1,keyasint,omitempty"`
		Read    []byte      `cbor:"2,keyasint,omitempty"` // 16 bytes each, in one string
		Ends    []byte      `cbor:"3,keyasint,omitempty"` // name 16 ‖ end 1, in one string
	}
	formCopy struct {
		Person []byte `cbor:"0,keyasint"`
		Author []byte `cbor:"1,keyasint"`
		ID     []byte `cbor:"2,keyasint"`
		Sent   uint64 `cbor:"3,keyasint"`
		Body   string `cbor:"4,keyasint"`
		Out    bool   `cbor:"5,keyasint,omitempty"`
		Timer  uint32 `cbor:"6,keyasint,omitempty"`
	}
	formEntry struct {
		Key    []byte `cbor:"0,keyasint"`
		Value  []byte `cbor:"1,keyasint"`
		Count  uint64 `cbor:"2,keyasint"`
		Device []byte `cbor:"3,keyasint"`
	}
)

var enc = must(cbor.CoreDetEncOptions().EncMode())

func must[T any](v T, err error) T {
	if err != nil {
		panic("content: " + err.Error())
	}
	return v
}

// Append appends the content as deterministic CBOR, at most MaxSize bytes. It
// fails with ErrContent for what Parse would refuse, and when there is no part.
//
// spec: content.md#layout
func (c *Content) Append(b []byte) ([]byte, error) {
	if c.empty() {
		return b, ErrContent
	}
	if err := c.check(); err != nil {
		return b, err
	}
	out, err := enc.Marshal(c.form())
	if err != nil || len(out) > MaxSize {
		return b, ErrContent
	}
	return append(b, out...), nil
}

// empty reports whether no part is set, or something is said of one that is not there.
func (c *Content) empty() bool {
	return c.Known != 0 && c.Text == nil && c.Sync == nil || c.Text == nil && c.Acks == nil && c.Control == nil && c.Drop == nil && c.Sync == nil && c.Group == nil
}

// check refuses parts that are out of bounds or say nothing.
func (c *Content) check() error {
	if c.Sent > MaxSent || c.Text != nil && c.Drop != nil {
		return ErrContent
	}
	if t := c.Text; t != nil && (len(t.Body) > MaxText || !utf8.ValidString(t.Body)) {
		return ErrContent
	}
	if a := c.Acks; a != nil && len(a.IDs) > MaxAcks {
		return ErrContent
	}
	if c.Group != nil && (len(c.Group) == 0 || len(c.Group) > MaxGroup) {
		return ErrContent
	}
	if s := c.Sync; s != nil {
		if err := s.check(); err != nil {
			return err
		}
	}
	if t := c.Control; t != nil {
		return t.check()
	}
	return nil
}

func (t *Control) check() error {
	switch {
	case len(t.Route) != 0 && (len(t.Route) < MinRoute || len(t.Route) > MaxRoute),
		len(t.Prekeys) > MaxPrekeys, len(t.Manifest) > MaxManifest,
		len(t.Guest) != 0 && (len(t.Guest) < MinGuest || len(t.Guest) > MaxGuest),
		len(t.Tickets) != 0 && (len(t.Tickets) < MinTickets || len(t.Tickets) > MaxTickets),
		len(t.RouteAck) != 0 && len(t.RouteAck) != RouteAckSize,
		len(t.Name) > MaxName, !utf8.ValidString(t.Name),
		len(t.Route) == 0 && len(t.RouteAck) == 0 && !t.Accept && t.Name == "" && len(t.Prekeys) == 0 && len(t.Manifest) == 0 && len(t.Guest) == 0 && len(t.Tickets) == 0 && t.Suite == 0 && t.Level == 0 && !t.Leaves:
		return ErrContent
	}
	return nil
}

func (c *Content) form() *formContent {
	f := &formContent{Sent: c.Sent}
	if c.Text != nil {
		f.Text = &formText{Body: c.Text.Body, Timer: c.Text.Timer}
	}
	if c.Acks != nil {
		f.Acks = &formAcks{IDs: make([]byte, 0, len(c.Acks.IDs)*wire.MessageIDSize), Highest: c.Acks.Highest}
		for _, id := range c.Acks.IDs {
			f.Acks.IDs = append(f.Acks.IDs, id[:]...)
		}
	}
	if t := c.Control; t != nil {
		f.Control = &formControl{Route: t.Route, RouteAck: t.RouteAck, Accept: t.Accept, Name: t.Name, Prekeys: t.Prekeys, Manifest: t.Manifest, Guest: t.Guest, Tickets: t.Tickets, Suite: t.Suite, Level: t.Level, Leaves: t.Leaves}
	}
	if c.Drop != nil {
		f.Drop = &formDrop{Back: c.Drop.Back}
	}
	if c.Sync != nil {
		f.Sync = c.Sync.form()
	}
	f.Group, f.Known = c.Group, c.Known
	return f
}
