package commits

import (
	"fmt"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Schedule is what befalls a group in a run.
type Schedule struct {
	Name string

	people, admins, joiners int
	seconds                 int // people with two devices
	lose, double, crash     float64
	naps                    int // devices that are off for hours or days
	sleeps                  int // for weeks
	parts, rcuts            int // the network in two; devices without their relay
	conduct                 conduct
	forgets                 int
	expires                 bool // slots older than some days have lost their content
	awayFrom, awayTo        time.Duration
	burns                   int  // garbage at slots, by a member
	rogue                   bool // who is removed goes on with what it held
	half                    bool // a member makes commits that are valid for half of the others
	false                   bool // a member answers falsely
	slow                    bool // pair sessions take days
	wishes, texts           int
	active, heal, end       time.Duration
	script                  func(*world) // in place of what is drawn
}

// calm says whether the relay is honest, reachable to everybody most of the time, and
// nobody cheats: then no group is made again and no epoch has two ends.
func (s *Schedule) calm() bool {
	return s.conduct == honest && s.awayTo == 0 && s.burns == 0 && !s.half && !s.false && s.rcuts == 0
}

// Schedules are those that `--schedule all` goes through, in turn.
var Schedules = []string{
	"calm", "crash", "nap", "part", "rpart", "pairs+crash", "sleep+crash", "rogue+part+crash", "expire+sleep+crash",
	"crash+nap+part+rpart", "vanish+part+crash", "away+rpart+crash+nap", "vanish+crash+part+nap+rogue",
	"forget+rogue", "forget+rogue+crash+part+nap", "lie", "lie+rogue+part+rpart+crash", "lie+crash+part+nap",
	"burn", "burn+crash+part+nap", "slow+crash+part", "pairs+slow+crash+nap+part", "half+crash", "half+part+nap",
	"false+crash+part", "false+forget+part+nap", "chaos",
	"small+vanish+part", "small+vanish+part+crash+nap", "small+lie+crash+part+nap", "small+burn", "small+crash",
}

// ParseSchedule reads words that are joined by "+", or the name of a script.
func ParseSchedule(name string) (Schedule, error) {
	s := Schedule{Name: name, people: 6, admins: 3, joiners: 2, lose: 0.15, double: 0.05, wishes: 12, texts: 24,
		active: 6 * day, heal: 7 * day, end: 30 * day}
	if f := scripts[name]; f != nil {
		f(&s)
		return s, nil
	}
	for _, w := range strings.Split(name, "+") {
		switch w {
		case "calm":
		case "crash":
			s.crash = 0.004
		case "nap":
			s.naps = 4
		case "sleep":
			s.sleeps = 3
			s.active, s.heal, s.end = 40*day, 50*day, 75*day
		case "part":
			s.parts = 3
		case "rpart":
			s.rcuts = 3
		case "forget":
			s.conduct, s.forgets = forgets, 30
		case "lie":
			s.conduct = lies
		case "expire":
			s.expires = true
		case "away":
			s.awayFrom, s.awayTo = 2*day, 4*day
		case "vanish":
			s.awayFrom, s.awayTo = 2*day, 1<<62
		case "burn":
			s.burns = 4
		case "rogue":
			s.rogue = true
		case "half":
			s.half = true
		case "false":
			s.false = true
		case "slow":
			s.slow = true
		case "pairs":
			s.seconds = 2
		case "chaos":
			s.crash, s.naps, s.parts, s.rcuts, s.seconds, s.lose, s.double = 0.006, 6, 4, 2, 1, 0.3, 0.2
		case "small":
			s.people, s.admins, s.joiners, s.wishes, s.texts = 3, 2, 0, 3, 4
		default:
			return s, fmt.Errorf("no schedule %q", w)
		}
	}
	return s, nil
}
