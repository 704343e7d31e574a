package group

import (
	"encoding/hex"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
)

// Failed is a group in which something could not be done: what was begun there was
// undone, all other groups go on, and it is tried again.
type Failed struct {
	Group  ID
	Origin ID
	Err    error
}

// Wrong reports whether an error says that what came from somebody else, a member or a
// realm, is not right: nothing has failed here.
func Wrong(err error) bool {
	for _, e := range []error{ErrSaid, ErrWelcome, ErrUnknown, ErrBurnt, slot.ErrReceipt, roster.ErrRefused, roster.ErrWish} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// apart does something in one group so that what fails there undoes itself alone. Only
// an error that Engine.Fatal knows ends the call.
func (w *work) apart(r *Record, f func(g *group) error) (done bool, err error) {
	all := w.ch
	w.ch = &Change{}
	err = w.tx.Try(func() error {
		g, err := w.load(r.ID) // another group of its line may have changed it
		if err != nil {
			return err
		}
		return f(g)
	})
	part := w.ch
	w.ch = all
	switch {
	case err == nil:
		w.ch.add(part)
		return true, nil
	case w.Fatal != nil && w.Fatal(err):
		return false, err
	}
	w.ch.Failed = append(w.ch.Failed, Failed{Group: r.ID, Origin: r.Origin, Err: err})
	return false, nil
}

// add adds what another part of the call changed.
func (c *Change) add(o *Change) {
	c.Events = append(c.Events, o.Events...)
	c.Copies = append(c.Copies, o.Copies...)
	c.Removed = append(c.Removed, o.Removed...)
	c.Words = append(c.Words, o.Words...)
	c.Slots = append(c.Slots, o.Slots...)
	c.Heard = append(c.Heard, o.Heard...)
	c.Failed = append(c.Failed, o.Failed...)
	c.Meets = append(c.Meets, o.Meets...)
	c.Routes = c.Routes || o.Routes
	if !o.Next.IsZero() && (c.Next.IsZero() || o.Next.Before(c.Next)) {
		c.Next = o.Next
	}
}

// Manifests that a group could not take wait in notes: nobody says them again, and a
// revocation must not be lost.

const laterNotes = "later/manifest/"

func laterNote(id ID, root key.SignPublic) string {
	return laterNotes + hex.EncodeToString(id[:]) + "/" + hex.EncodeToString(root[:])
}

// later tries again what groups could not take of manifests.
func (w *work) later() error {
	names, err := w.tx.Notes(laterNotes)
	if err != nil {
		return err
	}
	for _, n := range names {
		var id ID
		raw, err := w.tx.Note(n)
		if err != nil {
			return err
		}
		m, err := manifest.Parse(raw)
		if _, bad := hex.Decode(id[:], []byte(n[len(laterNotes):][:2*len(id)])); err != nil || bad != nil {
			return errors.Join(ErrUnknown, err, bad)
		}
		r, err := w.tx.Group(id)
		gone := errors.Is(err, ErrUnknown)
		if err != nil && !gone {
			return err
		}
		done := gone || r.State == Out || r.State == Replaced
		if !done {
			if done, err = w.apart(r, func(g *group) error { return g.hearManifest(m) }); err != nil {
				return err
			}
		}
		if done {
			if err := w.tx.DeleteNotes(n); err != nil {
				return err
			}
		}
	}
	return nil
}
