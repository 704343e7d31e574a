package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
)

// Labels of this room.
const (
	labelFile   = "tacet/v1/vault file"
	labelRow    = "tacet/v1/vault row"
	labelLedger = "tacet/v1/vault ledger"
	labelState  = "tacet/v1/vault state"
	labelMark   = "tacet/v1/vault mark"
)

const (
	nonceSize = chacha20poly1305.NonceSizeX // 24
	tagSize   = chacha20poly1305.Overhead   // 16
)

// keys are what an open vault holds: derived from the vault key, which itself
// is not kept.
//
// spec: vault.md#keys
type keys struct {
	file   key.Vault    // adiantum, over every page of the file and its log
	ledger cipher.Block // AES-256: the entries of the ledger's sum
	row    cipher.AEAD
	state  cipher.AEAD
	mark   cipher.AEAD

	block [aes.BlockSize]byte // for entry, so that it does not allocate
}

func deriveKeys(root key.Vault) (*keys, error) {
	k := &keys{file: key.Derive[key.VaultRole](root.Bytes(), labelFile)}
	s := key.Derive[key.VaultRole](root.Bytes(), labelLedger)
	defer s.Wipe()
	var err error
	if k.ledger, err = aes.NewCipher(s.Bytes()); err != nil {
		return nil, fmt.Errorf("preparing a cipher: %w", err)
	}
	for _, d := range []struct {
		to    *cipher.AEAD
		label string
	}{{&k.row, labelRow}, {&k.state, labelState}, {&k.mark, labelMark}} {
		if *d.to, err = newAEAD(root, d.label); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func newAEAD(root key.Vault, label string) (cipher.AEAD, error) {
	s := key.Derive[key.VaultRole](root.Bytes(), label)
	defer s.Wipe()
	a, err := chacha20poly1305.NewX(s.Bytes())
	if err != nil {
		return nil, fmt.Errorf("preparing a cipher: %w", err)
	}
	return a, nil
}

// wipe overwrites what can be reached. The ciphers keep copies of their own
// that only the garbage collector takes.
func (k *keys) wipe() {
	k.file.Wipe()
	k.ledger, k.row, k.state, k.mark = nil, nil, nil, nil
}

// entry is one row's part of the ledger's sum: id and version are just one
// block of AES. Nobody sees an entry or a sum, so 128 bits leave a forger
// nothing better than a guess.
//
// spec: vault.md#ledger
func (k *keys) entry(ledgerID int64, version uint64) [aes.BlockSize]byte {
	binary.BigEndian.PutUint64(k.block[:], uint64(ledgerID))
	binary.BigEndian.PutUint64(k.block[8:], version)
	k.ledger.Encrypt(k.block[:], k.block[:])
	return k.block
}

// seal appends nonce ‖ ciphertext ‖ tag to b, with a random nonce.
func seal(a cipher.AEAD, b, plain, ad []byte, rand io.Reader) ([]byte, error) {
	n := len(b)
	b = append(b, make([]byte, nonceSize)...)
	if _, err := io.ReadFull(rand, b[n:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	return a.Seal(b, b[n:n+nonceSize], plain, ad), nil
}

// open opens what seal made. Its one error is ErrDamaged.
func open(a cipher.AEAD, sealed, ad []byte) ([]byte, error) {
	if len(sealed) < nonceSize+tagSize {
		return nil, ErrDamaged
	}
	plain, err := a.Open(nil, sealed[:nonceSize], sealed[nonceSize:], ad)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}
