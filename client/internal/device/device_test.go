package device

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func newIdentity(t *testing.T) *Identity {
	t.Helper()
	id, err := New(rand.Reader, start)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestWordsBringTheRootBack(t *testing.T) {
	id := newIdentity(t)
	words, err := id.Words()
	if err != nil || len(words) != WordCount {
		t.Fatalf("got %d words, %v, want %d", len(words), err, WordCount)
	}
	pasted := "1. " + strings.Join(words, "\n2) ") + "\n"
	later := start.Add(time.Hour)
	again, err := Recover(rand.Reader, later, ReadWords(strings.ToUpper(pasted)))
	if err != nil {
		t.Fatal(err)
	}
	if !again.Root.Equal(id.Root) {
		t.Error("got another root from the same words")
	}
	if again.Sign.Equal(id.Sign) || again.DH.Equal(id.DH) {
		t.Error("a recovered person got the old device's keys")
	}
	// Contacts who hold the old manifest see a gap, not a rollback or a fork.
	if err := manifest.CheckNext(id.Manifest, again.Manifest, later); !errors.Is(err, manifest.ErrGap) {
		t.Errorf("got %v for the recovered manifest, want ErrGap", err)
	}
	if err := again.Manifest.Verify(id.Manifest.Root, later); err != nil {
		t.Errorf("recovered manifest: %v", err)
	}
}

func TestWrongWordsAreRefused(t *testing.T) {
	words, err := newIdentity(t).Words()
	if err != nil {
		t.Fatal(err)
	}
	swapped := append([]string(nil), words...)
	for i := range swapped { // two neighbours that differ: the checksum must catch it
		if i > 0 && swapped[i] != swapped[i-1] {
			swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
			break
		}
	}
	unknown := append([]string(nil), words...)
	unknown[7] = "tacet"
	caught := 0
	for name, w := range map[string][]string{"none": nil, "23": words[:23], "25": append(words[:24:24], "zoo"), "unknown": unknown, "swapped": swapped} {
		if _, err := RootOf(w); errors.Is(err, ErrWords) {
			caught++
		} else if name != "swapped" { // 8 bits of checksum let 1 swap in 256 through
			t.Errorf("%s: got %v, want ErrWords", name, err)
		}
	}
	if caught < 4 {
		t.Errorf("caught %d, want at least 4", caught)
	}
}

func TestIdentitySurvivesTheVault(t *testing.T) {
	id := newIdentity(t)
	b, err := id.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Root.Equal(id.Root) || !got.Sign.Equal(id.Sign) || !got.DH.Equal(id.DH) || !got.XWing.Equal(id.XWing) {
		t.Error("got other keys")
	}
	if !bytes.Equal(got.Manifest.Append(nil), id.Manifest.Append(nil)) {
		t.Error("got another manifest")
	}
	if s := fmt.Sprintf("%v %+v", got, got); strings.Contains(s, fmt.Sprint(id.Root.Bytes())) {
		t.Error("printing an identity shows its root")
	}
	for n := range b {
		if _, err := Parse(b[:n]); !errors.Is(err, ErrState) {
			t.Fatalf("cut to %d bytes: got %v, want ErrState", n, err)
		}
	}
	got.Wipe()
	if got.Root.Valid() || got.DH.Valid() {
		t.Error("wiped secrets are still there")
	}
}

func TestManifestIsRenewedInTime(t *testing.T) {
	id := newIdentity(t)
	old := id.Manifest
	if did, err := id.Renew(start.Add(24 * time.Hour)); did || err != nil {
		t.Fatalf("renewed after a day: %v, %v", did, err)
	}
	later := start.Add(100 * 24 * time.Hour)
	if did, err := id.Renew(later); !did || err != nil {
		t.Fatalf("not renewed 80 days before the end: %v, %v", did, err)
	}
	if err := manifest.CheckNext(old, id.Manifest, later); err != nil {
		t.Errorf("next manifest: %v", err)
	}
	if id.Manifest.Devices[0].Sign != key.SignPublicOf(id.Sign) {
		t.Error("renewal changed the device")
	}
}
