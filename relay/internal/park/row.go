package park

import (
	"crypto/sha256"
	"io"
	"time"

	"golang.org/x/crypto/nacl/secretbox"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes in bytes.
const (
	KeySize  = 32
	BodySize = wire.CellSize + secretbox.Overhead // 1,296
)

const (
	labelRow  = "tacet/v1/park/row"  // parts: id key 32, address 32, cell 1,280
	labelBody = "tacet/v1/park/body" // parts: row id 16, address 32
)

// Key is the key of an epoch, or that of row ids. Whoever holds one wipes it
// when it is over: so it is an array of its own and no part of a cipher, which
// could not be wiped.
type Key [KeySize]byte

// NewKey draws a key.
func NewKey(random io.Reader) (*Key, error) {
	k := new(Key)
	_, err := io.ReadFull(random, k[:])
	return k, err
}

// Wipe overwrites the key.
func (k *Key) Wipe() { clear(k[:]) }

// String keeps the key out of texts.
func (k *Key) String() string { return "[secret]" }

// Epoch is a UTC day as a number, unix seconds / 86,400: the last on which the
// rows of an epoch can be read.
type Epoch int64

// EpochOf returns the epoch of rows that are over at a unix second.
//
// spec: park.md#what-a-relay-keeps
func EpochOf(until int64) Epoch { return Epoch((until - 1) / day) }

// Over reports whether every row of the epoch is over at now.
func (e Epoch) Over(now time.Time) bool { return now.Unix() >= int64(e+1)*day }

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// Until returns when a row is over that comes now and is to live so many hours,
// of at most so many.
//
// spec: park.md#life
func Until(now time.Time, hours, most uint16) int64 {
	life := int64(min(max(hours, wire.MinParkHours), most)) * hour
	unit := int64(minute)
	switch {
	case life >= 2*day:
		unit = day
	case life >= 2*hour:
		unit = hour
	}
	return (now.Unix() + life + unit - 1) / unit * unit
}

// Last returns the latest time at which a row can be over that comes now, where
// none lives longer than so many hours: a day for the rounding and another for
// nodes whose clocks differ.
func Last(now time.Time, most uint16) time.Time {
	return now.Add(time.Duration(most)*time.Hour + 48*time.Hour)
}

// RowID returns the id of a cell at an address, under the id key of the store.
func RowID(ids *Key, a *wire.Address, c *wire.Cell) wire.RowID {
	var space [1536]byte // key.Hash would leave a copy of the cell on the heap
	sum := sha256.Sum256(key.Info(space[:0], labelRow, ids[:], a[:], c[:]))
	clear(space[:])
	return wire.RowID(sum[:wire.RowIDSize])
}

// AppendBody appends the cell as a store keeps it, BodySize bytes.
func AppendBody(b []byte, epoch *Key, id *wire.RowID, a *wire.Address, c *wire.Cell) []byte {
	nonce := bodyNonce(id, a)
	return secretbox.Seal(b, c[:], &nonce, (*[KeySize]byte)(epoch))
}

// OpenBody opens a body into c. It reports whether it is one of this key, id
// and address.
func OpenBody(c *wire.Cell, body []byte, epoch *Key, id *wire.RowID, a *wire.Address) bool {
	if len(body) != BodySize {
		return false
	}
	nonce := bodyNonce(id, a)
	_, ok := secretbox.Open(c[:0], body, &nonce, (*[KeySize]byte)(epoch))
	return ok
}

// bodyNonce is never used for two cells under one key: the id is a hash of the cell.
func bodyNonce(id *wire.RowID, a *wire.Address) (nonce [24]byte) {
	sum := key.Hash(labelBody, id[:], a[:])
	copy(nonce[:], sum[:])
	return nonce
}
