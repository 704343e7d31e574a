// Package acme gets certificates for the relay's names from a public
// certificate authority (RFC 8555), keeps them in the data directory, and has
// them renewed in time. The work is certmagic's; this package decides that it
// logs nothing, where it stores, and how it proves that a name is ours: over
// the relay's own TLS port (TLS-ALPN-01, RFC 8737), and over port 80 (HTTP-01)
// where that is free.
//
// It does not decide who is shown which certificate, and knows no realm key.
//
// Spec: docs/spec/relay-api.md#realm-key-and-certificates.
package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// Protocol is the ALPN name under which an authority asks for a proof.
const Protocol = "acme-tls/1"

// LetsEncrypt is the directory of the authority that is asked unless another is
// named.
const LetsEncrypt = certmagic.LetsEncryptProductionCA

// httpPort is where HTTP-01 is answered.
const httpPort = 80

// Config says for which names certificates are wanted, and of whom.
type Config struct {
	Names []string       // DNS names in lower case
	CA    string         // URL of the authority's directory
	Roots *x509.CertPool // who vouches for the authority itself, nil: those of the system
	Email string         // for the authority to write to; may be empty
	Dir   string         // where accounts, keys and certificates are kept

	// HTTPPort is where HTTP-01 is answered, if it is free: 80, but for tests. -1
	// is nowhere.
	HTTPPort int
	// Failed is called when a certificate could not be had, nil: nobody.
	Failed func()
}

// State is how it is with one name.
type State struct {
	Name    string
	Until   time.Time // the end of its certificate, zero: there is none
	Late    bool      // it should have been renewed by now
	Trouble string    // why the last try failed, empty: it did not
	Hint    string    // and what to do
}

// Manager has certificates. Get and States may be called at any time; before Run
// there are none.
type Manager struct {
	cfg   Config
	store *store

	mu      sync.Mutex // guards the rest
	magic   *certmagic.Config
	cache   *certmagic.Cache
	trouble map[string]trouble
}

// New prepares a manager. It does nothing yet.
func New(c Config) *Manager {
	return &Manager{cfg: c, store: newStore(c.Dir), trouble: map[string]trouble{}}
}

// Run has certificates obtained and renewed until ctx ends. The relay speaks TLS
// at listen: what comes to port 443 of the names must end there.
func (m *Manager) Run(ctx context.Context, listen *net.TCPAddr) error {
	var magic *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return magic, nil },
		Logger:           zap.NewNop(),
	})
	defer cache.Stop()
	magic = certmagic.New(cache, certmagic.Config{
		Storage: m.store, Logger: zap.NewNop(), OnEvent: m.event,
		// An authority that is asked about a certificate learns when we run.
		OCSP: certmagic.OCSPConfig{DisableStapling: true},
	})
	host := ""
	if !listen.IP.IsUnspecified() {
		host = listen.IP.String()
	}
	port := m.cfg.HTTPPort
	if port == 0 {
		port = httpPort
	}
	magic.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(magic, certmagic.ACMEIssuer{
		CA: m.cfg.CA, TrustedRoots: m.cfg.Roots, Email: m.cfg.Email, Agreed: true, Logger: zap.NewNop(),
		DisableHTTPChallenge: !free(host, port), AltHTTPPort: port,
		ListenHost: host, AltTLSALPNPort: listen.Port, // it finds us there, and leaves the answer to Get
		DisableDistributedSolvers: true,
	})}
	m.mu.Lock()
	m.magic, m.cache = magic, cache
	m.mu.Unlock()
	// What is damaged on disk costs its name its certificate, and the relay
	// nothing: the realm's chain serves all who pin. certmagic would not tell.
	for _, name := range m.cfg.Names {
		if b, err := m.stored(name); err == nil && first(b) == nil {
			m.failed(name, trouble{"what is kept for the name cannot be read", "stop the relay, move the name's files in the data directory away, and start it again"})
		}
	}
	if err := magic.ManageAsync(ctx, m.cfg.Names); err != nil {
		return err
	}
	<-ctx.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.magic, m.cache = nil, nil
	return nil
}

// free reports whether a port can be listened on.
func free(host string, port int) bool {
	if port < 0 {
		return false
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return ln.Close() == nil
}

// Has reports whether a name, as a client sent it, is one of ours.
func (m *Manager) Has(name string) bool {
	return slices.Contains(m.cfg.Names, strings.ToLower(strings.TrimSuffix(name, ".")))
}

// ErrNone is returned where there is no certificate for a name, or not yet.
var ErrNone = errors.New("there is no certificate for this name")

// Get returns the certificate for a name of ours, or, to an authority that asks
// for a proof, that proof.
func (m *Manager) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	m.mu.Lock()
	magic := m.magic
	m.mu.Unlock()
	if magic == nil || !m.Has(hello.ServerName) {
		return nil, ErrNone
	}
	c, err := magic.GetCertificate(hello)
	if err != nil || c == nil || len(c.Certificate) == 0 {
		return nil, ErrNone
	}
	return c, nil
}

// event hears what certmagic does. It runs on certmagic's goroutines.
func (m *Manager) event(_ context.Context, event string, data map[string]any) error {
	name, _ := data["identifier"].(string)
	switch event {
	case "cert_obtained":
		m.mu.Lock()
		delete(m.trouble, name)
		m.mu.Unlock()
	case "cert_failed":
		err, _ := data["error"].(error)
		m.failed(name, troubleOf(err))
	}
	return nil
}

// failed notes why there is no certificate for a name.
func (m *Manager) failed(name string, why trouble) {
	m.mu.Lock()
	m.trouble[name] = why
	m.mu.Unlock()
	if m.cfg.Failed != nil {
		m.cfg.Failed()
	}
}

// States tells how it is with each name at now.
func (m *Manager) States(now time.Time) []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []State
	for _, name := range m.cfg.Names {
		s := State{Name: name, Trouble: m.trouble[name].says, Hint: m.trouble[name].hint}
		if m.cache != nil {
			for _, c := range m.cache.AllMatchingCertificates(name) {
				s.seen(c.Leaf, now)
			}
		}
		out = append(out, s)
	}
	return out
}

// Stored tells how it is with each name by what is kept in the directory, while
// no relay runs.
func (m *Manager) Stored(now time.Time) []State {
	var out []State
	for _, name := range m.cfg.Names {
		s := State{Name: name}
		if b, err := m.stored(name); err == nil {
			if leaf := first(b); leaf != nil {
				s.seen(leaf, now)
			}
		}
		out = append(out, s)
	}
	return out
}

// stored returns the chain that is kept for a name, in PEM.
func (m *Manager) stored(name string) ([]byte, error) {
	issuer := certmagic.NewACMEIssuer(&certmagic.Config{}, certmagic.ACMEIssuer{CA: m.cfg.CA, Logger: zap.NewNop()}).IssuerKey()
	return m.store.Load(context.Background(), certmagic.StorageKeys.SiteCert(issuer, name))
}

// seen takes note of a certificate.
func (s *State) seen(leaf *x509.Certificate, now time.Time) {
	if leaf == nil || !leaf.NotAfter.After(s.Until) {
		return
	}
	s.Until = leaf.NotAfter
	// certmagic renews in the last third; a quarter leaves it days to try.
	s.Late = leaf.NotAfter.Sub(now) < leaf.NotAfter.Sub(leaf.NotBefore)/4
}
