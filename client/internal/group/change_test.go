package group

import (
	"reflect"
	"testing"
	"time"
)

// TestNothingOfAChangeIsDropped: whatever one group's part of a call changes is in the
// whole, fields that are yet to come included.
func TestNothingOfAChangeIsDropped(t *testing.T) {
	of := reflect.TypeFor[Change]()
	for i := range of.NumField() {
		part, all := &Change{}, &Change{}
		switch f := reflect.ValueOf(part).Elem().Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.Set(reflect.ValueOf(time.Unix(1, 0)))
		}
		all.add(part)
		if reflect.ValueOf(all).Elem().Field(i).IsZero() {
			t.Errorf("%s of a part is not in the whole", of.Field(i).Name)
		}
	}
}
