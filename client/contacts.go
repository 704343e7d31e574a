package client

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// KeyText writes the SHA-256 of a relay's key for people, as the relay itself
// shows it: 64 hex digits.
func KeyText(pin [32]byte) string { return hex.EncodeToString(pin[:]) }

// ParseKeyText reads what KeyText wrote, in either case.
func ParseKeyText(s string) (pin [32]byte, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(pin) {
		return pin, false
	}
	return [32]byte(b), true
}

func hexID(m wire.MessageID) string { return hex.EncodeToString(m[:]) }

// matches reports whether who means the contact: our name for them in any case,
// or "#" and their number.
func matches(r *contact.Record, who string) bool {
	if n, ok := strings.CutPrefix(who, "#"); ok {
		id, err := strconv.ParseInt(n, 10, 64)
		return err == nil && id == r.ID
	}
	return contact.SameName(r.Name, who)
}

// stateNames are the states of a contact in the API.
var stateNames = map[contact.State]string{
	contact.Pending: "pending", contact.Request: "request", contact.Accepted: "accepted",
	contact.Declined: "declined", contact.Blocked: "blocked", contact.Failed: "failed",
}

// Contacts returns everybody, in the order they were met; requests are contacts
// whose state is "request".
func (c *Client) Contacts(ctx context.Context) (all []Contact, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		people, err := s.Contacts()
		all = nil
		for _, r := range people {
			if err != nil {
				break
			}
			if r.State == contact.Member {
				continue
			}
			var one Contact
			one, err = shownContact(s, r)
			all = append(all, one)
		}
		return err
	})
	return all, vaultError(err)
}

func (c *Client) contact(ctx context.Context, id int64) (out Contact, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		r, err := s.Contact(id)
		if err == nil {
			out, err = shownContact(s, r)
		}
		return err
	})
	return out, vaultError(err)
}

func shownContact(s vault.Store, r *contact.Record) (Contact, error) {
	devices, err := s.DevicesOf(r.ID)
	if err != nil {
		return Contact{}, err
	}
	waiting, err := waitingFor(s, devices)
	if err != nil {
		return Contact{}, err
	}
	unread, err := s.Unread(r.ID, r.Read)
	if err != nil {
		return Contact{}, err
	}
	c := Contact{ID: r.ID, Name: r.Name, Claimed: r.Claimed, State: stateNames[r.State], Verified: r.Verified, Relay: r.Realm.Name,
		Warning: r.Warning, Stopped: r.Stop, Waiting: waiting, Unread: unread, Since: time.Unix(r.Since, 0)}
	if len(devices) > 1 {
		c.Devices = len(devices)
	}
	if c.Addable, err = addable(s, r, devices); err != nil {
		return Contact{}, err
	}
	if c.Muted, c.Draft, err = convo.Kept(s, r.Root); err != nil {
		return Contact{}, err
	}
	return c, nil
}

// waitingFor counts what no device of a person has acked: messages that one of them
// has do not wait for the others any more.
func waitingFor(s vault.Store, devices []*contact.Record) (n int, err error) {
	if len(devices) == 1 {
		return s.WaitingRows(devices[0].ID)
	}
	for _, d := range devices {
		rows, err := s.RowsOf(d.ID)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if row.Event == 0 {
				continue
			}
			ev, err := s.Event(row.Event)
			if err != nil {
				return 0, err
			}
			if ev.State < convo.OnDevice {
				n++
			}
		}
	}
	return n, nil
}

// change finds a contact, changes it, and returns it as it is then.
func (c *Client) change(ctx context.Context, who string, f func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error)) (Contact, error) {
	var id int64
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		r, err := find(tx, who)
		if err != nil {
			return nil, err
		}
		id = r.ID
		return f(tx, now, r)
	})
	if err != nil {
		return Contact{}, err
	}
	return c.contact(ctx, id)
}

// Answer answers a request, blocks a contact, or lifts a stop.
func (c *Client) Answer(ctx context.Context, who string, a Answer) (Contact, error) {
	return c.change(ctx, who, func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error) {
		switch a {
		case AnswerAccept:
			return c.engine.Answer(tx, now, r.ID, convo.Accept)
		case AnswerDecline:
			return c.engine.Answer(tx, now, r.ID, convo.Decline)
		case AnswerBlock:
			return c.engine.Answer(tx, now, r.ID, convo.Block)
		case AnswerTrust:
			return c.engine.Trust(tx, now, r)
		}
		return nil, contact.ErrState
	})
}

// Rename gives a contact another name here.
func (c *Client) Rename(ctx context.Context, who, name string) (Contact, error) {
	return c.change(ctx, who, func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error) {
		return c.engine.Rename(tx, now, r, name)
	})
}

// SafetyNumber returns 60 digits over both roots, the same on both sides: who
// compares them over another way knows that nobody stands between.
func (c *Client) SafetyNumber(ctx context.Context, who string) (n string, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		r, err := find(vault.Store{Tx: tx}, who)
		if err == nil {
			n = manifest.SafetyNumber(c.root, r.Root)
		}
		return err
	})
	return n, vaultError(err)
}

// SetVerified notes that the safety numbers were compared, or takes that back.
func (c *Client) SetVerified(ctx context.Context, who string, verified bool) (Contact, error) {
	return c.change(ctx, who, func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error) {
		return c.engine.Verify(tx, now, r, verified)
	})
}

// SetMute says until when nobody is to be told that a contact wrote; the zero time
// ends it. All our devices agree on it.
func (c *Client) SetMute(ctx context.Context, who string, until time.Time) (Contact, error) {
	return c.change(ctx, who, func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error) {
		return c.engine.Mute(tx, now, r, until)
	})
}

// SetDraft keeps what is written to a contact and not sent yet, at most 16 KiB, on all
// our devices; empty forgets it. It fails with ErrLong for more.
func (c *Client) SetDraft(ctx context.Context, who, text string) (Contact, error) {
	return c.change(ctx, who, func(tx vault.Store, now time.Time, r *contact.Record) (*convo.Change, error) {
		return c.engine.Draft(tx, now, r, text)
	})
}
