package mls

import "bytes"

// Append appends the stored form of a commit that is neither merged nor dropped. It
// is secret:
//
//	version 1 ‖ public<V> ‖ the group as it will be<V>
//	public: base 32 ‖ message<V> ‖ welcome<V> ‖ tree<V> ‖ committer ‖ authenticated data<V> ‖
//	        proposals<V> ‖ added<V> ‖ updated<V> ‖ removed<V> ‖ path 1
//
// What is absent is empty. It panics for a commit that was merged or dropped.
func (s *Staged) Append(b []byte) []byte {
	if s.next == nil {
		panic("mls: a commit that was merged or dropped has no stored form")
	}
	b = append(b, stateVersion)
	b = appendVec(b, s.appendPublic(nil))
	next := s.next.Append(nil)
	b = appendVec(b, next)
	clear(next)
	return b
}

func (s *Staged) appendPublic(b []byte) []byte {
	b = append(b, s.base[:]...)
	b = appendMessage(b, s.Message)
	b = appendMessage(b, s.Welcome)
	b = appendVec(b, s.Tree)
	b = appendVec(s.Committer.append(b), s.AuthenticatedData)
	b = appendList(b, s.Proposals, func(b []byte, p PendingProposal) []byte {
		return p.Proposal.Append(p.Sender.append(appendVec(b, []byte(p.Ref))))
	})
	for _, leaves := range [][]LeafIndex{s.Added, s.Updated, s.Removed} {
		b = appendList(b, leaves, func(b []byte, i LeafIndex) []byte { return appendU32(b, uint32(i)) })
	}
	return appendPresent(b, s.Path)
}

// appendMessage appends a message as a vector; an absent one is empty.
func appendMessage(b []byte, m *Message) []byte {
	if m == nil {
		return appendVec(b, nil)
	}
	return appendVec(b, m.Append(nil))
}

func readStoredMessage(r *reader) *Message {
	b := r.vec()
	if len(b) == 0 {
		return nil
	}
	sub := reader{b: b}
	m := readMessage(&sub)
	if sub.err("") != nil {
		r.fail = true
	}
	return m
}

// ParseStaged reads what [Staged.Append] wrote. l is the [Lineage] that the group it
// starts from was read with. Nothing of b is kept. It fails with ErrState.
func ParseStaged(b []byte, l *Lineage) (*Staged, error) {
	damaged := fail(ErrState, "", "commit")
	if len(b) > MaxState {
		return nil, damaged
	}
	r := reader{b: b}
	version, public, group := r.u8(), r.vec(), r.vec()
	if r.err("") != nil || version != stateVersion {
		return nil, damaged
	}
	s := &Staged{}
	if !s.readPublic(bytes.Clone(public)) {
		return nil, damaged
	}
	var err error
	if s.next, err = ParseGroup(group, l); err != nil {
		return nil, damaged
	}
	return s, nil
}

func (s *Staged) readPublic(b []byte) bool {
	r := reader{b: b}
	copy(s.base[:], r.take(len(s.base)))
	s.Message = readStoredMessage(&r)
	s.Welcome = readStoredMessage(&r)
	s.Tree = r.vec()
	s.Committer = readSender(&r)
	s.AuthenticatedData = r.vec()
	s.Proposals = list(&r, func(r *reader) PendingProposal {
		p := readPending(r)
		return PendingProposal{p.ref, p.sender, p.proposal}
	})
	for _, leaves := range []*[]LeafIndex{&s.Added, &s.Updated, &s.Removed} {
		*leaves = list(&r, func(r *reader) LeafIndex { return LeafIndex(r.u32()) })
	}
	s.Path = r.present()
	return r.err("") == nil
}
