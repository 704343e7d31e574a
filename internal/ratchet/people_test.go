package ratchet

import (
	"bytes"
	"fmt"
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

func run(t *testing.T, seed uint64, steps int) {
	a, b := pair(t, fmt.Sprint("people ", seed))
	r, d := stream(fmt.Sprint("people ", seed)), dice(seed)
	people := [2]*State{a, b}
	now := start
	var way []post // what can still be delivered, lost ones included: they are never picked
	var lost, opened, late, refused int
	done := make(map[int]bool)
	heard := false
	for n := range steps {
		now = now.Add(time.Duration(d.IntN(60)) * time.Second)
		from := d.IntN(2)
		if d.IntN(30) > 14 { // a phase in which one talks most
			from = n / 150 % 2
		}
		if from == 1 && !heard {
			from = 0
		}
		m := encrypt(t, people[from], r, n)
		people[from] = again(t, people[from])
		switch x := d.IntN(100); {
		case x < 10:
			lost++
		case x < 15: // twice on its way
			way = append(way, post{1 - from, n, m}, post{1 - from, n, m})
		default:
			way = append(way, post{1 - from, n, m})
		}
		for len(way) > 0 && d.IntN(100) < 55 {
			i := d.IntN(len(way))
			if d.IntN(3) > 0 {
				i = 0
			}
			p := way[i]
			if d.IntN(10) > 0 { // else it stays and comes again
				way = append(way[:i], way[i+1:]...)
			}
			if i > 0 {
				late++
			}
			if done[p.n] {
				refuses(t, "a repeated message", people[p.to], r, now, ad, p.data)
				refused++
			} else {
				opens(t, people[p.to], r, now, p.data, p.n)
				done[p.n], opened, heard = true, opened+1, true
			}
			people[p.to] = again(t, people[p.to])
			if d.IntN(20) == 0 {
				bad := bytes.Clone(p.data)
				bad[d.IntN(Size)] ^= 1 << d.IntN(8)
				refuses(t, "a damaged message", people[p.to], r, now, ad, bad)
			}
		}
	}
	if lost < steps/20 || opened < steps/3 || late < steps/20 || refused < steps/50 {
		t.Errorf("got %d lost, %d opened, %d out of order, %d repeated in %d steps, want a rougher network", lost, opened, late, refused, steps)
	}
	// Whatever is still on its way opens now, in any order.
	d.Shuffle(len(way), func(i, j int) { way[i], way[j] = way[j], way[i] })
	for _, p := range way {
		if !done[p.n] {
			opens(t, people[p.to], r, now, p.data, p.n)
			done[p.n] = true
		}
	}
	for i, s := range people {
		if sent := people[1-i].Sent(); s.Highest() > sent {
			t.Errorf("got highest %d, want at most the %d that were sent", s.Highest(), sent)
		}
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
