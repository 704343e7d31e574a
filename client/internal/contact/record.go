// Package contact is about people: who they are, how one got to know them, and
// whether one may speak with them. It makes and reads invites, starts and
// accepts first contact (hellos), and keeps requests, verification and blocks.
//
// It belongs to the sealing half of the client: it never sees the network. It
// declares the small stores it needs; the vault implements them, and every
// change is made inside a transaction that the caller opened.
//
// Spec: docs/spec/invite.md, docs/spec/hello.md.
package contact

import (
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/wire"
)

// State says where one stands with a contact.
type State byte

// States of a contact.
const (
	Pending  State = 1 // our hello is on its way, or waits for their answer
	Request  State = 2 // their hello came and waits for our answer
	Accepted State = 3 // both may speak
	Declined State = 4 // we said no, silently
	Blocked  State = 5 // we cut them off: no route of ours leads anywhere
	Failed   State = 6 // our hello cannot be answered any more: the invite was used by someone else
	Member   State = 7 // known from a group only: there is a session, and no conversation
)

// String names the state as people see it.
func (s State) String() string {
	switch s {
	case Pending:
		return "waiting for their answer"
	case Request:
		return "wants to talk"
	case Accepted:
		return "accepted"
	case Declined:
		return "declined"
	case Blocked:
		return "blocked"
	case Failed:
		return "invite was used by another device"
	case Member:
		return "member of a group"
	}
	return "unknown"
}

// Errors that faces branch on.
var (
	ErrUnknown = errors.New("no such contact")
	ErrName    = errors.New("that name is taken")
	ErrSelf    = errors.New("this invite is your own")
	ErrKnown   = errors.New("you already have this contact")
	ErrHello   = errors.New("hello does not belong to an open invite")
	ErrInvite  = errors.New("no such invite")
	ErrState   = errors.New("the contact is not in a state that allows this")
)

// Record is what is kept about one device. Of a person's devices one has the
// record that also stands for the person: its id is the contact's, and what is
// true of the person (from Name to Verified, State, Stop, the manifest) is kept
// there. The stores show it in the records of the other devices too, and do not
// take it from them: whoever changes it asks Principal for the record first.
//
// A device of our own has a record with Own. It has no conversation.
type Record struct {
	ID       int64          `cbor:"-"`
	Root     key.SignPublic `cbor:"1,keyasint"`
	Name     string         `cbor:"2,keyasint"` // what we call them, unique here
	Claimed  string         `cbor:"3,keyasint"` // what they call themselves
	State    State          `cbor:"4,keyasint"`
	Verified bool           `cbor:"5,keyasint"` // the safety number was compared
	Manifest []byte         `cbor:"6,keyasint"` // their newest
	Device   int            `cbor:"7,keyasint"`
	Realm    Realm          `cbor:"8,keyasint"`  // where they are reached
	Invite   int64          `cbor:"9,keyasint"`  // of ours, by which they came
	Blob     wire.BlobID    `cbor:"10,keyasint"` // of theirs, by which we came: gone when used
	Hello    wire.MessageID `cbor:"11,keyasint"` // ours, while Pending
	Warning  string         `cbor:"12,keyasint"` // shown until it is dismissed; blocks sending when Stop
	Stop     bool           `cbor:"13,keyasint"`
	Since    int64          `cbor:"14,keyasint"` // unix seconds, ours alone
	Prekeys  []byte         `cbor:"15,keyasint"` // theirs, to start a session again
	Given    []Given        `cbor:"16,keyasint"` // ours that they may hold, newest last
	Broken   []byte         `cbor:"17,keyasint"` // hash of a message that no session opened
	BrokenAt int64          `cbor:"18,keyasint"` // unix seconds when it first came
	Rekeyed  int64          `cbor:"19,keyasint"` // unix seconds of the last new session we started
	Before   []byte         `cbor:"20,keyasint"` // their prekeys before Prekeys
	Neutral  int64          `cbor:"21,keyasint"` // unix seconds of the last neutral answer to a hello
	Restart  int64          `cbor:"22,keyasint"` // unix seconds when they last started a session again
	Doubt    pad.Ref        `cbor:"23,keyasint"` // the manifest that made us stop
	Trusted  pad.Ref        `cbor:"24,keyasint"` // the same, once a person has said that it is all right
	Read     int64          `cbor:"25,keyasint"` // newest event that a person has seen
	Told     byte           `cbor:"26,keyasint"` // newest suite that we told them of, where the session is of an older one
	Suite    byte           `cbor:"27,keyasint"` // newest in which their device begins sessions, as far as they said
	Moving   int64          `cbor:"28,keyasint"` // unix seconds before which we do not begin in a newer suite
	// Guest tokens for our realm, for a contact who lives on another one.
	Guests     int   `cbor:"30,keyasint"` // that they are thought to have
	GuestsAt   int64 `cbor:"31,keyasint"` // unix seconds when they were last given some
	GuestsUsed int64 `cbor:"32,keyasint"` // unix seconds when they were last thought to spend one

	Person int64          `cbor:"33,keyasint,omitempty"` // whose device this is; 0: this record stands for the person
	Own    bool           `cbor:"34,keyasint,omitempty"` // another device of ours
	Sign   key.SignPublic `cbor:"35,keyasint"`           // the name of the device; zeros where Gone
	Gone   bool           `cbor:"36,keyasint,omitempty"` // stands for the person only: its device was revoked
	Last   pad.Ref        `cbor:"37,keyasint"`           // newest manifest of theirs that this device named
	Past   []pad.Ref      `cbor:"38,keyasint,omitempty"` // of the person: manifests before Manifest that were seen, oldest first
	Joined uint32         `cbor:"39,keyasint,omitempty"` // of a device of ours: sequence of the manifest in which it joined
	Carded bool           `cbor:"40,keyasint,omitempty"` // our other devices were told how to reach this one
	Showed uint32         `cbor:"41,keyasint,omitempty"` // sequence of the newest manifest of ours that it was told of
	Known  bool           `cbor:"44,keyasint,omitempty"` // of the person: our other devices know them
	Leaves bool           `cbor:"43,keyasint,omitempty"` // it said that it is given up
	Level  byte           `cbor:"42,keyasint,omitempty"` // what its version knows, as far as it said: LevelDevices
}

// LevelDevices is the level of a device that knows people with several devices, and
// groups.
const LevelDevices = 1

// Principal is the record that stands for the person whose device r is: r itself,
// or another. A device of our own stands for itself.
func Principal(tx People, r *Record) (*Record, error) {
	if r.Person == 0 {
		return r, nil
	}
	return tx.Contact(r.Person)
}

// PersonID is the id of the record that stands for the person, which is that of
// the conversation.
func (r *Record) PersonID() int64 {
	if r.Person != 0 {
		return r.Person
	}
	return r.ID
}

// Join shows what is true of the person in the record of one of their devices.
func (r *Record) Join(p *Record) {
	r.Root, r.Name, r.Claimed, r.State, r.Verified, r.Manifest, r.Past = p.Root, p.Name, p.Claimed, p.State, p.Verified, p.Manifest, p.Past
	r.Warning, r.Stop, r.Doubt, r.Trusted, r.Since, r.Read, r.Known = p.Warning, p.Stop, p.Doubt, p.Trusted, p.Since, p.Read, p.Known
}

// Strip takes out what Join put in.
func (r *Record) Strip() { r.Join(&Record{Root: r.Root}) }

// Settle gives a record of before devices had names its own name.
func (r *Record) Settle() {
	if r.Gone || r.Sign != (key.SignPublic{}) {
		return
	}
	if m, err := manifest.Parse(r.Manifest); err == nil && r.Device < len(m.Devices) {
		r.Sign = m.Devices[r.Device].Sign
	}
}

// Kept reports whether sessions and routes with the contact are kept up.
func (r *Record) Kept() bool { return r.State == Accepted || r.State == Member }

// MaxGiven is how many sets of prekeys stay usable for a contact: a device that
// was restored from an old copy starts again with an old one.
const MaxGiven = 5

// Given is a set of our prekeys that one contact holds the public half of.
type Given struct {
	Private []byte `cbor:"1,keyasint"`
	Public  []byte `cbor:"2,keyasint"`
	Born    int64  `cbor:"3,keyasint"` // unix seconds
}

// Give remembers a new set and forgets the oldest above MaxGiven.
func (r *Record) Give(g Given) {
	r.Given = append(r.Given, g)
	for len(r.Given) > MaxGiven {
		clear(r.Given[0].Private)
		r.Given = r.Given[1:]
	}
}

// Empty forgets everything but who the contact is: nothing is left with which
// they could be answered, or could start again.
func (r *Record) Empty() {
	for _, g := range r.Given {
		clear(g.Private)
	}
	*r = Record{ID: r.ID, Root: r.Root, Name: r.Name, Claimed: r.Claimed, State: r.State, Verified: r.Verified, Manifest: r.Manifest,
		Device: r.Device, Realm: r.Realm, Since: r.Since, Read: r.Read, Person: r.Person, Own: r.Own, Sign: r.Sign, Gone: r.Gone, Past: r.Past}
}

// MayReceive reports whether what the contact says is taken.
func (r *Record) MayReceive() bool {
	return r.State == Accepted || r.State == Pending || r.State == Failed || r.State == Member
}

// ManifestRef is how a block names the contact's manifest.
type ManifestRef = pad.Ref

// Realm names a relay and pins its key.
type Realm struct {
	Name string   `cbor:"1,keyasint"` // host[:port]
	Pin  [32]byte `cbor:"2,keyasint"` // SHA-256 of the realm key
}

// RouteRecord is one direction to one device.
type RouteRecord struct {
	ID      int64  `cbor:"-"`
	Contact int64  `cbor:"-"` // 0: a contact route, of an invite
	Mine    bool   `cbor:"1,keyasint"`
	Invite  int64  `cbor:"2,keyasint"`
	Owner   []byte `cbor:"3,keyasint"`            // ours: the private half
	Chain   []byte `cbor:"4,keyasint"`            // secrets from the oldest period still needed on
	Period  uint16 `cbor:"5,keyasint"`            // L in seconds
	Born    int64  `cbor:"6,keyasint"`            // unix seconds of the offer by the owner's clock
	Realm   Realm  `cbor:"7,keyasint"`            // where it lies
	Acked   bool   `cbor:"8,keyasint"`            // the other end has it
	Retire  uint64 `cbor:"9,keyasint"`            // replaced, and not served from this period on; 0: in use
	Birth   uint64 `cbor:"10,keyasint"`           // first period of the route
	Park    []byte `cbor:"11,keyasint"`           // secrets of days, from the oldest still needed on; empty: none was kept
	Burnt   bool   `cbor:"12,keyasint,omitempty"` // ours: a device that was revoked may know it; not served once a newer one is acked
}

// SessionRecord is one pair session with one device.
type SessionRecord struct {
	ID        int64  `cbor:"-"`
	Contact   int64  `cbor:"-"`
	State     []byte `cbor:"1,keyasint"`
	Initiator bool   `cbor:"2,keyasint"` // we started it
	Sent      uint32 `cbor:"3,keyasint"` // messages sealed
	Highest   uint32 `cbor:"4,keyasint"` // newest message opened, by number since the session began
	Primary   bool   `cbor:"5,keyasint"` // new messages are sealed in this one
	Born      int64  `cbor:"6,keyasint"`
	Epoch     uint64 `cbor:"7,keyasint"` // epochs of the braid that are complete
	Offered   uint64 `cbor:"8,keyasint"` // of them, those from before our newest route was offered
}

// Suite is the suite of the session, with which its stored form begins.
//
// spec: session.md#stored-session
func (r *SessionRecord) Suite() byte {
	if len(r.State) == 0 {
		return 0
	}
	return r.State[0]
}

// InviteRecord is an invite of ours.
type InviteRecord struct {
	ID         int64       `cbor:"-"`
	Secret     [16]byte    `cbor:"1,keyasint"`
	Realm      Realm       `cbor:"2,keyasint"`
	Capability [32]byte    `cbor:"3,keyasint"` // deletes the blob
	Private    []byte      `cbor:"4,keyasint"` // prekeys
	Public     []byte      `cbor:"5,keyasint"`
	Bundle     [32]byte    `cbor:"6,keyasint"` // hash of the signed bundle
	Sealed     []byte      `cbor:"7,keyasint"` // the blob, until the relay has it
	Seal       []byte      `cbor:"8,keyasint"` // X-Wing seed
	Expires    int64       `cbor:"9,keyasint"` // unix seconds
	Uses       uint16      `cbor:"10,keyasint"`
	Used       uint16      `cbor:"11,keyasint"`
	Ask        bool        `cbor:"12,keyasint"` // do not accept by itself
	Hellos     []HelloSeen `cbor:"13,keyasint"`
	Gone       bool        `cbor:"14,keyasint"` // keys destroyed: used up, revoked or expired
	Delete     bool        `cbor:"15,keyasint"` // the blob still has to be deleted at the relay
	Label      string      `cbor:"16,keyasint"` // for whom, ours alone
	Manifest   []byte      `cbor:"17,keyasint"` // the manifest it was made under
	Member     bool        `cbor:"18,keyasint"` // who takes it becomes a member of the realm
	Entry      []byte      `cbor:"19,keyasint"` // hash of the realm invite in it, until the relay has it
	Suite      byte        `cbor:"20,keyasint"` // in which its hello begins; 0 stands for 1

	Group bool           `cbor:"21,keyasint,omitempty"` // an introduction for a group, made by Bundle
	For   key.SignPublic `cbor:"22,keyasint"`           // who alone may use it; with Group
}

// HelloSeen is a hello that used an invite: the same bytes again are answered again.
type HelloSeen struct {
	Hash    [32]byte `cbor:"1,keyasint"`
	Contact int64    `cbor:"2,keyasint"`
}
