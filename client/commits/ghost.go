package commits

import (
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// ghost is what a device held when it was removed or revoked. It gets every message
// that is sent afterwards, whatever its address, and must open nothing whose author
// did not mean it.
type ghost struct {
	n    *node
	disk *store
}

// maxGhosts bounds the work: the first of them see the most.
const maxGhosts = 3

// haunt keeps a device's disk as it is.
func (w *world) haunt(n *node, disk *store) {
	if len(w.book.ghosts) < maxGhosts && !slices.ContainsFunc(w.book.ghosts, func(g *ghost) bool { return g.n == n }) {
		w.book.ghosts = append(w.book.ghosts, &ghost{n, disk})
	}
}

// tapped shows a message that leaves to those who should not read it.
func (w *world) tapped(from *node, c *group.Copy) {
	for _, g := range w.book.ghosts {
		if g.n == from {
			continue
		}
		t := g.disk.begin() // never committed: it can try for ever
		e := newEngine(w, &node{w: w, self: g.n.self, rand: &entropy{}, disk: g.disk})
		_, ch, err := e.Take(t, g.n.time(), group.Arrival{Group: c.Group, Epoch: c.Epoch, Payload: slices.Clone(c.Payload)})
		if err != nil || ch == nil {
			if err != nil && errors.Is(err, errCrash) {
				panic(err)
			}
			continue
		}
		for _, ev := range ch.Events {
			if ev.Kind != group.EventText {
				continue
			}
			w.book.opened++
			if x := w.book.texts[textKey{ev.By, ev.Message}]; x != nil && !x.may[g.n.device()] {
				w.fail(outsider, "%q by %s, which %s opened with what it held when it was removed", x.content, x.by.name, g.n.name)
			}
		}
	}
}
