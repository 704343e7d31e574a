package ratchet

import (
	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
)

// The derivations of the ratchet. What is cut out of a derivation is copied into
// secrets, and the derivation is overwritten.

// begin makes root key, first header key of the initiator's messages [shared_hka]
// and first header key of the responder's [shared_nhkb] out of SK.
//
// spec: session.md#beginning
func begin(sk key.Shared) (root key.Chain, hka, nhkb key.Header) {
	var out [96]byte
	defer clear(out[:])
	key.KDF(out[:], sk.Bytes(), labelBegin)
	return cut[key.ChainRole](out[:32]), cut[key.HeaderRole](out[32:64]), cut[key.HeaderRole](out[64:])
}

// beginBraid makes one end of the braid out of SK, which is there.
//
// spec: session.md#beginning
func beginBraid(sk key.Shared, initiator bool) *braid.State {
	secret := key.Derive[key.SharedRole](sk.Bytes(), labelBraid)
	defer secret.Wipe()
	b, err := braid.New(secret, initiator)
	if err != nil {
		panic("ratchet: " + err.Error()) // the secret is there
	}
	return b
}

// stepRoot is KDF_RK_HE: it moves the root key on by a DH outcome, which it
// wipes, and returns the key of a new chain and the header key of the one after.
func (c *core) stepRoot(z key.Shared) (chain key.Chain, next key.Header) {
	var out [96]byte
	defer clear(out[:])
	key.SaltedKDF(out[:], z.Bytes(), c.root.Bytes(), labelRoot)
	z.Wipe()
	c.root.Wipe()
	c.root = cut[key.ChainRole](out[:32])
	return cut[key.ChainRole](out[32:64]), cut[key.HeaderRole](out[64:])
}

// stepChain is KDF_CK: the next chain key and the EC key of one message.
func stepChain(chain key.Chain) (next key.Chain, ec key.Message) {
	var out [64]byte
	defer clear(out[:])
	key.KDF(out[:], chain.Bytes(), labelChain)
	return cut[key.ChainRole](out[:32]), cut[key.MessageRole](out[32:])
}

// messageKey joins the two ratchets. Whoever lacks one of the two keys lacks the
// outcome. No braid key, as in suite 1, counts as 32 zero bytes.
//
// spec: session.md#steps
func messageKey(ec key.Message, bk key.Braid) key.Message {
	var absent, out [32]byte
	defer clear(out[:])
	salt := absent[:]
	if bk.Valid() {
		salt = bk.Bytes()
	}
	key.SaltedKDF(out[:], ec.Bytes(), salt, labelMessage)
	return cut[key.MessageRole](out[:])
}

// cut copies part of a derivation into a secret.
func cut[R key.Role](b []byte) key.Secret[R] {
	s, err := key.New[R](b)
	if err != nil {
		panic("ratchet: " + err.Error()) // the sizes are constant
	}
	return s
}
