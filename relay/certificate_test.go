package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

func newRealm(t *testing.T) key.Sign {
	t.Helper()
	k, err := key.Generate[key.SignRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newCerts(t *testing.T, realm key.Sign, now func() time.Time) *certificates {
	t.Helper()
	c, err := newCertificates(realm, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parse returns leaf and authority of the chain that is shown.
func parse(t *testing.T, c *certificates) (leaf, ca *x509.Certificate) {
	t.Helper()
	chain := c.chain.Load().Certificate
	if len(chain) != 2 {
		t.Fatalf("got a chain of %d, want 2", len(chain))
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		t.Fatal(err)
	}
	if ca, err = x509.ParseCertificate(chain[1]); err != nil {
		t.Fatal(err)
	}
	return leaf, ca
}

// verify is what a client does: the pinned key signed itself and the leaf.
func verify(leaf, ca *x509.Certificate, at time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at})
	return err
}

func TestTheChainEndsInTheRealmKey(t *testing.T) {
	realm := newRealm(t)
	now := time.Date(2027, 3, 4, 17, 5, 6, 0, time.UTC)
	c := newCerts(t, realm, func() time.Time { return now })
	leaf, ca := parse(t, c)
	public := key.SignPublicOf(realm)
	if got, ok := ca.PublicKey.(ed25519.PublicKey); !ok || !bytes.Equal(got, public[:]) {
		t.Error("got an authority of another key, want the realm key")
	}
	if err := ca.CheckSignature(ca.SignatureAlgorithm, ca.RawTBSCertificate, ca.Signature); err != nil {
		t.Errorf("the authority is not signed by itself: %v", err)
	}
	if bytes.Equal(leaf.PublicKey.(ed25519.PublicKey), public[:]) {
		t.Error("got the realm key in the leaf, want a key of its own")
	}
	for at, want := range map[time.Time]bool{
		now: true, now.Add(-24 * time.Hour): true, now.Add(7 * 24 * time.Hour): true,
		now.Add(-3 * 24 * time.Hour): false, now.Add(9 * 24 * time.Hour): false,
	} {
		if got := verify(leaf, ca, at); (got == nil) != want {
			t.Errorf("at %v: got %v, want valid: %t", at, got, want)
		}
	}
	_, other := parse(t, newCerts(t, newRealm(t), time.Now))
	if verify(leaf, other, now) == nil {
		t.Error("got a leaf that another realm signed, want none")
	}
}

func TestStartsDifferInTheLeafKeyOnly(t *testing.T) {
	realm := newRealm(t)
	day := time.Date(2027, 3, 4, 0, 0, 0, 0, time.UTC)
	leaf1, ca1 := parse(t, newCerts(t, realm, func() time.Time { return day }))
	leaf2, ca2 := parse(t, newCerts(t, realm, func() time.Time { return day.Add(23 * time.Hour) }))
	if !bytes.Equal(ca1.Raw, ca2.Raw) {
		t.Error("got another authority after a restart, want the same bytes")
	}
	if bytes.Equal(leaf1.RawSubjectPublicKeyInfo, leaf2.RawSubjectPublicKeyInfo) {
		t.Error("got the same leaf key after a restart, want a new one")
	}
	if !leaf1.NotBefore.Equal(leaf2.NotBefore) || !leaf1.NotAfter.Equal(leaf2.NotAfter) {
		t.Error("got dates that tell the hour of the start, want those of the day")
	}
}

func TestTheLeafIsRenewedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := newRealm(t)
		c := newCerts(t, realm, time.Now)
		first, _ := parse(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.run(ctx) }()
		for range 60 * 24 {
			time.Sleep(time.Hour)
			synctest.Wait()
			leaf, ca := parse(t, c)
			if err := verify(leaf, ca, time.Now().Add(24*time.Hour)); err != nil {
				t.Fatalf("a client whose clock is a day ahead: %v", err)
			}
			if err := verify(leaf, ca, time.Now().Add(-23*time.Hour)); err != nil {
				t.Fatalf("a client whose clock is a day behind: %v", err)
			}
		}
		last, _ := parse(t, c)
		if bytes.Equal(first.RawSubjectPublicKeyInfo, last.RawSubjectPublicKeyInfo) {
			t.Error("got the same leaf key after 60 days, want a new one")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTLSIsOneVersionWithoutTickets(t *testing.T) {
	c := newCerts(t, newRealm(t), time.Now)
	cache := tls.NewLRUClientSessionCache(4)
	dial := func(cfg *tls.Config) (tls.ConnectionState, error) {
		near, far := net.Pipe()
		defer near.Close()
		go func() {
			s := tls.Server(far, c.config())
			s.Write([]byte("hello"))
			s.Close()
		}()
		cfg.InsecureSkipVerify, cfg.ClientSessionCache, cfg.ServerName = true, cache, "relay"
		conn := tls.Client(near, cfg)
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, err := conn.Read(make([]byte, 5))
		return conn.ConnectionState(), err
	}
	if _, err := dial(&tls.Config{MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("got TLS 1.2, want a refusal")
	}
	for range 2 {
		s, err := dial(&tls.Config{NextProtos: []string{"h2"}})
		if err != nil || s.Version != tls.VersionTLS13 || s.DidResume || s.NegotiatedProtocol != "h2" {
			t.Errorf("got version %x, resumed %t, protocol %q, %v, want TLS 1.3 anew with h2", s.Version, s.DidResume, s.NegotiatedProtocol, err)
		}
	}
	if _, ok := cache.Get("relay"); ok {
		t.Error("got a session ticket, want none")
	}
}

// The clock of a machine is wrong when it starts and put right later, or the
// other way round: clients, whose clocks are right, must soon find a chain that
// is valid.
func TestAClockThatJumpsLeavesNoChainThatIsNotValid(t *testing.T) {
	for _, jump := range []time.Duration{9 * 24 * time.Hour, -9 * 24 * time.Hour, -30 * time.Hour, 400 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
			c := newCerts(t, newRealm(t), now)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- c.run(ctx) }()
			synctest.Wait()
			off.Store(int64(jump))
			if leaf, ca := parse(t, c); verify(leaf, ca, now()) == nil {
				t.Errorf("%v: the chain is valid all the same: the test is blind", jump)
			}
			time.Sleep(leafLooked + time.Second)
			synctest.Wait()
			if leaf, ca := parse(t, c); verify(leaf, ca, now()) != nil {
				t.Errorf("%v: got a chain that is not valid: %v", jump, verify(leaf, ca, now()))
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
