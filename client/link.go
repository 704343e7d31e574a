package client

import (
	"context"
	"errors"
	"time"
)

// Errors of linking and of devices.
var (
	ErrCode       = errors.New("this is not a code for linking a device, or it has a typing error")
	ErrCodeNewer  = errors.New("the code is of a newer version")
	ErrCodeUsed   = errors.New("somebody else used this code")
	ErrCodeOver   = errors.New("the code is over: its ten minutes have passed, or it was taken back there")
	ErrNoLink     = errors.New("no device is being linked")
	ErrLinking    = errors.New("a device is being linked already")
	ErrDigits     = errors.New("these are not the digits that the new device shows")
	ErrNotRoot    = errors.New("this device does not hold the root: only the one that does can link or revoke devices")
	ErrUnlinked   = errors.New("this profile is still being linked to another device")
	ErrGivenUp    = errors.New("the other device has given the link up")
	ErrLinkLate   = errors.New("the link was not done within a day")
	ErrPack       = errors.New("what the other device sent is not well-formed")
	ErrDevices    = errors.New("there are eight devices already, which is the most")
	ErrDevice     = errors.New("no such device")
	ErrThisDevice = errors.New("this is the device itself")
)

// LinkOptions are for StartLink.
type LinkOptions struct {
	// RelayOnly does not listen on the local network: everything goes by the relay.
	RelayOnly bool `json:"relay_only,omitempty"`
}

// LinkStage says how far a link is, on the device that offers.
type LinkStage string

// Stages, in their order. After Linked or Ended there is none any more.
const (
	LinkNone    LinkStage = "none"
	LinkOffered LinkStage = "offered"  // the code is shown
	LinkCompare LinkStage = "compare"  // a device answered: its person types its digits here
	LinkSending LinkStage = "sending"  // the pack goes over
	LinkAdmit   LinkStage = "admitted" // the device is on the list; it has not said yet that it works
	LinkDone    LinkStage = "linked"
	LinkEnded   LinkStage = "ended" // given up; Reason says why
)

// Link is the device that is being linked, or the last one that was since this
// process began.
type Link struct {
	Version int64     `json:"version"` // grows with every change: for AwaitLink
	Stage   LinkStage `json:"stage"`
	Code    string    `json:"code,omitempty"`   // while Stage is LinkOffered
	Online  bool      `json:"online,omitempty"` // the relay has the offer: the code works
	Expires time.Time `json:"expires,omitzero"`
	Device  string    `json:"device,omitempty"` // what its person calls the new device
	Tries   int       `json:"tries,omitempty"`  // left for the digits
	Rows    uint64    `json:"rows,omitempty"`   // made ready to go, of Total
	Total   uint64    `json:"total,omitempty"`
	Sent    int       `json:"sent,omitempty"` // pieces that the new device has
	Way     string    `json:"way,omitempty"`  // "relay" or "network"
	Reason  string    `json:"reason,omitempty"`
	Trouble string    `json:"trouble,omitempty"` // why it does not go on just now
}

// StartLink makes a code for linking another device, good for ten minutes and for
// one use. It fails with ErrNotRoot, ErrLinking, ErrDevices, ErrNoRelay, and with
// ErrRealmShut where the relay would not take the new device as a member. A process
// must run (Run) until the link is done.
func (c *Client) StartLink(ctx context.Context, o LinkOptions) (Link, error) {
	return c.linker.start(ctx, o)
}

// LinkState returns how far the link is.
func (c *Client) LinkState(ctx context.Context) (Link, error) { return c.linker.state(ctx) }

// AwaitLink returns when the link has changed since the state of that version, or
// ctx ends.
func (c *Client) AwaitLink(ctx context.Context, seen int64) (Link, error) {
	for {
		changed := c.linker.changes()
		l, err := c.linker.state(ctx)
		if err != nil || l.Version != seen {
			return l, err
		}
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-changed:
		}
	}
}

// ConfirmLink says the digits that the new device shows, as a person typed them.
// Right ones let the pack go over: everything that this profile has, and the right
// to speak as its person. It fails with ErrDigits; after three wrong tries the link
// is given up.
func (c *Client) ConfirmLink(ctx context.Context, digits string) (Link, error) {
	err := c.linker.confirm(ctx, digits)
	l, stateErr := c.linker.state(ctx)
	return l, errors.Join(err, stateErr)
}

// CancelLink gives the link up. Nothing of it is left, unless the device is on the
// list already: then it is revoked by RevokeDevice.
func (c *Client) CancelLink(ctx context.Context) error { return c.linker.cancel(ctx) }
