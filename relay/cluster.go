package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/bus/natslink"
)

const (
	meetWithin  = 5 * time.Second // a node that starts has met the others, or serves all the same
	goWithin    = 4 * time.Second // beyond the time of draining, before connections are cut
	partWithin  = 5 * time.Second
	clusterName = "cluster" // of the check
)

// link is a bus.Link that is closed where it was never run.
type link interface {
	bus.Link
	Close() error
}

// openMesh joins the other nodes of the realm. NATS starts here and nowhere
// else: a relay that is alone has none.
func (r *Relay) openMesh() error {
	realm := bus.NewRealm(r.realm)
	var l *natslink.Link
	var err error
	if r.cfg.NATS.URL != "" {
		l, err = natslink.External(realm, r.cfg.NATS.URL)
	} else {
		if r.peers, err = newCertificates(r.realm, time.Now); err != nil {
			return err
		}
		l, err = natslink.Embedded(natslink.Options{
			Realm: realm, Listen: r.cfg.Cluster.Listen, Advertise: r.cfg.Cluster.Advertise, Nodes: r.cfg.Cluster.Nodes, TLS: r.peers.mutual(r.public),
		})
	}
	if err != nil {
		return advise(fmt.Errorf("joining the cluster: %w", err), r.cfg.Data)
	}
	r.link = l
	r.mesh, err = bus.New(bus.Config{Realm: realm, Link: l})
	return err
}

// ClusterAddr is where other nodes reach this one, host:port; empty where none does.
func (r *Relay) ClusterAddr() string {
	if l, ok := r.link.(*natslink.Link); ok {
		return l.Addr()
	}
	return ""
}

// runMesh carries cells between this node and the others until ctx ends.
func (r *Relay) runMesh(ctx context.Context) error {
	if err := r.mesh.Run(ctx, r.hub); err != nil {
		return &Problem{fmt.Errorf("joining the cluster: %w", err), "look at nats.url"}
	}
	return nil
}

// meet waits for the other nodes, so that who connects here is found by all.
func (r *Relay) meet(ctx context.Context) {
	if r.mesh == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetWithin)
	defer cancel()
	r.mesh.Join(ctx)
}

// part sends clients to the other nodes, then says bye to those. The front takes
// nobody in any more.
//
// spec: bus.md#leaving
func (r *Relay) part(ctx context.Context) {
	if r.mesh == nil {
		return
	}
	spread := time.Duration(r.cfg.Cluster.Drain) * time.Second
	draining, cancel := context.WithTimeout(ctx, spread+goWithin)
	defer cancel()
	r.hub.Drain(draining, spread)
	leaving, cancel := context.WithTimeout(ctx, partWithin)
	defer cancel()
	r.mesh.Leave(leaving)
}

// mutual returns what routes between nodes use: both ends show the chain of the
// realm key, and take no other.
//
// spec: bus.md#carriers
func (c *certificates) mutual(realm key.SignPublic) *tls.Config {
	show := func() (*tls.Certificate, error) { return c.chain.Load(), nil }
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // names mean nothing: VerifyConnection looks at the key
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return show() },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return show() },
		VerifyConnection:       func(s tls.ConnectionState) error { return ofRealm(s.PeerCertificates, realm, c.now()) },
	}
}

// errStranger is what a node of another realm gets.
var errStranger = errors.New("not a node of this realm")

// ofRealm checks a chain: a leaf that is valid now, signed by the realm key,
// which signs itself.
//
// spec: relay-api.md#realm-key-and-certificates
func ofRealm(chain []*x509.Certificate, realm key.SignPublic, now time.Time) error {
	if len(chain) != 2 {
		return errStranger
	}
	leaf, ca := chain[0], chain[1]
	public, ok := ca.PublicKey.(ed25519.PublicKey)
	if !ok || !bytes.Equal(public, realm[:]) || now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) ||
		ca.CheckSignature(ca.SignatureAlgorithm, ca.RawTBSCertificate, ca.Signature) != nil ||
		ca.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) != nil {
		return errStranger
	}
	return nil
}

// clusterStatus is nil for a relay that is alone.
func (r *Relay) clusterStatus() *ClusterStatus {
	if r.mesh == nil {
		return nil
	}
	s := r.mesh.State()
	c := &ClusterStatus{Nodes: s.Nodes, Silent: s.Silent, Cut: s.Cut, Mode: "all"}
	if s.Owners {
		c.Mode = "owners"
	}
	return c
}

// checkCluster looks at what joins this node to the others.
func checkCluster(ctx context.Context, cfg *Config, s Status, running bool) Check {
	switch c := s.Cluster; {
	case !running && cfg.Cluster.Listen != "":
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Cluster.Listen)
		if err != nil {
			return problem(clusterName, advise(err, cfg.Data))
		}
		ln.Close()
		return Check{clusterName, OK, cfg.Cluster.Listen + " is free for the other nodes; the fingerprint above is the same on each", ""}
	case !running:
		return Check{clusterName, OK, "nodes will meet at the NATS server; the fingerprint above is the same on each", natsHint(cfg)}
	case c == nil:
		return Check{clusterName, Fail, "the relay runs without the cluster of this configuration", "start it again"}
	case c.Cut && cfg.NATS.URL == "":
		return Check{clusterName, Fail, "this node has lost its own way to the others: cells stay on it", "ask again in a minute; if it is still so, start it again"}
	case c.Cut:
		return Check{clusterName, Fail, "the NATS server does not answer: cells stay on this node", "look at nats.url, and at the server"}
	case c.Nodes == 1:
		return Check{clusterName, Warn, "no other node is known", "look at cluster.nodes and at firewalls; the fingerprint must be the same on each"}
	case c.Silent > 0:
		return Check{clusterName, Warn, fmt.Sprintf("%d of %d nodes is silent: answers are lower bounds until it is back, or forgotten after 30 s", c.Silent, c.Nodes), "look at that node"}
	default:
		return Check{clusterName, OK, fmt.Sprintf("%d nodes know each other", c.Nodes), natsHint(cfg)}
	}
}

// natsHint warns of what a bystander could see.
func natsHint(cfg *Config) string {
	if cfg.NATS.URL != "" && !private(cfg.NATS.URL) {
		return "nats.url is without TLS: use tls://, so that only the server sees times, sizes and your password"
	}
	return ""
}
