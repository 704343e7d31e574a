package mls

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

type hexBytes = vectortest.Hex

// vectorFile is a file of the working group's test vectors and what runs one case
// of it. vectors/mls/test-vectors.md says what each is to prove.
type vectorFile struct {
	name  string
	cases int // in the file, suites 4 and 6 included
	run   func(t *testing.T, raw json.RawMessage)
}

var vectorFiles = []vectorFile{
	{"crypto-basics", 7, vectorCryptoBasics},
	{"deserialization", 14, vectorDeserialization},
	{"tree-math", 10, vectorTreeMath},
	{"messages", 300, vectorMessages},
	{"welcome", 7, vectorWelcome},
	{"passive-client-welcome", 56, vectorPassive},
	{"passive-client-handling-commit", 91, vectorPassive},
	{"passive-client-random", 1, vectorPassive},
	{"interop-passive/application", 42, vectorPassive},
	{"interop-passive/branch", 224, vectorPassive},
	{"interop-passive/commit", 308, vectorPassive},
	{"interop-passive/external_join", 42, vectorPassive},
	{"interop-passive/external_proposals", 196, vectorPassive},
	{"interop-passive/reinit", 336, vectorPassive},
	{"interop-passive/welcome_join", 56, vectorPassive},
	{"key-schedule", 7, vectorKeySchedule},
	{"psk_secret", 77, vectorPSKSecret},
	{"transcript-hashes", 7, vectorTranscriptHashes},
	{"tree-operations", 5, vectorTreeOperations},
	{"tree-validation", 98, vectorTreeValidation},
	{"treekem", 77, vectorTreeKEM},
	{"secret-tree", 21, vectorSecretTree},
	{"message-protection", 7, vectorMessageProtection},
}

// TestVectors runs every case of every file. The only cases that may be skipped are
// those of suites 4 and 6, which are refused.
func TestVectors(t *testing.T) {
	passed, skipped := 0, 0
	for _, f := range vectorFiles {
		t.Run(f.name, func(t *testing.T) {
			var cases []json.RawMessage
			if err := json.Unmarshal(vectortest.Read(t, "mls/"+f.name+".json", f.cases), &cases); err != nil {
				t.Fatal(err)
			}
			if len(cases) != f.cases {
				t.Fatalf("got %d cases, want %d", len(cases), f.cases)
			}
			for i, raw := range cases {
				var head struct {
					Suite Suite `json:"cipher_suite"`
				}
				if json.Unmarshal(raw, &head) == nil && (head.Suite == 4 || head.Suite == 6) {
					if head.Suite.Supported() {
						t.Fatal("suites 4 and 6 are not to be there")
					}
					skipped++
					continue
				}
				if t.Run(fmt.Sprint(i), func(t *testing.T) { f.run(t, raw) }) {
					passed++
				}
			}
		})
	}
	t.Logf("mls vectors: %d passed, %d skipped (suites 4 and 6)", passed, skipped)
}

// decode reads a case into v.
func decode(t *testing.T, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

// signaturePrivate is a signature key of a vector. For suite 5 the vectors leave out
// leading zeros of the scalar, which the text about them does not allow.
func signaturePrivate(s Suite, b []byte) Secret {
	if p := s.params(); p.curve != nil {
		n := (p.curve.Params().BitSize + 7) / 8
		b = append(make([]byte, n-len(b)), b...)
	}
	return NewSecret(b)
}

// same compares bytes.
func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !equal(got, want) {
		t.Fatalf("%s: got %x, want %x", what, got, want)
	}
}
