package mls

import (
	"bytes"
	"testing"
)

// FuzzPrivateMessage changes a valid message, before it is sealed (as a member who
// breaks rules can) or after, and opens it: either it is what was sent, or there is an
// error and the receiver's state is as before.
func FuzzPrivateMessage(f *testing.F) {
	e := newTestEpoch(f, SuiteX25519ChaCha, 5, 1)
	from, to := e.members[1], e.members[0]
	a := e.propose(f, from, WirePrivate)
	whole := (&Message{Wire: WirePrivate, private: e.raw(f, from, 1, a, nil)}).Append(nil)
	f.Add(uint8(0), uint16(0), []byte{})
	f.Add(uint8(0), uint16(9), []byte{1})
	f.Add(uint8(0), uint16(60), []byte{0x80})
	f.Add(uint8(1), uint16(3), []byte{2})
	f.Add(uint8(1), uint16(200), []byte{1, 2})
	f.Add(uint8(2), uint16(3), []byte{3})
	f.Add(uint8(2), uint16(6), []byte{4, 1, 1})
	f.Fuzz(func(t *testing.T, where uint8, at uint16, x []byte) {
		// mutate xors x at a place, and appends what stands over.
		mutate := func(b []byte) []byte {
			b = bytes.Clone(b)
			for i, v := range x {
				if int(at)+i < len(b) {
					b[int(at)+i] ^= v
				} else {
					b = append(b, v)
				}
			}
			return b
		}
		b, plain := whole, []byte(nil)
		switch where % 3 {
		case 0: // on the wire
			b = mutate(whole)
		case 1: // the content
			pm := e.raw(t, from, 1, a, func(_ *privateMessage, p *[]byte, _ *senderData) { plain = *p; *p = mutate(*p) })
			b = (&Message{Wire: WirePrivate, private: pm}).Append(nil)
		case 2: // the sender data, of a generation that can be sealed for
			s := senderData{}
			pm := e.raw(t, from, 1, a, func(_ *privateMessage, _ *[]byte, s *senderData) { s.Generation = 1 })
			s, err := pm.openSender(e.suite.params(), to.e.senderData)
			if err != nil {
				t.Fatal(err)
			}
			r := reader{b: mutate(s.append(nil))}
			pm.sealSender(e.suite.params(), to.e.senderData, readSenderData(&r))
			b = (&Message{Wire: WirePrivate, private: pm}).Append(nil)
		}
		before := state(to)
		m, err := ParseMessage(b)
		if err == nil && m.Wire == WirePrivate {
			var o *opened
			if o, err = to.openPrivate(m.private); err == nil {
				if c := o.content.Content; c.Type != ContentProposal || c.Sender.Leaf != 1 || c.Proposal.Removed != 1 || len(c.AuthenticatedData) != 0 {
					t.Errorf("opened what nobody sent: %+v", c)
				}
				if where%3 == 1 && !bytes.HasPrefix(mutate(plain), plain) {
					t.Error("opened a content that was changed")
				}
			}
		}
		if !bytes.Equal(before, state(to)) {
			t.Error("the state changed")
		}
	})
}

// FuzzMessagesState reads state: what is accepted is written again as it was, and can
// be used and dropped.
func FuzzMessagesState(f *testing.F) {
	e := newTestEpoch(f, SuiteX25519ChaCha, 5, 1)
	f.Add(state(e.members[0]))
	pm := e.say(f, e.members[1], "x", 0)
	late := e.say(f, e.members[1], "x", 0)
	if _, err := e.members[0].open(late); err != nil {
		f.Fatal(err)
	}
	e.say(f, e.members[0], "x", 0)
	f.Add(state(e.members[0]))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := reader{b: bytes.Clone(b)}
		m := readMessages(&r, e.view(0), nil)
		if m == nil || r.err("") != nil {
			return
		}
		if got := state(m); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		_, _ = m.open(pm)
		if res, err := m.reserve(ContentApplication); err == nil {
			res.Drop()
		}
		m.drop()
	})
}

// FuzzParsePastEpoch is the same for a past epoch.
func FuzzParsePastEpoch(f *testing.F) {
	e := newTestEpoch(f, SuiteX25519ChaCha, 5, 1)
	past := e.members[0].pastOf()
	if _, err := past.Open(&Message{Wire: WirePrivate, private: e.say(f, e.members[1], "x", 0)}); err != nil {
		f.Fatal(err)
	}
	f.Add(past.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePastEpoch(b, nil)
		if err != nil {
			return
		}
		if got := p.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		p.Drop()
	})
}
