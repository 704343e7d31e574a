package slot

import (
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/wire"
)

// sealRaw seals an empty plaintext after a change that Seal would never make.
func sealRaw(s *Slot, class byte, change func(plain []byte)) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(s.key.Bytes())
	if err != nil {
		return nil, err
	}
	plain := make([]byte, wire.BlobClasses[class]-chacha20poly1305.NonceSizeX-chacha20poly1305.Overhead)
	change(plain)
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	return aead.Seal(nonce, nonce, plain, s.ID[:]), nil
}

const (
	wantID   = "48b6bab43b22fce580d8f06ded5931f2843b12d056ff9406b08fd37409434755"
	wantKey  = "873fe494884a8272801e268106b836b9fa7a980c10c0264cdbdb801365418d0d"
	wantBlob = "fdd4300fe8adf9cf4866b1c1478574f771f7580fc0e95cfa35446ff2807c6da0" // SHA-256
)
