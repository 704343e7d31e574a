package relay

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// Problem is an error together with what to do about it.
type Problem struct {
	Err  error
	Hint string // one sentence, to the operator
}

// Error says what happened.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the error itself.
func (p *Problem) Unwrap() error { return p.Err }

// Errors that callers branch on.
var (
	// ErrLocked: another relay runs on the data directory.
	ErrLocked = errors.New("another relay runs on this data directory")
	// ErrOpen: others on this machine could read what is to be secret.
	ErrOpen = errors.New("is open to other users")
	// ErrRealmKey: the file of the realm key is not one.
	ErrRealmKey = errors.New("realm key is damaged")
	// ErrNotRunning: no relay runs on the data directory.
	ErrNotRunning = errors.New("no relay runs on this data directory")
	// ErrDamaged: the blob store is not what it was.
	ErrDamaged = sqlite.ErrDamaged
	// ErrForeign: the file of the blob store is something else.
	ErrForeign = sqlite.ErrForeign
	// ErrNewer: a newer version wrote it.
	ErrNewer = errors.New("a newer version wrote it")
	// ErrOlder: an older version wrote it, and it was not brought to this one.
	ErrOlder = sqlite.ErrOlder
	// ErrHalf: a restore into the data directory was broken off.
	ErrHalf = errors.New("a backup was restored here by half")
	// ErrFull: the disk or the room for blobs is full.
	ErrFull = blob.ErrFull
)

// advise turns an error of the file system or the network into a Problem.
func advise(err error, dir string) error {
	var p *Problem
	switch {
	case err == nil || errors.As(err, &p):
		return err
	case errors.Is(err, ErrDamaged):
		return &Problem{err, "move blobs.db and its companions out of " + dir + ": the relay then starts with an empty store and a new receipt key, and says so to its clients"}
	case errors.Is(err, sqlite.ErrNewer):
		return &Problem{err, "install the version of tacet-relay that ran here last, or a newer one; nothing in " + dir + " was changed"}
	case errors.Is(err, ErrOlder):
		return &Problem{err, "`tacet-relay migrate " + dir + "` brings it to this version"}
	case errors.Is(err, ErrForeign):
		return &Problem{err, "a file in " + dir + " belongs to another program: use another data directory"}
	case errors.Is(err, ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Problem{err, "the disk of " + dir + " is full: free some space and start again"}
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return &Problem{err, "the relay must be able to write to " + dir + ": give it to this user, or choose another with --data"}
	case errors.Is(err, syscall.EADDRINUSE):
		return &Problem{err, "another program listens there: stop it, or choose another address with --listen"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &Problem{err, "this machine does not have that address: look at `ip addr`, or listen on \":7117\""}
	}
	return err
}

// cause puts an error into one of a few words that may be logged.
func cause(err error) string {
	switch {
	case errors.Is(err, ErrFull), errors.Is(err, park.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "full"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "read-only"
	case errors.Is(err, ErrDamaged):
		return "damaged"
	case errors.Is(err, gate.ErrAway):
		return "away"
	}
	return "other"
}
