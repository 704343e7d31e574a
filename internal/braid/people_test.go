package braid

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// TestPeopleWhoLoseReorderAndRepeat runs long random conversations over a
// network that keeps no promise. After every operation the state is written and
// read again. Every message that arrives gets the key that it was sent with,
// once, however late it comes; no key is given twice; epochs go on.
func TestPeopleWhoLoseReorderAndRepeat(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { run(t, seed, 1500) })
	}
}

// letter is a message on its way.
type letter struct {
	post
	to, n int
}

// network carries messages between two people and keeps no promise.
type network struct {
	people [2]*State
	r      io.Reader
	d      *rand.Rand
	now    time.Time
	way    []letter // what will still be delivered
	done   map[int]bool
	used   map[string]int // message by key
	seen   map[phase]bool

	lost, got, late, refused int
}

func run(t *testing.T, seed uint64, steps int) {
	a, b := pair(t, fmt.Sprint("people ", seed))
	w := &network{
		people: [2]*State{a, b}, r: stream(fmt.Sprint("people ", seed)), d: dice(seed), now: start,
		done: make(map[int]bool), used: make(map[string]int), seen: make(map[phase]bool),
	}
	for n := range steps {
		w.now = w.now.Add(time.Duration(w.d.IntN(60)) * time.Second)
		from := w.d.IntN(2)
		if w.d.IntN(2) == 0 { // one talks most, for a while
			from = n / 150 % 2
		}
		w.send(t, from, n)
		for len(w.way) > 0 && w.d.IntN(100) < 55 {
			w.deliver(t)
		}
	}
	if w.lost < steps/20 || w.got < steps/3 || w.late < steps/20 || w.refused < steps/50 {
		t.Errorf("got %d lost, %d received, %d out of order, %d repeated in %d steps, want a rougher network", w.lost, w.got, w.late, w.refused, steps)
	}
	if len(w.seen) != len(contents) {
		t.Errorf("got %d phases, want all %d", len(w.seen), len(contents))
	}
	if w.people[0].Epoch() < 8 {
		t.Errorf("got epoch %d in %d steps, want 8", w.people[0].Epoch(), steps)
	}
	// Whatever is still on its way fits now, in any order.
	w.d.Shuffle(len(w.way), func(i, j int) { w.way[i], w.way[j] = w.way[j], w.way[i] })
	for _, l := range w.way {
		if !w.done[l.n] {
			receives(t, w.people[l.to], w.now, l.post)
			w.done[l.n] = true
		}
	}
	// And the two go on, and are never more than one epoch apart.
	was := w.people[0].Epoch()
	turns(t, w.people[0], w.people[1], w.r, w.now, was+3)
	if x, y := w.people[0].Epoch(), w.people[1].Epoch(); x > y+1 || y > x+1 {
		t.Errorf("got epochs %d and %d, want them side by side", x, y)
	}
}

// send makes message n, which is lost, sent or sent twice.
func (w *network) send(t *testing.T, from, n int) {
	s := w.people[from]
	w.seen[s.phase] = true
	p := send(t, s, w.r)
	if other, twice := w.used[string(p.key)]; twice {
		t.Fatalf("messages %d and %d have one key", other, n)
	}
	w.used[string(p.key)] = n
	w.people[from] = again(t, s)
	w.seen[s.phase] = true
	l := letter{p, 1 - from, n}
	switch x := w.d.IntN(100); {
	case x < 10:
		w.lost++
	case x < 15:
		w.way = append(w.way, l, l)
	default:
		w.way = append(w.way, l)
	}
}

// deliver hands over the oldest message or any; sometimes it will come again,
// and sometimes a damaged copy comes before it.
func (w *network) deliver(t *testing.T) {
	i := 0
	if w.d.IntN(3) == 0 {
		i = w.d.IntN(len(w.way))
	}
	l := w.way[i]
	if w.d.IntN(10) > 0 {
		w.way = append(w.way[:i], w.way[i+1:]...)
	}
	if i > 0 {
		w.late++
	}
	s := w.people[l.to]
	if w.d.IntN(20) == 0 { // a copy is for that: what does not open is dropped
		before := s.Append(nil)
		bad := l.field
		bad[w.d.IntN(Size)] ^= 1 << w.d.IntN(8)
		s.Clone().Receive(w.now, bad[:])
		if !bytes.Equal(s.Append(nil), before) {
			t.Fatal("got another state by what a copy did")
		}
	}
	if w.done[l.n] {
		refuses(t, "a repeated message", s, w.now, l.field[:])
		w.refused++
		return
	}
	receives(t, s, w.now, l.post)
	w.people[l.to] = again(t, s)
	w.done[l.n] = true
	w.got++
}

// TestMessagesOfAnEpoch measures how many messages an epoch takes. The bounds are
// what the sizes demand: 2 messages of a header, 15 of ct1, 18 of a key and 3 of
// ct2, of which ct1 and key travel at once.
func TestMessagesOfAnEpoch(t *testing.T) {
	inTurns := func(n int, _ *rand.Rand) int { return n % 2 }
	oneSided := func(n int, _ *rand.Rand) int {
		if n%11 == 10 {
			return 1
		}
		return 0
	}
	any := func(_ int, d *rand.Rand) int { return d.IntN(2) }
	silent := func(int, *rand.Rand) int { return 0 }
	for _, c := range []struct {
		name     string
		from     func(int, *rand.Rand) int
		loss     int // in a hundred
		min, max float64
	}{
		{"in turns", inTurns, 0, 40, 46},
		{"in turns, half lost", inTurns, 50, 80, 100},
		{"at random", any, 0, 40, 60},
		{"at random, half lost", any, 50, 80, 120},
		{"ten for one", oneSided, 0, 100, 260},
		{"ten for one, half lost", oneSided, 50, 200, 520},
		{"one alone", silent, 0, 0, 0},
	} {
		a, b := pair(t, c.name)
		people, r, d := [2]*State{a, b}, stream(c.name), dice(7)
		const messages = 5_000
		for n := range messages {
			from := c.from(n, d)
			p := send(t, people[from], r)
			if d.IntN(100) >= c.loss {
				if _, err := people[1-from].Receive(start, p.field[:]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if a.Epoch() == 0 {
			if c.max != 0 {
				t.Errorf("%s: got no epoch in %d messages", c.name, messages)
			}
			t.Logf("%s: no epoch in %d messages", c.name, messages)
			continue
		}
		per := messages / float64(a.Epoch())
		t.Logf("%s: %.1f messages an epoch", c.name, per)
		if per < c.min || per > c.max {
			t.Errorf("%s: got %.1f messages an epoch, want %v to %v", c.name, per, c.min, c.max)
		}
	}
}

// TestLastMessagesOfAnOldEpoch: what was sent last under an old epoch still has
// its key, however many epochs later it comes.
func TestLastMessagesOfAnOldEpoch(t *testing.T) {
	a, b := pair(t, "old")
	r := stream("old")
	type late struct {
		to *State
		post
	}
	var all []late
	for epoch := range uint64(6) {
		// The last messages of each epoch, of both sides, are late: when they are
		// made the other side may or may not have turned.
		for range 3 {
			all = append(all, late{b, send(t, a, r)}, late{a, send(t, b, r)})
		}
		turns(t, a, b, r, start, epoch+1)
	}
	if len(all) != 36 || a.Skipped() != 18 || b.Skipped() != 18 {
		t.Fatalf("got %d and %d keys set aside, want 18 and 18", a.Skipped(), b.Skipped())
	}
	for i := len(all) - 1; i >= 0; i-- {
		receives(t, all[i].to, start, all[i].post)
		refuses(t, "a late message once more", all[i].to, start, all[i].field[:])
	}
	if a.Skipped() != 0 || b.Skipped() != 0 {
		t.Errorf("got %d and %d keys left, want none", a.Skipped(), b.Skipped())
	}
}
