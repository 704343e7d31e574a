package hub

import (
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// Known says what this node knows of an address at this moment: how many
// connections watch it, and how many cells of the last minute are for it. It is
// for an operator who is asked.
func (h *Hub) Known(a *wire.Address) (watchers, cells int) {
	one, many := h.table.find(a)
	if one != nil {
		watchers = 1
	}
	watchers += len(many)
	var page [16]window.Entry
	defer clear(page[:])
	for from := window.Position(0); ; {
		n, next := h.window.Read(page[:], h.now(), a, from)
		if cells += n; n < len(page) {
			return watchers, cells
		}
		from = next
	}
}
