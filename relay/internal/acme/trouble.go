package acme

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"strings"

	"github.com/mholt/acmez/v3/acme"
)

// trouble is why a certificate could not be had, for the operator.
type trouble struct{ says, hint string }

// troubleOf puts an error into words of ours: the authority's own can name
// network addresses.
func troubleOf(err error) trouble {
	var p acme.Problem
	var e net.Error
	if errors.As(err, &p) {
		switch strings.TrimPrefix(p.Type, acme.ProblemTypeNamespace) {
		case "dns":
			return trouble{"the name leads nowhere", "give it an A or AAAA record with this machine's address"}
		case "connection", "tls":
			return trouble{"the authority could not reach this relay", "port 443 of the name must lead to it, or port 80 must be free for it; look at firewalls between"}
		case "unauthorized", "incorrectResponse":
			return trouble{"nothing, or something else than this relay, answers under the name", "does the name lead to this machine, and does a proxy in front forward TLS as it is?"}
		case "caa":
			return trouble{"the name's CAA record does not allow this authority", "allow it there, or name another with acme_ca"}
		case "rateLimited":
			return trouble{"the authority was asked too often", "wait: it is asked again, less and less often"}
		case "rejectedIdentifier", "unsupportedIdentifier":
			return trouble{"the authority gives no certificate for such a name", "use a name that the whole internet knows"}
		}
		return trouble{"the authority refused", "look whether acme_ca and acme_email are right"}
	}
	if errors.As(err, &e) {
		return trouble{"the authority cannot be reached", "this machine must be able to reach the address in acme_ca"}
	}
	return trouble{"the authority did not give a certificate", "it is asked again; look whether acme_ca is right"}
}

// first reads the first certificate of a chain in PEM.
func first(b []byte) *x509.Certificate {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return c
}
