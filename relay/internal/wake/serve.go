package wake

import (
	"errors"
	"io"
	"net/http"
	"time"

	tickets "github.com/tacet-chat/tacet/internal/wake"
)

const bodyWithin = 5 * time.Second

// Body reads a body of exactly size bytes, or answers why not.
func Body(w http.ResponseWriter, r *http.Request, size int64) ([]byte, bool) {
	switch {
	case r.ContentLength < 0:
		http.Error(w, "a length must be given", http.StatusLengthRequired)
		return nil, false
	case r.ContentLength != size:
		http.Error(w, "the body has another size", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyWithin)) // else the server's own holds
	b := make([]byte, size)
	if _, err := io.ReadFull(r.Body, b); err != nil {
		http.Error(w, "the body did not come whole", http.StatusBadRequest)
		return nil, false
	}
	return b, true
}

// ServeOpen answers POST /v1/wake/open: always alike.
func (g *Gateway) ServeOpen(w http.ResponseWriter, r *http.Request) {
	b, ok := Body(w, r, tickets.TicketSize)
	if !ok {
		return
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	http.NewResponseController(w).Flush() // what a ticket is worth does not show in the time of the answer
	g.Open(b)
}

// ServeProve answers POST /v1/wake/prove.
//
// spec: wake.md#proof
func (g *Gateway) ServeProve(w http.ResponseWriter, r *http.Request) {
	b, ok := Body(w, r, tickets.ProveSize)
	if !ok {
		return
	}
	p, err := tickets.ParseProve(b)
	if err != nil {
		http.Error(w, "malformed", http.StatusBadRequest)
		return
	}
	if _, err := g.push.target(p.Endpoint); err != nil {
		http.Error(w, "this endpoint is not allowed", http.StatusForbidden)
		return
	}
	now := g.cfg.Now()
	if !g.limit.challenge(g.limit.name(ofProof, []byte(p.Endpoint)), now) {
		http.Error(w, "too often: later", http.StatusTooManyRequests)
		return
	}
	if p.Service == tickets.UnifiedPush {
		err = g.push.discover(r.Context(), p.Endpoint)
	}
	if err == nil {
		var out outcome
		code := g.prover.Code(uint64(max(now.Unix(), 0)), p.Endpoint)
		if out, err = g.push.push(r.Context(), &p.Subscription, tickets.Message{Challenge: true, Code: code}); err == nil && out.status/100 != 2 {
			err = errService
		}
	}
	switch {
	case errors.Is(err, ErrForbidden):
		http.Error(w, "this endpoint is not allowed", http.StatusForbidden)
	case err != nil:
		http.Error(w, "the push service was not reached or did not take it", http.StatusBadGateway)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// ServeConfirm answers POST /v1/wake/confirm.
func (g *Gateway) ServeConfirm(w http.ResponseWriter, r *http.Request) {
	b, ok := Body(w, r, tickets.ConfirmSize)
	if !ok {
		return
	}
	c, err := tickets.ParseConfirm(b)
	if err != nil {
		http.Error(w, "malformed", http.StatusBadRequest)
		return
	}
	if !g.prover.CodeGood(c.Code, uint64(max(g.cfg.Now().Unix(), 0)), c.Endpoint) {
		http.Error(w, "this code is not good", http.StatusForbidden)
		return
	}
	mac := g.prover.MAC(c.Endpoint)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(mac[:])
}
