package mls

import (
	"io"
	"time"
)

// Env is what a call needs from outside.
type Env struct {
	// Now is what the lifetimes of key packages are checked against.
	Now time.Time
	// Late says that a commit may have been made long before Now: lifetimes of what
	// others sent are not checked (RFC 9420, Section 7.3 recommends the check, and a
	// member who reads a commit late has to come to the same epoch as all others).
	// What this device itself adds is checked always.
	Late bool
	// Rand is where keys and nonces come from.
	Rand io.Reader
	// Authenticate is the Authentication Service (RFC 9420, Section 5.3.1): whether a
	// credential is true, and goes with a signature key. It is required, and asked
	// about every credential that comes into a group. Its error is returned as it is.
	Authenticate func(c Credential, signatureKey []byte) error
	// Successor says whether a member may go from one credential to another (RFC 9420,
	// Section 5.3.1). If it is nil a credential never changes.
	Successor func(old, next Credential) error
	// PSK gives external pre-shared keys, and resumption keys of other groups (RFC
	// 9420, Section 8.4); it fails with ErrMissingPSK. What it returns stays its own.
	// It may be nil.
	PSK func(id PreSharedKeyID) (Secret, error)
}

// successor checks a change of credential.
func (e Env) successor(old, next Credential) error {
	switch {
	case old.equal(next):
		return nil
	case e.Successor == nil:
		return invalid("5.3.1", "credential of a member changed")
	}
	return e.Successor(old, next)
}

// Framing says how a message is sent.
type Framing struct {
	AuthenticatedData []byte // sent along in the clear, and signed
	Padding           int    // zero bytes added inside of a PrivateMessage
	Public            bool   // a PublicMessage: signed, not encrypted
}

// LeafParams is what a new leaf node is made of.
type LeafParams struct {
	Suite        Suite
	Credential   Credential
	Signer       Secret       // private half of the signature key; copied
	Capabilities Capabilities // DefaultCapabilities for the zero value
	Extensions   []Extension
	Lifetime     Lifetime
}

// LeafChange is what is to be new in one's own leaf; what is absent stays. The
// encryption key changes always.
type LeafChange struct {
	Signer       Secret // private half of another signature key; copied
	Credential   *Credential
	Capabilities *Capabilities
	Extensions   []Extension // nil: as they are
}

// empty reports whether nothing is to change.
func (c LeafChange) empty() bool {
	return !c.Signer.Valid() && c.Credential == nil && c.Capabilities == nil && c.Extensions == nil
}

// Values without meaning that are listed among the capabilities, so that nobody
// comes to rely on lists of known ones (RFC 9420, Section 13.5).
const (
	greaseSuite      Suite          = 0x3a3a
	greaseExtension  ExtensionType  = 0x5a5a
	greaseProposal   ProposalType   = 0x7a7a
	greaseCredential CredentialType = 0x9a9a
)

// DefaultCapabilities is what this package can do.
func DefaultCapabilities() Capabilities {
	return Capabilities{
		Versions:    []uint16{Version},
		Suites:      append(Suites(), greaseSuite),
		Extensions:  []ExtensionType{greaseExtension},
		Proposals:   []ProposalType{greaseProposal},
		Credentials: []CredentialType{CredentialBasic, CredentialX509, greaseCredential},
	}
}
