package vault

import (
	"context"
	"slices"
	"sync"
)

// kind says what somebody wants the turn for.
type kind bool

const (
	writing kind = true  // may join the open transaction
	reading kind = false // must see committed rows only: never inside one
)

// turn hands the one connection from caller to caller, first come first
// served within a kind. Writers pass it among themselves so that many of them
// share one commit; after each commit, the readers that waited come first. So
// neither kind can keep the other out.
type turn struct {
	mu      sync.Mutex // guards what follows; never held while waiting
	held    bool
	writers []chan struct{}
	readers []chan struct{}
	quota   int // readers that still come before the next writer
}

// take waits for the turn. With a nil error the caller has it and must pass it
// on or give it up.
func (t *turn) take(ctx context.Context, k kind) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if !t.held {
		t.held = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q := t.queue(k)
	*q = append(*q, mine)
	t.mu.Unlock()

	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q = t.queue(k)
	if i := slices.Index(*q, mine); i >= 0 {
		*q = slices.Delete(*q, i, i+1)
		return ctx.Err()
	}
	return nil // handed to us at the same moment: it is ours to deal with
}

func (t *turn) queue(k kind) *[]chan struct{} {
	if k == writing {
		return &t.writers
	}
	return &t.readers
}

// pass hands the turn to a waiting writer. It reports false, and the caller
// keeps the turn, when there is none.
func (t *turn) pass() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wake(&t.writers)
}

// settled is called by the holder after a commit: the readers that wait now
// come before the next writer.
func (t *turn) settled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quota = len(t.readers)
}

// give gives the turn up.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.quota > 0 && t.wake(&t.readers) {
		t.quota--
		return
	}
	if t.wake(&t.writers) || t.wake(&t.readers) {
		return
	}
	t.held = false
}

// wake is called with the mutex.
func (t *turn) wake(q *[]chan struct{}) bool {
	if len(*q) == 0 {
		return false
	}
	next := (*q)[0]
	*q = slices.Delete(*q, 0, 1)
	close(next)
	return true
}
