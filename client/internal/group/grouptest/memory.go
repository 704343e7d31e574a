// Package grouptest is test support for groups: a store in memory with the semantics
// that a vault has, and the suite that every store of groups passes.
//
// It is no part of what people run, and drives no engine.
package grouptest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Store is where groups are kept.
type Store interface {
	// Update runs f in a transaction: all that it put counts when it returns nil, and
	// nothing of it otherwise.
	Update(f func(group.Tx) error) error
}

// Memory is a Store in memory. The zero value is empty. It keeps bytes: what a
// transaction gets is its own copy.
type Memory struct {
	mu    sync.Mutex
	data  map[string][]byte
	shelf group.Shelf // of what lies in data
}

// Update runs f in a transaction.
func (m *Memory) Update(f func(group.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{maps.Clone(m.data), &m.shelf}
	if tx.data == nil {
		tx.data = map[string][]byte{}
	}
	if err := f(tx); err != nil {
		return err
	}
	m.data = tx.data
	return nil
}

// Try runs f, and undoes what it put if it fails.
func (t *memoryTx) Try(f func() error) error {
	before := maps.Clone(t.data)
	err := f()
	if err != nil {
		t.data = before
	}
	return err
}

// Clone is a copy of the store as it is: a disk that can be put back.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{data: maps.Clone(m.data)}
}

// Size is how many bytes are kept, names included.
func (m *Memory) Size() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, v := range m.data {
		n += len(k) + len(v)
	}
	return n
}

// Dump calls f with all that is kept.
func (m *Memory) Dump(f func(name string, value []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(m.data)) {
		f(k, m.data[k])
	}
}

type memoryTx struct {
	data  map[string][]byte
	shelf *group.Shelf
}

func name(kind string, parts ...any) string {
	b := kind
	for _, p := range parts {
		switch p := p.(type) {
		case group.ID:
			b += "/" + hex.EncodeToString(p[:])
		case group.Device:
			b += "/" + hex.EncodeToString(p[:])
		case wire.MessageID:
			b += "/" + hex.EncodeToString(p[:])
		case [32]byte:
			b += "/" + hex.EncodeToString(p[:])
		case uint64:
			b += fmt.Sprintf("/%020d", p)
		default:
			panic("grouptest: no such part of a name")
		}
	}
	return b
}

func (t *memoryTx) get(name string, v any) error {
	b, ok := t.data[name]
	if !ok {
		return group.ErrUnknown
	}
	return cbor.Unmarshal(b, v)
}

func (t *memoryTx) put(name string, v any) error {
	b, err := cbor.Marshal(v)
	if err == nil {
		t.data[name] = b
	}
	return err
}

func (t *memoryTx) under(prefix string) []string {
	var out []string
	for k := range t.data {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (t *memoryTx) drop(prefix string) {
	for _, k := range t.under(prefix) {
		delete(t.data, k)
	}
}

func (t *memoryTx) Group(id group.ID) (*group.Record, error) {
	r := &group.Record{ID: id}
	return r, t.get(name("group", id), r)
}

func (t *memoryTx) Groups() ([]*group.Record, error) {
	var out []*group.Record
	for _, k := range t.under("group/") {
		var id group.ID
		if _, err := hex.Decode(id[:], []byte(strings.TrimPrefix(k, "group/"))); err != nil {
			return nil, err
		}
		r, err := t.Group(id)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (t *memoryTx) PutGroup(r *group.Record) error { return t.put(name("group", r.ID), r) }

func (t *memoryTx) DeleteGroup(id group.ID) error {
	delete(t.data, name("group", id))
	for _, kind := range []string{"epoch", "basis", "ending"} {
		t.drop(name(kind, id) + "/")
	}
	t.drop(name("message", id) + "/")
	return nil
}

// epoch is an epoch with the names of its parts.
type epoch struct {
	Value  *group.Epoch `cbor:"1,keyasint"`
	Basis  [32]byte     `cbor:"2,keyasint"`
	Ending [32]byte     `cbor:"3,keyasint"`
}

func (t *memoryTx) Epoch(id group.ID, n uint64) (*group.Epoch, error) {
	var v epoch
	if err := t.get(name("epoch", id, n), &v); err != nil {
		return nil, err
	}
	e := v.Value
	e.Group, e.Number = id, n
	lies := func(kind string) func() ([]byte, error) {
		return func() ([]byte, error) { return t.data[name(kind, id, n)], nil }
	}
	var err, err2 error
	e.Basis, err = t.shelf.Basis(v.Basis, lies("basis"))
	e.End, err2 = t.shelf.Ending(v.Ending, lies("ending"))
	return e, errors.Join(err, err2)
}

func (t *memoryTx) Epochs(id group.ID) ([]*group.Epoch, error) {
	var out []*group.Epoch
	for _, k := range t.under(name("epoch", id) + "/") {
		var v epoch
		if err := t.get(k, &v); err != nil {
			return nil, err
		}
		v.Value.Group, v.Value.Secret = id, nil
		if _, err := fmt.Sscanf(k[strings.LastIndexByte(k, '/')+1:], "%d", &v.Value.Number); err != nil {
			return nil, err
		}
		out = append(out, v.Value)
	}
	return out, nil
}

func (t *memoryTx) PutEpoch(e *group.Epoch) error {
	if len(e.Secret) == 0 || e.Basis == nil {
		return errors.New("epoch without its secrets, or its basis")
	}
	end := e.End
	if end == nil {
		end = &group.Ending{}
	}
	var old epoch
	err := t.get(name("epoch", e.Group, e.Number), &old)
	if err != nil && !errors.Is(err, group.ErrUnknown) {
		return err
	}
	v := epoch{e, e.Basis.Name(), end.Name()}
	if v.Basis != old.Basis {
		t.data[name("basis", e.Group, e.Number)] = e.Basis.Append(nil)
		t.shelf.KeepBasis(e.Basis)
	}
	if v.Ending != old.Ending {
		t.data[name("ending", e.Group, e.Number)] = end.Append(nil)
		t.shelf.KeepEnding(end)
	}
	return t.put(name("epoch", e.Group, e.Number), &v)
}

func (t *memoryTx) DeleteEpoch(id group.ID, n uint64) error {
	for _, kind := range []string{"epoch", "basis", "ending"} {
		delete(t.data, name(kind, id, n))
	}
	return nil
}

// message keeps the order in which messages were first put.
type message struct {
	Order int64          `cbor:"1,keyasint"`
	Value *group.Message `cbor:"2,keyasint"`
}

func (t *memoryTx) Messages(id group.ID) ([]*group.Message, error) {
	var all []message
	for _, k := range t.under(name("message", id) + "/") {
		var m message
		if err := t.get(k, &m); err != nil {
			return nil, err
		}
		m.Value.Group = id
		if _, err := hex.Decode(m.Value.ID[:], []byte(k[strings.LastIndexByte(k, '/')+1:])); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b message) int { return int(a.Order - b.Order) })
	var out []*group.Message
	for _, m := range all {
		out = append(out, m.Value)
	}
	return out, nil
}

func (t *memoryTx) Message(id group.ID, m wire.MessageID) (*group.Message, error) {
	var v message
	if err := t.get(name("message", id, m), &v); err != nil {
		return nil, err
	}
	v.Value.Group, v.Value.ID = id, m
	return v.Value, nil
}

func (t *memoryTx) PutMessage(m *group.Message) error {
	n := name("message", m.Group, m.ID)
	var old message
	err := t.get(n, &old)
	if errors.Is(err, group.ErrUnknown) {
		var last struct {
			N int64 `cbor:"1,keyasint"`
		}
		if err := t.get("order", &last); err != nil && !errors.Is(err, group.ErrUnknown) {
			return err
		}
		last.N++
		old.Order = last.N
		err = t.put("order", &last)
	}
	if err != nil {
		return err
	}
	return t.put(n, &message{old.Order, m})
}

func (t *memoryTx) DeleteMessage(id group.ID, m wire.MessageID) error {
	delete(t.data, name("message", id, m))
	return nil
}

func (t *memoryTx) Seen(origin group.ID, from group.Device, m wire.MessageID) (bool, error) {
	_, ok := t.data[name("seen", origin, from, m)]
	return ok, nil
}

func (t *memoryTx) MarkSeen(origin group.ID, from group.Device, m wire.MessageID, day int64) error {
	return t.put(name("seen", origin, from, m), day)
}

func (t *memoryTx) OwnPackage(hash [32]byte) (*group.OwnPackage, error) {
	p := &group.OwnPackage{Hash: hash}
	return p, t.get(name("own", hash), p)
}

func (t *memoryTx) PutOwnPackage(p *group.OwnPackage) error { return t.put(name("own", p.Hash), p) }

func (t *memoryTx) DeleteOwnPackage(hash [32]byte) error {
	delete(t.data, name("own", hash))
	return nil
}

func (t *memoryTx) OwnPackages() ([]*group.OwnPackage, error) {
	var out []*group.OwnPackage
	for _, k := range t.under("own/") {
		p := &group.OwnPackage{}
		if err := t.get(k, p); err != nil {
			return nil, err
		}
		if _, err := hex.Decode(p.Hash[:], []byte(strings.TrimPrefix(k, "own/"))); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (t *memoryTx) Stock(of group.Device) ([]*group.Package, error) {
	var out []*group.Package
	for _, k := range t.under(name("stock", of) + "/") {
		p := &group.Package{}
		if err := t.get(k, p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b *group.Package) int { return int(a.Born - b.Born) })
	return out, nil
}

func (t *memoryTx) PutStock(of group.Device, p *group.Package) error {
	return t.put(name("stock", of, p.Hash), p)
}

func (t *memoryTx) DeleteStock(of group.Device, hash [32]byte) error {
	delete(t.data, name("stock", of, hash))
	return nil
}

func (t *memoryTx) Note(n string) ([]byte, error) {
	b, ok := t.data["note/"+n]
	if !ok {
		return nil, group.ErrUnknown
	}
	return slices.Clone(b), nil
}

func (t *memoryTx) PutNote(n string, value []byte) error {
	if len(n) > 128 {
		return errors.New("name of a note is too long")
	}
	t.data["note/"+n] = slices.Clone(value)
	return nil
}

func (t *memoryTx) DeleteNotes(prefix string) error {
	t.drop("note/" + prefix)
	return nil
}

func (t *memoryTx) Notes(prefix string) ([]string, error) {
	out := t.under("note/" + prefix)
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], "note/")
	}
	return out, nil
}
