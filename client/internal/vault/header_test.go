package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

// count reads as the bytes from … on: the randomness of the examples.
func count(from, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(from + i)
	}
	return b
}

func exampleRoot(t testing.TB) key.Vault {
	t.Helper()
	root, err := key.New[key.VaultRole](count(0, 32))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func exampleHeader(t testing.TB) *header {
	t.Helper()
	h, err := wrapKey(bytes.NewReader(count(0x20, 40)), exampleRoot(t), pass, weak)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestKeyFileIsTheExample(t *testing.T) {
	got, want := exampleHeader(t).Append(nil), vectortest.Example(t, "vault.md", "key-file")
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestArgon2idIsTheReference compares with the published vectors of the
// reference implementation (version 0x13).
func TestArgon2idIsTheReference(t *testing.T) {
	for _, c := range []struct {
		time, memory uint32
		threads      uint8
		want         string
	}{
		{2, 1 << 16, 1, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"},
		{2, 256, 1, "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"},
		{2, 256, 2, "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037"},
	} {
		got := argon2.IDKey([]byte("password"), []byte("somesalt"), c.time, c.memory, c.threads, 32)
		if hex.EncodeToString(got) != c.want {
			t.Errorf("t=%d m=%d p=%d: got %x, want %s", c.time, c.memory, c.threads, got, c.want)
		}
	}
}

func TestEveryFlippedBitOfAKeyFileIsADamage(t *testing.T) {
	b := exampleHeader(t).Append(nil)
	for i := range b {
		for bit := range 8 {
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			if _, err := parseHeader(c); err != ErrDamaged {
				t.Fatalf("byte %d bit %d: got %v, want ErrDamaged", i, bit, err)
			}
		}
	}
	for n := range b {
		if _, err := parseHeader(b[:n]); err != ErrDamaged {
			t.Fatalf("%d bytes: got %v, want ErrDamaged", n, err)
		}
	}
}

// rehash makes a key file whose hash fits, as somebody would who means it.
func rehash(b []byte) []byte {
	s := sha256.Sum256(b[:headerSum])
	return append(bytes.Clone(b[:headerSum]), s[:]...)
}

func TestKeyFilesOutOfBoundsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    int
		value []byte
		want  error
	}{
		{"later version", 8, []byte{2}, ErrNewer},
		{"version 0", 8, []byte{0}, ErrDamaged},
		{"unknown method", 9, []byte{2}, ErrDamaged},
		{"weak 2", 10, []byte{2}, ErrDamaged},
		{"weak parameters without the flag", 10, []byte{0}, ErrDamaged},
		{"no threads", 11, []byte{0}, ErrDamaged},
		{"65 threads", 11, []byte{65}, ErrDamaged},
		{"2 GiB", 12, []byte{0, 0x20, 0, 0}, ErrDamaged},
		{"less than 8 KiB per thread", 12, []byte{0, 0, 0, 7}, ErrDamaged},
		{"no pass", 16, []byte{0, 0, 0, 0}, ErrDamaged},
		{"65 passes", 16, []byte{0, 0, 0, 65}, ErrDamaged},
	} {
		b := exampleHeader(t).Append(nil)
		copy(b[c.at:], c.value)
		if _, err := parseHeader(rehash(b)); err != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestForgedKeyFileOpensNothing(t *testing.T) {
	for _, at := range []int{11, 15, 19, 20, 36, 60, 107} {
		b := exampleHeader(t).Append(nil)
		b[at]++
		h, err := parseHeader(rehash(b))
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if root, err := h.unwrap(pass); err != ErrPassphrase || root.Valid() {
			t.Errorf("byte %d: got %v, want ErrPassphrase", at, err)
		}
	}
}

func TestPassphraseUnwrapsTheKey(t *testing.T) {
	h := exampleHeader(t)
	root, err := h.unwrap(pass)
	if err != nil || !root.Equal(exampleRoot(t)) {
		t.Errorf("got %v, want the vault key", err)
	}
	for _, wrong := range []string{"", "correct hors", "correct horse ", "Correct horse"} {
		if _, err := h.unwrap([]byte(wrong)); err != ErrPassphrase {
			t.Errorf("%q: got %v, want ErrPassphrase", wrong, err)
		}
	}
}

func TestFloorHoldsUnlessWeak(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want error
	}{
		{Params{}, nil},
		{Default, nil},
		{Params{Memory: floorMemory, Time: 3, Threads: 1}, nil},
		{Params{Memory: 128 << 10, Time: 4, Threads: 2}, nil},
		{Params{Memory: floorMemory - 1, Time: 3, Threads: 4}, ErrParams},
		{Params{Memory: floorMemory, Time: 2, Threads: 4}, ErrParams},
		{Params{Memory: floorMemory, Time: 3}, ErrParams},
		{Params{Memory: maxMemory + 1, Time: 3, Threads: 4}, ErrParams},
		{Params{Memory: floorMemory, Time: maxTime + 1, Threads: 4}, ErrParams},
		{weak, nil},
		{Params{Weak: true}, ErrParams},
	} {
		if _, err := c.p.check(); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.p, err, c.want)
		}
	}
	if p, _ := (Params{}).check(); p != Default {
		t.Errorf("zero value: got %+v, want %+v", p, Default)
	}
	_, err := wrapKey(bytes.NewReader(count(0, 64)), exampleRoot(t), pass, Params{Memory: 64, Time: 1, Threads: 1})
	if err != ErrParams {
		t.Errorf("wrapping with weak parameters: got %v, want ErrParams", err)
	}
}

func TestWrappingNeedsPassphraseAndRandomness(t *testing.T) {
	if _, err := wrapKey(bytes.NewReader(count(0, 64)), exampleRoot(t), nil, weak); err != ErrNoPassphrase {
		t.Errorf("got %v, want ErrNoPassphrase", err)
	}
	for _, n := range []int{0, 15, 16, 39} {
		if _, err := wrapKey(bytes.NewReader(count(0, n)), exampleRoot(t), pass, weak); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d random bytes: got %v, want an end of randomness", n, err)
		}
	}
}

func FuzzKeyFile(f *testing.F) {
	b := exampleHeader(f).Append(nil)
	f.Add(b)
	f.Add(rehash(append(bytes.Clone(b[:8]), make([]byte, headerSum-8)...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, fit(b)} {
			h, err := parseHeader(b)
			if err == nil && !bytes.Equal(h.Append(nil), b) {
				t.Errorf("got %x, want %x", h.Append(nil), b)
			}
		}
	})
}

// fit gives b a hash that fits, so that the fuzzer gets past it.
func fit(b []byte) []byte {
	if len(b) < headerSum {
		return b
	}
	return rehash(b)
}
