package client

import (
	"context"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/wake"
)

// ReceivePush takes a body that was pushed to this device's endpoint: a challenge
// is answered, and a wake brings what waits, as FetchOnce does. A body that
// nothing of ours opens changes nothing, and nobody is asked for anything: so
// whoever was blocked, or guesses, causes no traffic.
//
// spec: wake.md#push
func (c *Client) ReceivePush(ctx context.Context, body []byte) (Pushed, error) {
	kind, err := c.openPush(ctx, body)
	if err != nil || kind != PushedWake {
		return Pushed{Kind: kind}, err
	}
	c.wake() // the contact that used a ticket is given another
	if out, _ := c.moving(); out != nil {
		return Pushed{Kind: kind, Running: true, Connected: c.connected()}, nil
	}
	got, err := c.FetchOnce(ctx)
	return Pushed{Kind: kind, Events: got.Events, Connected: got.Connected}, err
}

// openPush says what a body is, and counts its ticket as used.
func (c *Client) openPush(ctx context.Context, body []byte) (kind string, err error) {
	var st wakeState
	err = c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		st, err = readWake(tx)
		return err
	})
	if err != nil {
		return "", vaultError(err)
	}
	if st.Next != nil {
		if m, ok := st.Next.opens(body, st.Next.Proof); ok && m.Challenge {
			return PushedChallenge, c.confirm(ctx, st.Next, m.Code)
		}
	}
	if st.Now == nil {
		return PushedUnknown, nil
	}
	now := time.Now()
	kind = PushedUnknown
	err = c.vault.Update(ctx, func(tx *vault.Tx) error {
		kind = PushedUnknown
		st, err := readWake(tx)
		if err != nil || st.Now == nil {
			return err
		}
		if st.Now.test(body) {
			kind = PushedTest
			st.Now.Tested++
		} else if found, err := c.engine.Pushed(vault.Store{Tx: tx}, body); err != nil {
			return err
		} else if found {
			kind = PushedWake
		} else {
			return nil
		}
		st.Now.Pushed = now.Unix()
		return c.putWake(tx, &st)
	})
	c.stored(err)
	return kind, vaultError(err)
}

// opens opens a body with the keys of a ticket.
func (s *wakeSetup) opens(body []byte, id [wake.IDSize]byte) (wake.Message, bool) {
	w, err := s.waking()
	if err != nil {
		return wake.Message{}, false
	}
	private, auth := wake.PushKeys(w.Secret, id)
	m, err := wake.Decrypt(private, auth, body)
	return m, err == nil
}

// test reports whether a body is of a test, which is then used.
func (s *wakeSetup) test(body []byte) bool {
	for i, g := range s.Tests {
		if m, ok := s.opens(body, g.ID); ok && !m.Challenge {
			s.Tests = append(s.Tests[:i:i], s.Tests[i+1:]...)
			return true
		}
	}
	return false
}

// confirm answers a challenge. From then on the endpoint is in use.
func (c *Client) confirm(ctx context.Context, s *wakeSetup, code [wake.CodeSize]byte) error {
	request, err := (&wake.Confirm{Code: code, Endpoint: s.URL}).Append(nil)
	if err != nil {
		return ErrEndpoint
	}
	r, err := c.realms.relay(s.Gateway)
	if err != nil {
		return networkError(err)
	}
	g, ok := r.(Gateway)
	if !ok {
		return ErrNoGateway
	}
	mac, err := g.ConfirmWake(ctx, request)
	if err != nil {
		return wakeError(err)
	}
	err = c.changeWake(ctx, func(st *wakeState) error {
		if st.Next == nil || st.Next.Set != s.Set {
			return nil // another was set meanwhile
		}
		st.Now, st.Next = st.Next, nil
		st.Now.MAC = mac
		return nil
	})
	c.wake() // contacts are given tickets
	return err
}

// handTickets gives contacts the tickets that they lack, a few contacts at a
// time. It reports whether there are more.
func (c *Client) handTickets(ctx context.Context) (more bool, err error) {
	err = c.update(ctx, func(tx vault.Store, now time.Time) (ch *convo.Change, err error) {
		st, err := readWake(tx.Tx)
		if err != nil || st.Sets == 0 {
			more = false
			return nil, err // there never was an endpoint
		}
		ch, more, err = c.engine.HandTickets(tx, now, handAtOnce)
		return ch, err
	})
	return more, err
}
