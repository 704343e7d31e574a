package park

import (
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// shareNetwork is the part of everything that one network may add in a span
// while all is free.
const shareNetwork = 8

// allowed returns how many of n rows a peer may add now. The share of its network
// is an eighth of all, times the square of the part that is free: so whoever adds
// much is refused first, and ever more, and a first request always finds room if
// there is any.
//
// spec: park.md#room
func (p *Parking) allowed(remote string, n int, now time.Time) int {
	network, local := gate.Network(gate.Peer(remote))
	all, free := p.cfg.Rows, p.cfg.Rows-p.rows.Load()
	share := int64(0)
	switch {
	case free <= 0: // the store knows better what it has already
		return n
	case local && p.cfg.Alone:
		return n
	case local: // stands for many
		share = free / 2
	default:
		share = mulDiv(free, free, shareNetwork*all)
	}
	return int(p.networks.add(uint64(now.Unix())/uint64(gate.Window/time.Second), network[:], func(count uint32) uint32 {
		if count == 0 {
			return uint32(n)
		}
		return uint32(max(0, min(int64(n), share-int64(count))))
	}))
}

// mulDiv is a·b/c for what fits 32 bits each, and near it beyond.
func mulDiv(a, b, c int64) int64 {
	if a < 1<<31 && b < 1<<31 {
		return a * b / c
	}
	return int64(float64(a) * float64(b) / float64(c))
}

// admitted counts rows of a context that has no token, and reports whether it
// may park them.
func (p *Parking) admitted(context [wire.ContextSize]byte, n int, now time.Time) bool {
	span := uint64(now.Unix()) / uint64(max(1, p.cfg.Live/time.Second))
	return p.contexts.add(span, context[:], func(count uint32) uint32 {
		if count+uint32(n) > wire.MaxContextRows {
			return 0
		}
		return uint32(n)
	}) != 0
}
