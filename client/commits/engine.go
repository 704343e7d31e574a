package commits

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// engine is what the world asks of group.Engine.
type engine interface {
	Create(tx group.Tx, now time.Time, f group.Founding) (group.ID, *group.Change, error)
	Want(tx group.Tx, now time.Time, id group.ID, w roster.Wish) (*group.Change, error)
	Send(tx group.Tx, now time.Time, id group.ID, content []byte) (wire.MessageID, *group.Change, error)
	Take(tx group.Tx, now time.Time, a group.Arrival) (group.Taken, *group.Change, error)
	Hear(tx group.Tx, now time.Time, from group.Device, root key.SignPublic, payload []byte) (*group.Change, error)
	Answer(tx group.Tx, now time.Time, a group.SlotAnswer) (*group.Change, error)
	Tick(tx group.Tx, now time.Time) (*group.Change, error)
	Due(tx group.Tx, now time.Time) (*group.Change, error)
	Decide(tx group.Tx, now time.Time, id group.ID, q group.Question, yes bool) (*group.Change, error)
	Packages(tx group.Tx, now time.Time, to group.Device, n int) ([]byte, error)
	Manifest(tx group.Tx, now time.Time, m *manifest.Manifest) (*group.Change, error)
	Routes(tx group.Tx) ([]group.OwnRoute, error)
}

// newEngine starts the engine of a device. What it knows is on the device's disk.
func newEngine(w *world, n *node) engine {
	return &group.Engine{Self: n.self, Rand: n.rand, Crypto: w.crypto, Live: 1800, Fatal: func(error) bool { return true }}
}

var realMLS group.Crypto = group.MLS{}
