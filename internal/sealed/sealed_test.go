package sealed

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha3"
	"errors"
	"io"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// stream is deterministic randomness, named after what it is for.
func stream(name string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("sealed test " + name))
	return h
}

func random(t testing.TB, r io.Reader, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func sealKey(t testing.TB, b []byte) key.Seal {
	t.Helper()
	k, err := key.New[key.SealRole](b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// count returns n bytes that count up from first.
func count(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func pair(payload []byte) *wire.Body {
	return &wire.Body{Kind: wire.KindPair, ID: wire.MessageID(count(1, 8)), Count: 1, Payload: payload}
}

func TestCellOpensWithItsKeyAtItsAddress(t *testing.T) {
	r := stream("round trip")
	k, a := sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32))
	b := pair(random(t, r, wire.PairSize))
	c, err := SealCell(k, a, b, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := OpenCell(k, a, c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != b.Kind || got.ID != b.ID || got.Index != 0 || got.Count != 1 || !bytes.Equal(got.Payload, b.Payload) {
		t.Errorf("got %+v, want %+v", got, *b)
	}
	clear(c[:]) // the payload is the caller's own
	if !bytes.Equal(got.Payload, b.Payload) {
		t.Error("the payload aliases the cell")
	}
}

func TestExamplesOfTheSpecification(t *testing.T) {
	example := func(name string) []byte { return vectortest.Example(t, "cell.md", name) }
	body := &wire.Body{Kind: wire.KindDrop, ID: wire.MessageID(count(1, 8)), Count: 1}
	c, err := SealCell(sealKey(t, count(0, 32)), wire.Address(count(0x20, 32)), body, bytes.NewReader(count(0x40, 24)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sha256.Sum256(c[:]), example("cell-hash"); !bytes.Equal(got[:], want) {
		t.Errorf("hash of the cell: got %x, want %x", got, want)
	}
	if got, want := key.Info(nil, labelHello, []byte("ab")), example("hello-info"); !bytes.Equal(got, want) {
		t.Errorf("info of a hello: got %x, want %x", got, want)
	}
}

func TestHelloOpensWithItsKeyAndInfo(t *testing.T) {
	r := stream("hello")
	k, err := key.Generate[key.XWingRole](r)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 900, MaxHello} {
		plain := random(t, r, n)
		whole, err := SealHello(key.XWingPublicOf(k), []byte("info"), plain)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) != wire.HelloSize {
			t.Errorf("%d bytes: got a whole of %d, want %d", n, len(whole), wire.HelloSize)
		}
		got, err := OpenHello(k, []byte("info"), whole)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: got %d bytes, %v, want them back", n, len(got), err)
		}
		if _, err := OpenHello(k, []byte("other"), whole); !errors.Is(err, ErrOpen) {
			t.Errorf("other info: got %v, want %v", err, ErrOpen)
		}
	}
}
