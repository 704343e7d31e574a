package client

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// linkTo links a device to a person's, over the relay, and runs it.
func (p *person) linkTo(t *testing.T, r *realm, name string) *person {
	t.Helper()
	n := r.joining(t, name, p.offer())
	n.start()
	p.until(stageIs(LinkCompare))
	if _, err := p.ConfirmLink(t.Context(), <-n.digits); err != nil {
		t.Fatal(err)
	}
	if err := n.result(); err != nil {
		t.Fatal(err)
	}
	d := &person{t: t, name: name, opt: n.opt}
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

// TestLinkedDeviceWorksAlone: with the first device off, the linked one gets what is
// written and writes itself; the first one catches up; revoked, it is out.
func TestLinkedDeviceWorksAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.joinNear(t, "Ada", away), r.joinNear(t, "Bob", away)
		meet(t, ada, bob)
		bob.send("Ada", "before")
		passes(time.Minute)
		phone := ada.linkTo(t, r, "telephone")
		bob.send("Ada", "while it gets to know him")
		passes(5 * time.Minute)
		ada.stop()
		bob.send("Ada", "to the telephone alone")
		passes(2 * time.Minute)
		e := phone.send("Bob", "from the telephone")
		passes(2 * time.Minute)
		if s := phone.state(e); s != OnDevice {
			t.Errorf("what the telephone sent is %s, want on his device", s)
		}
		want := []string{"hello", "before", "while it gets to know him", "to the telephone alone"}
		if got := phone.texts(Received); !slices.Equal(got, want) {
			t.Errorf("the telephone has %q, want %q", got, want)
		}
		if got := bob.texts(Received); !slices.Equal(got, []string{"from the telephone"}) {
			t.Errorf("Bob has %q", got)
		}
		ada.start()
		passes(30 * time.Minute)
		if got := ada.texts(Received); !slices.Equal(got, want) {
			t.Errorf("the first device has %q, want %q", got, want)
		}
		all, err := ada.Read(t.Context(), Query{})
		if err != nil || !slices.ContainsFunc(all, func(e Event) bool { return e.Out && e.Text == "from the telephone" }) {
			t.Errorf("the first device does not show what the telephone sent: %v", err)
		}
		// Heard of by now.
		if devices, err := ada.Devices(t.Context()); err != nil || len(devices) != 2 || devices[1].Heard.IsZero() {
			t.Errorf("got %+v, %v, want that the telephone was heard of", devices, err)
		}
		if _, err := ada.RevokeDevice(t.Context(), "telephone"); err != nil {
			t.Fatal(err)
		}
		passes(10 * time.Minute)
		bob.send("Ada", "not for the telephone")
		passes(10 * time.Minute)
		if got := phone.texts(Received); !slices.Equal(got, want) {
			t.Errorf("the revoked telephone has %q, want %q", got, want)
		}
		if got := ada.texts(Received); !slices.Equal(got, append(want, "not for the telephone")) {
			t.Errorf("the first device has %q after the telephone was revoked", got)
		}
		ada.stop()
	})
}

// TestDeviceLeaves: it says goodbye, and the first device takes it off the list.
func TestDeviceLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.joinNear(t, "Ada", away), r.joinNear(t, "Bob", away)
		meet(t, ada, bob)
		phone := ada.linkTo(t, r, "telephone")
		passes(5 * time.Minute)
		if _, err := ada.Leave(t.Context()); err != ErrRootStays {
			t.Errorf("the root leaves: got %v, want ErrRootStays", err)
		}
		within, stop := context.WithTimeout(t.Context(), 30*time.Minute)
		defer stop()
		left, err := phone.Leave(within)
		if err != nil || left != 0 {
			t.Fatalf("got %d, %v, want that all have heard", left, err)
		}
		phone.stop()
		if err := Remove(phone.opt.Dir); err != nil || Exists(phone.opt.Dir) {
			t.Errorf("removing it: got %v, want no profile", err)
		}
		passes(time.Hour)
		devices, err := ada.Devices(t.Context())
		if err != nil || len(devices) != 2 || !devices[1].Revoked {
			t.Errorf("got %+v, %v, want the telephone revoked", devices, err)
		}
		bob.send("Ada", "still here?")
		passes(time.Minute)
		if got := ada.texts(Received); !slices.Contains(got, "still here?") {
			t.Errorf("the first device has %q", got)
		}
		ada.stop()
	})
}
