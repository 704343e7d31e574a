package hub

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

const (
	maxPerContext = 128 // cells of one context by POST in a live period
	contextRows   = 4
	contextWidth  = 1 << 18 // one byte each: 1 MiB in all
	bodyWithin    = 5 * time.Second

	labelContext = "tacet/v1/relay/context" // parts: key of the period 32, context 16
)

// ServePostPut answers POST /v1/put: one cell of a context named by its secret
// id. The answer leaves a constant time after the body has come.
//
// spec: relay-api.md#one-put-by-post
func (h *Hub) ServePostPut(w http.ResponseWriter, r *http.Request) {
	if !h.admit(w, r) || !sized(w, r) {
		return
	}
	release, ok := h.allow(r, gate.Put)
	if !ok {
		refuse(w, http.StatusTooManyRequests, "over a limit")
		return
	}
	defer release()
	body := make([]byte, wire.PostPutSize)
	defer clear(body)
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyWithin))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		refuse(w, http.StatusBadRequest, "the body did not come whole")
		return
	}
	control.SetReadDeadline(time.Time{})
	paid, status := h.cfg.Keeper.Context(r, [wire.ContextSize]byte(body))
	if status != 0 {
		gate.Refuse(w, status)
		return
	}
	if !h.enter(true) {
		refuse(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	defer h.leave()
	now := h.now()
	if !h.counts(paid, [wire.ContextSize]byte(body)) {
		refuse(w, http.StatusTooManyRequests, "over a limit")
		return
	}
	frame := body[wire.ContextSize:]
	rec := &record{id: [wire.PutIDSize]byte(frame), at: now}
	e := (*window.Entry)(frame[wire.PutIDSize:])
	h.cfg.Bus.Publish(e, rec)
	touched, _ := h.put(rec, e, now, nil, false)
	for _, x := range touched {
		x.flush()
	}
	t := time.NewTimer(time.Duration(rec.dueAt() - h.now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
		return
	case <-h.stopping:
		refuse(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(rec.answer().Append(nil))
}

// counts counts a cell of a context: where it was paid in its own place.
func (h *Hub) counts(paid *gate.Context, id [wire.ContextSize]byte) bool {
	if paid != nil {
		return paid.Cell()
	}
	return h.contexts.count(id, h.period())
}

// sized refuses a request whose body has not exactly the size of one.
func sized(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, "POST is wanted")
	case r.ContentLength < 0:
		refuse(w, http.StatusLengthRequired, "a length is wanted")
	case r.ContentLength != wire.PostPutSize:
		refuse(w, http.StatusRequestEntityTooLarge, "the body has another size")
	default:
		return true
	}
	return false
}

// contexts counts the cells of contexts in the running live period, under a
// keyed hash whose key goes with the period. It is a sketch of a fixed size,
// which no flood of contexts fills or makes forget, and counts too high at
// worst: with a million cells in a period by four or so. The zero value is ready.
type contexts struct {
	mu     sync.Mutex
	period uint64
	key    [32]byte
	counts *[contextRows][contextWidth]uint8
}

// count counts one more cell of a context. It reports whether that is allowed.
func (c *contexts) count(id [wire.ContextSize]byte, period uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || period != c.period {
		c.period, c.counts = period, new([contextRows][contextWidth]uint8)
		rand.Read(c.key[:])
	}
	sum := key.Hash(labelContext, c.key[:], id[:])
	var cell [contextRows]*uint8
	least := uint8(maxPerContext)
	for i := range cell {
		cell[i] = &c.counts[i][binary.BigEndian.Uint32(sum[4*i:])%contextWidth]
		least = min(least, *cell[i])
	}
	if least == maxPerContext {
		return false
	}
	for _, n := range cell {
		*n = max(*n, least+1)
	}
	return true
}
