package relay

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Cluster joins several relays, its nodes, to one realm under one name.
type Cluster struct {
	// Where the other nodes of this realm reach this one, as host:port; with it
	// this relay is a node. Every node has the same realm key: copy realm.key of
	// the first into the data directory of each, with mode 0600, before its first
	// start. Period, ping, TLS and policy are the same on all. The connection
	// is TLS 1.3 by that key. How many strangers may knock there at a time is not
	// limited: let a firewall take the other nodes alone. With domain there is
	// no cluster.
	// Empty: this relay is alone, or nats.url is set.
	Listen string `toml:"listen"`

	// What the other nodes are told to reach this one at, as host:port, where
	// that is not what they see, as behind a NAT.
	Advertise string `toml:"advertise"`

	// The other nodes, as host:port of their cluster.listen. One that runs is
	// enough, it tells of the others; a list of all finds each other again
	// whichever is down. This node may be in it.
	Nodes []string `toml:"nodes"`

	// Seconds over which clients are sent to other nodes when this one stops, 1
	// to 300. A relay that is alone stops at once.
	Drain int `toml:"drain"`

	// Without store: this node keeps the blobs of the realm, invites and files. A
	// cluster has one such node at most, with the role "blob"; all others are "live"
	// alone. A proxy in front that ends TLS has to lead /v1/blob and /v1/realm to
	// this node. With store every node has the role, and this is left out.
	Blobs bool `toml:"blobs"`
}

// NATS is a server, or several as a cluster, that the operator runs.
type NATS struct {
	// The server between the nodes, in place of cluster.listen, such as
	// "tls://name:password@nats.example:4222"; several with commas between.
	// It sees times, sizes and random node names; what goes through is sealed.
	// JetStream is not used. Empty: none.
	URL string `toml:"url"`
}

// clustered reports whether this relay is one node of several.
func (c *Config) clustered() bool { return c.Cluster.Listen != "" || c.NATS.URL != "" }

// hostPort reports whether s is host:port with a port that can be.
func hostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && (n > 0 || port == "0")
}

func (c *Config) checkCluster(bad func(keyName, hint string) error) error {
	x := &c.Cluster
	switch {
	case x.Listen != "" && !hostPort(x.Listen):
		return bad("cluster.listen", `cluster.listen is host:port, such as "10.0.0.1:7118"`)
	case x.Listen == "" && (len(x.Nodes) > 0 || x.Advertise != ""):
		return bad("cluster.listen", "a node listens for the others: set cluster.listen")
	case x.Advertise != "" && !hostPort(x.Advertise):
		return bad("cluster.advertise", `cluster.advertise is host:port, such as "203.0.113.5:7118"`)
	case slices.ContainsFunc(x.Nodes, func(s string) bool { return !hostPort(s) }):
		return bad("cluster.nodes", `cluster.nodes is a list of host:port, such as ["10.0.0.2:7118"]`)
	case x.Listen != "" && c.NATS.URL != "":
		return &Problem{errors.New("cluster.listen and nats.url are both set"), "nodes are joined by one of them"}
	case c.NATS.URL != "" && !natsURL(c.NATS.URL):
		return bad("nats.url", `nats.url is such as "tls://name:password@nats.example:4222"`)
	case !c.clustered():
		return nil
	case c.Data == "":
		return &Problem{errors.New("a node of a cluster needs a data directory"), "copy realm.key of the first node into it: all nodes have one realm key"}
	case len(c.Domain) > 0:
		return &Problem{errors.New("domain: a node of a cluster gets no certificates from an authority"),
			"the authority's look at the name would lead to any of the nodes: leave domain empty, and clients check the realm key"}
	case slices.Contains(c.Roles, RoleBlob) && !x.Blobs && c.Store == "":
		return &Problem{errors.New("roles: nodes of a cluster share blobs only through store"), `set store on every node (docs/scale.md); or roles = ["live"], and on the one node that keeps blobs cluster.blobs = true`}
	case x.Blobs && c.Store != "":
		return &Problem{errors.New("cluster.blobs: every node keeps blobs in store"), "leave cluster.blobs out"}
	case !slices.Contains(c.Roles, RoleLive):
		return &Problem{errors.New("roles: a node of a cluster is live"), `put "live" among the roles`}
	}
	return nil
}

// natsURL reports whether every part of a list is the address of a NATS server.
func natsURL(list string) bool {
	for s := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || u.Hostname() == "" || u.Path != "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return false
		}
	}
	return true
}

// private reports whether a list of NATS servers is reached by TLS or on this
// machine alone.
func private(list string) bool {
	for s := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil {
			return false
		}
		ip := net.ParseIP(u.Hostname())
		if u.Scheme != "tls" && u.Scheme != "wss" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
