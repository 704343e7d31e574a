// Package stream seals byte strings of any length in chunks: what is too long
// for one message, or is written before its end is known. Chunks that were
// changed, dropped, repeated, put in another order or taken from another stream
// do not open, and neither does a stream whose end is missing.
//
// It is the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár (2015)
// over XChaCha20-Poly1305. The package reads and writes nothing itself but what
// io.Reader and io.Writer are given, and does not hide how long a stream is.
//
// Spec: docs/spec/stream.md.
package stream

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
)

// Sizes in bytes.
const (
	SealedSize = 64 << 10                               // of every chunk but the last
	ChunkSize  = SealedSize - chacha20poly1305.Overhead // what it holds: 65,520
	HeaderSize = 1 + prefixSize + commitSize            // version 1 ‖ prefix 19 ‖ commitment 32
	prefixSize = chacha20poly1305.NonceSizeX - 4 - 1    // nonce = prefix 19 ‖ number 4 ‖ 1 for the last, else 0
	commitSize = 32                                     // so that a header opens under one key only
	maxChunks  = 1 << 32                                // numbers are 4 bytes: 256 TiB
	version    = 1                                      // of the header
	labelKeys  = "tacet/v1/stream/keys"                 // KDF from the key of a stream; parts: version 1 ‖ prefix 19, context
	keysSize   = chacha20poly1305.KeySize + commitSize  // what comes out
)

// Errors of this package.
var (
	// ErrOpen is returned for everything that does not open, whatever the reason.
	ErrOpen = errors.New("sealed stream does not open")
	// ErrSize: a chunk that is not the last must be full, and none may be more
	// than full.
	ErrSize = errors.New("chunk has the wrong size")
	// ErrEnded: the last chunk was sealed or opened already.
	ErrEnded = errors.New("stream has ended")
)

// Header begins a stream. It is no secret.
type Header [HeaderSize]byte

// Sealer seals the chunks of one stream, in order.
type Sealer struct{ state }

// Opener opens the chunks of one stream, in order.
type Opener struct{ state }

// state is where a stream stands.
type state struct {
	aead   cipher.AEAD
	prefix [prefixSize]byte
	next   uint64 // number of the next chunk
	ended  bool
}

// keys derives what a stream is sealed with, and its commitment.
//
// spec: stream.md#keys
func keys(k key.Stream, prefix []byte, context []byte) (cipher.AEAD, []byte, error) {
	if !k.Valid() {
		return nil, nil, key.ErrSize
	}
	var out [keysSize]byte
	defer clear(out[:chacha20poly1305.KeySize])
	key.KDF(out[:], k.Bytes(), labelKeys, append([]byte{version}, prefix...), context)
	aead, err := chacha20poly1305.NewX(out[:chacha20poly1305.KeySize])
	return aead, out[chacha20poly1305.KeySize:], err
}

// NewSealer begins a stream. The context, at most 65,535 bytes, says what the
// stream is: it opens under the same only. It is no secret and is not in the
// header.
func NewSealer(rand io.Reader, k key.Stream, context []byte) (*Sealer, Header, error) {
	var h Header
	h[0] = version
	prefix := h[1 : 1+prefixSize]
	if _, err := io.ReadFull(rand, prefix); err != nil {
		return nil, Header{}, fmt.Errorf("reading randomness: %w", err)
	}
	aead, commitment, err := keys(k, prefix, context)
	if err != nil {
		return nil, Header{}, fmt.Errorf("beginning a stream: %w", err)
	}
	copy(h[1+prefixSize:], commitment)
	return &Sealer{state{aead: aead, prefix: [prefixSize]byte(prefix)}}, h, nil
}

// ResumeSealer goes on with a stream at the chunk of that number. Whoever calls
// it makes sure that no chunk of that number was ever sealed: two under one
// number give away what is in both.
func ResumeSealer(k key.Stream, h Header, context []byte, next uint32) (*Sealer, error) {
	s, err := resume(k, h, context, next)
	if err != nil {
		return nil, err
	}
	return &Sealer{s}, nil
}

// NewOpener reads the header of a stream. It fails with ErrOpen if the header
// is not one made with this key and context.
func NewOpener(k key.Stream, h Header, context []byte) (*Opener, error) {
	return ResumeOpener(k, h, context, 0)
}

// ResumeOpener goes on at the chunk of that number.
func ResumeOpener(k key.Stream, h Header, context []byte, next uint32) (*Opener, error) {
	s, err := resume(k, h, context, next)
	if err != nil {
		return nil, err
	}
	return &Opener{s}, nil
}

func resume(k key.Stream, h Header, context []byte, next uint32) (state, error) {
	if h[0] != version {
		return state{}, ErrOpen
	}
	prefix := h[1 : 1+prefixSize]
	aead, commitment, err := keys(k, prefix, context)
	if err != nil || subtle.ConstantTimeCompare(commitment, h[1+prefixSize:]) != 1 {
		return state{}, ErrOpen
	}
	return state{aead: aead, prefix: [prefixSize]byte(prefix), next: uint64(next)}, nil
}

// nonce returns that of the next chunk.
//
// spec: stream.md#chunks
func (s *state) nonce(last bool) []byte {
	n := make([]byte, 0, chacha20poly1305.NonceSizeX)
	n = append(n, s.prefix[:]...)
	n = binary.BigEndian.AppendUint32(n, uint32(s.next))
	if last {
		return append(n, 1)
	}
	return append(n, 0)
}

// check refuses a chunk of n bytes, without its tag, that has no place in a stream.
func (s *state) check(n int, last bool) error {
	switch {
	case s.ended || s.next >= maxChunks:
		return ErrEnded
	case n > ChunkSize || n < 0 || !last && n != ChunkSize || n == 0 && s.next > 0:
		return ErrSize
	}
	return nil
}

// Next returns the number of the next chunk.
func (s *state) Next() uint32 { return uint32(s.next) }

// Ended reports whether the last chunk was dealt with.
func (s *state) Ended() bool { return s.ended }

// Seal appends the next chunk, sealed, to dst. All but the last have ChunkSize
// bytes; the last has 1 to ChunkSize, or 0 if it is the only one. It fails with
// ErrSize or ErrEnded.
func (s *Sealer) Seal(dst, chunk []byte, last bool) ([]byte, error) {
	if err := s.check(len(chunk), last); err != nil {
		return dst, err
	}
	dst = s.aead.Seal(dst, s.nonce(last), chunk, nil)
	s.next, s.ended = s.next+1, last
	return dst, nil
}

// Open appends what is in the next chunk to dst. Who calls it knows whether it
// is the last; a lie about it is ErrOpen, like everything else that is wrong. A
// chunk that does not open changes nothing.
func (o *Opener) Open(dst, sealed []byte, last bool) ([]byte, error) {
	if o.check(len(sealed)-chacha20poly1305.Overhead, last) != nil {
		return dst, ErrOpen
	}
	out, err := o.aead.Open(dst, o.nonce(last), sealed, nil)
	if err != nil {
		return dst, ErrOpen
	}
	o.next, o.ended = o.next+1, last
	return out, nil
}
