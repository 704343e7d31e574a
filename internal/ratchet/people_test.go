package ratchet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// post is a message on its way.
type post struct {
	to   int
	n    int
	data []byte
}

// TestPeopleWhoLoseReorderAndRepeat runs long random conversations over a
// network that keeps no promise. After every operation both states are written
// and read again. Every message opens exactly once, whenever it comes; whatever
// else comes changes nothing.
func TestPeopleWhoLoseReorderAndRepeat(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { run(t, seed, 1200) })
	}
}

// network carries messages between two people and keeps no promise.
type network struct {
	people [2]*State
	r      io.Reader
	d      *rand.Rand
	now    time.Time
	way    []post // what will still be delivered
	done   map[int]bool

	lost, opened, late, refused int
}

func run(t *testing.T, seed uint64, steps int) {
	a, b := pair(t, fmt.Sprint("people ", seed))
	w := &network{people: [2]*State{a, b}, r: stream(fmt.Sprint("people ", seed)), d: dice(seed), now: start, done: make(map[int]bool)}
	for n := range steps {
		w.now = w.now.Add(time.Duration(w.d.IntN(60)) * time.Second)
		from := w.d.IntN(2)
		if w.d.IntN(2) == 0 { // one talks most, for a while
			from = n / 150 % 2
		}
		if w.opened == 0 {
			from = 0
		}
		w.send(t, from, n)
		for len(w.way) > 0 && w.d.IntN(100) < 55 {
			w.deliver(t)
		}
	}
	if w.lost < steps/20 || w.opened < steps/3 || w.late < steps/20 || w.refused < steps/50 {
		t.Errorf("got %d lost, %d opened, %d out of order, %d repeated in %d steps, want a rougher network", w.lost, w.opened, w.late, w.refused, steps)
	}
	// Whatever is still on its way opens now, in any order.
	w.d.Shuffle(len(w.way), func(i, j int) { w.way[i], w.way[j] = w.way[j], w.way[i] })
	for _, p := range w.way {
		if !w.done[p.n] {
			opens(t, w.people[p.to], w.r, w.now, p.data, p.n)
			w.done[p.n] = true
		}
	}
	for i, s := range w.people {
		if sent := w.people[1-i].Sent(); s.Highest() > sent {
			t.Errorf("got highest %d, want at most the %d that were sent", s.Highest(), sent)
		}
	}
}

// send encrypts message n, which is lost, sent or sent twice.
func (w *network) send(t *testing.T, from, n int) {
	m := encrypt(t, w.people[from], w.r, n)
	w.people[from] = again(t, w.people[from])
	p := post{1 - from, n, m}
	switch x := w.d.IntN(100); {
	case x < 10:
		w.lost++
	case x < 15:
		w.way = append(w.way, p, p)
	default:
		w.way = append(w.way, p)
	}
}

// deliver hands over the oldest message or any; sometimes it will come again, and
// sometimes a damaged copy comes with it.
func (w *network) deliver(t *testing.T) {
	i := 0
	if w.d.IntN(3) == 0 {
		i = w.d.IntN(len(w.way))
	}
	p := w.way[i]
	if w.d.IntN(10) > 0 {
		w.way = append(w.way[:i], w.way[i+1:]...)
	}
	if i > 0 {
		w.late++
	}
	if w.done[p.n] {
		refuses(t, "a repeated message", w.people[p.to], w.r, w.now, ad, p.data)
		w.refused++
	} else {
		opens(t, w.people[p.to], w.r, w.now, p.data, p.n)
		w.done[p.n] = true
		w.opened++
	}
	w.people[p.to] = again(t, w.people[p.to])
	if w.d.IntN(20) == 0 {
		bad := bytes.Clone(p.data)
		bad[w.d.IntN(Size)] ^= 1 << w.d.IntN(8)
		refuses(t, "a damaged message", w.people[p.to], w.r, w.now, ad, bad)
	}
}

func TestCountsRunOverAllChains(t *testing.T) {
	a, b := pair(t, "counts")
	r := stream("counts")
	for n := range 40 {
		encrypt(t, a, r, n) // lost
		opens(t, b, r, start, encrypt(t, a, r, n), n)
		opens(t, a, r, start, encrypt(t, b, r, n), n)
		if got, want := b.Highest(), a.Sent(); got != want || want != uint32(2*n+2) {
			t.Fatalf("got highest %d, sent %d, want %d", got, want, 2*n+2)
		}
		if got, want := a.Highest(), b.Sent(); got != want || want != uint32(n+1) {
			t.Fatalf("got highest %d, sent %d, want %d", got, want, n+1)
		}
	}
}
