package group

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// ErrSaid is returned for what a member said and is not well-formed.
var ErrSaid = errors.New("what a member of a group said is malformed")

// Sizes in bytes of what members say in one MLS message.
const (
	// SealedSize is the size of every MLS message that travels to a leaf: a whole
	// payload of a cell, so that it needs no framing.
	SealedSize = wire.PayloadSize
	// PlainSize is what one MLS message holds: a content block, and a little.
	PlainSize = SealedSize - SealOverhead // 1,083
	saidHead  = 1 + 1 + 8 + 8 + 8 + 2
	// SaidRoom is what the body of a whisper takes.
	SaidRoom = whisper.PlainSize - saidHead // 1,155
	// PieceRoom is what one piece of an object takes.
	PieceRoom = SaidRoom - pieceHead // 1,135
	pieceHead = 16 + 2 + 2
	ackSize   = wire.MessageIDSize + 8
	// MaxAcks is how many messages one ack names.
	MaxAcks = SaidRoom / ackSize // 72
	// MaxPieces is how many pieces an object has at most: 256 KiB and a little.
	MaxPieces = 260
)

// SaidKind says what one message is.
type SaidKind byte

// Kinds of messages between members.
const (
	SaidBlock SaidKind = 1 // a content block of a text: to all, by MLS. The others are whispers
	SaidAck   SaidKind = 2 // message ids with a bit for each part; none: only the head counts
	SaidPiece SaidKind = 3 // of an object
)

// Asks is the flag of who wants to hear what the others' heads are.
const asks = 1

// Said is one message between members. Head, Low and Mark go with everything.
//
//	kind 1 ‖ flags 1 ‖ head 8 ‖ low 8 ‖ mark 8 ‖ length 2 ‖ body ‖ zeros
//
// spec: group.md#messages
type Said struct {
	Kind  SaidKind
	Flags byte
	Head  uint64  // newest epoch of the sender
	Low   uint64  // oldest epoch in which own messages of the sender wait for acks; ^0: none
	Mark  [8]byte // of the head: members who stand on one branch have one
	Body  []byte
}

// size is how many bytes a message of a kind has. Kinds from 128 on are for all, as
// blocks of texts are.
func (k SaidKind) size() int {
	if k == SaidBlock || k >= 128 {
		return PlainSize
	}
	return whisper.PlainSize
}

// Append appends the message, PlainSize bytes if it is for all and as many as a
// whisper holds if not. It fails with ErrSaid for a body that is too long.
func (s *Said) Append(b []byte) ([]byte, error) {
	if len(s.Body) > s.Kind.size()-saidHead {
		return b, ErrSaid
	}
	n := len(b) + s.Kind.size()
	b = append(b, byte(s.Kind), s.Flags)
	b = binary.BigEndian.AppendUint64(b, s.Head)
	b = binary.BigEndian.AppendUint64(b, s.Low)
	b = append(b, s.Mark[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.Body)))
	b = append(b, s.Body...)
	return append(b, make([]byte, n-len(b))...), nil
}

// ParseSaid reads a message of the size of its kind; Body aliases b. It fails with
// ErrSaid.
func ParseSaid(b []byte) (*Said, error) {
	if len(b) < saidHead || len(b) != SaidKind(b[0]).size() {
		return nil, ErrSaid
	}
	s := &Said{Kind: SaidKind(b[0]), Flags: b[1], Head: binary.BigEndian.Uint64(b[2:]), Low: binary.BigEndian.Uint64(b[10:]), Mark: [8]byte(b[18:])}
	n := int(binary.BigEndian.Uint16(b[26:]))
	if n > len(b)-saidHead {
		return nil, ErrSaid
	}
	s.Body = b[saidHead : saidHead+n]
	for _, z := range b[saidHead+n:] {
		if z != 0 {
			return nil, ErrSaid
		}
	}
	return s, nil
}

// Ack says which parts of a message a device took.
type Ack struct {
	ID    wire.MessageID // logical
	Parts uint64         // bit i: part i
}

// AppendAcks appends the body of an ack: id 8 ‖ parts 8, for each.
func AppendAcks(b []byte, acks []Ack) []byte {
	for _, a := range acks {
		b = append(b, a.ID[:]...)
		b = binary.BigEndian.AppendUint64(b, a.Parts)
	}
	return b
}

// ParseAcks reads the body of an ack. It fails with ErrSaid.
func ParseAcks(b []byte) ([]Ack, error) {
	if len(b)%ackSize != 0 {
		return nil, ErrSaid
	}
	var out []Ack
	for ; len(b) > 0; b = b[ackSize:] {
		out = append(out, Ack{wire.MessageID(b), binary.BigEndian.Uint64(b[wire.MessageIDSize:])})
	}
	return out, nil
}

// Piece is a part of an object: what does not fit into one message.
//
//	object 16 ‖ place 2 ‖ pieces 2 ‖ bytes
type Piece struct {
	Object    [16]byte // random
	Place, Of uint16
	Bytes     []byte // PieceRoom, fewer in the last
}

// Append appends the piece.
func (p *Piece) Append(b []byte) []byte {
	b = append(b, p.Object[:]...)
	b = binary.BigEndian.AppendUint16(b, p.Place)
	b = binary.BigEndian.AppendUint16(b, p.Of)
	return append(b, p.Bytes...)
}

// ParsePiece reads a piece; Bytes aliases b. It fails with ErrSaid.
func ParsePiece(b []byte) (*Piece, error) {
	if len(b) <= pieceHead || len(b) > pieceHead+PieceRoom {
		return nil, ErrSaid
	}
	p := &Piece{Object: [16]byte(b), Place: binary.BigEndian.Uint16(b[16:]), Of: binary.BigEndian.Uint16(b[18:]), Bytes: b[pieceHead:]}
	if p.Place >= p.Of || p.Of > MaxPieces || p.Place+1 < p.Of && len(p.Bytes) != PieceRoom {
		return nil, ErrSaid
	}
	return p, nil
}

// ObjectKind says what an object is. Its first byte.
type ObjectKind byte

// Kinds of objects between members. Those from 32 on are about realms that failed.
const (
	ObjectWishes  ObjectKind = 1 // CBOR array of wishes
	ObjectNews    ObjectKind = 2 // News: a commit lies at the slot of an epoch
	ObjectNeed    ObjectKind = 3 // epoch 8: the realm does not give it to me
	ObjectBlob    ObjectKind = 4 // News with Content: what was needed
	ObjectRoll    ObjectKind = 5 // Roll: who acked an epoch, by the one who gathers acks
	ObjectMeet    ObjectKind = 6 // an introduction, opaque here: the two have no pair session
	ObjectLook    ObjectKind = 7 // the reference of a picture: give it to me
	ObjectPicture ObjectKind = 8 // the picture
)

// News says that the commit that ends an epoch is known.
type News struct {
	Epoch   uint64 `cbor:"0,keyasint"`
	Receipt []byte `cbor:"1,keyasint,omitempty"` // wire.Receipt; absent where there are no slots
	Content []byte `cbor:"2,keyasint,omitempty"` // nonce 24 ‖ content of the slot: the blob is sealed again from it
}

// Roll says who is past an epoch.
type Roll struct {
	Epoch uint64 `cbor:"0,keyasint"` // the tree in which leaves are counted
	Past  []byte `cbor:"1,keyasint"` // bit i: the device at leaf i has acked that epoch
	Low   []byte `cbor:"2,keyasint"` // bit i: and nothing of it waits in an earlier one
}

// slotContent is what lies at a slot, sealed.
//
// spec: group.md#slots
type slotContent struct {
	Commit  []byte `cbor:"0,keyasint"`           // MLS message
	Welcome []byte `cbor:"1,keyasint,omitempty"` // MLS message, for who is added
}

// WordKind says what a word between devices is: content of a pair session. Its first
// byte; the rest is CBOR.
type WordKind byte

// Kinds of words. Those from 32 on are about realms that failed.
const (
	WordWelcome  WordKind = 1 // Joining
	WordPackages WordKind = 2 // Packages: a stock, for whoever is told
	WordAsk      WordKind = 3 // Packages are asked for: nothing follows
	WordAgain    WordKind = 4 // Again: add me again
	WordRemoved  WordKind = 5 // Gone: you are no member any more
	WordPart     WordKind = 6 // Part of a longer word
	WordEnter    WordKind = 7 // Enter: let me in, another device of my person's is a member
)

// Lasting reports whether a word says the same whenever it comes: a Welcome, or a part
// of a long word. Such a one need not wait twice for one device. A Welcome has the whole
// tree with it, and is given again and again until its device was heard.
func Lasting(word []byte) bool {
	return len(word) > 0 && (WordKind(word[0]) == WordWelcome || WordKind(word[0]) == WordPart)
}

// Joining is all that a device needs to enter a group.
type Joining struct {
	Group   ID     `cbor:"0,keyasint"`
	Origin  ID     `cbor:"1,keyasint"`
	Epoch   uint64 `cbor:"2,keyasint"`           // that it enters
	Welcome []byte `cbor:"3,keyasint"`           // MLS message
	Tree    []byte `cbor:"4,keyasint"`           // ratchet tree of Epoch
	Receipt []byte `cbor:"5,keyasint,omitempty"` // of the slot before; absent where there are no slots
	Package []byte `cbor:"6,keyasint"`           // SHA-256 of the key package that it is for
}

// Stock is key packages for groups to come.
type Stock struct {
	Packages [][]byte `cbor:"0,keyasint"`
}

// Again asks to be added again.
type Again struct {
	Group   ID     `cbor:"0,keyasint"`
	Head    uint64 `cbor:"1,keyasint"` // as far as the asker came
	Package []byte `cbor:"2,keyasint"`
	Lost    bool   `cbor:"3,keyasint,omitempty"` // its line of commits was shown not to count
}

// Enter asks to be let into a group in which another device of one's person is.
type Enter struct {
	Group   ID     `cbor:"0,keyasint"`
	Package []byte `cbor:"1,keyasint"`
}

// Gone tells a device that it is no member any more.
type Gone struct {
	Group ID     `cbor:"0,keyasint"`
	Epoch uint64 `cbor:"1,keyasint"` // of the teller
}

// Part is a part of a word that is longer than one content takes.
type Part struct {
	Word  [16]byte `cbor:"0,keyasint"`
	Place uint16   `cbor:"1,keyasint"`
	Of    uint16   `cbor:"2,keyasint"`
	Bytes []byte   `cbor:"3,keyasint"`
}

// Bounds of words, in bytes and parts.
const (
	MaxWord      = 60 << 10
	partRoom     = MaxWord - 64
	maxWordParts = 64
)

var (
	enc = must(cbor.CoreDetEncOptions().EncMode())
	dec = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 8, MaxArrayElements: 4096, MaxMapPairs: 64, UTF8: cbor.UTF8RejectInvalid,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("group: " + err.Error())
	}
	return v
}

// encode writes a value of ours after its kind.
func encode[K ~byte](kind K, v any) []byte {
	b, err := enc.Marshal(v)
	if err != nil {
		panic("group: " + err.Error()) // fixed types: it cannot fail
	}
	return append([]byte{byte(kind)}, b...)
}

// decode reads v from b, which it must fill in the one way it is written. It fails
// with ErrSaid.
func decode(b []byte, v any) error {
	if dec.Unmarshal(b, v) != nil {
		return ErrSaid
	}
	again, err := enc.Marshal(v)
	if err != nil || !bytes.Equal(again, b) {
		return ErrSaid
	}
	return nil
}
