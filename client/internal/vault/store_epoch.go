package vault

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// An epoch is kept in parts. The tree of a large group is a megabyte, of which a
// message changes a few hundred bytes: only the pieces that are other than before
// are written. Epoch: A = number of the group; B = number of the epoch; H = group
// 16 ‖ epoch 8. EpochPart: A = id of the epoch's row; B = section × 2^32 + place.

// pieceSize is how much of a section one row of EpochPart keeps, in bytes.
const pieceSize = 8 << 10

// Sections of an epoch that have rows of their own.
const (
	sectionTree   = 0
	sectionPast   = 1
	sectionPeople = 2 // roster and routes
	sectionCommit = 3 // what ended it, and what may
	sectionCount  = 4
)

// epochRow is the value of an epoch's row.
type epochRow struct {
	Rest   *group.Epoch           `cbor:"1,keyasint"` // without what stands in sections
	Pieces [sectionCount][][]byte `cbor:"2,keyasint"` // hashes of the pieces of each section
}

func epochKey(id group.ID, epoch uint64) []byte {
	return binary.BigEndian.AppendUint64(id[:len(id):len(id)], epoch)
}

// split takes an epoch apart.
func split(e *group.Epoch) (rest *group.Epoch, sections [sectionCount][]byte, err error) {
	c := *e
	sections[sectionTree], sections[sectionPast] = e.Tree, e.Past
	c.Tree, c.Past = nil, nil
	if len(e.Roster)+len(e.Routes) > 0 {
		if sections[sectionPeople], err = cbor.Marshal(&group.Epoch{Roster: e.Roster, Routes: e.Routes}); err != nil {
			return nil, sections, err
		}
	}
	c.Roster, c.Routes = nil, nil
	if e.Staged != nil || len(e.Commit) > 0 {
		if sections[sectionCommit], err = cbor.Marshal(&group.Epoch{Staged: e.Staged, Commit: e.Commit}); err != nil {
			return nil, sections, err
		}
	}
	c.Staged, c.Commit = nil, nil
	return &c, sections, nil
}

// pieceHash names a piece: what has the same name is not written again.
func pieceHash(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:16]
}

// PutEpoch writes an epoch.
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
	rest, sections, err := split(e)
	if err != nil {
		return err
	}
	now := epochRow{Rest: rest}
	for i, b := range sections {
		for piece := range slices.Chunk(b, pieceSize) {
			now.Pieces[i] = append(now.Pieces[i], pieceHash(piece))
		}
	}
	id := row.ID
	if err := s.put(Epoch, &id, groupNumber(e.Group), int64(e.Number), h, &now); err != nil {
		return err
	}
	for i, b := range sections {
		if err := s.putSection(id, i, b, was.Pieces[i], now.Pieces[i]); err != nil {
			return err
		}
	}
	return nil
}

// putSection writes the pieces of a section that differ from those before.
func (s Store) putSection(epoch int64, section int, b []byte, was, now [][]byte) error {
	if slices.EqualFunc(was, now, slices.Equal) {
		return nil
	}
	have := map[int64]int64{} // place → id
	if len(was) > 0 {
		err := s.eachPiece(epoch, section, func(row Row) error { have[row.B] = row.ID; return nil })
		if err != nil {
			return err
		}
	}
	for n := range max(len(was), len(now)) {
		at := int64(section)<<32 | int64(n)
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

func (s Store) eachPiece(epoch int64, section int, f func(Row) error) error {
	return s.Each(EpochPart, Query{A: ptr(epoch), BFrom: ptr(int64(section) << 32), BTo: ptr(int64(section)<<32 | 0xffffffff)}, f)
}

// section reads a section.
func (s Store) section(epoch int64, section int, pieces [][]byte) ([]byte, error) {
	if len(pieces) == 0 {
		return nil, nil
	}
	var rows []Row
	if err := s.eachPiece(epoch, section, func(row Row) error { rows = append(rows, row); return nil }); err != nil {
		return nil, err
	}
	if len(rows) != len(pieces) {
		return nil, ErrDamaged
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.B, b.B) })
	var out []byte
	for _, r := range rows {
		out = append(out, r.V...)
	}
	return out, nil
}

// epochOf reads an epoch; with secrets also tree and past.
func (s Store) epochOf(row Row, secrets bool) (*group.Epoch, error) {
	var r epochRow
	if err := decode(Epoch, row, &r); err != nil {
		return nil, err
	}
	if r.Rest == nil || len(row.H) != len(r.Rest.Group)+8 {
		return nil, ErrDamaged
	}
	e := r.Rest
	e.Group, e.Number = group.ID(row.H), uint64(row.B)
	for i, into := range [sectionCount]func([]byte) error{
		sectionTree: func(b []byte) error { e.Tree = b; return nil },
		sectionPast: func(b []byte) error { e.Past = b; return nil },
		sectionPeople: func(b []byte) error {
			var p group.Epoch
			err := cbor.Unmarshal(b, &p)
			e.Roster, e.Routes = p.Roster, p.Routes
			return err
		},
		sectionCommit: func(b []byte) error {
			var p group.Epoch
			err := cbor.Unmarshal(b, &p)
			e.Staged, e.Commit = p.Staged, p.Commit
			return err
		},
	} {
		if len(r.Pieces[i]) == 0 || !secrets && (i == sectionTree || i == sectionPast) {
			continue
		}
		b, err := s.section(row.ID, i, r.Pieces[i])
		if err != nil {
			return nil, err
		}
		if into(b) != nil {
			return nil, ErrDamaged
		}
	}
	return e, nil
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
	return s.epochOf(row, true)
}

// Epochs returns all epochs of a group in their order, without tree and past.
func (s Store) Epochs(id group.ID) (all []*group.Epoch, err error) {
	err = s.eachOf(Epoch, id, func(row Row) error {
		e, err := s.epochOf(row, false)
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
	var parts []int64
	if err := s.Each(EpochPart, Query{A: ptr(row.ID)}, func(r Row) error { parts = append(parts, r.ID); return nil }); err != nil {
		return err
	}
	if err := s.Delete(EpochPart, parts...); err != nil {
		return err
	}
	return s.Delete(Epoch, row.ID)
}
