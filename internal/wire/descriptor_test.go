package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

func descriptor() *Descriptor {
	return &Descriptor{
		Version: 1, Realm: [32]byte{1}, Time: [32]byte{2}, Receipts: [32]byte{3}, Period: 1800, Ping: 60, Binding: true,
		Roles: []string{"live", "blob"}, WindowSec: 60, WindowMax: 64 << 20, BlobMax: MaxBlob, BlobDays: 30, Gate: "open", Policy: "be kind",
	}
}

// full is a descriptor of a relay that does everything.
func full() *Descriptor {
	d := descriptor()
	d.Roles = []string{RoleLive, RoleBlob, RolePark, RoleToken, RoleWake}
	d.Issuers = []Issuer{{Kind: 1, Epoch: 20_788, Key: [32]byte{7}}, {Kind: 2, Epoch: 2_969, Key: [32]byte{8}}}
	d.Class, d.IssuedDay, d.ParkHours, d.Wake = 1024, 20_787, 720, make([]byte, WakeKeySize)
	return d
}

func TestAFullDescriptorComesBackAndFits(t *testing.T) {
	d := full()
	for len(d.Issuers) < MaxIssuers {
		d.Issuers = append(d.Issuers, d.Issuers[0])
	}
	got, _, _, err := ParseDescriptor(signed(d.Encode()))
	if err != nil || !reflect.DeepEqual(&got, d) {
		t.Errorf("got %+v, %v, want %+v", got, err, *d)
	}
}

// A role comes with what it needs, and nothing else does.
func TestRolesAndTheirFieldsGoTogether(t *testing.T) {
	for name, change := range map[string]func(*Descriptor){
		"no issuers":        func(d *Descriptor) { d.Issuers = nil },
		"no class":          func(d *Descriptor) { d.Class = 0 },
		"another class":     func(d *Descriptor) { d.Class = 2048 },
		"no day":            func(d *Descriptor) { d.IssuedDay = 0 },
		"too many issuers":  func(d *Descriptor) { d.Issuers = make([]Issuer, MaxIssuers+1) },
		"issuers, no role":  func(d *Descriptor) { d.Roles = []string{RolePark, RoleWake} },
		"no park life":      func(d *Descriptor) { d.ParkHours = 0 },
		"too long a life":   func(d *Descriptor) { d.ParkHours = MaxParkHours + 1 },
		"a life, no role":   func(d *Descriptor) { d.Roles = []string{RoleToken, RoleWake} },
		"no gateway key":    func(d *Descriptor) { d.Wake = nil },
		"short gateway key": func(d *Descriptor) { d.Wake = d.Wake[1:] },
		"gateway, no role":  func(d *Descriptor) { d.Roles = []string{RolePark, RoleToken} },
	} {
		d := full()
		change(d)
		if _, _, _, err := ParseDescriptor(signed(d.Encode())); !errors.Is(err, ErrDescriptor) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
	for _, c := range []struct {
		field uint64
		v     any
	}{{15, false}, {17, 0}, {18, 0}, {16, []any{}}, {19, []byte{}}, {20, 0}} {
		if _, _, _, err := ParseDescriptor(signed(withField(t, c.field, c.v))); !errors.Is(err, ErrDescriptor) {
			t.Errorf("field %d there and empty: got %v, want an error", c.field, err)
		}
	}
}

func signed(body []byte) []byte { return AppendSigned(nil, [64]byte{0xaa}, body) }

func TestDescriptorComesBack(t *testing.T) {
	d := descriptor()
	got, sig, body, err := ParseDescriptor(signed(d.Encode()))
	if err != nil || !reflect.DeepEqual(&got, d) || sig != [64]byte{0xaa} || !bytes.Equal(body, d.Encode()) {
		t.Errorf("got %+v, %v, want %+v", got, err, *d)
	}
	if got.Live() != 30*time.Minute {
		t.Errorf("got a period of %v, want 30 minutes", got.Live())
	}
}

func TestDescriptorOfTheSpecificationParses(t *testing.T) {
	b := vectortest.Example(t, "relay-api.md", "descriptor")
	d, sig, body, err := ParseDescriptor(b)
	if err != nil || !bytes.Equal(AppendSigned(nil, sig, d.Encode()), b) || len(body) != len(b)-64 {
		t.Errorf("got %+v, %v, want what the page says", d, err)
	}
}

// A newer relay may say more than an older client knows.
func TestUnknownFieldsOfADescriptorPass(t *testing.T) {
	if _, _, _, err := ParseDescriptor(signed(withField(t, 99, "new"))); err != nil {
		t.Errorf("got %v", err)
	}
}

// withField returns an encoded descriptor with one field set to v.
func withField(t *testing.T, field uint64, v any) []byte {
	t.Helper()
	m := map[uint64]any{}
	if err := cbor.Unmarshal(descriptor().Encode(), &m); err != nil {
		t.Fatal(err)
	}
	if m[field] = v; v == nil {
		delete(m, field)
	}
	b, err := descriptorEnc.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withText returns an encoded descriptor with a field that text names.
func withText(t *testing.T) []byte {
	t.Helper()
	m := map[any]any{}
	if err := cbor.Unmarshal(descriptor().Encode(), &m); err != nil {
		t.Fatal(err)
	}
	m["x"] = 1
	b, err := descriptorEnc.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHostileDescriptorsAreRefused(t *testing.T) {
	good := descriptor().Encode()
	many := make([]string, 33)
	for name, body := range map[string][]byte{
		"empty": {}, "trailing": append(bytes.Clone(good), 0), "cut": good[:len(good)-1], "not a map": {0x80},
		"no version": withField(t, 1, nil), "version 2": withField(t, 1, 2), "version as text": withField(t, 1, "1"),
		"period 60": withField(t, 5, 60), "period 86400": withField(t, 5, 86400), "no period": withField(t, 5, nil),
		"ping 4": withField(t, 6, 4), "ping 241": withField(t, 6, 241), "window 61": withField(t, 9, 61),
		"long policy": withField(t, 14, strings.Repeat("x", 201)), "policy not UTF-8": withField(t, 14, "\xff"),
		"short realm": withField(t, 2, make([]byte, 31)), "long realm": withField(t, 2, make([]byte, 33)), "no realm": withField(t, 2, nil),
		"realm as a list": withField(t, 2, make([]int, 32)), "a field by text": withText(t), "negative": withField(t, 5, -1800), "many roles": withField(t, 8, many),
		"deep":                     withField(t, 99, []any{[]any{[]any{[]any{[]any{1}}}}}),
		"a tag":                    withField(t, 99, cbor.Tag{Number: 1, Content: 1}),
		"indefinite":               append([]byte{0xbf}, append(bytes.Clone(good[1:]), 0xff)...),
		"a key twice":              append([]byte{good[0] + 1}, append([]byte{0x01, 0x01}, good[1:]...)...),
		"unknown field, long form": append([]byte{good[0] + 1}, append(bytes.Clone(good[1:]), 0x18, 99, 0x18, 1)...),
		"keys out of order":        append([]byte{good[0] + 1, 0x18, 99, 1}, good[1:]...),
		"a long way to be 1":       append([]byte{good[0], 0x01, 0x18, 0x01}, good[3:]...),
	} {
		if got, _, b, err := ParseDescriptor(signed(body)); !errors.Is(err, ErrDescriptor) || b != nil || got.Version != 0 {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, ErrDescriptor)
		}
	}
	huge := withField(t, 99, make([]byte, MaxDescriptor))
	for name, b := range map[string][]byte{"nothing": nil, "a signature alone": make([]byte, 64), "huge": signed(huge)} {
		if _, _, _, err := ParseDescriptor(b); !errors.Is(err, ErrDescriptor) {
			t.Errorf("%s: got %v, want %v", name, err, ErrDescriptor)
		}
	}
}

func FuzzParseDescriptor(f *testing.F) {
	f.Add(signed(descriptor().Encode()))
	bare := &Descriptor{Version: 1, Period: 600, Ping: 5}
	f.Add(signed(bare.Encode()))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, sig, body, err := ParseDescriptor(b)
		if err != nil {
			return
		}
		if got := AppendSigned(nil, sig, body); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		// What it says survives its own encoding, which is no longer than the
		// original: unknown fields go, nothing else changes.
		again := d.Encode()
		e, _, _, err := ParseDescriptor(AppendSigned(nil, sig, again))
		if err != nil || !reflect.DeepEqual(d, e) {
			t.Errorf("got %+v, %v, want %+v", e, err, d)
		}
	})
}
