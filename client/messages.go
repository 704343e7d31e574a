package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// rank orders the states an outgoing message passes.
var rank = map[State]int{Queued: 1, Elsewhere: 1, Offered: 2, Parked: 3, Live: 4, OnDevice: 5}

// ended reports whether a state will not change any more.
func ended(s State) bool { return s == OnDevice || s == Expired || s == Unsent }

// Send commits a message: when it returns, the message is sealed in the vault
// and will go while a process runs, until their device acks it.
func (c *Client) Send(ctx context.Context, m Outgoing) (Event, error) {
	var out Event
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		r, l, err := conversation(tx, m.To)
		if err != nil {
			return nil, err
		}
		if l != nil {
			ev, err := c.sendGroup(tx, now, l, m)
			if err != nil {
				return nil, err
			}
			out = c.shownEvent(tx, ev)
			return &convo.Change{Events: []*convo.Event{ev}}, nil
		}
		ev, ch, err := c.engine.Send(tx, now, r.ID, m.Text, m.Keep)
		if err == nil {
			out = shown(ev, r.Name)
		}
		return ch, err
	})
	if err != nil {
		return Event{}, err
	}
	c.opt.at(BoundarySendCommitted)
	return out, nil
}

// Await waits until a message has reached a state, or one from which it never
// will, and returns it. When ctx ends first it returns the message as it is,
// with ctx's error.
func (c *Client) Await(ctx context.Context, seq int64, want State) (Event, error) {
	s, ok := c.feed.follow()
	if !ok {
		return Event{}, ErrClosed
	}
	defer c.feed.leave(s)
	for {
		e, err := c.event(context.WithoutCancel(ctx), seq)
		if err != nil {
			return e, err
		}
		if ended(e.State) || rank[e.State] >= rank[want] {
			return e, nil
		}
		select {
		case <-ctx.Done():
			return e, ctx.Err()
		case _, ok := <-s.wake:
			if !ok {
				return e, ErrClosed
			}
			s.take()
		}
	}
}

func (c *Client) event(ctx context.Context, seq int64) (Event, error) {
	var e *convo.Event
	err := c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		e, err = (vault.Store{Tx: tx}).Event(seq)
		return err
	})
	if err != nil {
		return Event{}, vaultError(err)
	}
	return c.show(ctx, []*convo.Event{e})[0], nil
}

// Unsend takes back a message of which nothing has left this device.
func (c *Client) Unsend(ctx context.Context, seq int64) (Event, error) {
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		if e, err := tx.Event(seq); err == nil && e.Contact < 0 {
			return nil, convo.ErrSent // every member's copy is sealed: some may have left
		}
		return c.engine.Unsend(tx, now, seq)
	})
	if err != nil {
		return Event{}, err
	}
	return c.event(ctx, seq)
}

// Read returns events, oldest first.
func (c *Client) Read(ctx context.Context, q Query) ([]Event, error) {
	var events []*convo.Event
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		var id int64
		if q.Contact != "" {
			r, l, err := conversation(s, q.Contact)
			if err != nil {
				return err
			}
			if l != nil {
				id = -l.ID
			} else {
				id = r.ID
			}
		}
		read := map[int64]int64{}
		if q.Unread {
			people, err := s.Contacts()
			if err != nil {
				return err
			}
			for _, r := range people {
				read[r.ID] = r.Read
			}
			lines, err := s.Lines()
			if err != nil {
				return err
			}
			for _, l := range lines {
				read[-l.ID] = l.Read
			}
		}
		events = nil
		add := func(e *convo.Event) error {
			if !q.Unread || !e.Out && !e.Seen && e.Seq > read[e.Contact] {
				events = append(events, e)
			}
			return nil
		}
		if q.Limit > 0 && !q.Unread {
			err := s.LastEvents(id, q.After, q.Limit, add)
			slices.Reverse(events)
			return err
		}
		return s.Events(id, q.After, add)
	})
	if err != nil {
		return nil, vaultError(err)
	}
	if q.Limit > 0 && len(events) > q.Limit {
		events = events[len(events)-q.Limit:]
	}
	return c.show(ctx, events), nil
}

// MarkRead notes that a person has seen an event, and all before it in the same
// conversation.
func (c *Client) MarkRead(ctx context.Context, seq int64) error {
	return c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		e, err := tx.Event(seq)
		if err != nil {
			return nil, err
		}
		if e.Contact < 0 {
			l, err := tx.LineOf(-e.Contact)
			if err != nil || seq <= l.Read {
				return nil, err
			}
			l.Read = seq
			return nil, errors.Join(tx.PutLine(l), tx.RunTimers(-l.ID, seq))
		}
		return c.engine.MarkRead(tx, now, seq)
	})
}
