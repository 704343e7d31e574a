package mls

import (
	"math"
	"slices"
)

// Bounds of what one sender can make others do and keep (RFC 9420, Section 9.2,
// leaves them to the application).
const (
	maxForward   = 1024 // generations that one message may skip
	maxKept      = 256  // keys of skipped generations that a ratchet keeps
	maxKeptEpoch = 4096 // those of all ratchets of an epoch; the oldest go
)

// ratchetKind is one of the two ratchets of a member (RFC 9420, Section 9.1).
type ratchetKind int

const (
	handshakeRatchet   ratchetKind = iota // proposals and commits
	applicationRatchet                    // application data
	ratchetKinds
)

var ratchetLabels = [ratchetKinds]string{"handshake", "application"}

// kindOf is the ratchet that a content goes by.
func kindOf(t ContentType) ratchetKind {
	if t == ContentApplication {
		return applicationRatchet
	}
	return handshakeRatchet
}

// messageKey is the key and the nonce of one generation. Its holder wipes it.
type messageKey struct {
	key   Secret // AEAD.Nk bytes
	nonce [nn]byte
}

func (k *messageKey) wipe() {
	k.key.Wipe()
	clear(k.nonce[:])
}

// ratchet is one hash ratchet of a member (RFC 9420, Section 9.1). What was used is
// not in it: of a generation that is past there is a key only while it is kept, and
// of those ahead there is the one secret that all of them come from.
type ratchet struct {
	secret Secret // ratchet_secret of generation next
	next   uint32
	kept   []keptKey // of skipped generations below next, ascending
}

type keptKey struct {
	generation uint32
	stamp      uint64 // when it was kept, in messages of the epoch
	messageKey
}

// messageKey is the key of generation g, which the ratchet secret is of (RFC 9420,
// Section 9.1).
func (p *suiteParams) messageKey(secret Secret, g uint32) messageKey {
	k := messageKey{key: p.deriveTreeSecret(secret, "key", g, p.nk)}
	nonce := p.deriveTreeSecret(secret, "nonce", g, nn)
	copy(k.nonce[:], nonce.Bytes())
	nonce.Wipe()
	return k
}

// nextSecret is the ratchet secret after that of generation g.
func (p *suiteParams) nextSecret(secret Secret, g uint32) Secret {
	return p.deriveTreeSecret(secret, "secret", g, p.nh)
}

// check says whether there is a key of generation g: ErrUsed, ErrTooFar. The last
// number is never used, so that next is always one more than the last.
func (r *ratchet) check(g uint32) error {
	switch {
	case g < r.next && r.find(g) < 0:
		return fail(ErrUsed, "9.2", "generation was used, or is no longer kept")
	case g >= r.next && (g-r.next > maxForward || g == math.MaxUint32):
		return fail(ErrTooFar, "9.2", "generation is too far ahead")
	}
	return nil
}

// find is the place of generation g in kept, or -1.
func (r *ratchet) find(g uint32) int {
	i, ok := slices.BinarySearchFunc(r.kept, g, func(k keptKey, g uint32) int {
		return int(int64(k.generation) - int64(g))
	})
	if !ok {
		return -1
	}
	return i
}

// peek is a copy of the key of generation g. The ratchet does not change.
func (r *ratchet) peek(p *suiteParams, g uint32) (messageKey, error) {
	if err := r.check(g); err != nil {
		return messageKey{}, err
	}
	if g < r.next {
		k := r.kept[r.find(g)].messageKey
		k.key = k.key.Clone()
		return k, nil
	}
	secret := r.secret
	for n := r.next; n < g; n++ {
		next := p.nextSecret(secret, n)
		if n != r.next {
			secret.Wipe()
		}
		secret = next
	}
	k := p.messageKey(secret, g)
	if g != r.next {
		secret.Wipe()
	}
	return k, nil
}

// consume deletes the key of generation g; those that are skipped for it are kept,
// the last maxKept of them. The caller has checked g.
func (r *ratchet) consume(p *suiteParams, g uint32, stamp uint64) {
	if g < r.next {
		if i := r.find(g); i >= 0 {
			r.forget(i)
		}
		return
	}
	skipped := int(g - r.next)
	r.forgetFirst(len(r.kept) + min(skipped, maxKept) - maxKept)
	r.grow(min(skipped, maxKept))
	for ; r.next < g; r.step(p) {
		if g-r.next <= maxKept {
			r.kept = append(r.kept, keptKey{r.next, stamp, p.messageKey(r.secret, r.next)})
		}
	}
	r.step(p)
}

// take moves the ratchet past generation g and returns its key. Nothing that is
// skipped is kept: it is for the sender, whose skipped generations other clones have
// spoken.
func (r *ratchet) take(p *suiteParams, g uint32) messageKey {
	for r.next < g {
		r.step(p)
	}
	k := p.messageKey(r.secret, g)
	r.step(p)
	return k
}

// step deletes the secret of generation next for the one after it.
func (r *ratchet) step(p *suiteParams) {
	secret := p.nextSecret(r.secret, r.next)
	r.secret.Wipe()
	r.secret = secret
	r.next++
}

// forget wipes the kept key at i.
func (r *ratchet) forget(i int) {
	r.kept[i].wipe()
	last := len(r.kept) - 1
	copy(r.kept[i:], r.kept[i+1:])
	r.kept[last] = keptKey{}
	r.kept = r.kept[:last]
}

// forgetFirst wipes the n oldest kept keys, if n is positive.
func (r *ratchet) forgetFirst(n int) {
	if n <= 0 {
		return
	}
	for i := range n {
		r.kept[i].wipe()
	}
	rest := copy(r.kept, r.kept[n:])
	clear(r.kept[rest:])
	r.kept = r.kept[:rest]
}

// grow makes room for n more kept keys, and leaves no nonce behind in the old array.
func (r *ratchet) grow(n int) {
	if cap(r.kept)-len(r.kept) >= n {
		return
	}
	kept := make([]keptKey, len(r.kept), len(r.kept)+n)
	copy(kept, r.kept)
	clear(r.kept)
	r.kept = kept
}

func (r *ratchet) clone() ratchet {
	c := ratchet{secret: r.secret.Clone(), next: r.next, kept: slices.Clone(r.kept)}
	for i := range c.kept {
		c.kept[i].key = c.kept[i].key.Clone()
	}
	return c
}

func (r *ratchet) wipe() {
	r.secret.Wipe()
	r.forgetFirst(len(r.kept))
}
