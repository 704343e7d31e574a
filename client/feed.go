package client

import (
	"context"
	"sync"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// feed tells whoever follows about new and changed events. A follower that is
// slow is never dropped: it holds a list of sequence numbers, and what it sees
// is read from the vault again if it has to.
type feed struct {
	mu   sync.Mutex
	subs map[*follower]struct{}
	done bool
}

type follower struct {
	mu      sync.Mutex
	pending []Event
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

func (f *feed) publish(events []Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.mu.Lock()
		s.pending = append(s.pending, events...)
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

func (s *follower) take() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending
	s.pending = nil
	return p
}

// Follow calls f with every event after a sequence number: first those that are
// there, in order, then new ones and changes of state as they are committed. A
// change has the sequence number of the event it changes. It returns when ctx
// ends, f fails, or the client closes (ErrClosed).
func (c *Client) Follow(ctx context.Context, after int64, f func(Event) error) error {
	s, ok := c.feed.follow()
	if !ok {
		return ErrClosed
	}
	defer c.feed.leave(s)
	var history []*convo.Event
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		return (vault.Store{Tx: tx}).Events(0, after, func(e *convo.Event) error {
			history = append(history, e)
			return nil
		})
	})
	if err != nil {
		return vaultError(err)
	}
	last := map[int64]State{} // what was told, for events that came both ways
	for _, e := range c.show(ctx, history) {
		last[e.Seq] = e.State
		if err := f(e); err != nil {
			return err
		}
	}
	for {
		for _, e := range s.take() {
			if told, ok := last[e.Seq]; ok && told == e.State {
				continue
			}
			last[e.Seq] = e.State
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
