package client

import (
	"context"
	"time"
)

// Service is everything that a face (commands, chat, a daemon's socket) can ask
// of a profile. Client implements it in the process that owns the profile; ui/rpc
// implements it in every other process, over the owner's socket.
type Service interface {
	Status(ctx context.Context) (Status, error)

	NewInvite(ctx context.Context, o InviteOptions) (Invite, error)
	Invites(ctx context.Context) ([]Invite, error)
	RevokeInvite(ctx context.Context, id int64) error

	Preview(ctx context.Context, link string) (Preview, error)
	Accept(ctx context.Context, a AcceptOptions) (Contact, error)

	Contacts(ctx context.Context) ([]Contact, error)
	Answer(ctx context.Context, who string, a Answer) (Contact, error)
	Rename(ctx context.Context, who, name string) (Contact, error)
	SafetyNumber(ctx context.Context, who string) (string, error)
	SetVerified(ctx context.Context, who string, verified bool) (Contact, error)
	SetMute(ctx context.Context, who string, until time.Time) (Contact, error)
	SetDraft(ctx context.Context, who, text string) (Contact, error)

	Send(ctx context.Context, m Outgoing) (Event, error)
	Await(ctx context.Context, seq int64, s State) (Event, error)
	Unsend(ctx context.Context, seq int64) (Event, error)
	Read(ctx context.Context, q Query) ([]Event, error)
	MarkRead(ctx context.Context, seq int64) error
	Follow(ctx context.Context, after int64, f func(Event) error) error

	StartLink(ctx context.Context, o LinkOptions) (Link, error)
	LinkState(ctx context.Context) (Link, error)
	AwaitLink(ctx context.Context, seen int64) (Link, error)
	ConfirmLink(ctx context.Context, digits string) (Link, error)
	CancelLink(ctx context.Context) error
	Devices(ctx context.Context) ([]Device, error)
	RenameDevice(ctx context.Context, who, name string) (Device, error)
	RevokeDevice(ctx context.Context, who string) (Device, error)
	CreateGroup(ctx context.Context, o GroupOptions) (Group, error)
	Groups(ctx context.Context) ([]Group, error)
	GroupInfo(ctx context.Context, which string) (Group, error)
	ChangeGroup(ctx context.Context, g GroupChange) (Group, error)
	GroupPicture(ctx context.Context, which string) ([]byte, error)
	DecideGroup(ctx context.Context, which, question string, yes bool) (Group, error)

	SetWake(ctx context.Context, o WakeOptions) (WakeStatus, error)
	WakeOff(ctx context.Context) error
	TestWake(ctx context.Context) error
	ReceivePush(ctx context.Context, body []byte) (Pushed, error)

	ChangePassphrase(ctx context.Context, old, new []byte) error
	Doctor(ctx context.Context) ([]Check, error)
}

// State says where an outgoing message is.
type State string

// States in the order people see them, then the two ends without delivery.
const (
	Queued   State = "queued"   // on this device only
	Offered  State = "offered"  // a relay offered it; no live device was seen
	Parked   State = "parked"   // offered, and their relay keeps it for them until Event.Until; it waits here too
	Live     State = "live"     // a live device has it
	OnDevice State = "device"   // their device acked it
	Expired  State = "expired"  // its lifetime ended here
	Unsent   State = "unsent"   // taken back before it left
	Received State = "received" // an incoming message
	Told     State = "notice"   // said by the client itself
	// Disappeared: its timer ended, and it was deleted here. Only followers see it: of
	// such an event Seq alone is set.
	Disappeared State = "disappeared"
	// Elsewhere: another device of ours sent it, and has not told more of it yet.
	Elsewhere State = "copied"
)

// Event is one line of a conversation: a message or a notice.
type Event struct {
	Seq       int64     `json:"seq"` // cursor: order of arrival on this device
	ContactID int64     `json:"contact_id"`
	Contact   string    `json:"contact"` // our name for them
	ID        string    `json:"id"`      // message id, hex
	Out       bool      `json:"out"`
	Text      string    `json:"text"`
	State     State     `json:"state"`
	Sent      time.Time `json:"sent"`                  // by its author's clock
	At        time.Time `json:"at"`                    // by ours
	Until     time.Time `json:"parked_until,omitzero"` // by our clock; zero unless State is Parked
	// Timer is how long after it was read here (one's own: after it was sent) the text is
	// deleted here; 0: it stays.
	Timer time.Duration `json:"timer,omitempty"`

	// Of a group's conversation: Contact is who said it, if they are a contact.
	GroupID int64  `json:"group_id,omitempty"`
	Group   string `json:"group,omitempty"`   // its name here
	From    string `json:"from,omitempty"`    // who said or did it; "you" for ourselves
	Reached int    `json:"reached,omitempty"` // outgoing, to a group or to several devices: how many have it,
	Of      int    `json:"of,omitempty"`      // of how many
}

// Conversation is what the event is a line of: a contact's number, or minus a
// group's.
func (e *Event) Conversation() int64 {
	if e.GroupID != 0 {
		return -e.GroupID
	}
	return e.ContactID
}

// Outgoing is a message to send.
type Outgoing struct {
	To   string        `json:"to"` // a contact or a group
	Text string        `json:"text"`
	Keep time.Duration `json:"keep,omitempty"` // how long it may wait; zero: until acked
}

// Query selects events, oldest first.
type Query struct {
	Contact string `json:"contact,omitempty"` // a contact or a group; all when empty
	After   int64  `json:"after,omitempty"`
	Limit   int    `json:"limit,omitempty"`  // newest ones; zero: all
	Unread  bool   `json:"unread,omitempty"` // received and not marked by MarkRead
}

// Contact is a person.
type Contact struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	Claimed  string    `json:"claimed,omitempty"` // what they call themselves
	State    string    `json:"state"`             // pending, request, accepted, declined, blocked, failed
	Verified bool      `json:"verified"`
	Relay    string    `json:"relay"`
	Warning  string    `json:"warning,omitempty"`
	Stopped  bool      `json:"stopped,omitempty"` // sending is stopped until a person decides
	Waiting  int       `json:"waiting"`           // messages to them that no device has acked
	Unread   int       `json:"unread"`
	Since    time.Time `json:"since"`
	Addable  bool      `json:"addable,omitempty"` // to a group, while their devices are away
	Devices  int       `json:"devices,omitempty"` // how many they have, if there are several
	Muted    time.Time `json:"muted,omitzero"`    // until when nobody is told that they wrote
	Draft    string    `json:"draft,omitempty"`   // what is written to them and not sent
}

// Answer is what one says to a request, or does to a contact.
type Answer string

// Answers. Block works on any contact; Trust lifts a stop after a person looked.
const (
	AnswerAccept  Answer = "accept"
	AnswerDecline Answer = "decline"
	AnswerBlock   Answer = "block"
	AnswerTrust   Answer = "trust"
)

// InviteOptions are what the maker of an invite decides.
type InviteOptions struct {
	Uses  int           `json:"uses,omitempty"` // default 1
	Ask   bool          `json:"ask,omitempty"`  // ask before accepting, also when it is for one
	Life  time.Duration `json:"life,omitempty"` // default 7 days, at most 30
	Label string        `json:"label,omitempty"`
	// Outside leaves out the membership of our realm, which an invite for one
	// brings where members may invite.
	Outside bool `json:"outside,omitempty"`
}

// Invite is an invite of ours.
type Invite struct {
	ID      int64     `json:"id"`
	Link    string    `json:"link,omitempty"` // empty once it cannot be used
	Label   string    `json:"label,omitempty"`
	Uses    int       `json:"uses"`
	Used    int       `json:"used"`
	Ask     bool      `json:"ask"`
	Expires time.Time `json:"expires"`
	State   string    `json:"state"`            // open, used, revoked, expired
	Online  bool      `json:"online"`           // the relay has the bundle: the link works
	Member  bool      `json:"member,omitempty"` // it makes who has no relay a member of ours
	Note    string    `json:"note,omitempty"`   // why it does not, from NewInvite
}

// Preview is what a link leads to, before anything is committed.
type Preview struct {
	Link         string    `json:"link"`
	Name         string    `json:"name"` // what they call themselves; not proven
	Relay        string    `json:"relay"`
	RelayKey     string    `json:"relay_key"`     // fingerprint of its pinned key
	SafetyNumber string    `json:"safety_number"` // with us, 60 digits
	Expires      time.Time `json:"expires"`
	OneUse       bool      `json:"one_use"`
	Asks         bool      `json:"asks"`             // its maker will be asked
	Realm        bool      `json:"realm,omitempty"`  // it is a realm's: nobody invites, and the fields of a person are empty
	Member       bool      `json:"member,omitempty"` // accepting makes us a member of the relay's realm
}

// AcceptOptions accept an invite.
type AcceptOptions struct {
	Link string `json:"link"`
	Name string `json:"name,omitempty"` // our name for them
	Text string `json:"text,omitempty"` // first message, at most 900 bytes; 700 to somebody on another relay if ours wants tokens
	// Progress, if set, is told how it goes, in words for people, when this process
	// owns the profile.
	Progress func(string) `json:"-"`
}

// Status is the state of a profile.
type Status struct {
	Name      string `json:"name,omitempty"`
	Relay     string `json:"relay"`
	RelayKey  string `json:"relay_key"`
	Running   bool   `json:"running"`   // a process moves messages
	Connected bool   `json:"connected"` // and has its relay
	Trouble   string `json:"trouble,omitempty"`
	Proxy     string `json:"proxy,omitempty"`
	Waiting   int    `json:"waiting"`
	Unread    int    `json:"unread"`
	Requests  int    `json:"requests"`
	Contacts  int    `json:"contacts"`
	Groups    int    `json:"groups,omitempty"`

	// GroupsFailing are groups in which something cannot be done here, with the reason:
	// it is tried again, and no other group waits for it.
	GroupsFailing []string `json:"groups_failing,omitempty"`

	Silent   []string  `json:"silent,omitempty"` // contacts whose device does not answer just now
	Exposure string    `json:"exposure"`         // what the relay's operator could see, in one sentence
	Manifest time.Time `json:"manifest_until"`
	// Realms says of each relay that wants tokens what there is to pay it with.
	Realms []RealmTokens `json:"realms,omitempty"`

	Wake *WakeStatus `json:"wake,omitempty"` // nil: nothing wakes this device
}

// Check is one line of doctor.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"` // ok, warn, fail
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}
