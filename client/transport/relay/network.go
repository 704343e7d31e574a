package relay

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"sync"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// FetchUnpinned gets one blob from a relay whose realm key is not known yet, and
// the fingerprint of the key that it showed. It is for the one fetch of an
// invite's bundle, which itself says which key the relay must have: the caller
// compares, and takes nothing from the blob before. Options.Pin is not used.
func FetchUnpinned(ctx context.Context, o Options, id wire.BlobID) (blob []byte, realm [32]byte, err error) {
	r, err := open(o)
	if err != nil {
		return nil, realm, err
	}
	defer r.Close()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	blob, who, err := r.get(ctx, name, id, nil)
	realm = who.realm
	if err == nil && (r.at.plain || who.proxied) {
		realm, _, err = r.identify(ctx, name)
	}
	if err != nil {
		return nil, [32]byte{}, plain(ctx, err)
	}
	return blob, realm, nil
}

// Identify returns the fingerprint of the realm key that a relay shows. Nothing
// proves that it is the one that its operator means. Options.Pin is not used.
func Identify(ctx context.Context, o Options) (realm [32]byte, err error) {
	realm, _, err = identify(ctx, o)
	return realm, err
}

// identify is Identify, and reports whether a certificate authority vouches that
// this is the relay of that name.
func identify(ctx context.Context, o Options) (realm [32]byte, vouched bool, err error) {
	r, err := open(o)
	if err != nil {
		return realm, false, err
	}
	defer r.Close()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	realm, vouched, err = r.identify(ctx, once())
	return realm, vouched, plain(ctx, err)
}

// identify takes the key from the descriptor, which with TLS must be the
// certificate's.
func (r *Relay) identify(ctx context.Context, isolate string) (realm [32]byte, vouched bool, err error) {
	a, err := r.ask(ctx, request{isolate: isolate, method: http.MethodGet, path: realmPath, limit: wire.MaxDescriptor})
	if err != nil {
		return realm, false, err
	}
	if err := a.good(); err != nil {
		return realm, false, err
	}
	var pin *[32]byte
	if !r.at.plain && !a.who.proxied {
		pin = &a.who.realm
	}
	d, err := readDescriptor(a.body, pin)
	if err != nil {
		return realm, false, err
	}
	if a.who.proxied && !d.Proxied {
		return realm, false, stranger("the certificates of the relay")
	}
	return sha256.Sum256(d.Realm[:]), a.who.vouched, nil
}

// Network opens relays, all reached in the same way.
type Network struct {
	// Proxied says whether a relay may be spoken to although its TLS ends in a
	// program in front of it, nil: none may. It is asked at every connection.
	Proxied func(name string) bool
	// Roots are the certificate authorities that can vouch for a name, nil:
	// those of the system.
	Roots *x509.CertPool

	proxy string
	dial  Dialer

	mu      sync.Mutex      // guards vouched
	vouched map[string]bool // by Identify
}

// NewNetwork returns a network that is reached through the proxy, as in SOCKS5,
// or directly if proxy is empty.
func NewNetwork(proxy string) (*Network, error) {
	if proxy == "" {
		return &Network{dial: Direct()}, nil
	}
	dial, err := SOCKS5(proxy)
	if err != nil {
		return nil, err
	}
	return &Network{proxy: proxy, dial: dial}, nil
}

// options returns the options for a relay of that name.
func (n *Network) options(name string) Options {
	o := Options{Name: name, Dial: n.dial, HidesAddress: n.proxy != "", Roots: n.Roots}
	if n.Proxied != nil {
		o.Proxied = func() bool { return n.Proxied(name) }
	}
	return o
}

// Open is New for a relay of this network: a *Relay.
func (n *Network) Open(name string, pin [32]byte) (transport.Transport, error) {
	o := n.options(name)
	o.Pin = &pin
	r, err := New(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Identify is the package's Identify for a relay of this network.
func (n *Network) Identify(ctx context.Context, name string) (pin [32]byte, err error) {
	pin, vouched, err := identify(ctx, n.options(name))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.vouched == nil {
		n.vouched = map[string]bool{}
	}
	n.vouched[name] = vouched // names that a person types: few
	return pin, err
}

// Vouched reports whether a certificate authority vouched for the name of a
// relay when Identify asked that last.
func (n *Network) Vouched(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.vouched[name]
}

// FetchUnpinned is the package's FetchUnpinned for a relay of this network.
func (n *Network) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) (blob []byte, pin [32]byte, err error) {
	return FetchUnpinned(ctx, n.options(name), id)
}

// Proxy says how relays are reached, for people: empty when directly.
func (n *Network) Proxy() string { return n.proxy }
