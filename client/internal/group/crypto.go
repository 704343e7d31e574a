package group

import (
	"errors"
	"io"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Errors of a Crypto that the engine branches on.
var (
	// ErrOwn: a message that this member made itself.
	ErrOwn = errors.New("own message of a group")
	// ErrUsed: a message whose key was used: it was opened before.
	ErrUsed = errors.New("message of a group was opened before")
	// ErrPath: a commit that is good as far as all can see, and has nothing for this
	// member: it cannot follow.
	ErrPath = errors.New("change of a group has nothing for this device")
	// ErrNotForUs: a Welcome that has no part for the key package.
	ErrNotForUs = errors.New("welcome is for others")
	// ErrForeign: a group, or a message, of another make.
	ErrForeign = errors.New("not of our groups")
	// ErrLong: more than fits into one message, or less than it takes.
	ErrLong = errors.New("message is too long")
)

// Crypto is what the engine needs of MLS (RFC 9420). realMLS is internal/mls; the
// exhaustive explorer has an abstract one, of hash chains, that obeys the same
// rules: who lacks an epoch opens nothing of it, a commit is processed from the
// epoch it was made in, one's own only from what was staged.
type Crypto interface {
	// Create makes a group of one in epoch 0.
	Create(env Env, p CreateParams) (Tree, error)
	// Package makes a key package and its secrets, which are stored first.
	Package(env Env, s Suite, leaf LeafParams) (public, secrets []byte, err error)
	// PackageOf reads whose a key package is, and for which suite. The credential was
	// checked; whether the package is fresh, and its own signature, Stage checks.
	PackageOf(public []byte) (c *roster.Credential, route *roster.Route, s Suite, err error)
	// Join enters a group by a Welcome. ErrNotForUs: it has no part for the package.
	Join(env Env, welcome, tree, public, secrets []byte) (Tree, error)
	// IsCommit reports whether a message says of itself that it is a commit.
	IsCommit(message []byte) bool
	// Fixed and PastFixed read what the Fixed of a Tree and of a Past appended.
	Fixed(b []byte) (Fixed, error)
	PastFixed(b []byte) (Fixed, error)
	// Parse reads what Tree.Append wrote, ParsePast what Past.Append wrote; f is what
	// was fixed of the same epoch.
	Parse(f Fixed, b []byte) (Tree, error)
	ParsePast(f Fixed, b []byte) (Past, error)
}

// Fixed is what is not secret of a Tree or a Past, and does not change with messages. It
// is nearly all of it: it is written once, read once, and shared.
type Fixed interface {
	Append(b []byte) []byte
}

// Suite is a cipher suite of MLS.
type Suite uint16

// Suites that groups use.
const (
	SuiteHybrid  Suite = 0xf71a // X-Wing
	SuiteClassic Suite = 3      // X25519, ChaCha20-Poly1305, Ed25519
)

// Env is what a call needs from outside.
type Env struct {
	Now  time.Time
	Rand io.Reader
}

// CreateParams is what a group begins with.
type CreateParams struct {
	ID    ID
	Suite Suite
	Leaf  LeafParams
	State []byte // roster.State
}

// LeafParams is what an own leaf says. Its signature key is made with it.
type LeafParams struct {
	Device   key.Sign
	Entry    roster.Entry // membership: random, or that of the leaf in whose place this is
	Times    uint32       // of a request to be added again: later ones are higher
	For      ID           // the group that it is for; zeros: none
	Manifest []byte
	Route    *roster.Route
}

// Member is a leaf as the engine sees it.
type Member struct {
	roster.Leaf
	Credential *roster.Credential
	Route      *roster.Route
}

// Tree is one member's view of one epoch. It is for one goroutine and one
// transaction: what is to last is stored by Append.
type Tree interface {
	ID() ID
	Epoch() uint64
	Suite() Suite
	Self() uint32
	State() []byte                     // roster.State
	Members() []Member                 // by index
	Export(label string, n int) []byte // of this epoch; nil after Close
	Close()                            // drops the exporter secret
	Authenticator() []byte             // equal at all members of the epoch
	Public() []byte                    // the ratchet tree, for who joins this epoch

	// Stage makes a commit of this epoch: state is that of the next, carried says
	// along with it (in the clear of the MLS message, signed).
	Stage(env Env, p StageParams) (*Staged, error)
	// Process opens an MLS message of this epoch: a commit, which is only staged, or
	// application data. Own messages fail with ErrOwn. Which of the two a message is
	// says IsCommit, from its head.
	Process(env Env, message []byte) (*Opened, error)
	// Merge enters the epoch of a staged commit, ours or another's, and returns what
	// is left of this epoch. The tree itself is then the next epoch's.
	Merge(s *Staged) (Past, error)
	// Seal encrypts application data for this epoch, padded so that the message has
	// exactly size bytes: 64 bytes of plain or more, at most size - SealOverhead. The tree is stored before
	// the message leaves.
	Seal(env Env, plain []byte, size int) ([]byte, error)
	Fixed() Fixed           // as it is now: Merge changes it
	Append(b []byte) []byte // the rest, which is secret
}

// Past opens and seals application data of an epoch that was left.
type Past interface {
	Process(env Env, message []byte) (*Opened, error)
	Seal(env Env, plain []byte, size int) ([]byte, error)
	Fixed() Fixed
	Append(b []byte) []byte // the rest, which is secret
}

// StageParams is what a commit does.
type StageParams struct {
	State   []byte   // nil: as it is
	Add     [][]byte // key packages
	Remove  []uint32
	Carried []byte      // wishes
	Leaf    *LeafParams // another credential or route for the own leaf; nil: as it is
}

// Staged is a commit that leads to a next epoch.
type Staged struct {
	Commit  []byte // MLS message; of own ones
	Welcome []byte // for who is added; nil: nobody is
	Tree    []byte // the ratchet tree for them, aside
	Carried []byte
	Maker   uint32
	State   []byte // of the next epoch
	Add     [][]byte
	Remove  []uint32
	// Others says whether the commit holds anything else (proposals by reference,
	// pre-shared keys, updates, another kind of state): such a commit is refused.
	Others bool
	Stored []byte // what Unstage reads: kept with the own commit, so that a crash loses nothing
	Handle any    // the implementation's
}

// Opened is what an MLS message said.
type Opened struct {
	From   uint32
	Plain  []byte  // of application data
	Staged *Staged // of a commit
}

// Unstager is a Tree that reads Staged.Stored again.
type Unstager interface {
	Unstage(stored []byte) (*Staged, error)
}
