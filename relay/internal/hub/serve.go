package hub

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// ServePut serves GET /v1/put: a WebSocket that is one put context.
func (h *Hub) ServePut(w http.ResponseWriter, r *http.Request) { h.upgrade(w, r, gate.Put) }

// ServeWatch serves GET /v1/watch: a WebSocket that watches addresses.
func (h *Hub) ServeWatch(w http.ResponseWriter, r *http.Request) { h.upgrade(w, r, gate.Watch) }

// refuse answers with a status and one line of text.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}

// admit refuses what pages send and what is encoded.
func (h *Hub) admit(w http.ResponseWriter, r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if !slices.Contains(h.cfg.Origins, origin) {
			refuse(w, http.StatusForbidden, "this origin is not listed")
			return false
		}
	}
	if r.Header.Get("Content-Encoding") != "" {
		refuse(w, http.StatusUnsupportedMediaType, "no encoding is wanted")
		return false
	}
	return true
}

func (h *Hub) allow(r *http.Request, what gate.What) (release func(), ok bool) {
	if h.cfg.Limit == nil {
		return func() {}, true
	}
	return h.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), what)
}

// upgrade turns a request into a connection of ours and leaves the goroutine of
// net/http, so that everything which that holds is let go.
func (h *Hub) upgrade(w http.ResponseWriter, r *http.Request, what gate.What) {
	if !h.admit(w, r) {
		return
	}
	accept, err := ws.Accept(r)
	switch {
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, "GET is wanted")
		return
	case err != nil:
		w.Header().Set("Sec-Websocket-Version", "13") // RFC 6455, Section 4.2.2
		refuse(w, http.StatusBadRequest, err.Error())
		return
	case h.cfg.Binding && what == gate.Watch && r.TLS == nil:
		refuse(w, http.StatusBadRequest, "this relay binds watches to TLS")
		return
	}
	release, allowed := h.allow(r, what)
	if !allowed && what == gate.Watch { // a watch is told in its own words
		release, _ = h.allow(r, gate.Refusal)
	}
	if release == nil {
		refuse(w, http.StatusTooManyRequests, "over a limit")
		return
	}
	paid, status := h.admission(r, what, allowed)
	if status != 0 {
		release()
		gate.Refuse(w, status)
		return
	}
	c, ok := h.hijack(w, what, accept, allowed)
	if !ok {
		release()
		return
	}
	c.release, c.remote = release, r.RemoteAddr // not nc's, which may be a proxy's
	if q, ok := c.role.(*putter); ok && paid != nil {
		q.paid, q.ends = paid, h.now()+int64(time.Until(paid.Ends()))
	}
	go c.serve()
}

// admission has a connection paid, where tokens are wanted. Who is only told that
// he is over a limit pays nothing.
//
// spec: gate.md#presenting
func (h *Hub) admission(r *http.Request, what gate.What, allowed bool) (paid *gate.Context, status int) {
	switch {
	case h.cfg.Keeper == nil || !allowed:
		return nil, 0
	case what == gate.Watch:
		return nil, h.cfg.Keeper.Admit(r, token.Watch, nil)
	}
	id, ok := gate.ContextID(r)
	if !ok {
		return nil, http.StatusUnauthorized
	}
	return h.cfg.Keeper.Context(r, id)
}

// hijack takes the connection of a request over and answers the handshake.
func (h *Hub) hijack(w http.ResponseWriter, what gate.What, accept string, allowed bool) (*conn, bool) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusBadRequest, ws.ErrHandshake.Error())
		return nil, false
	}
	if rw.Reader.Buffered() > 0 { // a client waits for our answer before it says more
		nc.Close()
		return nil, false
	}
	nc.SetDeadline(time.Now().Add(firstWithin))
	if _, err := nc.Write(ws.AppendSwitching(nil, accept)); err != nil {
		nc.Close()
		return nil, false
	}
	nc.SetDeadline(time.Time{})
	c, err := h.adopt(nc, what, allowed)
	if err != nil {
		nc.Close()
		return nil, false
	}
	return c, true
}

// adopt makes a connection of a socket that has answered its handshake.
func (h *Hub) adopt(nc net.Conn, what gate.What, allowed bool) (*conn, error) {
	var c *conn
	if what == gate.Watch {
		w := &watcher{turnedAway: !allowed}
		if t, ok := nc.(*tls.Conn); ok && h.cfg.Binding {
			state := t.ConnectionState()
			b, err := state.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
			if err != nil {
				return nil, err
			}
			copy(w.binding[:], b)
		}
		c = &w.conn
		c.init(h, nc, what, w)
	} else {
		q := new(putter)
		q.answers.fire = q.answer
		c = &q.conn
		c.init(h, nc, what, q)
	}
	if t, ok := c.nc.(interface{ SetKeepAlive(bool) error }); ok {
		t.SetKeepAlive(false) // ours would wake a phone every 15 s; pings do its work
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.draining {
		return nil, net.ErrClosed
	}
	h.active++
	h.conns[c] = struct{}{}
	return c, nil
}
