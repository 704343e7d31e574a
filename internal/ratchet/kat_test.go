package ratchet

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
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

// TestKnownDerivations freezes every derivation and both encryptions.
func TestKnownDerivations(t *testing.T) {
	r := stream("known derivations")
	var list []answer
	add := func(name string, b []byte) { list = append(list, answer{name, hexOf(b)}) }

	sk := secretOf[key.SharedRole](t, r)
	root, hka, nhkb := begin(sk)
	add("SK", sk.Bytes())
	add("root key", root.Bytes())
	add("header key of the initiator", hka.Bytes())
	add("header key of the responder", nhkb.Bytes())

	z := secretOf[key.SharedRole](t, r)
	add("DH", z.Bytes())
	c := core{root: root}
	chain, next := c.stepRoot(z)
	add("next root key", c.root.Bytes())
	add("chain key", chain.Bytes())
	add("next header key", next.Bytes())

	after, ec := stepChain(chain)
	add("next chain key", after.Bytes())
	add("EC key", ec.Bytes())
	mk := messageKey(ec, key.Braid{})
	add("message key without a braid", mk.Bytes())
	bk := [32]byte{31: 1}
	braided := messageKey(ec, cut[key.BraidRole](bk[:]))
	add("message key with braid key 00…01", braided.Bytes())

	h := header{dh: key.DHPublic{9}, pn: 2, n: 3}
	nonces := make([]byte, 24)
	r.Read(nonces)
	add("nonces", nonces)
	add("header", h.append(nil))
	msg := h.seal(nil, hka, nonces[:12])
	add("sealed header", msg)
	add("associated data", ad)
	add("message of block 7", sealBlock(msg, mk, nonces[12:], ad, block(7)))
	compare(t, "testdata/derivations.json", list)
}

// TestKnownConversation freezes a whole conversation with a late, a lost and a
// very late message: every message and both states at its end.
func TestKnownConversation(t *testing.T) {
	for path, suite := range map[string]byte{"conversation": stateVersion1, "conversation2": stateVersion2} {
		t.Run(path, func(t *testing.T) { knownConversation(t, suite, "testdata/"+path+".json") })
	}
}

func knownConversation(t *testing.T, suite byte, path string) {
	r := stream("known conversation")
	sk, signed := secretOf[key.SharedRole](t, r), secretOf[key.DHRole](t, r)
	list := []answer{{"SK", hexOf(sk.Bytes())}, {"signed prekey", hexOf(signed.Bytes())}, {"associated data", hexOf(ad)}}
	a, b := ends(t, suite, r, sk, signed)
	list = append(list, answer{"initiator at the beginning", hexOf(a.Append(nil))}, answer{"responder at the beginning", hexOf(b.Append(nil))})
	people := map[byte]*State{'a': a, 'b': b}
	var ms [][]byte
	// Capital letter: that person encrypts. Small letter: that person opens the
	// message with the number that follows.
	for _, op := range []string{"A", "b0", "B", "a1", "A", "A", "A", "b4", "b2", "B", "B", "a6", "A", "b7", "a5", "B", "a8", "A", "b9", "b3"} {
		if who := op[0] | 0x20; who != op[0] {
			m := encrypt(t, people[who], r, len(ms))
			list = append(list, answer{fmt.Sprintf("message %d by %c", len(ms), who), hexOf(m)})
			ms = append(ms, m)
			continue
		}
		n := int(op[1] - '0')
		opens(t, people[op[0]], r, start, ms[n], n)
	}
	list = append(list, answer{"initiator at the end", hexOf(a.Append(nil))}, answer{"responder at the end", hexOf(b.Append(nil))})
	compare(t, path, list)
}

// TestSpecExamples compares the page's bytes with the code's.
func TestSpecExamples(t *testing.T) {
	root, hka, _ := begin(cut[key.SharedRole](bytes.Repeat([]byte{1}, 32)))
	c := core{root: root}
	chain, _ := c.stepRoot(cut[key.SharedRole](bytes.Repeat([]byte{2}, 32)))
	_, ec := stepChain(chain)
	mk := messageKey(ec, cut[key.BraidRole](bytes.Repeat([]byte{5}, 32)))
	h := header{dh: key.DHPublic{9}, pn: 2, n: 3}
	msg := h.seal(nil, hka, bytes.Repeat([]byte{3}, nonceSize))
	msg = sealBlock(msg, mk, bytes.Repeat([]byte{4}, nonceSize), ad, block(0))
	sum := key.Hash("tacet/v1/example", msg)
	for name, got := range map[string][]byte{
		"header":       h.append(nil)[:40],
		"message-key":  mk.Bytes(),
		"message-hash": sum[:],
	} {
		if want := vectortest.Example(t, "session.md", name); !bytes.Equal(got, want) {
			t.Errorf("example %s: got %x, want %x", name, got, want)
		}
	}
}
