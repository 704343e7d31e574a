// Package waketest has a push service for tests: a real HTTPS server with an
// authority of its own, which takes pushes by RFC 8030 and holds them to RFC 8291
// and RFC 8292. It knows nothing of tickets.
package waketest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Push is what a push service sees of one push.
type Push struct {
	Path   string // of the endpoint
	Body   []byte
	Header http.Header
	Key    string // of VAPID, as it was sent
	Says   Claims // of VAPID
}

// Claims are what a VAPID token says.
type Claims struct {
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
	Subject  string `json:"sub"`
}

// Service is a push service. Its fields are set before it is asked.
type Service struct {
	// Status is what it answers with, nil: 201.
	Status func(path string) int
	// Retry is the Retry-After of its answers.
	Retry string
	// Unified says whether it answers as UnifiedPush does.
	Unified bool
	// Got is called with each push, from the goroutine of the request.
	Got func(Push)
	// Now is what tokens are checked by, nil: the clock.
	Now func() time.Time

	t      testing.TB
	server *httptest.Server

	mu     sync.Mutex // guards pushes and asked
	pushes []Push
	asked  int
}

// New starts a push service that ends with the test.
func New(t testing.TB) *Service {
	s := &Service{t: t}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ErrorLog = nil
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

// Roots are the authorities that vouch for it.
func (s *Service) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.server.Certificate())
	return pool
}

// PEM is the authority that vouches for it, for programs.
func (s *Service) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

// Endpoint returns the URL of an endpoint: path begins with a slash.
func (s *Service) Endpoint(path string) string { return s.server.URL + path }

// Pushes returns what was pushed so far.
func (s *Service) Pushes() []Push {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Push(nil), s.pushes...)
}

// Requests returns how often it was asked, for whatever.
func (s *Service) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	if r.Method == http.MethodGet && s.Unified {
		io.WriteString(w, `{"unifiedpush":{"version":1}}`)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST is wanted", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 4097))
	if err != nil || len(body) > 4096 {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	p := Push{Path: r.URL.Path, Body: body, Header: r.Header.Clone()}
	if err := s.check(&p); err != nil {
		s.t.Errorf("push service: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	status := http.StatusCreated
	if s.Status != nil {
		status = s.Status(p.Path)
	}
	s.mu.Lock()
	s.pushes = append(s.pushes, p)
	s.mu.Unlock()
	if s.Got != nil {
		s.Got(p)
	}
	if s.Retry != "" {
		w.Header().Set("Retry-After", s.Retry)
	}
	if status/100 == 3 {
		w.Header().Set("Location", s.Endpoint("/elsewhere"))
	}
	w.WriteHeader(status)
	io.WriteString(w, strings.Repeat("x", 1<<16)) // more than anybody should read
}

// check holds a push to the RFCs.
func (s *Service) check(p *Push) error {
	h := p.Header
	for name, want := range map[string]string{"Content-Encoding": "aes128gcm", "Urgency": "high"} {
		if got := h.Get(name); got != want {
			return fmt.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if h.Get("Ttl") == "" || h.Get("Topic") == "" || h.Get("User-Agent") != "" || h.Get("Accept-Encoding") != "" {
		return fmt.Errorf("got headers %v, want TTL and Topic, and nothing that names a program", h)
	}
	token, found := strings.CutPrefix(h.Get("Authorization"), "vapid t=")
	token, key, ok := strings.Cut(token, ", k=")
	if !found || !ok {
		return fmt.Errorf("no VAPID: got %q", h.Get("Authorization"))
	}
	p.Key = key
	now := time.Now()
	if s.Now != nil {
		now = s.Now()
	}
	says, err := Verify(token, key)
	switch {
	case err != nil:
		return err
	case says.Audience != s.server.URL:
		return fmt.Errorf("VAPID: for %q, want %q", says.Audience, s.server.URL)
	case says.Expires <= now.Unix() || says.Expires > now.Unix()+12*3600:
		return fmt.Errorf("VAPID: good for %d s, want at most 12 h", says.Expires-now.Unix())
	}
	p.Says = says
	return nil
}

// Verify checks a VAPID token by the key that came with it.
//
// RFC 8292, Section 2; RFC 7515.
func Verify(token, key string) (says Claims, err error) {
	part := strings.Split(token, ".")
	if len(part) != 3 {
		return says, fmt.Errorf("VAPID: %d parts", len(part))
	}
	var raw [4][]byte
	for i, s := range append(part, key) {
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(s); err != nil {
			return says, fmt.Errorf("VAPID: %w", err)
		}
	}
	var head struct{ Alg, Typ string }
	if json.Unmarshal(raw[0], &head) != nil || head.Alg != "ES256" || head.Typ != "JWT" {
		return says, fmt.Errorf("VAPID: got header %s", raw[0])
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw[3])
	if err != nil || len(raw[2]) != 64 {
		return says, fmt.Errorf("VAPID: a signature of %d bytes, %v", len(raw[2]), err)
	}
	hash := sha256.Sum256([]byte(part[0] + "." + part[1]))
	if !ecdsa.Verify(pub, hash[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:])) {
		return says, fmt.Errorf("VAPID: the signature does not verify")
	}
	return says, json.Unmarshal(raw[1], &says)
}
