package braid

import (
	"bytes"
	"encoding/hex"
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

// answers are the values of one file.
type answers []answer

func (a *answers) add(name string, b []byte) { *a = append(*a, answer{name, hex.EncodeToString(b)}) }

// compare holds got against the frozen file, or writes it with -update.
func compare(t *testing.T, path string, got answers) {
	t.Helper()
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	frozen, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want answers
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

// TestKnownDerivations freezes every derivation and every piece.
func TestKnownDerivations(t *testing.T) {
	r := stream("known derivations")
	var list answers
	secret, err := key.Generate[key.SharedRole](r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(secret, true)
	if err != nil {
		t.Fatal(err)
	}
	list.add("secret", secret.Bytes())
	list.add("authenticator root", s.auth.root.Bytes())
	list.add("MAC key", s.auth.mac.Bytes())
	list.add("root", s.chains.root.Bytes())
	list.add("initiator's chain", s.chains.send.Bytes())
	list.add("responder's chain", s.chains.recv.Bytes())
	for n := range 2 {
		k := s.chains.stepSend()
		list.add(fmt.Sprintf("braid key of message %d", n), k.Bytes())
		list.add("chain after it", s.chains.send.Bytes())
	}

	seed, m := testKeys(t, r)
	header, ek := split(seed)
	list.add("seed", seed.Bytes())
	list.add("header", header)
	list.add("key", ek)
	list.add("MAC of the header, epoch 1", s.auth.sum(labelHeader, 1, header))
	list.add("m", m.Bytes())
	ct1, ss := encapsulate1(header, m)
	ct2, _ := encapsulate2(header, ek, ct1, m)
	list.add("ct1", ct1)
	list.add("ct2", ct2)
	list.add("shared secret", ss.Bytes())
	k := epochKey(ss, 1)
	list.add("epoch key, epoch 1", k.Bytes())
	next := s.auth.next(k, 1)
	list.add("authenticator root, epoch 1", next.root.Bytes())
	list.add("MAC key, epoch 1", next.mac.Bytes())
	list.add("MAC of the ciphertext, epoch 1", next.sum(labelCiphertext, 1, ct1, ct2))
	s.addEpoch(k)
	list.add("root, epoch 1", s.chains.root.Bytes())
	list.add("initiator's chain, epoch 1", s.chains.nextSend.Bytes())
	list.add("responder's chain, epoch 1", s.chains.nextRecv.Bytes())

	for _, x := range []uint16{0, 35, 36, 37, 16383} {
		c := encode(ek, x)
		list.add(fmt.Sprintf("chunk %d of the key", x), c[:])
	}
	compare(t, "testdata/derivations.json", list)
}

// TestKnownConversation freezes two epochs with a late, a lost and a very late
// message: every field, every key, and both states at the end.
func TestKnownConversation(t *testing.T) {
	a, b := pair(t, "known conversation")
	r := stream("known conversation")
	var list answers
	list.add("initiator at the beginning", a.Append(nil))
	list.add("responder at the beginning", b.Append(nil))
	var late []post
	for n := 0; b.Epoch() < 2 || n < 100; n++ {
		from, to, name := a, b, "initiator"
		if n%2 == 1 {
			from, to, name = b, a, "responder"
		}
		p := send(t, from, r)
		list.add(fmt.Sprintf("message %d by the %s, field", n, name), p.field[:])
		list.add(fmt.Sprintf("message %d by the %s, braid key", n, name), p.key)
		switch n {
		case 4, 40, 42:
			late = append(late, p)
		case 7, 21:
		default:
			receives(t, to, start, p)
		}
	}
	for _, i := range []int{2, 0} {
		receives(t, b, start, late[i])
	}
	list.add("initiator at the end", a.Append(nil))
	list.add("responder at the end", b.Append(nil))
	compare(t, "testdata/conversation.json", list)
}

// TestSpecExamples compares the page's bytes with the code's.
func TestSpecExamples(t *testing.T) {
	fill := func(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }
	s, err := New(cut[key.SharedRole](fill(32, 1)), true)
	if err != nil {
		t.Fatal(err)
	}
	first := s.chains.stepSend()
	seed, m := cut[key.KEMRole](fill(64, 2)), cut[key.EncapsRole](fill(32, 3))
	header, ek := split(seed)
	mac := s.auth.sum(labelHeader, 1, header)
	ct1, ss := encapsulate1(header, m)
	ct2, ok := encapsulate2(header, ek, ct1, m)
	if !ok {
		t.Fatal("got no second half")
	}
	sum := key.Hash("tacet/v1/example", ct1, ct2)
	secret := bytes.Clone(ss.Bytes())
	k := epochKey(ss, 1)
	auth := s.auth.next(k, 1)
	macCT := auth.sum(labelCiphertext, 1, ct1, ct2)
	s.addEpoch(k)
	s.chains.turnSend()
	second := s.chains.stepSend()
	f := message{epoch: 2, number: 3, previous: 41, kind: kindEk, pair: 18}
	field := f.bytes()
	text := make([]byte, headerSize+macSize)
	for i := range text {
		text[i] = byte(i)
	}
	third, last := encode(text, 3), encode(text, 2*maxPair+1)
	product := mul(0x1234, 0x5678)
	for name, got := range map[string][]byte{
		"first-key": first.Bytes(), "header": header, "header-mac": mac, "ct-hash": sum[:], "shared-secret": secret,
		"epoch-key": k.Bytes(), "ct-mac": macCT, "epoch-1-key": second.Bytes(), "field": field[:14],
		"product": {byte(product >> 8), byte(product)}, "chunk-3": third[:], "chunk-16383": last[:],
	} {
		if want := vectortest.Example(t, "braid.md", name); !bytes.Equal(got, want) {
			t.Errorf("example %s: got %x, want %x", name, got, want)
		}
	}
}
