package key

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// mark is a secret's content that cannot appear by chance in any notation.
var mark = bytes.Repeat([]byte{0xa7, 0x5c, 0x33, 0xd9}, 16)

func marked[R Role](t testing.TB) Secret[R] {
	t.Helper()
	var r R
	s, err := New[R](mark[:r.size()])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaks reports whether text shows the marked bytes in a notation that fmt has.
func leaks(text string) bool {
	text = strings.ToLower(text)
	for _, form := range []string{
		"a75c33d9", "a7 5c 33 d9", "167 92 51 217", "0xa7, 0x5c, 0x33, 0xd9", "167,92,51,217", string(mark[:4]),
		"10100111 1011100 110011", "247 134 63 331", "p1wz2adcm9k", `\xa7\\3\xd9`,
	} {
		if strings.Contains(text, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

// Shapes in which a secret sits in other people's structs. fmt calls no methods
// on what is not exported.
type (
	inside  struct{ s Route }
	deeper  struct{ in *inside }
	open    struct{ S Route }
	several struct {
		list []Route
		m    map[string]KEM
		a    any
	}
	// naive is how a secret would be without the pointers: the control.
	naive struct{ b [32]byte }
	// once is how it would be behind a single pointer.
	once struct{ b *[64]byte }
)

func shapes(t testing.TB) map[string]any {
	s, k := marked[RouteRole](t), marked[KEMRole](t)
	return map[string]any{
		"secret": s, "pointer": &s, "inside": inside{s}, "pointer to inside": &inside{s}, "deeper": deeper{&inside{s}},
		"pointer to deeper": &deeper{&inside{s}}, "exported": open{s}, "several": several{[]Route{s}, map[string]KEM{"k": k}, s},
		"slice": []Route{s}, "slice of pointers": []*inside{{s}}, "map": map[int]inside{1: {s}}, "any": []any{s, inside{s}},
	}
}

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%#x", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%p", "%w", "%T", "%!", "%5.2v"}

func TestNothingPrintsASecret(t *testing.T) {
	for name, v := range shapes(t) {
		for _, verb := range verbs {
			if text := fmt.Sprintf(verb, v); leaks(text) {
				t.Errorf("%s printed with %s: %s", name, verb, text)
			}
		}
		if text := fmt.Sprint(v) + fmt.Sprintln(v) + fmt.Errorf("x: %v", v).Error(); leaks(text) {
			t.Errorf("%s printed: %s", name, text)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		if leaks(log.String()) {
			t.Errorf("%s logged: %s", name, log.String())
		}
	}
	// The controls: the search finds what these print.
	if text := fmt.Sprintf("%v", naive{[32]byte(mark)}); !leaks(text) {
		t.Errorf("a naive secret is not found in %s", text)
	}
	if text := fmt.Sprintf("%x", naive{[32]byte(mark)}); !leaks(text) {
		t.Errorf("a naive secret is not found in %s", text)
	}
	one := once{(*[64]byte)(mark)}
	if text := fmt.Sprintf("%v", one); leaks(text) {
		t.Errorf("behind one pointer: %s", text)
	}
	if text := fmt.Sprintf(verbs[3], one); !leaks(text) { // %s, which a linter would refuse
		t.Errorf("one pointer is enough after all: %s", text)
	}
}

func TestSecretsAreNotMarshalled(t *testing.T) {
	s := marked[SignRole](t)
	if b, err := json.Marshal(s); err == nil || leaks(string(b)) {
		t.Errorf("JSON: got %s, %v, want an error", b, err)
	}
	if b, err := json.Marshal(open{marked[RouteRole](t)}); err == nil || leaks(string(b)) {
		t.Errorf("JSON of a struct: got %s, %v, want an error", b, err)
	}
	if b, err := json.Marshal(map[string]any{"k": &s}); err == nil || leaks(string(b)) {
		t.Errorf("JSON of a map: got %s, %v, want an error", b, err)
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(open{marked[RouteRole](t)}); err == nil || bytes.Contains(out.Bytes(), mark[:8]) {
		t.Errorf("gob: got %x, %v, want an error", out.Bytes(), err)
	}
	for _, f := range []func() ([]byte, error){s.MarshalText, s.MarshalBinary} {
		if b, err := f(); b != nil || !errors.Is(err, ErrMarshal) {
			t.Errorf("got %x, %v, want %v", b, err, ErrMarshal)
		}
	}
}

func TestSecretsAreNotComparable(t *testing.T) {
	if reflect.TypeFor[Sign]().Comparable() {
		t.Error("a secret is comparable with ==")
	}
}

func TestSizeIsTheRoles(t *testing.T) {
	for n := range 70 {
		b := make([]byte, n)
		if _, err := New[SealRole](b); (err == nil) != (n == 32) || err != nil && !errors.Is(err, ErrSize) {
			t.Errorf("32-byte role, %d bytes: got %v", n, err)
		}
		if _, err := New[KEMRole](b); (err == nil) != (n == 64) || err != nil && !errors.Is(err, ErrSize) {
			t.Errorf("64-byte role, %d bytes: got %v", n, err)
		}
	}
	if got := len(marked[OwnerRole](t).Bytes()); got != 64 {
		t.Errorf("got %d bytes, want 64", got)
	}
	if got := len(marked[ChainRole](t).Bytes()); got != 32 {
		t.Errorf("got %d bytes, want 32", got)
	}
}

func TestSecretIsItsOwnCopy(t *testing.T) {
	b := bytes.Clone(mark[:32])
	s, err := New[DHRole](b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if !bytes.Equal(s.Bytes(), mark[:32]) {
		t.Errorf("got %x, want %x", s.Bytes(), mark[:32])
	}
	c := s.Clone()
	if !c.Equal(s) || !s.Equal(c) {
		t.Error("a clone is not equal")
	}
	memory := s.Bytes()
	s.Wipe()
	if !bytes.Equal(memory, make([]byte, 32)) {
		t.Errorf("after Wipe the memory holds %x", memory)
	}
	if s.Valid() || s.Bytes() != nil {
		t.Error("a wiped secret is still there")
	}
	s.Wipe() // twice is no fault
	if !bytes.Equal(c.Bytes(), mark[:32]) {
		t.Errorf("the clone went with it: %x", c.Bytes())
	}
	if c.Equal(s) || s.Equal(c) {
		t.Error("a secret equals none")
	}
	c.Bytes()[31] ^= 1
	if c.Equal(marked[DHRole](t)) {
		t.Error("secrets that differ in one bit are equal")
	}
	var none DH
	if !none.Equal(s) || none.Clone().Valid() {
		t.Error("absent secrets are not equal, or a clone of none is one")
	}
}

func TestGenerateReadsExactlyItsSize(t *testing.T) {
	r := bytes.NewReader(mark)
	s, err := Generate[RouteRole](r)
	if err != nil || !bytes.Equal(s.Bytes(), mark[:32]) || r.Len() != 32 {
		t.Errorf("got %x, %v with %d bytes left, want %x with 32 left", s.Bytes(), err, r.Len(), mark[:32])
	}
	if s, err := Generate[KEMRole](r); err == nil || s.Valid() {
		t.Error("too little randomness: got a secret, want an error")
	}
}
