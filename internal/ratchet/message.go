package ratchet

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes in bytes.
const (
	nonceSize  = 12
	tagSize    = 16
	headerSize = key.DHPublicSize + 4 + 4 + braid.Size // 118
	sealedHead = nonceSize + headerSize + tagSize      // 146
)

// header tells the receiver which key a message needs.
//
// spec: session.md#header
type header struct {
	dh    key.DHPublic
	pn, n uint32
	braid [braid.Size]byte // zeros in suite 1
}

func (h *header) append(b []byte) []byte {
	b = append(b, h.dh[:]...)                  // ratchet key 32
	b = binary.BigEndian.AppendUint32(b, h.pn) // messages of the chain before 4
	b = binary.BigEndian.AppendUint32(b, h.n)  // number in this chain 4
	return append(b, h.braid[:]...)            // two chunks of the braid 78
}

// parseHeader reads headerSize bytes. What the braid's field says is the braid's
// to judge.
func parseHeader(b []byte) (h header, ok bool) {
	h = header{dh: key.DHPublic(b), pn: binary.BigEndian.Uint32(b[32:]), n: binary.BigEndian.Uint32(b[36:]), braid: [braid.Size]byte(b[40:])}
	return h, h.pn <= MaxChain && h.n < MaxChain
}

// seal is HENCRYPT: it appends nonce 12 ‖ AES-256-GCM(k, header 118), 146 bytes.
func (h *header) seal(b []byte, k key.Header, nonce []byte) []byte {
	var space [headerSize]byte
	return newGCM(k.Bytes()).Seal(append(b, nonce...), nonce, h.append(space[:0]), nil)
}

// openHeader is HDECRYPT: what it says of a header under another key is false.
func openHeader(k key.Header, b []byte) (h header, ok bool) {
	if !k.Valid() {
		return h, false
	}
	var space [headerSize]byte
	plain, err := newGCM(k.Bytes()).Open(space[:0], b[:nonceSize], b[nonceSize:sealedHead], nil)
	if err != nil {
		return h, false
	}
	return parseHeader(plain)
}

// sealBlock appends nonce 12 ‖ AES-256-GCM(message key, block), 1,052 bytes, to a
// sealed header. Bound with it are ad and that header, whose size is constant, so
// ad can have any.
func sealBlock(msg []byte, mk key.Message, nonce, ad, block []byte) []byte {
	bound := append(append(make([]byte, 0, len(ad)+sealedHead), ad...), msg...)
	return newGCM(mk.Bytes()).Seal(append(msg, nonce...), nonce, block, bound)
}

// openBlock opens what sealBlock made.
func openBlock(mk key.Message, ad, msg []byte) ([]byte, error) {
	bound := append(append(make([]byte, 0, len(ad)+sealedHead), ad...), msg[:sealedHead]...)
	body := msg[sealedHead:]
	block, err := newGCM(mk.Bytes()).Open(make([]byte, 0, wire.BlockSize), body[:nonceSize], body[nonceSize:], bound)
	if err != nil {
		return nil, ErrDecrypt
	}
	return block, nil
}

func newGCM(k []byte) cipher.AEAD {
	c, err := aes.NewCipher(k)
	if err != nil {
		panic("ratchet: " + err.Error()) // the size is the role's
	}
	g, err := cipher.NewGCM(c)
	if err != nil {
		panic("ratchet: " + err.Error())
	}
	return g
}
