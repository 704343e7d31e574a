// Package client is the SDK: one person's profile on one device. It joins the
// half of the client that sees plaintext (contacts, conversations) with the
// half that sees the network (outbox, inbox), over an encrypted vault.
//
// Open a profile, let Run move messages, Send and Follow. One process owns a
// profile at a time; other processes hand their work to it (ui/rpc). The
// package does not draw, parse commands or decide which network to use: the
// transport comes in as an Options field.
//
// Spec: docs/spec. What an observer can learn: docs/threat-model.md.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Errors that callers branch on. Others wrap what they name.
var (
	ErrExists        = errors.New("there is a profile in this directory already")
	ErrMissing       = errors.New("there is no profile in this directory")
	ErrPassphrase    = errors.New("wrong passphrase")
	ErrDamaged       = errors.New("the vault is damaged")
	ErrNewer         = errors.New("the vault was written by a newer version")
	ErrFull          = errors.New("the disk is full; nothing was changed")
	ErrLocked        = errors.New("another process owns this profile")
	ErrContact       = errors.New("no such contact")
	ErrName          = errors.New("that name is taken")
	ErrNoInvite      = errors.New("no such invite")
	ErrLink          = errors.New("this is not an invite link")
	ErrSeveral       = errors.New("there is more than one invite link in this text")
	ErrLinkTypo      = errors.New("the invite link has a typing error")
	ErrLinkNewer     = errors.New("the invite link is of a newer version")
	ErrLinkOlder     = errors.New("the invite link is of an older version, whose sessions are weaker")
	ErrUsed          = errors.New("used by another device, revoked or expired; ask for a new link")
	ErrForged        = errors.New("what the relay keeps for this link was not made by the link's maker")
	ErrRelayKey      = errors.New("the relay does not have the key that was pinned")
	ErrFronted       = errors.New("TLS to the relay ends in a program in front of it, which is weaker and was not allowed")
	ErrOwnInvite     = errors.New("this invite is your own")
	ErrKnown         = errors.New("you already have this contact")
	ErrStopped       = errors.New("sending to this contact is stopped until you decide")
	ErrNotYet        = errors.New("accept the request before you answer")
	ErrRefusedTo     = errors.New("nothing can be sent to this contact")
	ErrGone          = errors.New("no such message, or it is not waiting any more")
	ErrSent          = errors.New("too late: the message has left this device")
	ErrEmpty         = errors.New("the message is empty")
	ErrLong          = errors.New("the message is too long")
	ErrState         = errors.New("the contact is not in a state that allows this")
	ErrWords         = errors.New("these are not 24 valid recovery words")
	ErrNoRelay       = errors.New("no relay is set: accept an invite or name one")
	ErrNetwork       = errors.New("the relay cannot be reached")
	ErrForeign       = fmt.Errorf("%w: what answers in its place is no relay", ErrNetwork)
	ErrRealmUsed     = errors.New("the realm invite was used up, has expired or was taken back")
	ErrRealmShut     = errors.New("the realm takes no new members")
	ErrNeedInvite    = errors.New("the relay is for members, and this link does not make you one")
	ErrNoTokens      = errors.New("the relay wants tokens, and there is none to pay it with")
	ErrTokenKeys     = errors.New("the relay shows other keys for tokens than it should")
	ErrEndpoint      = errors.New("this is not a push endpoint that the gateway pushes to")
	ErrNoGateway     = errors.New("this relay is no wake gateway")
	ErrSameOperator  = errors.New("the gateway runs under the key of your own relay")
	ErrPushService   = errors.New("the push service was not reached or did not take the push")
	ErrNoWake        = errors.New("no push endpoint is set and proven")
	ErrGroup         = errors.New("no such group")
	ErrTwo           = errors.New("a person and a group are called so; write person:NAME or group:NAME")
	ErrNoMember      = errors.New("nobody of that name is in the group")
	ErrLeftGroup     = errors.New("you are not in this group any more")
	ErrEntering      = errors.New("this device is not in the group yet: another device of yours, or an admin's, lets it in once both were there")
	ErrRight         = errors.New("only an admin of the group can do that")
	ErrAsk           = errors.New("the group asks you something first: see `tacet group show`")
	ErrNoGroupChange = errors.New("the change would change nothing, or leave the group without an admin")
	ErrGroupFull     = errors.New("there is no room for that in the group now")
	ErrNoQuestion    = errors.New("the group asks nothing of that kind")
	ErrKeepGroup     = errors.New("a message to a group waits until everybody has it; it cannot end before")
	ErrPicture       = errors.New("this is no picture that can be used")
	ErrPictureAway   = errors.New("the group's picture has not come yet")
	ErrRunning       = errors.New("already running")
	ErrClosed        = errors.New("the profile was closed")
)

// Relay is what the client needs of a relay beside the transport contract.
// client/transport/relay implements it. What is not there is transport.ErrNothing.
type Relay interface {
	transport.Transport
	// Descriptor returns what the relay says of itself, checked against the pin.
	Descriptor(ctx context.Context) (wire.Descriptor, error)
	// PutBlob also returns the receipt of what lies there, with an error, where it
	// is another content.
	PutBlob(ctx context.Context, p *wire.BlobPut) (wire.Receipt, error)
	GetBlob(ctx context.Context, id wire.BlobID) ([]byte, error)
	// GetSlot returns what lies at a slot with its receipt; once the content is
	// gone, the receipt alone with transport.ErrNothing. Without a receipt nothing
	// ever lay there, as the relay says.
	GetSlot(ctx context.Context, id wire.BlobID) ([]byte, *wire.Receipt, error)
	DeleteBlob(ctx context.Context, id wire.BlobID, capability [32]byte) error
	// Park has cells kept for somebody who is away, Take takes what was kept for
	// us. Of a relay that does not park both fail with transport.ErrNothing.
	Park(ctx context.Context, p transport.Park) ([]transport.Kept, error)
	Take(ctx context.Context, t transport.Take) error
}

// Network reaches relays. client/transport/relay has one, direct or by a proxy.
type Network interface {
	// Open returns a Relay whose realm key has the SHA-256 pin. The type is
	// wider so that a network need not import this package.
	Open(name string, pin [32]byte) (transport.Transport, error)
	// Identify asks a relay for its realm key and returns its SHA-256, unproven.
	Identify(ctx context.Context, name string) (pin [32]byte, err error)
	// FetchUnpinned gets one blob from a relay whose key is not known yet, and
	// the SHA-256 of the key that it showed: the caller compares it with what
	// the blob itself says.
	FetchUnpinned(ctx context.Context, name string, id wire.BlobID) (blob []byte, pin [32]byte, err error)
	// Proxy says how relays are reached, for people: empty when directly.
	Proxy() string
}

// Options says where a profile is and how it reaches the network.
type Options struct {
	Dir        string
	Passphrase []byte
	Network    Network   // nil: offline, for reading only
	Rand       io.Reader // nil: crypto/rand
	// WeakVault makes the passphrase cheap to check, for tests and the lab.
	WeakVault bool
	// Boundary, if set, is called at every commit boundary with its name, from
	// the goroutine that crosses it. Crash tests kill the process there.
	Boundary func(name string)
	// AckMean is the mean delay of acks; zero means 5 s (the everyday preset), in
	// groups 120 s.
	AckMean time.Duration
	// Stock is within which time contacts are given key packages ahead, so that they can
	// add this device to groups while it is away: about 15 cells a contact, and again in
	// two months. Zero: only who asks gets some. Below zero: at once.
	Stock time.Duration
	// Spread is over how long this device spreads changes of groups that it commits, so
	// that members seldom race; zero means 30 s, below zero none waits.
	Spread time.Duration
	// Park is how long what waits for a contact may be kept at their relay while
	// they are away; zero means 7 days (the everyday preset), below zero nothing
	// is. Hellos are kept until their invite ends.
	Park time.Duration
	// Brief says that the process ends soon: what nobody takes is parked at once
	// and not after a minute.
	Brief bool

	localHosts []netip.Addr // in place of this machine's own on private networks; for tests
}

// Commit boundaries, for Options.Boundary.
const (
	BoundarySendCommitted   = "send: committed"   // event, ratchet and sealed bytes are in the vault; nothing left
	BoundaryOfferSealed     = "offer: sealed"     // a cell is about to be put
	BoundaryOfferAnswered   = "offer: answered"   // the relay answered; not noted yet
	BoundaryOfferNoted      = "offer: noted"      // the state is in the vault
	BoundaryCellArrived     = "cell: arrived"     // before anything was opened
	BoundaryCellCommitted   = "cell: committed"   // opened, ratchet and event committed; not echoed
	BoundaryAckSealed       = "ack: sealed"       // the ack is sealed and committed; not put
	BoundaryAckPut          = "ack: put"          // the ack left
	BoundaryRowRemoved      = "row: removed"      // the peer's ack was committed; the outbox was not told
	BoundaryInviteCommitted = "invite: committed" // the bundle is in the vault; not at the relay
	BoundaryHelloCommitted  = "hello: committed"  // a hello is in the outbox
	BoundaryParkSealed      = "park: sealed"      // cells are about to be parked
	BoundaryParkAnswered    = "park: answered"    // the relay keeps them; not noted yet
	BoundaryParkNoted       = "park: noted"       // the vault knows until when
	BoundaryTakenArrived    = "taken: arrived"    // a parked cell came; nothing was opened
	BoundaryTakenCommitted  = "taken: committed"  // opened and committed; the relay still has it

	BoundaryGroupCommitted = "group: committed" // what a group wants done is in the vault; nothing of it left
	BoundaryGroupPut       = "group: put"       // a copy that is no row left
	BoundarySlotAsked      = "slot: asked"      // a slot is about to be read or put
	BoundarySlotAnswered   = "slot: answered"   // the realm answered; not committed
	BoundarySlotCommitted  = "slot: committed"  // what the answer means is in the vault

	BoundaryTokenTaken   = purse.BoundaryTaken  // a token is out of the vault; not presented
	BoundaryBatchAsked   = purse.BoundaryAsked  // a batch's seed is in the vault; the request was not made
	BoundaryBatchStored  = purse.BoundaryStored // a batch's tokens are in the vault
	BoundaryMemberJoined = purse.BoundaryJoined // a membership is in the vault
)

// Commit boundaries of a link, on the device that offers and on the one that joins.
const (
	BoundaryLinkOffered  = "link: offered"  // the offer is in the vault; not at the relay
	BoundaryLinkAnswered = "link: answered" // the answer was taken; the reveal was not put
	BoundaryLinkBegun    = "link: begun"    // the digits were right; nothing of the pack left
	BoundaryLinkPiece    = "link: piece"    // a piece is in the vault; it did not leave
	BoundaryLinkAdmitted = "link: admitted" // the new device is in the manifest, and does not know
	BoundaryLinkDone     = "link: done"     // the new device works; who waits was not told
	BoundaryJoinBegun    = "join: begun"    // the offer is in the vault that is made; nothing was said
	BoundaryJoinAnswered = "join: answered" // the answer is in the vault; not at the relay
	BoundaryJoinAgreed   = "join: agreed"   // there is a session
	BoundaryJoinPiece    = "join: piece"    // a message was taken; nothing was said of it
	BoundaryJoinLinked   = "join: linked"   // it is a profile
)

// LinkBoundaries lists the commit boundaries of a link.
func LinkBoundaries() []string {
	return []string{BoundaryLinkOffered, BoundaryLinkAnswered, BoundaryLinkBegun, BoundaryLinkPiece, BoundaryLinkAdmitted, BoundaryLinkDone,
		BoundaryJoinBegun, BoundaryJoinAnswered, BoundaryJoinAgreed, BoundaryJoinPiece, BoundaryJoinLinked}
}

// Boundaries lists all commit boundaries but those of a link.
func Boundaries() []string {
	return []string{BoundarySendCommitted, BoundaryOfferSealed, BoundaryOfferAnswered, BoundaryOfferNoted, BoundaryCellArrived,
		BoundaryCellCommitted, BoundaryAckSealed, BoundaryAckPut, BoundaryRowRemoved, BoundaryInviteCommitted, BoundaryHelloCommitted,
		BoundaryParkSealed, BoundaryParkAnswered, BoundaryParkNoted, BoundaryTakenArrived, BoundaryTakenCommitted,
		BoundaryGroupCommitted, BoundaryGroupPut, BoundarySlotAsked, BoundarySlotAnswered, BoundarySlotCommitted,
		BoundaryTokenTaken, BoundaryBatchAsked, BoundaryBatchStored, BoundaryMemberJoined}
}

func (o *Options) rand() io.Reader {
	if o.Rand != nil {
		return o.Rand
	}
	return rand.Reader
}

func (o *Options) at(name string) {
	if o.Boundary != nil {
		o.Boundary(name)
	}
}
