package convo

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
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
	if !r.Kept() {
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
	if errors.Is(err, contact.ErrUnknown) {
		return nil // the message ended its device
	}
	if err != nil {
		return err
	}
	if !r.Kept() || len(r.Prekeys) == 0 {
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
		p, err := contact.Principal(tx, r)
		if err != nil {
			return err
		}
		p.Warning = "the session with them is broken and they gave no keys to start again; exchange a new invite"
		r.Join(p)
		return errors.Join(tx.PutContact(p), tx.PutContact(r), e.notice(tx, now, r.ID, p.Warning, ch))
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
	theirs := e.Self.Manifest
	if !r.Own {
		if theirs, err = manifest.Parse(r.Manifest); err != nil {
			return nil, err
		}
	}
	place, ok := theirs.Find(r.Sign)
	if !ok {
		return nil, session.ErrDevice
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
	peer := session.Peer{Manifest: theirs, Device: place, Prekeys: prekeys, Bundle: key.Hash(labelGiven, r.Prekeys)}
	self := session.Self{Manifest: e.Self.Manifest, Device: e.Self.Place(e.Self.Manifest), DH: e.Self.DH}
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

// acceptGiven tries the sets of prekeys that a device may hold, newest first, each
// under our newest manifest and those before: the other end may not have been shown
// the newest yet. A device of ours may have been shown a newer one than this device:
// then it is in the hello, and counts if it follows ours.
//
// spec: hello.md#another-device
func (e *Engine) acceptGiven(now time.Time, r *contact.Record, hello *session.Hello) (*session.Session, []byte) {
	lists := append([]*manifest.Manifest{e.Self.Manifest}, e.Self.Past...)
	if m := hello.Manifest; r.Own && m.Sequence > e.Self.Manifest.Sequence {
		then := *e.Self
		if then.Adopt(now, m) == nil && then.Active(m) {
			lists = append(lists, m)
		}
	}
	for i := len(r.Given) - 1; i >= 0; i-- {
		if s, block := e.acceptSet(now, &r.Given[i], lists, hello); s != nil {
			return s, block
		}
	}
	return nil, nil
}

func (e *Engine) acceptSet(now time.Time, g *contact.Given, lists []*manifest.Manifest, hello *session.Hello) (*session.Session, []byte) {
	private, err := pqxdh.ParsePrivate(g.Private)
	if err != nil {
		return nil, nil
	}
	defer private.Wipe()
	public, err := pqxdh.ParsePrekeys(g.Public)
	if err != nil {
		return nil, nil
	}
	for _, m := range lists {
		self := session.Self{Manifest: m, Device: e.Self.Place(m), DH: e.Self.DH}
		if s, block, err := session.Accept(e.Rand, now, self, private, public, key.Hash(labelGiven, g.Public), hello); err == nil {
			return s, block
		}
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
		err := e.sealRow(tx, now, row, ch)
		if waits(err) {
			return nil // the old bytes stay until they have answered
		}
		if err != nil {
			return err
		}
	}
	return nil
}
