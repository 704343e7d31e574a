package relay

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// shown is what a relay showed in a TLS handshake.
type shown struct {
	realm   [32]byte // fingerprint of the realm key
	vouched bool     // an authority vouches for the name; known only where it was asked
	proxied bool     // an authority vouches for the name, and no realm key was shown
	err     error    // what is wrong with it
}

// trust says whom a handshake may believe.
type trust struct {
	pin     *[32]byte      // the realm key; nil takes any
	proxied bool           // a name that an authority vouches for will do
	ask     bool           // whether one vouches for the name is wanted to know
	roots   *x509.CertPool // the authorities, nil: those of the system
}

// config returns what a relay is spoken to with.
//
// InsecureSkipVerify turns off the library's own check, which asks certificate
// authorities about a name. That means nothing where a relay is its realm key.
// check does the whole check instead, in VerifyConnection, which runs in every
// handshake and ends it.
func (s *shown) config(host string, t trust) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{"http/1.1"},
		ServerName:         host,
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			s.err = s.check(c.PeerCertificates, host, t, time.Now())
			return s.err
		},
		// No session cache: a ticket would tell the relay which connections are
		// one client's.
	}
}

// check checks a chain. Where it is not the realm's, but an authority vouches
// for the name, TLS ends in a program in front of the relay: weaker, and taken
// only if that was allowed. A chain that shows another realm is never taken.
func (s *shown) check(chain []*x509.Certificate, host string, t trust, now time.Time) error {
	var err error
	if s.realm, err = checkChain(chain, t.pin, now); err == nil {
		s.vouched = t.ask && vouchedFor(chain, host, t.roots, now)
		return nil
	}
	if !errors.Is(err, errNoRealm) {
		return err
	}
	if !vouchedFor(chain, host, t.roots, now) {
		if t.pin == nil && !edwards(chain) {
			return foreign // it is no relay; with a pin, it stands where that relay should be
		}
		return err
	}
	if !t.proxied {
		return &fault{text: transport.ErrFronted.Error(), kind: transport.ErrFronted}
	}
	s.proxied, s.vouched = true, true
	return nil
}

// edwards reports whether a chain ends in what could be a realm key.
func edwards(chain []*x509.Certificate) bool {
	if len(chain) < 2 {
		return false
	}
	_, ok := chain[len(chain)-1].PublicKey.(ed25519.PublicKey)
	return ok
}

// vouchedFor reports whether an authority vouches for the name of a relay.
func vouchedFor(chain []*x509.Certificate, host string, roots *x509.CertPool, now time.Time) bool {
	if len(chain) == 0 || len(chain) > maxChain {
		return false
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, CurrentTime: now})
	return err == nil
}

// maxChain is how many certificates a relay may show: those of an authority,
// and the realm's two.
const maxChain = 10

// errNoRealm is about a chain that no realm key ends.
var errNoRealm = &fault{text: "the certificates of the relay: " + transport.ErrIdentity.Error(), kind: transport.ErrIdentity}

// checkChain checks that a chain ends in [leaf, realm], where realm is signed by
// itself with Ed25519, has the pinned key and signed the leaf, and that the leaf
// is valid at now and has the key of the first certificate, which is the one
// that TLS proved. It returns the fingerprint of the realm key.
//
// spec: relay-api.md#realm-key-and-certificates
func checkChain(chain []*x509.Certificate, pin *[32]byte, now time.Time) (realm [32]byte, err error) {
	if len(chain) < 2 || len(chain) > maxChain {
		return realm, errNoRealm
	}
	leaf, ca := chain[len(chain)-2], chain[len(chain)-1]
	// Nobody else can have made a certificate that holds the pinned key and
	// verifies under it: that it is a certificate authority is its own word.
	public, ok := ca.PublicKey.(ed25519.PublicKey)
	if !ok || ca.CheckSignature(ca.SignatureAlgorithm, ca.RawTBSCertificate, ca.Signature) != nil {
		return realm, errNoRealm
	}
	if ca.CheckSignatureFrom(ca) != nil {
		return realm, stranger("the signature of the realm")
	}
	realm = sha256.Sum256(public)
	if pin != nil && realm != *pin {
		return realm, stranger("the certificate of the realm")
	}
	if !bytes.Equal(leaf.RawSubjectPublicKeyInfo, chain[0].RawSubjectPublicKeyInfo) {
		return realm, stranger("the certificate of the relay")
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
