package convo

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Outcome says what a cell turned out to be, for its receipt echo.
type Outcome byte

// Outcomes.
const (
	Rejected Outcome = 1 // did not open, or its sender is not accepted
	Nothing  Outcome = 2 // opened, but shows nothing: a duplicate, an ack, a drop
	Shown    Outcome = 3 // opened, with something new
)

// daySeconds is a day; times in the vault that outlive a message are days.
const daySeconds = 86400

// Pair takes one pair message that came by a route of ours.
//
// spec: session.md#receiving
func (e *Engine) Pair(tx Tx, now time.Time, route *contact.RouteRecord, m wire.MessageID, payload []byte) (Outcome, *Change, error) {
	ch := &Change{}
	r, err := tx.Contact(route.Contact)
	if errors.Is(err, contact.ErrUnknown) {
		return Rejected, ch, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if !r.MayReceive() {
		return Rejected, ch, nil
	}
	hash := session.InnerHash(payload)
	if _, ok, err := tx.Opened(hash); err != nil {
		return 0, nil, err
	} else if ok {
		return e.again(tx, r.ID, m, ch)
	}
	s, block, late, stalled, err := e.open(tx, now, r, payload)
	if err != nil {
		return 0, nil, err
	}
	if s == nil {
		return Rejected, ch, e.unopened(tx, now, r, hash, ch)
	}
	ch.Heard, ch.Number = r.ID, s.Highest
	if known, err := tx.Known(r.ID, m); err != nil {
		return 0, nil, err
	} else if known {
		if err := errors.Join(tx.PutSession(s), tx.PutOpened(r.ID, hash, m, now.Unix()/daySeconds, true)); err != nil {
			return 0, nil, err
		}
		ch.Again = append(ch.Again, r.ID)
		ch.owes(r.ID)
		return Nothing, ch, nil
	}
	if err := tx.PutSession(s); err != nil {
		return 0, nil, err
	}
	if err := errors.Join(e.answered(tx, r), e.arrived(tx, now, r)); err != nil {
		return 0, nil, err
	}
	shown, owes, err := e.take(tx, now, r, s, block, late, ch)
	if err != nil {
		return 0, nil, err
	}
	if err := tx.PutOpened(r.ID, hash, m, now.Unix()/daySeconds, owes); err != nil {
		return 0, nil, err
	}
	if owes {
		ch.owes(r.ID)
	}
	if stalled {
		if err := e.stalled(tx, now, r.ID, ch); err != nil {
			return 0, nil, err
		}
	}
	if shown {
		return Shown, ch, nil
	}
	return Nothing, ch, nil
}

// again answers a duplicate once more: its ack was lost.
func (e *Engine) again(tx Tx, id int64, m wire.MessageID, ch *Change) (Outcome, *Change, error) {
	if err := tx.Settle(id, []wire.MessageID{m}, true); err != nil {
		return 0, nil, err
	}
	ch.Heard, ch.Again = id, append(ch.Again, id)
	ch.owes(id)
	return Nothing, ch, nil
}

// open tries the contact's sessions, the primary one first. It returns the
// session with its next state, not yet stored, or nil when none opens it, and
// whether the message is older than the newest one so far, and whether the
// session, if it is the primary one, is stalled.
func (e *Engine) open(tx Tx, now time.Time, r *contact.Record, payload []byte) (_ *contact.SessionRecord, block []byte, late, stalled bool, err error) {
	all, err := tx.SessionsOf(r.ID)
	if err != nil {
		return nil, nil, false, false, err
	}
	for _, first := range []bool{true, false} {
		for _, rec := range all {
			if rec.Primary != first {
				continue
			}
			s, err := session.Parse(rec.State)
			if err != nil {
				return nil, nil, false, false, fmt.Errorf("opening session: %w", err)
			}
			block, err := s.Open(e.Rand, now, payload)
			if err != nil {
				s.Wipe()
				continue
			}
			if !rec.Primary && rec.Initiator && rec.Highest == 0 {
				err = e.crossed(tx, r, rec, all)
			}
			late = !rec.Primary || s.Highest() <= rec.Highest
			stalled = rec.Primary && s.Stalled()
			rec.State, rec.Highest, rec.Epoch = s.Append(nil), s.Highest(), s.Epoch()
			s.Wipe()
			return rec, block, late, stalled, err
		}
	}
	return nil, nil, false, false, nil
}

// crossed is called when a session that we started opens its first message while
// we write in another. If that one is of an older suite, the other end now has
// the newer one. If it is one that they started, the two hellos crossed and each
// end took the other's: both then write in the one that the smaller root started.
//
// spec: hello.md#simultaneous-hellos
func (e *Engine) crossed(tx Tx, r *contact.Record, rec *contact.SessionRecord, all []*contact.SessionRecord) error {
	newer := slices.ContainsFunc(all, func(o *contact.SessionRecord) bool { return o.Primary && o.Suite() < rec.Suite() })
	if !newer && !e.leads(r) {
		return nil
	}
	for _, o := range all {
		if o.Primary {
			o.Primary = false
			if err := tx.PutSession(o); err != nil {
				return err
			}
		}
	}
	rec.Primary = true
	return nil
}

// take reads a block and does what it says. A block that this version cannot
// read is acked and shown as such: sending it again would not help.
func (e *Engine) take(tx Tx, now time.Time, r *contact.Record, s *contact.SessionRecord, raw []byte, late bool, ch *Change) (shown, owes bool, err error) {
	b, err := pad.Parse(raw)
	if err != nil {
		return true, true, e.notice(tx, now, r.ID, "a message came that this version cannot read", ch)
	}
	if !late {
		if err := e.refs(tx, now, r, &b, ch); err != nil {
			return false, false, err
		}
	}
	body := b.Content
	if b.Parts > 1 {
		if err := roomFor(tx, r.ID, b.Logical); err != nil {
			return false, false, err
		}
		body, err = tx.PutPart(r.ID, b.Logical, b.Part, b.Parts, b.Content, now.Unix())
		if err != nil {
			return false, false, err
		}
		if body == nil {
			return true, true, nil // a part of more: the device has it
		}
	}
	c, err := content.Parse(body)
	if err != nil {
		return true, true, e.notice(tx, now, r.ID, "a message came that this version cannot read", ch)
	}
	if c.Unknown && c.Text == nil && c.Acks == nil && c.Control == nil && c.Sync == nil && c.Group == nil {
		return true, true, e.notice(tx, now, r.ID, "a message came of a kind that this version does not know", ch)
	}
	if c.Acks != nil {
		if err := e.takeAcks(tx, now, r, s, c.Acks, ch); err != nil {
			return false, false, err
		}
	}
	if c.Control != nil {
		owes = true
		if err := e.control(tx, now, r, c, ch); err != nil {
			return false, false, err
		}
	}
	if c.Text != nil {
		owes = true
		if shown, err = e.text(tx, now, r, b.Logical, c, ch); err != nil {
			return false, false, err
		}
	}
	if c.Sync != nil {
		owes = true
		if r.Own {
			if err := e.synced(tx, now, r, c, ch); err != nil {
				return false, false, err
			}
		}
	}
	if c.Group != nil {
		owes = true
		if e.Groups != nil && r.Kept() {
			if err := e.Groups.Take(tx, now, r, c.Group, ch); err != nil {
				return false, false, err
			}
		}
	}
	return shown, owes, nil
}

// maxOpen bounds the long messages of a contact that are not whole yet. Their
// parts were acked, so they are kept for as long as it takes; of more, no part
// is taken, and its sender offers it again.
const maxOpen = 16

func roomFor(tx Parts, id int64, logical wire.MessageID) error {
	open, err := tx.OpenParts(id)
	if err != nil {
		return err
	}
	if len(open) >= maxOpen && !slices.Contains(open, logical) {
		return ErrBusy
	}
	return nil
}

// takeAcks removes what was acked. A device that says it has seen more of us
// than we remember sending proves that our disk went back in time.
//
// spec: vault.md#what-is-detected-and-what-is-not
func (e *Engine) takeAcks(tx Tx, now time.Time, r *contact.Record, s *contact.SessionRecord, a *content.Acks, ch *Change) error {
	if err := e.acked(tx, now, r.ID, a.IDs, ch); err != nil {
		return err
	}
	if a.Highest > s.Sent {
		return e.rekey(tx, now, r, "they have seen more of this session than this device remembers, so a new one was started: its storage may have gone back in time", ch)
	}
	return nil
}

// refs compares the manifests that a block names with those that are known: of
// theirs, a lower sequence or another hash at the same one is shown and stops
// sending; of ours, one that we never signed is shown, and who knows an older one
// is told of the newest. It is asked of blocks that are newer than all before: late
// ones name what was true then.
//
// spec: manifest.md#references
func (e *Engine) refs(tx Tx, now time.Time, r *contact.Record, b *pad.Block, ch *Change) error {
	if r.Own {
		return e.behind(tx, now, r, b.Ours, ch)
	}
	p, err := contact.Principal(tx, r)
	if err != nil {
		return err
	}
	m, err := manifest.Parse(p.Manifest)
	if err != nil {
		return fmt.Errorf("reading stored manifest: %w", err)
	}
	if err := e.behind(tx, now, r, b.Theirs, ch); err != nil {
		return err
	}
	err = manifest.CheckRef(e.Self.Manifest.Ref(), b.Theirs)
	// Only where the root is can it be said that nobody else signed a newer one.
	if (errors.Is(err, manifest.ErrNewer) && e.Self.HasRoot() || errors.Is(err, manifest.ErrFork)) && p.Warning != warnOurs {
		p.Warning = warnOurs
		if err := errors.Join(tx.PutContact(p), e.notice(tx, now, p.ID, warnOurs, ch)); err != nil {
			return err
		}
	}
	defer func() {
		if p != r {
			r.Join(p)
		}
	}()
	if p.Stop || b.Ours == p.Trusted {
		return nil
	}
	if contact.Doubtful(r.CheckNamed(m, b.Ours)) {
		p.Stop, p.Warning, p.Doubt = true, contact.WarnManifest, b.Ours
		if err := tx.PutContact(p); err != nil {
			return err
		}
		return e.notice(tx, now, p.ID, p.Warning, ch)
	}
	if b.Ours.Sequence <= r.Last.Sequence {
		return nil
	}
	r.Last = b.Ours
	return tx.PutContact(r)
}

// warnOurs is shown when a contact knows a list of our devices that we do not.
const warnOurs = "they know a list of your devices that this device did not sign: its storage is old, or somebody has your recovery words"

// notice adds a line that the client itself says, in the conversation with the person
// whose device it is about. Devices of ours and members of groups have none.
func (e *Engine) notice(tx Tx, now time.Time, id int64, text string, ch *Change) error {
	r, err := tx.Contact(id)
	if err != nil {
		return err
	}
	if r.Own || r.State == contact.Member {
		return nil
	}
	ev := &Event{Contact: r.PersonID(), Kind: Notice, Text: text, Sent: now.Unix(), At: now.Unix()}
	ch.Events = append(ch.Events, ev)
	return tx.PutEvent(ev)
}

// answered closes the contact route of a used-up invite once its user proves
// to have our answer: until then their hello may have to be answered again.
func (e *Engine) answered(tx Tx, r *contact.Record) error {
	if r.Invite == 0 {
		return nil
	}
	inv, err := tx.Invite(r.Invite)
	r.Invite = 0
	if err := tx.PutContact(r); err != nil {
		return err
	}
	if errors.Is(err, contact.ErrInvite) {
		return nil
	}
	if err != nil {
		return err
	}
	if !inv.Gone || inv.Uses > 1 {
		return nil
	}
	return inv.Destroy(tx, false)
}
