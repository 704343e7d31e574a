package hub

import (
	"encoding/binary"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// sign makes the second that all connections share: unix seconds 8 ‖ signature 64.
//
// spec: relay-api.md#second
func (h *Hub) sign(now time.Time) {
	var b [wire.SecondSize]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.Unix()))
	sig := key.SignMessage(h.cfg.Time, wire.LabelSecond, b[:8])
	copy(b[8:], sig[:])
	h.second.Store(&b)
}

// seconds does what is done once a second: the signed time, wiping what has
// aged, and at the change of a period forgetting what belonged to it.
func (h *Hub) seconds(quit <-chan struct{}) {
	period := h.period()
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		select {
		case <-quit:
			return
		case <-clock.C:
		}
		now := time.Now()
		h.sign(now)
		h.window.Sweep(h.now())
		if p := h.period(); p != period {
			period = p
			h.table.renew()
		}
		clock.Reset(time.Until(now.Truncate(time.Second).Add(time.Second)))
	}
}
