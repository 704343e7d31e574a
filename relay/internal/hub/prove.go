package hub

import "github.com/tacet-chat/tacet/internal/wire"

// Prove checks proofs of what is no watch (parked cells are taken and acked with
// them) among those of large sets, so that it takes nothing from newcomers to
// the live path. It reports whether each of sets, k × (address 32 ‖ signature
// 64), verifies over the proof with that address and tail behind it; and says
// no when the hub stops.
func (h *Hub) Prove(p wire.Proof, tail, sets []byte) bool {
	b := &batch{proof: p, tail: tail, good: make(chan bool, 1)}
	for len(sets) > 0 {
		n := min(len(sets), perBatch*wire.ProofSize)
		b.sets, sets = sets[:n], sets[n:]
		select {
		case h.large <- b:
		case <-h.stopping:
			return false
		}
		select {
		case good := <-b.good:
			if !good {
				return false
			}
		case <-h.stopping: // nobody may be left to check it
			return false
		}
	}
	return true
}

// Second returns the signed second of now.
func (h *Hub) Second() [wire.SecondSize]byte { return *h.second.Load() }
