package text

import (
	"testing"
	"time"
)

func TestClockIsShortAndLocal(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	now := time.Date(2026, 3, 10, 9, 30, 0, 0, zone) // a Tuesday
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "09:30"},
		{time.Date(2026, 3, 9, 22, 30, 0, 0, time.UTC), "00:30"}, // today, there
		{time.Date(2026, 3, 9, 23, 59, 0, 0, zone), "Mon 23:59"},
		{time.Date(2026, 3, 4, 0, 0, 0, 0, zone), "Wed 00:00"},
		{time.Date(2026, 3, 3, 23, 59, 0, 0, zone), "3 Mar 23:59"},
		{time.Date(2025, 12, 31, 8, 0, 0, 0, zone), "2025-12-31 08:00"},
		{time.Date(2026, 3, 11, 8, 0, 0, 0, zone), "11 Mar 08:00"}, // their clock is wrong
		{time.Date(2027, 1, 1, 8, 0, 0, 0, zone), "2027-01-01 08:00"},
	} {
		if got := Clock(c.at, now); got != c.want {
			t.Errorf("Clock(%v): got %q, want %q", c.at, got, c.want)
		}
	}
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(time.Hour), "today 10:30"},
		{now.Add(24 * time.Hour), "tomorrow 09:30"},
		{now.Add(7 * 24 * time.Hour), "17 Mar"},
		{now.Add(365 * 24 * time.Hour), "10 Mar 2027"},
	} {
		if got := Day(c.at, now); got != c.want {
			t.Errorf("Day(%v): got %q, want %q", c.at, got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		say  string
	}{
		{"90s", 90 * time.Second, "1 min 30 s"},
		{"2h", 2 * time.Hour, "2 h"},
		{"2H", 2 * time.Hour, "2 h"},
		{" 7d ", 7 * day, "7 days"},
		{"1d", day, "1 day"},
		{"1d12h", 36 * time.Hour, "36 h"},
		{"2w", 14 * day, "14 days"},
		{"1w2d3h30m", 9*day + 3*time.Hour + 30*time.Minute, "9 days 3 h"},
		{"45m", 45 * time.Minute, "45 min"},
		{"1h30m", 90 * time.Minute, "1 h 30 min"},
		{"5s", 5 * time.Second, "5 s"},
	} {
		got, err := ParseDuration(c.in)
		if err != nil || got != c.want {
			t.Errorf("ParseDuration(%q): got %v, %v, want %v", c.in, got, err, c.want)
		}
		if say := Duration(got); say != c.say {
			t.Errorf("Duration(%v): got %q, want %q", got, say, c.say)
		}
	}
	for _, in := range []string{"", "0", "0d", "7", "d", "-1h", "-1d", "1.5d", "1d-1h", "1h1d", "2d1w", "1y", "99999999w", "65535w", "1e9h", "soon", "1d 2h!"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q): got %v, want an error", in, got)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	f.Add("1w2d3h30m")
	f.Add("-1d")
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil && (d <= 0 || d > maxDuration) {
			t.Errorf("ParseDuration(%q): got %v, out of bounds", s, d)
		}
	})
}
