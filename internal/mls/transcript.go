package mls

// confirmedHash is confirmed_transcript_hash after a commit, from the interim hash
// before it (RFC 9420, Section 8.2). Before the first commit interim is empty only
// in the creator's hands: see interimHash.
func (p *suiteParams) confirmedHash(interim []byte, a *authenticatedContent) []byte {
	// ConfirmedTranscriptHashInput: wire_format, content, signature.
	b := a.Content.append(appendU16(nil, uint16(a.Wire)))
	return p.digest(interim, appendVec(b, a.Auth.Signature))
}

// interimHash is interim_transcript_hash, from the confirmed hash and the
// confirmation tag of the same epoch (RFC 9420, Section 8.2). The confirmed hash of
// the first epoch is empty (Section 11).
func (p *suiteParams) interimHash(confirmed, tag []byte) []byte {
	return p.digest(confirmed, appendVec(nil, tag)) // InterimTranscriptHashInput: confirmation_tag
}

// confirmationTag is confirmation_tag (RFC 9420, Section 6.1), with the confirmation
// key of the epoch that the commit begins.
func (p *suiteParams) confirmationTag(e *epochSecrets, confirmed []byte) []byte {
	return p.mac(e.confirmation, confirmed)
}
