package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

// answers computes every derivation of the room from fixed inputs.
func answers(t *testing.T) map[string]string {
	out := map[string]string{}
	add := func(name string, b []byte) { out[name] = hex.EncodeToString(b) }
	request := RequestHash(Blob, bytes.Repeat([]byte{5}, 32))
	add("request hash", request[:])
	for name, k := range map[string]Kind{"member": Member, "guest": Guest} {
		i := issuerOf(t, "known answers", k, 7)
		public := i.Public()
		add(name+" key", public[:])
		b, answer := small(t, i, "known answers", 2)
		add(name+" blinded", b.Blinded())
		add(name+" answer", answer)
		tokens, err := b.Finish(public, answer)
		if err != nil {
			t.Fatal(err)
		}
		add(name+" token", tokens[1][:])
		p := tokens[1].Present(k, 7, request)
		add(name+" presented", p.Append(nil))
	}
	d := dealOf(t)
	sum := sha256.Sum256(d.batch.Blinded())
	add("whole batch, hash", sum[:])
	sum = sha256.Sum256(d.response)
	add("whole answer, hash", sum[:])
	s := solutionOf(t)
	add("solution", s.Append(nil))
	buys := BuyBinding(Member, day, 3, d.batch.Blinded())
	add("binding of a purchase", buys[:])
	return out
}

func TestDerivationsAreFrozen(t *testing.T) {
	const file = "testdata/token.json"
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
	var want map[string]string
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("got %d answers, want %d", len(got), len(want))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
}

func TestExamplesOfTheSpecification(t *testing.T) {
	example := func(name string) []byte { return vectortest.Example(t, "token.md", name) }
	i, err := DeriveIssuer((*[32]byte)(example("issuer-seed")), Member, 20_787)
	if err != nil {
		t.Fatal(err)
	}
	if public := i.Public(); !bytes.Equal(public[:], example("issuer-key")) {
		t.Errorf("key: got %x", public)
	}
	b, err := deriveBatch((*[32]byte)(example("batch-seed")), Member, 20_787, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Blinded(), example("blinded")) {
		t.Errorf("blinded: got %x", b.Blinded())
	}
	tokens, err := b.Finish(i.Public(), example("answer"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(tokens[0][:], example("raw")) {
		t.Errorf("raw: got %x", tokens[0][:])
	}
	request := RequestHash(PutContext, make([]byte, 16))
	if !bytes.Equal(request[:], example("request")) {
		t.Errorf("request: got %x", request)
	}
	p := tokens[0].Present(Member, 20_787, request)
	if !bytes.Equal(p.Append(nil), example("presented")) {
		t.Errorf("presented: got %x", p.Append(nil))
	}
	q, err := ParseHeader(string(example("header")))
	if err != nil || q != p {
		t.Errorf("header: got %v, %v, want %q", q, err, p.Header())
	}
	if err := i.Check(&q, request); err != nil {
		t.Error(err)
	}
	s, err := ParseSolution(example("solution"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJudge((*[32]byte)(example("puzzle-secret")), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := j.Claim(s.Append(nil), PuzzleTokens, [32]byte{}, int64(s.Challenge.Expiry)-1)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Judge(a, int64(s.Challenge.Expiry)-1); err != nil {
		t.Error(err)
	}
}
