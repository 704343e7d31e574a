package gate

import (
	"net/netip"
	"sync"
)

// What may be held, as parts of what is free at that moment. So those who hold
// much make the next piece smaller for themselves, and a piece is always left
// for whoever holds nothing; the small find room when the large do not.
const (
	connectionPart = 16
	networkPart    = 8
	localPart      = 1 // peers on loopback stand for many: at most half of all
)

// Room shares out a number of bytes of memory among those who are being served.
// It never waits. It has a row for a network and for a connection as long as
// something is held for them, and no longer. Its methods may be called from any
// goroutine.
//
// spec: relay-api.md#limits
type Room struct {
	mu   sync.Mutex // guards the below
	free int64
	held map[string]int64 // by party: a connection or a network
}

// NewRoom returns a room of so many bytes.
func NewRoom(bytes int64) *Room { return &Room{free: bytes, held: map[string]int64{}} }

// Take takes n bytes for a peer, given as address and port as net/http has
// it. It fails at once if the peer's connection or network would then hold more
// than its part. After a success give is called, once, when the bytes are free.
func (r *Room) Take(remote string, n int64) (give func(), ok bool) {
	if !r.Grow(remote, n) {
		return nil, false
	}
	return func() { r.Grow(remote, -n) }, true
}

// Grow is Take for what grows and shrinks in pieces: n below 0 gives back, which
// always works. What a peer gives back in the end is what it took.
func (r *Room) Grow(remote string, n int64) (ok bool) {
	network, part, connection := parties(remote)

	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 && (r.held[network]+n > r.free/part || connection != "" && r.held[connection]+n > r.free/connectionPart) {
		return false
	}
	r.add(network, connection, n)
	return true
}

// add moves n bytes from the free ones to both parties. Callers hold mu.
func (r *Room) add(network, connection string, n int64) {
	r.free -= n
	for _, p := range []string{network, connection} {
		if p == "" {
			continue
		}
		if r.held[p] += n; r.held[p] == 0 {
			delete(r.held, p)
		}
	}
}

// parties names a peer's network, the network's part, and the connection: an
// address and port, or nothing where a peer has none.
func parties(remote string) (network string, part int64, connection string) {
	a, err := netip.ParseAddrPort(remote)
	switch {
	case err != nil:
		return "local", localPart, ""
	case a.Addr().Unmap().IsLoopback():
		return "local", localPart, remote
	default:
		return string(appendNetwork(nil, a.Addr())), networkPart, remote
	}
}
