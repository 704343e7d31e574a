package client

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// untilClock sleeps until a time of the day, UTC.
func untilClock(at time.Duration) {
	now := time.Now().UTC()
	next := now.Truncate(24 * time.Hour).Add(at)
	if !next.After(now) {
		next = next.Add(24 * time.Hour)
	}
	time.Sleep(time.Until(next))
}

// apart lets two people, who have met, be there for ten minutes a day each, at
// moments that lie so far from each other, for so many days, and write so many
// messages in all.
func apart(t *testing.T, r *realm, days, messages int, between time.Duration) (ada, bob *person) {
	ada, bob = r.join(t, "Ada"), r.join(t, "Bob")
	meet(t, ada, bob)
	time.Sleep(time.Minute)
	ada.stop()
	bob.stop()
	said := [2]int{}
	people := [2]*person{ada, bob}
	session := func(who, write int) {
		p, other := people[who], people[1-who]
		p.start()
		time.Sleep(20 * time.Second)
		for range write {
			p.send(other.name, fmt.Sprintf("%s %d", p.name, said[who]))
			said[who]++
			time.Sleep(11 * time.Second)
		}
		time.Sleep(5 * time.Minute)
		p.stop()
	}
	each := messages / 2 / days
	for day := range days {
		for who := range 2 {
			at := 8 * time.Hour
			if who == 1 {
				at += between
			}
			untilClock(at)
			n := each
			if day < messages/2-each*days {
				n++
			}
			session(who, n)
		}
	}
	for range 3 { // what is left to say is acks
		for who := range 2 {
			time.Sleep(time.Hour)
			session(who, 0)
		}
	}
	for who, p := range people {
		p.start()
		got := map[string]int{}
		for _, text := range p.texts(Received) {
			got[text]++
		}
		for i := range said[1-who] {
			if n := got[fmt.Sprintf("%s %d", people[1-who].name, i)]; n != 1 {
				t.Errorf("%s read message %d of %s %d times, want once", p.name, i, people[1-who].name, n)
			}
		}
		if st, err := p.Status(t.Context()); err != nil || st.Waiting != 0 {
			t.Errorf("%s: got %d messages that wait, %v, want none", p.name, st.Waiting, err)
		}
		p.stop()
	}
	if said[0]+said[1] != messages {
		t.Errorf("%d messages were said, want %d", said[0]+said[1], messages)
	}
	return ada, bob
}

// TestTwoWhoAreNeverThereTogether talk through what their relay keeps for them.
func TestTwoWhoAreNeverThereTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(1800)
		r.parks(720)
		apart(t, r, 10, 66, 12*time.Hour)
		if n := r.left(); n != 0 {
			t.Errorf("got %d cells at the relay, want none", n)
		}
		puts := r.counted("put")
		r.lot.mu.Lock()
		defer r.lot.mu.Unlock()
		t.Logf("%d cells were parked, %d puts, takes %v", r.lot.count, puts, r.lot.takes)
	})
}
