package client

import (
	"context"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// What the relay's operator could see, told to people.
const (
	exposureDirect = "this relay's operator could see which network addresses talk; --proxy hides yours"
	exposureProxy  = "the relay sees the proxy's network address instead of yours, and when cells come and go"
	exposureNone   = "no relay yet: nothing leaves this device"
)

// Status tells the state of the profile.
func (c *Client) Status(ctx context.Context) (Status, error) {
	c.mu.Lock()
	st := Status{Name: c.profile.Name, Relay: c.profile.Realm.Name, Running: c.out != nil, Connected: c.linked, Trouble: c.trouble}
	if c.profile.Live != 0 {
		st.RelayKey = KeyText(c.profile.Realm.Pin)
	}
	out, in, live := c.out, c.in, c.profile.Live
	if c.failing != "" {
		st.Trouble = c.failing
	}
	c.mu.Unlock()
	if in != nil && in.TimeDoubted() {
		st.Trouble = doubtedTime
	}
	st.Exposure = exposureDirect
	if c.opt.Network != nil && c.opt.Network.Proxy() != "" {
		st.Exposure, st.Proxy = exposureProxy, c.opt.Network.Proxy()
	}
	if live == 0 {
		st.Exposure = exposureNone
	}
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		// The engine changes in transactions only.
		st.Manifest = time.Unix(int64(c.engine.Self.Manifest.NotAfter), 0)
		s := vault.Store{Tx: tx}
		people, err := s.Contacts()
		if err != nil {
			return err
		}
		st.Requests, st.Contacts, st.Silent, st.Unread = 0, 0, nil, 0
		for _, r := range people {
			unread, err := s.Unread(r.ID, r.Read)
			if err != nil {
				return err
			}
			st.Unread += unread
			switch r.State {
			case contact.Request:
				st.Requests++
			case contact.Accepted, contact.Pending:
				st.Contacts++
				devices, err := s.DevicesOf(r.ID)
				if err != nil {
					return err
				}
				// Somebody is silent while none of their devices answers.
				if out != nil && len(devices) > 0 && !slices.ContainsFunc(devices, func(d *contact.Record) bool { return !out.Status(d.ID).Silent }) {
					st.Silent = append(st.Silent, r.Name)
				}
			}
		}
		if st.Waiting, err = s.WaitingRows(0); err != nil {
			return err
		}
		if err := c.groups.count(s, &st); err != nil {
			return err
		}
		if st.Wake, err = wakeStatus(tx); err != nil {
			return err
		}
		return nil
	})
	if err == nil {
		st.Realms, err = c.tokens(ctx)
	}
	return st, vaultError(err)
}

// ChangePassphrase seals the vault's key under another passphrase. It fails
// with ErrPassphrase if old is wrong.
func (c *Client) ChangePassphrase(_ context.Context, old, next []byte) error {
	return vaultError(c.vault.ChangePassphrase(old, next))
}
