package group

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// held is the epoch of a message that is not encrypted: its author waits to be added
// again, or was asked.
const held = ^uint64(0)

// maxMessages is how many own messages of one group wait for acks.
const maxMessages = 4096

// sharedMore is how much longer than acks take a message waits for them after it left
// once for all, before each leaf that did not ack gets a copy of its own.
const sharedMore = 30 * time.Second

// ErrFull: as many messages as can be kept wait for this group.
var ErrFull = errors.New("too many messages wait for this group")

// Send encrypts a content once for all leaves of the newest epoch and keeps it until
// each of them acked it. content is at most pad.MaxLogical bytes; what is in it is not
// looked at. While this device waits to be added again, the message waits with it.
//
// It fails with ErrUnknown, ErrLeft, ErrFull and pad.ErrSize.
//
// spec: group.md#messages
func (e *Engine) Send(tx Tx, now time.Time, id ID, content []byte) (wire.MessageID, *Change, error) {
	g, err := e.work(tx, now).member(id)
	if err != nil {
		return wire.MessageID{}, nil, err
	}
	m, err := g.send(content)
	if err != nil {
		return wire.MessageID{}, nil, err
	}
	return m, g.ch, g.save()
}

func (g *group) send(content []byte) (wire.MessageID, error) {
	logical, err := g.messageID()
	if err != nil {
		return logical, err
	}
	if err := g.mayWrite(); err != nil {
		return logical, err
	}
	waiting, err := g.messages()
	if err != nil {
		return logical, err
	}
	if len(waiting) >= maxMessages {
		return logical, ErrFull
	}
	parts, err := pad.Split(content)
	if err != nil {
		return logical, err
	}
	h, err := g.head()
	if err != nil {
		return logical, err
	}
	// Who is to be in a successor and is not yet hears it once they are.
	others := slices.DeleteFunc(append(h.others(), g.r.Rift.Expect...), func(l roster.Leaf) bool { return slices.Contains(g.r.Revoked, l.Device) })
	m := &Message{Group: g.r.ID, ID: logical, Epoch: held, Content: content, Saw: append(slices.Clone(h.Roster), g.r.Rift.Expect...), Born: g.unix(), Of: len(others)}
	for _, l := range others {
		m.Waits = append(m.Waits, Waiting{Device: l.Device, Parts: all(len(parts))})
	}
	if len(m.Waits) == 0 {
		return logical, nil // a note to oneself
	}
	if g.r.State == Behind {
		return logical, g.tx.PutMessage(m)
	}
	return logical, g.encrypt(h, m)
}

// all is a bit for each of n parts.
func all(n int) uint64 { return ^uint64(0) >> (64 - n) }

// messages are the own messages that wait, read once a call.
func (g *group) messages() ([]*Message, error) { return g.tx.Messages(g.r.ID) }

// low is the oldest epoch that own messages wait in; ^0: none.
func (g *group) low() (uint64, error) {
	msgs, err := g.messages()
	if err != nil {
		return 0, err
	}
	low := held
	for _, m := range msgs {
		low = min(low, m.Epoch)
	}
	return low, nil
}

// encrypt seals a message under the head, once for all who wait for it, and makes
// their copies.
//
// spec: group.md#messages
func (g *group) encrypt(h *opened, m *Message) error {
	parts, err := pad.Split(m.Content)
	if err != nil {
		return err
	}
	m.Epoch, m.Sealed, m.Asked, m.Sent = h.Number, nil, false, 0
	if err := g.tx.PutMessage(m); err != nil { // low counts it
		return err
	}
	for i, p := range parts {
		b := pad.Block{Logical: m.ID, Part: byte(i), Parts: byte(len(parts)), Content: p}
		block, err := b.Append(nil)
		if err != nil {
			return err
		}
		sealed, err := g.seal(h, &Said{Kind: SaidBlock, Body: block})
		if err != nil {
			return err
		}
		m.Sealed = append(m.Sealed, sealed)
	}
	if g.shares(h) {
		// Once for all who are there; who did not ack gets a copy later, and who cannot
		// hear it, at once.
		apart, err := h.apart()
		if err != nil {
			return err
		}
		g.copiesFor(h, m, func(d Device) bool { return slices.Contains(apart, d) })
		for i, b := range m.Sealed {
			g.copy(&Copy{Group: g.r.ID, Epoch: h.Number, Leaf: All, Message: partID(m.ID, i), Payload: b, Urgent: true})
		}
		m.Sent = g.unix() + seconds(g.ackMost()+sharedMore)
		g.at(m.Sent)
	} else {
		g.copies(h, m)
	}
	return g.tx.PutMessage(m)
}

// copies makes the copies of a message for all who wait for it.
func (g *group) copies(o *opened, m *Message) {
	g.copiesFor(o, m, func(Device) bool { return true })
}

func (g *group) copiesFor(o *opened, m *Message, who func(Device) bool) {
	at := make(map[Device]roster.Leaf, len(o.Roster))
	for _, l := range o.Roster {
		at[l.Device] = l
	}
	for _, w := range m.Waits {
		l, ok := at[w.Device]
		if !ok || !who(w.Device) {
			continue
		}
		for i, b := range m.Sealed {
			if w.Parts>>i&1 == 1 {
				g.copy(&Copy{Group: g.r.ID, Epoch: o.Number, Leaf: l.Index, To: l.Device, Message: partID(m.ID, i), Payload: b, Keep: true, Urgent: true})
			}
		}
	}
}

// withdraw takes back the copies of a message that wait.
func (g *group) withdraw(m *Message) error {
	for _, w := range m.Waits {
		if err := g.withdrawOf(m, w); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) withdrawOf(m *Message, w Waiting) error {
	if m.Epoch == held {
		return nil
	}
	o, err := g.epoch(m.Epoch)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if l, ok := leafOf(o.Roster, w.Device); ok {
		for i := range m.Sealed {
			if w.Parts>>i&1 == 1 {
				g.ch.Removed = append(g.ch.Removed, RowKey{g.r.ID, m.Epoch, l.Index, partID(m.ID, i)})
			}
		}
	}
	return nil
}

// again encrypts a message once more, under the head: its epoch is gone, or who waits
// for it was added again. That happens only for a part of the roster that its author
// saw; a person's new device counts as that person. Else the author is asked.
//
// spec: group.md#messages
func (g *group) again(h *opened, m *Message) error {
	if err := g.withdraw(m); err != nil {
		return err
	}
	var strangers []key.SignPublic
	for _, l := range h.others() {
		saw := func(s roster.Leaf) bool { return s.Device == l.Device || s.Root == l.Root && g.theirs(h, l) }
		if !slices.ContainsFunc(m.Saw, saw) && !slices.Contains(strangers, l.Root) {
			strangers = append(strangers, l.Root)
		}
	}
	m.Waits = slices.DeleteFunc(m.Waits, func(w Waiting) bool {
		_, in := leafOf(h.Roster, w.Device)
		return !in && !g.expected(w.Device)
	})
	if len(m.Waits) == 0 {
		return g.tx.DeleteMessage(g.r.ID, m.ID)
	}
	if g.r.Rift.Hold || !waitsIn(h, m) {
		m.Epoch, m.Sealed = held, nil
		return g.tx.PutMessage(m)
	}
	if len(strangers) > 0 {
		m.Epoch, m.Sealed = held, nil
		if !m.Asked {
			// Where no more can be asked it is asked later.
			m.Asked = g.ask(Question{Kind: AskWrite, About: strangers, Text: "messages of yours wait that these people were not there for; send them all the same?"})
		}
		return g.tx.PutMessage(m)
	}
	return g.encrypt(h, m)
}

// waitsIn reports whether anybody who waits for a message is in an epoch.
func waitsIn(h *opened, m *Message) bool {
	return slices.ContainsFunc(m.Waits, func(w Waiting) bool {
		_, in := leafOf(h.Roster, w.Device)
		return in
	})
}

// maxQuestions is how many questions wait for a person.
const maxQuestions = 32

// ask puts a question to a person, once, and reports whether it is asked now.
func (g *group) ask(q Question) bool {
	q.About = slices.Clone(q.About)
	for _, o := range g.r.Questions {
		if o.Kind == AskWrite && q.Kind == AskWrite { // of another message that waits
			q.About = append(q.About, o.About...)
		}
	}
	q.Group, q.About = g.r.ID, roster.SortKeys(q.About)
	about := make([]byte, 0, len(q.About)*len(key.SignPublic{}))
	for _, a := range q.About {
		about = append(about, a[:]...)
	}
	// A question about others is another: a yes is about those whom a person was shown.
	h := key.Hash("tacet/v1/group/question", []byte{byte(q.Kind)}, q.Group[:], about, []byte(q.Text))
	q.ID = [8]byte(h[:])
	if slices.ContainsFunc(g.r.Questions, func(o Question) bool { return o.ID == q.ID }) {
		return true
	}
	if q.Kind != AskLink {
		g.r.unask(q.Kind)
	}
	if len(g.r.Questions) >= maxQuestions {
		return false
	}
	g.r.Questions = append(g.r.Questions, q)
	g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventQuestion, About: q.About, Text: q.Text})
	return true
}

// decideWrite is a person's answer to AskWrite: yes lets those who were named read what
// waits, no ends it. Who came since is asked about anew.
func (g *group) decideWrite(q Question, yes bool) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if !m.Asked {
			continue
		}
		if !yes {
			if err := g.tx.DeleteMessage(g.r.ID, m.ID); err != nil {
				return err
			}
			continue
		}
		for _, l := range h.Roster {
			if _, saw := leafOf(m.Saw, l.Device); !saw && slices.Contains(q.About, l.Root) {
				m.Saw = append(m.Saw, l)
			}
		}
		m.Asked = false
		if g.r.State == Behind {
			if err := g.tx.PutMessage(m); err != nil {
				return err
			}
			continue
		}
		if err := g.again(h, m); err != nil {
			return err
		}
	}
	return nil
}

// rosterChanged ends what waits for who was removed, and encrypts again what waits for
// who was added again.
func (g *group) rosterChanged(old, next *opened, plan *roster.Plan) error {
	for _, w := range plan.Add {
		g.r.Removed = slices.DeleteFunc(g.r.Removed, func(d Device) bool { return d == w.Device })
	}
	var gone, again []Device
	for _, w := range plan.Add {
		again = append(again, w.Device) // what was said while they were waited for
	}
	for _, i := range plan.Remove {
		l, _ := leafAt(old.Roster, i)
		if slices.Contains(plan.Again, i) {
			again = append(again, l.Device)
		} else {
			gone = append(gone, l.Device)
		}
	}
	g.r.Acks = slices.DeleteFunc(g.r.Acks, func(a Acked) bool {
		return slices.Contains(gone, a.Device) || slices.Contains(again, a.Device)
	})
	g.r.Removed = append(g.r.Removed, gone...)
	g.departed(gone, next.Number)
	g.r.Removed = g.r.Removed[max(0, len(g.r.Removed)-maxRemoved):]
	return g.retarget(next, gone, again)
}

// retarget is rosterChanged for the messages that wait.
func (g *group) retarget(next *opened, gone, again []Device) error {
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		redo, changed := false, false
		var keep []Waiting
		for _, w := range m.Waits {
			if slices.Contains(again, w.Device) {
				// What it acked as another leaf it may have lost: it is sent all parts.
				parts, err := pad.Split(m.Content)
				if err != nil {
					return err
				}
				if err := g.withdrawOf(m, w); err != nil {
					return err
				}
				redo, w.Parts, w.Since = true, all(len(parts)), next.Number
			}
			if !slices.Contains(gone, w.Device) {
				keep = append(keep, w)
				continue
			}
			changed = true
			m.Of--
			if err := g.withdrawOf(m, w); err != nil {
				return err
			}
		}
		m.Waits = keep
		switch {
		case len(keep) == 0:
			err = g.tx.DeleteMessage(g.r.ID, m.ID)
		case redo && (m.Epoch != held || !m.Asked):
			err = g.again(next, m)
		case changed:
			err = g.tx.PutMessage(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tendMessages encrypts again what lost its epoch, and makes the copies of what left
// once for all.
func (g *group) tendMessages() error {
	if g.r.State == Behind {
		return nil
	}
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		o, err := g.epoch(m.Epoch)
		switch {
		case errors.Is(err, ErrUnknown) && !m.Asked && !g.r.Rift.Hold && waitsIn(h, m):
			err = g.again(h, m)
		case errors.Is(err, ErrUnknown):
			err = nil
		case err == nil && m.Sent != 0 && m.Sent <= g.unix():
			m.Sent = 0
			g.copies(o, m)
			err = g.tx.PutMessage(m)
		case err == nil:
			g.at(m.Sent)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxJoining is how many messages of several parts one device has under way.
const maxJoining = pad.MaxOpen

// hearBlock takes a content block, and shows the message once it is whole. The ack is
// owed in any case.
//
// spec: group.md#messages
func (g *group) hearBlock(o *opened, from roster.Leaf, body []byte) (shown bool, ack Ack, err error) {
	b, err := pad.Parse(body)
	if err != nil {
		return false, ack, ErrSaid
	}
	ack = Ack{b.Logical, 1 << b.Part}
	seen, err := g.tx.Seen(g.r.Origin, from.Device, b.Logical)
	if err != nil || seen {
		return false, ack, err
	}
	content := bytes.Clone(b.Content)
	if b.Parts > 1 {
		if content, err = g.join(from, &b); err != nil || content == nil {
			return false, ack, err
		}
	}
	if err := g.tx.MarkSeen(g.r.Origin, from.Device, b.Logical, int64(day(g.now))); err != nil {
		return false, ack, err
	}
	ev := Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventText, By: from.Device, ByRoot: from.Root, Message: b.Logical, Content: content}
	if g.leaving(o, from.Device) != nil {
		ev.Text = lateText
	}
	g.event(ev)
	return true, ack, nil
}

// join keeps a part and returns the whole when it was the last. It fails with ErrBusy.
func (g *group) join(from roster.Leaf, b *pad.Block) ([]byte, error) {
	all := joinNotes(g.r.Origin, from.Device)
	mine := fmt.Sprintf("%s%x/%02d/", all, b.Logical, b.Parts)
	names, err := g.tx.Notes(all)
	if err != nil {
		return nil, err
	}
	open, have := map[string]bool{}, 0
	for _, n := range names {
		if len(n) < len(mine) {
			return nil, ErrUnknown
		}
		open[n[:len(mine)]] = true
		if n[:len(mine)] == mine {
			have++
		}
	}
	if !open[mine] && len(open) >= maxJoining {
		return nil, ErrBusy
	}
	name := fmt.Sprintf("%s%02d", mine, b.Part)
	if slices.Contains(names, name) {
		return nil, nil
	}
	if have+1 < int(b.Parts) {
		return nil, g.tx.PutNote(name, b.Content)
	}
	var whole []byte
	for i := range int(b.Parts) {
		p := b.Content
		if i != int(b.Part) {
			if p, err = g.tx.Note(fmt.Sprintf("%s%02d", mine, i)); err != nil {
				return nil, err
			}
		}
		whole = append(whole, p...)
	}
	return whole, g.tx.DeleteNotes(mine)
}
