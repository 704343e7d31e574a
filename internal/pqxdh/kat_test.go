package pqxdh

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

// answer is one named value of a known-answer file.
type answer struct {
	Name string `json:"name"`
	Hex  string `json:"hex"`
}

// compare holds got against the frozen file, or writes it with -update.
func compare(t *testing.T, path string, got []answer) {
	t.Helper()
	b, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if *update {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	frozen, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(b, frozen) {
		return
	}
	var want []answer
	if err := json.Unmarshal(frozen, &want); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d answers, want %d", path, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: got %s %s, want %s %s", path, got[i].Name, got[i].Hex, want[i].Name, want[i].Hex)
		}
	}
}

// TestKnownAnswers freezes every derivation of the handshake, from the seeds
// of all keys on, with the one-time prekey and without.
func TestKnownAnswers(t *testing.T) {
	for name, oneTime := range map[string]bool{"one-time": true, "multi-use": false} {
		a, b := newDevice(t, "kat initiator"), newDevice(t, "kat responder")
		v, p := b.prekeys(t, "kat prekeys", oneTime)
		ephemeral, err := key.Generate[key.DHRole](stream("kat ephemeral"))
		if err != nil {
			t.Fatal(err)
		}
		m := make([]byte, 32)
		io.ReadFull(stream("kat encapsulation"), m)
		ss, ct := encapsulate(t, p.KEM, m)
		x := exchange{a: a.party, b: b.party, pre: p, bundle: bundle}
		in, ra, err := x.initiate(a.dh, ephemeral, ss, ct)
		if err != nil {
			t.Fatal(err)
		}
		rb, err := Respond(b.party, b.dh, v, p, bundle, a.party, in)
		if err != nil || !rb.Secret.Equal(ra.Secret) || rb.AD != ra.AD {
			t.Fatalf("got another outcome at the responder (%v), want the initiator's", err)
		}
		id := func(encoded []byte) string { return hexOf(named(encoded)[:idSize]) }
		compare(t, "testdata/"+name+".json", []answer{
			{"initiator root", hexOf(a.party.Root[:])},
			{"initiator sign", hexOf(a.party.Sign[:])},
			{"initiator DH private", hexOf(a.dh.Bytes())},
			{"initiator DH", hexOf(a.party.DH[:])},
			{"initiator manifest", hexOf(a.party.Manifest[:])},
			{"responder root", hexOf(b.party.Root[:])},
			{"responder sign seed", hexOf(b.sign.Bytes())},
			{"responder sign", hexOf(b.party.Sign[:])},
			{"responder DH private", hexOf(b.dh.Bytes())},
			{"responder DH", hexOf(b.party.DH[:])},
			{"responder manifest", hexOf(b.party.Manifest[:])},
			{"bundle", hexOf(bundle[:])},
			{"private prekeys", hexOf(v.Append(nil))},
			{"prekeys", hexOf(p.Append(nil))},
			{"signed prekey id", id(encodeDH(p.Signed))},
			{"one-time prekey id", id(encodeDH(p.OneTime))},
			{"KEM prekey id", id(encodeKEM(p.KEM))},
			{"ephemeral private", hexOf(ephemeral.Bytes())},
			{"encapsulation randomness", hexOf(m)},
			{"KEM secret", hexOf(ss.Bytes())},
			{"initial", hexOf(in.Append(nil))},
			{"associated data", hexOf(ra.AD[:])},
			{"secret", hexOf(ra.Secret.Bytes())},
		})
	}
}

// TestSpecExamples compares the page's bytes with the code's.
func TestSpecExamples(t *testing.T) {
	part := []byte{1, 2, 3}
	sum := key.Hash("tacet/v1/example", part, nil)
	var out [32]byte
	key.KDF(out[:], []byte("secret"), "tacet/v1/example", part, nil)
	for name, got := range map[string]string{
		"info": hexOf(key.Info(nil, "tacet/v1/example", part, nil)),
		"hash": hexOf(sum[:]),
		"kdf":  hexOf(out[:]),
		"dh":   hexOf(encodeDH(key.DHPublic{9})),
	} {
		if want := hexOf(vectortest.Example(t, "session.md", name)); got != want {
			t.Errorf("example %s: got %s, want %s", name, got, want)
		}
	}
}
