package park

import (
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// shareNetwork is the part of everything that one network may add in a span
// while all is free.
const shareNetwork = 8

// few is how many rows a network may add in a span whatever others have left, as
// long as there is room: a hello.
const few = wire.HelloCells

// allowed returns how many of n rows a peer may add now, how many of these may
// live as long as they ask for, and for how many hours the others may.
//
// The share of its network is an eighth of all, times the square of the part that
// is free: so whoever adds much is refused first, and ever more. What comes beyond
// a few rows lives as much shorter as there is less room: so what fills a relay
// goes sooner than it can be filled, by a network that does so for weeks.
//
// spec: park.md#room
func (p *Parking) allowed(remote string, n int, now time.Time) (rows, whole int, hours uint16) {
	network, local := gate.Network(gate.Peer(remote))
	all, free := p.cfg.Rows, max(0, p.cfg.Rows-p.rows.Load())
	hours = max(wire.MinParkHours, uint16(mulDiv(int64(p.cfg.Hours), free, all)))
	if local && p.cfg.Alone || free == 0 { // the store knows better what it has already
		return n, n, hours
	}
	share := mulDiv(free, free, shareNetwork*all)
	if local { // stands for many
		share = free / 2
	}
	share = max(share, few)
	rows = int(p.networks.add(uint64(now.Unix())/uint64(gate.Window/time.Second), network[:], func(count uint32) uint32 {
		whole = int(max(0, few-int64(count)))
		return uint32(max(0, min(int64(n), share-int64(count))))
	}))
	return rows, min(rows, whole), hours
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
