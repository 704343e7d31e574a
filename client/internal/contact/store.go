package contact

import (
	"github.com/tacet-chat/tacet/internal/key"
)

// The stores below are what this package needs of a transaction. Getters fail
// with the error named; Put* inserts when ID is zero and sets it.

// People keeps contacts and their devices.
type People interface {
	Contact(id int64) (*Record, error) // of a person or a device; ErrUnknown
	// ContactOf finds the record that stands for a person, or fails with ErrUnknown.
	ContactOf(root key.SignPublic) (*Record, error)
	// Contacts returns the records that stand for people, in the order they were met.
	Contacts() ([]*Record, error)
	// DevicesOf returns the records of a person's devices, the person's own record
	// first unless it is Gone.
	DevicesOf(person int64) ([]*Record, error)
	// DeviceOf finds a device of a root by its name, one of ours too, or fails with
	// ErrUnknown.
	DeviceOf(root, sign key.SignPublic) (*Record, error)
	// OwnDevices returns the records of our other devices.
	OwnDevices() ([]*Record, error)
	// Devices returns every record there is, of people, their devices and ours.
	Devices() ([]*Record, error)
	PutContact(*Record) error
	DeleteContact(id int64) error
}

// Routes keeps routes.
type Routes interface {
	Route(id int64) (*RouteRecord, error) // ErrUnknown
	RoutesOf(contact int64) ([]*RouteRecord, error)
	PutRoute(*RouteRecord) error
	DeleteRoute(id int64) error
}

// Sessions keeps pair sessions.
type Sessions interface {
	SessionsOf(contact int64) ([]*SessionRecord, error)
	PutSession(*SessionRecord) error
	DeleteSession(id int64) error
}

// Invites keeps invites of ours.
type Invites interface {
	Invite(id int64) (*InviteRecord, error) // ErrInvite
	Invites() ([]*InviteRecord, error)
	PutInvite(*InviteRecord) error
	DeleteInvite(id int64) error
}

// Tx is one transaction over all of them.
type Tx interface {
	People
	Routes
	Sessions
	Invites
}
