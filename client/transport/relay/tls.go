package relay

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// shown is what a relay showed in a TLS handshake.
type shown struct {
	realm [32]byte // fingerprint of the realm key
	err   error    // what is wrong with it
}

// config returns what a relay is spoken to with. pin nil takes any realm key.
//
// InsecureSkipVerify turns off the library's own check, which asks certificate
// authorities about a name. Neither means anything here: a relay is its realm
// key. checkChain does the whole check instead, in VerifyConnection, which
// runs in every handshake and ends it.
func (s *shown) config(host string, pin *[32]byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{"http/1.1"},
		ServerName:         host,
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			s.realm, s.err = checkChain(c.PeerCertificates, pin, time.Now())
			return s.err
		},
		// No session cache: a ticket would tell the relay which connections are
		// one client's.
	}
}

// noRealm is the error for what shows no realm key: without a pin it is no
// relay; with one, it stands where that relay should be.
func noRealm(pin *[32]byte, how string) error {
	if pin == nil {
		return foreign
	}
	return stranger(how)
}

// checkChain checks that a chain is [leaf, realm], where realm is signed by
// itself with Ed25519, has the pinned key and signed the leaf, and that the leaf
// is valid at now. It returns the fingerprint of the realm key.
//
// spec: relay-api.md#realm-key-and-certificates
func checkChain(chain []*x509.Certificate, pin *[32]byte, now time.Time) (realm [32]byte, err error) {
	if len(chain) != 2 {
		return realm, noRealm(pin, "the certificates of the relay")
	}
	leaf, ca := chain[0], chain[1]
	public, ok := ca.PublicKey.(ed25519.PublicKey)
	if !ok {
		return realm, noRealm(pin, "the certificate of the realm")
	}
	realm = sha256.Sum256(public)
	if pin != nil && realm != *pin {
		return realm, stranger("the certificate of the realm")
	}
	// Nobody else can have made a certificate that holds the pinned key and
	// verifies under it: that it is a certificate authority is its own word.
	if err := ca.CheckSignatureFrom(ca); err != nil {
		return realm, stranger("the signature of the realm")
	}
	if leaf.IsCA {
		return realm, stranger("the certificate of the relay")
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return realm, nil
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return realm, wrongTime("the certificate of the relay is not valid at this time")
	}
	return realm, stranger("the certificate of the relay")
}
