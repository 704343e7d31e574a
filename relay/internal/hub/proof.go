package hub

import (
	"crypto/ed25519"

	"github.com/tacet-chat/tacet/internal/wire"
)

// perBatch is how many proofs are checked before another connection's turn:
// about a millisecond's worth.
const perBatch = 16

// firstProofs is how many proofs of a connection go before those of large sets:
// what nearly every device has.
const firstProofs = 64

// batch is a few proofs of one connection on their way to a verifier.
type batch struct {
	proof wire.Proof // all but the address
	tail  []byte     // behind the proof
	sets  []byte     // k × (address 32 ‖ signature 64)
	good  chan bool
}

// verify checks batches until quit is closed. It is done here and not by the
// readers because it bounds what a flood of proofs can take of the machine, and
// because it needs a deep stack, which a reader would keep while it idles.
func (h *Hub) verify(quit <-chan struct{}) {
	for h.verifyOne(quit) {
	}
}

// verifyOne checks the next batch, and reports whether there was one before
// quit was closed.
func (h *Hub) verifyOne(quit <-chan struct{}) bool {
	select {
	case b := <-h.proofs:
		b.good <- b.check()
		return true
	default:
	}
	select {
	case <-quit:
		return false
	case b := <-h.proofs:
		b.good <- b.check()
	case b := <-h.large:
		b.good <- b.check()
	}
	return true
}

func (b *batch) check() bool {
	var space [256]byte
	for s := b.sets; len(s) > 0; s = s[wire.ProofSize:] {
		b.proof.Address = wire.Address(s)
		if !ed25519.Verify(s[:wire.AddressSize], append(b.proof.Append(space[:0]), b.tail...), s[wire.AddressSize:wire.ProofSize]) {
			return false
		}
	}
	return true
}

// proven has proofs checked, batch after batch. Verifiers take batches in the
// order in which they were offered, and a connection offers one at a time: so a
// big set waits for the small ones, not they for it. What a connection wants
// beyond its first few goes after the first few of all others.
func (w *watcher) proven(period uint64, proofs []byte) bool {
	b := &batch{
		proof: wire.Proof{Realm: w.hub.cfg.Realm, Binding: w.binding, Nonce: w.server, Verb: wire.VerbWatch, Period: period},
		good:  make(chan bool, 1),
	}
	for len(proofs) > 0 {
		n := min(len(proofs), perBatch*wire.ProofSize)
		b.sets, proofs = proofs[:n], proofs[n:]
		lane := w.hub.proofs
		if w.proved >= firstProofs {
			lane = w.hub.large
		}
		w.proved += n / wire.ProofSize
		select {
		case lane <- b:
		case <-w.hub.stopping:
			return false
		}
		if !<-b.good || w.over.Load() {
			return false
		}
	}
	return true
}
