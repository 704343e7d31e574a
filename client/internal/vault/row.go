package vault

import (
	"encoding/binary"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// Bounds of a row, in bytes.
const (
	// MaxH bounds the column that rows are found by.
	MaxH = 64
	// MaxV bounds a row's value.
	MaxV = 1 << 20
)

// Row is a row of any table. ID, A, B and H are what rows are ordered and
// found by; whoever has the file but not its key sees none of them. V is
// sealed once more. Empty and nil are the same for H and V.
type Row struct {
	ID, A, B int64
	H        []byte // at most MaxH bytes
	V        []byte // at most MaxV bytes
}

func (r *Row) check() error {
	if len(r.H) > MaxH || len(r.V) > MaxV {
		return ErrRow
	}
	return nil
}

// versionSize is the size of the version in front of a sealed value.
const versionSize = 8

// rowAD is what a value is bound to.
//
// spec: vault.md#rows
func rowAD(t Table, r *Row, version uint64) []byte {
	var n [32]byte
	binary.BigEndian.PutUint64(n[0:], uint64(r.ID))
	binary.BigEndian.PutUint64(n[8:], version)
	binary.BigEndian.PutUint64(n[16:], uint64(r.A))
	binary.BigEndian.PutUint64(n[24:], uint64(r.B))
	return key.Info(nil, labelRow, []byte(t), n[:], r.H)
}

// sealRow returns column v of r: version 8 ‖ nonce 24 ‖ ciphertext ‖ tag 16.
func (k *keys) sealRow(t Table, r *Row, version uint64, rand io.Reader) ([]byte, error) {
	b := make([]byte, versionSize, versionSize+nonceSize+len(r.V)+tagSize)
	binary.BigEndian.PutUint64(b, version)
	return seal(k.row, b, r.V, rowAD(t, r, version), rand)
}

// openRow opens column v of the row whose other columns r has, and puts the
// value into r. The version must be the one that the ledger has.
func (k *keys) openRow(t Table, r *Row, v []byte, ledger uint64) error {
	if len(v) < versionSize || binary.BigEndian.Uint64(v) != ledger {
		return ErrDamaged
	}
	plain, err := open(k.row, v[versionSize:], rowAD(t, r, ledger))
	if err != nil {
		return err
	}
	r.V = plain
	return nil
}
