package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Again takes a hello that came by a route of a device that we know: it starts the
// session again, or another device of the same person begins one.
//
// spec: hello.md#another-device
func (e *Engine) Again(tx Tx, now time.Time, route *contact.RouteRecord, whole []byte) (Outcome, *Change, error) {
	ch := &Change{}
	r, err := tx.Contact(route.Contact)
	if errors.Is(err, contact.ErrUnknown) {
		return Rejected, ch, nil
	}
	if err != nil {
		return 0, nil, err
	}
	id, _, err := sealed.Fragments(wire.KindHello, whole)
	if err != nil || !r.Kept() || r.Stop {
		return Rejected, ch, nil
	}
	hello, err := parseWholeHello(whole)
	if err != nil || hello.Manifest.Root != r.Root {
		return Rejected, ch, nil
	}
	is, ok := hello.Manifest.Active(int(hello.Device))
	if !ok {
		return Rejected, ch, nil
	}
	d, err := tx.DeviceOf(r.Root, is.Sign) // nil: not known yet
	if errors.Is(err, contact.ErrUnknown) {
		d, err = nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if d != nil && d.ID == r.ID {
		d = r
	}
	hash := session.InnerHash(whole)
	if m, ok, err := tx.Opened(hash); err != nil {
		return 0, nil, err
	} else if ok && d != nil {
		out, ch, err := e.again(tx, d.ID, m, ch)
		if err == nil {
			ch.Heard = 0 // anybody on the way may repeat a hello's cells: it proves nobody's presence
		}
		return out, ch, err
	}
	s, block := e.acceptGiven(now, r, hello)
	if s == nil && d != nil && d != r {
		s, block = e.acceptGiven(now, d, hello)
	}
	if s == nil {
		if d != r {
			return Rejected, ch, nil // of a device with which there is nothing to mend
		}
		// It is for prekeys that this device does not have, any more or yet
		// again: only a session that we start can come about.
		return Rejected, ch, e.rekey(tx, now, r, "a session that they started did not fit; another one was started", ch)
	}
	defer s.Wipe()
	offer, realm, err := contact.ParseOffer(hello.Route)
	if err != nil || contact.CheckOffer(now, e.Home.Realm, &offer, realm) != nil {
		return Rejected, ch, nil
	}
	// Every new session costs us a route and prekeys. One that comes too soon is
	// offered again by its sender.
	if d != nil {
		if since := now.Sub(time.Unix(d.Restart, 0)); since >= 0 && since < restartEvery {
			return Rejected, ch, nil
		}
	}
	d, stopped, err := e.shown(tx, now, r, d, hello, ch)
	if err != nil {
		return 0, nil, err
	}
	if stopped {
		return Nothing, ch, nil
	}
	if d == nil {
		return Rejected, ch, nil
	}
	return e.begun(tx, now, d, s, block, contact.TheirRoute(sentAt(block), d.ID, &offer, realm), hash, id, ch)
}

// shown takes the manifest of a hello that opened, and returns the record of the
// device that sent it: nil if our newest manifest of theirs does not have it as
// active. stopped says that the contact was stopped.
//
// A hello is sealed once and may come late. One that shows an older manifest is
// taken from a device that is active in the newest, and passed over from another.
func (e *Engine) shown(tx Tx, now time.Time, r, d *contact.Record, hello *session.Hello, ch *Change) (_ *contact.Record, stopped bool, err error) {
	is := hello.Manifest.Devices[hello.Device]
	if r.Own {
		if hello.Manifest.Sequence > e.Self.Manifest.Sequence {
			if err := e.ownManifest(tx, now, hello.Manifest, ch); err != nil {
				return nil, false, err
			}
		}
		if !activeIn(e.Self.Manifest, is) {
			return nil, false, nil
		}
	} else {
		p, err := contact.Principal(tx, r)
		if err != nil {
			return nil, false, err
		}
		held, err := manifest.Parse(p.Manifest)
		if err != nil {
			return nil, false, err
		}
		if hello.Manifest.Sequence >= held.Sequence || len(held.Devices) == 1 && d == p {
			before := p.Manifest
			switch err := p.NewManifest(hello.Manifest, now); {
			case contact.Doubtful(err):
				return nil, true, errors.Join(tx.PutContact(p), e.notice(tx, now, p.ID, p.Warning, ch))
			case err != nil:
				return nil, false, nil
			}
			if string(before) != string(p.Manifest) {
				if err := errors.Join(tx.PutContact(p), e.follow(tx, now, p, true, ch)); err != nil {
					return nil, false, err
				}
			}
		}
		if held, err = manifest.Parse(p.Manifest); err != nil {
			return nil, false, err
		}
		if !activeIn(held, is) {
			return nil, false, nil
		}
	}
	d, err = tx.DeviceOf(r.Root, is.Sign)
	if errors.Is(err, contact.ErrUnknown) {
		return nil, false, nil
	}
	if err == nil {
		d.Last = newerRef(d.Last, hello.Manifest.Ref())
	}
	return d, false, err
}

// activeIn reports whether a manifest has a device, with these keys and not revoked.
func activeIn(m *manifest.Manifest, d manifest.Device) bool {
	i, ok := m.Find(d.Sign)
	return ok && m.Devices[i] == d
}

func newerRef(a, b pad.Ref) pad.Ref {
	if b.Sequence > a.Sequence {
		return b
	}
	return a
}

// begun stores a session that a device of theirs, or of ours, began with us.
func (e *Engine) begun(tx Tx, now time.Time, d *contact.Record, s *session.Session, block []byte, theirs *contact.RouteRecord, hash [16]byte, id wire.MessageID, ch *Change) (Outcome, *Change, error) {
	d.Restart = now.Unix()
	// A hello of ours may be on its way, or lost for ever: theirs has come, so
	// this session both ends have. If ours comes after all, they write to the
	// route in it, which is served like any other until a newer one is acked.
	if _, err := e.withdraw(tx, d, ch); err != nil {
		return 0, nil, err
	}
	why := "they started a new session: one of the two devices has older storage than it had"
	old, err := primary(tx, d.ID)
	switch {
	case errors.Is(err, ErrBlocked):
		why = "" // a device that is new here
		d.Level = max(d.Level, contact.LevelDevices)
	case err != nil:
		return 0, nil, err
	case old.Suite() < s.Suite():
		why = "" // they have a newer version, as this device has: that is nobody's trouble
	}
	d.Broken, ch.Heard = nil, d.ID
	theirs.Contact = d.ID
	if err := errors.Join(tx.PutContact(d), contact.MakePrimary(tx, d.ID, s, now),
		e.newRoute(tx, now, d, theirs),
		tx.PutOpened(d.ID, hash, id, now.Unix()/daySeconds, true)); err != nil {
		return 0, nil, err
	}
	if err := e.resealAll(tx, now, d.ID, ch); err != nil {
		return 0, nil, err
	}
	if err := e.offer(tx, now, d, false, ch); err != nil {
		return 0, nil, err
	}
	if err := e.behind(tx, now, d, theirsIn(block), ch); err != nil {
		return 0, nil, err
	}
	if err := e.topUp(tx, now, d.ID, ch); err != nil {
		return 0, nil, err
	}
	ch.owes(d.ID)
	if why == "" {
		return Nothing, ch, nil
	}
	return Shown, ch, e.notice(tx, now, d.ID, why, ch)
}

// theirsIn returns what a block names as our manifest.
func theirsIn(block []byte) pad.Ref {
	b, _ := pad.Parse(block)
	return b.Theirs
}

// behind shows our newest manifest to a device that names an older one.
func (e *Engine) behind(tx Tx, now time.Time, r *contact.Record, names pad.Ref, ch *Change) error {
	if names.Sequence >= e.Self.Manifest.Sequence || !r.Kept() || r.Stop {
		return nil
	}
	return e.show(tx, now, r, ch)
}

// sentAt returns when a block was written, by its author's clock.
func sentAt(block []byte) int64 {
	b, err := pad.Parse(block)
	if err != nil {
		return 0
	}
	c, err := content.Parse(b.Content)
	if err != nil {
		return 0
	}
	return int64(c.Sent)
}
