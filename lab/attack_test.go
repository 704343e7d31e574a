package lab

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// partner is what a contact knows of a route: P, s, and so every secret of every
// period but the private half.
type partner struct {
	t       *testing.T
	r       *route
	period  uint64
	address wire.Address
	blind   *edwards25519.Scalar // b_t
}

func newPartner(t *testing.T, r *route) *partner {
	t.Helper()
	p := &partner{t: t, r: r, period: presentPeriod()}
	p.address = r.at(t, p.period).Address
	// b_t by the specification, from s_t and P alone.
	// spec: route.md#address
	state := r.chain.Clone()
	state.Forget(p.period)
	raw := state.Append(nil)
	wide := make([]byte, 64)
	key.KDF(wide, raw[43:], "tacet/v1/route/blind", raw[11:43])
	var err error
	if p.blind, err = edwards25519.NewScalar().SetUniformBytes(wide); err != nil {
		t.Fatal(err)
	}
	return p
}

// forge signs under an address with a scalar of the partner's choice, as Ed25519
// verifies: R ‖ S with S = r + k·a.
func (p *partner) forge(a *edwards25519.Scalar, commit func(r *edwards25519.Scalar) *edwards25519.Point) func([]byte) []byte {
	return func(m []byte) []byte {
		wide := make([]byte, 64)
		rand.Read(wide)
		r, err := edwards25519.NewScalar().SetUniformBytes(wide)
		if err != nil {
			p.t.Error(err)
		}
		big := commit(r).Bytes()
		h := sha512.Sum512(bytes.Join([][]byte{big, p.address[:], m}, nil))
		k, err := edwards25519.NewScalar().SetUniformBytes(h[:])
		if err != nil {
			p.t.Error(err)
		}
		return append(big, edwards25519.NewScalar().MultiplyAdd(k, a, r).Bytes()...)
	}
}

// TestAPartnerCanNeitherWatchNorAck: a contact of the owner, who knows the offer
// and with it every address and seal key there will ever be, tries to watch an
// address that is not theirs, and to be counted for its cells.
func TestAPartnerCanNeitherWatchNorAck(t *testing.T) {
	relay := startRelay(t)
	realm := realmKey(t, relay)
	r := newRoute(t, presentPeriod()-1)
	p := newPartner(t, r)
	point, err := new(edwards25519.Point).SetBytes(r.offer.Public[:])
	if err != nil {
		t.Fatal(err)
	}
	// The partner's b_t is the right one: the address is [b_t]P.
	if got := new(edwards25519.Point).ScalarMult(p.blind, point).Bytes(); !bytes.Equal(got, p.address[:]) {
		t.Fatalf("the partner derives address %x, want %x: the test does not know what a partner knows", got, p.address)
	}
	base := func(r *edwards25519.Scalar) *edwards25519.Point { return new(edwards25519.Point).ScalarBaseMult(r) }
	owner := r.owned(t, p.period)

	// What the owner proved on a connection of their own, as a relay that works
	// with the partner would hand it over.
	_, seen := greeted(t, relay)
	proof := func(verb wire.Verb, period uint64, nonce [wire.ServerNonceSize]byte) []byte {
		q := wire.Proof{Realm: realm, Nonce: nonce, Address: p.address, Verb: verb, Period: period}
		return owner.sign(q.Append(nil))
	}
	one, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := edwards25519.NewScalar().SetUniformBytes(append(bytes.Clone(r.offer.Secret.Bytes()), make([]byte, 32)...))
	if err != nil {
		t.Fatal(err)
	}
	_, own25519, _ := ed25519.GenerateKey(rand.Reader)
	for name, sign := range map[string]func([]byte) []byte{
		"b_t as the private key":          p.forge(p.blind, base),
		"b_t over the point P":            p.forge(p.blind, func(r *edwards25519.Scalar) *edwards25519.Point { return new(edwards25519.Point).ScalarMult(r, point) }),
		"1 as the private key":            p.forge(one, base),
		"0 as the private key":            p.forge(edwards25519.NewScalar(), base),
		"s as the private key":            p.forge(secret, base),
		"the identity as commitment":      p.forge(p.blind, func(*edwards25519.Scalar) *edwards25519.Point { return edwards25519.NewIdentityPoint() }),
		"a key of their own":              func(m []byte) []byte { return ed25519.Sign(own25519, m) },
		"a proof of another connection":   func([]byte) []byte { return proof(wire.VerbWatch, p.period, seen) },
		"a proof to take":                 nil, // below: made for this very connection
		"a proof to ack":                  nil,
		"a proof of the period before":    nil,
		"zeros":                           func([]byte) []byte { return make([]byte, 64) },
		"the point P and a zero":          func([]byte) []byte { return append(bytes.Clone(r.offer.Public[:]), make([]byte, 32)...) },
		"the address itself and a number": func([]byte) []byte { return append(bytes.Clone(p.address[:]), p.blind.Bytes()...) },
	} {
		w, nonce := greeted(t, relay)
		switch name {
		case "a proof to take":
			sign = func([]byte) []byte { return proof(wire.VerbTake, p.period, nonce) }
		case "a proof to ack":
			sign = func([]byte) []byte { return proof(wire.VerbAck, p.period, nonce) }
		case "a proof of the period before":
			sign = func([]byte) []byte { return proof(wire.VerbWatch, p.period-1, nonce) }
		}
		// Behind a proof that is good, too.
		w.send(watchFrame(realm, nonce, p.period, decoy(t), own{p.address, sign}))
		if b := w.read(); len(b) != wire.RefusedSize || b[0] != byte(wire.FrameRefused) || wire.Reason(b[1]) != wire.ReasonProof {
			t.Errorf("%s: got answer %x, want a refusal of the proof", name, b)
		}
		if b := w.read(); b != nil {
			t.Errorf("%s: got %x after the refusal, want the connection ended", name, b)
		}
	}

	// The partner watches something of their own and echoes every number that a
	// cell to the owner might have: nothing is counted.
	w, nonce := greeted(t, relay)
	w.send(watchFrame(realm, nonce, p.period, decoy(t)))
	if b := w.read(); len(b) != wire.WatchedSize {
		t.Fatalf("got answer %x, want the partner's own address watched", b)
	}
	watchRaw(t, relay, func(wire.Address) bool { return false }, owner) // there, and silent
	echoes := []byte{byte(wire.FrameEcho)}
	for n := range uint64(wire.MaxEchoes) {
		echoes = binary.BigEndian.AppendUint64(echoes, n)
	}
	q := newPutter(t, relay, 1)
	q.put(p.address, r.cell(t, p.period, &wire.Body{Kind: wire.KindDrop, Count: 1}))
	for range 20 {
		w.send(echoes)
	}
	q.wait()
	if got := q.answers[1].delivered; got != 0 {
		t.Errorf("got count %d by a partner's echoes, want 0", got)
	}

	// The control: the owner can do all of this.
	watchRaw(t, relay, func(wire.Address) bool { return true }, owner)
	if got := putAll(t, relay, p.address, r.cell(t, p.period, &wire.Body{Kind: wire.KindDrop, Count: 1})); got[0] != 1 {
		t.Errorf("got count %d for the owner, want 1", got[0])
	}
}

// door is a way to a relay at an address of our choice, whatever its name, and
// all that went through it.
type door struct {
	way
	at string

	mu   sync.Mutex
	sent []byte
}

func (d *door) dial(ctx context.Context, proto, _, isolate string) (net.Conn, error) {
	c, err := network.Direct()(ctx, proto, d.at, isolate)
	if err != nil {
		return nil, err
	}
	return &ear{Conn: c, door: d}, nil
}

func (d *door) Open(name string, pin [32]byte) (transport.Transport, error) {
	return network.New(network.Options{Name: name, Pin: &pin, Dial: d.dial})
}

func (d *door) Identify(ctx context.Context, name string) ([32]byte, error) {
	return network.Identify(ctx, network.Options{Name: name, Dial: d.dial})
}

func (d *door) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, network.Options{Name: name, Dial: d.dial}, id)
}

// heard returns what went through the door, and forgets it.
func (d *door) heard() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.sent
	d.sent = nil
	return b
}

// ear is one connection through a door. It looks like TCP to those who ask.
type ear struct {
	net.Conn
	door *door
}

func (e *ear) Write(b []byte) (int, error) {
	e.door.mu.Lock()
	e.door.sent = append(e.door.sent, b...)
	e.door.mu.Unlock()
	return e.Conn.Write(b)
}

// TestAnotherRelayAtTheSameDoor: the relay of a profile is replaced by one with
// another key, with TLS and without. The client says so, and not one byte leaves
// that is not the opening of a connection.
func TestAnotherRelayAtTheSameDoor(t *testing.T) {
	for _, tls := range []string{"off", "on"} {
		t.Run("TLS "+tls, func(t *testing.T) {
			t.Parallel()
			first, second := startNode(t, tls), startNode(t, tls)
			bob := visitor(t, "Bob", first.name, &door{at: first.addr})
			inv, err := bob.NewInvite(t.Context(), client.InviteOptions{})
			if err != nil || !inv.Online {
				t.Fatalf("%+v, %v", inv, err)
			}
			d := &door{at: first.addr}
			o := client.Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: d, WeakVault: true}
			if _, err := client.Create(t.Context(), o, client.NewProfile{Name: "Ada", Relay: first.name}); err != nil {
				t.Fatal(err)
			}
			d.at = second.addr
			c, err := client.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			d.heard()
			if _, err := c.Preview(t.Context(), inv.Link); !errors.Is(err, client.ErrRelayKey) {
				t.Errorf("previewing: got %v, want ErrRelayKey", err)
			}
			if _, err := c.Accept(t.Context(), client.AcceptOptions{Link: inv.Link}); !errors.Is(err, client.ErrRelayKey) {
				t.Errorf("accepting: got %v, want ErrRelayKey", err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			until(t, "trouble to be told", func() bool {
				st, err := c.Status(t.Context())
				return err == nil && strings.Contains(st.Trouble, "key")
			})
			if got, err := c.NewInvite(t.Context(), client.InviteOptions{}); err != nil || got.Online {
				t.Errorf("inviting: got %+v, %v, want an invite that is not online", got, err)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			said := d.heard()
			if len(said) == 0 {
				t.Error("nothing was said at all, so nothing is shown")
			}
			if tls == "on" {
				onlyHandshakes(t, said)
			} else {
				onlyQuestions(t, said)
			}
		})
	}
}

// onlyHandshakes wants no TLS record but those of handshakes that were given up:
// ClientHello, change of cipher, alert. Application data (23) would be a leak.
func onlyHandshakes(t *testing.T, b []byte) {
	t.Helper()
	for len(b) >= 5 {
		n := 5 + int(b[3])<<8 + int(b[4])
		if n > len(b) {
			t.Fatalf("half a record: %x", b[:5])
		}
		kind := b[0]
		// An alert under TLS 1.3 looks like application data, of 2 bytes, a type and a tag.
		if kind != 22 && kind != 20 && kind != 21 && !(kind == 23 && n == 5+2+1+16) {
			t.Errorf("a TLS record of kind %d with %d bytes went to a relay with another key", kind, n-5)
		}
		b = b[n:]
	}
}

// onlyQuestions wants nothing but requests for the descriptor.
func onlyQuestions(t *testing.T, b []byte) {
	t.Helper()
	for _, q := range strings.SplitAfter(string(b), "\r\n\r\n") {
		if q != "" && !strings.HasPrefix(q, "GET /v1/realm HTTP/1.1\r\n") {
			t.Errorf("%.60q went to a relay with another key", q)
		}
	}
}
