package hub

import (
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// staleAfter is how many periods after its own a watch connection is ended, if
// its client forgot it. The client ends it minutes after the period.
const staleAfter = 2

// watcher is a watch connection: addresses of one period and who proved to own
// them. Two connections that watch one address both get its cells, and each
// echo counts: a device that left an old one open would count twice, so clients
// change connections with the period, when the addresses change.
type watcher struct {
	conn
	turnedAway bool // over a limit before it began

	server  [wire.ServerNonceSize]byte // the server nonce
	binding [wire.BindingSize]byte
	period  atomic.Uint64 // of all its addresses; 0: none yet. Set by the reader

	addresses []wire.Address // the reader's: each is in the table
	proved    int            // the reader's: proofs that were given to be checked
	replayed  int            // the reader's: bytes

	copies ring   // guarded by conn.mu
	nonce  uint64 // guarded by conn.mu: of the last copy
}

func (w *watcher) largest() int { return wire.WatchHeader + wire.MaxWatch*wire.ProofSize }
func (w *watcher) settle()      {}

// greet sends kind 1 ‖ server nonce 32 ‖ second 72.
func (w *watcher) greet() {
	rand.Read(w.server[:])
	b := append(make([]byte, 0, wire.GreetingSize), byte(wire.FrameGreeting))
	b = append(append(b, w.server[:]...), w.hub.second.Load()[:]...)
	w.send(ws.Binary, b)
	if w.turnedAway {
		w.end(w.refuse(wire.ReasonLimit))
	}
}

// refuse tells a reason. The caller closes with the code.
func (w *watcher) refuse(reason wire.Reason) ws.Code {
	w.send(ws.Binary, []byte{byte(wire.FrameRefused), byte(reason)})
	return ws.Policy
}

func (w *watcher) message(p []byte, now int64) ws.Code {
	if len(p) == 0 {
		return w.refuse(wire.ReasonFrame)
	}
	switch wire.FrameKind(p[0]) {
	case wire.FrameEcho:
		return w.echo(p[1:], now)
	case wire.FrameWatch, wire.FrameUnwatch:
		// Proofs, replay and the bus can take a while in which nothing is heard.
		w.yield()
		w.busy.Store(true)
		defer func() {
			w.seen.Store(w.hub.now())
			w.busy.Store(false)
		}()
		if wire.FrameKind(p[0]) == wire.FrameUnwatch {
			return w.unwatch(p[1:])
		}
		return w.watch(p[1:])
	}
	return w.refuse(wire.ReasonFrame)
}

// watch takes flags 1 ‖ period 8 ‖ k × (address 32 ‖ signature 64).
//
// spec: relay-api.md#watch
func (w *watcher) watch(p []byte) ws.Code {
	const head = wire.WatchHeader - 1
	if len(p) <= head || (len(p)-head)%wire.ProofSize != 0 || p[0]&^wire.FlagReplay != 0 {
		return w.refuse(wire.ReasonFrame)
	}
	flags, period, proofs := p[0], binary.BigEndian.Uint64(p[1:]), p[head:]
	present, mine := w.hub.period(), w.period.Load()
	if period+1 < present || period > present+1 || mine != 0 && period != mine {
		return w.refuse(wire.ReasonPeriod)
	}
	w.period.Store(period)
	if !w.proven(period, proofs) {
		return w.refuse(wire.ReasonProof)
	}
	for b := proofs; len(b) > 0; b = b[wire.ProofSize:] {
		a := wire.Address(b)
		if len(w.addresses) == wire.MaxWatched && !w.watches(&a) {
			return w.refuse(wire.ReasonLimit)
		}
		switch w.hub.table.add(&a, w) {
		case crowded:
			return w.refuse(wire.ReasonLimit)
		case added:
			if !w.hub.watched.Grow(w.remote, 1) {
				w.hub.table.remove(&a, w)
				return w.refuse(wire.ReasonLimit)
			}
			w.addresses = append(w.addresses, a)
		}
	}
	d, ok := w.join(proofs, flags&wire.FlagReplay != 0)
	if !ok {
		return ws.Policy // it is closed already
	}
	reach := uint32(d / 1e9)
	b := append(make([]byte, 0, wire.WatchedSize), byte(wire.FrameWatched))
	b = binary.BigEndian.AppendUint16(b, uint16(len(w.addresses)))
	w.send(ws.Binary, binary.BigEndian.AppendUint32(b, reach))
	return 0
}

// unwatch takes k × address 32. Those that are not watched are passed over.
func (w *watcher) unwatch(p []byte) ws.Code {
	if len(p) == 0 || len(p)%wire.AddressSize != 0 {
		return w.refuse(wire.ReasonFrame)
	}
	left := map[wire.Address]bool{}
	for ; len(p) > 0; p = p[wire.AddressSize:] {
		a := wire.Address(p)
		if w.hub.table.remove(&a, w) {
			left[a] = true
		}
	}
	w.hub.cfg.Bus.Unwatch(slices.Collect(maps.Keys(left)))
	keep := w.addresses[:0]
	for _, a := range w.addresses {
		if !left[a] {
			keep = append(keep, a)
		}
	}
	w.hub.watched.Grow(w.remote, int64(len(keep)-len(w.addresses)))
	clear(w.addresses[len(keep):])
	w.addresses = keep
	return 0
}

// watches reports whether an address is among those of the connection.
func (w *watcher) watches(a *wire.Address) bool {
	one, many := w.hub.table.find(a)
	for _, x := range many {
		if x == w {
			return true
		}
	}
	return one == w
}

func (w *watcher) gone() {
	for i := range w.addresses {
		w.hub.table.remove(&w.addresses[i], w)
	}
	w.hub.cfg.Bus.Unwatch(w.addresses)
	w.hub.watched.Grow(w.remote, -int64(len(w.addresses)))
	clear(w.addresses)
	w.addresses = nil
}
