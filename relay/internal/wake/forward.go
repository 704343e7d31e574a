package wake

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	tickets "github.com/tacet-chat/tacet/internal/wake"
)

// Bounds of what is under way.
//
// spec: wake.md#asking
const (
	maxForwards   = 512
	perGateway    = 32
	forwardWithin = 10 * time.Second
)

// Forwarder passes tickets on. Its handler may be called while Run runs.
type Forwarder struct {
	dialer *Dialer
	own    [32]byte // fingerprint of this realm
	local  *Gateway // nil: this relay is no gateway
	now    func() time.Time

	mu       sync.Mutex // guards the rest
	ctx      context.Context
	under    sync.WaitGroup
	forwards int
	busy     map[[32]byte]int // by the gateway's realm, and by the hash of its name
}

// NewForwarder returns a forwarder of the realm with that fingerprint. local is
// its own gateway, or nil.
func NewForwarder(d *Dialer, own [32]byte, local *Gateway, now func() time.Time) *Forwarder {
	return &Forwarder{dialer: d, own: own, local: local, now: now, busy: map[[32]byte]int{}}
}

// Run forwards until ctx ends, and returns when nothing is under way.
func (f *Forwarder) Run(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.ctx = nil // nobody adds any more
	f.mu.Unlock()
	f.under.Wait()
	return nil
}

// Serve answers POST /v1/wake. admit is asked when the ticket has come, and
// answers by itself if it says no.
func (f *Forwarder) Serve(w http.ResponseWriter, r *http.Request, admit func(ticket []byte) bool) {
	b, ok := Body(w, r, tickets.TicketSize)
	if !ok {
		return
	}
	to, err := tickets.ParseGateway(b)
	if err != nil {
		http.Error(w, "malformed", http.StatusBadRequest)
		return
	}
	if !admit(b) {
		return
	}
	if !f.start(to, b) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too busy", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
}

// start forwards a ticket in its own time. It reports false if too much is under
// way, and true whatever else becomes of it.
func (f *Forwarder) start(to tickets.Gateway, ticket []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil || f.ctx.Err() != nil || f.forwards >= maxForwards {
		return false
	}
	// Both are the sender's word: many realms at one name are one host.
	keys := [2][32]byte{to.Realm, sha256.Sum256([]byte(to.Name))}
	if f.busy[keys[0]] >= perGateway || f.busy[keys[1]] >= perGateway {
		return true // whether this gateway answers is nobody's business
	}
	f.forwards++
	for _, k := range keys {
		f.busy[k]++
	}
	ctx := f.ctx
	f.under.Go(func() {
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.forwards--
			for _, k := range keys {
				if f.busy[k]--; f.busy[k] == 0 {
					delete(f.busy, k)
				}
			}
		}()
		if to.Realm == f.own {
			if f.local != nil {
				f.local.Open(ticket)
			}
			return
		}
		f.forward(ctx, to, ticket)
	})
	return true
}

// Under returns how many tickets are under way.
func (f *Forwarder) Under() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forwards
}

var errGateway = errors.New("the gateway was not reached")

// forward sends a ticket to its gateway, once.
func (f *Forwarder) forward(ctx context.Context, to tickets.Gateway, ticket []byte) error {
	ctx, stop := context.WithTimeout(ctx, forwardWithin)
	defer stop()
	host, at := split(to.Name)
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
			DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				c, err := f.dialer.DialContext(ctx, network, at)
				if err != nil {
					return nil, err
				}
				t := tls.Client(c, f.pinned(host, to.Realm))
				if err := t.HandshakeContext(ctx); err != nil {
					c.Close()
					return nil, err
				}
				return t, nil
			},
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+to.Name+"/v1/wake/open", bytes.NewReader(ticket))
	if err != nil {
		return errGateway
	}
	req.Header.Set("User-Agent", "")
	resp, err := client.Do(req)
	if err != nil {
		return errGateway // the library's names the gateway
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode != http.StatusAccepted {
		return errGateway
	}
	return nil
}

// split returns the host of a relay's name, without brackets, and what is
// dialled.
func split(name string) (host, at string) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		host, port = name, "443"
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return host, net.JoinHostPort(host, port)
}

// pinned returns what TLS with a realm is spoken with: no authority has a part in
// it, and no other realm is taken.
//
// spec: relay-api.md#realm-key-and-certificates
func (f *Forwarder) pinned(host string, realm [32]byte) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, ServerName: host,
		InsecureSkipVerify: true, // names mean nothing: VerifyConnection looks at the key
		VerifyConnection:   func(s tls.ConnectionState) error { return ofRealm(s.PeerCertificates, realm, f.now()) },
	}
}

var errStranger = errors.New("the gateway is of another realm")

// maxChain is how many certificates a relay may show.
const maxChain = 10

// ofRealm checks that a chain ends in a leaf and the realm key that the ticket
// names, that the leaf is valid now and signed by it, and has the key that TLS
// proved.
func ofRealm(chain []*x509.Certificate, realm [32]byte, now time.Time) error {
	if len(chain) < 2 || len(chain) > maxChain {
		return errStranger
	}
	leaf, ca := chain[len(chain)-2], chain[len(chain)-1]
	public, ok := ca.PublicKey.(ed25519.PublicKey)
	if !ok || sha256.Sum256(public) != realm || leaf.IsCA || !bytes.Equal(leaf.RawSubjectPublicKeyInfo, chain[0].RawSubjectPublicKeyInfo) {
		return errStranger
	}
	if ca.CheckSignatureFrom(ca) != nil {
		return errStranger
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return errStranger
	}
	return nil
}
