package client

import (
	"bytes"
	"encoding/hex"
	"errors"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Times and bounds of introductions between members of a group.
const (
	meetFirst  = time.Minute        // until an introduction is given again, then twice as long
	meetAgain  = 6 * time.Hour      // at the most
	meetLife   = 5 * 24 * time.Hour // of one introduction, then another is made: its route is served for longer
	meetAtOnce = 8                  // given in one transaction
	meetPause  = 2 * time.Second    // between two of them
	// wordsWaiting is how many words may wait for a device without a session. The engine
	// says again what is not done.
	wordsWaiting = 16
)

// meeting is an introduction that a member's device was given.
type meeting struct {
	At    int64  `cbor:"1,keyasint"` // unix seconds when it is given again
	Tries int    `cbor:"2,keyasint"`
	Made  int64  `cbor:"3,keyasint"`
	Raw   []byte `cbor:"4,keyasint"`
}

const meetNotes = "meet/"

func meetNote(d group.Device) string { return meetNotes + hex.EncodeToString(d[:]) }

// offers reports which of two devices gives the other an introduction, so that they
// begin one session and not two: the one with the smaller name.
//
// spec: hello.md#introductions
func (g *groups) offers(to group.Device) bool {
	me := g.c.engine.Self.Name()
	return bytes.Compare(me[:], to[:]) < 0
}

// introduce gives introductions to members' devices with which there is no session,
// and forgets those that are not needed any more. It returns when it wants to be called
// again.
func (g *groups) introduce(tx vault.Store, now time.Time) (ch *convo.Change, next time.Time, err error) {
	ch, next = &convo.Change{}, now.Add(groupLook)
	unmet, err := g.engine.Unmet(tx, func(root key.SignPublic, d group.Device) (bool, error) { return convo.HasSession(tx, root, d) })
	if err != nil {
		return nil, next, err
	}
	wanted, given := map[string]bool{}, 0
	for _, u := range unmet {
		if !g.offers(u.Device) {
			continue
		}
		name := meetNote(u.Device)
		wanted[name] = true
		m := meeting{}
		if raw, err := tx.Note(name); err == nil {
			if cbor.Unmarshal(raw, &m) != nil {
				return nil, next, vault.ErrDamaged
			}
		} else if !errors.Is(err, group.ErrUnknown) {
			return nil, next, err
		}
		at := time.Unix(m.At, 0)
		if at.After(now) {
			if at.Before(next) {
				next = at
			}
			continue
		}
		if given++; given > meetAtOnce {
			next = now.Add(meetPause)
			continue
		}
		at, err := g.give(tx, now, u, &m, ch)
		if err != nil {
			return nil, next, err
		}
		if at.Before(next) {
			next = at
		}
	}
	names, err := tx.Notes(meetNotes)
	if err != nil {
		return nil, next, err
	}
	for _, n := range names {
		if !wanted[n] {
			if err := tx.DeleteNotes(n); err != nil {
				return nil, next, err
			}
		}
	}
	return ch, next, nil
}

// give gives one introduction, and says when it is to be given again.
func (g *groups) give(tx vault.Store, now time.Time, u group.Unmet, m *meeting, ch *convo.Change) (time.Time, error) {
	if now.Unix()-m.Made >= int64(meetLife/time.Second) {
		raw, more, err := g.bundle(tx, now, u)
		if err != nil {
			return now, err
		}
		m.Raw, m.Made = raw, now.Unix()
		merge(ch, more)
	}
	if m.Raw != nil {
		gch, err := g.engine.Introduce(tx, now, u.Group, u.Device, m.Raw)
		switch {
		case err == nil:
			g.note(gch)
		case errors.Is(err, group.ErrBusy), errors.Is(err, group.ErrLeft), errors.Is(err, group.ErrUnknown): // later
		default:
			return now, err
		}
	}
	wait := min(meetFirst<<min(m.Tries, 16), meetAgain)
	wait += time.Duration(g.c.uniform() * float64(wait) / 2)
	m.Tries++
	at := now.Add(wait)
	m.At = at.Unix()
	raw, err := cbor.Marshal(m)
	if err != nil {
		return now, err
	}
	return at, tx.PutNote(meetNote(u.Device), raw)
}

// bundle makes an introduction. nil: with that device nothing is to be begun.
func (g *groups) bundle(tx vault.Store, now time.Time, u group.Unmet) ([]byte, *convo.Change, error) {
	m, place, err := g.engine.Shown(tx, u.Root, u.Device)
	if errors.Is(err, group.ErrUnknown) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	raw, ch, err := g.c.engine.Bundle(tx, now, m, place)
	if unwilling(err) {
		return nil, nil, nil
	}
	return raw, ch, err
}

// unwilling reports whether an error says that there is nothing to begin with a
// member: they are blocked, or about to be a contact, or the device is none any more.
func unwilling(err error) bool {
	return errors.Is(err, contact.ErrState) || errors.Is(err, contact.ErrHello) || errors.Is(err, contact.ErrSelf)
}

// meets takes up introductions that members gave. What is not theirs or not well-formed
// is passed over.
func (g *groups) meets(tx vault.Store, now time.Time, all []group.Meeting, ch *convo.Change) error {
	for _, m := range all {
		more, err := g.c.engine.Meet(tx, now, m.Root, m.Device, m.Introduction)
		if errors.Is(err, contact.ErrIntroduction) || unwilling(err) {
			continue
		}
		if err != nil {
			return err
		}
		merge(ch, more)
	}
	return nil
}

// expect finds the record of a device for which the engine has a word, or makes a place
// for a member's who is not known yet: the word waits there until there is a session.
// nil: nothing is said to it.
func (g *groups) expect(tx vault.Store, now time.Time, w *group.Word) (*contact.Record, error) {
	r, err := deviceOf(tx, w.Root, w.To)
	if err != nil {
		return nil, err
	}
	if r == nil {
		m, place, err := g.engine.Shown(tx, w.Root, w.To)
		if errors.Is(err, group.ErrUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if r, err = g.c.engine.Expect(tx, now, m, place); unwilling(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	met, err := convo.HasSession(tx, w.Root, w.To)
	if err != nil || met {
		return r, err
	}
	rows, err := tx.RowsOf(r.ID)
	if err != nil || len(rows) >= wordsWaiting {
		return nil, err
	}
	return r, nil
}

// changesMembers reports whether an event may be about somebody who is to be met.
func changesMembers(e *group.Event) bool {
	return e.Kind == group.EventJoined || e.Kind == group.EventMembers && (e.Wish == roster.Add || e.Wish == roster.ReAdd)
}
