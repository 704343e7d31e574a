package relay

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// The relay is its own certificate authority: the realm key, which clients pin,
// signs itself and a leaf whose key exists in memory only.
//
// spec: relay-api.md#realm-key-and-certificates

const (
	leafLife   = 8 * 24 * time.Hour // from the midnight before it is made
	leafRenew  = 4 * 24 * time.Hour // left of its life when the next one is made
	leafLooked = time.Hour          // how often that is looked at
)

// certificates holds the chain that is shown.
type certificates struct {
	realm key.Sign
	now   func() time.Time
	chain atomic.Pointer[tls.Certificate]
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
			if c.chain.Load().Leaf.NotAfter.Sub(c.now()) < leafRenew {
				if err := c.renew(); err != nil {
					return err
				}
			}
		}
	}
}

// renew makes a leaf with a new key.
func (c *certificates) renew() error {
	private := ed25519.NewKeyFromSeed(c.realm.Bytes())
	defer clear(private)
	public := private.Public().(ed25519.PublicKey)
	// The same bytes at every start: dates and serial number say nothing, and
	// the key identifier does not depend on the library's fashion.
	fingerprint := sha256.Sum256(public)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "tacet realm"},
		NotBefore:    time.Unix(0, 0).UTC(),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, Section 4.1.2.5: no end
		SubjectKeyId: fingerprint[:20],
		KeyUsage:     x509.KeyUsageCertSign,
		IsCA:         true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, public, private)
	if err != nil {
		return fmt.Errorf("making the realm's certificate: %w", err)
	}

	leafPublic, leafPrivate, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key for TLS: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("making a certificate for TLS: %w", err)
	}
	midnight := c.now().UTC().Truncate(24 * time.Hour) // when we were started is nobody's business
	leaf := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "tacet relay"},
		NotBefore:    midnight.Add(-24 * time.Hour), // clocks of clients differ
		NotAfter:     midnight.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafPublic, private)
	if err != nil {
		return fmt.Errorf("making a certificate for TLS: %w", err)
	}
	parsed, err := x509.ParseCertificate(leafDER)
	if err != nil {
		return fmt.Errorf("making a certificate for TLS: %w", err)
	}
	c.chain.Store(&tls.Certificate{Certificate: [][]byte{leafDER, caDER}, PrivateKey: leafPrivate, Leaf: parsed})
	return nil
}

// config returns what TLS connections are served with. Session tickets would
// let a relay link a client's connections, so there are none.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // all records of one write leave in one call
		NextProtos:                  []string{"h2", "http/1.1"},
		GetCertificate:              func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.chain.Load(), nil },
	}
}
