package session

import (
	"bytes"
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"io"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/wire"
)

var (
	now    = time.Unix(1_800_000_000, 0)
	bundle = [32]byte{0xb0, 0xb1}
	offer  = bytes.Repeat([]byte{0x70}, 74)
)

// stream is a reader of SHAKE256(seed): the same bytes on every run.
func stream(seed string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("session test " + seed))
	return h
}

func ok[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// person is somebody with devices, the first of which speaks.
type person struct {
	root key.Sign
	sign []key.Sign
	self Self
}

func newPerson(t testing.TB, name string, devices int) *person {
	t.Helper()
	r := stream("person " + name)
	p := &person{root: ok[key.Sign](t)(key.Generate[key.SignRole](r))}
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(now)}
	for range devices {
		sign, dh := ok[key.Sign](t)(key.Generate[key.SignRole](r)), ok[key.DH](t)(key.Generate[key.DHRole](r))
		d := manifest.Device{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh)}
		io.ReadFull(r, d.XWing[:])
		m.Devices = append(m.Devices, d)
		p.sign = append(p.sign, sign)
		if p.self.Manifest == nil {
			p.self = Self{Manifest: m, DH: dh}
		}
	}
	p.resign(t)
	return p
}

// resign signs the manifest as it is now.
func (p *person) resign(t testing.TB) {
	t.Helper()
	if err := manifest.Sign(p.root, p.self.Manifest); err != nil {
		t.Fatal(err)
	}
}

// ask is what somebody lays out: a bundle's prekeys.
type ask struct {
	private *pqxdh.Private
	public  *pqxdh.Prekeys
}

func (p *person) ask(t testing.TB, seed string, oneTime bool) *ask {
	t.Helper()
	v, q, err := pqxdh.NewPrekeys(stream("prekeys "+seed), p.sign[p.self.Device], oneTime)
	if err != nil {
		t.Fatal(err)
	}
	return &ask{v, q}
}

func (p *person) peer(a *ask) Peer {
	return Peer{Manifest: p.self.Manifest, Device: p.self.Device, Prekeys: a.public, Bundle: bundle}
}

func (p *person) accept(a *ask, h *Hello) (*Session, []byte, error) {
	return Accept(stream("accept"), now, p.self, a.private, a.public, bundle, h)
}

// meet starts a session of a with b, the hello written and read on its way.
func meet(t testing.TB, a, b *person, x *ask) (*Session, *Session, *Hello) {
	t.Helper()
	sa, h, err := Start(stream("start"), a.self, b.peer(x), offer, "Ann", block(0))
	if err != nil {
		t.Fatal(err)
	}
	h = ok[*Hello](t)(ParseHello(ok[[]byte](t)(h.Append(nil))))
	sb, first, err := b.accept(x, h)
	if err != nil || !bytes.Equal(first, block(0)) {
		t.Fatalf("accepting: got %v, want the first block", err)
	}
	return sa, sb, h
}

// block is a content block that tells which one it is.
func block(n int) []byte {
	b := make([]byte, wire.BlockSize)
	binary.BigEndian.PutUint64(b, uint64(n))
	return b
}

// says has one end seal block n and the other open it.
func says(t testing.TB, from, to *Session, n int) {
	t.Helper()
	r := stream("says")
	m := ok[[]byte](t)(from.Seal(r, block(n)))
	got, err := to.Open(r, now, m)
	if err != nil || !bytes.Equal(got, block(n)) || len(m) != MessageSize {
		t.Fatalf("message %d of %d bytes: got %v, want its block", n, len(m), err)
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
