package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Boundaries by when they are crossed.
var (
	meeting = []string{client.BoundaryInviteCommitted, client.BoundaryHelloCommitted} // before two people have met
	answers = []string{client.BoundaryOfferAnswered, client.BoundaryOfferNoted}       // unless an ack is quicker

	// What two people who are there together, on a relay that neither parks nor
	// wants tokens, do not cross: TestChaosOfParking, TestChaosOfGroups, and package client.
	elsewhere = []string{client.BoundaryParkSealed, client.BoundaryParkAnswered, client.BoundaryParkNoted, client.BoundaryTakenArrived, client.BoundaryTakenCommitted,
		client.BoundaryGroupCommitted, client.BoundaryGroupPut, client.BoundarySlotAsked, client.BoundarySlotAnswered, client.BoundarySlotCommitted,
		client.BoundaryTokenTaken, client.BoundaryBatchAsked, client.BoundaryBatchStored, client.BoundaryMemberJoined}

	inviting  = []string{client.BoundaryInviteCommitted, client.BoundaryOfferSealed, client.BoundaryCellArrived, client.BoundaryCellCommitted, client.BoundaryRowRemoved, client.BoundarySendCommitted}
	accepting = []string{client.BoundaryHelloCommitted, client.BoundaryOfferSealed, client.BoundaryCellArrived, client.BoundaryCellCommitted, client.BoundaryRowRemoved, client.BoundaryAckSealed, client.BoundaryAckPut}
)

// TestChaosAtEveryBoundary lets both people kill themselves at every commit
// boundary of a conversation that goes on, at several crossings of each,
// while cells arrive more than once.
func TestChaosAtEveryBoundary(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 kill at every boundary: short")
	}
	// Not all at once: several crossings of one boundary need several acks.
	d := raise(t, StageOptions{AckMean: 50 * time.Millisecond}, 0, 100*time.Millisecond)
	d.Tap.Play(Mischief{Repeat: 0.05}) // nothing else: every boundary must come soon
	for _, b := range client.Boundaries() {
		if slices.Contains(meeting, b) || slices.Contains(elsewhere, b) {
			continue
		}
		for nth := range whole(1, 3) {
			d.fall(Fall{Boundary: b, Nth: nth + 1})
		}
	}
	for _, k := range d.talks {
		<-k.done // or it would say the rest twice
		if !k.from.Running() {
			if err := k.from.Start(d.ctx, Fall{}); err != nil {
				t.Fatal(err)
			}
		}
		k.begin(d.ctx)
	}
	d.calm()
	d.reckon()
}

// fall lets both kill themselves at a boundary while they have something to
// say, and starts them again.
func (d *drama) fall(f Fall) {
	d.t.Helper()
	for i, k := range d.talks {
		for range 4*f.Nth + 2 {
			k.texts = append(k.texts, fmt.Sprintf("%d: message %d", i, len(k.texts)))
		}
		k.from.Kill()
	}
	var wg sync.WaitGroup
	for i, k := range d.talks {
		if slices.Contains(answers, f.Boundary) { // one after the other, while nobody is there to ack
			wg.Wait()
			d.talks[1-i].from.Kill()
		}
		wg.Go(func() {
			if err := k.fall(d.ctx, f); err != nil {
				d.t.Errorf("%s, killed at %q, crossing %d: %v", k.from.Name, f.Boundary, f.Nth, err)
			}
		})
	}
	wg.Wait()
	d.kills += len(d.talks)
	if d.t.Failed() {
		d.t.FailNow()
	}
}

func (k *talk) fall(ctx context.Context, f Fall) error {
	if k.done != nil {
		<-k.done
	}
	if err := k.from.Start(ctx, f); err != nil {
		return err
	}
	k.begin(ctx)
	select {
	case <-k.from.Over():
	case <-time.After(30 * time.Second):
		return errors.New("it was not crossed")
	}
	<-k.done // or the next process could be asked in its place
	if err := k.from.Start(ctx, Fall{}); err != nil {
		return err
	}
	k.begin(ctx)
	return nil
}

// TestChaosOfFirstContact lets one of two people kill themselves at a boundary
// while they meet.
func TestChaosOfFirstContact(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 kill at every boundary of a first contact: short")
	}
	for victim, boundaries := range [][]string{inviting, accepting} {
		for _, b := range boundaries {
			for nth := range whole(1, 3) {
				if nth > 0 && !slices.Contains([]string{client.BoundaryCellArrived, client.BoundaryCellCommitted}, b) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s %d", [...]string{"inviting", "accepting"}[victim], b, nth+1), func(t *testing.T) {
					t.Parallel()
					meet(t, victim, Fall{Boundary: b, Nth: nth + 1})
				})
			}
		}
	}
}

// meet lets two people meet, one of whom falls, and wants them to have met once.
func meet(t *testing.T, victim int, f Fall) {
	ctx, stop := context.WithTimeout(t.Context(), homeWithin)
	defer stop()
	s, err := Raise(ctx, StageOptions{AckMean: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	who := []*Person{s.Ada, s.Bob}[victim]
	who.Kill()
	if err := who.Start(ctx, f); err != nil {
		t.Fatal(err)
	}
	over, rise := context.WithTimeout(ctx, 2*time.Minute)
	defer rise()
	fell := make(chan error, 1)
	go func() {
		select {
		case <-who.Over():
			fell <- who.Start(ctx, Fall{})
		case <-over.Done():
			fell <- errors.New("boundary was not crossed")
		}
	}()
	const hello, answer = "hello Ada", "hello Bob"
	if err := s.meetAnyhow(over, hello, answer); err != nil {
		t.Errorf("%v; Ada: %v; Bob: %v", err, s.Ada.Events(), s.Bob.Events())
	}
	if err := <-fell; err != nil {
		t.Error(err)
	}
	if !t.Failed() {
		met(ctx, t, s, hello, answer)
	}
}

// met wants two people to have met once, whatever happened.
func met(ctx context.Context, t *testing.T, s *Stage, hello, answer string) {
	t.Helper()
	for _, c := range []struct {
		p         *Person
		said, got string
	}{{s.Ada, answer, hello}, {s.Bob, hello, answer}} {
		if _, err := c.p.Await(ctx, 30*time.Second, func(e client.Event) bool { return e.Text == c.said && e.State == client.OnDevice }); err != nil {
			t.Errorf("%q of %s was not acked: %v", c.said, c.p.Name, err)
		}
		events, err := c.p.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := count(events, c.said, true, client.OnDevice); n != 1 {
			t.Errorf("%s: got %d of %q as on their device, want 1", c.p.Name, n, c.said)
		}
		if n := count(events, c.got, false, client.Received); n != 1 {
			t.Errorf("%s: got %d of %q as received, want 1", c.p.Name, n, c.got)
		}
		q, err := c.p.ask(ctx, ask{Do: "contacts"})
		if err != nil || len(q.Contacts) != 1 || q.Contacts[0].State != "accepted" {
			t.Errorf("%s: got contacts %+v, %v, want one that is accepted", c.p.Name, q.Contacts, err)
		}
	}
}

// meetAnyhow makes two people meet although one of them may be killed at any
// moment: what was not answered is looked up, and done again if it was not done.
func (s *Stage) meetAnyhow(ctx context.Context, hello, answer string) error {
	link := ""
	err := again(ctx, func() (err error) {
		t, err := s.Ada.ask(ctx, ask{Do: "invites"})
		if link = t.Text; err == nil && link == "" {
			link, err = s.Ada.Invite(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("inviting: %w", err)
	}
	err = again(ctx, func() error {
		t, err := s.Bob.ask(ctx, ask{Do: "contacts"})
		if err == nil && len(t.Contacts) == 0 {
			err = s.Bob.Accept(ctx, link, "ada", hello)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("accepting: %w", err)
	}
	return again(ctx, func() error {
		t, err := s.Ada.ask(ctx, ask{Do: "contacts"})
		if err != nil {
			return err
		}
		if len(t.Contacts) == 0 {
			return errors.New("the hello did not arrive")
		}
		_, err = s.Ada.ask(ctx, ask{Do: "talk", Who: t.Contacts[0].Name, Texts: []string{answer}})
		return err
	})
}

// again does something until it succeeds.
func again(ctx context.Context, f func() error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
