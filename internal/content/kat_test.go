package content

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

var update = flag.Bool("update", false, "write the known answers anew")

func TestEncodingIsFrozen(t *testing.T) {
	const file = "testdata/content.json"
	all := everything()
	delete(all, "long text")
	got := map[string]string{}
	for name, c := range all {
		got[name] = hex.EncodeToString(encode(t, c))
	}
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Fatalf("got %q, want %q", g, w)
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
}

func TestExamplesOfTheSpecification(t *testing.T) {
	for name, c := range map[string]*Content{
		"text-with-ack": {Sent: 1_800_000_000, Text: &Text{Body: "hi"},
			Acks: &Acks{IDs: []wire.MessageID{{1, 2, 3, 4, 5, 6, 7, 8}}, Highest: 9}},
		"control": {Sent: 1_800_000_000, Control: &Control{Accept: true, Name: "Ada"}},
		"drop":    {Sent: 1_800_000_000, Drop: &Drop{Back: true}},
	} {
		want := vectortest.Example(t, "content.md", name)
		if got := encode(t, c); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
	newer, err := Parse(vectortest.Example(t, "content.md", "newer"))
	want := &Content{Sent: 1_800_000_000, Text: &Text{Body: "hi"}, Unknown: true}
	if err != nil || !reflect.DeepEqual(newer, want) {
		t.Errorf("newer: got %+v, %v, want %+v", newer, err, want)
	}
}
