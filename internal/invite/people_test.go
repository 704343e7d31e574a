package invite

import (
	"crypto/sha3"
	"io"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

const relayName = "relay.example"

// now is the moment of every test.
var now = time.Unix(1_800_000_000, 0)

// stream is deterministic randomness, named after what it is for.
func stream(name string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("invite test " + name))
	return h
}

func ok[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// person has a root and devices: the first one acts, the second is revoked.
type person struct {
	root, sign, old key.Sign
	manifest        *manifest.Manifest
}

func newPerson(t testing.TB, name string) *person {
	t.Helper()
	r := stream(name)
	p := &person{
		root: ok[key.Sign](t)(key.Generate[key.SignRole](r)),
		sign: ok[key.Sign](t)(key.Generate[key.SignRole](r)),
		old:  ok[key.Sign](t)(key.Generate[key.SignRole](r)),
	}
	device := func(sign key.Sign) manifest.Device {
		dh := ok[key.DH](t)(key.Generate[key.DHRole](r))
		x := ok[key.XWing](t)(key.Generate[key.XWingRole](r))
		return manifest.Device{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh), XWing: manifest.XWingHash(key.XWingPublicOf(x))}
	}
	p.manifest = p.list(t, manifest.NotAfter(now), device(p.sign), device(p.old))
	p.manifest.Devices[1].Revoked = true
	if err := manifest.Sign(p.root, p.manifest); err != nil {
		t.Fatal(err)
	}
	return p
}

// list signs a first manifest.
func (p *person) list(t testing.TB, notAfter uint64, devices ...manifest.Device) *manifest.Manifest {
	t.Helper()
	m := &manifest.Manifest{Sequence: 1, NotAfter: notAfter, Devices: devices}
	if err := manifest.Sign(p.root, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// bundle makes a one-use bundle of that person with keys of its own.
func (p *person) bundle(t testing.TB, name string) *Bundle {
	t.Helper()
	r := stream("bundle " + name)
	b := &Bundle{
		Root: p.manifest.Root, Manifest: p.manifest, Realm: [32]byte{0xea},
		Suite: pqxdh.Suite, Expiry: uint64(now.Unix()) + 7*86_400, Uses: 1, Name: "Ada",
	}
	if _, err := io.ReadFull(r, b.Salt[:]); err != nil {
		t.Fatal(err)
	}
	var err error
	if _, b.Prekeys, err = pqxdh.NewPrekeys(r, p.sign, true); err != nil {
		t.Fatal(err)
	}
	b.Seal = key.XWingPublicOf(ok[key.XWing](t)(key.Generate[key.XWingRole](r)))
	_, public, err := addr.NewOwner(r)
	if err != nil {
		t.Fatal(err)
	}
	b.Route = addr.Offer{Public: public, Secret: ok[key.Route](t)(key.Generate[key.RouteRole](r)), Birth: 1_000_000, Period: 1800}
	return b
}

func linkTo(t testing.TB, b *Bundle) Link {
	t.Helper()
	return ok[Link](t)(NewLink(relayName, SecretOf(b.Root, b.Salt)))
}

// forge signs and encrypts without any of Seal's checks.
func forge(t testing.TB, b *Bundle, sign key.Sign, l Link) []byte {
	t.Helper()
	body, id := b.appendBody(nil), l.ID()
	sig := key.SignMessage(sign, labelSign, body, id[:])
	return ok[[]byte](t)(lock(l, append(body, sig[:]...), stream("forger")))
}

// signedPart is a manifest without its signature.
func signedPart(m *manifest.Manifest) []byte {
	b := m.Append(nil)
	return b[:len(b)-key.SignatureSize]
}
