package mls

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// pairs remembers which private keys were found to be those of which public ones: a
// stored group is read before each message, and to find it out costs more than to open
// the message. Two generations of at most pairsMost SHA-256 hashes are kept, 128 KiB; a
// hash of a key of 32 random bytes says nothing of it.
var pairs struct {
	sync.Mutex
	young, old map[[32]byte]struct{}
}

const pairsMost = 1024

// isPair reports whether private is the key of public.
func (p *suiteParams) isPair(private Secret, public []byte) bool {
	if !private.Valid() || len(public) == 0 {
		return false
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2048), p.kem.ID())
	b = binary.BigEndian.AppendUint32(b, uint32(len(public)))
	b = append(append(b, public...), private.Bytes()...)
	h := sha256.Sum256(b)
	clear(b)
	pairs.Lock()
	_, ok := pairs.young[h]
	if !ok {
		_, ok = pairs.old[h]
	}
	pairs.Unlock()
	if ok {
		return true
	}
	own, err := p.hpkePublic(private)
	if err != nil || !equal(own, public) {
		return false
	}
	pairs.Lock()
	defer pairs.Unlock()
	if pairs.young == nil || len(pairs.young) >= pairsMost {
		pairs.old, pairs.young = pairs.young, make(map[[32]byte]struct{}, pairsMost)
	}
	pairs.young[h] = struct{}{}
	return true
}
