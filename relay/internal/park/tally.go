package park

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/tacet-chat/tacet/internal/key"
)

const (
	labelTally = "tacet/v1/relay/park/tally" // parts: key of the span 32, what is counted
	tallyRows  = 4
)

// tally counts by name in the running span of time, under a keyed hash whose key
// goes with the span and the counts. It is a sketch of a fixed size, 16 bytes
// for each place of its width, which no flood of names fills or makes forget,
// and counts too high at worst.
type tally struct {
	mu     sync.Mutex // guards the below
	span   uint64
	key    [32]byte
	counts [tallyRows][]uint32
}

func newTally(width int) *tally {
	t := &tally{}
	for i := range t.counts {
		t.counts[i] = make([]uint32, width)
	}
	return t
}

// add adds n to the count of a name, unless most says no to the count that it
// has. It returns how many were added.
func (t *tally) add(span uint64, name []byte, most func(count uint32) (n uint32)) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.key == [32]byte{} || span != t.span {
		t.span = span
		rand.Read(t.key[:])
		for i := range t.counts {
			clear(t.counts[i])
		}
	}
	sum := key.Hash(labelTally, t.key[:], name)
	var cell [tallyRows]*uint32
	least := ^uint32(0)
	for i := range cell {
		cell[i] = &t.counts[i][binary.BigEndian.Uint32(sum[4*i:])%uint32(len(t.counts[i]))]
		least = min(least, *cell[i])
	}
	n := most(least)
	for _, c := range cell {
		*c = max(*c, least+n)
	}
	return n
}
