package contact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// labelHello is the HPKE info of a hello, with the hash of the bundle it answers.
const labelHello = "tacet/v1/hello/seal"

// labelWhole hashes a whole hello, to know it again.
const labelWhole = "tacet/v1/hello/whole"

// Outgoing is a hello of ours that is ready to be queued.
type Outgoing struct {
	Contact *Record
	Route   *RouteRecord   // the contact route it goes to
	Message wire.MessageID // what an ack of it names
	Whole   []byte         // wire.HelloSize bytes
	Until   int64          // unix seconds at which the invite ends
}

// Starting is what we need to say hello.
type Starting struct {
	Self   *device.Identity
	Link   invite.Link
	Bundle *invite.Bundle
	Realm  Realm  // ours: where they will reach us
	Live   uint16 // its period in seconds
	Name   string // what we call them
	Mine   string // what they see as ours
	First  []byte // the first content block, wire.BlockSize bytes
	Group  bool   // for a group: they are no contact, but a Member
}

// Check refuses a bundle that cannot be accepted: our own, or of somebody we
// already know and are not waiting for.
func Check(tx Tx, self *device.Identity, b *invite.Bundle) error {
	if b.Root == self.Manifest.Root {
		return ErrSelf
	}
	old, err := tx.ContactOf(b.Root)
	switch {
	case errors.Is(err, ErrUnknown):
		return nil
	case err != nil:
		return err
	case old.State == Accepted || old.State == Pending || old.State == Request:
		return ErrKnown
	}
	return nil
}

// Start accepts an invite: a session, a route of ours for their answers, and
// the hello that carries both.
//
// spec: hello.md#plaintext
func Start(tx Tx, rand io.Reader, now time.Time, s Starting) (*Outgoing, error) {
	if err := Check(tx, s.Self, s.Bundle); err != nil {
		return nil, err
	}
	r, err := invited(tx, now, &s)
	if err != nil {
		return nil, err
	}
	r.Realm, r.Blob, r.Last = Realm{Name: s.Link.Relay, Pin: s.Bundle.Realm}, s.Link.ID(), s.Bundle.Manifest.Ref()
	if err := tx.PutContact(r); err != nil {
		return nil, err
	}
	mine, offer, err := NewRoute(rand, now, s.Realm, s.Live)
	if err != nil {
		return nil, err
	}
	mine.Contact = r.ID
	peer := session.Peer{Manifest: s.Bundle.Manifest, Device: r.Device, Prekeys: s.Bundle.Prekeys, Bundle: s.Bundle.Hash()}
	self := session.Self{Manifest: s.Self.Manifest, Device: s.Self.Place(s.Self.Manifest), DH: s.Self.DH}
	sess, hello, err := session.Start(rand, self, peer, AppendOffer(nil, offer, s.Realm), s.Mine, s.First)
	if err != nil {
		return nil, err
	}
	defer sess.Wipe()
	plain, err := hello.Append(nil)
	if err != nil {
		return nil, err
	}
	hash := s.Bundle.Hash()
	whole, err := sealed.SealHello(s.Bundle.Seal, key.Info(nil, labelHello, hash[:]), plain)
	if err != nil {
		return nil, fmt.Errorf("sealing hello: %w", err)
	}
	id, _, err := sealed.Fragments(wire.KindHello, whole)
	if err != nil {
		return nil, err
	}
	r.Hello = id
	theirs := TheirRoute(0, r.ID, &s.Bundle.Route, r.Realm)
	theirs.Invite = -1 // a contact route of theirs: hellos only
	if err := errors.Join(tx.PutContact(r), tx.PutRoute(mine), tx.PutRoute(theirs), MakePrimary(tx, r.ID, sess, now)); err != nil {
		return nil, err
	}
	return &Outgoing{Contact: r, Route: theirs, Message: id, Whole: whole, Until: int64(min(s.Bundle.Expiry, math.MaxInt64))}, nil
}

// invited makes the record of the device whose bundle it is. Somebody who is known
// from a group stays a member until they have answered: their sessions go on.
func invited(tx Tx, now time.Time, s *Starting) (*Record, error) {
	held, place, err := heldOf(tx, now, s.Bundle.Manifest, int(s.Bundle.Device))
	if err != nil {
		return nil, err
	}
	r, err := recordFor(tx, s.Bundle.Root)
	if err != nil {
		return nil, err
	}
	device := r
	if r.State == Member {
		if err := r.NewManifest(s.Bundle.Manifest, now); err != nil {
			return nil, err
		}
		if device, err = DeviceFor(tx, r, held, place); err != nil {
			return nil, err
		}
	} else {
		r.State = Pending
		if s.Group {
			r.State = Member
		}
		if err := r.begin(s.Bundle.Manifest, held, place, now); err != nil {
			return nil, err
		}
	}
	r.Claimed, r.Since = CleanName(s.Bundle.Name), now.Unix()
	if r.Name, err = freeName(tx, s.Name, r); err != nil {
		return nil, err
	}
	if device != r {
		device.Join(r)
	}
	return device, tx.PutContact(r)
}

// MakePrimary stores a session as the one that new messages are sealed in.
// Older ones stay to read what is still on its way.
func MakePrimary(tx Sessions, contact int64, s *session.Session, now time.Time) error {
	old, err := tx.SessionsOf(contact)
	if err != nil {
		return err
	}
	for _, o := range old {
		if o.Primary {
			o.Primary = false
			if err := tx.PutSession(o); err != nil {
				return err
			}
		}
	}
	return tx.PutSession(newRecord(contact, s, now, true))
}

// PutAside stores a session in which nothing is sealed before the other end has
// shown that it has it.
func PutAside(tx Sessions, contact int64, s *session.Session, now time.Time) error {
	return tx.PutSession(newRecord(contact, s, now, false))
}

func newRecord(contact int64, s *session.Session, now time.Time, primary bool) *SessionRecord {
	return &SessionRecord{
		Contact: contact, State: s.Append(nil), Initiator: s.Initiator(), Sent: s.Sent(), Highest: s.Highest(), Primary: primary, Born: now.Unix(),
	}
}

// Incoming is what a hello to one of our invites brought.
type Incoming struct {
	Contact   *Record
	Message   wire.MessageID
	Block     []byte // the first content block; nil for a duplicate
	Duplicate bool   // the same bytes came before: answer again
	Doubtful  bool   // it shows another past of somebody we know: sending is stopped, nothing else was done
	// Followed: the person is known, and the manifest of the hello is theirs now.
	Followed   bool
	Introduced bool // the invite was an introduction for a group
}

// Receive takes a whole hello that came by an invite's contact route. It fails
// with ErrHello when it does not open, or uses keys that another hello used.
//
// spec: hello.md#answers
func Receive(tx Tx, rand io.Reader, now time.Time, self *device.Identity, inv *InviteRecord, whole []byte) (*Incoming, error) {
	hash := key.Hash(labelWhole, whole)
	id, _, err := sealed.Fragments(wire.KindHello, whole)
	if err != nil {
		return nil, ErrHello
	}
	for _, h := range inv.Hellos {
		if h.Hash == hash {
			r, err := tx.Contact(h.Contact)
			if errors.Is(err, ErrUnknown) {
				return nil, ErrHello // the device was revoked since
			}
			if err != nil {
				return nil, err
			}
			return &Incoming{Contact: r, Message: id, Duplicate: true}, nil
		}
	}
	if !inv.Open(now) {
		return nil, ErrHello
	}
	sess, hello, block, err := openHello(rand, now, self, inv, whole)
	if err != nil {
		return nil, ErrHello
	}
	defer sess.Wipe()
	offer, realm, err := ParseOffer(hello.Route)
	if err != nil || CheckOffer(now, inv.Realm, &offer, realm) != nil || hello.Manifest.Root == self.Manifest.Root {
		return nil, ErrHello
	}
	r, followed, err := met(tx, now, inv, hello)
	if Doubtful(err) {
		return &Incoming{Contact: r, Doubtful: true}, nil
	}
	if err != nil {
		return nil, err
	}
	r.Realm = realm
	inv.Used++
	inv.Hellos = append(inv.Hellos, HelloSeen{Hash: hash, Contact: r.ID})
	if err := errors.Join(tx.PutContact(r), tx.PutRoute(TheirRoute(0, r.ID, &offer, realm)), MakePrimary(tx, r.ID, sess, now)); err != nil {
		return nil, err
	}
	if inv.Used >= inv.Uses {
		err = inv.Destroy(tx, true)
	} else {
		err = tx.PutInvite(inv)
	}
	return &Incoming{Contact: r, Message: id, Block: block, Followed: followed, Introduced: inv.Group}, err
}

func openHello(rand io.Reader, now time.Time, self *device.Identity, inv *InviteRecord, whole []byte) (*session.Session, *session.Hello, []byte, error) {
	seal, err := key.New[key.XWingRole](inv.Seal)
	if err != nil {
		return nil, nil, nil, err
	}
	defer seal.Wipe()
	plain, err := sealed.OpenHello(seal, key.Info(nil, labelHello, inv.Bundle[:]), whole)
	if err != nil {
		return nil, nil, nil, err
	}
	hello, err := session.ParseHello(plain)
	if err != nil {
		return nil, nil, nil, err
	}
	private, err := pqxdh.ParsePrivate(inv.Private)
	if err != nil {
		return nil, nil, nil, err
	}
	defer private.Wipe()
	public, err := pqxdh.ParsePrekeys(inv.Public)
	if err != nil {
		return nil, nil, nil, err
	}
	// The bundle was made under this manifest: the handshake binds to it even
	// if ours was renewed since.
	m, err := manifest.Parse(inv.Manifest)
	if err != nil {
		return nil, nil, nil, err
	}
	sess, block, err := session.Accept(rand, now, session.Self{Manifest: m, Device: self.Place(m), DH: self.DH}, private, public, inv.Bundle, hello)
	return sess, hello, block, err
}

// met finds or makes the device that a hello is from. followed says that the person
// is known and shows this manifest now.
func met(tx Tx, now time.Time, inv *InviteRecord, h *session.Hello) (r *Record, followed bool, err error) {
	if inv.Group && h.Manifest.Root != inv.For {
		return nil, false, ErrHello
	}
	old, err := tx.ContactOf(h.Manifest.Root)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, false, err
	}
	if err == nil && old.State == Blocked {
		return nil, false, ErrHello
	}
	if err == nil && old.MayReceive() {
		r, err = metAgain(tx, now, inv, old, h)
		return r, err == nil, err
	}
	held, place, err := heldOf(tx, now, h.Manifest, int(h.Device))
	if err != nil {
		return nil, false, err
	}
	if r, err = recordFor(tx, h.Manifest.Root); err != nil {
		return nil, false, err
	}
	r.State, r.Since = Request, now.Unix()
	switch {
	case inv.Group:
		r.State = Member
	case !inv.Ask:
		r.State = Accepted
	}
	r.Claimed, r.Invite = CleanName(h.Name), inv.ID
	r.Last = h.Manifest.Ref()
	if err := r.begin(h.Manifest, held, place, now); err != nil {
		return nil, false, err
	}
	want := inv.Label
	if want == "" || inv.Uses > 1 {
		want = h.Name
	}
	if r.Name, err = freeName(tx, want, r); err != nil {
		return nil, false, err
	}
	return r, false, tx.PutContact(r)
}

// metAgain is a hello of somebody we know: they took an invite of ours while
// our hello to them is on its way, or they have a new device. Whether ours
// arrives is not known; theirs has, so both ends have its session.
//
// spec: hello.md#simultaneous-hellos
func metAgain(tx Tx, now time.Time, inv *InviteRecord, p *Record, h *session.Hello) (*Record, error) {
	if p.State != Member || !inv.Group && !inv.Ask {
		p.State = Accepted
	}
	switch err := p.NewManifest(h.Manifest, now); {
	case Doubtful(err):
		return p, errors.Join(err, tx.PutContact(p))
	case err != nil:
		return nil, ErrHello
	}
	held, place, err := p.active(h.Manifest, int(h.Device))
	if err != nil {
		return nil, err
	}
	if err := tx.PutContact(p); err != nil {
		return nil, err
	}
	r, err := DeviceFor(tx, p, held, place)
	if err != nil {
		return nil, err
	}
	r.Last = h.Manifest.Ref()
	return r, tx.PutContact(r)
}

// active finds a device that a manifest lists in the newest one that is held. What is
// shown may be older: a device that was revoked since is none, whatever it shows. It
// fails with ErrHello.
func (r *Record) active(m *manifest.Manifest, at int) (held *manifest.Manifest, place int, err error) {
	if held, err = manifest.Parse(r.Manifest); err != nil {
		return nil, 0, fmt.Errorf("reading stored manifest: %w", err)
	}
	is, ok := m.Active(at)
	place, known := held.Find(is.Sign)
	if !ok || !known || held.Devices[place] != is {
		return nil, 0, ErrHello
	}
	return held, place, nil
}

// heldOf returns the list by which somebody begins anew, and the device's place in it:
// that of before, if they were known, or the one that they show if it follows it. What
// was declined or came to nothing does not make a device active again that was
// revoked. It fails with ErrHello, and changes nothing.
func heldOf(tx Tx, now time.Time, m *manifest.Manifest, at int) (*manifest.Manifest, int, error) {
	old, err := tx.ContactOf(m.Root)
	if errors.Is(err, ErrUnknown) || err == nil && len(old.Manifest) == 0 {
		return m, at, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if old.NewManifest(m, now) != nil {
		return nil, 0, ErrHello
	}
	return old.active(m, at)
}

// begin gives a record that begins anew the list that heldOf found.
func (r *Record) begin(shown, held *manifest.Manifest, place int, now time.Time) error {
	if len(r.Manifest) == 0 {
		r.Manifest = held.Append(nil)
	} else if err := r.NewManifest(shown, now); err != nil {
		return err
	}
	return r.Is(held, place)
}

// Is makes a record that of the device at a place of a manifest. It fails with
// ErrHello if there is no active device.
func (r *Record) Is(m *manifest.Manifest, place int) error {
	d, ok := m.Active(place)
	if !ok {
		return ErrHello
	}
	r.Device, r.Sign, r.Gone = place, d.Sign, false
	return nil
}

// DeviceFor finds or makes the record of a person's device at a place of their
// newest manifest. The record that stands for the person serves a new device if
// its own is not active any more; what led to that one is destroyed then. It fails
// with ErrHello if there is no active device.
func DeviceFor(tx Tx, p *Record, m *manifest.Manifest, place int) (*Record, error) {
	d, ok := m.Active(place)
	if !ok {
		return nil, ErrHello
	}
	if !p.Gone && p.Sign == d.Sign {
		p.Device = place
		return p, nil
	}
	r, err := tx.DeviceOf(p.Root, d.Sign)
	if err == nil {
		r.Device = place
		return r, nil
	}
	if !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	if at, ok := m.Find(p.Sign); p.Gone || !ok || m.Devices[at].Revoked {
		if err := Forget(tx, p.ID); err != nil {
			return nil, err
		}
		p.ForgetDevice()
		return p, p.Is(m, place)
	}
	r = &Record{Root: p.Root, Person: p.ID}
	r.Join(p)
	return r, r.Is(m, place)
}

// ForgetDevice drops what a record knows of its device; the person stays.
func (r *Record) ForgetDevice() {
	for _, g := range r.Given {
		clear(g.Private)
	}
	kept := Record{ID: r.ID, Person: r.Person, Own: r.Own, Realm: r.Realm, Blob: r.Blob, Gone: true}
	kept.Join(r)
	*r = kept
}

// maxPast bounds Record.Past.
const maxPast = 16

// NewManifest takes a newer manifest of the person, or stops the contact if it goes
// back or forks. r stands for the person.
//
// A person with several devices may be shown by one what another has long replaced:
// an older manifest that fits what was seen is passed over then. That one device
// goes back is seen by what its blocks name.
//
// spec: manifest.md#checks
func (r *Record) NewManifest(m *manifest.Manifest, now time.Time) error {
	raw := m.Append(nil)
	if bytes.Equal(raw, r.Manifest) {
		return nil
	}
	old, err := manifest.Parse(r.Manifest)
	if err != nil {
		return fmt.Errorf("reading stored manifest: %w", err)
	}
	if m.Ref() == r.Trusted && m.Verify(r.Root, now) == nil {
		r.replace(old, raw)
		return nil
	}
	err = manifest.CheckNext(old, m, now)
	if errors.Is(err, manifest.ErrGap) {
		if err = m.Verify(r.Root, now); err == nil {
			err = manifest.CheckRevoked(old, m)
		}
		if err == nil && !shares(old, m) {
			r.Warning = "they set up a new device; their safety number is the same"
		}
	}
	if errors.Is(err, manifest.ErrRollback) && (several(old) || several(m)) && !r.contradicts(old, m.Ref()) {
		return nil
	}
	switch {
	case err == nil:
		r.replace(old, raw)
		return nil
	case Doubtful(err):
		r.Stop, r.Warning, r.Doubt = true, WarnManifest, m.Ref()
	}
	return err
}

// replace puts a manifest in the place of the old one, which is remembered.
func (r *Record) replace(old *manifest.Manifest, raw []byte) {
	if !bytes.Equal(raw, r.Manifest) {
		r.Past = append(r.Past[max(0, len(r.Past)-maxPast+1):len(r.Past):len(r.Past)], old.Ref())
	}
	r.Manifest = raw
}

// several reports whether a manifest lists more than one device, revoked ones too:
// then there is, or was, one that may not know the newest.
func several(m *manifest.Manifest) bool { return len(m.Devices) > 1 }

// shares reports whether some device is active in both manifests.
func shares(a, b *manifest.Manifest) bool {
	for _, d := range a.Devices {
		if i, ok := b.Find(d.Sign); ok && !d.Revoked && !b.Devices[i].Revoked {
			return true
		}
	}
	return false
}

// contradicts reports whether an older manifest that somebody names is another one
// than was seen at its sequence.
func (r *Record) contradicts(held *manifest.Manifest, ref pad.Ref) bool {
	if ref.Sequence+1 == held.Sequence {
		return [8]byte(held.Previous[:8]) != ref.Hash
	}
	for _, p := range r.Past {
		if p.Sequence == ref.Sequence {
			return p.Hash != ref.Hash
		}
	}
	return false
}

// CheckNamed judges the manifest of its person that a device names in a block that
// is newer than all before. It fails with an error that is Doubtful for a fork, and
// if the device goes back. r is the record of the device.
//
// spec: manifest.md#references
func (r *Record) CheckNamed(held *manifest.Manifest, ref pad.Ref) error {
	err := manifest.CheckRef(held.Ref(), ref)
	if !errors.Is(err, manifest.ErrRollback) || !several(held) {
		return err
	}
	switch {
	case r.contradicts(held, ref):
		return manifest.ErrFork
	case ref.Sequence < r.Last.Sequence:
		return manifest.ErrRollback
	}
	return nil // it has not been shown the newest yet
}

// WarnManifest is shown when a contact's manifests contradict each other.
const WarnManifest = "their list of devices went back or has two versions: somebody may be using an old copy of their keys"

// Doubtful reports whether a manifest error means that somebody shows another
// past than the one that was seen. Others (expired, badly signed) are refused
// without a word: anybody could send them.
func Doubtful(err error) bool {
	for _, is := range []error{manifest.ErrRollback, manifest.ErrFork, manifest.ErrRevoked, manifest.ErrRemoved, manifest.ErrChanged} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// recordFor returns the record of a root with everything of an earlier acquaintance
// dropped, or a new one. What is true of the person stays: the name, the list of their
// devices, and whether their safety number was compared.
func recordFor(tx Tx, root key.SignPublic) (*Record, error) {
	old, err := tx.ContactOf(root)
	if errors.Is(err, ErrUnknown) {
		return &Record{Root: root}, nil
	}
	if err != nil {
		return nil, err
	}
	if old.State == Member {
		return old, nil
	}
	devices, err := tx.DevicesOf(old.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.ID == old.ID {
			continue
		}
		if err := errors.Join(Forget(tx, d.ID), tx.DeleteContact(d.ID)); err != nil {
			return nil, err
		}
	}
	if err := Forget(tx, old.ID); err != nil {
		return nil, err
	}
	r := &Record{ID: old.ID, Root: root, Name: old.Name, Verified: old.Verified, Read: old.Read,
		Manifest: old.Manifest, Past: old.Past, Trusted: old.Trusted, Stop: old.Stop, Doubt: old.Doubt}
	if old.Stop {
		r.Warning = old.Warning
	}
	return r, nil
}

// Forget destroys every session and route of a contact: nothing of theirs
// reaches us any more and nothing of ours reaches them.
func Forget(tx Tx, id int64) error {
	sessions, err := tx.SessionsOf(id)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if err := tx.DeleteSession(s.ID); err != nil {
			return err
		}
	}
	routes, err := tx.RoutesOf(id)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if err := tx.DeleteRoute(r.ID); err != nil {
			return err
		}
	}
	return nil
}
