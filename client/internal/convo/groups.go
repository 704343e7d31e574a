package convo

import (
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Groups is who understands what groups say in pair sessions: opaque here.
type Groups interface {
	// Take takes what a device said, in the transaction in which it was opened. An
	// error undoes the transaction, and the message is offered again.
	Take(tx Tx, now time.Time, from *contact.Record, payload []byte, ch *Change) error
	// Revoked is told of every newer manifest, of a person or of ours: devices may
	// have joined it, and those that it revokes or lacks are to go at once.
	Revoked(tx Tx, now time.Time, person key.SignPublic, m *manifest.Manifest, ch *Change) error
}

// Tell queues something for a device that groups say to it. Nothing is shown for it.
// It waits there until the device acks it or is revoked. It fails with ErrStopped or
// ErrBlocked for a device to which nothing is sent, and with ErrLong.
func (e *Engine) Tell(tx Tx, now time.Time, device int64, payload []byte) (*Change, error) {
	ch := &Change{}
	r, err := tx.Contact(device)
	switch {
	case err != nil:
		return nil, err
	case r.Stop:
		return nil, ErrStopped
	case !r.Kept() || r.Gone:
		return nil, ErrBlocked
	case len(payload) == 0 || len(payload) > content.MaxGroup:
		return nil, ErrLong
	}
	_, err = e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Group: payload}, Row{}, ch)
	return ch, err
}
