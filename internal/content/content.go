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
	// Unknown is set by Parse if something in it is of a newer version and was
	// left out. Such content may have no part at all, and is acked like any
	// other: its author would try for ever.
	Unknown bool
}

// Text is what a person wrote: valid UTF-8, at most MaxText bytes, maybe empty.
type Text struct {
	Body string
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
}

// Drop is cover: a message with nothing to say, except that its device is back.
type Drop struct {
	Back bool
}

// The parts as they are written. Keys are part of the format.
type (
	formContent struct {
		Sent    uint64       `cbor:"0,keyasint"`
		Text    *formText    `cbor:"1,keyasint,omitempty"`
		Acks    *formAcks    `cbor:"2,keyasint,omitempty"`
		Control *formControl `cbor:"3,keyasint,omitempty"`
		Drop    *formDrop    `cbor:"4,keyasint,omitempty"`
	}
	formText struct {
		Body string `cbor:"0,keyasint"`
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
	}
	formDrop struct {
		Back bool `cbor:"0,keyasint,omitempty"`
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

// empty reports whether no part is set.
func (c *Content) empty() bool {
	return c.Text == nil && c.Acks == nil && c.Control == nil && c.Drop == nil
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
		len(t.Route) == 0 && len(t.RouteAck) == 0 && !t.Accept && t.Name == "" && len(t.Prekeys) == 0 && len(t.Manifest) == 0 && len(t.Guest) == 0 && len(t.Tickets) == 0 && t.Suite == 0:
		return ErrContent
	}
	return nil
}

func (c *Content) form() *formContent {
	f := &formContent{Sent: c.Sent}
	if c.Text != nil {
		f.Text = &formText{Body: c.Text.Body}
	}
	if c.Acks != nil {
		f.Acks = &formAcks{IDs: make([]byte, 0, len(c.Acks.IDs)*wire.MessageIDSize), Highest: c.Acks.Highest}
		for _, id := range c.Acks.IDs {
			f.Acks.IDs = append(f.Acks.IDs, id[:]...)
		}
	}
	if t := c.Control; t != nil {
		f.Control = &formControl{Route: t.Route, RouteAck: t.RouteAck, Accept: t.Accept, Name: t.Name, Prekeys: t.Prekeys, Manifest: t.Manifest, Guest: t.Guest, Tickets: t.Tickets, Suite: t.Suite}
	}
	if c.Drop != nil {
		f.Drop = &formDrop{Back: c.Drop.Back}
	}
	return f
}
