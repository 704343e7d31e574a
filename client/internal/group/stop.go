package group

// What a person reads while changes of a group wait.
const (
	waitsUnpaid  = "member changes are waiting: this device has no token for the relay of this group. Messages go on."
	waitsRefused = "member changes are waiting: the relay of this group takes none. Messages go on."
	waitsTight   = "changes that this device wants to make are waiting: the group has more devices than fit. Messages go on; an admin can remove devices that are not used."
	waitsBehind  = "this device missed changes of the group and asked an admin to be added again. Messages wait until then."
)

// trouble tells why changes wait, once.
func (g *group) trouble(why string) {
	if g.r.Trouble == why {
		return
	}
	kind := EventTrouble
	if why == "" {
		kind = EventWell
	}
	g.r.Trouble = why
	g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: kind, Text: why})
}
