// Package slot has the slot of an epoch: the one blob at a relay whose content is
// the commit that ends the epoch. It derives a slot's id and key from the epoch's
// secret, seals and opens what lies there, and checks the relay's receipt.
//
// It knows no MLS and no relay: a commit is bytes to it. Nobody who lacks the
// secret can tell a slot from any other blob of its size.
//
// Spec: docs/spec/group.md#slots.
package slot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// SecretSize is the size in bytes of an epoch's slot secret, which the exporter gives.
const SecretSize = 32

// Sizes in bytes of what stands before and after the content of a slot.
const (
	lengthSize = 4
	overhead   = chacha20poly1305.NonceSizeX + lengthSize + chacha20poly1305.Overhead // 44
)

const (
	labelID  = "tacet/v1/slot/id"
	labelKey = "tacet/v1/slot/key"
)

// Errors of a slot.
var (
	// ErrSlot: the blob was not sealed for this slot, or was damaged: whoever put
	// it there burnt the slot, or the relay lies.
	ErrSlot = errors.New("blob is no content of this slot")
	// ErrReceipt: the receipt is for another blob, or not by the key of the group's relay.
	ErrReceipt = errors.New("receipt is not for this slot")
	// ErrSize: the content is larger than the class holds.
	ErrSize = errors.New("content does not fit into the slot")
	// ErrClass: there is no such class.
	ErrClass = errors.New("no such size of a slot")
)

// Slot is where the commit that ends one epoch lies.
type Slot struct {
	ID  wire.BlobID
	key key.Slot
}

// Derive makes the slot of an epoch from the epoch's slot secret.
//
// spec: group.md#slots
func Derive(secret []byte) (*Slot, error) {
	if len(secret) != SecretSize {
		return nil, ErrSlot
	}
	s := &Slot{key: key.Derive[key.SlotRole](secret, labelKey)}
	key.KDF(s.ID[:], secret, labelID)
	return s, nil
}

// Wipe forgets the key. The id stays: it names the slot in lists of receipts.
func (s *Slot) Wipe() { s.key.Wipe() }

// Room returns how many bytes of content a class holds; 0 for no class. Classes
// are the sizes of blobs, by their place from 0.
func Room(class byte) int {
	if int(class) >= len(wire.BlobClasses) {
		return 0
	}
	return wire.BlobClasses[class] - overhead
}

// Seal seals content for the slot. What it returns is stored before it is put, and
// put again as it is: a put is idempotent by content. It fails with ErrSize,
// ErrClass and the error of rand.
//
//	nonce 24 ‖ XChaCha20-Poly1305(key, ad = id, length 4 ‖ content ‖ zeros)
//
// spec: group.md#slots
func (s *Slot) Seal(rand io.Reader, class byte, content []byte) ([]byte, error) {
	if int(class) >= len(wire.BlobClasses) {
		return nil, ErrClass
	}
	if len(content) > Room(class) {
		return nil, ErrSize
	}
	aead, err := chacha20poly1305.NewX(s.key.Bytes())
	if err != nil {
		return nil, err
	}
	size := wire.BlobClasses[class]
	out := make([]byte, chacha20poly1305.NonceSizeX, size)
	if _, err := io.ReadFull(rand, out); err != nil {
		return nil, err
	}
	plain := make([]byte, size-chacha20poly1305.NonceSizeX-chacha20poly1305.Overhead)
	defer clear(plain)
	binary.BigEndian.PutUint32(plain, uint32(len(content)))
	copy(plain[lengthSize:], content)
	return aead.Seal(out, out, plain, s.ID[:]), nil
}

// Open opens a blob that lies at the slot. It fails with ErrSlot.
func (s *Slot) Open(blob []byte) ([]byte, error) {
	if !isClass(len(blob)) {
		return nil, ErrSlot
	}
	aead, err := chacha20poly1305.NewX(s.key.Bytes())
	if err != nil {
		return nil, err
	}
	nonce, sealed := blob[:chacha20poly1305.NonceSizeX], blob[chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, sealed, s.ID[:])
	if err != nil {
		return nil, ErrSlot
	}
	n := uint64(binary.BigEndian.Uint32(plain))
	if n > uint64(len(plain)-lengthSize) {
		return nil, ErrSlot
	}
	content := plain[lengthSize:]
	for _, b := range content[n:] {
		if b != 0 {
			return nil, ErrSlot
		}
	}
	return content[:n:n], nil
}

func isClass(n int) bool {
	for _, c := range wire.BlobClasses {
		if n == c {
			return true
		}
	}
	return false
}

// Check checks that a receipt is for id, signed by the receipt key that the group
// names, and returns the hash of what lies there. It fails with ErrReceipt.
//
// spec: group.md#receipts
func Check(id wire.BlobID, receiptKey key.SignPublic, r *wire.Receipt) (hash [32]byte, err error) {
	if r.ID != id || !key.VerifyAgain(receiptKey, r.Sig, wire.LabelReceipt, r.ID[:], r.Hash[:]) {
		return hash, ErrReceipt
	}
	return r.Hash, nil
}

// Hash names the content of a slot as receipts do: SHA-256 of the blob.
func Hash(blob []byte) [32]byte { return sha256.Sum256(blob) }
