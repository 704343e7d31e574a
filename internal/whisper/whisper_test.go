package whisper

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

// pair is two ends that can whisper to each other: what the first says, and how the
// second hears it.
func pair(t testing.TB) (say, hear Line) {
	t.Helper()
	mine, p, err := addr.NewOwner(bytes.NewReader(bytes.Repeat([]byte{1}, 96)))
	if err != nil {
		t.Fatal(err)
	}
	theirs, q, err := addr.NewOwner(bytes.NewReader(bytes.Repeat([]byte{2}, 96)))
	if err != nil {
		t.Fatal(err)
	}
	say = Line{
		Group: [16]byte{5}, Epoch: 7, Secret: bytes.Repeat([]byte{0x42}, SecretSize), Owner: mine.Bytes(),
		From: End{Leaf: 3, Device: key.SignPublic{8}, Route: p}, To: End{Leaf: 4, Device: key.SignPublic{9}, Route: q},
	}
	hear = say
	hear.Owner = theirs.Bytes()
	return say, hear
}

// plain is an ack as groups write it.
func plain() []byte {
	b := make([]byte, PlainSize)
	b[0], b[9], b[17], b[27], b[28], b[43] = 2, 7, 6, 16, 1, 1
	return b
}

func TestWhisperExample(t *testing.T) {
	say, hear := pair(t)
	if want := vectortest.Example(t, "group.md", "whisper routes"); !bytes.Equal(append(say.From.Route[:], say.To.Route[:]...), want) {
		t.Errorf("routes: got %x %x, want %x", say.From.Route, say.To.Route, want)
	}
	for _, w := range []struct {
		of    *Line
		other addr.Public
	}{{&say, say.To.Route}, {&hear, say.From.Route}} {
		k, err := w.of.key(w.other)
		if err != nil {
			t.Fatal(err)
		}
		if want := vectortest.Example(t, "group.md", "whisper key"); !bytes.Equal(k.Bytes(), want) {
			t.Errorf("got key %x, want %x", k.Bytes(), want)
		}
	}
	b, err := say.Seal(bytes.NewReader(make([]byte, 24)), plain())
	if err != nil {
		t.Fatal(err)
	}
	if h := sha256.Sum256(b); !bytes.Equal(h[:], vectortest.Example(t, "group.md", "whisper hash")) {
		t.Errorf("got a whisper with hash %s", hex.EncodeToString(h[:]))
	}
}

func TestWhisper(t *testing.T) {
	say, hear := pair(t)
	rnd := rand.NewChaCha8([32]byte{1})
	one, err := say.Seal(rnd, plain())
	if err != nil {
		t.Fatal(err)
	}
	two, err := say.Seal(rnd, plain())
	if err != nil {
		t.Fatal(err)
	}
	if len(one) != Size || bytes.Equal(one, two) {
		t.Errorf("got %d bytes, twice the same: %v", len(one), bytes.Equal(one, two))
	}
	for _, b := range [][]byte{one, two, one} { // nothing is used up
		if got, err := hear.Open(b); err != nil || !bytes.Equal(got, plain()) {
			t.Errorf("got %v", err)
		}
	}
	for i := range one {
		bad := bytes.Clone(one)
		bad[i] ^= 1
		if _, err := hear.Open(bad); !errors.Is(err, ErrWhisper) {
			t.Fatalf("byte %d changed: got %v, want ErrWhisper", i, err)
		}
	}
	third, _, err := addr.NewOwner(rnd)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(w *Line){
		"another epoch":            func(w *Line) { w.Epoch++ },
		"another group":            func(w *Line) { w.Group[0]++ },
		"another secret":           func(w *Line) { w.Secret = make([]byte, 32) },
		"another reader's leaf":    func(w *Line) { w.To.Leaf++ },
		"another reader's device":  func(w *Line) { w.To.Device[0]++ },
		"another sender's device":  func(w *Line) { w.From.Device[0]++ },
		"a third member":           func(w *Line) { w.Owner = third.Bytes() },
		"as if the other had said": func(w *Line) { w.From, w.To = w.To, w.From },
	} {
		w := hear
		change(&w)
		if _, err := w.Open(one); !errors.Is(err, ErrWhisper) {
			t.Errorf("%s: got %v, want ErrWhisper", what, err)
		}
	}
}

// A member has the epoch's secret and all that is public. It makes no whisper that
// opens as another's, and opens none that is not for it.
func TestAThirdMemberForgesNoWhisper(t *testing.T) {
	say, hear := pair(t)
	rnd := rand.NewChaCha8([32]byte{2})
	third, _, err := addr.NewOwner(rnd)
	if err != nil {
		t.Fatal(err)
	}
	forger := say
	forger.Owner = third.Bytes()
	b, err := forger.Seal(rnd, plain())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hear.Open(b); !errors.Is(err, ErrWhisper) {
		t.Errorf("a third member's ack opens as the reader's: %v", err)
	}
	// Nor with the route of another in its own leaf.
	copied := forger
	copied.From = End{Leaf: 5, Device: key.SignPublic{10}, Route: say.From.Route}
	if b, err = copied.Seal(rnd, plain()); err != nil {
		t.Fatal(err)
	}
	as := hear
	as.From = copied.From
	if _, err := as.Open(b); !errors.Is(err, ErrWhisper) {
		t.Errorf("who copies a route speaks for its leaf: %v", err)
	}
}

func FuzzWhisper(f *testing.F) {
	say, hear := pair(f)
	good, err := say.Seal(bytes.NewReader(make([]byte, 24)), plain())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := hear.Open(b); err == nil && !bytes.Equal(b, good) {
			t.Errorf("opens: %x", got)
		}
	})
}
