package group_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/whisper"
)

// TestReadersSealNothing: who reads and acks takes no generation of its ratchet, so it
// is understood by all when it writes, however long it only read.
func TestReadersSealNothing(t *testing.T) {
	texts := 12
	if os.Getenv("TACET_LONG") != "" {
		texts = 1100 // more than a ratchet is followed at once
	}
	w := newWorld(t, 95)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(time.Hour)
	w.together(id, p...)
	sealed := 0
	ben.eng.Crypto = counting{sealed: &sealed}
	for i := range texts {
		ann.send(id, fmt.Sprint(i))
		w.settle(0)
	}
	// Anybody gives the same cell again and again, and each is acked again.
	m := ann.send(id, "last")
	var again *group.Copy
	for _, c := range w.cells {
		if c.from == ann && c.copy.Message == m && c.copy.To == ben.id() {
			again = c.copy
		}
	}
	for range texts {
		w.cells = append(w.cells, cell{ann, again})
		w.settle(0)
	}
	w.settle(time.Hour)
	if ben.got("last") != 1 || len(ann.rows) != 0 {
		t.Errorf("the reader has the last text %d times, %d rows are left", ben.got("last"), len(ann.rows))
	}
	if sealed != 0 {
		t.Errorf("reading and acking %d texts took %d generations, want none", texts+1, sealed)
	}
	ben.send(id, "my first word here")
	w.settle(time.Hour)
	if ann.got("my first word here") != 1 || cat.got("my first word here") != 1 || len(ben.rows) != 0 {
		t.Errorf("ann got it %d times, cat %d, %d rows are left", ann.got("my first word here"), cat.got("my first word here"), len(ben.rows))
	}
}

// TestWhispersAreNoTexts: no text is taken that one leaf alone was told: it would not
// be signed, nor the same for all. Nor does a member speak as another.
func TestWhispersAreNoTexts(t *testing.T) {
	w, id, p := four(t, 96)
	ann, ben, cat := p[0], p[1], p[2]
	e := ann.epoch(id, ann.record(id).Head)
	say := whisper.Line{Group: id, Epoch: e.Number, Secret: e.Whisper, Owner: cat.epoch(id, e.Number).Own}
	for i, l := range e.Roster {
		end := whisper.End{Leaf: l.Index, Device: l.Device, Route: addr.Public(e.Routes[i])}
		switch l.Device {
		case cat.id():
			say.From = end
		case ann.id():
			say.To = end
		}
	}
	plain := make([]byte, whisper.PlainSize)
	plain[0] = byte(group.SaidBlock)
	payload, err := say.Seal(w.rand, plain)
	if err != nil {
		t.Fatal(err)
	}
	ann.refuses("a text in a whisper", group.ErrSaid, func(tx group.Tx) (*group.Change, error) {
		_, ch, err := ann.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: e.Number, Payload: payload})
		return ch, err
	})
	forged := say
	forged.Owner = ben.epoch(id, e.Number).Own
	plain[0] = byte(group.SaidAck)
	if payload, err = forged.Seal(w.rand, plain); err != nil {
		t.Fatal(err)
	}
	ann.refuses("a whisper in another's name", whisper.ErrWhisper, func(tx group.Tx) (*group.Change, error) {
		_, ch, err := ann.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: e.Number, Payload: payload})
		return ch, err
	})
}
