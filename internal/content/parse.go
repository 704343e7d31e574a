package content

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/internal/wire"
)

// decoding refuses what deterministic CBOR does not have, and bounds the work.
// Bare maps are read with any key, so that unknown ones can be told apart.
var decoding = cbor.DecOptions{
	DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
	MaxNestedLevels: 8, MaxArrayElements: 1024, MaxMapPairs: 64, UTF8: cbor.UTF8RejectInvalid,
}

var dec = must(decoding.DecMode())

// known has the keys of each map that this version reads, and below them the
// maps that have keys of their own.
type known map[uint64]known

const (
	keyControl = 3
	keySync    = 5
)

var keys = known{
	0:          nil,
	1:          {0: nil, 1: nil},
	2:          {0: nil, 1: nil},
	keyControl: {0: nil, 1: nil, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: nil, 8: nil, 9: nil, 10: nil},
	4:          {0: nil},
	keySync:    {0: {0: nil, 1: nil, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil}, 1: nil, 2: nil, 3: nil},
	6:          nil,
	7:          nil,
}

// Parse reads content that fills b. It fails with ErrContent. Integer keys of a
// newer version are left out, with Unknown set, as long as their values are
// deterministic CBOR too; everything else is read in the one way it is written.
//
// spec: content.md#newer-versions
func Parse(b []byte) (*Content, error) {
	if len(b) > MaxSize {
		return nil, ErrContent
	}
	var tree map[any]any
	if dec.Unmarshal(b, &tree) != nil {
		return nil, ErrContent
	}
	// The bytes must be what the encoder makes of them, unknown parts included.
	if !sameBytes(tree, b) {
		return nil, ErrContent
	}
	unknown, ok := strip(tree, keys)
	if !ok {
		return nil, ErrContent
	}
	c, err := parseKnown(tree)
	if err != nil {
		return nil, err
	}
	c.Unknown = unknown
	if !unknown && c.empty() {
		return nil, ErrContent
	}
	// And what is known must be what we would write: no field missing, none
	// that is empty in a longer way.
	again, err := enc.Marshal(c.form())
	if err != nil || !sameBytes(tree, again) {
		return nil, ErrContent
	}
	return c, nil
}

// sameBytes reports whether v is encoded as b.
func sameBytes(v any, b []byte) bool {
	again, err := enc.Marshal(v)
	return err == nil && bytes.Equal(again, b)
}

// strip takes the keys that are not known out of m and out of the known maps in
// it. It reports whether there were any, and fails on a key that is no integer.
func strip(m map[any]any, k known) (unknown, ok bool) {
	for key, v := range m {
		n, positive := key.(uint64)
		if _, negative := key.(int64); !positive && !negative {
			return false, false
		}
		below, have := k[n]
		if !positive || !have {
			delete(m, key)
			unknown = true
			continue
		}
		if inner, isMap := v.(map[any]any); isMap && below != nil {
			u, ok := strip(inner, below)
			if !ok {
				return false, false
			}
			unknown = unknown || u
			// Of a part made up of new things alone nothing is left.
			if u && (n == keyControl || n == keySync) && len(inner) == 0 {
				delete(m, key)
			}
		}
	}
	return unknown, true
}

// parseKnown reads what strip left, and checks it.
func parseKnown(tree map[any]any) (*Content, error) {
	b, err := enc.Marshal(tree)
	if err != nil {
		return nil, ErrContent
	}
	var f formContent
	if dec.Unmarshal(b, &f) != nil {
		return nil, ErrContent
	}
	c := &Content{Sent: f.Sent}
	if f.Text != nil {
		c.Text = &Text{Body: f.Text.Body, Timer: f.Text.Timer}
	}
	if a := f.Acks; a != nil {
		if len(a.IDs)%wire.MessageIDSize != 0 {
			return nil, ErrContent
		}
		c.Acks = &Acks{Highest: a.Highest}
		for ids := a.IDs; len(ids) > 0; ids = ids[wire.MessageIDSize:] {
			c.Acks.IDs = append(c.Acks.IDs, wire.MessageID(ids))
		}
	}
	if t := f.Control; t != nil {
		c.Control = &Control{Route: t.Route, RouteAck: t.RouteAck, Accept: t.Accept, Name: t.Name, Prekeys: t.Prekeys, Manifest: t.Manifest, Guest: t.Guest, Tickets: t.Tickets, Suite: t.Suite, Level: t.Level, Leaves: t.Leaves}
	}
	if f.Drop != nil {
		c.Drop = &Drop{Back: f.Drop.Back}
	}
	if f.Sync != nil {
		if c.Sync, err = f.Sync.sync(); err != nil {
			return nil, err
		}
	}
	c.Group, c.Known = f.Group, f.Known
	return c, c.check()
}
