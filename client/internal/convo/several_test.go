package convo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

func TestEveryDeviceHasWhatIsSaid(t *testing.T) {
	w := newTown(t, 1)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	w.calm()
	if got := b.notices(w.of(b, a).ID); !strings.Contains(got, "has a new device") {
		t.Errorf("bob was told %q, want of a new device", got)
	}
	b2 := w.link(b, "bob2")
	w.calm()
	w.say(a, b, "from a")
	w.say(a2, b, "from a2")
	w.say(b, a, "from b")
	w.say(b2, a, "from b2")
	w.calm()
	for _, p := range []*person{a, a2} {
		w.once(p, b, false, "from b", "from b2")
		w.once(p, b, true, "from a", "from a2")
	}
	for _, p := range []*person{b, b2} {
		w.once(p, a, true, "from b", "from b2")
		w.once(p, a, false, "from a", "from a2")
	}
	for _, pair := range [][2]*person{{a, a2}, {b, b2}} {
		if x, y := w.agreed(pair[0]), w.agreed(pair[1]); x != y {
			t.Errorf("devices of one person do not agree:\n%s\n%s", x, y)
		}
	}
}

// The device that linked another may be off for good from then on: contacts meet the
// new one by its hello alone, and nothing that was said meanwhile is missing.
func TestSecondDeviceWorksWithTheFirstOff(t *testing.T) {
	w := newTown(t, 2)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	w.off[a] = true
	w.say(b, a, "before it was known")
	w.round()
	a2 := w.link(a, "ada2")
	for range 5 {
		w.round()
	}
	w.say(a2, b, "here I am")
	ev := w.say(b, a, "good")
	for range 10 {
		w.round()
	}
	w.once(a2, b, false, "before it was known", "good")
	w.once(b, a, false, "here I am")
	b.view(func(tx vault.Store) error {
		e, err := tx.Event(ev.Seq)
		if err != nil {
			return err
		}
		if e.State != convo.OnDevice || e.Reached() != 1 || len(e.Copies) != 2 {
			t.Errorf("got state %v, reached %d of %d, want on their device, 1 of 2", e.State, e.Reached(), len(e.Copies))
		}
		return nil
	})
	w.calm()
	w.once(a, b, false, "before it was known", "good")
	w.once(a, b, true, "here I am")
}

// A text that its author sent, and that was acked, before they knew of a device which
// was just linked reaches it by its sister.
func TestNewDeviceGetsWhatItsAuthorDidNotSendIt(t *testing.T) {
	w := newTown(t, 6)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	w.cut[[2]*person{a2, b}] = true
	ev := w.say(b, a, "to the one that is known") // before the list of devices arrives
	w.serve()
	w.put(b)
	w.ack(a)
	b.view(func(tx vault.Store) error {
		e, err := tx.Event(ev.Seq)
		if err == nil && (e.State != convo.OnDevice || len(e.Copies) != 1) {
			t.Errorf("got state %v and %d copies, want on their one device", e.State, len(e.Copies))
		}
		return err
	})
	w.calm()
	w.once(a2, b, false, "to the one that is known")
	w.once(a, b, false, "to the one that is known")
}

func TestRevokedDeviceIsCutOffAtOnce(t *testing.T) {
	w := newTown(t, 3)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	w.calm()
	w.say(b, a, "for both")
	w.calm()

	// What waits for it ends, and what it still sends is refused.
	w.off[a2] = true
	w.say(b, a, "before")
	w.revoke(a, a2)
	for range 5 {
		w.round()
	}
	w.say(b, a, "after")
	w.say(a, b, "after, from a")
	delete(w.off, a2)
	w.say(a2, b, "from the revoked one")
	for range 60 {
		w.round()
	}
	w.once(a2, b, false, "for both")
	w.once(b, a, false, "after, from a")
	w.once(a, b, false, "for both", "before", "after")
	if n := b.waiting(0) + a.waiting(0); n != 0 {
		t.Errorf("%d rows wait for a device that is not there any more", n)
	}
	for _, p := range []*person{a, b} {
		p.view(func(tx vault.Store) error {
			if _, err := tx.DeviceOf(a.e.Self.Manifest.Root, a2.e.Self.Name()); err != contact.ErrUnknown {
				t.Errorf("%s still has a record of the revoked device: %v", p.name, err)
			}
			return nil
		})
	}
}

// A device that has the person's record is revoked by one that got the words.
func TestFirstDeviceIsRevoked(t *testing.T) {
	w := newTown(t, 4)
	a, b := w.person("ada"), w.person("bob")
	words, err := a.e.Self.Words()
	if err != nil {
		t.Fatal(err)
	}
	w.meet(a, b)
	w.must(b, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(a.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return b.e.Verify(tx, w.now, r, true)
	})
	a2 := w.link(a, "ada2")
	w.calm()
	w.off[a] = true
	w.say(b, a, "to both")
	if err := a2.e.Self.WithRoot(words); err != nil {
		t.Fatal(err)
	}
	w.revoke(a2, a)
	for range 5 {
		w.round()
	}
	w.say(b, a2, "to one")
	w.say(a2, b, "from one")
	for range 5 {
		w.round()
	}
	w.once(a2, b, false, "to both", "to one")
	w.once(b, a2, false, "from one")
	if r := w.of(b, a2); !r.Verified || r.Stop || !r.Gone {
		t.Errorf("got verified %v, stopped %v, gone %v, want a verified person without their first device", r.Verified, r.Stop, r.Gone)
	}
	delete(w.off, a)
	w.say(a, b, "from the first")
	for range 5 {
		w.round()
	}
	w.once(b, a2, false, "from one")

	// A third takes the place of the first, and nothing that was there comes back.
	a3 := w.link(a2, "ada3")
	w.off[a] = true
	for range 10 {
		w.round()
	}
	w.say(b, a2, "to three")
	for range 5 {
		w.round()
	}
	w.once(a3, b, false, "to three")
	w.once(a2, b, false, "to both", "to one", "to three")
}

func TestOwnDevicesAgree(t *testing.T) {
	w := newTown(t, 5)
	a, b, c := w.person("ada"), w.person("bob"), w.person("cy")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	w.calm()
	w.meet(a2, c) // somebody that the second one met
	w.calm()
	if got := w.of(a, c); got.State != contact.Accepted || got.Name != "cy" {
		t.Fatalf("got %v as %q, want cy, who the other device met", got.State, got.Name)
	}
	w.cut[[2]*person{a, a2}], w.cut[[2]*person{a2, a}] = true, true
	rename := func(p, o *person, name string) {
		w.must(p, func(tx vault.Store) (*convo.Change, error) {
			r, err := tx.ContactOf(o.e.Self.Manifest.Root)
			if err != nil {
				return nil, err
			}
			return p.e.Rename(tx, w.now, r, name)
		})
	}
	rename(a, b, "Robert")
	rename(a2, b, "Bobby")
	rename(a, c, "Twin")
	rename(a2, b, "Twin")
	w.must(a2, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(c.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return a2.e.Verify(tx, w.now, r, true)
	})
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		return a.e.Agree(tx, w.now, append([]byte("d"), b.e.Self.Manifest.Root[:]...), []byte("a draft"))
	})
	for i := range 6 {
		w.say(b, a, fmt.Sprint("text ", i))
	}
	for range 4 {
		w.round()
	}
	w.must(a, func(tx vault.Store) (ch *convo.Change, err error) {
		var seqs []int64
		r, err := tx.ContactOf(b.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		err = tx.Events(r.ID, 0, func(e *convo.Event) error {
			if !e.Out && e.Kind == convo.Text {
				seqs = append(seqs, e.Seq)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return a.e.MarkRead(tx, w.now, seqs[3])
	})
	w.calm()
	if x, y := w.agreed(a), w.agreed(a2); x != y {
		t.Errorf("own devices do not agree:\n%s\n%s", x, y)
	} else if !strings.Contains(x, "unread 2") || !strings.Contains(x, "verified true") || !strings.Contains(x, "Twin 2") {
		t.Errorf("got %s, want two unread, one verified and two Twins", x)
	}
	w.must(a2, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(c.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return a2.e.Answer(tx, w.now, r.ID, convo.Block)
	})
	for range 10 {
		w.round()
	}
	if got := w.of(a, c).State; got != contact.Blocked {
		t.Errorf("got state %v, want blocked as on the other device", got)
	}
}

// Any device may be killed, asleep, cut off or unlucky at any time, and devices come
// and go meanwhile.
func TestNothingIsLostAmongDevices(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("TACET_LONG") != "" {
		seeds = 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { anyOrder(t, seed) })
	}
}

func anyOrder(t *testing.T, seed uint64) {
	w := newTown(t, seed)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	mine, theirs := []*person{a}, []*person{b}
	var out, in []string  // said since the second devices were there
	early, late := 10, 36 // when a device joins
	outLate, inLate := 0, 0
	w.lose, w.crash = 4, 9
	for i := range 48 {
		switch {
		case i == early/2:
			mine = append(mine, w.link(a, "ada2"))
		case i == early:
			theirs = append(theirs, w.link(b, "bob2"))
		case i == late:
			mine = append(mine, w.link(a, "ada3"))
			outLate, inLate = len(out), len(in)
		}
		for _, p := range w.all {
			if w.luck.IntN(6) == 0 {
				w.off[p] = !w.off[p]
			}
			for _, q := range w.all {
				if w.luck.IntN(10) == 0 {
					w.cut[[2]*person{p, q}] = !w.cut[[2]*person{p, q}]
				}
			}
		}
		if i > early && i < late || i > late {
			x, y := mine[w.luck.IntN(min(2, len(mine)))], theirs[w.luck.IntN(2)]
			if i%2 == 0 {
				text := fmt.Sprint("a", i)
				w.say(x, b, text)
				out = append(out, text)
			} else {
				text := fmt.Sprint("b", i)
				w.say(y, a, text)
				in = append(in, text)
			}
		}
		w.round()
		if i%16 == 15 {
			w.now = w.now.Add(time.Hour)
		}
	}
	w.calm()
	for _, p := range mine[:2] {
		w.once(p, b, true, out...)
		w.once(p, b, false, in...)
	}
	for _, p := range theirs {
		w.once(p, a, true, in...)
		w.once(p, a, false, out...)
	}
	for _, p := range w.all {
		people := []*person{a, b}
		for _, o := range people {
			if o.e.Self.Manifest.Root != p.e.Self.Manifest.Root && w.of(p, o).Stop {
				t.Errorf("%s stopped: %s", p.name, w.of(p, o).Warning)
			}
		}
	}
	if x, y := w.agreed(a), w.agreed(mine[1]); x != y {
		t.Errorf("own devices do not agree:\n%s\n%s", x, y)
	}
	// The third has all that was said since it was linked, whoever knew of it then, and
	// nothing twice.
	for _, dir := range []bool{true, false} {
		got := w.shows(mine[2], b, dir)
		since := in[inLate:]
		if dir {
			since = out[outLate:]
		}
		for _, text := range since {
			if got[text] != 1 {
				t.Errorf("the third device shows %q %d times, want once", text, got[text])
			}
		}
		for text, n := range got {
			if n != 1 {
				t.Errorf("the third device shows %q %d times", text, n)
			}
		}
	}
}
