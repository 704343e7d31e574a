package relay

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// node starts a relay that is a node, with a realm key of its own or another's.
func node(t *testing.T, keyOf string, nodes ...string) *running {
	t.Helper()
	cfg := Default()
	cfg.Data, cfg.Roles = filepath.Join(t.TempDir(), "data"), []string{RoleLive}
	cfg.Listen, cfg.Cluster = "127.0.0.1:0", Cluster{Listen: "127.0.0.1:0", Nodes: nodes, Drain: 1}
	if keyOf != "" {
		if err := os.Mkdir(cfg.Data, 0o700); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(keyOf, keyFile))
		if err == nil {
			err = os.WriteFile(filepath.Join(cfg.Data, keyFile), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return start(t, cfg)
}

// until waits for a condition with much patience.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// TestNodesOfOneRealmMeet, and nobody else: the third has another realm key.
func TestNodesOfOneRealmMeet(t *testing.T) {
	a := node(t, "")
	b := node(t, a.cfg.Data, a.ClusterAddr())
	c := node(t, "", a.ClusterAddr(), b.ClusterAddr())
	for _, n := range []*running{a, b} {
		until(t, "the nodes have met", func() bool { return n.mesh.State().Nodes == 2 })
	}
	cfg := a.cfg
	find := func(cfg Config) (found Check) {
		t.Helper()
		for _, x := range Doctor(t.Context(), cfg) {
			if x.Name == clusterName {
				found = x
			}
		}
		return found
	}
	if got := find(cfg); got.Level != OK || !strings.Contains(got.Says, "2 nodes") {
		t.Errorf("got %+v, want two nodes that know each other", got)
	}
	if got := find(c.cfg); got.Level != Warn || !strings.Contains(got.Says, "no other node") {
		t.Errorf("got %+v, want a warning that no other node is known", got)
	}
	b.stop() // in good order: it is forgotten at once
	until(t, "the leaving is known", func() bool { return a.mesh.State().Nodes == 1 })
	s, err := AskStatus(a.cfg.Data)
	if err != nil || s.Cluster == nil || s.Cluster.Nodes != 1 || s.Cluster.Silent != 0 || s.Cluster.Mode != "all" {
		t.Errorf("got %+v, %v", s.Cluster, err)
	}
	a.stop()
	c.stop()
	for _, n := range []*running{a, b, c} {
		for _, word := range []string{"NATS", "nats", "route", "127.0.0.1"} {
			if strings.Contains(n.log.String(), word) {
				t.Errorf("the log speaks of %q: %s", word, n.log.String())
			}
		}
	}
	if got := find(b.cfg); got.Level != OK {
		t.Errorf("not running: got %+v", got)
	}
}

// TestATakenRouteAddressIsTold with what to do about it.
func TestATakenRouteAddressIsTold(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cfg := Default()
	cfg.Data, cfg.Roles, cfg.Cluster.Listen = filepath.Join(t.TempDir(), "data"), []string{RoleLive}, ln.Addr().String()
	_, err = New(cfg)
	if p, ok := err.(*Problem); !ok || p.Hint == "" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

// TestRoutesAreOfTheRealm: both ends of a route show the realm's chain, and a
// chain that is not quite one opens none.
func TestRoutesAreOfTheRealm(t *testing.T) {
	make2 := func(now time.Time) (*certificates, key.SignPublic) {
		k, err := key.Generate[key.SignRole](rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c, err := newCertificates(k, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		return c, key.SignPublicOf(k)
	}
	now := time.Now()
	ours, realm := make2(now)
	theirs, other := make2(now)
	shake := func(server, client *tls.Config) error {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		done := make(chan error, 1)
		go func() {
			err := tls.Server(a, server).HandshakeContext(t.Context())
			if err != nil {
				a.Close()
			}
			done <- err
		}()
		c := tls.Client(b, client)
		err := c.HandshakeContext(t.Context())
		if err == nil {
			go c.Read(make([]byte, 1)) // an alert, or the end
		} else {
			b.Close()
		}
		if e := <-done; err == nil {
			err = e
		}
		return err
	}
	if err := shake(ours.mutual(realm), ours.mutual(realm)); err != nil {
		t.Errorf("two nodes of the realm: %v", err)
	}
	bare := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	for name, c := range map[string][2]*tls.Config{
		"a client of another realm": {ours.mutual(realm), theirs.mutual(realm)},
		"a server of another realm": {theirs.mutual(other), ours.mutual(realm)},
		"a client without a chain":  {ours.mutual(realm), bare},
	} {
		if shake(c[0], c[1]) == nil {
			t.Errorf("%s gets a route", name)
		}
	}
	chain := func(c *certificates) (all []*x509.Certificate) {
		for _, der := range c.chain.Load().Certificate {
			x, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
		return all
	}
	good, bad := chain(ours), chain(theirs)
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		at    time.Time
	}{
		"nothing":               {nil, now},
		"the leaf alone":        {good[:1], now},
		"another's leaf":        {[]*x509.Certificate{bad[0], good[1]}, now},
		"another's realm":       {bad, now},
		"the wrong way round":   {[]*x509.Certificate{good[1], good[0]}, now},
		"the authority twice":   {[]*x509.Certificate{good[1], good[1]}, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a leaf that has ended": {good, now.Add(30 * 24 * time.Hour)},
		"a leaf of the future":  {good, now.Add(-30 * 24 * time.Hour)},
	} {
		if ofRealm(c.chain, realm, c.at) == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := ofRealm(good, realm, now); err != nil {
		t.Errorf("the realm's own chain: %v", err)
	}
}
