package mls

// pskSecret is psk_secret (RFC 9420, Section 8.4), of the keys that ids name, in
// their order; [suiteParams.zero] for none. The keys stay the caller's. It fails with
// ErrArgument for absent keys and for more than 65,535.
func (p *suiteParams) pskSecret(ids []PreSharedKeyID, psks []Secret) (Secret, error) {
	if len(ids) != len(psks) || len(ids) > 0xffff {
		return Secret{}, fail(ErrArgument, "8.4", "number of pre-shared keys")
	}
	secret := p.zero()
	for i, id := range ids {
		if !psks[i].Valid() {
			secret.Wipe()
			return Secret{}, fail(ErrArgument, "8.4", "an empty pre-shared key")
		}
		extracted := p.extract(nil, psks[i].Bytes()) // a salt of zeros is an absent one
		// PSKLabel: id, index, count.
		label := appendU16(appendU16(id.append(nil), uint16(i)), uint16(len(ids)))
		input := p.expandWithLabel(extracted.Bytes(), "derived psk", label, p.nh)
		next := p.extract(input.Bytes(), secret.Bytes())
		wipe(extracted, input, secret)
		secret = next
	}
	return secret, nil
}
