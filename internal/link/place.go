package link

import (
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes in bytes of a blob that is not of the pack.
const (
	BlobSize  = 4 << 10
	plainSize = BlobSize - chacha20poly1305.NonceSizeX - chacha20poly1305.Overhead // 4,056
)

// place is where something lies and what it is encrypted with.
type place struct {
	id wire.BlobID
	k  key.Link
}

func placeOf(secret []byte, parts ...[]byte) (p place) {
	key.KDF(p.id[:], secret, labelID, parts...)
	p.k = key.Derive[key.LinkRole](secret, labelKey, parts...)
	return p
}

// seal pads with zeros to BlobSize and encrypts under a random nonce, so that a
// place may be sealed twice.
//
// spec: link.md#blobs
func (p place) seal(rand io.Reader, plain []byte) ([]byte, error) {
	if len(plain) > plainSize {
		return nil, ErrMessage
	}
	aead, err := chacha20poly1305.NewX(p.k.Bytes())
	if err != nil {
		return nil, err
	}
	blob := make([]byte, chacha20poly1305.NonceSizeX, BlobSize)
	if _, err := io.ReadFull(rand, blob); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	full := make([]byte, plainSize)
	copy(full, plain)
	defer clear(full)
	return aead.Seal(blob, blob, full, p.id[:]), nil
}

// open returns plainSize bytes, padding included. It fails with ErrMessage.
func (p place) open(blob []byte) ([]byte, error) {
	if len(blob) != BlobSize {
		return nil, ErrMessage
	}
	aead, err := chacha20poly1305.NewX(p.k.Bytes())
	if err != nil {
		return nil, ErrMessage
	}
	plain, err := aead.Open(nil, blob[:chacha20poly1305.NonceSizeX], blob[chacha20poly1305.NonceSizeX:], p.id[:])
	if err != nil {
		return nil, ErrMessage
	}
	return plain, nil
}

// zero reports whether all is padding.
func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
