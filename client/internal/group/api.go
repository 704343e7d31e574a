package group

import (
	"errors"
	"io"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// ID names a group.
type ID = roster.GroupID

// Device names a device by its signing key.
type Device = key.SignPublic

// Errors that faces branch on. A refused call changed nothing.
var (
	// ErrUnknown: there is no such group here.
	ErrUnknown = errors.New("no such group")
	// ErrLeft: this device is no member any more.
	ErrLeft = errors.New("you are not a member of this group any more")
	// ErrRight: this person has no right to do that; roster's refusals say which.
	ErrRight = errors.New("only an admin can do that")
	// ErrAsk: a person must decide first: see Record.Questions.
	ErrAsk = errors.New("the group asks you something first")
	// ErrNoPackage: there is no key package of a device that is to be added; one was asked for.
	ErrNoPackage = errors.New("their device has to answer first")
	// ErrEntering: this device is not let in yet.
	ErrEntering = errors.New("this device is not in the group yet: another of yours, or an admin's, has to let it in")
	// ErrBusy: the message cannot be taken now and is offered again.
	ErrBusy = errors.New("too much is not whole yet")
)

// Engine runs the groups of one device.
type Engine struct {
	Self   Self
	Rand   io.Reader
	Crypto Crypto // MLS, or what stands in for it in the exhaustive explorer
	Live   uint16 // live period of the own realm in seconds
	// Hybrid is up to how many leaves a new group takes the hybrid suite; above it
	// suite 3. Zero: 16.
	Hybrid int
	// Spread is over how long commits of adds and settings are spread, so that devices
	// seldom race. Zero: 30 s; below zero: none waits.
	Spread time.Duration
	// Fatal reports whether an error is the store's, and not of one group: it ends the
	// call. Of all else that fails in one group the others hear nothing. Nil: none is.
	Fatal func(error) bool
	// AckMean is the mean delay of acks in groups. Zero: 120 s; below zero: none waits.
	AckMean time.Duration
	// Accepted reports whether a person is a contact whom the person of this device
	// accepted: into groups of others it comes only at its person's yes, and who left one
	// comes back only so. nil: everybody is, and nobody is asked.
	Accepted func(tx Tx, root key.SignPublic) (bool, error)
	// Unwanted reports whether the person of this device does not want to hear somebody:
	// they learn seldom that this device is there. nil: nobody.
	Unwanted func(tx Tx, root key.SignPublic) (bool, error)
}

// Self is who this device is.
type Self struct {
	Sign     key.Sign
	Device   Device // the public half of Sign; zeros: it is computed in every call
	Manifest *manifest.Manifest
	Home     roster.Home // the own realm: where routes of own leaves lie, and slots of new groups
	// Elsewhere are other realms to which this device can put: where a group goes
	// whose realm was the own one and failed.
	Elsewhere []roster.Home
}

// Tx is one transaction over all that groups keep. Getters fail with the error
// named; Put* inserts or replaces. Records are the store's own copies.
type Tx interface {
	Group(id ID) (*Record, error) // ErrUnknown
	Groups() ([]*Record, error)
	PutGroup(*Record) error
	DeleteGroup(id ID) error // with its epochs, copies and wishes

	// Epochs: the secrets of one epoch that this device holds.
	Epoch(id ID, epoch uint64) (*Epoch, error) // ErrUnknown
	Epochs(id ID) ([]*Epoch, error)            // ascending; without Secret, Basis and End
	PutEpoch(*Epoch) error
	DeleteEpoch(id ID, epoch uint64) error

	// Messages of ours that wait for acks, oldest first.
	Messages(id ID) ([]*Message, error)
	Message(id ID, m wire.MessageID) (*Message, error) // ErrUnknown
	PutMessage(*Message) error
	DeleteMessage(id ID, m wire.MessageID) error

	// Seen reports whether a logical message of a device was taken, and MarkSeen
	// notes it: kept 90 days, across successors.
	Seen(origin ID, from Device, m wire.MessageID) (bool, error)
	MarkSeen(origin ID, from Device, m wire.MessageID, day int64) error

	// Packages: own key packages that were given away, by hash of the public part,
	// and stocks of those that others gave.
	OwnPackage(hash [32]byte) (*OwnPackage, error) // ErrUnknown
	PutOwnPackage(*OwnPackage) error
	DeleteOwnPackage(hash [32]byte) error
	OwnPackages() ([]*OwnPackage, error)
	Stock(of Device) ([]*Package, error) // oldest first
	PutStock(of Device, p *Package) error
	DeleteStock(of Device, hash [32]byte) error

	// Notes: small things of no kind of their own (what came in pieces and is not
	// whole, what was opened in an epoch), by names of at most 128 printable bytes.
	Note(name string) ([]byte, error) // ErrUnknown
	PutNote(name string, value []byte) error
	DeleteNotes(prefix string) error       // all whose names begin so
	Notes(prefix string) ([]string, error) // names, ascending

	// Try runs f. What f put is undone if it fails, and the transaction goes on: its
	// error is returned as it is.
	Try(f func() error) error
}

// Arrival is something that reached this device for a group.
type Arrival struct {
	// By the route of an own leaf (or of all leaves): the whole group cell payload.
	Group   ID
	Epoch   uint64
	Payload []byte
}

// Way says how something travels between members.
type Way byte

// Ways.
const (
	ByLeaf Way = 1 // an MLS message in a cell, by the route of a leaf in an epoch
	ByPair Way = 2 // content in a pair session: welcomes, key packages, evidence
)

// Copy is one MLS message on its way to one leaf (or to all, where the fan-out is
// shared). Copies with Keep are rows of the outbox and leave it only when the
// engine says so; others are put once, and made again when they are owed again.
type Copy struct {
	Group   ID
	Epoch   uint64
	Leaf    uint32 // All: the shared address
	To      Device // whose leaf it is; zeros for All
	Message wire.MessageID
	Payload []byte // one MLS message of at most wire.PayloadSize bytes; the same for all leaves
	Keep    bool
	Urgent  bool // a person waits for it: not an ack
}

// All in place of a leaf is the shared address of the epoch.
const All = ^uint32(0)

// Word is content for a device in its pair session (convo's Tell): kept until
// acked there.
type Word struct {
	To      Device
	Root    key.SignPublic
	Payload []byte // at most 60 KiB
}

// SlotCall is a read or a put of a slot that the engine wants done. It is asked
// for again by Due until it is answered.
type SlotCall struct {
	Group ID
	Epoch uint64
	Slot  wire.BlobID
	Put   []byte      // nil: a read; else the sealed blob
	Home  roster.Home // where
	After time.Time   // not before
}

// SlotAnswer is what came of it. Exactly one of Receipt and Trouble counts, but for
// Lost, which says nothing without a receipt.
type SlotAnswer struct {
	Group   ID
	Epoch   uint64
	Blob    []byte        // what lies there, if it was read and is still kept
	Receipt *wire.Receipt // signed for what lies there, ours or another's
	Trouble Trouble
}

// Trouble says why there is no receipt.
type Trouble byte

// Troubles.
const (
	Empty   Trouble = 1 // the realm answered: nothing lies there (reads only)
	Away    Trouble = 2 // the realm did not answer
	Unpaid  Trouble = 3 // a put needs a token that this device does not have
	Refused Trouble = 4 // the realm refuses for good: a size, a full disk, no such role
	Lost    Trouble = 5 // something lay there once, and the realm does not keep it any more (reads only)
)

// Change is what a transaction did that others must act on once it committed.
type Change struct {
	Events  []Event
	Copies  []*Copy
	Removed []RowKey // copies that must not go again
	Words   []*Word
	Slots   []*SlotCall
	Meets   []Meeting
	Routes  bool      // the set of own addresses changed
	Heard   []Device  // devices that just proved to be there
	Next    time.Time // when Tick wants to be called, zero: no earlier than was said before
	Failed  []Failed  // groups in which something failed; the others went on
}

// Meeting is an introduction that a member gave to this device (convo's Meet): whose
// it must be is that member.
type Meeting struct {
	Device       Device
	Root         key.SignPublic
	Introduction []byte
}

// RowKey names one kept copy.
type RowKey struct {
	Group   ID
	Epoch   uint64
	Leaf    uint32
	Message wire.MessageID
}

// EventKind says what an event tells.
type EventKind byte

// Kinds of events.
const (
	EventText     EventKind = 1  // somebody said something: Content is a content block's content
	EventJoined   EventKind = 2  // this device is a member now
	EventMembers  EventKind = 3  // who was added, removed, left, promoted, demoted; by whom
	EventSettings EventKind = 4  // name, picture, timer, fan-out, links
	EventOut      EventKind = 5  // this device was removed: Text says by whom and why
	EventDelivery EventKind = 6  // Message: Reached of Of devices have it
	EventTrouble  EventKind = 7  // changes wait, and why; messages go on
	EventWell     EventKind = 8  // they do not wait any more
	EventQuestion EventKind = 9  // a person must decide: see Record.Questions, and Invitations
	EventAgain    EventKind = 10 // the group was made again: the conversation goes on in Group
	EventRefused  EventKind = 11 // a wish of ours will not be done: Text says why
	EventUnsent   EventKind = 12 // Message waited when this device was put out: only Reached of Of devices have it
)

// Event is something to show. What it says is complete: faces need no state.
type Event struct {
	Group   ID
	Origin  ID // the first group of the line: what a conversation is named by
	Kind    EventKind
	By      Device // who did or said it
	ByRoot  key.SignPublic
	About   []key.SignPublic // persons
	Devices []Device
	Message wire.MessageID
	Content []byte
	Sent    int64 // unix seconds by the author, of a text
	Reached int
	Of      int
	Text    string          // plain words, for notices; of a text: what there is to know of it
	Wish    roster.WishKind // what changed, of EventMembers, EventSettings and EventRefused
	Asks    QuestionKind    // of EventQuestion, if it is not about a group of this device: AskJoin
	Name    string          // of that: what the group is called
}

// The calls. Every one is inside a transaction; what it returns counts once that
// has committed. now is the wall clock; nothing is deleted because of it alone.
//
//	Create(tx, now, Founding) (ID, *Change, error)
//	Want(tx, now, id, roster.Wish without Group, ID, By, Sig, Package) (*Change, error)    add, remove, leave, …
//	Send(tx, now, id, content []byte) (wire.MessageID, *Change, error)            content of at most 64 blocks
//	Take(tx, now, Arrival) (Taken, *Change, error)                                 a cell by a leaf's route
//	Hear(tx, now, from Device, root, payload []byte) (*Change, error)              content in a pair session
//	Answer(tx, now, SlotAnswer) (*Change, error)
//	Tick(tx, now) (*Change, error)                                                 timers; as often as one likes
//	Due(tx, now) (*Change, error)                                                  after a start, or hours away: all that is wanted still
//	Decide(tx, now, id, Question, yes bool) (*Change, error)
//	Invitations(tx) ([]*Invited, error)                                           what Decide answers of groups to come
//	Packages(tx, now, for Device, n) ([]byte, error)                              a word with key packages, for a stock
//	Manifest(tx, now, m) (*Change, error)                                          a person's newer manifest: revocations become wishes
//	Unmet(tx, met) ([]Unmet, error)                                                members without a pair session
//	Introduce(tx, now, id, to Device, introduction) (*Change, error)               gives one of them an introduction
//	Routes(tx) ([]OwnRoute, error)                                                 what to watch
//
// Their doc comments are at their functions.

// Taken says what a cell turned out to be, for its receipt echo.
type Taken byte

// What cells turn out to be.
const (
	Rejected Taken = 1 // did not open, or its sender is no member
	Nothing  Taken = 2 // opened, and shows nothing: a duplicate, an ack
	Shown    Taken = 3
)

// OwnRoute is an address that this device watches for a group: of its own leaf in
// an epoch, or the shared one.
type OwnRoute struct {
	Group  ID
	Epoch  uint64
	Leaf   uint32 // All: shared
	Owner  []byte // private half, key.Owner
	Secret []byte // the route's secret at Birth, 32 bytes
	Birth  uint64 // first live period
	Period uint16
	Home   roster.Home
}

// LeafRoute is where a copy for a leaf goes.
type LeafRoute struct {
	Public [32]byte
	Secret []byte
	Birth  uint64
	Period uint16
	Relay  string
	Pin    [32]byte
}
