// Package bus joins the nodes of one realm: a cell that was put at one node
// reaches the watchers at the others, and each node answers for itself with how
// many of its own echoed. It implements docs/spec/bus.md.
//
// A count is never trusted to interest, subscriptions or other state of whatever
// carries the messages: a node is known by its own signs of life, each known
// node answers each put with a number, zero included, and who does not answer in
// time makes the count a lower bound that says so.
//
// The package stores no cell, keeps no log, and does not open what it carries.
package bus

import (
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// Tally is what the echoes of one put are counted in, at the node where it was
// put. Its methods are called from any goroutine, and only count.
type Tally interface {
	// Ask says that so many more nodes are to answer.
	Ask(nodes int)
	// Answer is the answer of one of them: its number of echoes.
	Answer(echoes int)
}

// Visit is a cell of another node among our watchers.
type Visit interface {
	// Echoes returns how many of them have echoed it in time so far, and whether
	// that is all who got it.
	Echoes() (n int, all bool)
}

// Node is the live path of this node, as the bus sees it. Its methods are called
// from any goroutine and do not wait for the bus.
type Node interface {
	// Carry takes cells of another node: into the window and to their watchers.
	// It returns one visit for each, nil where nobody watches. It copies what it keeps.
	Carry(cells []window.Entry) []Visit
	// Keep takes cells of another node into the window, and gives them to nobody.
	Keep(cells []window.Entry)
	// Past hands over what the window holds for an address, oldest first, and
	// returns how far back it reaches.
	Past(a *wire.Address, yield func(*window.Entry)) time.Duration
	// Lost says that cells may have gone past this node until now.
	Lost()
	// Watches reports whether anybody here watches an address.
	Watches(a *wire.Address) bool
	// Addresses hands over every address that is watched here.
	Addresses(yield func(*wire.Address))
}

// Bus is the way to the other nodes, as the live path sees it. Its methods are
// called from any goroutine.
type Bus interface {
	// Publish sends a cell to the others, and asks t before it returns. It
	// does not wait and copies the cell.
	Publish(cell *window.Entry, t Tally)
	// Watch is called after addresses were watched here. With past it hands
	// over what other nodes still hold for them, until past says no, and returns
	// how far back that reaches; it then may wait about two seconds.
	Watch(addresses []wire.Address, past func(*window.Entry) bool) (reach time.Duration)
	// Unwatch is called after addresses were given up, with those that others
	// here may still watch among them.
	Unwatch(addresses []wire.Address)
}

// Alone is the bus of a relay of one node.
type Alone struct{}

// Publish implements Bus: there is nobody to ask.
func (Alone) Publish(*window.Entry, Tally) {}

// Watch implements Bus: our own window is all there is.
func (Alone) Watch([]wire.Address, func(*window.Entry) bool) time.Duration { return window.Span }

// Unwatch implements Bus.
func (Alone) Unwatch([]wire.Address) {}
