package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
)

// Gate is what the client needs of a relay that wants tokens.
// client/transport/relay implements it. Every call goes over a connection of its
// own that carries nothing else.
type Gate interface {
	// PayWith sets who pays; it is called before the relay is used.
	PayWith(p transport.Payer)
	Join(ctx context.Context, request []byte) error
	Issue(ctx context.Context, request []byte) (answer []byte, err error)
	Challenge(ctx context.Context, request []byte) (challenge []byte, err error)
	MakeInvite(ctx context.Context, hash [32]byte, days byte) error
}

// newPurse returns the purse of this profile. It is in the vault, and sees tokens
// and realms, never what is said.
func newPurse(c *Client) *purse.Purse {
	return &purse.Purse{Store: purseStore{c}, Rand: c.opt.rand(), Boundary: c.opt.at}
}

// purseStore is the vault as the purse sees it.
type purseStore struct{ c *Client }

// Update implements purse.Store.
func (s purseStore) Update(ctx context.Context, f func(purse.Tx) error) error {
	err := s.c.vault.Update(ctx, func(tx *vault.Tx) error { return f(vault.Store{Tx: tx}) })
	s.c.stored(err)
	return err
}

// View implements purse.Store.
func (s purseStore) View(ctx context.Context, f func(purse.Tx) error) error {
	return s.c.vault.View(ctx, func(tx *vault.Tx) error { return f(vault.Store{Tx: tx}) })
}

// gifts gives and keeps guest tokens in the transactions of the engine. It
// implements convo.Gifts.
type gifts struct{ c *Client }

// Give implements convo.Gifts.
func (g gifts) Give(tx convo.Tx, n int) ([]byte, error) {
	gift, err := g.c.purse.Give(tx.(vault.Store), g.c.engine.Home.Realm.Pin, n)
	if err != nil || len(gift.Tokens) == 0 {
		return nil, err
	}
	defer gift.Wipe()
	return gift.Append(nil), nil
}

// Keep implements convo.Gifts. A gift is for the realm that its giver lives on.
func (g gifts) Keep(tx convo.Tx, of contact.Realm, raw []byte) error {
	gift, err := purse.ParseGift(raw)
	if err != nil || gift.Pin != of.Pin {
		return nil
	}
	defer gift.Wipe()
	return g.c.purse.Keep(tx.(vault.Store), of.Name, gift)
}

const (
	buyAgain = time.Minute // after the network or a relay failed
	buyMost  = time.Hour   // between two looks
	restamps = 5           // better stamps for one puzzle, when too many wait
)

// buy has tokens fetched ahead of need, until ctx ends.
//
// spec: purse.md#when-tokens-are-fetched
func (c *Client) buy(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-c.lookPurse:
		}
		next, err := c.fetchTokens(ctx, nil)
		if err != nil {
			return err
		}
		timer.Reset(max(time.Second, min(time.Until(next), buyMost)))
	}
}

// lookAtPurse makes buy look now.
func (c *Client) lookAtPurse() {
	select {
	case c.lookPurse <- struct{}{}:
	default:
	}
}

// fetchTokens fetches every batch that is due and returns when to look again. say,
// if not nil, is told how it goes. Only errors of the vault are returned.
func (c *Client) fetchTokens(ctx context.Context, say func(string)) (next time.Time, err error) {
	select {
	case c.fetching <- struct{}{}:
		defer func() { <-c.fetching }()
	case <-ctx.Done():
		return time.Time{}, nil
	}
	again := c.settlePurse(ctx)
	for ctx.Err() == nil {
		job, due, err := c.purse.Due(ctx)
		if err != nil {
			return next, unlessOver(ctx, err)
		}
		if job == nil {
			next = time.Now().Add(buyMost)
			if !due.IsZero() && due.Before(next) {
				next = due
			}
			if at := c.rested(ctx); !at.IsZero() && at.Before(next) {
				next = at
			}
			break
		}
		if err := c.fetchBatch(ctx, job, say); err != nil {
			return next, unlessOver(ctx, err)
		}
	}
	if soon := time.Now().Add(buyAgain); again && soon.Before(next) {
		next = soon
	}
	return next, nil
}

// unlessOver leaves out what is only the end of a context.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// settlePurse reads the descriptors that the purse lacks keys of, and has it solve
// puzzles where our relay wants tokens and is open to all. It reports whether that
// is to be tried again soon.
func (c *Client) settlePurse(ctx context.Context) (again bool) {
	if p := c.home(); p.Live != 0 {
		st, err := c.purse.Stands(ctx, p.Realm.Pin)
		if err != nil {
			return true
		}
		if st.Wants && !st.Buys && st.Gate == gateOpen {
			again = c.purse.Solve(ctx, p.Realm.Pin, p.Realm.Name) != nil
		}
	}
	lacks, err := c.purse.Lacks(ctx)
	if err != nil {
		return true
	}
	for _, r := range lacks {
		t, err := c.realms.relay(contact.Realm{Name: r.Name, Pin: r.Pin})
		if err == nil {
			_, err = t.Descriptor(ctx)
		}
		again = again || err != nil
	}
	return again
}

// rested flushes what waited for tokens that can be spent now, and returns when
// the next ones can be if there are none now.
func (c *Client) rested(ctx context.Context) (at time.Time) {
	all, err := c.purse.Status(ctx)
	if err != nil {
		return at
	}
	full := false
	for _, s := range all {
		switch {
		case !s.Wants:
		case s.Left > 0:
			full = full || c.wanting[s.Pin]
			delete(c.wanting, s.Pin)
		default:
			c.wanting[s.Pin] = true
			if s.Resting > 0 && (at.IsZero() || s.Next.Before(at)) {
				at = s.Next
			}
		}
	}
	if full {
		c.paysAgain()
	}
	return at
}

// paysAgain has everything tried at once that waited for a token.
func (c *Client) paysAgain() {
	out, in := c.moving()
	if out != nil {
		out.Reconnected()
	}
	if in != nil {
		in.Kick()
	}
	c.wake()
}

// fetchBatch makes one request for tokens. Only errors of the vault are returned;
// what the network or the relay did is noted in the purse.
func (c *Client) fetchBatch(ctx context.Context, job *purse.Job, say func(string)) error {
	err := c.askBatch(ctx, job, say)
	switch {
	case err == nil || errors.Is(err, purse.ErrStale):
		return nil
	case errors.Is(err, purse.ErrProof):
		return nil // it is noted and shown
	case ctx.Err() != nil || isVault(err):
		return err
	}
	return c.purse.Failed(ctx, job, err)
}

func (c *Client) askBatch(ctx context.Context, job *purse.Job, say func(string)) error {
	t, err := c.realms.relay(contact.Realm{Name: job.Name, Pin: job.Pin})
	if err != nil {
		return err
	}
	gate, ok := t.(Gate)
	if !ok {
		return transport.ErrRefused
	}
	var answer []byte
	var solved *token.Solution
	for try := 0; ; try++ {
		body, err := c.purse.Request(ctx, job, func(binding [32]byte) ([]byte, error) {
			return c.solve(ctx, gate, binding, &solved, say)
		})
		if err != nil {
			return err
		}
		answer, err = gate.Issue(ctx, body)
		if err == nil {
			break
		}
		if !job.Puzzle || !errors.Is(err, transport.ErrBusy) || try == restamps {
			return err
		}
	}
	return c.purse.Finish(ctx, job, answer)
}

// isVault reports whether an error is of the vault, after which Run ends.
func isVault(err error) bool {
	for _, e := range []error{vault.ErrFull, vault.ErrStorage, vault.ErrDamaged, vault.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// puzzleProgress says how far a puzzle is, for people.
func puzzleProgress(done, expected uint64) string {
	return fmt.Sprintf("solving a puzzle for the relay, about %d of %d tries", done, max(expected, done))
}

// solve solves a puzzle of a relay, or makes a better stamp for the answer that
// there is when too many others wait.
//
// spec: token.md#puzzles
func (c *Client) solve(ctx context.Context, gate Gate, binding [32]byte, solved **token.Solution, say func(string)) ([]byte, error) {
	raw, err := gate.Challenge(ctx, append([]byte{byte(token.PuzzleTokens)}, binding[:]...))
	if err != nil {
		return nil, err
	}
	ch, err := token.ParseChallenge(raw)
	if err != nil || ch.Purpose != token.PuzzleTokens {
		return nil, errors.New("the relay's puzzle is malformed")
	}
	var s token.Solution
	if *solved != nil {
		s, err = (*solved).Restamp(binding, ch.Stamp)
	} else {
		s, err = token.Solve(ch, binding, 0, func(done, expected uint64) bool {
			if say != nil && done%8 == 0 {
				say(puzzleProgress(done, expected))
			}
			return ctx.Err() == nil
		})
	}
	if err != nil {
		return nil, err
	}
	*solved = &s
	return s.Append(nil), nil
}
