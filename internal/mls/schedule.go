package mls

// epochSecrets are the secrets of one epoch (RFC 9420, Section 8, Table 4). Their
// owner wipes them. Those that [newMessages] takes are absent afterwards.
type epochSecrets struct {
	senderData    Secret // taken by newMessages
	encryption    Secret // taken by newMessages
	exporter      Secret
	authenticator Secret // epoch_authenticator
	external      Secret
	confirmation  Secret // confirmation_key
	membership    Secret // membership_key, taken by newMessages
	resumption    Secret // resumption_psk
	init          Secret // init_secret of the next epoch
}

// fields are all of them, with their labels.
func (e *epochSecrets) fields() []epochField {
	return []epochField{
		{&e.senderData, "sender data"},
		{&e.encryption, "encryption"},
		{&e.exporter, "exporter"},
		{&e.authenticator, "authentication"},
		{&e.external, "external"},
		{&e.confirmation, "confirm"},
		{&e.membership, "membership"},
		{&e.resumption, "resumption"},
		{&e.init, "init"},
	}
}

type epochField struct {
	secret *Secret
	label  string
}

// joinerSecret is joiner_secret (RFC 9420, Section 8, Figure 22), of the init secret
// of the epoch before, the commit secret and the new GroupContext. A commit without
// a path has the commit secret [suiteParams.zero].
func (p *suiteParams) joinerSecret(init, commit Secret, context []byte) Secret {
	prk := p.extract(init.Bytes(), commit.Bytes())
	defer prk.Wipe()
	return p.expandWithLabel(prk.Bytes(), "joiner", context, p.nh)
}

// memberSecret is what Figure 22 of RFC 9420, Section 8 has below joiner_secret:
// all that a new member knows and others do not.
func (p *suiteParams) memberSecret(joiner, psk Secret) Secret {
	return p.extract(joiner.Bytes(), psk.Bytes())
}

// epochOf is the rest of the key schedule, from joiner_secret on (RFC 9420, Section
// 8, Figure 22). Without pre-shared keys psk is [suiteParams.zero].
func (p *suiteParams) epochOf(joiner, psk Secret, context []byte) *epochSecrets {
	member := p.memberSecret(joiner, psk)
	defer member.Wipe()
	epoch := p.expandWithLabel(member.Bytes(), "epoch", context, p.nh)
	defer epoch.Wipe()
	return p.epochFrom(epoch)
}

// epochFrom derives the secrets of an epoch from its epoch_secret (RFC 9420, Section
// 8, Table 4), which for the first epoch of a group is random (Section 11).
func (p *suiteParams) epochFrom(epochSecret Secret) *epochSecrets {
	e := &epochSecrets{}
	for _, f := range e.fields() {
		*f.secret = p.deriveSecret(epochSecret, f.label)
	}
	return e
}

// welcomeKey is the key and nonce of the GroupInfo in a Welcome (RFC 9420, Sections
// 8 and 12.4.3.1).
func (p *suiteParams) welcomeKey(joiner, psk Secret) (key Secret, nonce []byte) {
	member := p.memberSecret(joiner, psk)
	defer member.Wipe()
	welcome := p.deriveSecret(member, "welcome")
	defer welcome.Wipe()
	nonce = p.expandWithLabel(welcome.Bytes(), "nonce", nil, nn).Bytes()
	return p.expandWithLabel(welcome.Bytes(), "key", nil, p.nk), nonce
}

// externalKeyPair is the key pair for external commits (RFC 9420, Section 8, end).
func (p *suiteParams) externalKeyPair(external Secret) (private Secret, public []byte) {
	return p.deriveKeyPair(external.Bytes())
}

// zero is the all-zero secret that stands for an absent commit_secret or psk_secret.
func (p *suiteParams) zero() Secret { return own(make([]byte, p.nh)) }

// export is MLS-Exporter (RFC 9420, Section 8.5). It fails with ErrArgument for more
// than 255 hashes' worth of bytes, and once the exporter secret was wiped.
func (e *epochSecrets) export(p *suiteParams, label string, context []byte, length int) (Secret, error) {
	if !e.exporter.Valid() {
		return Secret{}, fail(ErrArgument, "8.5", "the exporter secret was dropped")
	}
	if length < 0 || length > 255*p.nh {
		return Secret{}, fail(ErrArgument, "8.5", "length of an exported secret")
	}
	derived := p.deriveSecret(e.exporter, label)
	defer derived.Wipe()
	return p.expandWithLabel(derived.Bytes(), "exported", p.digest(context), length), nil
}

func (e *epochSecrets) clone() *epochSecrets {
	c := &epochSecrets{}
	to := c.fields()
	for i, f := range e.fields() {
		*to[i].secret = f.secret.Clone()
	}
	return c
}

func (e *epochSecrets) wipe() {
	for _, f := range e.fields() {
		f.secret.Wipe()
	}
}

// append writes the secrets; an absent one is an empty vector.
func (e *epochSecrets) append(b []byte) []byte {
	for _, f := range e.fields() {
		b = appendVec(b, f.secret.Bytes())
	}
	return b
}

// readEpochSecrets reads what append wrote.
func readEpochSecrets(r *reader, p *suiteParams) *epochSecrets {
	e := &epochSecrets{}
	for _, f := range e.fields() {
		*f.secret = r.secret(p.nh, true)
	}
	return e
}

// secret reads a secret of n bytes into memory of its own.
func (r *reader) secret(n int, absent bool) Secret {
	v := r.vec()
	if len(v) == 0 && absent {
		return Secret{}
	}
	if len(v) != n {
		r.fail = true
		return Secret{}
	}
	return NewSecret(v)
}
