package roster

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"
)

// CBOR as RFC 8949, Section 4.2.1 has it, and nothing else: what is read is what
// would be written.
var (
	enc = must(cbor.CoreDetEncOptions().EncMode())
	dec = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 8, MaxArrayElements: 4096, MaxMapPairs: 64, UTF8: cbor.UTF8RejectInvalid,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("roster: " + err.Error())
	}
	return v
}

// parse reads v from b, which it must fill in the one way it is written.
func parse(b []byte, most int, v any) bool {
	if len(b) > most || dec.Unmarshal(b, v) != nil {
		return false
	}
	again, err := enc.Marshal(v)
	return err == nil && bytes.Equal(again, b)
}
