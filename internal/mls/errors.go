package mls

import (
	"errors"
	"fmt"
)

// What a caller can do about an error is said by one of these, found by errors.Is.
// A failed call changed nothing, unless its comment says otherwise.
var (
	// ErrMalformed is for bytes that are no encoding of what was expected. Nothing
	// makes them good: drop them.
	ErrMalformed = errors.New("malformed")
	// ErrInvalid is for what is well formed and breaks a rule of RFC 9420. Drop it;
	// its sender is faulty or hostile.
	ErrInvalid = errors.New("not valid")
	// ErrUnsupported is for a version, suite, credential, proposal or extension that
	// this program does not have, or that a member of the group lacks.
	ErrUnsupported = errors.New("not supported")
	// ErrDecrypt is the one error of a ciphertext that does not open.
	ErrDecrypt = errors.New("does not open")
	// ErrUsed is for a message whose key was used and deleted: a duplicate, or one
	// that came after the bounds on kept keys. Drop it.
	ErrUsed = errors.New("key was used")
	// ErrTooFar is for a message further ahead in its sender's ratchet than
	// MaxForward. Nothing before it in between will be missed for less: drop it.
	ErrTooFar = errors.New("too far ahead")
	// ErrWrongGroup is for a message of another group: hand it to that one.
	ErrWrongGroup = errors.New("other group")
	// ErrPastEpoch is for a message of an epoch that this group has left: an older
	// clone or [PastEpoch] may open it.
	ErrPastEpoch = errors.New("past epoch")
	// ErrFutureEpoch is for a message of a later epoch: keep it until the commits
	// before it are merged.
	ErrFutureEpoch = errors.New("future epoch")
	// ErrMissingProposal is for a commit that refers to a proposal that was not
	// processed: get it, process it, then process the commit again.
	ErrMissingProposal = errors.New("proposal is missing")
	// ErrMissingPSK is for a pre-shared key that nobody here has: get it and try
	// again. The error is a [*PSKError], which names it.
	ErrMissingPSK = errors.New("pre-shared key is missing")
	// ErrPath is for a commit that is good as far as everybody can see, and whose path
	// secret is not good for this member: whoever made it, or let this member in, is
	// hostile or broken. Others may enter the epoch that it leads to; this member cannot.
	// It stays where it is, takes another commit, or joins anew.
	ErrPath = errors.New("path secret is not good for this member")
	// ErrOwn is for a message that this member made itself: nothing is to be done.
	// Its own commit is merged from what Stage returned.
	ErrOwn = errors.New("own message")
	// ErrStale is for a staged commit that belongs to another epoch or group than
	// the one it is merged into: another one was merged meanwhile.
	ErrStale = errors.New("staged for another epoch")
	// ErrRemoved is for a group that this device is no member of any more.
	ErrRemoved = errors.New("not a member any more")
	// ErrEnded is for a group that was reinitialised: it makes and takes nothing but
	// what leads to its successor (RFC 9420, Section 11.2).
	ErrEnded = errors.New("group was reinitialised")
	// ErrNotWelcome is for a Welcome that has no part for the key package given.
	ErrNotWelcome = errors.New("welcome is for others")
	// ErrState is for stored state that is damaged or of another version.
	ErrState = errors.New("stored state is damaged")
	// ErrTooMany is for a proposal that there is no room for in this epoch: commit, or
	// wait for a commit.
	ErrTooMany = errors.New("too many")
	// ErrArgument is for what our own caller asked and cannot be done, like the
	// removal of a member that does not exist.
	ErrArgument = errors.New("cannot be done")
)

// Error is an error with the section of RFC 9420 that it comes from.
type Error struct {
	Kind    error  // one of the sentinels above
	Section string // of RFC 9420, "" where it has none
	What    string // never holds secrets, identities or sizes
}

func (e *Error) Error() string {
	if e.Section == "" {
		return fmt.Sprintf("mls: %v: %s", e.Kind, e.What)
	}
	return fmt.Sprintf("mls: %v: %s (RFC 9420, Section %s)", e.Kind, e.What, e.Section)
}

func (e *Error) Unwrap() error { return e.Kind }

// fail makes an Error.
func fail(kind error, section, what string) error { return &Error{kind, section, what} }

func invalid(section, what string) error { return fail(ErrInvalid, section, what) }

// PSKError names the pre-shared key that is missing.
type PSKError struct{ ID PreSharedKeyID }

func (e *PSKError) Error() string { return "mls: " + ErrMissingPSK.Error() }
func (e *PSKError) Unwrap() error { return ErrMissingPSK }
