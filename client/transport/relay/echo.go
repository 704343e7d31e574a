package relay

import (
	"sync"
	"sync/atomic"

	"github.com/tacet-chat/tacet/internal/wire"
)

// maxEchoes is how many echoes wait to be written: as many as a relay counts.
// Beyond it the oldest go, which makes a count a lower bound.
const maxEchoes = 8192

// echoes collects what Seen says. Whoever writes takes all that has gathered
// while it wrote the last ones, so they leave at once when there are few and in
// batches when there are many, without a timer.
//
// spec: relay-api.md#receipt-echo
type echoes struct {
	some chan struct{} // holds a token while there may be some; never blocks

	mu   sync.Mutex
	wait []uint64
}

// seen returns the Seen of one delivery.
func (e *echoes) seen(nonce uint64) func() {
	var once atomic.Bool
	return func() {
		if once.Swap(true) {
			return
		}
		e.mu.Lock()
		if len(e.wait) >= maxEchoes {
			e.wait = append(e.wait[:0], e.wait[wire.MaxEchoes:]...)
		}
		e.wait = append(e.wait, nonce)
		e.mu.Unlock()
		select {
		case e.some <- struct{}{}:
		default:
		}
	}
}

// take returns at most n of the oldest echoes.
func (e *echoes) take(n int) []uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	n = min(n, len(e.wait))
	taken := append([]uint64(nil), e.wait[:n]...)
	e.wait = append(e.wait[:0], e.wait[n:]...)
	return taken
}
