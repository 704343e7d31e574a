package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
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
	var before int64
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		return (vault.Store{Tx: tx}).LastEvents(0, 0, 1, func(e *convo.Event) error { before = e.Seq; return nil })
	})
	if err != nil {
		return Fetched{}, vaultError(err)
	}
	connected, err := c.catchUp(ctx)
	got := Fetched{Connected: connected}
	events, readErr := c.since(context.WithoutCancel(ctx), before, nil)
	for _, e := range c.show(context.WithoutCancel(ctx), events) {
		if !e.Out {
			got.Events = append(got.Events, e)
		}
	}
	return got, errors.Join(err, vaultError(readErr))
}

// catchUp runs until nothing has come for a while, and all acks have gone.
func (c *Client) catchUp(ctx context.Context) (connected bool, err error) {
	s, ok := c.feed.follow()
	if !ok {
		return false, ErrClosed
	}
	defer c.feed.leave(s)
	ctx, stop := context.WithTimeout(ctx, FetchWithin)
	defer stop()
	c.hurry(true)
	defer c.hurry(false)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	quiet := time.NewTimer(fetchQuiet)
	defer quiet.Stop()
	for !connected {
		select {
		case err := <-ended:
			return false, err
		case <-s.wake:
			s.take()
			quiet.Reset(fetchQuiet)
		case <-quiet.C:
			connected = c.connected() && c.taking().took()
			if !connected {
				quiet.Reset(fetchQuiet)
			}
			if ctx.Err() != nil {
				return c.connected(), <-ended
			}
		}
	}
	c.acks.flush()
	c.acks.settled(ctx)
	if out, _ := c.moving(); out != nil {
		out.Rested(ctx)
	}
	select { // a batch that is being fetched may end: nobody is here every day
	case c.fetching <- struct{}{}:
		<-c.fetching
	case <-ctx.Done():
	}
	stop()
	return true, <-ended
}
