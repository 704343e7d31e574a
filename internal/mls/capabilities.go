package mls

// Capabilities is what a member's program can do (RFC 9420, Section 7.2). What RFC
// 9420 itself defines (extensions 1 to 5, proposals 1 to 7) is not listed.
type Capabilities struct {
	Versions    []uint16
	Suites      []Suite
	Extensions  []ExtensionType
	Proposals   []ProposalType
	Credentials []CredentialType
}

func u16s[T ~uint16](r *reader) []T {
	return listOf(r, maxCapabilities, func(r *reader) T { return T(r.u16()) })
}

func appendU16s[T ~uint16](b []byte, v []T) []byte {
	return appendList(b, v, func(b []byte, t T) []byte { return appendU16(b, uint16(t)) })
}

func readCapabilities(r *reader) Capabilities {
	return Capabilities{
		Versions:    u16s[uint16](r),
		Suites:      u16s[Suite](r),
		Extensions:  u16s[ExtensionType](r),
		Proposals:   u16s[ProposalType](r),
		Credentials: u16s[CredentialType](r),
	}
}

func (c Capabilities) append(b []byte) []byte {
	b = appendU16s(b, c.Versions)
	b = appendU16s(b, c.Suites)
	b = appendU16s(b, c.Extensions)
	b = appendU16s(b, c.Proposals)
	return appendU16s(b, c.Credentials)
}

// bounded reports whether others read the lists.
func (c *Capabilities) bounded() bool {
	return max(len(c.Versions), len(c.Suites), len(c.Extensions), len(c.Proposals), len(c.Credentials)) <= maxCapabilities
}

// RequiredCapabilities is what every member of a group must be able to do (RFC 9420,
// Section 11.1).
type RequiredCapabilities struct {
	Extensions  []ExtensionType
	Proposals   []ProposalType
	Credentials []CredentialType
}

// Extension is the extension of a group context that says so.
func (c RequiredCapabilities) Extension() Extension {
	b := appendU16s(nil, c.Extensions)
	b = appendU16s(b, c.Proposals)
	return Extension{Type: ExtRequiredCapabilities, Data: appendU16s(b, c.Credentials)}
}

func parseRequiredCapabilities(data []byte) (RequiredCapabilities, error) {
	return parse(data, "required capabilities", func(r *reader) RequiredCapabilities {
		return RequiredCapabilities{
			Extensions:  u16s[ExtensionType](r),
			Proposals:   u16s[ProposalType](r),
			Credentials: u16s[CredentialType](r),
		}
	})
}

// grease reports whether a value is one of those that nobody defines (RFC 9420,
// Section 13.5): they may stand in lists of capabilities and mean nothing.
func grease(v uint16) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff && v != 0xfafa }
