package commits

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/wire"
)

// store is the disk of one device: tables of bytes. Nothing of a device outlives a
// crash but this.
type store struct{ tables map[byte]map[string][]byte }

// Tables.
const (
	tGroup   = 'g'
	tEpoch   = 'e'
	tMessage = 'm'
	tSeen    = 's'
	tOwn     = 'o'
	tStock   = 'k'
	tRow     = 'r' // copies that wait for acks
	tWord    = 'w' // words that wait for acks
	tHeard   = 'h' // words that were taken
	tCount   = 'n'
	tNote    = 't'
)

func newStore() *store { return &store{tables: map[byte]map[string][]byte{}} }

// clone is a copy that does not change; values are never changed in place.
func (s *store) clone() *store {
	c := newStore()
	for t, rows := range s.tables {
		c.tables[t] = maps.Clone(rows)
	}
	return c
}

// rows are a table's values in the order of their keys, of keys that begin so.
func (s *store) rows(table byte, prefix string) (keys []string) {
	for k := range s.tables[table] {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// tx is one transaction: what it wrote is the store's only after commit.
type tx struct {
	s     *store
	dirty map[byte]map[string][]byte // nil: deleted
}

var _ group.Tx = (*tx)(nil)

func (s *store) begin() *tx { return &tx{s: s, dirty: map[byte]map[string][]byte{}} }

func (t *tx) commit() {
	for table, rows := range t.dirty {
		if t.s.tables[table] == nil {
			t.s.tables[table] = map[string][]byte{}
		}
		for k, v := range rows {
			if v == nil {
				delete(t.s.tables[table], k)
			} else {
				t.s.tables[table][k] = v
			}
		}
	}
	t.dirty = map[byte]map[string][]byte{}
}

func (t *tx) get(table byte, k string) []byte {
	if v, ok := t.dirty[table][k]; ok {
		return v
	}
	return t.s.tables[table][k]
}

func (t *tx) set(table byte, k string, v []byte) {
	if t.dirty[table] == nil {
		t.dirty[table] = map[string][]byte{}
	}
	t.dirty[table][k] = v
}

func (t *tx) keys(table byte, prefix string) []string {
	keys := t.s.rows(table, prefix)
	keys = slices.DeleteFunc(keys, func(k string) bool { _, ok := t.dirty[table][k]; return ok })
	for k, v := range t.dirty[table] {
		if v != nil && strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// keysOf are the keys of a table that were written.
func (t *tx) keysOf(table byte) (keys []string) {
	for k := range t.dirty[table] {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// order gives rows that are listed oldest first their place.
func (t *tx) order() uint64 {
	var n uint64
	if v := t.get(tCount, "n"); v != nil {
		n = binary.BigEndian.Uint64(v)
	}
	n++
	t.set(tCount, "n", number(n))
	return n
}

func unpack(b []byte, v any) {
	if err := cbor.Unmarshal(b, v); err != nil {
		panic("commits: what was stored is not read: " + err.Error())
	}
}

func fetch[T any](t *tx, table byte, k string) (*T, error) {
	b := t.get(table, k)
	if b == nil {
		return nil, group.ErrUnknown
	}
	v := new(T)
	unpack(b, v)
	return v, nil
}

// ordered are values with their place in the order of making.
type ordered struct {
	At    uint64
	Value []byte
}

func (t *tx) setOrdered(table byte, k string, v any) {
	o := ordered{Value: pack(v)}
	if old := t.get(table, k); old != nil {
		var was ordered
		unpack(old, &was)
		o.At = was.At
	} else {
		o.At = t.order()
	}
	t.set(table, k, pack(o))
}

type keyed struct {
	key string
	ordered
}

func (t *tx) listOrdered(table byte, prefix string) (l []keyed) {
	for _, k := range t.keys(table, prefix) {
		o := keyed{key: k}
		unpack(t.get(table, k), &o.ordered)
		l = append(l, o)
	}
	slices.SortFunc(l, func(a, b keyed) int { return cmp.Compare(a.At, b.At) })
	return l
}

func (t *tx) Group(id group.ID) (*group.Record, error) {
	r, err := fetch[group.Record](t, tGroup, string(id[:]))
	if err == nil {
		r.ID = id
	}
	return r, err
}

func (t *tx) Groups() (l []*group.Record, err error) {
	for _, k := range t.keys(tGroup, "") {
		r, err := t.Group(group.ID([]byte(k)))
		if err != nil {
			return nil, err
		}
		l = append(l, r)
	}
	return l, nil
}

func (t *tx) PutGroup(r *group.Record) error {
	t.set(tGroup, string(r.ID[:]), pack(r))
	return nil
}

func (t *tx) DeleteGroup(id group.ID) error {
	t.set(tGroup, string(id[:]), nil)
	for _, table := range []byte{tEpoch, tMessage, tRow} {
		for _, k := range t.keys(table, string(id[:])) {
			t.set(table, k, nil)
		}
	}
	return nil
}

func epochKey(id group.ID, n uint64) string { return string(id[:]) + string(number(n)) }

func (t *tx) Epoch(id group.ID, n uint64) (*group.Epoch, error) {
	e, err := fetch[group.Epoch](t, tEpoch, epochKey(id, n))
	if err == nil {
		e.Group, e.Number = id, n
	}
	return e, err
}

func (t *tx) Epochs(id group.ID) (l []*group.Epoch, err error) {
	for _, k := range t.keys(tEpoch, string(id[:])) {
		e, err := t.Epoch(id, binary.BigEndian.Uint64([]byte(k)[len(id):]))
		if err != nil {
			return nil, err
		}
		e.Tree, e.Past = nil, nil
		l = append(l, e)
	}
	return l, nil
}

func (t *tx) PutEpoch(e *group.Epoch) error {
	t.set(tEpoch, epochKey(e.Group, e.Number), pack(e))
	return nil
}

func (t *tx) DeleteEpoch(id group.ID, n uint64) error {
	t.set(tEpoch, epochKey(id, n), nil)
	return nil
}

func (t *tx) Messages(id group.ID) (l []*group.Message, err error) {
	for _, o := range t.listOrdered(tMessage, string(id[:])) {
		m := new(group.Message)
		unpack(o.Value, m)
		m.Group, m.ID = id, wire.MessageID([]byte(o.key)[len(id):])
		l = append(l, m)
	}
	return l, nil
}

func (t *tx) Message(id group.ID, m wire.MessageID) (*group.Message, error) {
	o, err := fetch[ordered](t, tMessage, string(id[:])+string(m[:]))
	if err != nil {
		return nil, err
	}
	v := new(group.Message)
	unpack(o.Value, v)
	v.Group, v.ID = id, m
	return v, nil
}

func (t *tx) PutMessage(m *group.Message) error {
	t.setOrdered(tMessage, string(m.Group[:])+string(m.ID[:]), m)
	return nil
}

func (t *tx) DeleteMessage(id group.ID, m wire.MessageID) error {
	t.set(tMessage, string(id[:])+string(m[:]), nil)
	return nil
}

func seenKey(origin group.ID, from group.Device, m wire.MessageID) string {
	return string(origin[:]) + string(from[:]) + string(m[:])
}

func (t *tx) Seen(origin group.ID, from group.Device, m wire.MessageID) (bool, error) {
	return t.get(tSeen, seenKey(origin, from, m)) != nil, nil
}

func (t *tx) MarkSeen(origin group.ID, from group.Device, m wire.MessageID, _ int64) error {
	t.set(tSeen, seenKey(origin, from, m), []byte{1})
	return nil
}

func (t *tx) OwnPackage(h [32]byte) (*group.OwnPackage, error) {
	p, err := fetch[group.OwnPackage](t, tOwn, string(h[:]))
	if err == nil {
		p.Hash = h
	}
	return p, err
}

func (t *tx) PutOwnPackage(p *group.OwnPackage) error {
	t.set(tOwn, string(p.Hash[:]), pack(p))
	return nil
}

func (t *tx) DeleteOwnPackage(h [32]byte) error {
	t.set(tOwn, string(h[:]), nil)
	return nil
}

func (t *tx) OwnPackages() (l []*group.OwnPackage, err error) {
	for _, k := range t.keys(tOwn, "") {
		p, err := t.OwnPackage([32]byte([]byte(k)))
		if err != nil {
			return nil, err
		}
		l = append(l, p)
	}
	return l, nil
}

func (t *tx) Stock(of group.Device) (l []*group.Package, err error) {
	for _, o := range t.listOrdered(tStock, string(of[:])) {
		p := new(group.Package)
		unpack(o.Value, p)
		l = append(l, p)
	}
	return l, nil
}

func (t *tx) PutStock(of group.Device, p *group.Package) error {
	t.setOrdered(tStock, string(of[:])+string(p.Hash[:]), p)
	return nil
}

func (t *tx) DeleteStock(of group.Device, h [32]byte) error {
	t.set(tStock, string(of[:])+string(h[:]), nil)
	return nil
}

func (t *tx) Note(name string) ([]byte, error) {
	if v := t.get(tNote, name); v != nil {
		return bytes.Clone(v), nil
	}
	return nil, group.ErrUnknown
}

func (t *tx) PutNote(name string, value []byte) error {
	t.set(tNote, name, append([]byte{}, value...))
	return nil
}

func (t *tx) DeleteNotes(prefix string) error {
	for _, k := range t.keys(tNote, prefix) {
		t.set(tNote, k, nil)
	}
	return nil
}

func (t *tx) Notes(prefix string) ([]string, error) { return t.keys(tNote, prefix), nil }

// rowKey names a kept copy in the outbox.
func rowKey(k group.RowKey) string {
	b := bytes.Clone(k.Group[:])
	b = append(b, number(k.Epoch)...)
	b = binary.BigEndian.AppendUint32(b, k.Leaf)
	return string(append(b, k.Message[:]...))
}
