package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// wakeWithin bounds the handing over of one ticket. It is not cut short by the
// end of Run: a `send` that is done has woken whom it found asleep.
const wakeWithin = 10 * time.Second

// sleepers are devices that fell silent and are to be woken. It implements
// outbox.Waker.
type sleepers struct {
	c    *Client
	kick chan struct{} // capacity 1

	mu    sync.Mutex // guards the rest
	ids   []int64
	heard map[int64]bool // devices that were heard of since they were last woken
}

func newSleepers(c *Client) *sleepers {
	return &sleepers{c: c, kick: make(chan struct{}, 1), heard: map[int64]bool{}}
}

// Wake implements outbox.Waker.
func (s *sleepers) Wake(peer int64) {
	if peer < 0 {
		return // a device in a group: its owner gives tickets to contacts only
	}
	s.mu.Lock()
	s.ids = append(s.ids, peer) // once for each silence: few
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// awake notes that something came from a device.
func (s *sleepers) awake(peer int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[peer] = true
}

// run wakes devices until ctx ends.
func (s *sleepers) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.kick:
			if err := s.wakeAll(ctx); err != nil {
				return err
			}
		}
	}
}

// wakeAll wakes those that wait for it. It is called once more when the outbox
// has ended.
func (s *sleepers) wakeAll(ctx context.Context) error {
	for {
		s.mu.Lock()
		if len(s.ids) == 0 {
			s.mu.Unlock()
			return nil
		}
		id := s.ids[0]
		s.ids = s.ids[1:]
		heard := s.heard[id]
		delete(s.heard, id)
		s.mu.Unlock()
		if err := s.c.wakeOne(ctx, id, heard); err != nil {
			return err
		}
	}
}

// wakeOne sends off a ticket of a contact, if there is one. It is out of the vault
// before it leaves; one that did not leave is put back.
//
// spec: wake.md#tickets-between-contacts
func (c *Client) wakeOne(ctx context.Context, id int64, heard bool) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), wakeWithin)
	defer stop()
	var t convo.HeldTicket
	err := c.vault.Update(ctx, func(tx *vault.Tx) (err error) {
		t, err = c.engine.TakeTicket(vault.Store{Tx: tx}, time.Now(), id, heard)
		return err
	})
	if errors.Is(err, convo.ErrNoTicket) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.passOn(ctx, t.Ticket); err == nil {
		return nil
	}
	return c.vault.Update(context.WithoutCancel(ctx), func(tx *vault.Tx) error {
		return c.engine.ReturnTicket(vault.Store{Tx: tx}, id, t)
	})
}
