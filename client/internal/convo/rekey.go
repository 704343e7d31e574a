package convo

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	// labelGiven hashes prekeys that were given inside a session: it stands
	// where the bundle's hash stands in a first handshake.
	labelGiven = "tacet/v1/rekey/prekeys"

	restartEvery = 10 * time.Minute // at most one new session of theirs
	rekeyEvery   = time.Hour        // at most one new session of ours per contact
	brokenAfter  = 10 * time.Second // still unreadable this much later
	brokenWithin = 24 * time.Hour   // and not so long ago that it says nothing about now
	sessionsKept = 3
)

// unopened notes a message that came by the right route and opens in no
// session. Several of them may have overtaken a hello, which is four cells; when
// they still come later, the two ends do not have the same session any more.
func (e *Engine) unopened(tx Tx, now time.Time, r *contact.Record, hash [16]byte, ch *Change) error {
	ch.Heard = r.ID // the route seal opened: it is them
	if r.State != contact.Accepted {
		return nil
	}
	// A time that lies ahead is from before the clock was set.
	since := now.Sub(time.Unix(r.BrokenAt, 0))
	if r.Broken == nil || since < 0 || since > brokenWithin {
		r.Broken, r.BrokenAt = hash[:], now.Unix()
		return tx.PutContact(r)
	}
	if since < brokenAfter {
		return nil
	}
	return e.rekey(tx, now, r, "the session with them did not fit any more, so a new one was started: one of the two devices has older storage than it had", ch)
}

// stalled is called when a message came in a primary session whose braid stands
// still for good: it still opens and seals, but does not heal any more.
//
// spec: braid.md#an-epoch-that-stands-still
func (e *Engine) stalled(tx Tx, now time.Time, id int64, ch *Change) error {
	r, err := tx.Contact(id)
	if err != nil {
		return err
	}
	if r.State != contact.Accepted || len(r.Prekeys) == 0 {
		return nil // prekeys come with the next renewal of their route
	}
	return e.rekey(tx, now, r, "the keys of the session with them could not be renewed any more, so a new one was started", ch)
}

// rekey starts a new session with a contact by the prekeys they gave inside the
// old one, and seals what waits for them again under it. The hello goes by
// their ordinary route, whose seal already hides it.
//
// spec: hello.md#starting-again
func (e *Engine) rekey(tx Tx, now time.Time, r *contact.Record, why string, ch *Change) error {
	if since := now.Sub(time.Unix(r.Rekeyed, 0)); r.Stop || since >= 0 && since < rekeyEvery {
		return nil
	}
	r.Broken, r.Rekeyed = nil, now.Unix()
	if len(r.Prekeys) == 0 {
		r.Warning = "the session with them is broken and they gave no keys to start again; exchange a new invite"
		return errors.Join(tx.PutContact(r), e.notice(tx, now, r.ID, r.Warning, ch))
	}
	s, err := e.begin(tx, now, r, ch)
	if err != nil {
		return err
	}
	defer s.Wipe()
	if err := contact.MakePrimary(tx, r.ID, s, now); err != nil {
		return err
	}
	if err := e.resealAll(tx, now, r.ID, ch); err != nil {
		return err
	}
	// The prekeys of ours that they hold may be such as this device has lost.
	if err := e.greet(tx, now, r, ch); err != nil {
		return err
	}
	return e.notice(tx, now, r.ID, why, ch)
}

// begin makes a session by the prekeys they gave and the hello for it, which
// takes the place of one that was not answered. The session is the caller's to
// store and to wipe.
func (e *Engine) begin(tx Tx, now time.Time, r *contact.Record, ch *Change) (_ *session.Session, err error) {
	unanswered, err := e.withdraw(tx, r, ch)
	if err != nil {
		return nil, err
	}
	if unanswered != nil {
		// Unanswered for an hour: of its routes only the newest is worth serving.
		ch.Routes = true
		if err := tx.DeleteRoute(unanswered.NewWay); err != nil {
			return nil, err
		}
		if len(r.Before) > 0 {
			r.Before, r.Prekeys = r.Prekeys, r.Before // they may have lost the newest
		}
	}
	prekeys, err := pqxdh.ParsePrekeys(r.Prekeys)
	if err != nil {
		return nil, err
	}
	theirs, err := manifest.Parse(r.Manifest)
	if err != nil {
		return nil, err
	}
	route, offer, err := contact.NewRoute(e.Rand, now, e.Home.Realm, e.Home.Live)
	if err != nil {
		return nil, err
	}
	route.Contact = r.ID
	first, _, err := e.First(&content.Content{Sent: uint64(now.Unix()), Drop: &content.Drop{Back: true}}, theirs)
	if err != nil {
		return nil, err
	}
	peer := session.Peer{Manifest: theirs, Device: r.Device, Prekeys: prekeys, Bundle: key.Hash(labelGiven, r.Prekeys)}
	self := session.Self{Manifest: e.Self.Manifest, DH: e.Self.DH}
	s, hello, err := session.Start(e.Rand, self, peer, contact.AppendOffer(nil, offer, e.Home.Realm), e.Name, first)
	if err != nil {
		return nil, err
	}
	if err := e.putHello(tx, now, r, route, hello, ch); err != nil {
		s.Wipe()
		return nil, err
	}
	return s, nil
}

// putHello stores a hello that starts again, and the route that it offers.
func (e *Engine) putHello(tx Tx, now time.Time, r *contact.Record, route *contact.RouteRecord, hello *session.Hello, ch *Change) error {
	whole, id, err := wholeHello(hello)
	if err != nil {
		return err
	}
	r.Hello = id
	if err := errors.Join(tx.PutContact(r), tx.PutRoute(route)); err != nil {
		return err
	}
	if err := trim(tx, r.ID, route.ID); err != nil {
		return err
	}
	row := &Row{Contact: r.ID, Message: id, Sealed: true, Hello: true, State: Queued, Born: now.Unix(), Made: now.Unix(), Payload: whole, NewWay: route.ID}
	if err := tx.PutRow(row); err != nil {
		return err
	}
	ch.Added, ch.Routes = append(ch.Added, row), true
	return nil
}

// withdraw takes back a hello of ours that started again and was not answered,
// and returns its row, nil if there was none: another session takes its place.
// The route that it offers stays.
func (e *Engine) withdraw(tx Tx, r *contact.Record, ch *Change) (*Row, error) {
	row, err := tx.RowOf(r.ID, r.Hello)
	if err == ErrGone {
		return nil, nil
	}
	if err != nil || row.Event != 0 { // a first hello has something to say
		return nil, err
	}
	ch.Removed = append(ch.Removed, row.ID)
	return row, tx.DeleteRow(row.ID)
}

// wholeHello pads a hello for a pair route to the size of every hello: length 2
// ‖ plaintext ‖ zeros. The route seal hides it; there is no second seal.
func wholeHello(h *session.Hello) ([]byte, wire.MessageID, error) {
	whole := make([]byte, 2, wire.HelloSize)
	whole, err := h.Append(whole)
	if err != nil {
		return nil, wire.MessageID{}, err
	}
	if len(whole) > wire.HelloSize {
		return nil, wire.MessageID{}, ErrLong
	}
	binary.BigEndian.PutUint16(whole, uint16(len(whole)-2))
	whole = append(whole, make([]byte, wire.HelloSize-len(whole))...)
	id, _, err := sealed.Fragments(wire.KindHello, whole)
	return whole, id, err
}

func parseWholeHello(whole []byte) (*session.Hello, error) {
	if len(whole) != wire.HelloSize {
		return nil, contact.ErrHello
	}
	n := int(binary.BigEndian.Uint16(whole))
	if 2+n > len(whole) {
		return nil, contact.ErrHello
	}
	for _, z := range whole[2+n:] {
		if z != 0 {
			return nil, contact.ErrHello
		}
	}
	return session.ParseHello(whole[2 : 2+n])
}

// Again takes a hello that came by a route of a contact we know: they start
// the session again.
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
	if err != nil || r.State != contact.Accepted || r.Stop {
		return Rejected, ch, nil
	}
	hash := session.InnerHash(whole)
	if m, ok, err := tx.Opened(hash); err != nil {
		return 0, nil, err
	} else if ok {
		return e.again(tx, r.ID, m, ch)
	}
	hello, err := parseWholeHello(whole)
	if err != nil || hello.Manifest.Root != r.Root {
		return Rejected, ch, nil
	}
	s, block := e.acceptGiven(now, r, hello)
	if s == nil {
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
	if since := now.Sub(time.Unix(r.Restart, 0)); since >= 0 && since < restartEvery {
		return Rejected, ch, nil
	}
	r.Restart = now.Unix()
	if err := r.NewManifest(hello.Manifest, now); err != nil {
		if !contact.Doubtful(err) {
			return Rejected, ch, nil
		}
		return Nothing, ch, errors.Join(tx.PutContact(r), e.notice(tx, now, r.ID, r.Warning, ch))
	}
	// A hello of ours may be on its way, or lost for ever: theirs has come, so
	// this session both ends have. If ours comes after all, they write to the
	// route in it, which is served like any other until a newer one is acked.
	if _, err := e.withdraw(tx, r, ch); err != nil {
		return 0, nil, err
	}
	why := "they started a new session: one of the two devices has older storage than it had"
	if old, err := primary(tx, r.ID); err == nil && old.Suite() < s.Suite() {
		why = "" // they have a newer version, as this device has: that is nobody's trouble
	}
	r.Device, r.Broken, ch.Heard = int(hello.Device), nil, r.ID
	if err := errors.Join(tx.PutContact(r), contact.MakePrimary(tx, r.ID, s, now),
		e.newRoute(tx, now, r, contact.TheirRoute(sentAt(block), r.ID, &offer, realm)),
		tx.PutOpened(r.ID, hash, id, now.Unix()/daySeconds, true)); err != nil {
		return 0, nil, err
	}
	if err := e.resealAll(tx, now, r.ID, ch); err != nil {
		return 0, nil, err
	}
	if err := e.offer(tx, now, r, false, ch); err != nil {
		return 0, nil, err
	}
	ch.owes(r.ID)
	if why == "" {
		return Nothing, ch, nil
	}
	return Shown, ch, e.notice(tx, now, r.ID, why, ch)
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

// acceptGiven tries the sets of prekeys that the contact may hold, newest first.
func (e *Engine) acceptGiven(now time.Time, r *contact.Record, hello *session.Hello) (*session.Session, []byte) {
	for i := len(r.Given) - 1; i >= 0; i-- {
		g := r.Given[i]
		private, err := pqxdh.ParsePrivate(g.Private)
		if err != nil {
			continue
		}
		public, err := pqxdh.ParsePrekeys(g.Public)
		if err == nil {
			var s *session.Session
			var block []byte
			s, block, err = session.Accept(e.Rand, now, session.Self{Manifest: e.Self.Manifest, DH: e.Self.DH}, private, public, key.Hash(labelGiven, g.Public), hello)
			if err == nil {
				private.Wipe()
				return s, block
			}
		}
		private.Wipe()
	}
	return nil, nil
}

// resealAll seals every waiting message of a contact again under the present
// primary session, with the same ids. Hellos stay as they are.
func (e *Engine) resealAll(tx Tx, now time.Time, id int64, ch *Change) error {
	rows, err := tx.RowsOf(id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Hello || !row.Sealed {
			continue
		}
		if err := e.sealRow(tx, now, row, ch); err != nil {
			return err
		}
	}
	return nil
}
