package key

import (
	"crypto/sha256"
	"sync"
)

// again remembers signatures that were good, in two generations: the older one is
// dropped when the newer is full. At most 2 × againMost hashes are kept, 256 KiB.
var again struct {
	sync.Mutex
	young, old map[[32]byte]struct{}
}

const againMost = 2048

// VerifyAgain is Verify for signatures that come again and again: of manifests,
// statements, wishes and receipts, which each member of a group passes on to each.
// A signature that was good is known by the SHA-256 of key, signature and what was
// signed, for as long as the process runs or until a few thousand others were good
// since. One that was not good is never remembered. What was asked for shows in the
// time it takes: it is for what is public among those who sent it.
func VerifyAgain(p SignPublic, sig Signature, label string, parts ...[]byte) bool {
	b := make([]byte, 0, 512)
	b = append(append(b, p[:]...), sig[:]...)
	h := sha256.Sum256(Info(b, label, parts...))
	again.Lock()
	_, ok := again.young[h]
	if !ok {
		_, ok = again.old[h]
	}
	again.Unlock()
	if ok {
		return true
	}
	if !Verify(p, sig, label, parts...) {
		return false
	}
	again.Lock()
	defer again.Unlock()
	if again.young == nil || len(again.young) >= againMost {
		again.old, again.young = again.young, make(map[[32]byte]struct{}, againMost)
	}
	again.young[h] = struct{}{}
	return true
}
