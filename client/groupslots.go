package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// slotKey names a call about a slot: a read and a put of one may both be wanted.
type slotKey struct {
	group group.ID
	epoch uint64
	slot  wire.BlobID
	put   bool
}

func slotKeyOf(s *group.SlotCall) slotKey { return slotKey{s.Group, s.Epoch, s.Slot, s.Put != nil} }

// slotWithin bounds one call, also through a slow proxy.
const slotWithin = 2 * time.Minute

// decide makes the calls about slots whose time has come, a few at a time.
func (g *groups) decide(ctx context.Context, all *sync.WaitGroup, room chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for k, s := range g.call {
		if g.busy[k] || s.After.After(now) {
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			return // the next one that ends wakes us
		}
		delete(g.call, k)
		g.busy[k] = true
		all.Go(func() {
			defer func() {
				<-room
				g.mu.Lock()
				delete(g.busy, k)
				g.mu.Unlock()
				g.wake()
			}()
			g.answer(ctx, s)
		})
	}
}

// answer makes one call and commits what came of it. If the store could not take it
// the call is made again: it changes nothing that was not so already. An answer that is
// none, by a key that the group does not trust for one, counts as no answer: the engine
// asks again in its time.
func (g *groups) answer(ctx context.Context, s *group.SlotCall) {
	g.c.opt.at(BoundarySlotAsked)
	a := g.c.slot(ctx, s)
	if ctx.Err() != nil {
		return
	}
	g.c.opt.at(BoundarySlotAnswered)
	err := g.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		if s.Put == nil {
			g.catchUp()
		}
		ch, err := g.engine.Answer(tx, now, a)
		g.note(ch)
		return nil, err
	})
	if err != nil && !ofStore(err) {
		g.failedIn(s.Group, err)
		return
	}
	if err != nil {
		g.c.note(err)
		g.mu.Lock()
		again := *s
		again.After = time.Now().Add(groupRetry)
		g.call[slotKeyOf(s)] = &again
		g.mu.Unlock()
		return
	}
	g.c.opt.at(BoundarySlotCommitted)
}

// slot asks the realm of a group about a slot, or puts what is to lie there. Every
// call has a connection of its own, through the proxy where there is one.
func (c *Client) slot(ctx context.Context, s *group.SlotCall) group.SlotAnswer {
	a := group.SlotAnswer{Group: s.Group, Epoch: s.Epoch}
	ctx, stop := context.WithTimeout(ctx, slotWithin)
	defer stop()
	r, err := c.realms.relay(contact.Realm{Name: s.Home.Name, Pin: s.Home.Pin})
	if err != nil {
		a.Trouble = group.Away
		return a
	}
	if s.Put != nil {
		got, err := r.PutBlob(ctx, &wire.BlobPut{Kind: wire.BlobSlot, ID: s.Slot, Content: s.Put})
		switch {
		case got.ID == s.Slot && got != (wire.Receipt{}): // ours or another's: the receipt says whose
			a.Receipt = &got
		default:
			a.Trouble = slotTrouble(err)
		}
		return a
	}
	blob, got, err := r.GetSlot(ctx, s.Slot)
	switch {
	case got != nil && blob != nil:
		a.Blob, a.Receipt = blob, got
	case got != nil:
		a.Trouble, a.Receipt = group.Lost, got
	case errors.Is(err, transport.ErrNothing):
		a.Trouble = group.Empty
	default:
		a.Trouble = slotTrouble(err)
	}
	return a
}

// slotTrouble says why there is no receipt.
func slotTrouble(err error) group.Trouble {
	switch {
	case errors.Is(err, transport.ErrEmpty), errors.Is(err, transport.ErrSpent), errors.Is(err, transport.ErrOutside):
		return group.Unpaid
	case errors.Is(err, transport.ErrRefused), errors.Is(err, transport.ErrNothing), errors.Is(err, transport.ErrRoom):
		return group.Refused
	}
	return group.Away
}
