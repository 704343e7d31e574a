package commits

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/wire"
)

// store is the disk of one device: tables of cells. Nothing of a device outlives a
// crash but this, and of a record only what its encoding says: a cell that was
// written before the last crash is read from its bytes.
type store struct {
	tables map[byte]*table
	life   int // counts crashes
}

// table is cells by key. Cells never change.
type table struct {
	cells  map[string]*cell
	sorted []string // keys in order; nil: to be made again
}

// cell is one value. of is the record as it was put, for who reads it before a crash.
type cell struct {
	at    uint64 // its place in the order of making, where that counts
	of    record
	life  int
	bytes []byte // nil: not encoded yet
	hash  [32]byte
}

// record is a value with an encoding.
type record interface {
	encode() []byte
	decode(b []byte) record
}

// held is a record of some type. It is never handed out, only copies of it are.
type held[T any] struct{ v *T }

func (h held[T]) encode() []byte { return pack(h.v) }
func (h held[T]) decode(b []byte) record {
	v := new(T)
	unpack(b, v)
	return held[T]{v}
}

// plain is a value of bytes.
type plain []byte

func (p plain) encode() []byte         { return p }
func (p plain) decode(b []byte) record { return plain(b) }

// encoded is what is on the disk.
func (c *cell) encoded() []byte {
	if c.bytes == nil {
		c.bytes = c.of.encode()
	}
	return c.bytes
}

// read is what a device finds in life.
func (c *cell) read(life int) record {
	if c.life != life {
		c.of, c.life = c.of.decode(c.encoded()), life
	}
	return c.of
}

// digest is a hash of what is on the disk.
func (c *cell) digest() [32]byte {
	if c.hash == ([32]byte{}) {
		h := sha256.New()
		h.Write(number(c.at))
		h.Write(c.encoded())
		h.Sum(c.hash[:0])
	}
	return c.hash
}

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

func newStore() *store { return &store{tables: map[byte]*table{}} }

// clone is a copy that does not change.
func (s *store) clone() *store {
	c := &store{tables: make(map[byte]*table, len(s.tables)), life: s.life}
	for t, rows := range s.tables {
		c.tables[t] = &table{maps.Clone(rows.cells), rows.sorted}
	}
	return c
}

func (s *store) cell(t byte, k string) *cell {
	if rows := s.tables[t]; rows != nil {
		return rows.cells[k]
	}
	return nil
}

// rows are a table's keys that begin so, in order.
func (s *store) rows(t byte, prefix string) []string {
	rows := s.tables[t]
	if rows == nil {
		return nil
	}
	if rows.sorted == nil {
		rows.sorted = make([]string, 0, len(rows.cells))
		for k := range rows.cells {
			rows.sorted = append(rows.sorted, k)
		}
		slices.Sort(rows.sorted)
	}
	l := rows.sorted[sort.SearchStrings(rows.sorted, prefix):]
	n := 0
	for n < len(l) && strings.HasPrefix(l[n], prefix) {
		n++
	}
	return l[:n:n]
}

func (s *store) put(t byte, k string, c *cell) {
	rows := s.tables[t]
	if rows == nil {
		rows = &table{cells: map[string]*cell{}}
		s.tables[t] = rows
	}
	_, there := rows.cells[k]
	if c == nil {
		delete(rows.cells, k)
	} else {
		rows.cells[k] = c
	}
	if there != (c != nil) {
		rows.sorted = nil
	}
}

// tx is one transaction: what it wrote is the store's only after commit.
type tx struct {
	s      *store
	forget bool                      // see forgetsSeen
	dirty  map[byte]map[string]*cell // nil: deleted
}

var _ group.Tx = (*tx)(nil)

func (s *store) begin() *tx { return &tx{s: s} }

// Try runs f. Whatever fails in a run ends the whole transaction: see newEngine.
func (t *tx) Try(f func() error) error { return f() }

// undo is what a transaction wrote over.
type undo struct {
	table byte
	key   string
	was   *cell
}

func (t *tx) commit() (back []undo) {
	for table, rows := range t.dirty {
		for k, c := range rows {
			back = append(back, undo{table, k, t.s.cell(table, k)})
			t.s.put(table, k, c)
		}
	}
	t.dirty = nil
	return back
}

// before is a store as it was.
func (s *store) before(back []undo) *store {
	c := s.clone()
	for _, u := range back {
		c.put(u.table, u.key, u.was)
	}
	return c
}

func (t *tx) cell(table byte, k string) *cell {
	if c, ok := t.dirty[table][k]; ok {
		return c
	}
	return t.s.cell(table, k)
}

func (t *tx) set(table byte, k string, c *cell) {
	if t.dirty == nil {
		t.dirty = map[byte]map[string]*cell{}
	}
	if t.dirty[table] == nil {
		t.dirty[table] = map[string]*cell{}
	}
	if c != nil {
		c.life = t.s.life
	}
	t.dirty[table][k] = c
}

func (t *tx) setPlain(table byte, k string, b []byte) { t.set(table, k, &cell{of: plain(b)}) }

func (t *tx) keys(table byte, prefix string) []string {
	keys := t.s.rows(table, prefix)
	if len(t.dirty[table]) == 0 {
		return keys
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { _, ok := t.dirty[table][k]; return ok })
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
	if c := t.cell(tCount, "n"); c != nil {
		n = binary.BigEndian.Uint64(c.read(t.s.life).(plain))
	}
	n++
	t.setPlain(tCount, "n", number(n))
	return n
}

func unpack(b []byte, v any) {
	if err := cbor.Unmarshal(b, v); err != nil {
		panic("commits: what was stored is not read: " + err.Error())
	}
}

// see is a record that is only looked at; nil: there is none.
func see[T any](s *store, table byte, k string) *T {
	c := s.cell(table, k)
	if c == nil {
		return nil
	}
	return c.read(s.life).(held[T]).v
}

func fetch[T any](t *tx, table byte, k string) (*T, error) {
	c := t.cell(table, k)
	if c == nil {
		return nil, group.ErrUnknown
	}
	return copied(c.read(t.s.life).(held[T]).v), nil
}

func put[T any](t *tx, table byte, k string, v *T) {
	t.set(table, k, &cell{of: held[T]{copied(v)}})
}

// putOrdered puts a record that keeps its place in the order of making.
func putOrdered[T any](t *tx, table byte, k string, v *T) {
	c := &cell{of: held[T]{copied(v)}}
	if old := t.cell(table, k); old != nil {
		c.at = old.at
	} else {
		c.at = t.order()
	}
	t.set(table, k, c)
}

// listOrdered are the keys of a table's records, oldest first.
func (t *tx) listOrdered(table byte, prefix string) []string {
	keys := slices.Clone(t.keys(table, prefix))
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(t.cell(table, a).at, t.cell(table, b).at) })
	return keys
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
	put(t, tGroup, string(r.ID[:]), r)
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

// heldEpoch is an epoch. Its Basis and End never change, and are shared.
type heldEpoch struct{ e *group.Epoch }

type epochForm struct {
	Rest   *group.Epoch `cbor:"1,keyasint"`
	Basis  []byte       `cbor:"2,keyasint"`
	Ending []byte       `cbor:"3,keyasint"`
}

func (h heldEpoch) encode() []byte {
	f := epochForm{Rest: h.e, Basis: h.e.Basis.Append(nil)}
	if h.e.End != nil {
		f.Ending = h.e.End.Append(nil)
	}
	return pack(&f)
}

func (heldEpoch) decode(b []byte) record {
	var f epochForm
	unpack(b, &f)
	var err, err2 error
	f.Rest.Basis, err = group.ParseBasis(f.Basis)
	f.Rest.End, err2 = group.ParseEnding(f.Ending)
	if err != nil || err2 != nil {
		panic("commits: what was stored is not read")
	}
	return heldEpoch{f.Rest}
}

// copied is an epoch of which nothing can be appended to in place.
func (h heldEpoch) copied() *group.Epoch {
	e := *h.e
	for _, b := range []*[]byte{&e.Secret, &e.Route, &e.Shared, &e.Slot, &e.Own, &e.Mine} {
		*b = slices.Clip(*b)
	}
	return &e
}

func (t *tx) Epoch(id group.ID, n uint64) (*group.Epoch, error) {
	c := t.cell(tEpoch, epochKey(id, n))
	if c == nil {
		return nil, group.ErrUnknown
	}
	e := c.read(t.s.life).(heldEpoch).copied()
	e.Group, e.Number = id, n
	return e, nil
}

// epoch is an epoch that is only looked at; nil: there is none.
func (s *store) epoch(k string) *group.Epoch {
	c := s.cell(tEpoch, k)
	if c == nil {
		return nil
	}
	return c.read(s.life).(heldEpoch).e
}

func (t *tx) Epochs(id group.ID) (l []*group.Epoch, err error) {
	for _, k := range t.keys(tEpoch, string(id[:])) {
		e, err := t.Epoch(id, binary.BigEndian.Uint64([]byte(k)[len(id):]))
		if err != nil {
			return nil, err
		}
		e.Secret, e.Basis, e.End = nil, nil, nil
		l = append(l, e)
	}
	return l, nil
}

func (t *tx) PutEpoch(e *group.Epoch) error {
	t.set(tEpoch, epochKey(e.Group, e.Number), &cell{of: heldEpoch{heldEpoch{e}.copied()}})
	return nil
}

func (t *tx) DeleteEpoch(id group.ID, n uint64) error {
	t.set(tEpoch, epochKey(id, n), nil)
	return nil
}

func (t *tx) message(k string) (*group.Message, error) {
	m, err := fetch[group.Message](t, tMessage, k)
	if err == nil {
		m.Group, m.ID = group.ID([]byte(k)), wire.MessageID([]byte(k)[len(m.Group):])
	}
	return m, err
}

func (t *tx) Messages(id group.ID) (l []*group.Message, err error) {
	for _, k := range t.listOrdered(tMessage, string(id[:])) {
		m, err := t.message(k)
		if err != nil {
			return nil, err
		}
		l = append(l, m)
	}
	return l, nil
}

func messageKey(id group.ID, m wire.MessageID) string { return string(id[:]) + string(m[:]) }

func (t *tx) Message(id group.ID, m wire.MessageID) (*group.Message, error) {
	return t.message(messageKey(id, m))
}

func (t *tx) PutMessage(m *group.Message) error {
	putOrdered(t, tMessage, messageKey(m.Group, m.ID), m)
	return nil
}

func (t *tx) DeleteMessage(id group.ID, m wire.MessageID) error {
	t.set(tMessage, messageKey(id, m), nil)
	return nil
}

func seenKey(origin group.ID, from group.Device, m wire.MessageID) string {
	return string(origin[:]) + string(from[:]) + string(m[:])
}

func (t *tx) Seen(origin group.ID, from group.Device, m wire.MessageID) (bool, error) {
	return !t.forget && t.cell(tSeen, seenKey(origin, from, m)) != nil, nil
}

func (t *tx) MarkSeen(origin group.ID, from group.Device, m wire.MessageID, _ int64) error {
	t.setPlain(tSeen, seenKey(origin, from, m), []byte{1})
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
	put(t, tOwn, string(p.Hash[:]), p)
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
	for _, k := range t.listOrdered(tStock, string(of[:])) {
		p, err := fetch[group.Package](t, tStock, k)
		if err != nil {
			return nil, err
		}
		l = append(l, p)
	}
	return l, nil
}

func (t *tx) PutStock(of group.Device, p *group.Package) error {
	putOrdered(t, tStock, string(of[:])+string(p.Hash[:]), p)
	return nil
}

func (t *tx) DeleteStock(of group.Device, h [32]byte) error {
	t.set(tStock, string(of[:])+string(h[:]), nil)
	return nil
}

func (t *tx) Note(name string) ([]byte, error) {
	if c := t.cell(tNote, name); c != nil {
		return bytes.Clone(c.read(t.s.life).(plain)), nil
	}
	return nil, group.ErrUnknown
}

func (t *tx) PutNote(name string, value []byte) error {
	t.setPlain(tNote, name, append([]byte{}, value...))
	return nil
}

func (t *tx) DeleteNotes(prefix string) error {
	for _, k := range slices.Clone(t.keys(tNote, prefix)) {
		t.set(tNote, k, nil)
	}
	return nil
}

func (t *tx) Notes(prefix string) ([]string, error) { return slices.Clone(t.keys(tNote, prefix)), nil }

// rowKey names a kept copy in the outbox.
func rowKey(k group.RowKey) string {
	b := bytes.Clone(k.Group[:])
	b = append(b, number(k.Epoch)...)
	b = binary.BigEndian.AppendUint32(b, k.Leaf)
	return string(append(b, k.Message[:]...))
}
