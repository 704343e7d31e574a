package leak

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Trace is what a relay saw, with the truth beside it for scoring.
type Trace struct {
	Conns  []*Conn
	Begin  time.Duration // of what attacks look at: before it people get to know each other
	End    time.Duration
	People int
	Sent   int     // messages that people wrote
	Groups [][]int // who is in which group: the truth
	Said   []Said  // in groups

	first int64 // live period in which the recorder began, at its first second
}

const (
	watchPath = "/v1/watch"
	putPath   = "/v1/put"
	realmPath = "/v1/realm"
	period    = livePeriod * time.Second
)

// Session is what a relay sees as one: the connections of one period that have an
// address in common, since a connection that breaks is opened again with its set.
type Session struct {
	Period int64 // from the recorder's first
	From   netip.Addr
	Conns  []*Conn // in the order of their opening
	Size   int     // of the first set, in addresses
	Cells  []time.Duration
	Asked  bool // for the descriptor, by its network address and just before it opened
	set    map[int]bool
	owner  int
}

// Opened and Closed are the ends of its first and last connection.
func (s *Session) Opened() time.Duration { return s.Conns[0].Opened }

// Closed returns when the last connection ended, or for ever.
func (s *Session) Closed() time.Duration {
	last := time.Duration(0)
	for _, c := range s.Conns {
		last = max(last, c.end())
	}
	return last
}

// forever is later than everything.
const forever = time.Duration(1<<63 - 1)

func (c *Conn) end() time.Duration {
	if c.Closed == 0 {
		return forever
	}
	return c.Closed
}

// openAt reports whether the session had a connection at a moment.
func (s *Session) openAt(at time.Duration) bool {
	return slices.ContainsFunc(s.Conns, func(c *Conn) bool { return c.Opened <= at && at < c.end() })
}

// class is the size of the set as a power of two, and how it is off it.
func (s *Session) class() int { return bits.Len(uint(s.Size)) }

// Sessions returns the watch sessions by period, from the first whole period after
// Begin to the last.
func (t *Trace) Sessions() map[int64][]*Session {
	at := map[int64]map[int]*Session{} // period, address
	asked := map[netip.Addr][]time.Duration{}
	for _, c := range t.Conns {
		if c.Path == realmPath {
			asked[c.From] = append(asked[c.From], c.Opened)
		}
	}
	all := map[int64][]*Session{}
	for _, c := range t.Conns {
		if c.Path != watchPath {
			continue
		}
		p, size := int64(-1), 0
		for _, e := range c.Events {
			if e.Kind == Watched {
				if p < 0 {
					p = e.Period - t.first
				}
				if e.At == c.Events[0].At || size == 0 {
					size = len(c.Set)
				}
			}
		}
		if p < 0 || time.Duration(p)*period < t.Begin || time.Duration(p+1)*period > t.End+period {
			continue
		}
		if at[p] == nil {
			at[p] = map[int]*Session{}
		}
		var s *Session
		for _, a := range c.Set {
			if s == nil {
				s = at[p][a]
			}
		}
		if s == nil {
			s = &Session{Period: p, From: c.From, Size: size, set: map[int]bool{}, owner: c.owner}
			all[p] = append(all[p], s)
		}
		s.Conns = append(s.Conns, c)
		for _, a := range c.Set {
			s.set[a], at[p][a] = true, s
		}
		for _, e := range c.Events {
			if e.Kind == Delivered {
				s.Cells = append(s.Cells, e.At)
			}
		}
	}
	for _, list := range all {
		for _, s := range list {
			slices.SortFunc(s.Conns, func(a, b *Conn) int { return cmp.Compare(a.Opened, b.Opened) })
			slices.Sort(s.Cells)
			s.Asked = slices.ContainsFunc(asked[s.From], func(at time.Duration) bool { return at <= s.Opened() && s.Opened()-at < 10*time.Second })
		}
	}
	return all
}

// Cell is one cell that a relay carried from a put connection to a session.
type Cell struct {
	At   time.Duration
	From *Conn
	To   *Session
}

// Cells returns the cells that were delivered between Begin and End, by period.
func (t *Trace) Cells(sessions map[int64][]*Session) map[int64][]Cell {
	to := map[int]*Session{}
	for _, list := range sessions {
		for _, s := range list {
			for a := range s.set {
				to[a] = s
			}
		}
	}
	all := map[int64][]Cell{}
	for _, c := range t.Conns {
		for _, e := range c.Events {
			if e.Kind != PutCell || e.At < t.Begin || e.At > t.End {
				continue
			}
			if s := to[e.Addr]; s != nil && s.openAt(e.At) {
				all[s.Period] = append(all[s.Period], Cell{e.At, c, s})
			}
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b Cell) int { return cmp.Compare(a.At, b.At) })
	}
	return all
}

// Snapshot is what lies in a relay's memory at one moment. It has no disk here:
// on disk lie blobs alone, under ids that have nothing to do with addresses.
type Snapshot struct {
	At       time.Duration
	Watching []*Session    // with a connection open at the moment
	Putting  []*Conn       // put connections that are open
	Flying   map[*Conn]int // cells of a put connection that are not answered
	Window   []int         // addresses of the last minute's cells, oldest first; not where they came from
}

// Seize returns what lies in memory at a moment.
func (t *Trace) Seize(at time.Duration, sessions map[int64][]*Session) *Snapshot {
	x := &Snapshot{At: at, Flying: map[*Conn]int{}}
	p := int64(at / period)
	for q := p - 1; q <= p+1; q++ {
		for _, s := range sessions[q] {
			if s.openAt(at) {
				x.Watching = append(x.Watching, s)
			}
		}
	}
	type put struct {
		at   time.Duration
		addr int
	}
	var window []put
	for _, c := range t.Conns {
		if c.Path != putPath {
			continue
		}
		open := c.Opened <= at && at < c.end()
		if open {
			x.Putting = append(x.Putting, c)
		}
		for _, e := range c.Events {
			if e.Kind != PutCell || e.At > at {
				continue
			}
			if at-e.At <= wire.WindowSpan {
				window = append(window, put{e.At, e.Addr})
			}
			if open && at-e.At <= wire.AnswerAfter {
				x.Flying[c]++
			}
		}
	}
	slices.SortStableFunc(window, func(a, b put) int { return cmp.Compare(a.at, b.at) })
	for _, w := range window {
		x.Window = append(x.Window, w.addr)
	}
	return x
}
