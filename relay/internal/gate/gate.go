// Package gate says how often a network may use the relay. It counts what each
// network begins (connections, watches, puts, blobs, reads) under a keyed hash
// whose key lives in memory and is replaced every ten minutes, and bounds what
// the whole relay holds open at one moment. A Room bounds memory likewise.
//
// The counts are a sketch of a fixed size: it has no row per network, never
// grows, and can only count too high. It keeps no network address, and after a
// key is replaced nothing joins the old counts to the new ones. Credentials,
// tokens and puzzles are not in it.
//
// Spec: docs/spec/relay-api.md#limits.
package gate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Window is the life of a key and of the counts under it.
const Window = 10 * time.Minute

// MaxLimit is the highest limit per network and window: a counter has 16 bits.
const MaxLimit = 65_000

// The sketch of one kind: rows × width × 2 bytes = 64 KiB.
const (
	rows  = 4
	width = 1 << 13
)

// What is a thing that is counted.
type What byte

// Kinds of things.
const (
	Connection What = iota // a network connection that was accepted
	Watch                  // a watch connection, held until it ends
	Put                    // a put context: a connection, held until it ends, or one POST
	Blob                   // a blob to store
	Read                   // a blob to read
	kinds
)

// Limits are the bounds a gate keeps. None may be below 1 or above MaxLimit.
type Limits struct {
	Connections int // connections that one network may begin in a window
	Watches     int // watch connections that one network may begin in a window
	Puts        int // put contexts that one network may begin in a window
	Blobs       int // blobs that one network may store in a window
	Reads       int // blobs that one network may read in a window
	Held        int // connections that have requests, at one moment, from everywhere; and as many watch connections, and put contexts
}

type sketch [rows][width]uint16

// Gate counts. Its methods may be called from any goroutine.
type Gate struct {
	per  [kinds]int // per network and window
	most [kinds]int64

	held [kinds]atomic.Int64

	mu     sync.Mutex // guards key, counts and random
	key    [32]byte
	counts [kinds]*sketch
	random io.Reader
}

// New returns a gate with a first key from random.
func New(l Limits, random io.Reader) (*Gate, error) {
	g := &Gate{
		per:    [kinds]int{l.Connections, l.Watches, l.Puts, l.Blobs, l.Reads},
		most:   [kinds]int64{Connection: int64(l.Held), Watch: int64(l.Held), Put: int64(l.Held)},
		random: random,
	}
	if l.Held < 1 {
		return nil, fmt.Errorf("limit of held connections: %d is below 1", l.Held)
	}
	for _, n := range g.per {
		if n < 1 || n > MaxLimit {
			return nil, fmt.Errorf("limit per network: %d is not from 1 to %d", n, MaxLimit)
		}
	}
	return g, g.turn()
}

// Run replaces the key every Window until ctx ends. It fails only if there is
// no randomness: then the old key would stay, so the relay must stop.
func (g *Gate) Run(ctx context.Context) error {
	t := time.NewTicker(Window)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := g.turn(); err != nil {
				return err
			}
		}
	}
}

// turn draws a new key and forgets every count.
func (g *Gate) turn() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := io.ReadFull(g.random, g.key[:]); err != nil {
		return fmt.Errorf("drawing a key for limits: %w", err)
	}
	for i := range g.counts {
		g.counts[i] = new(sketch)
	}
	return nil
}

// Allow reports whether remote may begin one more of what, and counts it if so.
// Every true is followed by one Release when the thing has ended. Peers on
// loopback, and those without a network address, are a local proxy or Tor that
// stands for many: they are counted as held only.
func (g *Gate) Allow(remote netip.Addr, what What) bool {
	if n := g.held[what].Add(1); g.most[what] > 0 && n > g.most[what] {
		g.held[what].Add(-1)
		return false
	}
	if remote.IsValid() && !remote.Unmap().IsLoopback() && !g.count(remote, what) {
		g.held[what].Add(-1)
		return false
	}
	return true
}

// Release says that something which Allow allowed has ended.
func (g *Gate) Release(what What) { g.held[what].Add(-1) }

// Held returns how many of what are under way.
func (g *Gate) Held(what What) int { return int(g.held[what].Load()) }

// count adds one for the network of remote unless it is at its limit. Only the
// smallest counters grow ("conservative update"), which keeps the error low.
func (g *Gate) count(remote netip.Addr, what What) bool {
	var space [16]byte
	network := appendNetwork(space[:0], remote)

	g.mu.Lock()
	defer g.mu.Unlock()
	m := hmac.New(sha256.New, g.key[:])
	m.Write(network)
	sum := m.Sum(nil)

	var cell [rows]*uint16
	least := uint16(MaxLimit)
	for i := range cell {
		cell[i] = &g.counts[what][i][binary.BigEndian.Uint16(sum[2*i:])%width]
		least = min(least, *cell[i])
	}
	if int(least) >= g.per[what] {
		return false
	}
	for _, c := range cell {
		*c = max(*c, least+1)
	}
	return true
}

// appendNetwork appends what stands for a peer's network: family 1 ‖ the /24 of
// an IPv4 address or the /56 of an IPv6 one.
func appendNetwork(b []byte, remote netip.Addr) []byte {
	remote = remote.Unmap()
	if remote.Is4() {
		a := remote.As4()
		return append(append(b, 4), a[:3]...)
	}
	a := remote.As16()
	return append(append(b, 6), a[:7]...)
}

// Peer reads the network address of a peer from its text form, address and
// port as net/http has it. An invalid one is returned for anything else.
func Peer(addressAndPort string) netip.Addr {
	a, _ := netip.ParseAddrPort(addressAndPort)
	return a.Addr()
}
