package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

var update = flag.Bool("update", false, "write the known answers anew")

// frozen is what testdata holds. Cells and ids are made again and compared; the
// hello was sealed once, with the standard library's randomness, and is opened.
type frozen struct {
	Cells  map[string]string `json:"cells"` // kind → the whole cell
	IDs    map[string]string `json:"ids"`   // length → id of that many bytes
	Seed   string            `json:"hello_seed"`
	Info   string            `json:"hello_info"`
	Plain  string            `json:"hello_plain"`
	Sealed string            `json:"hello_sealed"`
}

func frozenCells(t *testing.T) map[string]string {
	r := stream("frozen")
	_, hello, err := Fragments(wire.KindHello, random(t, r, wire.HelloSize))
	if err != nil {
		t.Fatal(err)
	}
	_, group, err := Fragments(wire.KindGroup, random(t, r, 2000))
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for _, c := range []struct {
		name string
		b    *wire.Body
	}{
		{"pair", pair(random(t, r, wire.PairSize))}, {"hello", &hello[3]}, {"group", &group[1]},
		{"drop", &wire.Body{Kind: wire.KindDrop, ID: wire.MessageID(count(8, 8)), Count: 1}},
	} {
		cell, err := SealCell(sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32)), c.b, r)
		if err != nil {
			t.Fatal(err)
		}
		cells[c.name] = hex.EncodeToString(cell[:])
	}
	return cells
}

func frozenIDs(t *testing.T) map[string]string {
	ids := map[string]string{}
	for name, n := range map[string]int{"1": 1, "1229": 1229, "1230": 1230, "313395": MaxWhole} {
		id, _, err := Fragments(wire.KindGroup, bytes.Repeat([]byte{5}, n))
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = hex.EncodeToString(id[:])
	}
	return ids
}

func TestSealsAreFrozen(t *testing.T) {
	const file = "testdata/sealed.json"
	var want frozen
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	cells, ids := frozenCells(t), frozenIDs(t)
	if *update {
		want.Cells, want.IDs = cells, ids
		if want.Sealed == "" {
			want.sealHello(t)
		}
		out, err := json.MarshalIndent(want, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, "cell", cells, want.Cells)
	compare(t, "id", ids, want.IDs)
	k, err := key.New[key.XWingRole](unhex(t, want.Seed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := OpenHello(k, unhex(t, want.Info), unhex(t, want.Sealed))
	if err != nil || hex.EncodeToString(plain) != want.Plain {
		t.Errorf("hello: got %x, %v, want %s", plain, err, want.Plain)
	}
}

func (f *frozen) sealHello(t *testing.T) {
	seed := sha256.Sum256([]byte("frozen hello"))
	k, err := key.New[key.XWingRole](seed[:])
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte("a hello that was sealed once")
	whole, err := SealHello(key.XWingPublicOf(k), []byte("frozen info"), plain)
	if err != nil {
		t.Fatal(err)
	}
	f.Seed, f.Info = hex.EncodeToString(seed[:]), hex.EncodeToString([]byte("frozen info"))
	f.Plain, f.Sealed = hex.EncodeToString(plain), hex.EncodeToString(whole)
}

func compare(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d answers, want %d", what, len(got), len(want))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s %s: got %s, want %s", what, name, got[name], want[name])
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
