package client

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
)

// Device is a device of ours.
type Device struct {
	Number  int       `json:"number"` // place in the list, from 1
	Name    string    `json:"name,omitempty"`
	Key     string    `json:"key"` // its name to others: public signing key, hex
	This    bool      `json:"this"`
	Root    bool      `json:"root"` // holds the root; known of this device only
	Revoked bool      `json:"revoked,omitempty"`
	Heard   time.Time `json:"heard,omitzero"` // day of the newest message of its own; zero: never
}

// keyDevice begins the key of the shared entry in which our name for a device of
// ours is kept.
//
// spec: content.md#between-own-devices
const keyDevice = 'g'

func deviceKey(sign key.SignPublic) []byte { return append([]byte{keyDevice}, sign[:]...) }

// nameDevice sets our name for a device of ours.
func (c *Client) nameDevice(tx vault.Store, now time.Time, sign key.SignPublic, name string, ch *convo.Change) error {
	more, err := c.engine.Agree(tx, now, deviceKey(sign), []byte(contact.CleanName(name)))
	if err != nil {
		return err
	}
	ch.Added = append(ch.Added, more.Added...)
	return nil
}

// Devices returns our devices, those that were revoked last.
func (c *Client) Devices(ctx context.Context) (all []Device, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		all, err = c.devices(vault.Store{Tx: tx})
		return err
	})
	return all, vaultError(err)
}

func (c *Client) devices(tx vault.Store) (all []Device, err error) {
	id := c.engine.Self
	var gone []Device
	for i, d := range id.Manifest.Devices {
		one := Device{Number: i + 1, Key: hex.EncodeToString(d.Sign[:]), This: d.Sign == id.Name(), Revoked: d.Revoked}
		one.Root = one.This && id.HasRoot()
		name, err := c.engine.AgreedOn(tx, deviceKey(d.Sign))
		if err != nil {
			return nil, err
		}
		one.Name = contact.CleanName(string(name))
		if r, err := tx.DeviceOf(id.Manifest.Root, d.Sign); err == nil {
			if one.Heard, err = lastHeard(tx, r.ID); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, contact.ErrUnknown) {
			return nil, err
		}
		if d.Revoked {
			gone = append(gone, one)
		} else {
			all = append(all, one)
		}
	}
	return append(all, gone...), nil
}

// lastHeard returns the day on which the newest session with a device was last
// known to be alive.
func lastHeard(tx vault.Store, id int64) (day time.Time, err error) {
	sessions, err := tx.SessionsOf(id)
	for _, s := range sessions {
		if at := time.Unix(s.Born, 0).UTC().Truncate(24 * time.Hour); s.Highest > 0 && at.After(day) {
			day = at
		}
	}
	return day, err
}

// findDevice looks a device of ours up by its name, its number or the beginning of
// its key.
func findDevice(all []Device, who string) (Device, error) {
	var found []Device
	n, numErr := strconv.Atoi(strings.TrimPrefix(who, "#"))
	for _, d := range all {
		switch {
		case numErr == nil && d.Number == n:
			return d, nil
		case d.Name != "" && contact.SameName(d.Name, who), len(who) >= 8 && strings.HasPrefix(d.Key, strings.ToLower(who)):
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return Device{}, ErrDevice
	}
	return found[0], nil
}

// RenameDevice gives a device of ours another name, on all our devices. Nobody else
// sees it.
func (c *Client) RenameDevice(ctx context.Context, who, name string) (out Device, err error) {
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		all, err := c.devices(tx)
		if err != nil {
			return nil, err
		}
		if out, err = findDevice(all, who); err != nil {
			return nil, err
		}
		out.Name = contact.CleanName(name)
		raw, err := hex.DecodeString(out.Key)
		if err != nil {
			return nil, err
		}
		ch := &convo.Change{}
		return ch, c.nameDevice(tx, now, key.SignPublic(raw), name, ch)
	})
	return out, err
}

// RevokeDevice takes a device of ours off the list, for good: everybody stops
// writing to it, and takes nothing from it, as soon as they hear. What it has it
// keeps. It fails with ErrNotRoot, ErrDevice and ErrThisDevice.
func (c *Client) RevokeDevice(ctx context.Context, who string) (out Device, err error) {
	if !c.engine.Self.HasRoot() {
		return out, ErrNotRoot
	}
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		all, err := c.devices(tx)
		if err != nil {
			return nil, err
		}
		if out, err = findDevice(all, who); err != nil {
			return nil, err
		}
		switch {
		case out.This:
			return nil, ErrThisDevice
		case out.Revoked:
			return nil, ErrDevice
		}
		m, err := c.engine.Self.Revoke(now, out.Number-1)
		if err != nil {
			return nil, err
		}
		out.Revoked = true
		return c.engine.Adopt(tx, now, m)
	})
	if err == nil {
		c.linker.revoked(ctx, out.Key)
		c.wake()
	}
	return out, err
}

// revoked ends a link to a device that was revoked before it said that it works.
func (l *linker) revoked(ctx context.Context, sign string) {
	s, err := l.load(ctx)
	if err == nil && s != nil && s.Phase == phaseAdmitted && hex.EncodeToString(s.Sign[:]) == sign {
		l.drop(ctx, s, Link{Stage: LinkEnded, Reason: "the device was revoked"})
		l.over()
	}
}
