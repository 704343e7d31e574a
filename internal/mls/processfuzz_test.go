package mls

import (
	"runtime/metrics"
	"testing"
)

// fuzzWorld is a group of four, and a valid message of each kind for ben, its second
// member. What is secret in it is random; the fuzzer sees the places that it changes.
type fuzzWorld struct {
	ann, ben *person
	messages [][]byte
	contents []*framedContent // of ann's, in public
}

func newFuzzWorld(t testing.TB) *fuzzWorld {
	ann, ben, cat, dan := four(t)
	ann.psks["key"] = NewSecret([]byte("k"))
	w := &fuzzWorld{ann: ann, ben: ben}
	eve := ann.person("eve")
	update := cat.update(ann, ben, dan)
	removal := cat.propose(RemoveProposal(3), Framing{Public: true}, ann, ben, dan)
	info, err := ann.g.GroupInfo(ann.env, GroupInfoParams{External: true})
	ann.check(err)
	_, external, err := JoinExternal(ann.env, info, ExternalJoinParams{Leaf: eve.leaf()})
	ann.check(err)
	list := []*Message{ann.say("something"), external}
	context := GroupContextProposal([]Extension{RequiredCapabilities{}.Extension()})
	for _, public := range []bool{false, true} {
		f := Framing{Public: public, AuthenticatedData: []byte("hour"), Padding: 5}
		for _, p := range []*Proposal{AddProposal(mustKeyPackage(eve)), RemoveProposal(2), ann.psk("key"), context, ReInitProposal(ReInit{Version: Version, Suite: ann.suite})} {
			g := ann.g.Clone()
			m, _, err := g.Propose(ann.env, p, f)
			ann.check(err)
			list = append(list, m)
		}
		m, _, err := ann.g.Clone().ProposeUpdate(ann.env, LeafChange{}, f)
		ann.check(err)
		list = append(list, m)
		for _, c := range []CommitParams{
			{}, {Refs: []ProposalRef{update}}, {Refs: []ProposalRef{removal}},
			{Proposals: []*Proposal{AddProposal(mustKeyPackage(eve))}},
			{Proposals: []*Proposal{RemoveProposal(1)}},
			{Proposals: []*Proposal{context, ann.psk("key"), RemoveProposal(3), AddProposal(mustKeyPackage(eve))}},
		} {
			c.Framing = f
			s, err := ann.g.Stage(ann.env, c)
			ann.check(err)
			list = append(list, s.Message)
		}
	}
	for _, m := range list {
		w.messages = append(w.messages, m.Append(nil))
		if m.public != nil && m.public.Content.Sender.Type == SenderMember {
			w.contents = append(w.contents, m.public.Content)
		}
	}
	return w
}

// changed is b after changes of four bytes each: place 2, value 1, kind 1.
func changed(b, changes []byte) []byte {
	b = append([]byte(nil), b...)
	for ; len(changes) >= 4 && len(b) > 0; changes = changes[4:] {
		at := (int(changes[0])<<8 | int(changes[1])) % len(b)
		switch changes[3] % 5 {
		case 0:
			b[at] ^= changes[2]
		case 1:
			b[at] = changes[2]
		case 2:
			b = b[:at]
		case 3:
			b = append(b[:at], append([]byte{changes[2]}, b[at:]...)...)
		case 4:
			b = append(b[:at], b[at+1:]...)
		}
	}
	return b
}

// hostile is what ann says in public if she changes its content: it is signed, so all
// that is left are the rules.
func (w *fuzzWorld) hostile(which int, changes []byte) *Message {
	c := *w.contents[which%len(w.contents)]
	r := reader{b: changed(c.appendContent(nil), changes)}
	c.readContent(&r)
	if r.err("") != nil {
		return nil
	}
	a, err := w.ann.g.messages.sign(w.ann.env.Rand, WirePublic, &c)
	if err != nil {
		return nil
	}
	if c.Type == ContentCommit {
		a.Auth.ConfirmationTag = make([]byte, w.ann.g.p.nh)
	}
	m, err := w.ann.g.messages.sealPublic(a)
	if err != nil {
		return nil
	}
	return &Message{Wire: WirePublic, public: m}
}

// FuzzProcess changes valid messages, on the wire or before their author signs them:
// what is refused changes nothing, commits change nothing, and memory is bounded.
func FuzzProcess(f *testing.F) {
	w := newFuzzWorld(f)
	for i := range w.messages {
		f.Add(uint8(i), false, []byte{})
		f.Add(uint8(i), false, []byte{0, byte(7 * i), 1, 0})
		f.Add(uint8(i), true, []byte{0, byte(5 * i), 1, 0})
	}
	f.Fuzz(func(t *testing.T, which uint8, sign bool, changes []byte) {
		var m *Message
		valid := false
		if sign {
			m = w.hostile(int(which), changes)
		} else {
			b := w.messages[int(which)%len(w.messages)]
			after := changed(b, changes)
			valid = equal(b, after)
			m, _ = ParseMessage(after)
		}
		if m == nil || m.public == nil && m.private == nil {
			return
		}
		g := w.ben.g.Clone()
		defer g.Drop()
		before := g.Append(nil)
		allocated := heapAllocated()
		got, err := g.Process(w.ben.env, m)
		if n := heapAllocated() - allocated; n > 16<<20 {
			t.Errorf("%d bytes for a message of %d", n, len(m.Append(nil)))
		}
		if valid && err != nil {
			t.Fatalf("a valid message: %v", err)
		}
		if (err != nil || got.Staged != nil) && !equal(before, g.Append(nil)) {
			t.Fatalf("the group has changed: %v", err)
		}
		if err != nil || got.Staged == nil {
			return
		}
		if err := g.Merge(got.Staged); err != nil {
			t.Fatal(err)
		}
		if back, err := ParseGroup(g.Append(nil), nil); err != nil {
			t.Fatalf("what was merged cannot be read back: %v", err)
		} else {
			back.Drop()
		}
	})
}

func heapAllocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzParseGroup reads stored states that were damaged: they are refused, or are what
// they say.
func FuzzParseGroup(f *testing.F) {
	w := newFuzzWorld(f)
	state := w.ben.g.Append(nil)
	staged, err := w.ann.g.Clone().Stage(w.ann.env, CommitParams{ForcePath: true})
	if err != nil {
		f.Fatal(err)
	}
	commit := staged.Append(nil)
	f.Add(false, []byte{})
	f.Add(true, []byte{})
	f.Add(false, []byte{1, 0, 1, 0})
	f.Add(true, []byte{3, 0, 1, 2})
	f.Fuzz(func(t *testing.T, ofCommit bool, changes []byte) {
		if ofCommit {
			b := changed(commit, changes)
			if s, err := ParseStaged(b, nil); err == nil {
				if !equal(s.Append(nil), b) {
					t.Error("a damaged commit was read")
				}
				s.Drop()
			}
			return
		}
		b := changed(state, changes)
		if g, err := ParseGroup(b, nil); err == nil {
			if !equal(g.Append(nil), b) {
				t.Error("a damaged state was read")
			}
			g.Drop()
		}
	})
}
