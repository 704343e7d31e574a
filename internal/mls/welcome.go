package mls

// Welcome tells new members what they need (RFC 9420, Section 12.4.3.1).
type Welcome struct {
	Suite     Suite
	secrets   []encryptedSecrets
	groupInfo []byte // encrypted_group_info
}

// encryptedSecrets is EncryptedGroupSecrets: the part of one new member.
type encryptedSecrets struct {
	NewMember []byte // KeyPackageRef
	Secrets   hpkeCiphertext
}

func readWelcome(r *reader) *Welcome {
	return &Welcome{Suite: Suite(r.u16()), secrets: list(r, func(r *reader) encryptedSecrets {
		return encryptedSecrets{NewMember: r.vec(), Secrets: readHPKECiphertext(r)}
	}), groupInfo: r.vec()}
}

func (w *Welcome) append(b []byte) []byte {
	b = appendList(appendU16(b, uint16(w.Suite)), w.secrets, func(b []byte, s encryptedSecrets) []byte {
		return s.Secrets.append(appendVec(b, s.NewMember))
	})
	return appendVec(b, w.groupInfo)
}

// groupSecrets is GroupSecrets (RFC 9420, Section 12.4.3.1). It is secret.
type groupSecrets struct {
	Joiner     []byte
	PathSecret []byte // nil if there is none
	HasPath    bool
	PSKs       []PreSharedKeyID
}

func readGroupSecrets(r *reader) *groupSecrets {
	g := &groupSecrets{Joiner: r.vec()}
	if g.HasPath = r.present(); g.HasPath {
		g.PathSecret = r.vec()
	}
	g.PSKs = listOf(r, MaxPSKs, readPreSharedKeyID)
	return g
}

func (g *groupSecrets) append(b []byte) []byte {
	b = appendPresent(appendVec(b, g.Joiner), g.HasPath)
	if g.HasPath {
		b = appendVec(b, g.PathSecret)
	}
	return appendList(b, g.PSKs, func(b []byte, p PreSharedKeyID) []byte { return p.append(b) })
}
