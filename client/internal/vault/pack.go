package vault

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrPack is returned for a piece that is not well-formed, or has what must not go
// over.
var ErrPack = errors.New("piece of a pack is malformed")

const (
	packNone = 0 // nothing more in this piece
	packRow  = 1
	packHead = 1 + 1 + 8 + 8 + 8 + 1 // kind ‖ table ‖ id ‖ a ‖ b ‖ length of h
)

// Packed says how far a pack is: which rows went over, and where they end. Rows
// that come into being later do not belong to it.
type Packed struct {
	Tables []Table `cbor:"1,keyasint"`
	Last   []int64 `cbor:"2,keyasint"` // by table, the greatest id that belongs to it; 0: none
	At     int     `cbor:"3,keyasint"` // place in Tables
	After  int64   `cbor:"4,keyasint"` // greatest id of it that went over
	Rows   uint64  `cbor:"5,keyasint"` // looked at so far
	Total  uint64  `cbor:"6,keyasint"`
}

// Done reports whether all went over.
func (p *Packed) Done() bool { return p.At >= len(p.Tables) }

// Of returns the greatest id of a table that belongs to the pack, 0 if none does.
func (p *Packed) Of(t Table) int64 {
	for i, o := range p.Tables {
		if o == t && i < len(p.Last) {
			return p.Last[i]
		}
	}
	return 0
}

// BeginPack notes what belongs to a pack of these tables.
func (tx *Tx) BeginPack(tables ...Table) (*Packed, error) {
	p := &Packed{Tables: tables}
	for _, t := range tables {
		last := int64(0)
		err := tx.Each(t, Query{Desc: true, Limit: 1}, func(r Row) error { last = r.ID; return nil })
		if err != nil {
			return nil, err
		}
		n, err := tx.Count(t, Query{})
		if err != nil {
			return nil, err
		}
		p.Last, p.Total = append(p.Last, last), p.Total+uint64(n)
	}
	return p, nil
}

// Pack appends to b the next rows of a pack, as many as fit into room bytes, and
// moves p behind them. keep may change a row, or leave it out. The caller commits p
// together with what it makes of the bytes.
//
// spec: link.md#pack
func (tx *Tx) Pack(p *Packed, b []byte, room int, keep func(Table, *Row) (bool, error)) ([]byte, error) {
	errRoom := errors.New("no room")
	end := len(b) + room
	for ; !p.Done(); p.At, p.After = p.At+1, 0 {
		t, last := p.Tables[p.At], p.Last[p.At]
		number, err := t.number()
		if err != nil {
			return b, err
		}
		if p.After >= last {
			continue
		}
		err = tx.Each(t, Query{AfterID: p.After, BeforeID: last + 1}, func(r Row) error {
			id := r.ID
			ok, err := keep(t, &r)
			if err != nil {
				return err
			}
			if ok {
				if len(r.H) > MaxH || packHead+len(r.H)+4+len(r.V) > room {
					return fmt.Errorf("packing %s: %w", t, ErrRow)
				}
				if len(b)+packHead+len(r.H)+4+len(r.V) > end {
					return errRoom
				}
				b = appendPacked(b, byte(number), &r)
			}
			p.After, p.Rows = id, p.Rows+1
			return nil
		})
		if err == errRoom {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

func appendPacked(b []byte, table byte, r *Row) []byte {
	b = append(b, packRow, table)
	b = binary.BigEndian.AppendUint64(b, uint64(r.ID))
	b = binary.BigEndian.AppendUint64(b, uint64(r.A))
	b = binary.BigEndian.AppendUint64(b, uint64(r.B))
	b = append(append(b, byte(len(r.H))), r.H...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.V)))
	return append(b, r.V...)
}

// PackedRow is a row of a piece.
type PackedRow struct {
	Table Table
	Row
}

// ParsePiece reads the rows of a piece, of the given tables only. Everything behind
// the last row is zero. It fails with ErrPack.
func ParsePiece(b []byte, allowed ...Table) (rows []PackedRow, err error) {
	all := tables()
	for len(b) > 0 && b[0] != packNone {
		if len(b) < packHead || b[0] != packRow || b[1] == 0 || int(b[1]) > len(all) {
			return nil, ErrPack
		}
		r := PackedRow{Table: all[b[1]-1]}
		r.ID, r.A, r.B = int64(binary.BigEndian.Uint64(b[2:])), int64(binary.BigEndian.Uint64(b[10:])), int64(binary.BigEndian.Uint64(b[18:]))
		n := int(b[26])
		if b = b[packHead:]; n > MaxH || len(b) < n+4 {
			return nil, ErrPack
		}
		if n > 0 {
			r.H = append([]byte(nil), b[:n]...)
		}
		size := int64(binary.BigEndian.Uint32(b[n:]))
		if b = b[n+4:]; size > MaxV || size > int64(len(b)) {
			return nil, ErrPack
		}
		if size > 0 {
			r.V = append([]byte(nil), b[:size]...)
		}
		b = b[size:]
		if r.ID < 1 || r.ID > maxID || !in(allowed, r.Table) {
			return nil, ErrPack
		}
		rows = append(rows, r)
	}
	for _, c := range b {
		if c != 0 {
			return nil, ErrPack
		}
	}
	return rows, nil
}

func in(all []Table, t Table) bool {
	for _, o := range all {
		if o == t {
			return true
		}
	}
	return false
}
