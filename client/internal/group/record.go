package group

import (
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Record is what is kept of one group beside its epochs. Engine and rift add what
// they need; every field has a CBOR key of its own.
type Record struct {
	ID     ID     `cbor:"-"`
	Origin ID     `cbor:"1,keyasint"` // first of the line: names the conversation and its wishes
	Old    ID     `cbor:"2,keyasint"` // the group that this one was made again from; zeros: none
	Next   ID     `cbor:"3,keyasint"` // the successor that this device took; zeros: none
	State  State  `cbor:"4,keyasint"`
	Head   uint64 `cbor:"5,keyasint"` // the newest epoch of this device
	Since  int64  `cbor:"6,keyasint"` // unix seconds, ours alone

	Name    string    `cbor:"7,keyasint"`  // of the state, for lists
	Wishes  []Wanted  `cbor:"8,keyasint"`  // ours and those of others that are open
	Acks    []Acked   `cbor:"9,keyasint"`  // what is known of each device
	Decided []Decided `cbor:"10,keyasint"` // receipts, oldest first

	Questions []Question `cbor:"11,keyasint"` // what a person must decide
	Read      int64      `cbor:"12,keyasint"` // newest event that a person has seen
	Muted     bool       `cbor:"13,keyasint"`

	Try     int64      `cbor:"14,keyasint"` // unix seconds from which on a commit may be made; 0: none is planned
	Look    int64      `cbor:"15,keyasint"` // unix seconds from which on the slot is read
	Looked  int64      `cbor:"16,keyasint"` // when the realm answered last
	Asked   int64      `cbor:"17,keyasint"` // when a read or put was asked for that nobody answered; 0: none
	Away    int64      `cbor:"18,keyasint"` // since when the realm does not answer; 0: it does
	Known   uint64     `cbor:"19,keyasint"` // newest epoch that members named
	Update  bool       `cbor:"20,keyasint"` // a new own path is wanted
	Tell    int64      `cbor:"21,keyasint"` // when the own head is told again
	Tells   int        `cbor:"22,keyasint"` // how often it was told since it changed
	Lacking []Lacking  `cbor:"23,keyasint"` // to be added, once there is a key package
	Trouble string     `cbor:"24,keyasint"` // why changes wait, as it was said last; empty: they do not
	Begging int64      `cbor:"25,keyasint"` // when to ask to be added again, of Behind
	Begs    int        `cbor:"26,keyasint"`
	Offered [][32]byte `cbor:"27,keyasint"`           // own packages for being added again
	Swept   int64      `cbor:"28,keyasint"`           // when what never became whole was dropped last
	Removed []Device   `cbor:"30,keyasint"`           // who was removed, as this device saw it; newest last
	Entry   *Entry     `cbor:"32,keyasint,omitempty"` // of Entering
	Revoked []Device   `cbor:"31,keyasint"`           // of them, whose person revoked them: nothing of theirs is opened any more
	Gather  int64      `cbor:"29,keyasint"`           // when the roll goes out next, of who gathers acks

	Clock    int64      `cbor:"41,keyasint"` // seconds of the record's own clock: see age
	Clocked  int64      `cbor:"42,keyasint"` // wall clock when it went on last
	Departed []Departed `cbor:"43,keyasint"` // who was removed by commits, while older epochs are here
	Owes     []Owe      `cbor:"44,keyasint"` // acks that have not gone yet
	Prompted bool       `cbor:"45,keyasint"` // the next read of the slot is because a member said so
	Prompt   int64      `cbor:"46,keyasint"` // not before then because of a word alone
	Vain     int        `cbor:"47,keyasint"` // such reads that found nothing, since the last change
	Rolls    int        `cbor:"48,keyasint"` // how often the roll was told since the last change

	Picture     []byte `cbor:"62,keyasint,omitempty"` // the reference in the state, as it was seen last
	PictureBy   Device `cbor:"63,keyasint,omitempty"` // who set it, if that was seen
	PictureAsk  int64  `cbor:"64,keyasint,omitempty"` // when it is asked for next; 0: it is here, or there is none
	PictureAsks int    `cbor:"65,keyasint,omitempty"`

	Rift Rift `cbor:"40,keyasint"`

	Put   int64  `cbor:"33,keyasint"`           // when a shown removal put this device out: its epochs are kept for a while; 0: nothing is
	Quit  bool   `cbor:"34,keyasint,omitempty"` // of Out: this person left
	Suite Suite  `cbor:"60,keyasint,omitempty"` // of the group, for good
	Tight uint64 `cbor:"61,keyasint,omitempty"` // 1 + the epoch whose slot is too small for the own path; 0: none
}

// Lacking is a device that is to be added and whose key package is missing.
type Lacking struct {
	Root   key.SignPublic `cbor:"1,keyasint"`
	Device Device         `cbor:"2,keyasint"`
	Since  int64          `cbor:"3,keyasint"`
	Asked  int64          `cbor:"4,keyasint"`
}

// State says how a group stands on this device.
type State byte

// States of a group.
const (
	Active   State = 1
	Behind   State = 2 // waits to be added again: it lost its way
	Stopped  State = 3 // commits nothing; messages go on
	Replaced State = 4 // goes on in Record.Next
	Out      State = 5 // this device was removed, or left
	Entering State = 6 // another device of this person is a member; this one waits to be let in
)

// Wanted is an open wish.
type Wanted struct {
	Wish    []byte        `cbor:"1,keyasint"` // roster.Wish
	ID      roster.WishID `cbor:"2,keyasint"`
	Own     bool          `cbor:"3,keyasint"` // of this person's devices: proposed again until settled
	Applied uint64        `cbor:"4,keyasint"` // epoch that it led to; 0: none
	In      ID            `cbor:"5,keyasint"` // of which group
	Since   int64         `cbor:"6,keyasint"`
	Told    int64         `cbor:"7,keyasint"` // when it was told last, of own ones
	Tells   int           `cbor:"8,keyasint"`
	By      Device        `cbor:"9,keyasint"`  // of Wish
	Bound   ID            `cbor:"10,keyasint"` // the group whose memberships it names
	Large   uint64        `cbor:"11,keyasint"` // one more than the epoch in which no commit takes it
	Judged  uint64        `cbor:"12,keyasint"` // one more than the epoch in which others could commit it
}

func (o *Wanted) key() roster.WishKey { return roster.WishKey{By: o.By, ID: o.ID} }

// Acked is what a device said of itself last.
type Acked struct {
	Device Device `cbor:"1,keyasint"`
	Head   uint64 `cbor:"2,keyasint"` // newest epoch it is in
	Low    uint64 `cbor:"3,keyasint"` // oldest epoch that own unacked messages of it wait in; ^0: none
	At     int64  `cbor:"4,keyasint"`
	Roll   uint64 `cbor:"5,keyasint,omitempty"` // newest epoch by another's word: spares words, settles nothing
	Told   int64  `cbor:"6,keyasint,omitempty"` // when it was told the own head last because it asked
}

// Decided is what is known of one slot.
type Decided struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Slot    wire.BlobID   `cbor:"2,keyasint"`
	Receipt wire.Receipt  `cbor:"3,keyasint"`
	Second  *wire.Receipt `cbor:"4,keyasint"` // another hash for the same slot: the relay lied, or lost its store
	Settled bool          `cbor:"5,keyasint"`

	// Who said that the slot is settled: with Receipt, and with Second.
	Ours   []key.SignPublic `cbor:"6,keyasint,omitempty"`
	Theirs []key.SignPublic `cbor:"7,keyasint,omitempty"`
}

// Question is what a person must decide.
type Question struct {
	ID    [8]byte          `cbor:"1,keyasint"`
	Kind  QuestionKind     `cbor:"2,keyasint"`
	About []key.SignPublic `cbor:"3,keyasint"` // persons
	Group ID               `cbor:"4,keyasint"` // a successor
	Text  string           `cbor:"5,keyasint"` // plain words
}

// QuestionKind says what is asked.
type QuestionKind byte

// Kinds of questions.
const (
	AskWrite   QuestionKind = 1 // messages that wait would be read by more people than when they were written
	AskRemake  QuestionKind = 2 // make the group again on another realm
	AskLink    QuestionKind = 3 // somebody with an approval link asks to be added
	AskMembers QuestionKind = 4 // a successor has people whose removal was shown here
	AskFollow  QuestionKind = 5 // a successor did not let this device in: wait for it?
	AskJoin    QuestionKind = 6 // enter a group into which no accepted contact brings this person: see Invited
)

// Epoch is what this device holds of one epoch.
type Epoch struct {
	Group   ID      `cbor:"-"`
	Number  uint64  `cbor:"-"`
	Secret  []byte  `cbor:"1,keyasint"`  // Tree.Append of the head, Past.Append of one that was left
	Route   []byte  `cbor:"2,keyasint"`  // route secret, from the exporter
	Shared  []byte  `cbor:"3,keyasint"`  // secret of the shared address
	Slot    []byte  `cbor:"4,keyasint"`  // slot secret, until the slot is decided
	Own     []byte  `cbor:"5,keyasint"`  // private half of the own leaf's route, key.Owner
	Mine    []byte  `cbor:"6,keyasint"`  // roster.Route of the own leaf
	Born    uint32  `cbor:"7,keyasint"`  // day
	Left    int64   `cbor:"8,keyasint"`  // unix seconds when it was left; 0: it is the head
	Self    uint32  `cbor:"9,keyasint"`  // own leaf
	Mark    [8]byte `cbor:"10,keyasint"` // Said.Mark
	Pass    int64   `cbor:"11,keyasint"` // when news and Welcomes are passed on next; 0: no more
	Passes  int     `cbor:"12,keyasint"`
	Whisper []byte  `cbor:"13,keyasint"` // whisper secret, from the exporter
	Live    uint16  `cbor:"14,keyasint"` // live period of the shared address in seconds; 0: there is none
	Near    bool    `cbor:"15,keyasint"` // the own leaf's relay is the group's
	Aged    int64   `cbor:"16,keyasint"` // when it was left, by the record's clock

	*Basis `cbor:"-"` // absent in lists; kept on its own
	End    *Ending    `cbor:"-"` // absent in lists, and nil for none; kept on its own
}

// Commit is an own commit with all that is needed if it wins.
type Commit struct {
	Stored []byte `cbor:"1,keyasint"` // Staged.Stored
	Blob   []byte `cbor:"2,keyasint"` // sealed, as it is put
	Own    []byte `cbor:"3,keyasint"` // private half of the own leaf's route after it
}

// Joiner is a device that a commit added.
type Joiner struct {
	Leaf    roster.Leaf `cbor:"1,keyasint"`
	Package [32]byte    `cbor:"2,keyasint"` // SHA-256 of the key package
}

// Message is one of ours that waits for acks.
type Message struct {
	Group   ID             `cbor:"-"`
	ID      wire.MessageID `cbor:"-"`
	Epoch   uint64         `cbor:"1,keyasint"` // it is encrypted under
	Content []byte         `cbor:"2,keyasint"` // to encrypt it again
	Sealed  [][]byte       `cbor:"3,keyasint"` // MLS messages, one a block
	Waits   []Waiting      `cbor:"4,keyasint"` // who has not acked
	Saw     []roster.Leaf  `cbor:"5,keyasint"` // the roster its author saw
	Born    int64          `cbor:"6,keyasint"`
	Asked   bool           `cbor:"7,keyasint"` // its author was asked whether others may read it
	Sent    int64          `cbor:"8,keyasint"` // copies for each leaf go from then on: there was one for all; 0: they went
	Of      int            `cbor:"9,keyasint"` // devices that it is for

	faces *Faces // what Saw was read from
}

// Waiting is a device that has not acked a message.
type Waiting struct {
	Device Device `cbor:"1,keyasint"`
	Parts  uint64 `cbor:"2,keyasint"` // bit i: part i is missing
	// Since is the epoch from which on its acks count: before, it was another leaf, and
	// what that one acked may be lost. 0: any.
	Since uint64 `cbor:"3,keyasint,omitempty"`
}

// OwnPackage is a key package of ours that somebody holds.
type OwnPackage struct {
	Hash    [32]byte `cbor:"-"` // SHA-256 of Public
	Public  []byte   `cbor:"1,keyasint"`
	Secrets []byte   `cbor:"2,keyasint"`
	Owner   []byte   `cbor:"3,keyasint"` // private half of the leaf's route
	For     Device   `cbor:"4,keyasint"` // who was given it
	Born    int64    `cbor:"5,keyasint"`
	Suite   Suite    `cbor:"6,keyasint"`
}

// Package is one of somebody else's.
type Package struct {
	Hash   [32]byte `cbor:"1,keyasint"`
	Public []byte   `cbor:"2,keyasint"`
	Born   int64    `cbor:"3,keyasint"`
}
