package contact

import (
	"github.com/tacet-chat/tacet/internal/key"
)

// The stores below are what this package needs of a transaction. Getters fail
// with the error named; Put* inserts when ID is zero and sets it.

// People keeps contacts.
type People interface {
	Contact(id int64) (*Record, error) // ErrUnknown
	ContactOf(root key.SignPublic) (*Record, error)
	Contacts() ([]*Record, error)
	PutContact(*Record) error
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
