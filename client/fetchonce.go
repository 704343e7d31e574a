package client

import (
	"context"
	"errors"
	"time"
)

const (
	// FetchWithin bounds FetchOnce: what a phone gives a process that was woken.
	FetchWithin = 10 * time.Second
	// fetchQuiet is how long nothing may come before a catch-up counts as done.
	fetchQuiet = 750 * time.Millisecond
)

// Fetched is what a FetchOnce brought.
type Fetched struct {
	Events    []Event // new ones, in order
	Connected bool    // the relay was reached; false: nothing is known
}

// FetchOnce catches up, acks at once and returns, within FetchWithin: for
// processes that were woken and will be stopped again. It takes everything that
// the relay's window still holds and offers what waits in the outbox.
func (c *Client) FetchOnce(ctx context.Context) (Fetched, error) {
	s, ok := c.feed.follow()
	if !ok {
		return Fetched{}, ErrClosed
	}
	defer c.feed.leave(s)
	ctx, stop := context.WithTimeout(ctx, FetchWithin)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var got Fetched
	quiet := time.NewTimer(fetchQuiet)
	defer quiet.Stop()
	for caughtUp := false; !caughtUp; {
		select {
		case err := <-ended:
			return got, err
		case <-s.wake:
			for _, e := range s.take() {
				if !e.Out {
					got.Events = append(got.Events, e)
				}
			}
			quiet.Reset(fetchQuiet)
		case <-quiet.C:
			c.mu.Lock()
			got.Connected = c.linked
			c.mu.Unlock()
			if caughtUp = got.Connected; !caughtUp {
				quiet.Reset(fetchQuiet)
			}
		}
	}
	c.acks.flush()
	c.acks.settled(ctx)
	stop()
	err := <-ended
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return got, err
}
