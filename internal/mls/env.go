package mls

import (
	"io"
	"time"
)

// Env is what a call needs from outside.
type Env struct {
	Now  time.Time
	Rand io.Reader
	// Authenticate is the Authentication Service (RFC 9420, Section 5.3.1): it fails
	// if a credential does not go with a signature key. Required.
	Authenticate func(c Credential, signatureKey []byte) error
	// PSK finds external pre-shared keys, and resumption PSKs of other groups. What it
	// returns stays the caller's. It may be nil: there are none.
	PSK func(id PreSharedKeyID) (Secret, error)
}

// Framing says how a message is to be framed (RFC 9420, Section 6).
type Framing struct {
	AuthenticatedData []byte // travels in the open, but signed
	Padding           int    // zero bytes added inside of a PrivateMessage
	Public            bool   // a PublicMessage: proposals and commits only
}
