package mls

// contentAAD is PrivateContentAAD (RFC 9420, Section 6.3.1).
func (m *privateMessage) contentAAD() []byte {
	b := make([]byte, 0, len(m.GroupID)+len(m.AuthenticatedData)+24)
	b = append(appendU64(appendVec(b, m.GroupID), m.Epoch), byte(m.Type))
	return appendVec(b, m.AuthenticatedData)
}

// opened is a PrivateMessage that opened and whose signature is good. As long as
// consume was not called nothing has changed.
type opened struct {
	content    *authenticatedContent
	m          *messages
	generation uint32
	consumed   bool
}

// consume deletes the key of the message.
func (o *opened) consume() {
	if !o.consumed {
		o.consumed = true
		c := o.content.Content
		o.m.tree.consume(c.Sender.Leaf, kindOf(c.Type), o.generation)
	}
}

// openPrivate opens a PrivateMessage (RFC 9420, Section 6.3) and checks its signature.
// The key stays until consume is called on what it returns. The confirmation tag of
// a commit is checked elsewhere. It fails with ErrWrongGroup, ErrPastEpoch,
// ErrFutureEpoch, ErrDecrypt, ErrUsed, ErrTooFar, ErrOwn, ErrMalformed,
// ErrUnsupported and ErrInvalid.
func (m *messages) openPrivate(pm *privateMessage) (*opened, error) {
	e := m.e
	if err := e.here(pm.GroupID, pm.Epoch); err != nil {
		return nil, err
	}
	s, err := pm.openSender(e.suite, e.senderData)
	if err != nil {
		return nil, err
	}
	if s.Leaf == e.self {
		// The key is gone since it was sealed with.
		return nil, fail(ErrOwn, "", "private message")
	}
	l := e.leaf(s.Leaf)
	if l == nil {
		// RFC 9420, Section 6.3.2
		return nil, invalid("6.3.2", "sender is no member")
	}
	k, err := m.tree.peek(s.Leaf, kindOf(pm.Type), s.Generation)
	if err != nil {
		return nil, err
	}
	defer k.wipe()
	k.guard(s.ReuseGuard)
	plain, err := e.suite.open(k.key, k.nonce[:], pm.contentAAD(), pm.Ciphertext)
	if err != nil {
		return nil, err
	}
	a, err := pm.content(plain, s.Leaf)
	if err != nil {
		return nil, err
	}
	if !e.suite.verifyFramed(l.SignatureKey, a, e.context) {
		return nil, invalid("6.1", "signature of a message")
	}
	return &opened{content: a, m: m, generation: s.Generation}, nil
}

// content reads PrivateMessageContent (RFC 9420, Section 6.3.1): content, auth, and
// padding, which must be zeros.
func (m *privateMessage) content(plain []byte, sender LeafIndex) (*authenticatedContent, error) {
	r := reader{b: plain}
	c := &framedContent{
		GroupID: m.GroupID, Epoch: m.Epoch, Sender: Sender{Type: SenderMember, Leaf: sender},
		AuthenticatedData: m.AuthenticatedData, Type: m.Type,
	}
	c.readContent(&r)
	a := &authenticatedContent{Wire: WirePrivate, Content: c, Auth: readAuthData(&r, m.Type)}
	padding := r.b
	r.b = nil
	if err := r.err("content of a private message"); err != nil {
		return nil, err
	}
	for _, b := range padding {
		if b != 0 {
			return nil, invalid("6.3.1", "padding that is not zero")
		}
	}
	return a, nil
}
