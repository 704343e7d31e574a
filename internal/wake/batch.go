package wake

import (
	"encoding/binary"
	"errors"
)

// MaxBatch is how many tickets of a contact are kept, and are given at a time.
const MaxBatch = 16

// ErrBatch is returned for tickets between contacts that are malformed.
var ErrBatch = errors.New("batch of wake tickets is malformed")

// Batch is what a device gives a contact: flags and count 1 ‖ expiry 4 ‖ tickets.
type Batch struct {
	Forget  bool   // those given before are no good any more
	Expires uint32 // unix seconds, of all of them
	Tickets [][]byte
}

const flagForget = 0x80

// Append appends the batch. It fails with ErrBatch for more than MaxBatch
// tickets, another size of one, and a batch that says nothing.
//
// spec: content.md#wake-tickets
func (t *Batch) Append(b []byte) ([]byte, error) {
	n := byte(len(t.Tickets))
	if len(t.Tickets) > MaxBatch || n == 0 && !t.Forget {
		return b, ErrBatch
	}
	if t.Forget {
		n |= flagForget
	}
	out := binary.BigEndian.AppendUint32(append(b, n), t.Expires)
	for _, one := range t.Tickets {
		if len(one) != TicketSize {
			return b, ErrBatch
		}
		out = append(out, one...)
	}
	return out, nil
}

// ParseBatch reads a batch that fills b. Its tickets alias b, and their outer
// parts are well-formed.
func ParseBatch(b []byte) (t Batch, err error) {
	if len(b) < 5 || b[0]&0x60 != 0 {
		return Batch{}, ErrBatch
	}
	n := int(b[0] &^ flagForget)
	t.Forget, t.Expires = b[0]&flagForget != 0, binary.BigEndian.Uint32(b[1:])
	if n > MaxBatch || n == 0 && !t.Forget || len(b) != 5+n*TicketSize {
		return Batch{}, ErrBatch
	}
	for b = b[5:]; len(b) > 0; b = b[TicketSize:] {
		if _, err := ParseGateway(b[:TicketSize]); err != nil {
			return Batch{}, ErrBatch
		}
		t.Tickets = append(t.Tickets, b[:TicketSize:TicketSize])
	}
	return t, nil
}
