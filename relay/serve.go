package relay

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Bounds of requests.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second // a whole request; blobs have their own, by size
	writeTimeout  = 60 * time.Second
	idleTimeout   = 30 * time.Second
	stopTimeout   = 2 * time.Second // an answer to a put takes 1.5 s
	maxHeader     = 8 << 10
	maxRequests   = 256      // requests on one connection, so that the limit of connections is one of requests
	maxStreams    = 8        // requests on one HTTP/2 connection
	maxReceive    = 64 << 10 // bytes of bodies that one HTTP/2 connection sends ahead
)

// routes says who answers what.
//
// spec: relay-api.md#relay-api
func (r *Relay) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "This is a Tacet relay. It is up; a Tacet client talks to it.\n")
	})
	mux.HandleFunc("GET /v1/realm", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		said, err := r.announced()
		if err != nil {
			gate.Refuse(w, http.StatusServiceUnavailable)
			return
		}
		w.Write(said)
	})
	if r.has(RoleLive) {
		mux.HandleFunc("GET /v1/put", r.hub.ServePut)
		mux.HandleFunc("POST /v1/put", r.hub.ServePostPut)
		mux.HandleFunc("GET /v1/watch", r.hub.ServeWatch)
	}
	r.gateRoutes(mux)
	if r.blobs != nil {
		mux.HandleFunc("POST /v1/blob", r.blobs.ServePut)
		mux.HandleFunc("GET /v1/blob/{id}", r.blobs.ServeGet)
		mux.HandleFunc("DELETE /v1/blob/{id}", r.blobs.ServeDelete)
	}
	r.routeParking(mux)
	r.routeWake(mux)
	return mux
}

// requests is the key of the number of requests that a connection had.
type requests struct{}

// guard stands in front of every request.
//
// spec: relay-api.md#connection
func (r *Relay) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h["Date"] = nil // the signed second is the only time we give
		h.Set("Cache-Control", "no-store")
		defer r.recovered(w)
		if n, ok := req.Context().Value(requests{}).(*atomic.Int32); ok && n.Add(1) >= maxRequests {
			h.Set("Connection", "close")
		}
		if r.cfg.TLS == "proxy" && !r.forwarded(w, req) {
			return
		}
		if _, page := req.Header["Origin"]; page && !r.welcome(w, req) {
			return
		}
		if _, encoded := req.Header["Content-Encoding"]; encoded {
			http.Error(w, "bodies are sent as they are", http.StatusUnsupportedMediaType)
			return
		}
		if reads := req.Method == http.MethodGet || req.Method == http.MethodHead; reads && req.ContentLength != 0 {
			http.Error(w, "a read has no body", http.StatusBadRequest) // it would lie in memory, unread
			return
		}
		next.ServeHTTP(w, req)
	})
}

// welcome lets a page through whose origin the operator listed, and answers its
// browser's question first. A page always names its origin, a program never.
func (r *Relay) welcome(w http.ResponseWriter, req *http.Request) bool {
	origin := req.Header["Origin"]
	if len(origin) != 1 || !slices.Contains(r.cfg.Origins, origin[0]) {
		http.Error(w, "this origin may not use this relay", http.StatusForbidden)
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Set("Access-Control-Expose-Headers", "Tacet-Receipt")
	h.Set("Vary", "Origin")
	if req.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Content-Type, Range, Tacet-Token, Tacet-Context")
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	return true
}

// recovered keeps the relay up when a handler panics, and writes down the place
// alone: what was passed there is a client's.
func (r *Relay) recovered(w http.ResponseWriter) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler: // net/http's own way to drop a connection
		panic(v)
	default:
		if at := where(); r.seldom.allow(eventPanic+at, time.Now()) {
			r.log.Error(eventPanic, "where", at)
		}
		http.Error(w, "the relay failed", http.StatusInternalServerError)
	}
}

// serve answers requests until ctx ends.
func (r *Relay) serve(ctx context.Context) error {
	doors := r.doors()
	srv := &http.Server{
		Handler:           r.handler,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxReceive, MaxReceiveBufferPerStream: maxReceive,
		},
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, requests{}, new(atomic.Int32))
		},
		ErrorLog: log.New(io.Discard, "", 0), // it names peers
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				for _, d := range doors {
					d.left(c)
				}
			}
		},
	}
	end := make(chan error, len(doors))
	for _, ln := range doors {
		go func() { end <- srv.Serve(ln) }()
	}
	select {
	case err := <-end:
		srv.Close()
		for range len(doors) - 1 {
			<-end
		}
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	for range doors {
		<-end
	}
	return err
}
