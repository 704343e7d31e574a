package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/fetch"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// MaxFirstText is the longest text that fits into a hello, in bytes.
const MaxFirstText = 900

// uploadWithin is how long making an invite waits for the relay: longer than it
// takes to find that it is mute.
const uploadWithin = 20 * time.Second

func capabilityHash(c [32]byte) [32]byte { return key.Hash(wire.LabelCapability, c[:]) }

// NewInvite makes an invite and puts its bundle on our relay. If the relay is
// away the invite is kept and its bundle goes as soon as a process runs: Online
// says whether the link works yet.
func (c *Client) NewInvite(ctx context.Context, o InviteOptions) (Invite, error) {
	p := c.home()
	if p.Live == 0 {
		return Invite{}, ErrNoRelay
	}
	if o.Uses == 0 {
		o.Uses = 1
	}
	if o.Life == 0 {
		o.Life = contact.InviteLife
	}
	if o.Uses < 1 || o.Uses > contact.MaxInviteUses || o.Life < time.Minute || o.Life > 30*24*time.Hour {
		return Invite{}, ErrState
	}
	st, err := c.purse.Stands(ctx, p.Realm.Pin)
	if err != nil {
		return Invite{}, vaultError(err)
	}
	carries := o.Uses == 1 && !o.Outside && st.Member && st.Gate == gateInvite
	inv, err := c.makeInvite(ctx, o, p, carries)
	if err != nil {
		return Invite{}, err
	}
	up, stop := context.WithTimeout(ctx, uploadWithin)
	defer stop()
	err = c.putBundle(up, inv)
	note := ""
	if len(inv.Entry) > 0 && (errors.Is(err, transport.ErrOutside) || errors.Is(err, transport.ErrLimit)) {
		note = "the realm gives members no more invites today"
		if errors.Is(err, transport.ErrOutside) {
			note = "the realm lets members invite nobody"
		}
		// Its bundle was not put anywhere yet, so nobody can have used it.
		if err := c.RevokeInvite(ctx, inv.ID); err != nil {
			return Invite{}, err
		}
		if inv, err = c.makeInvite(ctx, o, p, false); err != nil {
			return Invite{}, err
		}
		err = c.putBundle(up, inv)
	}
	if err == nil {
		inv.Sealed = nil
	}
	out := shownInvite(inv, time.Now())
	out.Note = note
	return out, nil
}

// makeInvite commits an invite. carries says whether who takes it becomes a member
// of our realm.
func (c *Client) makeInvite(ctx context.Context, o InviteOptions, p profile, carries bool) (inv *contact.InviteRecord, err error) {
	err = c.update(ctx, func(tx vault.Store, now time.Time) (_ *convo.Change, err error) {
		opt := contact.InviteOptions{Uses: uint16(o.Uses), Ask: o.Ask, Life: o.Life, Label: contact.CleanName(o.Label), Name: p.Name}
		if carries {
			opt.Entry = new([32]byte)
			if _, err := io.ReadFull(c.opt.rand(), opt.Entry[:]); err != nil {
				return nil, err
			}
			opt.EntryHash = purse.InviteHash(*opt.Entry)
		}
		if err := c.guestsFor(tx, &opt); err != nil {
			return nil, err
		}
		inv, err = contact.NewInvite(tx, c.opt.rand(), now, c.engine.Self, p.Realm, p.Live, opt)
		return &convo.Change{Routes: true}, err
	})
	if err == nil {
		c.opt.at(BoundaryInviteCommitted)
	}
	return inv, err
}

func shownInvite(r *contact.InviteRecord, now time.Time) Invite {
	i := Invite{ID: r.ID, Label: r.Label, Uses: int(r.Uses), Used: int(r.Used), Ask: r.Ask, Expires: time.Unix(r.Expires, 0), Online: len(r.Sealed) == 0, Member: r.Member}
	switch {
	case r.Open(now):
		i.State, i.Link = "open", r.Link().String()
	case r.Used >= r.Uses:
		i.State = "used"
	case now.Unix() >= r.Expires:
		i.State = "expired"
	default:
		i.State = "revoked"
	}
	i.Online = i.Online && i.State == "open"
	return i
}

// Invites returns our invites, oldest first.
func (c *Client) Invites(ctx context.Context) (all []Invite, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		records, err := (vault.Store{Tx: tx}).Invites()
		all = nil
		for _, r := range records {
			if r.Group {
				continue
			}
			all = append(all, shownInvite(r, time.Now()))
		}
		return err
	})
	return all, vaultError(err)
}

// RevokeInvite destroys an invite's keys at once and deletes its bundle when
// the relay can be reached.
func (c *Client) RevokeInvite(ctx context.Context, id int64) error {
	err := c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		inv, err := tx.Invite(id)
		if err != nil {
			return nil, err
		}
		return &convo.Change{Routes: true, Invites: true}, inv.Destroy(tx, false)
	})
	if err != nil {
		return err
	}
	up, stop := context.WithTimeout(ctx, uploadWithin)
	defer stop()
	c.blobs(up)
	return nil
}

// lookup fetches and checks what a link leads to. Nothing is committed.
func (c *Client) lookup(ctx context.Context, link string) (invite.Link, *invite.Bundle, error) {
	l, err := invite.ParseLink(link)
	if err != nil {
		return l, nil, vaultError(err)
	}
	blob, pin, err := c.bundle(ctx, l)
	if errors.Is(err, transport.ErrNothing) || errors.Is(err, fetch.ErrNotFound) {
		return l, nil, ErrUsed
	}
	if err != nil {
		return l, nil, networkError(err)
	}
	b, err := invite.Open(l, blob, time.Now())
	if err != nil {
		return l, nil, vaultError(err)
	}
	if b.Realm != pin {
		return l, nil, ErrRelayKey
	}
	return l, b, nil
}

// bundle gets the blob that a link names: from our relay under its pin, from
// any other one by the single fetch whose answer proves the key itself.
func (c *Client) bundle(ctx context.Context, l invite.Link) (blob []byte, pin [32]byte, err error) {
	if p := c.home(); p.Live != 0 && p.Realm.Name == l.Relay {
		r, err := c.realms.relay(p.Realm)
		if err != nil {
			return nil, pin, err
		}
		f := fetch.Fetcher{Source: r, Rand: c.opt.rand()}
		blob, err = f.Get(ctx, l.ID())
		return blob, p.Realm.Pin, err
	}
	if c.opt.Network == nil {
		return nil, pin, ErrNoRelay
	}
	return c.opt.Network.FetchUnpinned(ctx, l.Relay, l.ID())
}

// CheckLink says whether a text can be an invite link, without asking anybody:
// ErrLink, ErrLinkTypo or ErrLinkNewer if not.
func CheckLink(link string) error {
	if _, found, err := realmLink(link); found {
		return vaultError(err)
	}
	_, err := invite.ParseLink(link)
	return vaultError(err)
}

// Preview says what a link leads to. The relay sees that its bundle is read.
func (c *Client) Preview(ctx context.Context, link string) (Preview, error) {
	if l, found, err := realmLink(link); found {
		if err != nil {
			return Preview{}, vaultError(err)
		}
		return c.previewRealm(ctx, l)
	}
	l, b, err := c.lookup(ctx, link)
	if err != nil {
		return Preview{}, err
	}
	err = c.vault.View(ctx, func(tx *vault.Tx) error { return contact.Check(vault.Store{Tx: tx}, c.engine.Self, b) })
	if err != nil {
		return Preview{}, vaultError(err)
	}
	return Preview{
		Link: l.String(), Name: contact.CleanName(b.Name), Relay: l.Relay, RelayKey: KeyText(b.Realm),
		SafetyNumber: manifest.SafetyNumber(c.root, b.Root), Expires: time.Unix(int64(b.Expiry), 0),
		OneUse: b.Uses == 1, Asks: b.Ask, Member: b.Membership != nil && c.home().Live == 0,
	}, nil
}

// Accept accepts an invite: the hello is committed and goes as soon as a
// process runs. Somebody without a relay makes the invite's relay theirs, and
// becomes a member of its realm where that is needed and the invite allows it. For
// an invite to a realm it returns a Contact of state StateMember. It may be
// repeated after a crash at any point, and takes no second use.
func (c *Client) Accept(ctx context.Context, a AcceptOptions) (Contact, error) {
	if len(a.Text) > MaxFirstText {
		return Contact{}, ErrLong
	}
	if l, found, err := realmLink(a.Link); found {
		if err != nil {
			return Contact{}, vaultError(err)
		}
		return c.acceptRealm(ctx, l, a.Progress)
	}
	l, b, err := c.lookup(ctx, a.Link)
	if err != nil {
		return Contact{}, err
	}
	p := c.home()
	adopt := p.Live == 0
	theirs := contact.Realm{Name: l.Relay, Pin: b.Realm}
	if err := c.enter(ctx, entry{realm: theirs, secret: b.Membership, home: adopt || p.Realm.Pin == theirs.Pin, guests: b}, a.Progress); err != nil {
		return Contact{}, err
	}
	if adopt {
		if err := p.setRelay(ctx, c.opt.Network, l.Relay, b.Realm); err != nil {
			return Contact{}, err
		}
	}
	var out *contact.Outgoing
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		if adopt {
			if err := putProfile(tx.Tx, &p); err != nil {
				return nil, err
			}
			c.engine.Home = convo.Home{Realm: p.Realm, Live: p.Live} // the engine is the transaction's
		}
		msg := &content.Content{Sent: uint64(now.Unix()), Drop: &content.Drop{}}
		if a.Text != "" {
			msg = &content.Content{Sent: uint64(now.Unix()), Text: &content.Text{Body: a.Text}}
		}
		given, err := c.firstGift(tx, now, msg, theirs)
		if err != nil {
			return nil, err
		}
		if err := c.keepGuests(tx, l, b); err != nil {
			return nil, err
		}
		first, _, err := c.engine.First(msg, b.Manifest)
		if err != nil {
			return nil, err
		}
		name := a.Name
		if name == "" {
			name = b.Name
		}
		out, err = contact.Start(tx, c.opt.rand(), now, contact.Starting{
			Self: c.engine.Self, Link: l, Bundle: b, Realm: p.Realm, Live: p.Live, Name: name, Mine: p.Name, First: first,
		})
		if err != nil {
			return nil, err
		}
		if given > 0 {
			out.Contact.Guests, out.Contact.GuestsAt = given, now.Unix()
			if err := tx.PutContact(out.Contact); err != nil {
				return nil, err
			}
		}
		return c.engine.Hello(tx, now, out, a.Text)
	})
	if err != nil {
		return Contact{}, err
	}
	c.opt.at(BoundaryHelloCommitted)
	c.wake() // the chores look after hellos
	if adopt {
		c.adopted(p)
	}
	c.lookAtPurse()
	return c.contact(ctx, out.Contact.ID)
}
