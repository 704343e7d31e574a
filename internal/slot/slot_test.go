package slot

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

func random(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

func derive(t testing.TB, b byte) *Slot {
	t.Helper()
	s, err := Derive(bytes.Repeat([]byte{b}, SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatLiesAtASlot(t *testing.T) {
	for class := range wire.BlobClasses {
		for _, n := range []int{0, 1, 1000, Room(byte(class))} {
			s := derive(t, 1)
			content := bytes.Repeat([]byte{7}, n)
			blob, err := s.Seal(random(2), byte(class), content)
			if err != nil || len(blob) != wire.BlobClasses[class] {
				t.Fatalf("class %d, %d bytes: %d, %v", class, n, len(blob), err)
			}
			got, err := derive(t, 1).Open(blob)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("class %d, %d bytes: got %d bytes, %v", class, n, len(got), err)
			}
			if _, err := derive(t, 2).Open(blob); err != ErrSlot {
				t.Errorf("another epoch opens it: %v", err)
			}
		}
		if _, err := derive(t, 1).Seal(random(2), byte(class), make([]byte, Room(byte(class))+1)); err != ErrSize {
			t.Errorf("class %d: one byte too many: %v", class, err)
		}
	}
}

// TestIdAndKeyAreBound: a blob of one slot does not open at another with the same key.
func TestIdAndKeyAreBound(t *testing.T) {
	s := derive(t, 1)
	blob, err := s.Seal(random(1), 0, []byte("commit"))
	if err != nil {
		t.Fatal(err)
	}
	s.ID[0] ^= 1
	if _, err := s.Open(blob); err != ErrSlot {
		t.Errorf("got %v", err)
	}
}

func TestDamagedBlobsAreRefused(t *testing.T) {
	s := derive(t, 1)
	blob, err := s.Seal(random(1), 0, []byte("commit"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob {
		c := bytes.Clone(blob)
		c[i] ^= 0x80
		if _, err := s.Open(c); err != ErrSlot {
			t.Fatalf("byte %d: got %v", i, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "cut": blob[:len(blob)-1], "more": append(bytes.Clone(blob), 0), "24 bytes": blob[:24], "another size": make([]byte, wire.BlobClasses[1])} {
		if _, err := s.Open(b); err != ErrSlot {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, secret := range [][]byte{nil, make([]byte, 31), make([]byte, 33)} {
		if _, err := Derive(secret); err != ErrSlot {
			t.Errorf("a secret of %d bytes: %v", len(secret), err)
		}
	}
	if _, err := s.Seal(random(1), 4, nil); err != ErrClass {
		t.Errorf("class 4: %v", err)
	}
	if Room(4) != 0 || Room(255) != 0 {
		t.Error("there is room in no class")
	}
	if _, err := s.Seal(bytes.NewReader(nil), 0, nil); !errors.Is(err, io.EOF) {
		t.Errorf("without randomness: %v", err)
	}
}

// TestHostileInsideIsRefused: whoever has the slot's key can seal what Seal never would.
func TestHostileInsideIsRefused(t *testing.T) {
	s := derive(t, 1)
	for name, change := range map[string]func(plain []byte){
		"a length beyond the blob": func(p []byte) { p[0] = 0xff }, "a length one beyond": func(p []byte) { copy(p, []byte{0, 0, 0x0f, 0xd5}) },
		"something after the content": func(p []byte) { p[len(p)-1] = 1 },
	} {
		blob, err := sealRaw(s, 0, change)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(blob); err != ErrSlot {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// The control: unchanged it opens.
	blob, err := sealRaw(s, 0, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Open(blob); err != nil || len(got) != 0 {
		t.Errorf("the control: %x, %v", got, err)
	}
}

func TestReceipts(t *testing.T) {
	relay, err := key.New[key.SignRole](bytes.Repeat([]byte{3}, 32))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := key.New[key.SignRole](bytes.Repeat([]byte{4}, 32))
	s := derive(t, 1)
	blob, _ := s.Seal(random(1), 0, []byte("commit"))
	hash := Hash(blob)
	sign := func(k key.Sign, label string, id wire.BlobID, h [32]byte) *wire.Receipt {
		return &wire.Receipt{ID: id, Hash: h, Sig: key.SignMessage(k, label, id[:], h[:])}
	}
	good := sign(relay, wire.LabelReceipt, s.ID, hash)
	if got, err := Check(s.ID, key.SignPublicOf(relay), good); err != nil || got != hash {
		t.Fatalf("got %x, %v", got, err)
	}
	moved := *good
	moved.Hash[0] ^= 1
	for name, r := range map[string]*wire.Receipt{
		"another relay": sign(other, wire.LabelReceipt, s.ID, hash), "another slot": sign(relay, wire.LabelReceipt, derive(t, 2).ID, hash),
		"another label": sign(relay, wire.LabelSecond, s.ID, hash), "another hash": &moved, "none": {},
	} {
		if _, err := Check(s.ID, key.SignPublicOf(relay), r); err != ErrReceipt {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSlotIsFrozen(t *testing.T) {
	s := derive(t, 0x42)
	blob, err := s.Seal(random(0), 0, []byte("commit"))
	if err != nil {
		t.Fatal(err)
	}
	h := Hash(blob)
	for what, got := range map[string][2]string{
		"id":   {hex.EncodeToString(s.ID[:]), wantID},
		"key":  {hex.EncodeToString(s.key.Bytes()), wantKey},
		"blob": {hex.EncodeToString(h[:]), wantBlob},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %s, want %s", what, got[0], got[1])
		}
	}
	s.Wipe()
	if s.key.Valid() {
		t.Error("the key is still there")
	}
}

func FuzzOpen(f *testing.F) {
	s := derive(f, 1)
	blob, _ := s.Seal(random(1), 0, []byte("commit"))
	f.Add(blob)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := s.Open(b); err == nil && !bytes.Equal(b, blob) {
			t.Errorf("opens: %x", got)
		}
	})
}
