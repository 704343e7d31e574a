package invite

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

const plainSize = BlobSize - chacha20poly1305.NonceSizeX - chacha20poly1305.Overhead // 4,056

// Seal signs a bundle with its device's key and encrypts it for a link:
// BlobSize bytes, to be put at l.ID(). It fails with ErrBundle or ErrSuite if
// the bundle is not well-formed, the key is not the device's, or the link is
// not made of the bundle's root and salt.
//
// spec: invite.md#blob
func Seal(b *Bundle, sign key.Sign, l Link, rand io.Reader) ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	d, ok := b.Manifest.Active(int(b.Device))
	if !ok || d.Sign != key.SignPublicOf(sign) || b.Prekeys.Verify(d.Sign) != nil ||
		b.Route.Public.Check() != nil || SecretOf(b.Root, b.Salt) != l.Secret {
		return nil, ErrBundle
	}
	if _, err := RelayName(l.Relay); err != nil {
		return nil, err
	}
	body, id := b.appendBody(nil), l.ID()
	sig := key.SignMessage(sign, labelSign, body, id[:])
	return lock(l, append(body, sig[:]...), rand)
}

// lock pads a signed body with zeros and encrypts it.
func lock(l Link, signed []byte, rand io.Reader) ([]byte, error) {
	blob := make([]byte, chacha20poly1305.NonceSizeX, BlobSize)
	if _, err := io.ReadFull(rand, blob); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	plain := make([]byte, plainSize)
	copy(plain, signed)
	id, k := l.ID(), l.Key()
	defer k.Wipe()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return nil, err
	}
	return aead.Seal(blob, blob, plain, id[:]), nil
}

// unlock decrypts a blob.
func unlock(l Link, blob []byte) ([]byte, error) {
	if len(blob) != BlobSize {
		return nil, ErrBundle
	}
	id, k := l.ID(), l.Key()
	defer k.Wipe()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return nil, ErrBundle
	}
	nonce, ct := blob[:chacha20poly1305.NonceSizeX], blob[chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, ct, id[:])
	if err != nil {
		return nil, ErrBundle
	}
	return plain, nil
}

// Open reads the bundle that a link named and checks that it is the one its
// maker signed. It fails with ErrBundle, ErrVersion or ErrSuite for what cannot
// be read, with ErrForged for what is not the maker's, and with ErrExpired only
// for what is.
//
// Whether the relay had the realm key that the bundle names is the caller's to
// compare: Realm is believed, the relay is not.
func Open(l Link, blob []byte, now time.Time) (*Bundle, error) {
	plain, err := unlock(l, blob)
	if err != nil {
		return nil, err
	}
	b, rest, err := parseBody(plain)
	if err != nil {
		return nil, err
	}
	if len(rest) < key.SignatureSize {
		return nil, ErrBundle
	}
	sig, rest := key.Signature(rest), rest[key.SignatureSize:]
	for _, z := range rest {
		if z != 0 {
			return nil, ErrBundle
		}
	}
	if err := b.genuine(l, sig, now); err != nil {
		return nil, err
	}
	if now.Unix() > 0 && uint64(now.Unix()) > b.Expiry {
		return nil, ErrExpired
	}
	return b, nil
}

// genuine walks the chain of trust from the link to the keys: the secret
// commits to the root, the root signs the manifest, a device of the manifest
// signs the bundle and the prekeys in it.
func (b *Bundle) genuine(l Link, sig key.Signature, now time.Time) error {
	if SecretOf(b.Root, b.Salt) != l.Secret {
		return ErrForged
	}
	expired := b.Manifest.Verify(b.Root, now)
	if expired != nil && !errors.Is(expired, manifest.ErrExpired) {
		return ErrForged
	}
	d, ok := b.Manifest.Active(int(b.Device))
	id := l.ID()
	if !ok || !key.Verify(d.Sign, sig, labelSign, b.appendBody(nil), id[:]) {
		return ErrForged
	}
	if b.Prekeys.Verify(d.Sign) != nil {
		return ErrForged
	}
	if expired != nil {
		return ErrExpired
	}
	return nil
}
