package relay

import (
	"context"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Status is what a running relay tells its operator. Counts are rounded and a
// minute old at most: nothing in it is about one peer.
type Status struct {
	Version     string         `json:"version"`
	Uptime      string         `json:"uptime"` // coarse
	Listen      string         `json:"listen"`
	Fingerprint string         `json:"fingerprint"` // of the realm key, hex
	TLS         bool           `json:"tls"`
	Binding     bool           `json:"binding"` // proofs are bound to the TLS connection
	Front       string         `json:"front"`   // what stands in front: none, PROXY protocol or TLS
	Onion       bool           `json:"onion"`   // Tor has a door of its own
	Roles       []string       `json:"roles"`
	Gate        string         `json:"gate"`              // who may use it: open, invite or closed
	Store       string         `json:"store"`             // memory, disk, postgres or none
	Shared      []SharedStatus `json:"shared,omitempty"`  // servers that the nodes of a realm share
	Cluster     *ClusterStatus `json:"cluster,omitempty"` // nil for a relay of one node
	Totals      Totals         `json:"totals"`

	Names []NameStatus `json:"names,omitempty"`
}

// Totals are counts of things under way, rounded down; 0 is fewer than ten.
type Totals struct {
	Requests int `json:"requests"` // connections with requests
	Putting  int `json:"putting"`  // put contexts
	Watching int `json:"watching"` // watch connections
	Blobs    int `json:"blobs"`    // that lie here
	Parked   int `json:"parked"`   // cells that wait for who is away
}

// ClusterStatus is how the nodes of a realm see each other, in counts alone.
type ClusterStatus struct {
	Nodes  int    `json:"nodes"`  // that this one knows, itself among them
	Silent int    `json:"silent"` // of those, without a sign of life: answers are lower bounds
	Cut    bool   `json:"cut"`    // this node has lost the NATS server
	Mode   string `json:"mode"`   // "all": cells go to all nodes; "owners": to the owner of the address
}

const (
	statusEvery   = time.Minute // how often totals are taken
	statusTimeout = 10 * time.Second
)

// Version returns the version of this program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (r *Relay) storeWord() string {
	switch {
	case r.shared.db != nil:
		return "postgres"
	case r.disk != nil:
		return "disk"
	case r.blobs != nil:
		return "memory"
	}
	return "none"
}

// keepTotals takes the totals anew every minute until ctx ends.
func (r *Relay) keepTotals(ctx context.Context) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		t := r.totals()
		r.counted.Store(t)
		r.measured.Store(r.measure(t))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// status is what is told to an operator who asks.
func (r *Relay) status() *Status {
	fingerprint := r.Fingerprint()
	s := &Status{
		Version: Version(), Uptime: coarse(time.Since(r.began)), Listen: at(r.ln.Addr()), Fingerprint: hex.EncodeToString(fingerprint[:]),
		TLS: r.certs != nil, Binding: r.cfg.secure(), Front: r.cfg.front(), Onion: r.onion != nil, Roles: r.cfg.Roles, Gate: r.cfg.Gate, Store: r.storeWord(), Names: r.nameStatuses(), Cluster: r.clusterStatus(), Shared: r.sharedStatus(),
	}
	if t := r.counted.Load(); t != nil {
		s.Totals = *t
	}
	return s
}

func (r *Relay) totals() *Totals {
	return &Totals{
		Requests: rounded(r.gate.Held(gate.Connection)), Putting: rounded(r.gate.Held(gate.Put)),
		Watching: rounded(r.gate.Held(gate.Watch)), Blobs: rounded(int(r.lying.Load())), Parked: rounded(int(r.parked.waiting.Load())),
	}
}

// coarse says roughly how long d is.
func coarse(d time.Duration) string {
	switch {
	case d < time.Hour:
		return "under an hour"
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// AskStatus asks the relay that runs on a data directory. It fails with
// ErrNotRunning if there is none, and gives up after a few seconds.
func AskStatus(data string) (s Status, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	c, err := ask(ctx, data, "status", nil, &s)
	if err != nil {
		return s, err
	}
	return s, c.Close()
}
