package mls

// ContentType says what a message carries (RFC 9420, Section 6).
type ContentType uint8

const (
	ContentApplication ContentType = 1
	ContentProposal    ContentType = 2
	ContentCommit      ContentType = 3
)

// SenderType says who sent a message (RFC 9420, Section 6).
type SenderType uint8

const (
	SenderMember      SenderType = 1
	SenderExternal    SenderType = 2 // one of the external senders of the group
	SenderNewProposal SenderType = 3 // somebody who asks to be added
	SenderNewCommit   SenderType = 4 // somebody who joins by an external commit
)

// Sender is who sent a message (RFC 9420, Section 6).
type Sender struct {
	Type  SenderType
	Leaf  LeafIndex // of a member
	Index uint32    // of an external sender, in the list of the group
}

func readSender(r *reader) Sender {
	s := Sender{Type: SenderType(r.u8())}
	switch s.Type {
	case SenderMember:
		s.Leaf = LeafIndex(r.u32())
	case SenderExternal:
		s.Index = r.u32()
	case SenderNewProposal, SenderNewCommit:
	default:
		r.fail = true
	}
	return s
}

func (s Sender) append(b []byte) []byte {
	b = append(b, byte(s.Type))
	switch s.Type {
	case SenderMember:
		return appendU32(b, uint32(s.Leaf))
	case SenderExternal:
		return appendU32(b, s.Index)
	}
	return b
}

// framedContent is FramedContent (RFC 9420, Section 6).
type framedContent struct {
	GroupID           []byte
	Epoch             uint64
	Sender            Sender
	AuthenticatedData []byte
	Type              ContentType
	Application       []byte    // application
	Proposal          *Proposal // proposal
	Commit            *commit   // commit
}

func readFramedContent(r *reader) *framedContent {
	c := &framedContent{GroupID: r.vec(), Epoch: r.u64(), Sender: readSender(r), AuthenticatedData: r.vec(), Type: ContentType(r.u8())}
	c.readContent(r)
	return c
}

// readContent reads what Type says.
func (c *framedContent) readContent(r *reader) {
	switch c.Type {
	case ContentApplication:
		c.Application = r.vec()
	case ContentProposal:
		c.Proposal = readProposal(r)
	case ContentCommit:
		c.Commit = readCommit(r)
	default:
		r.fail = true
	}
}

// appendContent appends the content alone, without type.
func (c *framedContent) appendContent(b []byte) []byte {
	switch c.Type {
	case ContentApplication:
		return appendVec(b, c.Application)
	case ContentProposal:
		return c.Proposal.Append(b)
	case ContentCommit:
		return c.Commit.append(b)
	}
	panic("mls: content without a type")
}

func (c *framedContent) append(b []byte) []byte {
	b = appendU64(appendVec(b, c.GroupID), c.Epoch)
	b = appendVec(c.Sender.append(b), c.AuthenticatedData)
	return c.appendContent(append(b, byte(c.Type)))
}

// authData is FramedContentAuthData (RFC 9420, Section 6.1).
type authData struct {
	Signature       []byte
	ConfirmationTag []byte // of a commit
}

func readAuthData(r *reader, t ContentType) authData {
	a := authData{Signature: r.vec()}
	if t == ContentCommit {
		a.ConfirmationTag = r.vec()
	}
	return a
}

func (a authData) append(b []byte, t ContentType) []byte {
	b = appendVec(b, a.Signature)
	if t == ContentCommit {
		b = appendVec(b, a.ConfirmationTag)
	}
	return b
}

// WireFormat says which message an MLSMessage is (RFC 9420, Section 17.2).
type WireFormat uint16

const (
	WirePublic     WireFormat = 1
	WirePrivate    WireFormat = 2
	WireWelcome    WireFormat = 3
	WireGroupInfo  WireFormat = 4
	WireKeyPackage WireFormat = 5
)

// authenticatedContent is AuthenticatedContent (RFC 9420, Section 6.1).
type authenticatedContent struct {
	Wire    WireFormat
	Content *framedContent
	Auth    authData
}

func readAuthenticatedContent(r *reader) *authenticatedContent {
	a := &authenticatedContent{Wire: WireFormat(r.u16()), Content: readFramedContent(r)}
	a.Auth = readAuthData(r, a.Content.Type)
	return a
}

func (a *authenticatedContent) append(b []byte) []byte {
	b = a.Content.append(appendU16(b, uint16(a.Wire)))
	return a.Auth.append(b, a.Content.Type)
}

// publicMessage is PublicMessage (RFC 9420, Section 6.2).
type publicMessage struct {
	Content       *framedContent
	Auth          authData
	MembershipTag []byte // of a member
}

func readPublicMessage(r *reader) *publicMessage {
	m := &publicMessage{Content: readFramedContent(r)}
	m.Auth = readAuthData(r, m.Content.Type)
	if m.Content.Sender.Type == SenderMember {
		m.MembershipTag = r.vec()
	}
	return m
}

func (m *publicMessage) append(b []byte) []byte {
	b = m.Auth.append(m.Content.append(b), m.Content.Type)
	if m.Content.Sender.Type == SenderMember {
		b = appendVec(b, m.MembershipTag)
	}
	return b
}

// privateMessage is PrivateMessage (RFC 9420, Section 6.3).
type privateMessage struct {
	GroupID             []byte
	Epoch               uint64
	Type                ContentType
	AuthenticatedData   []byte
	EncryptedSenderData []byte
	Ciphertext          []byte
}

func readPrivateMessage(r *reader) *privateMessage {
	m := &privateMessage{
		GroupID: r.vec(), Epoch: r.u64(), Type: ContentType(r.u8()),
		AuthenticatedData: r.vec(), EncryptedSenderData: r.vec(), Ciphertext: r.vec(),
	}
	if m.Type < ContentApplication || m.Type > ContentCommit {
		r.fail = true
	}
	return m
}

func (m *privateMessage) append(b []byte) []byte {
	b = append(appendU64(appendVec(b, m.GroupID), m.Epoch), byte(m.Type))
	b = appendVec(appendVec(b, m.AuthenticatedData), m.EncryptedSenderData)
	return appendVec(b, m.Ciphertext)
}
