package contact

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// InviteLife is how long an invite is open unless its maker says otherwise.
const InviteLife = 7 * 24 * time.Hour

// MaxInviteUses bounds how often one invite can be used.
const MaxInviteUses = 1000

// InviteOptions are what the maker of an invite decides.
type InviteOptions struct {
	Uses  uint16        // at least 1
	Ask   bool          // ask before accepting; always so when Uses > 1
	Life  time.Duration // at most 30 days, the longest a bundle is kept
	Label string        // for whom; stays here
	Name  string        // what the invited person sees as ours; may be empty
	// What it brings, for one use only: a realm invite, of which the relay keeps
	// EntryHash, and tokens for guests.
	Entry      *[invite.RealmInviteSize]byte
	EntryHash  [32]byte
	Guests     [][invite.GuestSize]byte
	GuestEpoch uint32
}

// NewInvite makes an invite with keys and a contact route of its own. The blob
// still has to be put on the relay: it is in the record's Sealed.
//
// spec: invite.md#bundle
func NewInvite(tx Tx, rand io.Reader, now time.Time, id *device.Identity, realm Realm, l uint16, o InviteOptions) (*InviteRecord, error) {
	var salt, capability [32]byte
	if _, err := io.ReadFull(rand, salt[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	if _, err := io.ReadFull(rand, capability[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	private, public, err := pqxdh.NewPrekeys(rand, id.Sign, o.Uses == 1)
	if err != nil {
		return nil, err
	}
	defer private.Wipe()
	seal, err := key.Generate[key.XWingRole](rand)
	if err != nil {
		return nil, err
	}
	defer seal.Wipe()
	route, offer, err := NewRoute(rand, now, realm, l)
	if err != nil {
		return nil, err
	}
	root := id.Manifest.Root
	link := invite.Link{Relay: realm.Name, Secret: invite.SecretOf(root, salt)}
	expires := now.Add(o.Life)
	ask := o.Ask || o.Uses > 1
	b := &invite.Bundle{
		Root: root, Salt: salt, Manifest: id.Manifest, Device: byte(id.Place(id.Manifest)), Prekeys: public, Seal: key.XWingPublicOf(seal), Route: *offer,
		Realm: realm.Pin, Suite: pqxdh.Suite, Expiry: uint64(expires.Unix()), Uses: o.Uses, Ask: ask, Name: o.Name,
		Membership: o.Entry, Guests: o.Guests, GuestEpoch: o.GuestEpoch,
	}
	sealed, err := invite.Seal(b, id.Sign, link, rand)
	if err != nil {
		return nil, fmt.Errorf("sealing bundle: %w", err)
	}
	r := &InviteRecord{
		Secret: link.Secret, Realm: realm, Capability: capability, Private: private.Append(nil), Public: public.Append(nil), Bundle: b.Hash(),
		Sealed: sealed, Seal: seal.Bytes(), Expires: expires.Unix(), Uses: o.Uses, Ask: ask, Label: o.Label, Manifest: id.Manifest.Append(nil),
		Suite: pqxdh.Suite,
	}
	if o.Entry != nil {
		r.Member, r.Entry = true, bytes.Clone(o.EntryHash[:])
	}
	if err := tx.PutInvite(r); err != nil {
		return nil, err
	}
	route.Invite = r.ID
	return r, tx.PutRoute(route)
}

// Link is what the maker hands over.
func (r *InviteRecord) Link() invite.Link {
	return invite.Link{Relay: r.Realm.Name, Secret: r.Secret}
}

// Open reports whether the invite can still be used at now.
func (r *InviteRecord) Open(now time.Time) bool {
	return !r.Gone && r.Used < r.Uses && now.Unix() < r.Expires
}

// Destroy ends an invite: its keys go at once. The contact route stays when
// keepRoute is set, so that the last hello can be answered again until its
// sender is known to have the answer.
func (r *InviteRecord) Destroy(tx Tx, keepRoute bool) error {
	clear(r.Private)
	clear(r.Seal)
	r.Private, r.Seal, r.Sealed = nil, nil, nil
	if !r.Gone {
		r.Gone, r.Delete = true, true
	}
	if !keepRoute {
		if err := r.closeRoute(tx); err != nil {
			return err
		}
	}
	return tx.PutInvite(r)
}

func (r *InviteRecord) closeRoute(tx Tx) error {
	routes, err := tx.RoutesOf(0)
	if err != nil {
		return err
	}
	for _, route := range routes {
		if route.Invite == r.ID {
			if err := tx.DeleteRoute(route.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
