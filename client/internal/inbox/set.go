package inbox

import (
	"fmt"
	"math/bits"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
)

// minSet is the smallest set, in addresses.
const minSet = 16

// padded returns the size of a set of n addresses: the next power of two from
// minSet on.
//
// spec: delivery.md#sets
func padded(n int) int {
	if n <= minSet {
		return minSet
	}
	return 1 << bits.Len(uint(n-1))
}

// decoys makes count decoys.
func (s *source) decoys(count int) ([]transport.Owned, error) {
	set := make([]transport.Owned, 0, count)
	for range count {
		a, sign, err := addr.Decoy(s)
		if err != nil {
			return nil, fmt.Errorf("padding a set: %w", err)
		}
		set = append(set, transport.Owned{Address: transport.Address(a), Sign: sign})
	}
	return set, nil
}

// mixed returns sets together, in random order. All ask for replay: real
// addresses alone doing so would stand out.
func (s *source) mixed(sets ...[]transport.Owned) ([]transport.Owned, error) {
	var all []transport.Owned
	for _, set := range sets {
		all = append(all, set...)
	}
	for i := range all {
		all[i].Replay = true
	}
	return all, s.shuffle(all)
}
