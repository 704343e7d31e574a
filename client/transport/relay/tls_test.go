package relay_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// authority is a template for a certificate of a realm.
func authority() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(100, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

// chains are what a relay must not show, made from what a good one shows.
var chains = map[string]struct {
	make func(f *fake)
	want error
}{
	"the leaf alone":  {func(f *fake) { f.chain = f.chain[:1] }, transport.ErrIdentity},
	"three":           {func(f *fake) { f.chain = append(f.chain, f.chain[1]) }, transport.ErrIdentity},
	"the realm twice": {func(f *fake) { f.chain[0] = f.chain[1]; f.leafKey = f.private() }, transport.ErrIdentity},
	"another realm":   {func(f *fake) { f.chain = f.newChain(newSign(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)) }, transport.ErrIdentity},
	"another's leaf": {func(f *fake) {
		ca := f.chain[1]
		f.chain = f.newChain(newSign(), time.Now(), time.Now().Add(time.Hour))
		f.chain[1] = ca
	}, transport.ErrIdentity},
	"an expired leaf": {func(f *fake) { f.chain = f.newChain(f.realm, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)) }, transport.ErrTime},
	"a leaf to come":  {func(f *fake) { f.chain = f.newChain(f.realm, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)) }, transport.ErrTime},
	"a client's leaf": {func(f *fake) {
		f.leafOf(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	}, transport.ErrIdentity},
	"an authority": {func(f *fake) { f.leafOf(func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }) }, transport.ErrIdentity},
	"a realm signed by another": {func(f *fake) {
		_, other, _ := ed25519.GenerateKey(rand.Reader)
		parent := authority()
		f.chain[1] = f.sign(authority(), parent, f.private().Public(), other)
	}, transport.ErrIdentity},
	"a realm that is no authority": {func(f *fake) {
		ca := authority()
		ca.IsCA, ca.KeyUsage = false, x509.KeyUsageDigitalSignature
		f.chain[1] = f.sign(ca, ca, f.private().Public(), f.private())
	}, transport.ErrIdentity},
	"an ECDSA realm": {func(f *fake) {
		k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		f.chain[1] = f.sign(authority(), authority(), k.Public(), k)
	}, transport.ErrIdentity},
}

func (f *fake) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(f.realm.Bytes()) }

// leafOf makes another leaf of the realm.
func (f *fake) leafOf(change func(*x509.Certificate)) {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(3), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(c)
	f.leafKey = private
	f.chain[0] = f.sign(c, f.chain[1], public, f.private())
}

func TestChainThatIsNotTheRealmsStopsEverything(t *testing.T) {
	for name, c := range chains {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "relay.example")
				c.make(f)
				r := f.join()
				all := calls(t, r)
				_, all["get blob"] = r.GetBlob(t.Context(), wire.BlobID{})
				all["delete blob"] = r.DeleteBlob(t.Context(), wire.BlobID{}, [32]byte{})
				for call, err := range all {
					if !errors.Is(err, c.want) {
						t.Errorf("got error %v from %s, want %v", err, call, c.want)
					}
				}
				if len(f.requests) != 0 {
					t.Errorf("got requests %v to a relay that is not ours, want none", f.requests)
				}
			})
		})
	}
}

func TestLeafOfTheRealmNeedsNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "192.0.2.1:7117")
		f.leafOf(func(c *x509.Certificate) { c.DNSNames = []string{"quite.another.example"} })
		if _, err := put(t, f.join(), ""); err != nil {
			t.Errorf("got error %v, want a receipt: the key is the identity", err)
		}
	})
}

func TestOldTLSIsNotSpoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "relay.example")
		f.newest = tls.VersionTLS12
		for call, err := range calls(t, f.join()) {
			mustBeTemporary(t, err)
			if len(f.requests) != 0 {
				t.Errorf("got requests %v by %s, want none", f.requests, call)
			}
		}
	})
}

func TestPlainRelayIsNotSpokenToWhereTLSIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		o := f.options(nil)
		o.Name = "relay.example"
		r, _ := relay.New(o)
		defer r.Close()
		for call, err := range calls(t, r) {
			mustBeTemporary(t, err)
			if !errors.Is(err, transport.ErrForeign) {
				t.Errorf("%s: got error %v, want ErrForeign", call, err)
			}
		}
		if len(f.requests) != 0 {
			t.Errorf("got requests %v without TLS, want none", f.requests)
		}
	})
}

func TestLocalhostElsewhereIsNotSpokenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, "localhost")
		r, _ := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
			c, err := f.dial(ctx, network, addr, isolate)
			return elsewhere{c}, err
		}))
		defer r.Close()
		for call, err := range calls(t, r) {
			if !errors.Is(err, transport.ErrIdentity) {
				t.Errorf("got error %v from %s, want ErrIdentity", err, call)
			}
		}
	})
}

// elsewhere is a connection that a lying resolver led to.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
