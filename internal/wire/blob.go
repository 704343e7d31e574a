package wire

import "errors"

// ErrBlob is returned for a blob request or receipt that is not well-formed.
var ErrBlob = errors.New("blob is malformed")

// Sizes of blobs, in bytes.
const (
	BlobIDSize     = 32
	BlobHeaderSize = 1 + 1 + 32 + BlobIDSize // kind 1 ‖ lifetime in days 1 ‖ capability hash 32 ‖ id 32
	ReceiptSize    = BlobIDSize + 32 + 64    // id 32 ‖ H(content) 32 ‖ signature 64
	MaxBlob        = 256 << 10
	CapabilitySize = 32
)

// BlobClasses are the sizes a blob may have: content is padded to one of them
// by its owner, before encryption.
var BlobClasses = [...]int{4 << 10, 16 << 10, 64 << 10, 256 << 10}

// BlobKind says what may become of a blob.
type BlobKind byte

// Kinds of blobs.
const (
	BlobSlot BlobKind = 1 // never deleted before its time; lifetime and capability are zero
	BlobFile BlobKind = 2 // deleted by capability or at the end of its lifetime
)

// BlobID names a blob: unguessable, so that reading needs no other right.
type BlobID [BlobIDSize]byte

// BlobPut is the body of POST /v1/blob. All blobs are create-only.
type BlobPut struct {
	Kind       BlobKind
	Days       byte     // lifetime: 1 … 30 for a file, 0 for a slot
	Capability [32]byte // Hash(LabelCapability, capability) for a file, zeros for a slot
	ID         BlobID
	Content    []byte // exactly one of BlobClasses
}

func (p *BlobPut) check() error {
	switch {
	case p.Kind == BlobSlot && (p.Days != 0 || p.Capability != [32]byte{}),
		p.Kind == BlobFile && (p.Days == 0 || p.Days > 30),
		p.Kind != BlobSlot && p.Kind != BlobFile:
		return ErrBlob
	}
	for _, n := range BlobClasses {
		if len(p.Content) == n {
			return nil
		}
	}
	return ErrBlob
}

// Append appends the request body.
func (p *BlobPut) Append(b []byte) ([]byte, error) {
	if err := p.check(); err != nil {
		return b, err
	}
	b = append(b, byte(p.Kind), p.Days)
	b = append(b, p.Capability[:]...)
	b = append(b, p.ID[:]...)
	return append(b, p.Content...), nil
}

// ParseBlobPut reads a request body; Content aliases b.
func ParseBlobPut(b []byte) (BlobPut, error) {
	if len(b) < BlobHeaderSize {
		return BlobPut{}, ErrBlob
	}
	p := BlobPut{Kind: BlobKind(b[0]), Days: b[1], Capability: [32]byte(b[2:]), ID: BlobID(b[34:]), Content: b[BlobHeaderSize:]}
	if err := p.check(); err != nil {
		return BlobPut{}, err
	}
	return p, nil
}

// Receipt is a relay's deterministic word that ID holds the content with that
// hash. It has no time: two for one id with different hashes prove a lie.
type Receipt struct {
	ID   BlobID
	Hash [32]byte // SHA-256 of the content
	Sig  [64]byte // by the receipt key over Info(LabelReceipt, id, hash)
}

// Append appends the receipt, ReceiptSize bytes.
func (r *Receipt) Append(b []byte) []byte {
	b = append(b, r.ID[:]...)
	b = append(b, r.Hash[:]...)
	return append(b, r.Sig[:]...)
}

// ParseReceipt reads a receipt of exactly ReceiptSize bytes.
func ParseReceipt(b []byte) (Receipt, error) {
	if len(b) != ReceiptSize {
		return Receipt{}, ErrBlob
	}
	return Receipt{ID: BlobID(b), Hash: [32]byte(b[32:]), Sig: [64]byte(b[64:])}, nil
}
