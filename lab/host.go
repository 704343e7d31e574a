package lab

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Host is a relay in a process of its own, which can be killed and started
// again on the same port and the same data directory.
type Host struct {
	Data   string // directory
	Config string // TOML, for what differs from the default

	log io.Writer

	mu      sync.Mutex // guards all below
	p       *process
	addr    string // empty before the first start
	realm   string
	cluster string
}

// Start starts the relay and returns when it listens. One that listened before
// gets its port again, for which it may have to wait: it tries for half a minute.
func (h *Host) Start(ctx context.Context) error {
	again := h.Addr() != ""
	for end := time.Now().Add(30 * time.Second); ; {
		err := h.start(ctx)
		if !again || !errors.Is(err, errEnded) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (h *Host) start(ctx context.Context) error {
	h.mu.Lock()
	o := relayOrder{Listen: h.addr, Data: h.Data, Config: h.Config}
	h.mu.Unlock()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	words := make(chan relayWord, 1)
	p, err := start(roleRelay, o, h.log, func(line []byte) {
		var w relayWord
		if json.Unmarshal(line, &w) == nil {
			words <- w
		}
	})
	if err != nil && (p == nil || !errors.Is(err, errEnded)) {
		return err
	}
	h.mu.Lock()
	h.p = p
	h.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	select {
	case w := <-words:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.addr, h.realm, h.cluster = w.Addr, w.Realm, w.Cluster
		return nil
	case <-p.done:
		return fmt.Errorf("the relay: %w", errors.Join(errEnded, p.stop()))
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("starting the relay: %w", ctx.Err())
	}
}

// Addr is where the relay listens.
func (h *Host) Addr() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addr
}

// Realm is the SHA-256 of the realm key.
func (h *Host) Realm() (pin [32]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, _ := hex.DecodeString(h.realm)
	copy(pin[:], b)
	return pin
}

// Cluster is where other nodes of the realm reach this one; empty if none do.
func (h *Host) Cluster() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cluster
}

// Kill ends the relay at once (SIGKILL).
func (h *Host) Kill() {
	if p := h.process(); p != nil {
		p.kill()
	}
}

// Stop lets the relay end in its own way, and returns what went wrong in it.
func (h *Host) Stop() error {
	p := h.process()
	if p == nil {
		return nil
	}
	if err := p.stop(); err != nil {
		return fmt.Errorf("the relay: %w", err)
	}
	return nil
}

// Running reports whether the relay runs.
func (h *Host) Running() bool {
	p := h.process()
	return p != nil && !p.over()
}

func (h *Host) process() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.p
}
