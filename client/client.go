package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
)

// Client is an open profile. Its methods may be called from any goroutine.
type Client struct {
	opt    Options
	lock   *vault.Lock
	vault  *vault.Vault
	engine *convo.Engine
	realms *realms
	keys   *keyring
	feed   feed
	acks   *ackClock
	asleep *sleepers
	purse  *purse.Purse
	groups *groups

	fetching  chan struct{}     // holds a token while batches are fetched
	wanting   map[[32]byte]bool // realms whose tokens have run out; whoever fetches has it
	lookPurse chan struct{}     // wakes buy
	parked    *taker
	linker    *linker

	mu      sync.Mutex // guards the rest
	profile profile
	out     *outbox.Outbox // nil unless Run is running
	in      *inbox.Inbox
	linked  bool
	trouble string        // with the network
	failing string        // the vault, at its last update
	away    time.Time     // since when our relay is not connected; zero: it is
	work    chan struct{} // wakes the chores of Run
	fading  chan struct{} // a text is to disappear

	returned chan struct{} // our relay is connected again
	homed    chan struct{} // there is a relay now
	stands   [32]byte      // hash of the manifest that is known to be in the vault; used in transactions only
	hurried  bool          // the process ends soon
	root     key.SignPublic
}

var _ Service = (*Client)(nil)

// Open opens a profile and owns it until Close. It fails with ErrLocked while
// another process owns it, ErrMissing, ErrPassphrase, ErrDamaged or ErrNewer, and with
// ErrUnlinked for one that Join has not finished.
func Open(ctx context.Context, o Options) (*Client, error) {
	c, err := openParts(o)
	if err != nil {
		return nil, err
	}
	if err := c.load(ctx); err != nil {
		return nil, errors.Join(vaultError(err), c.vault.Close(), c.lock.Release())
	}
	// Before anybody sees it: what ended while no process was there is not shown again.
	if _, err := c.vanish(ctx); err != nil && !errors.Is(err, ErrFull) {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openParts opens all of a profile but who it is.
func openParts(o Options) (*Client, error) {
	lock, err := vault.Take(o.Dir)
	if err != nil {
		return nil, vaultError(err)
	}
	v, err := vault.Open(o.Dir, o.Passphrase)
	if err != nil {
		return nil, errors.Join(vaultError(err), lock.Release())
	}
	c := &Client{opt: o, lock: lock, vault: v, realms: newRealms(o.Network), work: make(chan struct{}, 1), fading: make(chan struct{}, 1), returned: make(chan struct{}, 1), homed: make(chan struct{}, 1)}
	c.keys = newKeyring(c)
	c.acks = newAckClock(c)
	c.asleep = newSleepers(c)
	c.purse = newPurse(c)
	c.groups = newGroups(c)
	c.realms.pay = c.purse.Of
	c.fetching, c.lookPurse, c.wanting = make(chan struct{}, 1), make(chan struct{}, 1), map[[32]byte]bool{}
	c.parked = newTaker(c)
	c.linker = newLinker(c)
	return c, nil
}

// Close gives the profile up. Run must have returned.
func (c *Client) Close() error {
	c.feed.close()
	c.linker.hangUp()
	c.linker.rest()
	err := errors.Join(c.realms.close(), c.vault.Close(), c.lock.Release())
	c.engine.Self.Wipe()
	c.keys.wipe()
	return err
}

// home returns where we are reached.
func (c *Client) home() profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile
}

// moving returns the running halves, or nil.
func (c *Client) moving() (*outbox.Outbox, *inbox.Inbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out, c.in
}

// wake makes Run look at its chores now.
func (c *Client) wake() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// update runs f in one transaction and then lets everybody know what it
// changed. Nothing leaves this device before the commit.
func (c *Client) update(ctx context.Context, f func(tx vault.Store, now time.Time) (*convo.Change, error)) error {
	var ch *convo.Change
	var work *groupWork
	err := c.vault.Update(ctx, func(tx *vault.Tx) (err error) {
		if err := c.sure(tx); err != nil {
			return err
		}
		s, now := vault.Store{Tx: tx}, time.Now()
		work = c.groups.begin()
		if ch, err = f(s, now); err != nil {
			return err
		}
		ch, err = c.groups.settle(s, now, ch)
		return err
	})
	c.stored(err)
	if err != nil {
		return vaultError(err)
	}
	c.apply(ctx, ch)
	c.groups.act(work)
	if c.vault.Timed() {
		select {
		case c.fading <- struct{}{}:
		default:
		}
	}
	return nil
}

// apply acts on what a committed transaction changed.
func (c *Client) apply(ctx context.Context, ch *convo.Change) {
	if ch == nil {
		return
	}
	if len(ch.Removed) > 0 {
		c.opt.at(BoundaryRowRemoved)
	}
	out, in := c.moving()
	if out != nil {
		out.Remove(ch.Removed...)
		for _, r := range ch.Added {
			out.Add(item(r))
		}
		if ch.Heard != 0 {
			c.asleep.awake(ch.Heard)
			out.Heard(ch.Heard)
		}
		for _, id := range ch.Freed {
			out.Heard(id)
		}
		if ch.Found != 0 {
			out.Found(ch.Found)
		}
	}
	if ch.Heard != 0 {
		c.acks.heard(ch.Heard)
	}
	for _, id := range ch.Again {
		c.acks.astray(id)
	}
	for _, id := range ch.Owes {
		c.acks.owe(id)
	}
	if ch.Stranger != 0 {
		c.acks.oweStranger(ch.Stranger)
	}
	if ch.Routes && in != nil {
		in.Refresh()
	}
	if ch.Invites || ch.Wakes || ch.Meets {
		c.wake()
	}
	if len(ch.Events) > 0 {
		c.feed.publish(ch.Events)
	}
}

// show turns events into what faces see.
func (c *Client) show(ctx context.Context, events []*convo.Event) []Event {
	out := make([]Event, len(events))
	c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		for i, e := range events {
			out[i] = c.shownEvent(s, e)
		}
		return nil
	})
	return out
}

// shownEvent is an event as faces see it.
func (c *Client) shownEvent(s vault.Store, e *convo.Event) Event {
	if e.Contact >= 0 {
		name := ""
		if r, err := s.Contact(e.Contact); err == nil {
			name = r.Name
		}
		return shown(e, name)
	}
	out := shown(e, "")
	out.ContactID, out.GroupID = 0, -e.Contact
	if l, err := s.LineOf(-e.Contact); err == nil {
		out.Group = l.Name
	}
	if p := e.Group; p != nil {
		out.Reached, out.Of = p.Reached, p.Of
		out.From, _ = c.groups.nameOf(s, p.By)
		if r, err := s.ContactOf(p.By); err == nil && r.State != contact.Member {
			out.ContactID, out.Contact = r.ID, r.Name
		}
	}
	return out
}

func shown(e *convo.Event, name string) Event {
	s, until := State(e.State.String()), time.Time{}
	switch {
	case e.State == convo.Offered && e.Out && time.Now().Before(time.Unix(e.Parked, 0)):
		s, until = Parked, time.Unix(e.Parked, 0)
	case e.Kind == convo.Gone:
		return Event{Seq: e.Seq, State: Disappeared}
	case e.Kind == convo.Notice && !e.Out:
		s = Told
	case !e.Out:
		s = Received
	}
	out := Event{Seq: e.Seq, ContactID: e.Contact, Contact: name, ID: hexID(e.Message), Out: e.Out, Text: e.Text, State: s,
		Sent: time.Unix(e.Sent, 0), At: time.Unix(e.At, 0), Until: until, Timer: time.Duration(e.Timer) * time.Second}
	if n := len(e.Copies); n > 1 {
		out.Reached, out.Of = e.Reached(), n
	}
	return out
}

// find looks a contact up by our name for them, "person:" and that name, or by "#"
// and its number.
func find(tx vault.Store, who string) (*contact.Record, error) {
	r, err := findPerson(tx, who)
	if name, ok := strings.CutPrefix(who, personPrefix); ok && errors.Is(err, contact.ErrUnknown) {
		return findPerson(tx, name)
	}
	return r, err
}

func findPerson(tx vault.Store, who string) (*contact.Record, error) {
	all, err := tx.Contacts()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.State != contact.Member && matches(r, who) {
			return r, nil
		}
	}
	return nil, contact.ErrUnknown
}
