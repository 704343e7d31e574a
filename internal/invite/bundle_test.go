package invite

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

func TestBundleOpensForWhoeverHasTheLink(t *testing.T) {
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "one")
	l := linkTo(t, b)
	blob, err := Seal(b, alice.sign, l, stream("nonce"))
	if err != nil {
		t.Fatal(err)
	}
	if len(blob) != 4096 {
		t.Errorf("got %d bytes, want 4,096", len(blob))
	}
	passed, err := ParseLink("  " + l.String() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(passed, blob, now)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Route.Secret.Equal(b.Route.Secret) {
		t.Error("the route has another secret")
	}
	got.Route.Secret = b.Route.Secret
	if !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v, want %+v", got, b)
	}
	if got.Hash() != b.Hash() {
		t.Errorf("got hash %x, want %x", got.Hash(), b.Hash())
	}
}

func TestLargestBundleFits(t *testing.T) {
	alice := newPerson(t, "alice")
	devices := alice.manifest.Devices
	for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
		devices = append(devices, newPerson(t, name).manifest.Devices[0])
	}
	b := alice.bundle(t, "one")
	b.Manifest = alice.list(t, b.Manifest.NotAfter, devices...)
	b.Name = strings.Repeat("x", MaxName)
	bring(b)
	if got := len(b.appendBody(nil)); got != maxBody || got+key.SignatureSize > plainSize {
		t.Errorf("got a body of %d bytes, want %d and room for a signature in %d", got, maxBody, plainSize)
	}
	l := linkTo(t, b)
	if _, err := Open(l, ok[[]byte](t)(Seal(b, alice.sign, l, stream("nonce"))), now); err != nil {
		t.Error(err)
	}
}

// bring gives a bundle all that an invite can bring beside keys.
func bring(b *Bundle) {
	b.Membership = &[RealmInviteSize]byte{1, 2, 3}
	b.Guests = [][GuestSize]byte{{4}, {5}}
	b.GuestEpoch = 2937
}

func TestBundleBringsMembershipAndTokens(t *testing.T) {
	alice := newPerson(t, "alice")
	for name, alter := range map[string]func(b *Bundle){
		"both":          func(*Bundle) {},
		"a membership":  func(b *Bundle) { b.Guests, b.GuestEpoch = nil, 0 },
		"tokens":        func(b *Bundle) { b.Membership = nil },
		"a single one":  func(b *Bundle) { b.Guests = b.Guests[:1] },
		"nothing":       func(b *Bundle) { b.Membership, b.Guests, b.GuestEpoch = nil, nil, 0 },
		"the epoch 0":   func(b *Bundle) { b.GuestEpoch = 0 },
		"an empty name": func(b *Bundle) { b.Name = "" },
	} {
		b := alice.bundle(t, "one")
		bring(b)
		alter(b)
		got := ok[*Bundle](t)(Open(linkTo(t, b), ok[[]byte](t)(Seal(b, alice.sign, linkTo(t, b), stream("nonce"))), now))
		if !reflect.DeepEqual(got.Membership, b.Membership) || !reflect.DeepEqual(got.Guests, b.Guests) || got.GuestEpoch != b.GuestEpoch {
			t.Errorf("%s: got %v, %v, %d", name, got.Membership, got.Guests, got.GuestEpoch)
		}
	}
}

// TestAnotherHolderCannotSwapTheBundle: mallory has the link too, so she can
// decrypt and encrypt, and the relay serves what she likes.
func TestAnotherHolderCannotSwapTheBundle(t *testing.T) {
	alice, mallory := newPerson(t, "alice"), newPerson(t, "mallory")
	genuine := alice.bundle(t, "one")
	l := linkTo(t, genuine)
	alter := func(f func(*Bundle)) *Bundle {
		b := *genuine
		f(&b)
		return &b
	}
	hers := mallory.bundle(t, "hers")

	// A manifest of alice's root that lists mallory's device, signed by mallory.
	insert := *mallory.manifest
	insert.Root = genuine.Root
	insert.Sig = key.SignMessage(mallory.root, "tacet/v1/manifest", signedPart(&insert))

	_, olds, err := pqxdh.NewPrekeys(stream("old device"), alice.old, true)
	if err != nil {
		t.Fatal(err)
	}

	elsewhere := ok[Link](t)(NewLink("other.example", l.Secret))
	body := genuine.appendBody(nil)
	id := l.ID()
	sig := key.SignMessage(alice.sign, labelSign, body, id[:])

	for name, c := range map[string]struct {
		link Link
		blob []byte
	}{
		"her root, salt and keys":         {l, forge(t, hers, mallory.sign, l)},
		"her root, the salt of alice":     {l, forge(t, mallory.bundleWith(t, genuine.Salt), mallory.sign, l)},
		"her keys, the root of alice":     {l, forge(t, alter(func(b *Bundle) { b.Manifest, b.Prekeys = &insert, hers.Prekeys }), mallory.sign, l)},
		"her prekeys":                     {l, forge(t, alter(func(b *Bundle) { b.Prekeys = hers.Prekeys }), mallory.sign, l)},
		"her seal key":                    {l, forge(t, alter(func(b *Bundle) { b.Seal = hers.Seal }), mallory.sign, l)},
		"her route":                       {l, forge(t, alter(func(b *Bundle) { b.Route = hers.Route }), mallory.sign, l)},
		"her realm":                       {l, forge(t, alter(func(b *Bundle) { b.Realm[0] ^= 1 }), mallory.sign, l)},
		"a device that is not there":      {l, forge(t, alter(func(b *Bundle) { b.Device = 2 }), mallory.sign, l)},
		"a device that was revoked":       {l, forge(t, alter(func(b *Bundle) { b.Device, b.Prekeys = 1, olds }), alice.old, l)},
		"the device of another place":     {l, forge(t, alter(func(b *Bundle) { b.Device = 1 }), alice.sign, l)},
		"signed by the root itself":       {l, forge(t, genuine, alice.root, l)},
		"prekeys of another device":       {l, forge(t, alter(func(b *Bundle) { b.Prekeys = hers.Prekeys }), alice.sign, l)},
		"another bundle of alice":         {l, forge(t, alice.bundle(t, "two"), alice.sign, l)},
		"made to last":                    {l, ok[[]byte](t)(lock(l, append(alter(func(b *Bundle) { b.Expiry++ }).appendBody(nil), sig[:]...), stream("forger")))},
		"brought to another relay's name": {elsewhere, ok[[]byte](t)(lock(elsewhere, append(bytes.Clone(body), sig[:]...), stream("forger")))},
	} {
		if b, err := Open(c.link, c.blob, now); !errors.Is(err, ErrForged) || b != nil {
			t.Errorf("%s: got %v, %v, want ErrForged", name, b, err)
		}
	}
	if _, err := Open(l, ok[[]byte](t)(lock(l, append(body, sig[:]...), stream("nobody"))), now); err != nil {
		t.Errorf("the real one: %v", err)
	}
}

// TestMissingDeviceIsNotTheZeroKey: 32 zero bytes are an Ed25519 key of order 4,
// under which one signature of nothing holds for every fourth message. A device
// that is not in the manifest must not come to stand for it.
func TestMissingDeviceIsNotTheZeroKey(t *testing.T) {
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "one")
	l := linkTo(t, b)
	id := l.ID()
	nothing := key.Signature{0: 1} // R the identity, S zero
	for i := 0; b.Prekeys.Verify(key.SignPublic{}) != nil; i++ {
		var err error
		if _, b.Prekeys, err = pqxdh.NewPrekeys(stream(fmt.Sprint("zero key ", i)), alice.sign, true); err != nil || i == 10_000 {
			t.Fatalf("making prekeys for the zero key: %v", err)
		}
		b.Prekeys.SignedSig, b.Prekeys.OneTimeSig, b.Prekeys.KEMSig = nothing, nothing, nothing
	}
	for _, at := range []byte{1, 2, 255} { // revoked, and not there
		b.Device = at
		for !key.Verify(key.SignPublic{}, nothing, labelSign, b.appendBody(nil), id[:]) {
			b.Expiry++
		}
		blob := ok[[]byte](t)(lock(l, append(b.appendBody(nil), nothing[:]...), stream("forger")))
		if _, err := Open(l, blob, now); !errors.Is(err, ErrForged) {
			t.Errorf("device %d: got %v, want ErrForged", at, err)
		}
	}
}

// bundleWith is a bundle with somebody else's salt.
func (p *person) bundleWith(t testing.TB, salt [32]byte) *Bundle {
	b := p.bundle(t, "hers")
	b.Salt = salt
	return b
}

func TestBundleHasItsTime(t *testing.T) {
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "one")
	l := linkTo(t, b)
	blob := ok[[]byte](t)(Seal(b, alice.sign, l, stream("nonce")))
	end := time.Unix(int64(b.Expiry), 0)
	old := alice.bundle(t, "one")
	old.Manifest = alice.list(t, uint64(now.Unix())/86_400*86_400, alice.manifest.Devices...)
	aged := ok[[]byte](t)(Seal(old, alice.sign, l, stream("nonce")))
	forged := forge(t, old, newPerson(t, "mallory").sign, l)
	for name, c := range map[string]struct {
		blob []byte
		now  time.Time
		want error
	}{
		"last second":                       {blob, end, nil},
		"a second later":                    {blob, end.Add(time.Second), ErrExpired},
		"a clock before 1970":               {blob, time.Unix(-1, 0), nil},
		"manifest too old":                  {aged, now, ErrExpired},
		"too old and forged is forged":      {forged, now, ErrForged},
		"far too late and forged is forged": {forged, end.Add(time.Hour), ErrForged},
	} {
		if _, err := Open(l, c.blob, c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestEveryFlippedByteOfTheBlobIsSeen(t *testing.T) {
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "one")
	l := linkTo(t, b)
	blob := ok[[]byte](t)(Seal(b, alice.sign, l, stream("nonce")))
	for i := range blob {
		blob[i] ^= 1 << (i % 8)
		if _, err := Open(l, blob, now); !errors.Is(err, ErrBundle) {
			t.Fatalf("byte %d: got %v, want ErrBundle", i, err)
		}
		blob[i] ^= 1 << (i % 8)
	}
	for _, n := range []int{0, 1, 4095, 4097, 16 << 10} {
		if _, err := Open(l, append(bytes.Clone(blob), make([]byte, 16<<10)...)[:n], now); !errors.Is(err, ErrBundle) {
			t.Errorf("%d bytes: got %v, want ErrBundle", n, err)
		}
	}
	// A holder of the link can encrypt any number of bytes.
	id, k := l.ID(), l.Key()
	aead := ok[cipher.AEAD](t)(chacha20poly1305.NewX(k.Bytes()))
	longer := append(ok[[]byte](t)(unlock(l, blob)), make([]byte, 12<<10)...)
	if _, err := Open(l, aead.Seal(bytes.Clone(blob[:24]), blob[:24], longer, id[:]), now); !errors.Is(err, ErrBundle) {
		t.Errorf("longer zeros: got %v, want ErrBundle", err)
	}
	for name, other := range map[string]Link{
		"another secret": {Relay: l.Relay, Secret: [16]byte{1}},
		"another relay":  {Relay: "other.example", Secret: l.Secret},
	} {
		if _, err := Open(other, blob, now); !errors.Is(err, ErrBundle) {
			t.Errorf("%s: got %v, want ErrBundle", name, err)
		}
	}
}

// TestEveryFlippedByteUnderTheEncryptionIsSeen: a holder of the link can change
// what is inside, so the signature and the form have to cover all of it.
func TestEveryFlippedByteUnderTheEncryptionIsSeen(t *testing.T) {
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "one")
	l := linkTo(t, b)
	plain := ok[[]byte](t)(unlock(l, ok[[]byte](t)(Seal(b, alice.sign, l, stream("nonce")))))
	for i := range plain {
		plain[i] ^= 1 << (i % 8)
		if _, err := Open(l, ok[[]byte](t)(lock(l, plain, stream("nonce"))), now); err == nil {
			t.Fatalf("byte %d: got no error", i)
		}
		plain[i] ^= 1 << (i % 8)
	}
}

func TestSealRefuses(t *testing.T) {
	alice, bob := newPerson(t, "alice"), newPerson(t, "bob")
	other := bob.bundle(t, "one")
	_, many, err := pqxdh.NewPrekeys(stream("many"), alice.sign, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		alter func(b *Bundle)
		sign  key.Sign
		want  error
	}{
		"good":                        {func(b *Bundle) {}, alice.sign, nil},
		"good for many":               {func(b *Bundle) { b.Uses, b.Prekeys = 50, many }, alice.sign, nil},
		"no manifest":                 {func(b *Bundle) { b.Manifest = nil }, alice.sign, ErrBundle},
		"no prekeys":                  {func(b *Bundle) { b.Prekeys = nil }, alice.sign, ErrBundle},
		"root of another":             {func(b *Bundle) { b.Root = other.Root }, alice.sign, ErrBundle},
		"salt of another link":        {func(b *Bundle) { b.Salt[0] ^= 1 }, alice.sign, ErrBundle},
		"another's key":               {func(b *Bundle) {}, bob.sign, ErrBundle},
		"no such device":              {func(b *Bundle) { b.Device = 2 }, alice.sign, ErrBundle},
		"revoked device":              {func(b *Bundle) { b.Device = 1 }, alice.old, ErrBundle},
		"prekeys of another":          {func(b *Bundle) { b.Prekeys = other.Prekeys }, alice.sign, ErrBundle},
		"route that is not a key":     {func(b *Bundle) { b.Route.Public[31] ^= 0xff }, alice.sign, ErrBundle},
		"no uses, no one-time key":    {func(b *Bundle) { b.Uses, b.Prekeys = 0, many }, alice.sign, ErrBundle},
		"no uses":                     {func(b *Bundle) { b.Uses = 0 }, alice.sign, ErrBundle},
		"one use, no one-time key":    {func(b *Bundle) { b.Prekeys = many }, alice.sign, ErrBundle},
		"many uses of a one-time key": {func(b *Bundle) { b.Uses = 2 }, alice.sign, ErrBundle},
		"name too long":               {func(b *Bundle) { b.Name = strings.Repeat("x", 65) }, alice.sign, ErrBundle},
		"name not UTF-8":              {func(b *Bundle) { b.Name = "\xff" }, alice.sign, ErrBundle},
		"membership for many": {func(b *Bundle) {
			b.Uses, b.Prekeys, b.Membership = 50, many, &[RealmInviteSize]byte{}
		}, alice.sign, ErrBundle},
		"tokens for many":         {func(b *Bundle) { b.Uses, b.Prekeys, b.Guests = 50, many, make([][GuestSize]byte, 1) }, alice.sign, ErrBundle},
		"three tokens":            {func(b *Bundle) { b.Guests = make([][GuestSize]byte, 3) }, alice.sign, ErrBundle},
		"an epoch of no tokens":   {func(b *Bundle) { b.GuestEpoch = 1 }, alice.sign, ErrBundle},
		"suite that is not known": {func(b *Bundle) { b.Suite++ }, alice.sign, ErrSuite},
	} {
		b := alice.bundle(t, "one")
		l := linkTo(t, b)
		c.alter(b)
		if _, err := Seal(b, c.sign, l, stream("nonce")); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	b := alice.bundle(t, "one")
	b.Root = other.Root
	if _, err := Seal(b, alice.sign, linkTo(t, b), stream("nonce")); !errors.Is(err, ErrBundle) {
		t.Errorf("link of another root: got %v, want ErrBundle", err)
	}
	b = alice.bundle(t, "one")
	if _, err := Seal(b, alice.sign, Link{Relay: "no relay", Secret: SecretOf(b.Root, b.Salt)}, stream("nonce")); !errors.Is(err, ErrRelay) {
		t.Errorf("relay without a name: got %v, want ErrRelay", err)
	}
	if _, err := Seal(b, alice.sign, linkTo(t, b), bytes.NewReader(make([]byte, 23))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("no randomness: got %v, want io.ErrUnexpectedEOF", err)
	}
}

func TestOpenRefusesWhatIsSignedButMalformed(t *testing.T) {
	alice := newPerson(t, "alice")
	good := alice.bundle(t, "one")
	l := linkTo(t, good)
	body := good.appendBody(nil)
	whole := len(good.Manifest.Append(nil))
	tail := len(body) - whole - 2
	name := headSize - 1
	edit := func(at int, with ...byte) []byte {
		b := bytes.Clone(body)
		copy(b[at:], with)
		return b
	}
	for n, c := range map[string]struct {
		body []byte
		want error
	}{
		"good":                    {body, nil},
		"unknown version":         {edit(0, 2), ErrVersion},
		"an old suite":            {edit(1, 1), ErrOlder},
		"unknown suite":           {edit(1, 3), ErrSuite},
		"unknown suite, cut":      {edit(1, 3)[:80], ErrSuite},
		"no uses":                 {edit(74, 0, 0), ErrBundle},
		"two uses":                {edit(74, 0, 2), ErrBundle},
		"ask is neither 0 nor 1":  {edit(76, 2), ErrBundle},
		"route period":            {edit(78+1216+72, 0, 1), ErrBundle},
		"one-time flag":           {edit(78+1216+74+96, 2), ErrBundle},
		"name not UTF-8":          {edit(name+1, 0xff), ErrBundle},
		"name into the manifest":  {edit(name, 200), ErrBundle},
		"manifest cut":            {edit(tail, byte((whole-1)>>8), byte(whole-1)), ErrBundle},
		"manifest beyond the end": {edit(tail, 0xff, 0xff), ErrBundle},
		"nothing":                 {nil, ErrVersion},
	} {
		id := l.ID()
		sig := key.SignMessage(alice.sign, labelSign, c.body, id[:])
		_, err := Open(l, ok[[]byte](t)(lock(l, append(bytes.Clone(c.body), sig[:]...), stream("nonce"))), now)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", n, err, c.want)
		}
	}
	id := l.ID()
	sig := key.SignMessage(alice.sign, labelSign, body, id[:])
	trailing := append(append(bytes.Clone(body), sig[:]...), 0, 0, 1)
	if _, err := Open(l, ok[[]byte](t)(lock(l, trailing, stream("nonce"))), now); !errors.Is(err, ErrBundle) {
		t.Errorf("trailing byte: got %v, want ErrBundle", err)
	}
}

func FuzzParseBundle(f *testing.F) {
	alice := newPerson(f, "alice")
	b := alice.bundle(f, "one")
	f.Add(b.appendBody(nil))
	f.Add(b.appendBody(nil)[:3000])
	b.Name, b.Ask = "", true
	b.Manifest = alice.list(f, manifest.NotAfter(now), alice.manifest.Devices[0])
	f.Add(b.appendBody(nil))
	bring(b)
	f.Add(b.appendBody(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		b, rest, err := parseBody(p)
		if err != nil {
			return
		}
		got := b.appendBody(nil)
		if !bytes.Equal(append(got, rest...), p) {
			t.Errorf("got %x, want %x", got, p)
		}
		if len(got) > maxBody {
			t.Errorf("got %d bytes, want at most %d", len(got), maxBody)
		}
	})
}
