package convo

import (
	"bytes"
	"crypto/sha256"
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
	return e.tellGroups(tx, now, device, payload, Row{})
}

// TellOnce is Tell, unless the same waits for the device still: then it does nothing. A
// row leaves only on its ack, so a second one would bring nothing.
func (e *Engine) TellOnce(tx Tx, now time.Time, device int64, payload []byte) (*Change, error) {
	sum := sha256.Sum256(payload)
	same := sum[:16]
	rows, err := tx.RowsOf(device)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if bytes.Equal(r.Same, same) {
			return &Change{}, nil
		}
	}
	return e.tellGroups(tx, now, device, payload, Row{Same: same})
}

func (e *Engine) tellGroups(tx Tx, now time.Time, device int64, payload []byte, row Row) (*Change, error) {
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
	_, err = e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Group: payload}, row, ch)
	return ch, err
}
