package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
)

// Params is how hard it is to try a passphrase: Argon2id (RFC 9106). The zero
// value stands for Default.
type Params struct {
	Memory  uint32 // KiB
	Time    uint32 // passes
	Threads uint8
	// Weak allows less than Default. It is for tests and the lab, is written
	// into the key file, and nothing else sets it.
	Weak bool
}

// Bounds of Params: what a key file may ask of the device that opens it.
const (
	maxMemory  = 1 << 20 // KiB: 1 GiB
	maxTime    = 64
	maxThreads = 64
)

// The floor: the second choice that RFC 9106 recommends.
const (
	floorMemory = 64 << 10 // KiB: 64 MiB
	floorTime   = 3
)

// Default is the floor with 4 threads. Nothing may write to it.
var Default = Params{Memory: floorMemory, Time: floorTime, Threads: 4}

// check returns p, or Default for the zero value. It fails with ErrParams.
func (p Params) check() (Params, error) {
	switch {
	case p == Params{}:
		return Params{Memory: floorMemory, Time: floorTime, Threads: 4}, nil
	case p.Threads == 0 || p.Threads > maxThreads, p.Time == 0 || p.Time > maxTime,
		p.Memory < 8*uint32(p.Threads) || p.Memory > maxMemory:
		return p, ErrParams
	case !p.Weak && (p.Memory < floorMemory || p.Time < floorTime):
		return p, ErrParams
	}
	return p, nil
}

// Layout of the key file.
//
// spec: vault.md#key-file
const (
	headerMagic   = "tacetkey"
	headerVersion = 1
	methodArgon2  = 1
	saltSize      = 16
	wrappedSize   = 32 + tagSize
	// headerSize: magic 8 ‖ version 1 ‖ method 1 ‖ weak 1 ‖ threads 1 ‖
	// memory 4 ‖ time 4 ‖ salt 16 ‖ nonce 24 ‖ wrapped key 48 ‖ H 32.
	headerSize = 140
	headerAD   = 36 // what the wrapping authenticates: all before the nonce
	headerSum  = 108
)

// header is the key file: how to get from a passphrase to the vault key.
type header struct {
	params  Params
	salt    [saltSize]byte
	nonce   [nonceSize]byte
	wrapped [wrappedSize]byte
}

// Append appends the header's 140 bytes.
func (h *header) Append(b []byte) []byte {
	n := len(b)
	b = h.appendAD(b)
	b = append(b, h.nonce[:]...)
	b = append(b, h.wrapped[:]...)
	sum := sha256.Sum256(b[n:])
	return append(b, sum[:]...)
}

func (h *header) appendAD(b []byte) []byte {
	weak := byte(0)
	if h.params.Weak {
		weak = 1
	}
	b = append(b, headerMagic...)
	b = append(b, headerVersion, methodArgon2, weak, h.params.Threads)
	b = binary.BigEndian.AppendUint32(b, h.params.Memory)
	b = binary.BigEndian.AppendUint32(b, h.params.Time)
	return append(b, h.salt[:]...)
}

// parseHeader fails with ErrNewer for a later version or method and ErrDamaged
// for everything else. The hash at the end comes first: without it a flipped
// bit would look like a wrong passphrase.
func parseHeader(b []byte) (*header, error) {
	if len(b) < len(headerMagic)+1+sha256.Size || string(b[:len(headerMagic)]) != headerMagic {
		return nil, ErrDamaged
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, ErrDamaged
	}
	if b[8] > headerVersion {
		return nil, ErrNewer
	}
	if b[8] != headerVersion || len(b) != headerSize || b[9] != methodArgon2 || b[10] > 1 {
		return nil, ErrDamaged
	}
	h := &header{params: Params{
		Memory:  binary.BigEndian.Uint32(b[12:]),
		Time:    binary.BigEndian.Uint32(b[16:]),
		Threads: b[11],
		Weak:    b[10] == 1,
	}}
	if p, err := h.params.check(); err != nil || p != h.params {
		return nil, ErrDamaged
	}
	copy(h.salt[:], b[20:])
	copy(h.nonce[:], b[headerAD:])
	copy(h.wrapped[:], b[headerAD+nonceSize:])
	return h, nil
}

// wrapKey makes a header in which pass opens root.
func wrapKey(rand io.Reader, root key.Vault, pass []byte, p Params) (*header, error) {
	if len(pass) == 0 {
		return nil, ErrNoPassphrase
	}
	p, err := p.check()
	if err != nil {
		return nil, err
	}
	h := &header{params: p}
	if _, err := io.ReadFull(rand, h.salt[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	if _, err := io.ReadFull(rand, h.nonce[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	err = h.withPassphrase(pass, func(kek []byte) error {
		a, err := chacha20poly1305.NewX(kek)
		if err != nil {
			return fmt.Errorf("preparing a cipher: %w", err)
		}
		a.Seal(h.wrapped[:0], h.nonce[:], root.Bytes(), h.appendAD(nil))
		return nil
	})
	return h, err
}

// unwrap returns the vault key. It fails with ErrPassphrase.
func (h *header) unwrap(pass []byte) (root key.Vault, err error) {
	err = h.withPassphrase(pass, func(kek []byte) error {
		a, err := chacha20poly1305.NewX(kek)
		if err != nil {
			return fmt.Errorf("preparing a cipher: %w", err)
		}
		plain, err := a.Open(nil, h.nonce[:], h.wrapped[:], h.appendAD(nil))
		if err != nil {
			return ErrPassphrase
		}
		defer clear(plain)
		root, err = key.New[key.VaultRole](plain)
		return err
	})
	return root, err
}

func (h *header) withPassphrase(pass []byte, f func(kek []byte) error) error {
	kek := argon2.IDKey(pass, h.salt[:], h.params.Time, h.params.Memory, h.params.Threads, chacha20poly1305.KeySize)
	defer clear(kek)
	return f(kek)
}
