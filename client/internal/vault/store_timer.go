package vault

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
)

// Texts that disappear. Meta, from timerBase on: id = timerBase + sequence number of
// the event; A = 3; B = when its time is over, by the vault's own clock, 0 as long as
// it does not run; V = its timer in seconds, 4 bytes. Meta, id ageID: the clock.

const (
	timerBase = 1 << 34
	ageID     = timerBase - 1
	timerA    = int64(3)
	// maxAway is how much of the time between two processes the clock counts, in
	// seconds. A clock on the wall that jumped and a device that was off look the same.
	maxAway = 24 * 60 * 60
	// goneKept is how long the name of a text that disappeared is known, in seconds: as
	// long as somebody may send it again.
	goneKept = convo.SeenDays * 24 * 60 * 60
)

// aging is the vault's own clock. It never goes back, goes by what elapses while a
// process has the vault open, and between two of them by the clock on the wall. It
// belongs to whoever has the turn.
type aging struct {
	base  int64         // seconds, when it was read
	from  time.Time     // when that was: its monotonic reading counts
	slept time.Duration // of the machine, by then
}

type agingForm struct {
	Clock int64 `cbor:"1,keyasint"` // seconds
	Wall  int64 `cbor:"2,keyasint"` // unix seconds when it was written
}

// Age returns the vault's own clock in seconds, at least 1.
//
// spec: vault.md#own-clock
func (s Store) Age() (int64, error) {
	v := s.v
	if v.aging == nil {
		var f agingForm
		_, found, err := s.get(Meta, ageID, &f)
		if err != nil {
			return 0, err
		}
		a := &aging{base: 1, from: time.Now(), slept: slept()}
		if found {
			a.base = f.Clock + max(0, min(a.from.Unix()-f.Wall, maxAway))
		}
		v.aging = a
	}
	return v.aging.base + int64((time.Since(v.aging.from)+max(0, slept()-v.aging.slept))/time.Second), nil
}

// keepAge writes the clock down and returns it.
func (s Store) keepAge() (int64, error) {
	age, err := s.Age()
	if err != nil {
		return 0, err
	}
	id := int64(ageID)
	return age, s.put(Meta, &id, 0, 0, nil, &agingForm{Clock: age, Wall: time.Now().Unix()})
}

// SetTimer implements convo.Timers.
func (s Store) SetTimer(seq int64, timer uint32, runs bool) error {
	end := int64(0)
	if runs {
		age, err := s.keepAge()
		if err != nil {
			return err
		}
		end = age + int64(timer)
	}
	return s.putTimer(seq, timer, end)
}

func (s Store) putTimer(seq int64, timer uint32, end int64) error {
	s.v.timed.Store(true)
	return s.Put(Meta, Row{ID: timerBase + seq, A: timerA, B: end, V: binary.BigEndian.AppendUint32(nil, timer)})
}

// RunTimers implements convo.Timers.
func (s Store) RunTimers(contact, upTo int64) error {
	age := int64(0)
	return s.Each(Meta, Query{A: ptr(timerA), BFrom: ptr(0), BTo: ptr(0), AfterID: timerBase, BeforeID: timerBase + upTo + 1}, func(row Row) error {
		ev, found, err := s.Get(Event, row.ID-timerBase)
		if err != nil || !found || ev.A != contact {
			return err
		}
		if age == 0 {
			if age, err = s.keepAge(); err != nil {
				return err
			}
		}
		timer, err := timerOf(row)
		if err != nil {
			return err
		}
		return s.putTimer(ev.ID, timer, age+int64(timer))
	})
}

func timerOf(row Row) (uint32, error) {
	if len(row.V) != 4 {
		return 0, ErrDamaged
	}
	return binary.BigEndian.Uint32(row.V), nil
}

// Timed reports whether a timer was set since it was asked last.
func (v *Vault) Timed() bool { return v.timed.Swap(false) }

// HasTimers reports whether any text is to disappear.
func (s Store) HasTimers() (bool, error) {
	n, err := s.Count(Meta, Query{A: ptr(timerA)})
	return n > 0, err
}

// TimerLeft returns how many seconds an event has left, and whether they run.
func (s Store) TimerLeft(seq int64) (left int64, runs bool, err error) {
	row, found, err := s.Get(Meta, timerBase+seq)
	if err != nil || !found || row.B == 0 {
		return 0, false, err
	}
	age, err := s.Age()
	return max(0, row.B-age), true, err
}

// UnpackTimer sets the timer of an event that came in a pack.
func (s Store) UnpackTimer(e *convo.Event) error {
	timer := e.Timer
	if timer == 0 && e.Kind != convo.Gone {
		return nil
	}
	if e.Rest == 0 && !e.Out && e.Kind != convo.Gone {
		return s.putTimer(e.Seq, timer, 0)
	}
	age, err := s.keepAge()
	if err != nil {
		return err
	}
	left := int64(timer)
	switch {
	case e.Rest > 0:
		left = int64(e.Rest) - 1
	case e.Kind == convo.Gone:
		left = goneKept
	}
	return s.putTimer(e.Seq, timer, age+left)
}

// Vanish deletes what is over of texts, but those that waits says are still to reach
// somebody (they are looked at again), and returns their sequence numbers. In conversations of two the name of a
// text is known for as long as it may come again. next is in how many seconds there is
// more to do; 0: never, as it stands.
//
// spec: vault.md#own-clock
func (s Store) Vanish(waits func(*convo.Event) (bool, error)) (gone []int64, next int64, err error) {
	if n, err := s.Count(Meta, Query{A: ptr(timerA)}); err != nil || n == 0 {
		return nil, 0, err
	}
	age, err := s.keepAge()
	if err != nil {
		return nil, 0, err
	}
	err = s.Each(Meta, Query{A: ptr(timerA), BFrom: ptr(1), BTo: ptr(age), AfterID: timerBase}, func(row Row) error {
		seq := row.ID - timerBase
		timer, err := timerOf(row)
		if err != nil {
			return err
		}
		raw, found, err := s.Get(Event, seq)
		if err != nil {
			return err
		}
		e := &convo.Event{}
		if found {
			if err := decode(Event, raw, e); err != nil {
				return err
			}
			e.Seq, e.Contact = seq, raw.A
		}
		if !found || e.Kind == convo.Gone {
			return errors.Join(s.Delete(Event, seq), s.Delete(Meta, row.ID))
		}
		if wait, err := waits(e); err != nil {
			return err
		} else if wait {
			return s.putTimer(seq, timer, age+max(5, min(int64(timer)/60, 300)))
		}
		gone = append(gone, seq)
		if _, named := e.Name(); e.Contact < 0 || !named {
			return errors.Join(s.Delete(Event, seq), s.Delete(Meta, row.ID))
		}
		left := &convo.Event{Seq: seq, Contact: e.Contact, Kind: convo.Gone, Out: e.Out, Message: e.Message, From: e.From, Seen: true, State: convo.OnDevice}
		h, _ := e.Name()
		return errors.Join(s.put(Event, &left.Seq, left.Contact, 0, h[:], left), s.putTimer(seq, timer, age+goneKept))
	})
	if err != nil {
		return nil, 0, err
	}
	first, ok, err := s.v.db.number("SELECT min(b) FROM "+string(Meta)+" WHERE a = ? AND b > 0", timerA)
	if err != nil || !ok || first == 0 {
		return gone, 0, err
	}
	return gone, max(1, first-age), nil
}
