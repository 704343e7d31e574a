package budget

import (
	"encoding/json"
	"fmt"
	"io"
)

// Options say what is laid out.
type Options struct {
	Rules
	Realm int // devices
	Runs  int // days that are drawn for each row
}

// All returns a report for each preset and profile.
func (o Options) All() (all []Report) {
	for i := range Presets(Profiles()[0]) {
		for _, p := range Profiles() {
			all = append(all, Measure(p, Presets(p)[i], o.Rules, o.Realm, o.Runs))
		}
	}
	return all
}

// WriteJSON writes reports with all their figures.
func WriteJSON(w io.Writer, all []Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// Write writes reports as a table of at most 100 columns.
func (o Options) Write(w io.Writer, all []Report) error {
	_, err := fmt.Fprintf(w, `A day of one device in a realm of %d: a model. Programs were held against it for pairs in
"everyday"; groups, several devices, quiet and silent are design. CPU: part of two cores that
10,000 such devices need; opening: while the sets of one live period are opened.

                       MB a month    tokens a day  conns        radio     CPU at 10k  pair delay
preset       person    all  pings    used   class  a day  wakes hours   mean opening   p50   p95
`, o.Realm)
	last := ""
	for i := range all {
		r := &all[i]
		name := ""
		if r.Preset != last {
			name, last = r.Preset, r.Preset
		}
		mark := " "
		if !r.ClassFits {
			mark = "!"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-12s %-7s %5.0f %6.0f  %6.0f %6d%s %6.0f %6.0f %5.1f %4.0f %% %5.0f %% %6s %5s\n", name, r.Profile, r.Monthly(), r.PingBytes*30/1e6,
				r.Tokens(), r.Class, mark, r.Connections, r.RadioWakes, r.RadioHours, 100*r.Share(10_000), 100*r.Peak*10_000/float64(o.Realm), delay(r.Pair50), delay(r.Pair95))
		}
	}
	if err == nil {
		_, err = fmt.Fprintln(w, "\n! beyond the largest class. Delay: for how long the device holds a message back.")
	}
	return err
}

// delay is for how long a device holds a message back, for people.
func delay(seconds float64) string {
	switch {
	case seconds < 1:
		return "0"
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 6000:
		return fmt.Sprintf("%.0f m", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}
