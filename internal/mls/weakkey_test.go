package mls

import (
	"bytes"
	"crypto/ecdh"
	"errors"
	"testing"
)

// weakPoints are the X25519 public keys of small order, in all their encodings (RFC
// 7748, Sections 5 and 6.1; the values are those of the curve's points of order 1, 2, 4
// and 8 and of its twist's), computed here from the order of the field.
func weakPoints() [][]byte {
	var out [][]byte
	number := func(low byte, rest byte, top byte) []byte {
		b := bytes.Repeat([]byte{rest}, 32)
		b[0], b[31] = low, top
		return b
	}
	for _, b := range [][]byte{
		number(0, 0, 0), number(1, 0, 0), // 0 and 1
		number(0xec, 0xff, 0x7f), number(0xed, 0xff, 0x7f), number(0xee, 0xff, 0x7f), // p-1, p, p+1
		weakEight[0][:], weakEight[1][:],
	} {
		high := bytes.Clone(b)
		high[31] |= 0x80 // does not count (RFC 7748, Section 5)
		out = append(out, b, high)
	}
	return out
}

// weakKeys are public keys of a suite that nothing can be encrypted to; none for suites
// whose curve has a prime order.
func weakKeys(t testing.TB, s Suite) (keys [][]byte) {
	p := s.params()
	_, good, err := p.generateKeyPair(testEnv(nil).Rand)
	if err != nil {
		t.Fatal(err)
	}
	if p.curve != nil {
		return nil
	}
	for _, point := range weakPoints() {
		keys = append(keys, append(bytes.Clone(good[:len(good)-32]), point...))
	}
	return keys
}

// TestWeakKeys: what the list holds is what X25519 refuses to work with, and a key that
// nothing can be encrypted to is no key.
func TestWeakKeys(t *testing.T) {
	private, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range weakPoints() {
		public, err := ecdh.X25519().NewPublicKey(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := private.ECDH(public); err == nil {
			t.Errorf("%x is not weak", b)
		}
	}
	eachSuite(t, func(t *testing.T, s Suite) {
		p := s.params()
		for _, key := range weakKeys(t, s) {
			if p.checkHPKEKey(key) {
				t.Errorf("%x is taken for a key", key[len(key)-32:])
			}
			if _, err := p.encryptWithLabel(key, "label", nil, nil); !errors.Is(err, ErrInvalid) {
				t.Errorf("encrypting to %x: got %v, want %v", key[len(key)-32:], err, ErrInvalid)
			}
		}
		_, good, err := p.generateKeyPair(testEnv(nil).Rand)
		if err != nil || !p.checkHPKEKey(good) {
			t.Errorf("a good key is refused: %v", err)
		}
	})
}

// TestWeakKeysDoNotStopAGroup: with a key that nothing can be encrypted to, in its leaf,
// a parent of its path or a key package, a hostile member could keep all others from
// committing. They refuse it.
func TestWeakKeysDoNotStopAGroup(t *testing.T) {
	ann, ben, _, dan := four(t)
	weak := weakKeys(t, ann.suite)[2]
	ben.refuses(ann.forge(forgery{leaf: func(l *LeafNode) { l.EncryptionKey = weak }}), "encryption key of a leaf")
	ben.refuses(ann.forge(forgery{proposals: []*Proposal{ann.addOf(ann.person("eve"), func(k *KeyPackage) { k.InitKey = weak })}}), "init key")
	ben.refuses(ann.forge(forgery{proposals: []*Proposal{ann.addOf(ann.person("eve"), func(k *KeyPackage) { k.Leaf.EncryptionKey = weak })}}), "encryption key of a leaf")

	tr := ben.g.tree
	_, good, _ := unsignedPath(t, tr, 0)
	u, err := func() (*updatePath, error) {
		next, secrets, _ := unsignedPath(t, tr, 0)
		return next.sealPath(secrets, 0, nil, nil)
	}()
	ann.check(err)
	u.Nodes[len(good.nodes)-1].EncryptionKey = weak
	if _, err := tr.applyPath(0, u); !errors.Is(err, ErrInvalid) {
		t.Errorf("a path with a weak key: got %v, want %v", err, ErrInvalid)
	}
	// Everybody can go on.
	dan.commit(CommitParams{}, ann, ben)
}
