package braid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/tacet-chat/tacet/internal/key"
)

// macSize is the size of a MAC in bytes: HMAC-SHA256.
const macSize = 32

// auth is the authenticator: the MAC key of the epoch and what the next comes from.
type auth struct{ root, mac key.Auth }

func (a *auth) clone() auth { return auth{a.root.Clone(), a.mac.Clone()} }

func (a *auth) wipe() {
	a.root.Wipe()
	a.mac.Wipe()
}

// next returns the authenticator after an epoch key.
//
// spec: braid.md#keys-of-an-epoch
func (a *auth) next(k key.Shared, epoch uint32) auth {
	var out [64]byte
	defer clear(out[:])
	key.SaltedKDF(out[:], k.Bytes(), a.root.Bytes(), labelAuth, number(epoch))
	return auth{cut[key.AuthRole](out[:32]), cut[key.AuthRole](out[32:])}
}

// sum is the MAC over what an epoch sends.
func (a *auth) sum(label string, epoch uint32, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, a.mac.Bytes())
	h.Write(key.Info(nil, label, append([][]byte{number(epoch)}, parts...)...))
	return h.Sum(nil)
}

// chains are the root and the chains of both directions. While an epoch's key is
// known to us but not yet in use by the other side, its chains wait.
type chains struct {
	root               key.Chain
	send, recv         key.Chain // running
	nextSend, nextRecv key.Chain // of the next epoch; absent if it has none yet

	sent, received uint32 // messages of the running chains
	sentBefore     uint32 // messages of our chain of the epoch before
}

func (c *chains) clone() chains {
	d := *c
	d.root, d.send, d.recv = c.root.Clone(), c.send.Clone(), c.recv.Clone()
	d.nextSend, d.nextRecv = c.nextSend.Clone(), c.nextRecv.Clone()
	return d
}

func (c *chains) wipe() {
	for _, k := range []*key.Chain{&c.root, &c.send, &c.recv, &c.nextSend, &c.nextRecv} {
		k.Wipe()
	}
}

// begin derives everything that a braid starts with.
//
// spec: braid.md#beginning
func (s *State) begin(secret key.Shared) {
	var out [160]byte
	defer clear(out[:])
	key.KDF(out[:], secret.Bytes(), labelBegin)
	s.auth = auth{cut[key.AuthRole](out[:32]), cut[key.AuthRole](out[32:64])}
	s.chains.root = cut[key.ChainRole](out[64:96])
	s.chains.send, s.chains.recv = s.ours(out[96:])
}

// ours tells whose chain is whose in: the initiator's 32 ‖ the responder's 32.
func (s *State) ours(b []byte) (send, recv key.Chain) {
	send, recv = cut[key.ChainRole](b[:32]), cut[key.ChainRole](b[32:64])
	if !s.initiator {
		send, recv = recv, send
	}
	return send, recv
}

// epochKey makes the key of an epoch out of the ML-KEM secret, which it wipes.
func epochKey(ss key.Shared, epoch uint32) key.Shared {
	k := key.Derive[key.SharedRole](ss.Bytes(), labelEpoch, number(epoch))
	ss.Wipe()
	return k
}

// addEpoch makes the chains of the next epoch.
//
// spec: braid.md#keys-of-an-epoch
func (s *State) addEpoch(k key.Shared) {
	var out [96]byte
	defer clear(out[:])
	key.SaltedKDF(out[:], k.Bytes(), s.chains.root.Bytes(), labelChains, number(s.epoch))
	s.chains.root.Wipe()
	s.chains.root = cut[key.ChainRole](out[:32])
	s.chains.nextSend, s.chains.nextRecv = s.ours(out[32:])
}

// turnSend takes the waiting chain into use for what we send.
func (c *chains) turnSend() {
	c.send.Wipe()
	c.send, c.nextSend = c.nextSend, key.Chain{}
	c.sent, c.sentBefore = 0, c.sent
}

// turnRecv takes the waiting chain into use for what we receive.
func (c *chains) turnRecv() {
	c.recv.Wipe()
	c.recv, c.nextRecv = c.nextRecv, key.Chain{}
	c.received = 0
}

func (c *chains) stepSend() key.Braid {
	k := step(&c.send, c.sent)
	c.sent++
	return k
}

func (c *chains) stepRecv() key.Braid {
	k := step(&c.recv, c.received)
	c.received++
	return k
}

// step moves a chain on and returns the key of its message n.
//
// spec: braid.md#keys-of-a-message
func step(chain *key.Chain, n uint32) key.Braid {
	var out [64]byte
	defer clear(out[:])
	key.KDF(out[:], chain.Bytes(), labelStep, number(n))
	copy(chain.Bytes(), out[:32])
	return cut[key.BraidRole](out[32:])
}

// number is a number as a part of a label: 4 bytes.
func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// cut copies part of a derivation into a secret.
func cut[R key.Role](b []byte) key.Secret[R] {
	s, err := key.New[R](b)
	if err != nil {
		panic("braid: " + err.Error()) // the sizes are constant
	}
	return s
}
