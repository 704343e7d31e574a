package group_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

func TestCreateAddSay(t *testing.T) {
	w := newWorld(t, 1)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(10 * time.Minute)
	w.together(id, p...)
	for _, d := range p[1:] {
		if got := len(d.saw(group.EventJoined)); got != 1 {
			t.Errorf("%s: got %d events that it joined, want 1", d.name, got)
		}
	}
	ann.send(id, "hello")
	ben.send(id, string(make([]byte, 5000)))
	w.settle(10 * time.Minute)
	for _, d := range p {
		if d != ann && d.got("hello") != 1 || d != ben && d.got(string(make([]byte, 5000))) != 1 {
			t.Errorf("%s did not get each text once", d.name)
		}
		if len(d.rows) != 0 {
			t.Errorf("%s: got %d rows left, want none", d.name, len(d.rows))
		}
	}
	if ev := ann.saw(group.EventDelivery); len(ev) != 2 || ev[1].Reached != 2 || ev[1].Of != 2 {
		t.Errorf("got deliveries %+v, want two of two", ev)
	}
}

func TestRemove(t *testing.T) {
	w := newWorld(t, 2)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(10 * time.Minute)
	if err := ben.remove(id, ann); !errors.Is(err, roster.ErrRight) {
		t.Errorf("got %v, want that ben has no right to remove ann", err)
	}
	if err := ann.remove(id, cat); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Minute)
	ann.send(id, "without cat")
	w.settle(10 * time.Minute)
	if cat.got("without cat") != 0 || ben.got("without cat") != 1 {
		t.Error("who was removed reads on, or who was not does not")
	}
	w.together(id, ann, ben)
	if r := cat.record(id); r.State != group.Out || len(cat.saw(group.EventOut)) != 1 {
		t.Errorf("got state %d and events %+v, want cat out, once", r.State, cat.events)
	}
}
