package gate

import (
	"context"
	"errors"
	"time"
)

// Errors of stores that callers branch on. An error that is none of them means
// that the store itself failed.
var (
	// ErrNoInvite: an invite is not known, used up, over its day or revoked.
	ErrNoInvite = errors.New("no such invite")
	// ErrLost: the store of spent tokens is not the one that Root spoke of: it
	// began anew, or has to. Nothing was done; Root says what holds now.
	ErrLost = errors.New("store of spent tokens began anew")
	// ErrFull: the store is at its bound, or the disk is full.
	ErrFull = errors.New("store is full")
	// ErrAway: a server that keeps the store for several nodes does not answer. It
	// is not known whether anything was changed; asking again does no harm. Stores
	// of blobs and of parked cells say so, too.
	ErrAway = errors.New("does not answer")
	// ErrStopped: the store does not run any more; nothing was changed.
	ErrStopped = errors.New("store has stopped")
)

// Day is a UTC day: Unix seconds / 86,400.
type Day uint32

// DayOf returns the day that t lies in.
func DayOf(t time.Time) Day { return Day(max(0, t.Unix()) / 86_400) }

// Invite is all that a store keeps of a realm invite.
type Invite struct {
	Hash [32]byte // of the secret
	Uses uint16   // that are left, at least 1
	Last Day      // on which it can be used
}

// Members keeps realm invites and the hashes of credentials, and nothing that
// joins the two. Its methods may be called from any goroutine; what they have
// changed survives whatever this store survives once they return.
type Members interface {
	// AddInvite adds an invite. If there is one with this hash nothing changes.
	AddInvite(ctx context.Context, i Invite) error
	// Join takes a use of the invite and adds a credential's hash; with the last
	// use the invite is gone. A credential that is there already takes no use,
	// whatever the invite. It fails with ErrNoInvite.
	Join(ctx context.Context, invite, credential [32]byte, today Day) error
	// Member reports whether the hash of a credential is there.
	Member(ctx context.Context, credential [32]byte) (bool, error)
	// Invites lists the invites that can be used today, in the order of their hashes.
	Invites(ctx context.Context, today Day) ([]Invite, error)
	// Revoke deletes an invite. It fails with ErrNoInvite.
	Revoke(ctx context.Context, hash [32]byte) error
	// Sweep deletes the invites that are over, and leaves no trace of them.
	Sweep(ctx context.Context, today Day) error
}

// Root is what all tokens of a realm hang on.
type Root struct {
	Seed  [32]byte // issuer keys are derived from it
	Key   [32]byte // the keys of all keyed hashes are
	Began Day      // rises with every new seed
}

// Mark is what is kept of something that may happen once: a token that is
// spent, a part that is issued. Both hashes are keyed.
type Mark struct {
	Until   Day    // it goes at the start of this day
	Root    Day    // Began of the root that keyed the hashes; 0: the one spoken of last
	Today   Day    // by the clock of who asks
	Hash    uint64 // of the thing
	Request uint64 // of what it was used for
}

// Verdict is what a store has to say about a Mark.
type Verdict byte

// Verdicts.
const (
	First Verdict = iota + 1 // it is kept now, and was not there
	Again                    // it was there with this Request
	Other                    // it was there with another Request, or it is not known with which
)

// Spent keeps marks, and the root that must not outlive them. Its methods may be
// called from any goroutine. Of any number of calls with one hash and day at most
// one gets First, wherever they are made, whatever fails between, and however the
// clocks go: the latest day by which marks were swept stands with the root, and
// what ends by that day is refused from then on.
//
// spec: gate.md#clocks
type Spent interface {
	// Root returns the root, which is made where there is none: with fresh
	// secrets and began. A store that lost any mark, or may have, makes a new one,
	// whose Began is higher than that of the root it had. So does one that was swept
	// by a clock that was Ahead of today. It deletes no member.
	Root(ctx context.Context, began, today Day) (Root, error)
	// Spend keeps a mark and returns once it is on disk. A store that several
	// nodes share may answer Again for the 120 s after First; any other answers
	// First or Other. It fails with ErrLost where marks were lost since Root, and
	// where the root is not that of the mark any more: another call may have asked
	// for the new one since the mark was made. A mark that would have been swept
	// already gets Other, or ErrLost where that clock was Ahead.
	Spend(ctx context.Context, m Mark) (Verdict, error)
	// Issue is Spend, but answers Again for as long as the mark is kept. Marks of
	// Issue and Spend never have the same hash.
	Issue(ctx context.Context, m Mark) (Verdict, error)
	// Sweep deletes the marks that are over, and leaves no trace of them. A store
	// with a clock of its own goes by the earlier of the two.
	Sweep(ctx context.Context, today Day) error
}

// Ahead reports whether marks were swept by a clock that was ahead: more than a
// day, so that tokens of today are among those that are refused.
func Ahead(swept, today Day) bool { return swept > today+1 }
