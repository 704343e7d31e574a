package vault

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

const hour = 60 * 60

// fleeting keeps a text that is to disappear, in a group's conversation or of a contact.
func fleeting(t *testing.T, v *Vault, text string, timer uint32, inGroup, runs bool) (seq int64) {
	t.Helper()
	origin := group.ID{7}
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		e := &convo.Event{Kind: convo.Text, Contact: 1, Text: text, Timer: timer, Message: wire.MessageID([]byte(text)[:8]), From: key.SignPublic{5}}
		var err error
		if inGroup {
			if _, err := s.Line(origin); errors.Is(err, group.ErrUnknown) {
				if err := s.PutLine(&Line{Origin: origin}); err != nil {
					return err
				}
			}
			err = s.PutGroupEvent(origin, e)
		} else {
			err = s.PutEvent(e)
		}
		seq = e.Seq
		return errors.Join(err, s.SetTimer(seq, timer, runs))
	})
	return seq
}

func vanish(t *testing.T, v *Vault, waits bool) (gone []int64) {
	t.Helper()
	update(t, v, func(tx *Tx) (err error) {
		gone, _, err = Store{tx}.Vanish(func(*convo.Event) (bool, error) { return waits, nil })
		return err
	})
	return gone
}

// holds says whether any row of the vault has a text in it.
func holds(t *testing.T, v *Vault, text string) (found bool) {
	t.Helper()
	view(t, v, func(tx *Tx) error {
		for _, table := range tables() {
			if err := tx.Each(table, Query{}, func(r Row) error {
				found = found || strings.Contains(string(r.V), text)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return found
}

// rewind writes the clock down as if the clock on the wall had been elsewhere then.
func rewind(t *testing.T, v *Vault, wall time.Duration) {
	t.Helper()
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		age, err := s.keepAge()
		id := int64(ageID)
		return errors.Join(err, s.put(Meta, &id, 0, 0, nil, &agingForm{Clock: age, Wall: time.Now().Add(wall).Unix()}))
	})
}

func TestATextDisappearsWhenItsTimeIsOver(t *testing.T) {
	for _, inGroup := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			v, _ := newVault(t)
			seq := fleeting(t, v, "for one hour", hour, inGroup, false)
			stays := fleeting(t, v, "for two hours", 2*hour, inGroup, false)
			time.Sleep(100 * time.Hour) // nobody read them
			if gone := vanish(t, v, false); len(gone) != 0 {
				t.Fatalf("not read: %v went", gone)
			}
			update(t, v, func(tx *Tx) error {
				e, err := Store{tx}.Event(stays)
				return errors.Join(err, Store{tx}.RunTimers(e.Contact+100, stays)) // another conversation was read
			})
			time.Sleep(100 * time.Hour)
			if gone := vanish(t, v, false); len(gone) != 0 {
				t.Fatalf("another conversation was read: %v went", gone)
			}
			update(t, v, func(tx *Tx) error {
				e, err := Store{tx}.Event(stays)
				return errors.Join(err, Store{tx}.RunTimers(e.Contact, stays))
			})
			time.Sleep(hour*time.Second - 2*time.Second)
			if gone := vanish(t, v, false); len(gone) != 0 {
				t.Fatalf("two seconds early: %v went", gone)
			}
			time.Sleep(3 * time.Second)
			if gone := vanish(t, v, true); len(gone) != 0 || !holds(t, v, "for one hour") {
				t.Fatalf("it waits for an ack: %v went", gone)
			}
			time.Sleep(10 * time.Minute)
			if gone := vanish(t, v, false); len(gone) != 1 || gone[0] != seq {
				t.Fatalf("got %v, want %d alone", gone, seq)
			}
			if holds(t, v, "for one hour") || !holds(t, v, "for two hours") {
				t.Error("the wrong text is in the vault")
			}
			view(t, v, func(tx *Tx) error {
				if _, err := (Store{tx}).Event(seq); !errors.Is(err, convo.ErrGone) {
					t.Errorf("got %v, want ErrGone", err)
				}
				n := 0
				err := Store{tx}.Events(0, 0, func(*convo.Event) error { n++; return nil })
				if n != 1 {
					t.Errorf("%d texts are shown, want 1", n)
				}
				return err
			})
		})
	}
}

// TestATextThatDisappearedIsKnownAgain: a copy of it that comes late, from another
// device of ours, must not be shown a second time.
func TestATextThatDisappearedIsKnownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _ := newVault(t)
		fleeting(t, v, "between us", 60, false, true)
		time.Sleep(time.Hour)
		vanish(t, v, false)
		name := convo.TextName(key.SignPublic{5}, wire.MessageID([]byte("between us")[:8]))
		named := func() (e *convo.Event, err error) {
			view(t, v, func(tx *Tx) error { e, err = Store{tx}.Named(name); return nil })
			return e, err
		}
		if e, err := named(); err != nil || e.Kind != convo.Gone || e.Text != "" {
			t.Fatalf("got %+v, %v, want its name alone", e, err)
		}
		time.Sleep(goneKept*time.Second + time.Hour)
		vanish(t, v, false)
		if e, err := named(); !errors.Is(err, convo.ErrGone) {
			t.Errorf("months later: got %+v, %v, want nothing", e, err)
		}
		view(t, v, func(tx *Tx) error {
			if any, err := (Store{tx}).HasTimers(); any || err != nil {
				t.Errorf("a timer is left: %v", err)
			}
			return nil
		})
	})
}

// TestNoClockMakesTextsDisappear: between two processes the clock on the wall counts a
// day at most, and never back.
func TestNoClockMakesTextsDisappear(t *testing.T) {
	for name, c := range map[string]struct {
		wall time.Duration // where the clock on the wall was, seen from now
		away time.Duration
		want int // of one hour, of a day and a half, of a week
	}{
		"off for ten minutes":      {0, 10 * time.Minute, 0},
		"off for two hours":        {0, 2 * time.Hour, 1},
		"off for a month":          {0, 30 * 24 * time.Hour, 1},
		"jumped twenty years on":   {-20 * 365 * 24 * time.Hour, time.Minute, 1},
		"jumped twenty years back": {20 * 365 * 24 * time.Hour, 2 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, dir := newVault(t)
				for _, timer := range []uint32{hour, 36 * hour, 7 * 24 * hour} {
					fleeting(t, v, "a text of a group", timer, true, true)
				}
				rewind(t, v, c.wall)
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.away)
				v = openVault(t, dir)
				defer v.Close()
				if gone := vanish(t, v, false); len(gone) != c.want {
					t.Fatalf("got %d gone, want %d", len(gone), c.want)
				}
				time.Sleep(13 * 24 * time.Hour) // in which a process has it open
				if gone := vanish(t, v, false); len(gone) != 3-c.want {
					t.Errorf("after days of running: got %d more, want %d", len(gone), 3-c.want)
				}
			})
		})
	}
}

// TestATimerComesWithThePack: what is left of it goes over, and no more.
func TestATimerComesWithThePack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _ := newVault(t)
		seq := fleeting(t, v, "it is read", hour, true, true)
		unread := fleeting(t, v, "it is not", hour, true, false)
		time.Sleep(40 * time.Minute)
		other, _ := newVault(t)
		for _, of := range []int64{seq, unread} {
			var e *convo.Event
			view(t, v, func(tx *Tx) (err error) {
				s := Store{tx}
				if e, err = s.Event(of); err != nil {
					return err
				}
				left, runs, err := s.TimerLeft(of)
				if runs != (of == seq) {
					t.Errorf("%d runs: %v", of, runs)
				}
				if runs {
					e.Rest = 1 + uint32(left)
				}
				return err
			})
			update(t, other, func(tx *Tx) error { return errors.Join(Store{tx}.PutEvent(e), Store{tx}.UnpackTimer(e)) })
		}
		time.Sleep(19 * time.Minute)
		if gone := vanish(t, other, false); len(gone) != 0 {
			t.Fatalf("a minute early: %v went", gone)
		}
		time.Sleep(2 * time.Minute)
		if gone := vanish(t, other, false); len(gone) != 1 || gone[0] != seq {
			t.Errorf("got %v, want %d alone", gone, seq)
		}
	})
}
