package convo_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// intruder says hello to b with what a has of b, as a device of its own making, whose
// keys are in m. It shows another manifest if there is one to show.
func (w *town) intruder(a, b *person, id *device.Identity, m *manifest.Manifest, place int, show ...*manifest.Manifest) (convo.Outcome, *convo.Change) {
	w.t.Helper()
	var whole []byte
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(b.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		prekeys, err := pqxdh.ParsePrekeys(r.Prekeys)
		if err != nil {
			return nil, err
		}
		e := *a.e
		e.Self = &device.Identity{Sign: id.Sign, DH: id.DH, XWing: id.XWing, Manifest: m}
		first, _, err := e.First(&content.Content{Drop: &content.Drop{Back: true}}, b.e.Self.Manifest)
		if err != nil {
			return nil, err
		}
		_, offer, err := contact.NewRoute(rand.Reader, w.now, home, 1800)
		if err != nil {
			return nil, err
		}
		peer := session.Peer{Manifest: b.e.Self.Manifest, Device: b.e.Self.Place(b.e.Self.Manifest), Prekeys: prekeys, Bundle: key.Hash("tacet/v1/rekey/prekeys", r.Prekeys)}
		_, hello, err := session.Start(rand.Reader, session.Self{Manifest: m, Device: place, DH: id.DH}, peer, contact.AppendOffer(nil, offer, home), "", first)
		if err != nil {
			return nil, err
		}
		if len(show) > 0 {
			hello.Manifest = show[0]
		}
		body, err := hello.Append([]byte{0, 0})
		if err != nil {
			return nil, err
		}
		body[0], body[1] = byte((len(body)-2)>>8), byte(len(body)-2)
		whole = append(body, make([]byte, wire.HelloSize-len(body))...)
		return nil, nil
	})
	if _, _, err := sealed.Fragments(wire.KindHello, whole); err != nil {
		w.t.Fatal(err)
	}
	var out convo.Outcome
	ch := w.must(b, func(tx vault.Store) (ch *convo.Change, err error) {
		r, err := tx.ContactOf(a.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		routes, err := tx.RoutesOf(r.ID)
		if err != nil {
			return nil, err
		}
		for _, route := range routes {
			if route.Mine {
				out, ch, err = b.e.Again(tx, w.now, route, whole)
			}
		}
		return ch, err
	})
	return out, ch
}

func newDevice(t *testing.T) *device.Identity {
	t.Helper()
	id, err := device.NewDevice(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (w *town) records(p *person) (n int) {
	p.view(func(tx vault.Store) error {
		all, err := tx.Devices()
		n = len(all)
		return err
	})
	return n
}

func TestHellosOfStrangeDevicesAreRefused(t *testing.T) {
	w := newTown(t, 11)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	real := newDevice(t)
	one := a.e.Self.Manifest
	two, err := a.e.Self.Admit(w.now, real.Public())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := device.New(rand.Reader, w.now)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := *two
	unsigned.Devices = append([]manifest.Device(nil), two.Devices...)
	thief := newDevice(t)
	unsigned.Devices[1] = thief.Public()
	refused := func(name string, id *device.Identity, m *manifest.Manifest, place int, show ...*manifest.Manifest) {
		t.Helper()
		before := w.records(b)
		if out, _ := w.intruder(a, b, id, m, place, show...); out != convo.Rejected {
			t.Errorf("%s: got outcome %v, want refused", name, out)
		}
		if n := w.records(b); n != before {
			t.Errorf("%s: got %d records, want %d", name, n, before)
		}
		if r := w.of(b, a); r.Stop {
			t.Errorf("%s: the contact was stopped: %s", name, r.Warning)
		}
	}
	// A device of its own making in a list that the root did not sign.
	refused("not in the manifest", thief, &unsigned, 1)
	// Another's place in a list that the root did sign, without the keys of that device.
	refused("a place of another device", thief, &unsigned, 1, two)
	// Another person by the same route, whose keys are right.
	refused("another root", stranger, stranger.Manifest, 0)

	// The real one is taken, and after it is revoked its hello with the manifest of
	// before is not.
	if out, _ := w.intruder(a, b, real, two, 1); out != convo.Nothing {
		t.Fatalf("got outcome %v for a device that the root admitted, want taken", out)
	}
	w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, two) })
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		m, err := a.e.Self.Revoke(w.now, 1)
		if err != nil {
			return nil, err
		}
		return a.e.Adopt(tx, w.now, m)
	})
	w.calm()
	w.now = w.now.Add(time.Hour)
	refused("revoked, with an old manifest", real, two, 1)
	// The device of the first manifest is active still: an old list is no reproach.
	if out, _ := w.intruder(a, b, a.e.Self, one, 0); out == convo.Rejected {
		t.Error("an active device was refused for a hello that came late")
	}
	if r := w.of(b, a); r.Stop {
		t.Errorf("the contact was stopped: %s", r.Warning)
	}
}

// Whoever has the root can admit device after device. No more than the manifest
// lists are kept.
func TestFloodOfDevicesIsBounded(t *testing.T) {
	w := newTown(t, 12)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	base := w.records(b)
	for range 20 {
		id := newDevice(t)
		m, err := a.e.Self.Admit(w.now, id.Public())
		if err == device.ErrFull {
			place := 1 + w.luck.IntN(manifest.MaxDevices-1)
			m, err = a.e.Self.Revoke(w.now, place)
			if err != nil {
				t.Fatal(err)
			}
			w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, m) })
			m, err = a.e.Self.Admit(w.now, id.Public())
		}
		if err != nil {
			t.Fatal(err)
		}
		w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, m) })
		w.round()
		if out, _ := w.intruder(a, b, id, m, len(m.Devices)-1); out == convo.Rejected {
			t.Fatal("a device that the root admitted was refused")
		}
		if n := w.records(b); n > base+manifest.MaxDevices-1 {
			t.Fatalf("got %d records, want at most %d", n, base+manifest.MaxDevices-1)
		}
	}
	if r := w.of(b, a); r.Stop {
		t.Errorf("the contact was stopped: %s", r.Warning)
	}
}

func TestForkOfManifestStopsInWords(t *testing.T) {
	for _, name := range []string{"fork", "fork of one before", "rollback", "revoked device is back"} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, 13)
			a, b := w.person("ada"), w.person("bob")
			words, err := a.e.Self.Words()
			if err != nil {
				t.Fatal(err)
			}
			w.meet(a, b)
			a2 := w.link(a, "ada2")
			w.calm()
			bad := a.e.Self.Manifest
			switch name {
			case "fork", "fork of one before": // the root is used on two devices
				if err := a2.e.Self.WithRoot(words); err != nil {
					t.Fatal(err)
				}
				x, err1 := a.e.Self.Admit(w.now, newDevice(t).Public())
				y, err2 := a2.e.Self.Admit(w.now, newDevice(t).Public())
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				w.off[a2] = true
				w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, x) })
				bad = y
				if name != "fork" {
					z, err := a.e.Self.Revoke(w.now, 2)
					if err != nil {
						t.Fatal(err)
					}
					w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, z) })
				}
			case "rollback": // its storage went back to before the other device
				bad = a.e.Self.Past[0]
			case "revoked device is back":
				m, err := a.e.Self.Revoke(w.now, 1)
				if err != nil {
					t.Fatal(err)
				}
				w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, m) })
				list := append([]manifest.Device(nil), m.Devices...)
				list[1].Revoked = false
				bad = &manifest.Manifest{Sequence: m.Sequence + 1, Previous: m.Hash(), NotAfter: m.NotAfter, Devices: list}
				root, err := device.RootOf(words)
				if err != nil {
					t.Fatal(err)
				}
				if err := manifest.Sign(root, bad); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				w.round()
			}
			if r := w.of(b, a); r.Stop {
				t.Fatalf("stopped too early: %s", r.Warning)
			}
			a.e.Self.Manifest = bad
			w.say(a, b, "as one of before")
			w.must(a, func(tx vault.Store) (*convo.Change, error) {
				ch := &convo.Change{}
				return ch, a.e.Renewed(tx, w.now, ch)
			})
			for range 10 {
				w.round()
			}
			r := w.of(b, a)
			if !r.Stop || !strings.Contains(r.Warning, "went back or has two versions") {
				t.Fatalf("got stop %v, %q, want a stop with its reason", r.Stop, r.Warning)
			}
			if !strings.Contains(b.notices(r.ID), "went back or has two versions") {
				t.Errorf("got notices %q, want the reason", b.notices(r.ID))
			}
			b.view(func(tx vault.Store) error {
				if err := convo.MaySend(r); err != convo.ErrStopped {
					t.Errorf("got %v, want %v", err, convo.ErrStopped)
				}
				return nil
			})
		})
	}
}

// What is between own devices is taken from own devices alone.
func TestSyncFromContactsIsDropped(t *testing.T) {
	w := newTown(t, 14)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	w.link(a, "ada2")
	w.calm()
	before := w.agreed(a)
	w.must(b, func(tx vault.Store) (*convo.Change, error) {
		return b.e.TellAs(tx, w.now, w.idOf(tx, a), &content.Content{Sent: 1, Sync: &content.Sync{
			Entries: []content.Entry{{Key: append([]byte("n"), b.e.Self.Manifest.Root[:]...), Value: []byte("the boss"), Count: 99}},
			Copy:    &content.Copy{Person: b.e.Self.Manifest.Root, ID: wire.MessageID{9}, Body: "never said", Out: true},
		}})
	})
	w.calm()
	if after := w.agreed(a); after != before {
		t.Errorf("a contact changed what own devices share:\n%s\n%s", before, after)
	}
}

func (w *town) idOf(tx vault.Store, p *person) int64 {
	r, err := tx.ContactOf(p.e.Self.Manifest.Root)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

// TestRevokedDeviceComesByAnInvite: a phone that was revoked, and may not know it,
// shows its old list of devices to an invite. Nothing is opened, kept or told.
func TestRevokedDeviceComesByAnInvite(t *testing.T) {
	w := newTown(t, 3)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	b2 := w.link(b, "bob2")
	w.calm()
	phone := w.person("phone") // the same keys, on an empty disk
	phone.e.Self = b2.e.Self
	w.off[b2] = true
	w.revoke(b, b2)
	w.say(b, a, "still me")
	for range 8 {
		w.round()
	}
	a.now, phone.now = w.now, w.now
	invited(a, phone, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: "ada"}, "let me in")
	for range 8 {
		w.round()
	}
	w.once(a, b, false, "still me")
	a.view(func(tx vault.Store) error {
		if _, err := tx.DeviceOf(b.e.Self.Manifest.Root, b2.e.Self.Name()); err != contact.ErrUnknown {
			t.Errorf("ada has a record of the revoked device: %v", err)
		}
		r, err := tx.ContactOf(b.e.Self.Manifest.Root)
		if err == nil && (r.Stop || r.Warning != "") {
			t.Errorf("bob is stopped: %q", r.Warning)
		}
		return err
	})
	if n := strings.Count(a.notices(w.of(a, b).ID), "took up your invite"); n != 1 {
		t.Errorf("an invite of ada's was taken up %d times, want by bob alone", n)
	}
	w.say(a, b, "goes on")
	for range 40 {
		w.round()
	}
	w.once(b, a, false, "goes on")
}
