package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// feed tells whoever follows which events are new or changed. It carries
// sequence numbers only: what a follower sees is read from the vault, so that
// states never seem to go back and a slow follower costs a few bytes an event.
type feed struct {
	mu   sync.Mutex
	subs map[*follower]struct{}
	done bool
}

type follower struct {
	mu      sync.Mutex
	pending map[int64]struct{}
	wake    chan struct{} // capacity 1; closed with the feed
}

func (f *feed) follow() (*follower, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return nil, false
	}
	s := &follower{wake: make(chan struct{}, 1)}
	if f.subs == nil {
		f.subs = map[*follower]struct{}{}
	}
	f.subs[s] = struct{}{}
	return s, true
}

func (f *feed) leave(s *follower) {
	f.mu.Lock()
	delete(f.subs, s)
	f.mu.Unlock()
}

func (f *feed) publish(events []*convo.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.mu.Lock()
		if s.pending == nil {
			s.pending = map[int64]struct{}{}
		}
		for _, e := range events {
			s.pending[e.Seq] = struct{}{}
		}
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	for s := range f.subs {
		close(s.wake)
	}
	f.subs = nil
}

// take returns what is new or changed since the last take, in order.
func (s *follower) take() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := slices.Sorted(maps.Keys(s.pending))
	s.pending = nil
	return p
}

// Follow calls f with every event after a sequence number: first those that are
// there, in order, then new ones and changes of state as they are committed. A
// change has the sequence number of the event it changes. New events come in the
// order of their numbers and none is left out, so the last number is a cursor. It
// returns when ctx ends, f fails, or the client closes (ErrClosed).
func (c *Client) Follow(ctx context.Context, after int64, f func(Event) error) error {
	s, ok := c.feed.follow()
	if !ok {
		return ErrClosed
	}
	defer c.feed.leave(s)
	told := after
	for {
		changed := s.take()
		events, err := c.since(ctx, told, changed)
		if err != nil {
			return vaultError(err)
		}
		for _, e := range c.show(ctx, events) {
			told = max(told, e.Seq)
			if err := f(e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-s.wake:
			if !ok {
				return ErrClosed
			}
		}
	}
}

// since reads the changed events up to told, and all after it.
func (c *Client) since(ctx context.Context, told int64, changed []int64) (events []*convo.Event, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		events = nil
		s := vault.Store{Tx: tx}
		for _, seq := range changed {
			if seq > told {
				break
			}
			e, err := s.Event(seq)
			if errors.Is(err, convo.ErrGone) {
				e = &convo.Event{Seq: seq, Kind: convo.Gone}
			} else if err != nil {
				return err
			}
			events = append(events, e)
		}
		return s.Events(0, told, func(e *convo.Event) error {
			events = append(events, e)
			return nil
		})
	})
	return events, err
}
