package client

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Run moves messages until ctx ends: it watches, offers, acks and keeps house.
// It returns when everything it started has ended. One Run at a time.
func (c *Client) Run(ctx context.Context) error {
	if c.opt.Network == nil {
		return ErrNoRelay
	}
	c.mu.Lock()
	if c.out != nil {
		c.mu.Unlock()
		return ErrRunning
	}
	c.parked = newTaker(c)
	c.out = outbox.New(outbox.Config{
		Transport: c.realms, Store: rowStore{c}, Sealer: c.keys, Rand: c.opt.rand(), Parker: parker{c}, ParkAfter: c.parkAfter(), Waker: c.asleep,
		Trouble: func(_, _ int64, err error) { c.note(err) },
	})
	out := c.out
	c.away = time.Unix(0, 0) // a process that starts was away
	c.mu.Unlock()
	// Opening the vault took 64 MiB for a moment, by design of Argon2id. A process
	// that runs for days need not keep them.
	debug.FreeOSMemory()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	start := func(f func(context.Context) error) {
		wg.Go(func() {
			err := f(ctx)
			for errors.Is(vaultError(err), ErrFull) && c.room(ctx) {
				err = f(ctx) // nothing was changed, so it can begin anew
			}
			if err != nil && ctx.Err() == nil {
				errs <- err
				stop()
			}
		})
	}
	start(func(ctx context.Context) error { return errors.Join(out.Run(ctx), c.asleep.wakeAll(ctx)) })
	start(c.asleep.run)
	start(c.acks.run)
	start(c.chores)
	start(c.vanishing)
	start(c.buy)
	start(c.greet)
	start(c.linker.run)
	start(c.groups.run)
	start(c.watch)
	wg.Wait()
	c.mu.Lock()
	c.out, c.in, c.linked = nil, nil, false
	c.mu.Unlock()
	select {
	case err := <-errs:
		return vaultError(err)
	default:
		return nil
	}
}

// watch runs the inbox on our relay, once there is one.
func (c *Client) watch(ctx context.Context) error {
	for c.home().Live == 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-c.homed:
		}
	}
	p := c.home()
	t, err := c.realms.relay(p.Realm)
	if err != nil {
		return err
	}
	in := inbox.New(inbox.Config{
		Transport: t, Keys: c.keys, Opener: c.keys, Live: time.Duration(p.Live) * time.Second, Rand: c.opt.rand(),
		State: c.state, Time: c.keys.correct,
	})
	c.mu.Lock()
	c.in = in
	parked := c.parked
	c.mu.Unlock()
	var taking sync.WaitGroup
	defer taking.Wait()
	taking.Go(func() { parked.run(ctx, t) })
	return in.Run(ctx)
}

// state is called by the inbox when the connection to our relay comes or goes.
func (c *Client) state(connected bool, err error) {
	c.mu.Lock()
	back := connected && !c.linked
	c.linked = connected
	if connected {
		c.trouble = ""
	} else if err != nil {
		c.trouble = plain(err)
	}
	out := c.out
	c.mu.Unlock()
	if !connected {
		c.lost(time.Now())
		if errors.Is(err, transport.ErrEmpty) {
			c.lookAtPurse() // the realm may just have been heard of
		}
	}
	if errors.Is(err, transport.ErrEmpty) {
		c.lookAtPurse() // it may just have been heard what there is to be had
	}
	if back && out != nil {
		out.Reconnected()
		c.acks.reconnected()
		c.wake()
		c.lookAtPurse()
		select {
		case c.returned <- struct{}{}:
		default:
		}
	}
}

// note keeps what a person should see of the network's trouble.
func (c *Client) note(err error) {
	if errors.Is(vaultError(err), ErrFull) {
		return // it is said as long as it is so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, errAway) && (c.linked || c.trouble != "") {
		return // it knows no reason, and must not stand before one
	}
	c.trouble = plain(err)
}

// roomEvery is how often what the disk had no room for is tried again.
const roomEvery = 30 * time.Second

// room waits a while for the disk to have room again. It reports whether it is
// worth a try.
func (c *Client) room(ctx context.Context) bool {
	c.stored(ErrFull)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(roomEvery):
		return true
	}
}

// stored notes how the vault took the last thing that it was given.
func (c *Client) stored(err error) {
	text := ""
	switch {
	case err == nil:
	case errors.Is(vaultError(err), ErrFull):
		text = "the disk is full: nothing that comes can be kept, and nothing is acked; make room"
	case errors.Is(err, vault.ErrStorage):
		text = "the storage of this profile failed: end the program, look at the disk and start again"
	default:
		return // not of the vault
	}
	c.mu.Lock()
	c.failing = text
	c.mu.Unlock()
}

const doubtedTime = "the relay's signed time and this device's clock are too far apart; set the clock"

// plain says a network error without anything that names a peer.
func plain(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, transport.ErrFronted):
		return "TLS to the relay ends in a program in front of it, which is weaker and was not allowed: nothing is sent or received; `--allow-proxied` allows it"
	case errors.Is(err, transport.ErrIssuer):
		return "the relay shows other keys for tokens than before, by which it could tell people apart: nothing is sent or received until it shows the right ones; ask its operator"
	case errors.Is(err, transport.ErrEmpty):
		return "there is no token left to pay the relay with; messages wait here and nothing is lost"
	case errors.Is(err, transport.ErrSpent):
		return "the relay takes none of this device's tokens; messages wait here and nothing is lost"
	case errors.Is(err, transport.ErrOutside):
		return "the relay does not count this device among its members; ask its operator for an invite"
	case errors.Is(err, transport.ErrIdentity):
		return "the relay does not have the key that was pinned: nothing is sent or received; if this network has a sign-in page, sign in first, else ask the relay's operator"
	case errors.Is(err, transport.ErrForeign):
		return "what answers in the relay's place is no relay, perhaps a sign-in page of this network: open any web page to see; messages wait here and nothing is lost"
	case errors.Is(err, transport.ErrTime):
		return doubtedTime
	case errors.Is(err, transport.ErrRefused):
		return "the relay refuses this connection"
	}
	return "the relay cannot be reached; messages wait here and nothing is lost"
}

// uniform returns a number in [0, 1) from the client's randomness.
func (c *Client) uniform() float64 {
	var b [8]byte
	if _, err := c.opt.rand().Read(b[:]); err != nil {
		panic("client: no randomness") // crypto/rand never fails
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// putOnce puts one body to a route under a fresh outer seal, and reports whether a
// device took it.
func (c *Client) putOnce(ctx context.Context, route *contact.RouteRecord, body wire.Body) (taken bool, err error) {
	cells, err := c.keys.cells(route, []wire.Body{body})
	if err != nil {
		return false, err
	}
	r, err := c.realms.Put(ctx, transport.Put{Address: cells[0].Address, ID: cells[0].ID, Cell: cells[0].Cell, Isolate: cells[0].Isolate})
	return err == nil && r.Delivered > 0, err
}

// rowStore is the vault as the outbox sees it.
type rowStore struct{ c *Client }

// item is a row as the outbox sees it.
func item(r *convo.Row) outbox.Item {
	it := outbox.Item{ID: r.ID, Peer: r.Contact, Order: r.ID, State: outbox.Queued, Born: time.Unix(r.Born, 0), Hello: r.Hello}
	if r.Parked != 0 {
		it.Kept = time.Unix(r.Parked, 0)
	}
	switch r.State {
	case convo.Offered:
		it.State = outbox.Offered
	case convo.Live:
		it.State = outbox.Live
	}
	if r.Expires != 0 {
		it.Expires = time.Unix(r.Expires, 0)
	}
	return it
}

// Items returns what is sealed and waits.
func (s rowStore) Items(ctx context.Context) (items []outbox.Item, err error) {
	err = s.c.vault.View(ctx, func(tx *vault.Tx) error {
		items = nil
		rows, err := (vault.Store{Tx: tx}).RowsOf(0)
		for _, r := range rows {
			if r.Sealed {
				items = append(items, item(r))
			}
		}
		if err != nil {
			return err
		}
		copies, err := s.c.groups.copyItems(vault.Store{Tx: tx})
		items = append(items, copies...)
		return err
	})
	return items, err
}

// Mark notes what the relay said of a row.
func (s rowStore) Mark(ctx context.Context, id int64, st outbox.State) error {
	s.c.opt.at(BoundaryOfferAnswered)
	if id < 0 {
		err := s.c.groups.markCopy(ctx, -id, st)
		s.c.opt.at(BoundaryOfferNoted)
		return err
	}
	to := convo.Offered
	if st == outbox.Live {
		to = convo.Live
	}
	err := s.c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		ch, err := s.c.engine.Moved(tx, id, to)
		if errors.Is(err, convo.ErrGone) {
			return nil, nil
		}
		return ch, err
	})
	s.c.opt.at(BoundaryOfferNoted)
	return err
}

// Expire ends rows whose lifetime is over.
func (s rowStore) Expire(ctx context.Context, ids []int64) error {
	return s.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		return s.c.engine.Expire(tx, now, ids)
	})
}
