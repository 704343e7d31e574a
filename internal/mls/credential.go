package mls

// CredentialType says what a credential consists of (RFC 9420, Section 17.5).
type CredentialType uint16

const (
	CredentialBasic CredentialType = 1 // a name that the application understands
	CredentialX509  CredentialType = 2 // a chain of certificates, that of the member first
)

// maxCertificates is how many certificates one credential may have.
const maxCertificates = 64

// Credential says who a member claims to be (RFC 9420, Section 5.3). Whether the
// claim is true, and goes with the signature key, is [Env.Authenticate]'s to say.
type Credential struct {
	Type         CredentialType
	Identity     []byte   // of a basic one
	Certificates [][]byte // DER, of an X.509 one
}

// BasicCredential is a basic credential.
func BasicCredential(identity []byte) Credential {
	return Credential{Type: CredentialBasic, Identity: identity}
}

func readCredential(r *reader) Credential {
	c := Credential{Type: CredentialType(r.u16())}
	switch c.Type {
	case CredentialBasic:
		c.Identity = r.vec()
	case CredentialX509:
		c.Certificates = listOf(r, maxCertificates, (*reader).vec)
	default:
		r.unsupported()
	}
	return c
}

func (c Credential) append(b []byte) []byte {
	b = appendU16(b, uint16(c.Type))
	if c.Type == CredentialX509 {
		return appendList(b, c.Certificates, appendVec)
	}
	return appendVec(b, c.Identity)
}

// equal reports whether two credentials are the same bytes.
func (c Credential) equal(d Credential) bool { return equal(c.append(nil), d.append(nil)) }
