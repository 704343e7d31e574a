// Package whisper seals what one member of a group says to another alone in an epoch.
// A key lasts for two leaves, one direction and one epoch; nonces are random, so that
// nothing has to be stored before a whisper leaves and nothing is used up by it.
//
// Only the two ends can make and open a whisper, and it proves nothing to others: its
// key comes from a secret that all members of the epoch have and from what the owners
// of the two routes have in common. The package knows no group, and does not say what
// is in a whisper.
//
// Spec: docs/spec/group.md#whispers.
package whisper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	label = "tacet/v1/group/whisper"

	mark = 0xf7a2 // where a message of MLS has its version, 1
	head = 2 + 4
)

// Sizes in bytes.
const (
	// Size is the size of a whisper: a whole payload of a cell, as a text has it.
	Size = wire.PayloadSize // 1,229
	// Overhead is what it takes beside its plain text:
	//
	//	mark 2 ‖ leaf of the sender 4 ‖ nonce 24 ‖ … ‖ tag 16
	Overhead = head + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead // 46
	// PlainSize is what it holds.
	PlainSize = Size - Overhead // 1,183
	// SecretSize is the size of an epoch's whisper secret, which the exporter gives.
	SecretSize = 32
)

var (
	// ErrWhisper: a whisper was not for this end, or not by the one that it names.
	ErrWhisper = errors.New("what a member said to this device alone does not open")
	// ErrSize: a plain text or a secret has another size.
	ErrSize = errors.New("whisper has the wrong size")
)

// End is a member as the other one knows it.
type End struct {
	Leaf   uint32
	Device key.SignPublic
	Route  addr.Public // public half of the leaf's route
}

// Line is one direction between two members in an epoch of a group.
type Line struct {
	Group    [16]byte
	Epoch    uint64
	Secret   []byte // of the epoch, SecretSize bytes
	Owner    []byte // private half of the own route, key.Owner
	From, To End
}

// key derives the key of the line. other is the end that is not ours.
func (l *Line) key(other addr.Public) (key.Message, error) {
	if len(l.Secret) != SecretSize {
		return key.Message{}, ErrSize
	}
	o, err := key.New[key.OwnerRole](l.Owner)
	if err != nil {
		return key.Message{}, fmt.Errorf("whispering: %w", err)
	}
	defer o.Wipe()
	both, err := addr.Agree(o, other)
	if err != nil {
		return key.Message{}, err
	}
	defer both.Wipe()
	secret := append(slices.Clone(l.Secret), both.Bytes()...)
	defer clear(secret)
	return key.Derive[key.MessageRole](secret, label,
		binary.BigEndian.AppendUint32(nil, l.From.Leaf), binary.BigEndian.AppendUint32(nil, l.To.Leaf),
		l.From.Route[:], l.To.Route[:], l.From.Device[:], l.To.Device[:]), nil
}

// bound is what a whisper is bound to beside its key.
func (l *Line) bound(head []byte) []byte {
	b := binary.BigEndian.AppendUint64(slices.Clone(l.Group[:]), l.Epoch)
	return append(b, head...)
}

// Seal seals a plain text of PlainSize bytes. It fails with ErrSize, with addr's
// ErrPublic for a route that is none, and with the error of rand.
//
// spec: group.md#whispers
func (l *Line) Seal(rand io.Reader, plain []byte) ([]byte, error) {
	if len(plain) != PlainSize {
		return nil, ErrSize
	}
	k, err := l.key(l.To.Route)
	if err != nil {
		return nil, err
	}
	defer k.Wipe()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return nil, err
	}
	out := make([]byte, head+chacha20poly1305.NonceSizeX, Size)
	binary.BigEndian.PutUint16(out, mark)
	binary.BigEndian.PutUint32(out[2:], l.From.Leaf)
	nonce := out[head:]
	if _, err := io.ReadFull(rand, nonce); err != nil {
		return nil, err
	}
	return aead.Seal(out, nonce, plain, l.bound(out[:head])), nil
}

// Open opens a whisper. It fails with ErrWhisper.
func (l *Line) Open(b []byte) ([]byte, error) {
	if leaf, ok := Sender(b); !ok || leaf != l.From.Leaf {
		return nil, ErrWhisper
	}
	k, err := l.key(l.From.Route)
	if err != nil {
		return nil, errors.Join(ErrWhisper, err)
	}
	defer k.Wipe()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		return nil, err
	}
	nonce, sealed := b[head:head+chacha20poly1305.NonceSizeX], b[head+chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, sealed, l.bound(b[:head]))
	if err != nil {
		return nil, ErrWhisper
	}
	return plain, nil
}

// Sender is the leaf that b says it is from; false: b is no whisper.
func Sender(b []byte) (uint32, bool) {
	if len(b) != Size || binary.BigEndian.Uint16(b) != mark {
		return 0, false
	}
	return binary.BigEndian.Uint32(b[2:]), true
}
