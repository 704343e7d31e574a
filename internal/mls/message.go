package mls

// Message is MLSMessage: everything that travels (RFC 9420, Section 6). Which field
// counts is said by Wire.
type Message struct {
	Wire       WireFormat
	Welcome    *Welcome
	GroupInfo  *GroupInfo
	KeyPackage *KeyPackage

	public  *publicMessage
	private *privateMessage
}

func readMessage(r *reader) *Message {
	if r.u16() != Version {
		r.unsupported()
	}
	m := &Message{Wire: WireFormat(r.u16())}
	switch m.Wire {
	case WirePublic:
		m.public = readPublicMessage(r)
	case WirePrivate:
		m.private = readPrivateMessage(r)
	case WireWelcome:
		m.Welcome = readWelcome(r)
	case WireGroupInfo:
		m.GroupInfo = readGroupInfo(r)
	case WireKeyPackage:
		m.KeyPackage = readKeyPackage(r)
	default:
		r.unsupported()
	}
	return m
}

// ParseMessage reads an MLSMessage of at most MaxMessage bytes. It checks the
// encoding only. It fails with ErrMalformed and ErrUnsupported.
func ParseMessage(b []byte) (*Message, error) { return parse(b, "message", readMessage) }

// Append appends the encoding of the message.
func (m *Message) Append(b []byte) []byte {
	b = appendU16(appendU16(b, Version), uint16(m.Wire))
	switch m.Wire {
	case WirePublic:
		return m.public.append(b)
	case WirePrivate:
		return m.private.append(b)
	case WireWelcome:
		return m.Welcome.append(b)
	case WireGroupInfo:
		return m.GroupInfo.append(b)
	case WireKeyPackage:
		return m.KeyPackage.Append(b)
	}
	panic("mls: a message without a wire format")
}

// Group says which group, epoch and content a public or private message names; ok is
// false for other messages. None of it is authentic before the message was processed.
func (m *Message) Group() (groupID []byte, epoch uint64, content ContentType, ok bool) {
	switch {
	case m.public != nil:
		c := m.public.Content
		return c.GroupID, c.Epoch, c.Type, true
	case m.private != nil:
		return m.private.GroupID, m.private.Epoch, m.private.Type, true
	}
	return nil, 0, 0, false
}
