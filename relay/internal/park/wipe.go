package park

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"reflect"
)

// Below a request lie buffers of net/http and crypto/tls through which its body
// came, and which keep it until they are used again, or for good in memory that
// is free. Nothing that those packages export reaches them, so wipe does by
// reflection, which reads fields and changes only the bytes they point at. A
// field that is missing in some later Go leaves the bytes where they are: a test
// hunts for them in a relay's process and would fail.
//
// spec: park.md#what-a-relay-keeps

// wipe overwrites what was read of a request over HTTP/1.1 and is still in the
// buffers below it. It is called before the end of the body, while nobody else
// reads the connection; what is not read yet is left as it is.
func wipe(w http.ResponseWriter) {
	conn := under(under(reflect.ValueOf(w)).FieldByName("conn"))
	if !conn.IsValid() {
		return // a test's, or somebody's around ours
	}
	if buffered := under(conn.FieldByName("bufr")); buffered.IsValid() {
		b, r, w := byteField(buffered, "buf"), intField(buffered, "r"), intField(buffered, "w")
		if 0 <= r && r <= w && w <= len(b) {
			clear(b[:r])
			clear(b[w:])
		}
	}
	secure := under(conn.FieldByName("rwc"))
	if !secure.IsValid() || secure.Type() != reflect.TypeFor[tls.Conn]() {
		return
	}
	wipeTLS(secure)
}

// wipeTLS overwrites records that were read. They lie in one buffer, opened in
// place; the last may have a part that was not read yet.
func wipeTLS(conn reflect.Value) {
	raw, input := conn.FieldByName("rawInput"), conn.FieldByName("input")
	if !raw.IsValid() || !input.IsValid() {
		return
	}
	b, off := byteField(raw, "buf"), intField(raw, "off")
	last, i := byteField(input, "s"), intField(input, "i")
	if off < 0 || off > len(b) || i < 0 || i > len(last) {
		return
	}
	left := bytes.Clone(last[i:])
	clear(b[:off])
	clear(b[len(b):cap(b)])
	copy(last[i:], left)
	clear(left)
}

// under returns what a pointer, or an interface with one in it, points at, or the
// zero Value.
func under(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v
}

// byteField returns a field of bytes, nil if there is none of that name.
func byteField(v reflect.Value, name string) []byte {
	if f := v.FieldByName(name); f.IsValid() && f.Type() == reflect.TypeFor[[]byte]() {
		return f.Bytes()
	}
	return nil
}

// intField returns a whole number, -1 if there is none of that name.
func intField(v reflect.Value, name string) int {
	if f := v.FieldByName(name); f.IsValid() && f.CanInt() {
		return int(f.Int())
	}
	return -1
}
