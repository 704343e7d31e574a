package vault

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// An epoch is kept in parts. What a message changes of a large group is a few hundred
// bytes of a megabyte: that megabyte has a name, and is written when it has another one.
// Epoch: A = number of the group; B = number of the epoch; H = group 16 ‖ epoch 8.
// EpochPart: A = id of the row that it is a part of; B = section × 2^32 + place.

// Sizes in bytes of what one row of EpochPart keeps: of what changes with each message,
// and of what does not.
const (
	pieceSize = 8 << 10
	blockSize = 256 << 10
)

// Sections of EpochPart. Those of messages have the id of a message's row in A.
const (
	sectionSecret  = 0 // Epoch.Secret, in pieces
	sectionBasis   = 1
	sectionEnding  = 2
	sectionMessage = 3
)

// epochRow is the value of an epoch's row.
type epochRow struct {
	Rest   *group.Epoch `cbor:"1,keyasint"` // without Secret, Basis and End
	Pieces [][]byte     `cbor:"2,keyasint"` // hashes of the pieces of Secret
	Basis  [32]byte     `cbor:"3,keyasint"` // their names
	Ending [32]byte     `cbor:"4,keyasint"`
}

func epochKey(id group.ID, epoch uint64) []byte {
	return binary.BigEndian.AppendUint64(id[:len(id):len(id)], epoch)
}

// pieceHash names a piece: what has the same name is not written again.
func pieceHash(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:16]
}

// PutEpoch writes what is new of an epoch.
func (s Store) PutEpoch(e *group.Epoch) error {
	h := epochKey(e.Group, e.Number)
	row, found, err := s.Find(Epoch, h)
	if err != nil {
		return err
	}
	var was epochRow
	if found {
		if err := decode(Epoch, row, &was); err != nil {
			return err
		}
	}
	if e.Basis == nil {
		return ErrRow
	}
	end := e.End
	if end == nil {
		end = &group.Ending{}
	}
	rest := *e
	rest.Secret = nil
	now := epochRow{Rest: &rest, Basis: e.Basis.Name(), Ending: end.Name()}
	for piece := range slices.Chunk(e.Secret, pieceSize) {
		now.Pieces = append(now.Pieces, pieceHash(piece))
	}
	id := row.ID
	if err := s.put(Epoch, &id, groupNumber(e.Group), int64(e.Number), h, &now); err != nil {
		return err
	}
	if err := s.putPieces(id, e.Secret, was.Pieces, now.Pieces); err != nil {
		return err
	}
	if now.Basis != was.Basis {
		if err := s.putBlocks(id, sectionBasis, e.Basis.Append(nil)); err != nil {
			return err
		}
		s.v.shelf.KeepBasis(e.Basis)
	}
	if now.Ending != was.Ending {
		if err := s.putBlocks(id, sectionEnding, end.Append(nil)); err != nil {
			return err
		}
		s.v.shelf.KeepEnding(end)
	}
	return nil
}

// putPieces writes the pieces of a secret that differ from those before.
func (s Store) putPieces(epoch int64, b []byte, was, now [][]byte) error {
	if slices.EqualFunc(was, now, slices.Equal) {
		return nil
	}
	have := map[int64]int64{} // place → id
	if len(was) > 0 {
		if err := s.eachPart(epoch, sectionSecret, func(row Row) error { have[row.B] = row.ID; return nil }); err != nil {
			return err
		}
	}
	for n := range max(len(was), len(now)) {
		at := int64(sectionSecret)<<32 | int64(n)
		switch {
		case n >= len(now):
			if err := s.Delete(EpochPart, have[at]); err != nil {
				return err
			}
		case n < len(was) && slices.Equal(was[n], now[n]):
		default:
			row := Row{ID: have[at], A: epoch, B: at, V: b[n*pieceSize : min(len(b), (n+1)*pieceSize)]}
			var err error
			if row.ID == 0 {
				_, err = s.Insert(EpochPart, row)
			} else {
				err = s.Put(EpochPart, row)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// putBlocks writes a section in place of what it was.
func (s Store) putBlocks(of int64, section int, b []byte) error {
	if err := s.deleteParts(of, section); err != nil {
		return err
	}
	n := int64(0)
	for block := range slices.Chunk(b, blockSize) {
		if _, err := s.Insert(EpochPart, Row{A: of, B: int64(section)<<32 | n, V: block}); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (s Store) eachPart(of int64, section int, f func(Row) error) error {
	return s.Each(EpochPart, Query{A: ptr(of), BFrom: ptr(int64(section) << 32), BTo: ptr(int64(section)<<32 | 0xffffffff)}, f)
}

func (s Store) deleteParts(of int64, sections ...int) error {
	var ids []int64
	for _, section := range sections {
		if err := s.eachPart(of, section, func(r Row) error { ids = append(ids, r.ID); return nil }); err != nil {
			return err
		}
	}
	return s.Delete(EpochPart, ids...)
}

// section reads a section.
func (s Store) section(of int64, section int) ([]byte, error) {
	var rows []Row
	if err := s.eachPart(of, section, func(row Row) error { rows = append(rows, row); return nil }); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.B, b.B) })
	var out []byte
	for i, r := range rows {
		if r.B&0xffffffff != int64(i) {
			return nil, ErrDamaged
		}
		out = append(out, r.V...)
	}
	return out, nil
}

// epochOf reads what is small of an epoch.
func epochOf(row Row) (*group.Epoch, *epochRow, error) {
	var r epochRow
	if err := decode(Epoch, row, &r); err != nil {
		return nil, nil, err
	}
	if r.Rest == nil || len(row.H) != len(r.Rest.Group)+8 {
		return nil, nil, ErrDamaged
	}
	r.Rest.Group, r.Rest.Number = group.ID(row.H), uint64(row.B)
	return r.Rest, &r, nil
}

// Epoch returns what is held of an epoch, or group.ErrUnknown.
func (s Store) Epoch(id group.ID, epoch uint64) (*group.Epoch, error) {
	row, found, err := s.Find(Epoch, epochKey(id, epoch))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, group.ErrUnknown
	}
	e, r, err := epochOf(row)
	if err != nil {
		return nil, err
	}
	if len(r.Pieces) > 0 {
		if e.Secret, err = s.section(row.ID, sectionSecret); err != nil {
			return nil, err
		}
	}
	n := 0
	for piece := range slices.Chunk(e.Secret, pieceSize) {
		if n >= len(r.Pieces) || !slices.Equal(pieceHash(piece), r.Pieces[n]) {
			return nil, ErrDamaged
		}
		n++
	}
	if n != len(r.Pieces) {
		return nil, ErrDamaged
	}
	if e.Basis, err = s.v.shelf.Basis(r.Basis, func() ([]byte, error) { return s.section(row.ID, sectionBasis) }); err != nil {
		return nil, damagedPart(err)
	}
	if e.End, err = s.v.shelf.Ending(r.Ending, func() ([]byte, error) { return s.section(row.ID, sectionEnding) }); err != nil {
		return nil, damagedPart(err)
	}
	return e, nil
}

func damagedPart(err error) error {
	if errors.Is(err, group.ErrPart) {
		return ErrDamaged
	}
	return err
}

// Epochs returns all epochs of a group in their order, without Secret, Basis and End.
func (s Store) Epochs(id group.ID) (all []*group.Epoch, err error) {
	err = s.eachOf(Epoch, id, func(row Row) error {
		e, _, err := epochOf(row)
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *group.Epoch) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// DeleteEpoch destroys what is held of an epoch.
func (s Store) DeleteEpoch(id group.ID, epoch uint64) error {
	row, found, err := s.Find(Epoch, epochKey(id, epoch))
	if err != nil || !found {
		return err
	}
	if err := s.deleteParts(row.ID, sectionSecret, sectionBasis, sectionEnding); err != nil {
		return err
	}
	return s.Delete(Epoch, row.ID)
}
