package mls

import (
	"fmt"
)

// KeyPackageSecrets are the private halves of a key package. Init is wiped once a
// Welcome was used (RFC 9420, Section 16.8: the caller keeps the whole until then).
type KeyPackageSecrets struct {
	Init       Secret // of InitKey
	Encryption Secret // of the leaf's EncryptionKey
	Signature  Secret // of the leaf's SignatureKey
}

// Wipe overwrites all three.
func (k *KeyPackageSecrets) Wipe() { wipe(k.Init, k.Encryption, k.Signature) }

const packageSecretsVersion = 1

// Append appends the stored form: version 1 ‖ init<V> ‖ encryption<V> ‖ signature<V>.
func (k *KeyPackageSecrets) Append(b []byte) []byte {
	b = append(b, packageSecretsVersion)
	b = appendVec(b, k.Init.Bytes())
	b = appendVec(b, k.Encryption.Bytes())
	return appendVec(b, k.Signature.Bytes())
}

// ParseKeyPackageSecrets reads what Append wrote. It fails with ErrState.
func ParseKeyPackageSecrets(b []byte) (*KeyPackageSecrets, error) {
	r := reader{b: b}
	version := r.u8()
	k := &KeyPackageSecrets{Init: NewSecret(r.vec()), Encryption: NewSecret(r.vec()), Signature: NewSecret(r.vec())}
	if r.err("") != nil || version != packageSecretsVersion {
		k.Wipe()
		return nil, fail(ErrState, "", "secrets of a key package")
	}
	return k, nil
}

// NewKeyPackage makes a key package for one use, and its secrets, which must be
// stored before the package leaves (RFC 9420, Section 10). Signer is copied. It
// fails with ErrUnsupported for a suite that is not there, with ErrArgument for a
// leaf that nobody would take, and with the error of rand.
func NewKeyPackage(env Env, l LeafParams, extensions []Extension) (*KeyPackage, *KeyPackageSecrets, error) {
	p := l.Suite.params()
	if p == nil {
		return nil, nil, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	secrets := &KeyPackageSecrets{Signature: l.Signer.Clone()}
	k := &KeyPackage{Version: Version, Suite: l.Suite, Extensions: extensions}
	var err error
	if k.Leaf, secrets.Encryption, err = newKeyPackageLeaf(env.Rand, l); err == nil {
		secrets.Init, k.InitKey, err = p.generateKeyPair(env.Rand)
	}
	if err == nil {
		k.Signature, err = p.signWithLabel(env.Rand, l.Signer, labelKeyPackage, k.tbs(nil))
	}
	if err == nil {
		err = k.check(p)
	}
	if err != nil {
		secrets.Wipe()
		return nil, nil, fmt.Errorf("making a key package: %w", err)
	}
	return k, secrets, nil
}

// check is what RFC 9420, Section 10.1, asks of a key package apart from its leaf
// node, for a group of suite p.
func (k *KeyPackage) check(p *suiteParams) error {
	tbs := k.tbs(nil)
	switch {
	case k.Version != Version:
		return fail(ErrUnsupported, "10.1", "version of a key package")
	case k.Suite.params() != p:
		return invalid("10.1", "key package is for another suite")
	case k.Leaf.Source != LeafKeyPackage:
		return invalid("10.1", "source of a key package's leaf")
	case len(tbs) > maxPackageSize, len(k.Leaf.appendUnsigned(nil)) > maxLeafSize, !k.Leaf.Capabilities.bounded():
		return invalid("10.1", "size of a key package")
	case equal(k.InitKey, k.Leaf.EncryptionKey):
		return invalid("10.1", "init key is the encryption key")
	case !p.checkHPKEKey(k.InitKey):
		return invalid("10.1", "init key")
	case !distinct(k.Extensions):
		return invalid("13.4", "an extension of a key package stands twice")
	case !p.verifyWithLabel(k.Leaf.SignatureKey, labelKeyPackage, tbs, k.Signature):
		return invalid("10.1", "signature of a key package")
	}
	for _, e := range k.Extensions {
		if !grease(uint16(e.Type)) && !k.Leaf.Capabilities.hasExtension(e.Type) { // 13.5
			return invalid("7.2", "extension of a key package is not in its capabilities")
		}
	}
	return nil
}
