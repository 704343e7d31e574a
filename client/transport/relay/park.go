package relay

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Park has the relay keep cells until their owner has them. All of them are in
// one put context, named by Isolate. Fates come in the order of the cells. It
// fails with transport.ErrNothing where the relay does not park.
//
// spec: park.md#put
func (r *Relay) Park(ctx context.Context, p transport.Park) ([]transport.Kept, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.calls.Done()
	if len(p.Cells) == 0 || len(p.Cells) > transport.MaxPark {
		return nil, &fault{text: "parking no cells, or too many", kind: transport.ErrRefused}
	}
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := "park/" + p.Isolate
	d, err := r.describe(ctx, name, descriptorAge)
	if err != nil {
		return nil, plain(ctx, err)
	}
	if !d.Has(wire.RolePark) {
		return nil, errNoPark
	}
	kept, body, err := parkBody(p.Cells, int(d.ParkHours))
	if err != nil {
		return nil, err
	}
	a, err := r.askPark(ctx, d, name, body)
	if errors.Is(err, transport.ErrNothing) {
		r.distrust() // it parked when the descriptor was made
	}
	if err != nil {
		return nil, plain(ctx, err)
	}
	return kept, readFates(a.body, kept)
}

// errNoPark says that the relay keeps nothing for anybody.
var errNoPark = &fault{text: "the relay does not park", kind: transport.ErrNothing}

// parkBody makes the body but for the context, and says how long each cell will
// be kept: as asked, or as long as the relay keeps any.
func parkBody(cells []transport.Parking, most int) ([]transport.Kept, []byte, error) {
	kept := make([]transport.Kept, 0, len(cells))
	body := make([]byte, wire.ContextSize, wire.ContextSize+len(cells)*wire.ParkItemSize)
	for _, c := range cells {
		if c.Cell == nil || c.Hours < 1 {
			return nil, nil, &fault{text: "parking no cell, or for no time", kind: transport.ErrRefused}
		}
		hours := min(c.Hours, most)
		kept = append(kept, transport.Kept{Hours: hours})
		body = binary.BigEndian.AppendUint16(body, uint16(hours))
		body = append(append(body, c.Address[:]...), c.Cell[:]...)
	}
	return kept, body, nil
}

// askPark sends a body in the put context of that name, and pays for the context
// where one is wanted and none is open.
func (r *Relay) askPark(ctx context.Context, d *wire.Descriptor, name string, body []byte) (answer, error) {
	q := request{isolate: name, pin: &r.pin, method: http.MethodPost, path: "/v1/park", body: body, limit: transport.MaxPark}
	count := (len(body) - wire.ContextSize) / wire.ParkItemSize
	if !d.Has(wire.RoleToken) {
		rand.Read(body[:wire.ContextSize]) // nothing is counted over several of them
		a, err := r.ask(ctx, q)
		return good(a, err)
	}
	for range maxTokens {
		v, err := r.claim(ctx, name, transport.PayPut, d)
		if err != nil {
			return answer{}, err
		}
		if v.cells+count > wire.MaxContextRows { // the next one names its own
			continue
		}
		copy(body, v.id[:])
		q.voucher = v // paid when the connection is there
		a, err := r.ask(ctx, q)
		if err == nil && a.status == http.StatusUnauthorized {
			continue // the context is not known there, or the token not good
		}
		if err == nil && a.status == http.StatusOK {
			v.taken()
		}
		v.cells += count // it may have got them
		if v.cells < wire.MaxContextRows {
			r.keep(name, v)
		}
		return good(a, err)
	}
	r.distrust() // perhaps the relay has new keys
	return answer{}, errSpent
}

func good(a answer, err error) (answer, error) {
	if err != nil {
		return a, err
	}
	return a, a.good()
}

// readFates reads the answer: one byte for each cell.
func readFates(b []byte, kept []transport.Kept) error {
	if len(b) != len(kept) {
		return broken("an answer about another number of cells")
	}
	for i, fate := range b {
		if fate > byte(transport.NoRoom) {
			return broken("an answer that is none")
		}
		kept[i].Fate = transport.Fate(fate)
	}
	return nil
}
