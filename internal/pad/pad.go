// Package pad makes content blocks: what people say, in pieces of exactly 1,024
// bytes, so that an empty message and a long one look alike. Every block also
// says which manifests of the two persons its sender goes by.
//
// The package does not encrypt, does not know what the content is and keeps
// nothing for longer than its caller wants.
//
// Spec: docs/spec/cell.md#content-block.
package pad

import (
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes in bytes, and bounds.
const (
	header     = 2 + 1 + 1 + wire.MessageIDSize + 2*RefSize // length 2 ‖ part 1 ‖ parts 1 ‖ logical id 8 ‖ ours 12 ‖ theirs 12
	MaxContent = wire.BlockSize - header                    // 988: the content of one block
	MaxParts   = 64                                         // blocks of one logical message
	MaxLogical = MaxParts * MaxContent                      // 63,232: the content of one logical message
)

// Errors that callers branch on.
var (
	// ErrBlock: a block is not well-formed, or contradicts another of its message.
	ErrBlock = errors.New("content block is malformed")
	// ErrSize: the content is more than MaxParts blocks take.
	ErrSize = errors.New("content is too long for a message")
	// ErrFull: MaxOpen messages are under way.
	ErrFull = errors.New("too many messages are arriving in parts")
)

// Block is one content block.
type Block struct {
	Logical     wire.MessageID // names the logical message, the same in all its parts
	Part, Parts byte           // this part, below Parts; Parts is 1 … MaxParts
	Ours        Ref            // the sender's own manifest
	Theirs      Ref            // the receiver's manifest, as the sender knows it
	Content     []byte         // at most MaxContent bytes
}

// check holds a block to the one way in which Split cuts: every part but the
// last is full, and a last part after others is not empty.
func (b *Block) check() error {
	last := b.Part+1 == b.Parts
	switch {
	case b.Parts == 0, b.Parts > MaxParts, b.Part >= b.Parts, len(b.Content) > MaxContent,
		!last && len(b.Content) != MaxContent,
		last && b.Part > 0 && len(b.Content) == 0:
		return ErrBlock
	}
	return nil
}

// Append appends the block, wire.BlockSize bytes. It fails with ErrBlock.
//
// spec: cell.md#content-block
func (b *Block) Append(dst []byte) ([]byte, error) {
	if err := b.check(); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(b.Content)))
	dst = append(dst, b.Part, b.Parts)
	dst = append(dst, b.Logical[:]...)
	dst = b.Ours.append(dst)
	dst = b.Theirs.append(dst)
	dst = append(dst, b.Content...)
	return append(dst, make([]byte, MaxContent-len(b.Content))...), nil
}

// Parse reads a block of exactly wire.BlockSize bytes; Content aliases p. It
// fails with ErrBlock, also when the zeros after the content are not zeros.
func Parse(p []byte) (Block, error) {
	if len(p) != wire.BlockSize {
		return Block{}, ErrBlock
	}
	n := int(binary.BigEndian.Uint16(p))
	if n > MaxContent {
		return Block{}, ErrBlock
	}
	b := Block{Part: p[2], Parts: p[3], Logical: wire.MessageID(p[4:]), Ours: parseRef(p[12:]), Theirs: parseRef(p[24:])}
	b.Content = p[header:][:n:n]
	for _, z := range p[header+n:] {
		if z != 0 {
			return Block{}, ErrBlock
		}
	}
	if err := b.check(); err != nil {
		return Block{}, err
	}
	return b, nil
}

// Split cuts content into the contents of 1 to MaxParts blocks, which alias it.
// Empty content is one empty part. It fails with ErrSize.
func Split(content []byte) ([][]byte, error) {
	if len(content) > MaxLogical {
		return nil, ErrSize
	}
	var parts [][]byte
	for len(content) > MaxContent {
		parts = append(parts, content[:MaxContent:MaxContent])
		content = content[MaxContent:]
	}
	return append(parts, content), nil
}
