package commits

import (
	"reflect"
	"sync"
)

// copied is a value that shares with v only strings and runs of bytes, which nobody
// changes in place: a run of bytes that is handed out has no room behind it, so what
// is appended to it goes elsewhere.
func copied[T any](v *T) *T {
	n := *v
	if f := copier(reflect.TypeFor[T]()); f != nil {
		f(reflect.ValueOf(&n).Elem())
	}
	return &n
}

// copiers are what has to be done to a value so that it shares nothing, by type.
var copiers sync.Map

// copier is nil for a type that shares nothing once it is assigned.
func copier(t reflect.Type) func(reflect.Value) {
	if f, ok := copiers.Load(t); ok {
		return f.(func(reflect.Value))
	}
	f := newCopier(t)
	copiers.Store(t, f)
	return f
}

func newCopier(t reflect.Type) func(reflect.Value) {
	switch t.Kind() {
	case reflect.Pointer:
		each := copier(t.Elem())
		return func(v reflect.Value) {
			if v.IsNil() {
				return
			}
			n := reflect.New(t.Elem())
			n.Elem().Set(v.Elem())
			v.Set(n)
			if each != nil {
				each(n.Elem())
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return func(v reflect.Value) {
				if n := v.Len(); v.Cap() > n {
					v.SetCap(n)
				}
			}
		}
		each := copier(t.Elem())
		return func(v reflect.Value) {
			k := v.Len()
			if k == 0 {
				if v.Cap() > 0 {
					v.SetCap(0)
				}
				return
			}
			n := reflect.MakeSlice(t, k, k)
			reflect.Copy(n, v)
			v.Set(n)
			for i := 0; each != nil && i < k; i++ {
				each(n.Index(i))
			}
		}
	case reflect.Struct:
		type field struct {
			i int
			f func(reflect.Value)
		}
		var l []field
		for i := range t.NumField() {
			if f := copier(t.Field(i).Type); f != nil {
				l = append(l, field{i, f})
			}
		}
		if l == nil {
			return nil
		}
		return func(v reflect.Value) {
			for _, f := range l {
				f.f(v.Field(f.i))
			}
		}
	case reflect.Array:
		if copier(t.Elem()) != nil {
			panic("commits: a record holds " + t.String())
		}
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
		panic("commits: a record holds " + t.String())
	}
	return nil
}
