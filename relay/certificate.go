package relay

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/acme"
)

// The relay is its own certificate authority: the realm key, which clients pin,
// signs itself and a leaf whose key exists in memory only. Where a client asks
// for a name that a public authority vouches for, it is shown that authority's
// chain, and behind it the same key signed by the realm key: so one answer
// serves those who pin and those who ask authorities.
//
// spec: relay-api.md#realm-key-and-certificates

const (
	leafLife   = 8 * 24 * time.Hour // from the midnight before it is made
	leafRenew  = 4 * 24 * time.Hour // left of its life when the next one is made
	leafEarly  = 12 * time.Hour     // of its life must have passed, or the clock went back
	leafLooked = time.Minute        // how often that is looked at
)

// certificates holds the chains that are shown.
type certificates struct {
	realm key.Sign
	now   func() time.Time
	chain atomic.Pointer[tls.Certificate]
	names *acme.Manager // nil: there are no names

	mu    sync.Mutex         // guards known
	known map[string]vouched // chains for names
}

// vouched is a chain of a public authority with the realm's behind it.
type vouched struct {
	*tls.Certificate
	ours *x509.Certificate // the leaf of the realm's part
}

func newCertificates(realm key.Sign, now func() time.Time) (*certificates, error) {
	c := &certificates{realm: realm, now: now}
	return c, c.renew()
}

// run makes a new leaf in time until ctx ends.
func (c *certificates) run(ctx context.Context) error {
	tick := time.NewTicker(leafLooked)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if !fits(c.chain.Load().Leaf, c.now()) {
				if err := c.renew(); err != nil {
					return err
				}
			}
		}
	}
}

// fits reports whether a leaf can be shown yet. One that was made while the clock
// was ahead begins in what is now the future, and clients would refuse it.
func fits(leaf *x509.Certificate, now time.Time) bool {
	return leaf.NotAfter.Sub(now) >= leafRenew && now.Sub(leaf.NotBefore) >= leafEarly
}

// renew makes a leaf with a new key.
func (c *certificates) renew() error {
	leafPublic, leafPrivate, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key for TLS: %w", err)
	}
	chain, leaf, err := c.sign(leafPublic)
	if err != nil {
		return err
	}
	c.chain.Store(&tls.Certificate{Certificate: chain, PrivateKey: leafPrivate, Leaf: leaf})
	return nil
}

// sign returns a leaf for a public key, and the realm's own certificate.
func (c *certificates) sign(public crypto.PublicKey) (chain [][]byte, leaf *x509.Certificate, err error) {
	private := ed25519.NewKeyFromSeed(c.realm.Bytes())
	defer clear(private)
	realm := private.Public().(ed25519.PublicKey)
	// The same bytes at every start: dates and serial number say nothing, and
	// the key identifier does not depend on the library's fashion.
	fingerprint := sha256.Sum256(realm)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "tacet realm"},
		NotBefore:    time.Unix(0, 0).UTC(),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, Section 4.1.2.5: no end
		SubjectKeyId: fingerprint[:20],
		KeyUsage:     x509.KeyUsageCertSign,
		IsCA:         true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, realm, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making the realm's certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate for TLS: %w", err)
	}
	midnight := c.now().UTC().Truncate(24 * time.Hour) // when we were started is nobody's business
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "tacet relay"},
		NotBefore:    midnight.Add(-24 * time.Hour), // clocks of clients differ
		NotAfter:     midnight.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, template, ca, public, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate for TLS: %w", err)
	}
	if leaf, err = x509.ParseCertificate(leafDER); err != nil {
		return nil, nil, fmt.Errorf("making a certificate for TLS: %w", err)
	}
	return [][]byte{leafDER, caDER}, leaf, nil
}

// get says which chain a client is shown.
//
// spec: relay-api.md#realm-key-and-certificates
func (c *certificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.names == nil || !c.names.Has(hello.ServerName) {
		return c.chain.Load(), nil
	}
	public, err := c.names.Get(hello)
	switch {
	case err != nil: // there is none yet
		return c.chain.Load(), nil
	case slices.Equal(hello.SupportedProtos, []string{acme.Protocol}): // the authority asks for a proof
		return public, nil
	}
	return c.vouch(public)
}

// vouch returns the chain of a public authority, and behind it the realm's for
// the same key. It is made anew when either part is.
func (c *certificates) vouch(public *tls.Certificate) (*tls.Certificate, error) {
	leaf := public.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(public.Certificate[0]); err != nil {
			return nil, err
		}
	}
	name := ""
	if len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.known[name]; ok && bytes.Equal(old.Certificate.Certificate[0], public.Certificate[0]) && fits(old.ours, c.now()) {
		return old.Certificate, nil
	}
	realm, ours, err := c.sign(leaf.PublicKey)
	if err != nil {
		return nil, err
	}
	out := *public
	out.Certificate = slices.Concat(public.Certificate, realm)
	out.Leaf = leaf
	if c.known == nil {
		c.known = map[string]vouched{}
	}
	c.known[name] = vouched{&out, ours} // names are those of the configuration: few
	return &out, nil
}

// config returns what TLS connections are served with. Session tickets would
// let a relay link a client's connections, so there are none.
func (c *certificates) config() *tls.Config {
	cfg := &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // all records of one write leave in one call
		NextProtos:                  []string{"h2", "http/1.1"},
		GetCertificate:              c.get,
	}
	if c.names != nil {
		cfg.NextProtos = append(cfg.NextProtos, acme.Protocol)
	}
	return cfg
}
