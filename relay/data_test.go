package relay

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// dir returns an empty directory with a short path: a socket has to fit.
func dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	return d
}

// wantProblem wants an error that is want and has a hint.
func wantProblem(t *testing.T, err, want error) {
	t.Helper()
	var p *Problem
	if !errors.Is(err, want) || !errors.As(err, &p) || p.Hint == "" {
		t.Errorf("got %v, want %v with a hint", err, want)
	}
}

func TestTheRealmKeyStays(t *testing.T) {
	d := dir(t)
	first, made, err := realmKey(d)
	if err != nil || !made {
		t.Fatalf("got made %t, %v, want a new key", made, err)
	}
	again, made, err := realmKey(d)
	if err != nil || made || !again.Equal(first) {
		t.Errorf("got made %t, %v, want the key that is there", made, err)
	}
	info, err := os.Stat(filepath.Join(d, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestARealmKeyThatIsNotOneIsRefusedAndKept(t *testing.T) {
	k, err := key.Generate[key.SignRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := string(appendRealmKey(nil, k))
	for name, text := range map[string]string{
		"empty": "", "cut": good[:30], "without its end": good[:len(good)-1], "two lines": good + good,
		"another header": "x" + good, "no base64": keyHeader + strings.Repeat("!", 43) + "\n", "padded": good[:len(good)-1] + "=\n",
		"a bit too many": good[:len(good)-2] + "_\n", "split": good[:25] + "\n" + good[25:],
	} {
		d := dir(t)
		path := filepath.Join(d, keyFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := realmKey(d)
		if !errors.Is(err, ErrRealmKey) {
			t.Errorf("%s: got %v, want %v", name, err, ErrRealmKey)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestWhatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	d := dir(t)
	if _, _, err := realmKey(d); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(d, keyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	_, _, err := realmKey(d)
	wantProblem(t, err, ErrOpen)
	if err := os.Chmod(d, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = openData(d)
	wantProblem(t, err, ErrOpen)
}

func TestADataDirectoryHasOneRelay(t *testing.T) {
	d := filepath.Join(dir(t), "made", "here")
	unlock, err := openData(d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openData(d)
	wantProblem(t, err, ErrLocked)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if unlock, err = openData(d); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	unlock()
}

func TestAPathThatNoSocketFitsIsRefusedEarly(t *testing.T) {
	_, err := openData(filepath.Join(dir(t), strings.Repeat("x", 120)))
	var p *Problem
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v, want an error about the length with a hint", err)
	}
}

func FuzzParseRealmKey(f *testing.F) {
	f.Add([]byte(keyHeader + strings.Repeat("A", 43) + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := parseRealmKey(b)
		if err != nil {
			return
		}
		if got := appendRealmKey(nil, k); !bytes.Equal(got, b) {
			t.Errorf("got %q, want %q", got, b)
		}
	})
}
