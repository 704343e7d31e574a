package vault

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/wire"
)

// What is kept of a group is found by a number that follows from its id, so that
// no row has to know another: column A of the tables below. H begins with the
// whole id, which is what counts.

// groupNumber is column A of whatever belongs to a group.
func groupNumber(id group.ID) int64 {
	h := sha256.Sum256(id[:])
	return int64(binary.BigEndian.Uint64(h[:]) >> 1)
}

// of reports whether a row's H begins with the id of a group.
func of(row Row, id group.ID) bool { return len(row.H) >= len(id) && group.ID(row.H) == id }

// eachOf calls f with the rows of a group in a table, in the order of their ids.
func (s Store) eachOf(t Table, id group.ID, f func(Row) error) error {
	return s.Each(t, Query{A: ptr(groupNumber(id))}, func(row Row) error {
		if !of(row, id) {
			return nil
		}
		return f(row)
	})
}

// place finds a row by H, and the id to write it under again: 0 if there is none.
func (s Store) place(t Table, h []byte) (int64, error) {
	row, _, err := s.Find(t, h)
	return row.ID, err
}

// Groups: A = number of the id; H = id.

// Group returns a group, or group.ErrUnknown.
func (s Store) Group(id group.ID) (*group.Record, error) {
	row, found, err := s.Find(Group, id[:])
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, group.ErrUnknown
	}
	r := &group.Record{}
	err = decode(Group, row, r)
	r.ID = id
	return r, err
}

// Groups returns all groups in the order in which they were met.
func (s Store) Groups() (all []*group.Record, err error) {
	err = s.Each(Group, Query{}, func(row Row) error {
		r := &group.Record{}
		if err := decode(Group, row, r); err != nil {
			return err
		}
		if len(row.H) != len(r.ID) {
			return ErrDamaged
		}
		r.ID = group.ID(row.H)
		all = append(all, r)
		return nil
	})
	return all, err
}

// PutGroup writes a group.
func (s Store) PutGroup(r *group.Record) error {
	n, err := s.place(Group, r.ID[:])
	if err != nil {
		return err
	}
	return s.put(Group, &n, groupNumber(r.ID), 0, r.ID[:], r)
}

// DeleteGroup destroys a group with its epochs, messages and copies. What was seen
// of it stays: it counts across successors.
func (s Store) DeleteGroup(id group.ID) error {
	epochs, err := s.Epochs(id)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if err := s.DeleteEpoch(id, e.Number); err != nil {
			return err
		}
	}
	var copies []int64
	err = s.Copies(0, func(c *Copy) error {
		if c.Group == id {
			copies = append(copies, c.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range copies {
		if err := s.DeleteCopy(n); err != nil {
			return err
		}
	}
	var messages []int64
	if err := s.eachOf(GroupMessage, id, func(row Row) error { messages = append(messages, row.ID); return nil }); err != nil {
		return err
	}
	for _, n := range messages {
		if err := s.deleteParts(n, sectionMessage); err != nil {
			return err
		}
	}
	if err := s.Delete(GroupMessage, messages...); err != nil {
		return err
	}
	return s.deleteFound(Group, id[:])
}

// Messages: A = number of the group; H = group 16 ‖ message 8.

func groupMessageKey(id group.ID, m wire.MessageID) []byte {
	return append(id[:len(id):len(id)], m[:]...)
}

func (s Store) messageOf(row Row) (*group.Message, error) {
	var r messageRow
	if err := decode(GroupMessage, row, &r); err != nil {
		return nil, err
	}
	m := r.Rest
	if m == nil || len(row.H) != len(m.Group)+len(m.ID) {
		return nil, ErrDamaged
	}
	m.Group, m.ID = group.ID(row.H), wire.MessageID(row.H[len(m.Group):])
	if r.Saw == [32]byte{} {
		return m, nil
	}
	f, err := s.v.shelf.Faces(r.Saw, func() ([]byte, error) { return s.section(row.ID, sectionMessage) })
	if err != nil {
		return nil, damagedPart(err)
	}
	m.Show(f)
	return m, nil
}

// messageRow is the value of a message's row. Who was there when it was written does
// not change with each ack: it stands in EpochPart, if there were many.
type messageRow struct {
	Rest *group.Message `cbor:"1,keyasint"`
	Saw  [32]byte       `cbor:"2,keyasint"` // name of what Rest.Saw is; zeros: it stands there
}

// sawAbove is of how many leaves Message.Saw is before it is kept apart.
const sawAbove = 32

// Messages returns the messages of ours in a group that wait for acks, oldest first.
func (s Store) Messages(id group.ID) (all []*group.Message, err error) {
	err = s.eachOf(GroupMessage, id, func(row Row) error {
		m, err := s.messageOf(row)
		all = append(all, m)
		return err
	})
	return all, err
}

// Message returns one of them, or group.ErrUnknown.
func (s Store) Message(id group.ID, m wire.MessageID) (*group.Message, error) {
	row, found, err := s.Find(GroupMessage, groupMessageKey(id, m))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, group.ErrUnknown
	}
	return s.messageOf(row)
}

// PutMessage writes one.
func (s Store) PutMessage(m *group.Message) error {
	h := groupMessageKey(m.Group, m.ID)
	row, found, err := s.Find(GroupMessage, h)
	if err != nil {
		return err
	}
	var was messageRow
	if found {
		if err := decode(GroupMessage, row, &was); err != nil {
			return err
		}
	}
	now := messageRow{Rest: m}
	if len(m.Saw) > sawAbove {
		rest := *m
		rest.Saw = nil
		now.Rest, now.Saw = &rest, m.Faces().Name()
	}
	n := row.ID
	if err := s.put(GroupMessage, &n, groupNumber(m.Group), 0, h, &now); err != nil || now.Saw == was.Saw {
		return err
	}
	if now.Saw == [32]byte{} {
		return s.deleteParts(n, sectionMessage)
	}
	s.v.shelf.KeepFaces(m.Faces())
	return s.putBlocks(n, sectionMessage, m.Faces().Append(nil))
}

// DeleteMessage deletes one.
func (s Store) DeleteMessage(id group.ID, m wire.MessageID) error {
	n, err := s.place(GroupMessage, groupMessageKey(id, m))
	if err != nil || n == 0 {
		return err
	}
	if err := s.deleteParts(n, sectionMessage); err != nil {
		return err
	}
	return s.Delete(GroupMessage, n)
}

func (s Store) deleteFound(t Table, h []byte) error {
	n, err := s.place(t, h)
	if err != nil || n == 0 {
		return err
	}
	return s.Delete(t, n)
}

// What was seen: A = 0; B = day; H = origin 16 ‖ device 32 ‖ message 8.

func groupSeenKey(origin group.ID, from group.Device, m wire.MessageID) []byte {
	return slices.Concat(origin[:], from[:], m[:])
}

// Seen reports whether a logical message of a device was taken in any group of a line.
func (s Store) Seen(origin group.ID, from group.Device, m wire.MessageID) (bool, error) {
	n, err := s.place(GroupSeen, groupSeenKey(origin, from, m))
	return n != 0, err
}

// MarkSeen notes that it was.
func (s Store) MarkSeen(origin group.ID, from group.Device, m wire.MessageID, day int64) error {
	h := groupSeenKey(origin, from, m)
	if n, err := s.place(GroupSeen, h); err != nil || n != 0 {
		return err
	}
	_, err := s.Insert(GroupSeen, Row{B: day, H: h})
	return err
}

// ForgetSeen forgets what was seen in groups before a day.
func (s Store) ForgetSeen(beforeDay int64) error {
	var ids []int64
	err := s.Each(GroupSeen, Query{A: ptr(0), BTo: ptr(beforeDay - 1)}, func(row Row) error {
		ids = append(ids, row.ID)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Delete(GroupSeen, ids...)
}

// Key packages. Own ones that were given away: A = 0; H = hash 32. Those of
// others: A = number of the device, never 0; H = device 32 ‖ hash 32.

func deviceNumber(d group.Device) int64 {
	h := sha256.Sum256(d[:])
	return int64(binary.BigEndian.Uint64(h[:])>>1) | 1
}

func ownPackageOf(row Row) (*group.OwnPackage, error) {
	p := &group.OwnPackage{}
	if err := decode(KeyPackage, row, p); err != nil {
		return nil, err
	}
	if len(row.H) != len(p.Hash) {
		return nil, ErrDamaged
	}
	p.Hash = [32]byte(row.H)
	return p, nil
}

// OwnPackage returns a key package of ours, or group.ErrUnknown.
func (s Store) OwnPackage(hash [32]byte) (*group.OwnPackage, error) {
	row, found, err := s.Find(KeyPackage, hash[:])
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, group.ErrUnknown
	}
	return ownPackageOf(row)
}

// OwnPackages returns all of ours, oldest first.
func (s Store) OwnPackages() (all []*group.OwnPackage, err error) {
	err = s.Each(KeyPackage, Query{A: ptr(0)}, func(row Row) error {
		p, err := ownPackageOf(row)
		all = append(all, p)
		return err
	})
	return all, err
}

// PutOwnPackage writes one of ours.
func (s Store) PutOwnPackage(p *group.OwnPackage) error {
	n, err := s.place(KeyPackage, p.Hash[:])
	if err != nil {
		return err
	}
	return s.put(KeyPackage, &n, 0, 0, p.Hash[:], p)
}

// DeleteOwnPackage destroys one of ours with its secrets.
func (s Store) DeleteOwnPackage(hash [32]byte) error { return s.deleteFound(KeyPackage, hash[:]) }

// Stock returns the key packages of a device that it gave us, oldest first.
func (s Store) Stock(d group.Device) (all []*group.Package, err error) {
	err = s.Each(KeyPackage, Query{A: ptr(deviceNumber(d))}, func(row Row) error {
		if len(row.H) < len(d) || group.Device(row.H) != d {
			return nil
		}
		p := &group.Package{}
		all = append(all, p)
		return decode(KeyPackage, row, p)
	})
	slices.SortStableFunc(all, func(a, b *group.Package) int { return cmp.Compare(a.Born, b.Born) })
	return all, err
}

// PutStock adds one.
func (s Store) PutStock(d group.Device, p *group.Package) error {
	h := append(d[:len(d):len(d)], p.Hash[:]...)
	n, err := s.place(KeyPackage, h)
	if err != nil {
		return err
	}
	return s.put(KeyPackage, &n, deviceNumber(d), 0, h, p)
}

// DeleteStock takes one out.
func (s Store) DeleteStock(d group.Device, hash [32]byte) error {
	return s.deleteFound(KeyPackage, append(d[:len(d):len(d)], hash[:]...))
}

var _ group.Tx = Store{}
