package bus

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// ID is a node: one run of a relay.
type ID [8]byte

// All is the receiver of what goes to every node.
var All ID

// kind says what a message is.
type kind byte

// Kinds of messages.
//
// spec: bus.md#messages
const (
	kindHello      kind = 1  // public 32 ‖ number 8 ‖ batches 8 ‖ digest 8 ‖ flags 1 ‖ k × node 8
	kindKey        kind = 2  // sender key 32
	kindCells      kind = 3  // batch 8 ‖ k × entry 1,312
	kindCounts     kind = 4  // k × (batch 8 ‖ index 1 ‖ echoes 2 ‖ lower 1)
	kindBye        kind = 5  // empty
	kindAsk        kind = 6  // batch 8 ‖ digest 8 ‖ k × entry 1,312
	kindCarry      kind = 7  // batch 8 ‖ k × entry 1,312
	kindRegister   kind = 8  // number 8 ‖ flags 1 ‖ k × address 32
	kindUnregister kind = 9  // number 8 ‖ k × address 32
	kindPast       kind = 10 // number 8 ‖ k × entry 1,312
	kindRegistered kind = 11 // number 8 ‖ reach 4
)

// toAll reports whether messages of the kind go to every node.
func (k kind) toAll() bool { return k == kindHello || k == kindCells || k == kindBye }

// Sizes in bytes.
const (
	nonceSize  = 12
	headerSize = 1 + len(ID{}) + nonceSize
	tagSize    = 16
	helloSize  = 32 + 8 + 8 + 8 + 1
	countSize  = 8 + 1 + 2 + 1
)

// Bounds of one message.
const (
	maxCells     = 40   // 52,480 bytes
	maxCounts    = 1024 // 12,288 bytes
	maxAddresses = 1024 // 32,768 bytes
	maxPeers     = 255
)

// MaxMessage is the largest message in bytes.
const MaxMessage = headerSize + 16 + maxCells*window.EntrySize + tagSize

const labelMessage = "tacet/v1/bus/message" // parts: kind 1, sender 8, receiver 8

// errMessage is every reason for which a message is dropped.
var errMessage = errors.New("not a message of this bus")

// newAEAD returns AES-256-GCM under a key of 32 bytes.
func newAEAD(k []byte) cipher.AEAD {
	block, err := aes.NewCipher(k)
	if err != nil {
		panic(err) // the size is ours
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// header is what stands before the sealed body.
type header struct {
	kind  kind
	from  ID
	nonce [nonceSize]byte
}

// counted returns the nonce that stands for a counter.
func counted(n uint64) (nonce [nonceSize]byte) {
	binary.BigEndian.PutUint64(nonce[:], n)
	return nonce
}

// counter returns the counter that a nonce stands for, 0 if it is none.
func (h *header) counter() uint64 {
	if [4]byte(h.nonce[8:]) != [4]byte{} {
		return 0
	}
	return binary.BigEndian.Uint64(h.nonce[:])
}

func (h *header) data(b []byte, to ID) []byte {
	return key.Info(b, labelMessage, []byte{byte(h.kind)}, h.from[:], to[:])
}

// start returns b with room for a header, for a body to be appended to.
func start(b []byte) []byte { return append(b[:0], make([]byte, headerSize)...) }

// seal finishes a message that start began. It works in place.
func (h *header) seal(aead cipher.AEAD, to ID, b []byte) []byte {
	b[0] = byte(h.kind)
	copy(b[1:], h.from[:])
	copy(b[1+len(h.from):], h.nonce[:])
	var space [96]byte
	return aead.Seal(b[:headerSize], h.nonce[:], b[headerSize:], h.data(space[:0], to))
}

// parseHeader reads what is not sealed.
func parseHeader(b []byte) (h header, err error) {
	if len(b) < headerSize+tagSize || len(b) > MaxMessage {
		return h, errMessage
	}
	h.kind, h.from, h.nonce = kind(b[0]), ID(b[1:]), [nonceSize]byte(b[1+len(ID{}):])
	return h, nil
}

// open returns the body of a message. It works in place.
func (h *header) open(aead cipher.AEAD, to ID, b []byte) ([]byte, error) {
	var space [96]byte
	body, err := aead.Open(b[headerSize:headerSize], h.nonce[:], b[headerSize:], h.data(space[:0], to))
	if err != nil {
		return nil, errMessage
	}
	return body, nil
}

// hello is the sign of life of a node.
//
// spec: bus.md#hello
type hello struct {
	public  key.DHPublic
	number  uint64
	batches uint64
	digest  [8]byte
	settled bool
	holds   []ID
}

func (h *hello) append(b []byte) []byte {
	b = append(b, h.public[:]...)
	b = binary.BigEndian.AppendUint64(b, h.number)
	b = binary.BigEndian.AppendUint64(b, h.batches)
	b = append(b, h.digest[:]...)
	flags := byte(0)
	if h.settled {
		flags = 1
	}
	b = append(b, flags)
	for _, id := range h.holds {
		b = append(b, id[:]...)
	}
	return b
}

func parseHello(b []byte) (h hello, err error) {
	rest := len(b) - helloSize
	if rest < 0 || rest%len(ID{}) != 0 || rest/len(ID{}) > maxPeers || b[helloSize-1] > 1 {
		return h, errMessage
	}
	h.public = key.DHPublic(b)
	h.number = binary.BigEndian.Uint64(b[32:])
	h.batches = binary.BigEndian.Uint64(b[40:])
	h.digest = [8]byte(b[48:])
	h.settled = b[helloSize-1] == 1
	for b = b[helloSize:]; len(b) > 0; b = b[len(ID{}):] {
		h.holds = append(h.holds, ID(b))
	}
	return h, nil
}

// count is the answer of a node to one cell.
type count struct {
	batch  uint64
	index  uint8
	echoes uint16
	lower  bool // there may be more
}

func (c count) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, c.batch)
	b = append(b, c.index)
	b = binary.BigEndian.AppendUint16(b, c.echoes)
	if c.lower {
		return append(b, 1)
	}
	return append(b, 0)
}

func parseCounts(b []byte) (all []count, err error) {
	if len(b) == 0 || len(b)%countSize != 0 || len(b) > maxCounts*countSize {
		return nil, errMessage
	}
	for ; len(b) > 0; b = b[countSize:] {
		if b[11] > 1 {
			return nil, errMessage
		}
		all = append(all, count{binary.BigEndian.Uint64(b), b[8], binary.BigEndian.Uint16(b[9:]), b[11] == 1})
	}
	return all, nil
}

// numbered splits a body into its number and the head and items that follow.
func numbered(b []byte, head, item, least, most int) (n uint64, extra, items []byte, err error) {
	if len(b) < 8+head {
		return 0, nil, nil, errMessage
	}
	n, extra, items = binary.BigEndian.Uint64(b), b[8:8+head], b[8+head:]
	if len(items)%item != 0 || len(items)/item < least || len(items)/item > most {
		return 0, nil, nil, errMessage
	}
	return n, extra, items, nil
}

// entries copies cells out of a body into dst.
func entries(dst []window.Entry, b []byte) []window.Entry {
	dst = dst[:0]
	for ; len(b) > 0; b = b[window.EntrySize:] {
		dst = append(dst, window.Entry(b))
	}
	return dst
}

// addresses returns the addresses of a body.
func addresses(b []byte) (all []wire.Address) {
	for ; len(b) > 0; b = b[wire.AddressSize:] {
		all = append(all, wire.Address(b))
	}
	return all
}
