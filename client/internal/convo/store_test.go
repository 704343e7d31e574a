package convo

import (
	"reflect"
	"testing"
)

// Two fields with one key would overwrite each other in the vault without a word.
func TestEveryFieldHasAKeyOfItsOwn(t *testing.T) {
	for _, v := range []any{Event{}, Row{}, WakeRecord{}, GivenTicket{}, HeldTicket{}} {
		seen := map[string]string{}
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			f := typ.Field(i)
			key := f.Tag.Get("cbor")
			if key == "-" {
				continue
			}
			if key == "" || seen[key] != "" {
				t.Errorf("%s: %s and %q have the key %q", typ.Name(), f.Name, seen[key], key)
			}
			seen[key] = f.Name
		}
	}
}
