package convo

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/session"
)

// Maintain does what time asks for: renews routes, drops retired ones, seals
// old rows again, ends invites, forgets what need not be known any longer. It
// may be called as often as one likes.
func (e *Engine) Maintain(tx Tx, now time.Time) (*Change, error) {
	ch := &Change{}
	devices, err := tx.Devices()
	if err != nil {
		return nil, err
	}
	for _, r := range devices {
		if err := e.maintainContact(tx, now, r, ch); err != nil {
			return nil, err
		}
	}
	if err := e.endInvites(tx, now, ch); err != nil {
		return nil, err
	}
	if err := forgetAside(tx, now); err != nil {
		return nil, err
	}
	day := now.Unix() / daySeconds
	return ch, tx.ForgetOpened(day - SeenDays)
}

func (e *Engine) maintainContact(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	routes, err := tx.RoutesOf(r.ID)
	if err != nil {
		return err
	}
	var newest int64
	for _, route := range routes {
		if route.Retired(addr.PeriodAt(now.Unix(), route.Period)) {
			if err := tx.DeleteRoute(route.ID); err != nil {
				return err
			}
			ch.Routes = ch.Routes || route.Mine
			continue
		}
		if route.Mine {
			newest = max(newest, route.Born)
		}
	}
	if !r.Kept() || r.Stop {
		return nil
	}
	if err := e.letGo(tx, now, r, ch); err != nil {
		return err
	}
	if _, err := primary(tx, r.ID); errors.Is(err, ErrBlocked) {
		ch.Meets = true // a device that was not met yet
		return nil
	} else if err != nil {
		return err
	}
	due, err := renewal(tx, r.ID, now.Unix()-newest)
	if err != nil {
		return err
	}
	if due {
		waits, err := offered(tx, r.ID)
		if err != nil {
			return err
		}
		// One that is away for a year must not leave us with fifty routes.
		if !waits {
			if err := e.offer(tx, now, r, false, ch); err != nil {
				return err
			}
		}
	}
	if err := e.upgrade(tx, now, r, ch); err != nil {
		return err
	}
	if err := e.refill(tx, now, r, ch); err != nil {
		return err
	}
	if err := e.resealOld(tx, now, r.ID, ch); err != nil {
		return err
	}
	return dropSessions(tx, r.ID, now)
}

// renewal reports whether a route of ours that was offered so many seconds ago is
// to be replaced: after RenewDays, and after HealDays if an epoch of the braid was
// completed since it was offered.
//
// spec: route.md#renewal
func renewal(tx contact.Sessions, id, age int64) (bool, error) {
	if age < HealDays*daySeconds {
		return false, nil
	}
	s, err := primary(tx, id)
	if errors.Is(err, ErrBlocked) { // none
		return age >= RenewDays*daySeconds, nil
	}
	return err == nil && (age >= RenewDays*daySeconds || s.Epoch > s.Offered), err
}

// offered reports whether an offer of a route of ours still waits for its ack.
func offered(tx Tx, id int64) (bool, error) {
	rows, err := tx.RowsOf(id)
	for _, row := range rows {
		if row.NewWay != 0 {
			return true, nil
		}
	}
	return false, err
}

// resealOld seals again what nobody acked for ResealDays: by then its keys may
// have been skipped and forgotten at the other end.
func (e *Engine) resealOld(tx Tx, now time.Time, id int64, ch *Change) error {
	rows, err := tx.RowsOf(id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Hello || !row.Sealed || now.Unix()-row.Made < ResealDays*daySeconds {
			continue
		}
		err := e.sealRow(tx, now, row, ch)
		if waits(err) {
			return nil // the old bytes stay
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropSessions keeps the primary session and the newest of the others, and none
// of an older suite once the primary one is of that age at which whatever was
// sealed before it has been sealed again.
func dropSessions(tx Tx, id int64, now time.Time) error {
	all, err := tx.SessionsOf(id)
	if err != nil {
		return err
	}
	if p := slices.IndexFunc(all, func(s *contact.SessionRecord) bool { return s.Primary }); p >= 0 && now.Unix()-all[p].Born > 2*ResealDays*daySeconds {
		suite, kept := all[p].Suite(), all[:0:0]
		for _, s := range all {
			if s.Suite() >= suite {
				kept = append(kept, s)
			} else if err := tx.DeleteSession(s.ID); err != nil {
				return err
			}
		}
		all = kept
	}
	for len(all) > sessionsKept {
		oldest := -1
		for i, s := range all {
			if !s.Primary && (oldest < 0 || s.ID < all[oldest].ID) {
				oldest = i
			}
		}
		if oldest < 0 {
			return nil
		}
		if err := tx.DeleteSession(all[oldest].ID); err != nil {
			return err
		}
		all = append(all[:oldest], all[oldest+1:]...)
	}
	return nil
}

func (e *Engine) endInvites(tx Tx, now time.Time, ch *Change) error {
	invites, err := tx.Invites()
	if err != nil {
		return err
	}
	for _, inv := range invites {
		// Nobody who takes up one of an older suite would be let in.
		older := !inv.Gone && inv.Suite < session.Suite
		if now.Unix() < inv.Expires && !older {
			continue
		}
		if inv.Gone && !inv.Delete {
			// Kept for a while so that lists can say what became of it.
			if now.Unix()-inv.Expires > 30*daySeconds {
				if err := tx.DeleteInvite(inv.ID); err != nil {
					return err
				}
			}
			continue
		}
		if err := inv.Destroy(tx, false); err != nil {
			return err
		}
		ch.Routes, ch.Invites = true, true
	}
	return nil
}

// Forget moves the secrets of every route on by at most steps periods, and
// never past two periods before the present one: what was received is older by
// then. steps counts live periods that this process has seen go by on a
// monotonic clock; no wall clock can make secrets disappear.
//
// spec: route.md#forgetting
func (e *Engine) Forget(tx Tx, now time.Time, steps uint64) error {
	devices, err := tx.Devices()
	if err != nil {
		return err
	}
	ids := []int64{0}
	for _, r := range devices {
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		routes, err := tx.RoutesOf(id)
		if err != nil {
			return err
		}
		for _, route := range routes {
			c, _, err := route.Keys()
			if err != nil {
				return err
			}
			t := addr.PeriodAt(now.Unix(), route.Period)
			if to := min(c.Base()+steps, t-min(t, 2)); to > c.Base() {
				c.Forget(to)
				route.Chain = c.Append(nil)
				if err := tx.PutRoute(route); err != nil {
					return err
				}
			}
			c.Wipe()
		}
	}
	return nil
}

// ParkDays is how long a day's secret is kept at the most: a cell is parked for
// 60 days at the longest, and the day in which it was put comes on top.
const ParkDays = 61

// ForgetDays moves the secrets of days on by at most steps days, which is how
// many this device has seen go by on a monotonic clock. Of our own routes every
// day from needed on stays, the oldest one that something may still lie parked
// in, but none for longer than ParkDays.
//
// spec: route.md#forgetting
func (e *Engine) ForgetDays(tx Tx, now time.Time, steps, needed uint64) error {
	devices, err := tx.Devices()
	if err != nil {
		return err
	}
	ids := []int64{0}
	for _, r := range devices {
		ids = append(ids, r.ID)
	}
	today := addr.DayAt(now.Unix())
	recent := today - min(today, 2) // clocks of two ends may be a day apart
	for _, id := range ids {
		routes, err := tx.RoutesOf(id)
		if err != nil {
			return err
		}
		for _, route := range routes {
			floor := recent
			if route.Mine {
				floor = max(min(recent, needed), today-min(today, ParkDays))
			}
			if err := forgetDays(tx, route, steps, floor); err != nil {
				return err
			}
		}
	}
	return nil
}

func forgetDays(tx contact.Routes, route *contact.RouteRecord, steps, floor uint64) error {
	c, _, err := route.Days()
	if errors.Is(err, contact.ErrNoDays) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Wipe()
	to := min(c.Base()+steps, floor)
	if to <= c.Base() {
		return nil
	}
	c.Forget(to)
	route.Park = c.Append(nil)
	return tx.PutRoute(route)
}
