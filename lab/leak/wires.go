package leak

import (
	"net"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
)

// Name is what people call the relay on Wires.
const Name = relayName

// Wires is the network between people and a relay, for those who measure something
// else than leaks on it: people are numbers, connect directly, and are recorded.
type Wires struct{ w *wires }

// NewWires returns a network that begins now, in the bubble of the caller.
func NewWires() Wires { return Wires{newWires(NewRecorder())} }

// Listener is where the relay serves.
func (w Wires) Listener() net.Listener { return w.w }

// Network is how a person reaches relays. wrap, if not nil, stands between their
// client and its transport.
func (w Wires) Network(who int, wrap func(*network.Relay) transport.Transport) client.Network {
	return &access{w: w.w, who: who, direct: true, wrap: wrap}
}

// Cut takes a person's network away with all their connections, Mend gives it back.
func (w Wires) Cut(who int) { w.w.cut(who) }

// Mend ends Cut.
func (w Wires) Mend(who int) { w.w.mend(who) }

// Trace returns what was recorded until now.
func (w Wires) Trace() *Trace { return w.w.rec.Trace() }
