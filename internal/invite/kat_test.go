package invite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

type answer struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// answers makes one invite from fixed randomness.
func answers(t *testing.T) (list []answer) {
	add := func(name string, b []byte) { list = append(list, answer{name, hex.EncodeToString(b)}) }
	alice := newPerson(t, "alice")
	b := alice.bundle(t, "known answers")
	l := linkTo(t, b)
	id, hash, k := l.ID(), b.Hash(), l.Key()
	blob := ok[[]byte](t)(Seal(b, alice.sign, l, stream("nonce")))
	sum := sha256.Sum256(blob)
	list = append(list, answer{"link", l.String()})
	add("root", b.Root[:])
	add("salt", b.Salt[:])
	add("secret", l.Secret[:])
	add("id", id[:])
	add("key", k.Bytes())
	add("body", b.appendBody(nil))
	add("hash", hash[:])
	add("SHA-256 of the blob", sum[:])
	return list
}

func TestInviteIsFrozen(t *testing.T) {
	const file = "testdata/invite.json"
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
	example := func(name string) []byte { return vectortest.Example(t, "invite.md", name) }
	secret := SecretOf(key.SignPublic(example("root")), [32]byte(example("salt")))
	l := ok[Link](t)(NewLink("Relay.Example:443", secret))
	id := l.ID()
	extras := Bundle{Membership: new([RealmInviteSize]byte), Guests: make([][GuestSize]byte, 1), GuestEpoch: 2937}
	copy(extras.Membership[:], bytes.Repeat([]byte{1}, RealmInviteSize))
	copy(extras.Guests[0][:], bytes.Repeat([]byte{2}, GuestSize))
	for name, got := range map[string][]byte{
		"secret": l.Secret[:],
		"link":   []byte(l.String()),
		"id":     id[:],
		"key":    l.Key().Bytes(),
		"extras": extras.appendExtras(nil),
	} {
		if want := example(name); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
}
