package hunt

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

func newHunt(t *testing.T, needles ...Needle) *Hunt {
	t.Helper()
	h, err := New(needles)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func noise(dice *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(dice.Uint32())
	}
	return b
}

func TestHuntFindsEveryForm(t *testing.T) {
	needle := []byte("the words of Ada, between öthers")
	text := hex.EncodeToString(needle)
	for name, b := range map[string][]byte{
		"it is": needle, "hex": []byte(text), "HEX": bytes.ToUpper([]byte(text)), "its first half": needle[:17], "its second half": needle[16:],
		"base64+0":    []byte(base64.StdEncoding.EncodeToString(append([]byte("abc"), needle...))),
		"base64+1":    []byte(base64.StdEncoding.EncodeToString(append([]byte("a"), needle...))),
		"base64+2":    []byte(base64.StdEncoding.EncodeToString(slices.Concat([]byte("ab"), needle, []byte("c")))),
		"base64url+0": []byte(base64.URLEncoding.EncodeToString(append([]byte("abc"), needle...))),
	} {
		h := newHunt(t, Needle{"words", needle})
		h.Search("here", slices.Concat([]byte("before"), b, []byte("behind")))
		found := false
		for _, hit := range h.Hits {
			found = found || hit.Form == name || name == "base64url+0" && hit.Form == "base64+0" // where both alphabets write the same
		}
		if !found {
			t.Errorf("%s: got hits %v, want one in this form", name, h.Hits)
		}
	}
}

func TestHuntFindsWhereFilesBeginAndEnd(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string]string{"a": "canary bird", "sub/b": "bird, canary", "canary-file": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := newHunt(t, Needle{"canary", []byte("canary")})
	if err := h.Tree(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if len(h.Hits) != 3 || h.Files != 3 || h.Bytes != 23 {
		t.Errorf("got %d files, %d bytes, hits %v, want 3 files, 23 bytes, 3 hits", h.Files, h.Bytes, h.Hits)
	}
}

func TestHuntFindsNothingInNoise(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var needles []Needle
	for range 500 {
		needles = append(needles, Needle{"key", noise(dice, 32)})
	}
	h := newHunt(t, needles...)
	h.Search("noise", noise(dice, 4<<20))
	if len(h.Hits) != 0 {
		t.Errorf("got %v, want nothing", h.Hits)
	}
}

func TestHuntControlFindsAllThatWasPlanted(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for name, n := range map[string]int{"db": 100_000, "log": 300, "empty": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), noise(dice, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := newHunt(t, Needle{"key", noise(dice, 32)}, Needle{"words", []byte("good morning")}, Needle{"number", []byte{127, 0, 0, 2}})
	planted, found, err := h.Control(os.DirFS(dir), dice.IntN)
	if err != nil || planted != h.Forms() || found != planted {
		t.Errorf("got %d planted, %d found, %v, want all %d", planted, found, err, h.Forms())
	}
	if err := h.Tree(os.DirFS(dir)); err != nil || len(h.Hits) != 0 {
		t.Errorf("got %v, %v in what nothing was planted in, want nothing", h.Hits, err)
	}
	// A hunt that is blind for one form is found out.
	delete(h.by, 0x7f000002)
	if planted, found, err := h.Control(os.DirFS(dir), dice.IntN); err != nil || found != planted-1 {
		t.Errorf("blind for one form: got %d planted, %d found, %v, want one less", planted, found, err)
	}
}

func TestHuntRefusesWhatChanceWouldFind(t *testing.T) {
	if _, err := New([]Needle{{"name", []byte("Ada")}}); !errors.Is(err, ErrNeedle) {
		t.Errorf("got %v, want %v", err, ErrNeedle)
	}
}

// A needle over the border between two pieces of a file is found, once.
func TestHuntFindsAcrossPieces(t *testing.T) {
	needle := []byte("a needle that lies across")
	h := newHunt(t, Needle{"needle", needle})
	b := make([]byte, 2*piece+3*h.longest)
	for i, at := range []int{piece - 5, piece + h.longest - 7, 2*piece + h.longest - 3} {
		clear(b)
		copy(b[at:], needle)
		h.Hits = nil
		if err := h.Tree(fstest.MapFS{"f": {Data: b}}); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, hit := range h.Hits {
			if hit.Form == "it is" && hit.Offset == at {
				whole++
			}
		}
		if whole != 1 || len(h.Hits) != 3 { // itself and its halves
			t.Errorf("place %d: got %v, want the needle once at %d and its halves", i, h.Hits, at)
		}
	}
}
