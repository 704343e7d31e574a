package throng

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/roster"
)

// metaIdentity is the row in which package client keeps who a device is.
const metaIdentity = 1

// madeWithin is how long one step of making the group may take.
const madeWithin = 5 * time.Minute

// aheadEach is how far the clock of the profile goes ahead at a time, while it waits for
// epochs to be over: three minutes do.
const aheadEach = 10 * time.Second

// addAtOnce is how many members one commit adds.
const addAtOnce = 100

// founder is the profile that is measured, while nobody else has it open.
type founder struct {
	c      *Crowd
	v      *vault.Vault
	engine *group.Engine
	relay  *relay.Relay
	slots  []*group.SlotCall
	ahead  time.Duration // of its clock: it does not wait for minutes to go by

	mu    sync.Mutex     // guards the rest
	inbox []func() error // what members say to it meanwhile
}

func (f *founder) now() time.Time { return time.Now().Add(f.ahead) }

// said is what members said since it was asked last.
func (f *founder) said() []func() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.inbox
	f.inbox = nil
	return all
}

// Enter brings all members into the one group that a profile has, which is alone in it
// or with others. The profile must be closed: its engine works on its vault here. Its
// commits lie at the relay; Welcomes and what members tell go from hand to hand. Whom it
// adds it counts as met: each has a session that was copied from another, and never
// says a word in it.
func (c *Crowd) Enter(ctx context.Context, dir string, pass []byte) (err error) {
	lock, err := vault.Take(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	v, err := vault.Open(dir, pass)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	f := &founder{c: c, v: v, relay: c.all[0].relay}
	if f.engine, err = f.open(ctx); err != nil {
		return err
	}
	c.founder.Store(f)
	defer c.founder.Store(nil)
	ears := c.all[min(c.o.Whole, len(c.all)):]
	for len(ears) > 0 {
		some := ears[:min(addAtOnce, len(ears))]
		ears = ears[len(some):]
		if err := f.add(ctx, some); err != nil {
			return err
		}
	}
	if err := f.add(ctx, c.all[:min(c.o.Whole, len(c.all))]); err != nil {
		return err
	}
	if err := f.rest(ctx); err != nil {
		return err
	}
	if err := f.meet(ctx); err != nil {
		return err
	}
	return c.begin()
}

// open reads who the profile is, and its group.
func (f *founder) open(ctx context.Context) (e *group.Engine, err error) {
	err = f.v.View(ctx, func(tx *vault.Tx) error {
		row, found, err := tx.Get(vault.Meta, metaIdentity)
		if err != nil || !found {
			return errors.Join(err, errors.New("profile has no identity"))
		}
		id, err := device.Parse(row.V)
		if err != nil {
			return err
		}
		f.c.boss = id.Name()
		e = &group.Engine{Self: group.Self{Sign: id.Sign, Device: f.c.boss, Manifest: id.Manifest, Home: f.c.home}, Rand: rand.Reader, Crypto: group.MLS{},
			Live: f.c.live, Spread: -1, AckMean: -1, Fatal: func(error) bool { return true }}
		all, err := vault.Store{Tx: tx}.Groups()
		if err != nil {
			return err
		}
		if len(all) != 1 {
			return fmt.Errorf("profile has %d groups, want one", len(all))
		}
		f.c.id = all[0].ID
		return nil
	})
	return e, err
}

// do is one transaction of the profile's engine, and what follows from it.
func (f *founder) do(ctx context.Context, call func(tx vault.Store) (*group.Change, error)) error {
	var ch *group.Change
	if err := f.v.Update(ctx, func(tx *vault.Tx) (err error) { ch, err = call(vault.Store{Tx: tx}); return err }); err != nil {
		return err
	}
	if ch == nil {
		return nil
	}
	f.slots = append(f.slots, ch.Slots...)
	for _, w := range ch.Words {
		for _, m := range f.c.all[:min(f.c.o.Whole, len(f.c.all))] {
			if m.device == w.To {
				err := m.do(func(tx group.Tx) (*group.Change, error) {
					return m.engine.Hear(tx, time.Now(), f.c.boss, f.engine.Self.Manifest.Root, w.Payload)
				})
				if err != nil {
					return fmt.Errorf("giving a word: %w", err)
				}
			}
		}
	}
	for _, k := range ch.Copies {
		for _, m := range f.c.all[:min(f.c.o.Whole, len(f.c.all))] {
			if m.device == k.To && m.at() == k.Epoch {
				err := m.do(func(tx group.Tx) (*group.Change, error) {
					_, ch, err := m.engine.Take(tx, time.Now(), group.Arrival{Group: k.Group, Epoch: k.Epoch, Payload: k.Payload})
					return ch, err
				})
				if err != nil {
					return fmt.Errorf("giving a copy: %w", err)
				}
			}
		}
	}
	return nil
}

// seeding takes what a member says while the group is made: it goes to the profile from
// hand to hand, and to nobody else.
func (c *Crowd) seeding(_ *member, k *group.Copy) bool {
	f := c.founder.Load()
	if f == nil {
		return false
	}
	if k.To == c.boss {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inbox = append(f.inbox, func() error {
			return f.do(c.ctx, func(tx vault.Store) (*group.Change, error) {
				_, ch, err := f.engine.Take(tx, f.now(), group.Arrival{Group: k.Group, Epoch: k.Epoch, Payload: k.Payload})
				return ch, err
			})
		})
	}
	return true
}

// add adds members in one commit, or as few as hold them.
func (f *founder) add(ctx context.Context, some []*member) error {
	words := make([][]byte, len(some))
	for i, m := range some {
		err := m.store.Update(func(tx group.Tx) (err error) {
			if words[i], err = m.engine.Packages(tx, f.now(), f.c.boss, 1); err != nil || m.whole {
				return err
			}
			all, err := tx.OwnPackages()
			for _, p := range all {
				if p.Suite == group.SuiteClassic {
					m.owner = p.Owner
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		if !m.whole {
			m.store = nil // its key package was for the leaf alone
		}
	}
	// One transaction for all: a change that a wish asks for is asked for again by Tick.
	err := f.do(ctx, func(tx vault.Store) (*group.Change, error) {
		for i, m := range some {
			if _, err := f.engine.Hear(tx, f.now(), m.device, m.root(), words[i]); err != nil {
				return nil, err
			}
			if _, err := f.engine.Want(tx, f.now(), f.c.id, roster.Wish{Kind: roster.Add, Root: m.root(), Device: m.device}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	return f.turn(ctx)
}

// turn does what is wished, and has the ears say that they are where the profile is.
func (f *founder) turn(ctx context.Context) error {
	for end := time.Now().Add(madeWithin); time.Now().Before(end); {
		calls := f.slots
		f.slots = nil
		for _, s := range calls {
			a := f.c.answer(f.relay, s)
			if err := f.do(ctx, func(tx vault.Store) (*group.Change, error) { return f.engine.Answer(tx, f.now(), a) }); err != nil {
				return err
			}
		}
		for all := f.said(); len(all) > 0; all = f.said() {
			for _, hear := range all {
				if err := hear(); err != nil {
					return err
				}
			}
		}
		open := 0
		err := f.do(ctx, func(tx vault.Store) (*group.Change, error) {
			r, err := tx.Group(f.c.id)
			if err != nil {
				return nil, err
			}
			for _, w := range r.Wishes {
				if w.Applied == 0 {
					open++
				}
			}
			return nil, f.heard(tx, r)
		})
		if err != nil || open == 0 {
			return err
		}
		if err := f.do(ctx, func(tx vault.Store) (*group.Change, error) { return f.engine.Tick(tx, f.now()) }); err != nil {
			return err
		}
		if err := f.pause(ctx); err != nil {
			return err
		}
	}
	return errors.New("members are not added")
}

// pause lets a little time go by: an engine counts seconds.
func (f *founder) pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heard notes what each ear would have told: that it is in the newest epoch.
func (f *founder) heard(tx vault.Store, r *group.Record) error {
	e, err := tx.Epoch(f.c.id, r.Head)
	if err != nil {
		return err
	}
	is := map[group.Device]bool{}
	for _, m := range f.c.all {
		is[m.device] = !m.whole
	}
	told := map[group.Device]bool{}
	for i := range r.Acks {
		if a := &r.Acks[i]; is[a.Device] {
			a.Head, a.Low, told[a.Device] = r.Head, nothing, true
		}
	}
	for _, l := range e.Roster {
		if is[l.Device] && !told[l.Device] {
			r.Acks = append(r.Acks, group.Acked{Device: l.Device, Head: r.Head, Low: nothing, At: time.Now().Unix()})
		}
	}
	return tx.PutGroup(r)
}

// rest lets go of the epochs before.
func (f *founder) rest(ctx context.Context) error {
	for end := time.Now().Add(madeWithin); time.Now().Before(end); {
		if err := f.do(ctx, func(tx vault.Store) (*group.Change, error) { return f.engine.Tick(tx, f.now()) }); err != nil {
			return err
		}
		if err := f.turn(ctx); err != nil {
			return err
		}
		n := 0
		if err := f.do(ctx, func(tx vault.Store) (*group.Change, error) {
			all, err := tx.Epochs(f.c.id)
			n = len(all)
			return nil, err
		}); err != nil || n == 1 {
			return err
		}
		f.ahead += aheadEach
		if err := f.pause(ctx); err != nil {
			return err
		}
	}
	return errors.New("epochs that everybody left stay")
}

// meet gives the profile a session with each member.
func (f *founder) meet(ctx context.Context) error {
	return f.do(ctx, func(tx vault.Store) (*group.Change, error) {
		known, err := tx.Devices()
		if err != nil {
			return nil, err
		}
		var like *contact.SessionRecord
		for _, d := range known {
			all, err := tx.SessionsOf(d.ID)
			if err != nil {
				return nil, err
			}
			for _, s := range all {
				if s.Primary {
					like = s
				}
			}
		}
		if like == nil {
			return nil, errors.New("profile has no contact")
		}
		for _, m := range f.c.all {
			d, err := contact.MemberDevice(tx, time.Now(), m.man, 0)
			if err != nil {
				return nil, err
			}
			s := *like
			s.ID, s.Contact = 0, d.ID
			if err := tx.PutSession(&s); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// begin puts the ears where the whole members are.
func (c *Crowd) begin() error {
	n := c.all[0].at()
	for _, m := range c.all {
		if m.whole && m.at() != n {
			return fmt.Errorf("members are in epochs %d and %d", n, m.at())
		}
	}
	p, err := c.at(c.ctx, n)
	if err != nil {
		return err
	}
	for _, m := range c.all {
		if !m.whole {
			if err := m.settleAt(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Epoch is the newest that members are in.
func (c *Crowd) Epoch() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := uint64(0)
	for e := range c.places {
		n = max(n, e)
	}
	return n
}
