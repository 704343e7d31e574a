package text

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrDuration is returned for what is no duration.
var ErrDuration = errors.New("not a length of time: write 90s, 30m, 2h, 7d or 1d12h")

// maxDuration bounds a duration that people write.
const maxDuration = 100 * 365 * day

const day = 24 * time.Hour

// Clock shows a time as people say it, by the clock of this place: 14:03 today,
// Mon 14:03 within six days, 3 Mar 14:03 within the year, else 2025-03-03 14:03.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case !t.Before(midnight) && t.Before(midnight.AddDate(0, 0, 1)):
		return t.Format("15:04")
	case t.Before(midnight) && !t.Before(midnight.AddDate(0, 0, -6)):
		return t.Format("Mon 15:04")
	case t.Year() == y:
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// Day shows the day of a time that lies ahead: today, tomorrow, 3 Mar or 3 Mar 2027.
func Day(t, now time.Time) string {
	t = t.In(now.Location())
	switch y, m, d := now.Date(); t.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return "today " + t.Format("15:04")
	case time.Date(y, m, d+1, 12, 0, 0, 0, now.Location()).Format(time.DateOnly):
		return "tomorrow " + t.Format("15:04")
	}
	if t.Year() == now.Year() {
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// ParseDuration reads a length of time above zero: as Go writes it, and with
// days (d, 24 hours) and weeks (w) in front.
func ParseDuration(s string) (time.Duration, error) {
	rest := strings.ToLower(strings.TrimSpace(s))
	var sum time.Duration
	for _, u := range []struct {
		name string
		is   time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		number, after, ok := strings.Cut(rest, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || time.Duration(n) > maxDuration/u.is {
			return 0, ErrDuration
		}
		sum, rest = sum+time.Duration(n)*u.is, after
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxDuration {
			return 0, ErrDuration
		}
		sum += d
	}
	if sum <= 0 || sum > maxDuration {
		return 0, ErrDuration
	}
	return sum, nil
}

// Duration shows a length of time by its largest unit or two: 7 days, 2 h 30 min.
func Duration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d >= 2*day && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	case d == day:
		return "1 day"
	case d >= 2*day:
		return fmt.Sprintf("%d days %d h", d/day, d%day/time.Hour)
	case d >= time.Hour && d%time.Hour < time.Minute:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
