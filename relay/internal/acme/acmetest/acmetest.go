// Package acmetest runs a certificate authority for tests: Pebble, which Let's
// Encrypt keeps for this, with a name server of its own under which every name
// leads to this machine. It is no part of any program.
//
// Spec: RFC 8555, as Pebble implements it.
package acmetest

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// Authority is one that runs.
type Authority struct {
	Directory string         // its URL
	Own       *x509.CertPool // who vouches for Directory
	OwnFile   string         // the same, as a file in PEM
	Issued    *x509.CertPool // who vouches for the certificates it gives
	IssuedPEM []byte

	mu      sync.Mutex // guards the rest
	refused int        // HTTP status for new orders, 0: they are taken
}

// Refuse makes the authority answer new orders with a status, or take them
// again with 0.
func (a *Authority) Refuse(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = status
}

func (a *Authority) refusing() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// Start runs an authority until the test ends. It asks for proofs at the two
// ports of this machine, and gives certificates for seconds, 0: 90 days.
func Start(t *testing.T, tlsPort, httpPort int, seconds uint64) *Authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "for tests", ValidityPeriod: seconds}})
	front := wfe.New(quiet, store, va.New(quiet, httpPort, tlsPort, true, names(t), store), issuer, []string{"authority.example"}, true, false, 1, 1)
	a := &Authority{Issued: x509.NewCertPool(), Own: x509.NewCertPool(), IssuedPEM: issuer.GetRootCert(0).PEM()}
	a.Issued.AppendCertsFromPEM(a.IssuedPEM)

	api := front.Handler()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := a.refusing(); status != 0 && r.Method == http.MethodPost && r.URL.Path == "/order-plz" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			io.WriteString(w, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"203.0.113.9 asks too often"}`)
			return
		}
		api.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = quiet
	t.Cleanup(srv.Close)
	a.Directory = srv.URL + wfe.DirectoryPath
	a.Own.AddCert(srv.Certificate())
	a.OwnFile = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(a.OwnFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// names runs a name server that knows every name, and returns its address.
func names(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &dns.Server{Listener: ln, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if len(q.Question) == 1 && q.Question[0].Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A:   net.IPv4(127, 0, 0, 1),
			})
		}
		w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.ActivateAndServe()
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	return ln.Addr().String()
}
