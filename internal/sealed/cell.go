// Package sealed closes what travels: the route seal on every cell, the HPKE
// seal on a first contact, and the fragments that carry what is larger than a
// cell.
//
// A cell is 1,280 bytes, random-looking to everyone without the seal key of
// its route and period, whatever it carries. The seal says nothing of a
// sender: whoever has the route can make one, and who wrote is for the session
// inside to tell.
//
// The package keeps no keys, and does not know replays: nonces that were seen
// are remembered by the receiver.
//
// Spec: docs/spec/cell.md.
package sealed

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// ErrOpen is returned for everything that does not open, whatever the reason.
var ErrOpen = errors.New("sealed message does not open")

// SealCell seals a body for the address a under the seal key of its period,
// with a nonce of 24 random bytes. It fails with wire.ErrBody for a body that
// is not well-formed.
//
// spec: cell.md#route-seal
func SealCell(k key.Seal, a wire.Address, b *wire.Body, rand io.Reader) (*wire.Cell, error) {
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading seal key: %w", key.ErrSize)
	}
	// cell = nonce 24 ‖ XChaCha20-Poly1305(k, nonce, ad = address 32, body 1,240)
	c := new(wire.Cell)
	nonce := c[:wire.NonceSize]
	if _, err := io.ReadFull(rand, nonce); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	body, err := b.Append(c[wire.NonceSize:wire.NonceSize])
	if err != nil {
		return nil, err
	}
	aead.Seal(body[:0], nonce, body, a[:])
	return c, nil
}

// OpenCell opens a cell that came to the address a. The body's payload is the
// caller's own. Every failure is ErrOpen, a malformed body under a good seal
// included.
func OpenCell(k key.Seal, a wire.Address, c *wire.Cell) (wire.Body, error) {
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return wire.Body{}, ErrOpen
	}
	plain, err := aead.Open(make([]byte, 0, wire.BodySize), c[:wire.NonceSize], c[wire.NonceSize:], a[:])
	if err != nil {
		return wire.Body{}, ErrOpen
	}
	b, err := wire.ParseBody(plain)
	if err != nil {
		return wire.Body{}, ErrOpen
	}
	return b, nil
}
