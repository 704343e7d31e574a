// Package gate says who may use the relay, and how often.
//
// A Gate counts what each network begins (connections, watches, puts, blobs,
// reads) under a keyed hash whose key lives in memory and is replaced every ten
// minutes, and shares out what can be open at one moment. A Room shares out
// memory likewise. The counts are a sketch of a fixed size: it has no row per
// network, never grows, evicts nothing, and can only count too high. It keeps no
// network address, and after a key is replaced nothing joins the old counts to
// the new ones. What a network holds stands in a row for as long as it is held,
// as the system's own table of sockets does.
//
// A Keeper makes members of those who have a realm invite, issues anonymous
// tokens to members and to whoever solves a puzzle, and takes them for what costs
// the relay something. What it keeps is in Members and Spent, which backends
// implement; a token leads to no member, and a member to no invite. Tokens
// themselves are package token's.
//
// Spec: docs/spec/relay-api.md#limits, docs/spec/gate.md.
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
	Refusal                // a watch connection that is only told that it is over a limit
	kinds
)

// Limits are the bounds a gate keeps. None per network may be below 1 or above
// MaxLimit.
type Limits struct {
	Connections int // connections that one network may begin in a window
	Watches     int // watch connections that one network may begin in a window
	Puts        int // put contexts that one network may begin in a window
	Blobs       int // blobs that one network may store in a window
	Reads       int // blobs that one network may read in a window

	Held    int  // connections that have requests, at one moment, from everywhere; and as many watch connections, and put contexts
	Sockets int  // all of these together; 0 is no bound of its own
	Alone   bool // only peers on loopback can come: they may hold it all
}

type sketch [rows][width]uint16

// Gate counts. Its methods may be called from any goroutine.
type Gate struct {
	per     [kinds]int // per network and window, 0: not counted
	most    [kinds]int // at one moment, 0: no bound
	sockets int        // likewise, of all kinds that hold one
	alone   bool

	mu     sync.Mutex // guards the below
	key    [32]byte
	counts [kinds]*sketch
	shares map[id]*share
	total  share // of all networks
	random io.Reader
}

// New returns a gate with a first key from random.
func New(l Limits, random io.Reader) (*Gate, error) {
	g := &Gate{
		per:     [kinds]int{Connection: l.Connections, Watch: l.Watches, Put: l.Puts, Blob: l.Blobs, Read: l.Reads},
		most:    [kinds]int{Connection: l.Held, Watch: l.Held, Put: l.Held, Refusal: l.Held/refusalPart + 1},
		sockets: l.Sockets, alone: l.Alone, random: random,
	}
	if l.Held < 1 {
		return nil, fmt.Errorf("limit of held connections: %d is below 1", l.Held)
	}
	for _, n := range g.per[:Refusal] {
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

// turn draws a new key and forgets every count. What is held moves to the key.
func (g *Gate) turn() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := io.ReadFull(g.random, g.key[:]); err != nil {
		return fmt.Errorf("drawing a key for limits: %w", err)
	}
	for i := range g.counts {
		if g.per[i] > 0 {
			g.counts[i] = new(sketch)
		}
	}
	old := g.shares
	g.shares = make(map[id]*share, len(old))
	for _, s := range old {
		sum := g.hash(&s.network)
		s.id = id(sum[rows*2:])
		g.shares[s.id] = s
	}
	return nil
}

// Allow reports whether remote may begin one more of what, and counts it if so.
// Then release is called, once, when the thing has ended. Peers on loopback,
// and those without a network address, are a local proxy or Tor that stands for
// many: what they begin is not counted, only what they hold.
func (g *Gate) Allow(remote netip.Addr, what What) (release func(), ok bool) {
	n := networkOf(remote)
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := g.hash(&n)
	s := g.shares[id(sum[rows*2:])]
	if !g.room(s, what, n.local()) || !n.local() && g.per[what] > 0 && !g.count(&sum, what) {
		return nil, false
	}
	if s == nil {
		s = &share{network: n, id: id(sum[rows*2:])}
		g.shares[s.id] = s
	}
	s.add(what, 1)
	g.total.add(what, 1)
	return func() { g.release(s, what) }, true
}

// release ends something that Allow allowed.
func (g *Gate) release(s *share, what What) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.add(what, -1)
	g.total.add(what, -1)
	if s.all == 0 {
		delete(g.shares, s.id)
		*s = share{}
	}
}

// Held returns how many of what are under way.
func (g *Gate) Held(what What) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total.held[what]
}

// hash is the keyed hash of a network: places in a sketch, then an id. Callers
// hold mu.
func (g *Gate) hash(n *network) (sum [sha256.Size]byte) {
	m := hmac.New(sha256.New, g.key[:])
	m.Write(n[:])
	m.Sum(sum[:0])
	return sum
}

// count adds one for a network unless it is at its limit. Only the smallest
// counters grow ("conservative update"), which keeps the error low. Callers
// hold mu.
func (g *Gate) count(sum *[sha256.Size]byte, what What) bool {
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

// Peer reads the network address of a peer from its text form, address and
// port as net/http has it. An invalid one is returned for anything else.
func Peer(addressAndPort string) netip.Addr {
	a, _ := netip.ParseAddrPort(addressAndPort)
	return a.Addr()
}
