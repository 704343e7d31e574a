package manifest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

type answer struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// answers makes a chain and two safety numbers from fixed keys.
func answers(t *testing.T) (list []answer) {
	root := signKey(t, "root")
	all := devices(t, "a", "b", "c", "d", "e", "f", "g", "h", "i")
	m1 := first(t, root, all[:1])
	m2 := after(t, root, m1, all[:2])
	m3 := after(t, root, m2, append(revoked(all[:2], 0), all[2:8]...))
	m4 := after(t, root, m3, all[1:])
	for _, m := range []*Manifest{m1, m2, m3, m4} {
		h := m.Hash()
		list = append(list,
			answer{"manifest", hex.EncodeToString(m.Append(nil))},
			answer{"hash", hex.EncodeToString(h[:])})
	}
	if err := CheckChain(m1, []*Manifest{m2, m3, m4}, now); err != nil {
		t.Fatal(err)
	}
	return append(list,
		answer{"number", SafetyNumber(all[0].Sign, all[1].Sign)},
		answer{"number", SafetyNumber(all[2].Sign, all[1].Sign)})
}

func TestManifestsAndNumbersAreFrozen(t *testing.T) {
	const file = "testdata/manifest.json"
	got := answers(t)
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
	var want []answer
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d answers, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: got %s, want %s", want[i].Name, got[i].Value, want[i].Value)
		}
	}
}

func TestExamplesOfTheSpecification(t *testing.T) {
	example := func(name string) []byte { return vectortest.Example(t, "manifest.md", name) }
	root, err := key.New[key.SignRole](example("root-seed"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(example("manifest"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(key.SignPublicOf(root), now); err != nil {
		t.Error(err)
	}
	again := *m
	if err := Sign(root, &again); err != nil || again.Sig != m.Sig {
		t.Errorf("got signature %x, %v, want %x", again.Sig, err, m.Sig)
	}
	if h := m.Hash(); !bytes.Equal(h[:], example("hash")) {
		t.Errorf("got hash %x, want %x", h, example("hash"))
	}
	// Digits are hexadecimal digits too.
	number := strings.ReplaceAll(SafetyNumber(m.Root, m.Devices[0].Sign), " ", "")
	if want := hex.EncodeToString(example("number")); number != want {
		t.Errorf("got %s, want %s", number, want)
	}
}
