package acme

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/acme/acmetest"
)

// patience is how long anything may take on a machine that is busy.
const patience = 5 * time.Minute // a first try that fails is made again after one

// until waits for a condition.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !true() {
		if time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, patience)
		}
		<-tick.C
	}
}

// serve runs a manager, and TLS with what it has, at ln.
func serve(t *testing.T, m *Manager, ln net.Listener, proofs bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- m.Run(ctx, ln.Addr().(*net.TCPAddr)) }()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				done <- nil
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				get := func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
					if !proofs && slices.Contains(h.SupportedProtos, Protocol) {
						return nil, errors.New("no proof is given here")
					}
					return m.Get(h)
				}
				tls.Server(c, &tls.Config{GetCertificate: get, NextProtos: []string{"http/1.1", Protocol}}).Handshake()
			}()
		}
	}()
	t.Cleanup(func() {
		cancel()
		ln.Close()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func listen(t *testing.T) (net.Listener, int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln, ln.Addr().(*net.TCPAddr).Port
}

// dial makes a handshake as a stranger who trusts the authority would.
func dial(a *acmetest.Authority, at net.Addr, name string) (tls.ConnectionState, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{RootCAs: a.Issued, ServerName: name}}
	c, err := d.Dial("tcp", at.String())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState(), nil
}

func TestACertificateOverTheRelaysOwnPort(t *testing.T) {
	ln, port := listen(t)
	a := acmetest.Start(t, port, 1, 0)
	dir := t.TempDir()
	cfg := Config{Names: []string{"relay.example", "other.example"}, CA: a.Directory, Roots: a.Own, Email: "operator@relay.example", Dir: dir, HTTPPort: -1}
	m := New(cfg)
	if s := m.States(time.Now()); len(s) != 2 || !s[0].Until.IsZero() {
		t.Errorf("before the start: got %+v", s)
	}
	serve(t, m, ln, true)
	for _, name := range cfg.Names {
		until(t, name, func() bool { _, err := dial(a, ln.Addr(), name); return err == nil })
	}
	if _, err := dial(a, ln.Addr(), "third.example"); err == nil {
		t.Error("got a certificate for a name that is not ours")
	}
	until(t, "states", func() bool {
		return !slices.ContainsFunc(m.States(time.Now()), func(s State) bool { return s.Until.IsZero() || s.Trouble != "" || s.Late })
	})
	if s := m.States(time.Now().Add(70 * 24 * time.Hour)); !s[0].Late {
		t.Errorf("20 days before the end of 90: got %+v, want late", s[0])
	}
	for _, s := range New(cfg).Stored(time.Now()) {
		if s.Until.IsZero() || s.Late {
			t.Errorf("got %+v from the disk, want what was got", s)
		}
	}
	// Nobody else on this machine may read what was kept.
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if strings.HasSuffix(path, ".key") {
			files++
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("got %d keys, %v, want those of two certificates", files, err)
	}
}

func TestACertificateOverPort80(t *testing.T) {
	ln, port := listen(t)
	spare, httpPort := listen(t)
	spare.Close() // it was free a moment ago
	a := acmetest.Start(t, port, httpPort, 0)
	m := New(Config{Names: []string{"relay.example"}, CA: a.Directory, Roots: a.Own, Dir: t.TempDir(), HTTPPort: httpPort})
	serve(t, m, ln, false)
	until(t, "a certificate", func() bool { _, err := dial(a, ln.Addr(), "relay.example"); return err == nil })
}

func TestWhatIsKeptIsUsedAgain(t *testing.T) {
	dir := t.TempDir()
	ln, port := listen(t)
	a := acmetest.Start(t, port, 1, 0)
	cfg := Config{Names: []string{"relay.example"}, CA: a.Directory, Roots: a.Own, Dir: dir, HTTPPort: -1}
	t.Run("first", func(t *testing.T) {
		m := New(cfg)
		serve(t, m, ln, true)
		until(t, "a certificate", func() bool { return !m.States(time.Now())[0].Until.IsZero() })
	})
	a.Refuse(429)
	again, _ := listen(t)
	m := New(cfg)
	serve(t, m, again, true)
	until(t, "the certificate that was kept", func() bool { _, err := dial(a, again.Addr(), "relay.example"); return err == nil })
}

// TestWhatIsDamagedStopsNothing: a certificate on disk that cannot be read is told
// of, and the other name has its own.
func TestWhatIsDamagedStopsNothing(t *testing.T) {
	dir := t.TempDir()
	ln, port := listen(t)
	a := acmetest.Start(t, port, 1, 0)
	cfg := Config{Names: []string{"relay.example", "other.example"}, CA: a.Directory, Roots: a.Own, Dir: dir, HTTPPort: -1}
	t.Run("first", func(t *testing.T) {
		m := New(cfg)
		serve(t, m, ln, true)
		until(t, "certificates", func() bool { s := m.States(time.Now()); return !s[0].Until.IsZero() && !s[1].Until.IsZero() })
	})
	damaged := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "relay.example.crt" {
			damaged++
			return os.WriteFile(path, []byte("-----BEGIN CERTIF"), 0o600)
		}
		return err
	})
	if err != nil || damaged != 1 {
		t.Fatalf("damaged %d files, %v, want one", damaged, err)
	}
	again, _ := listen(t)
	m := New(cfg)
	serve(t, m, again, true)
	until(t, "the other name's certificate", func() bool { _, err := dial(a, again.Addr(), "other.example"); return err == nil })
	if s := m.States(time.Now()); s[0].Trouble == "" || s[0].Hint == "" || s[1].Trouble != "" {
		t.Errorf("got %+v, want trouble with the first alone", s)
	}
}

func TestTroubleIsToldInWordsOfOurs(t *testing.T) {
	ln, port := listen(t)
	for name, c := range map[string]struct {
		tlsPort int
		refuse  int
		want    string
	}{
		"refused":   {port, 429, "too often"},
		"elsewhere": {1, 0, "answers under the name"},
	} {
		t.Run(name, func(t *testing.T) {
			a := acmetest.Start(t, c.tlsPort, 1, 0)
			a.Refuse(c.refuse)
			var failed atomic.Int32
			m := New(Config{Names: []string{"relay.example"}, CA: a.Directory, Roots: a.Own, Dir: t.TempDir(), HTTPPort: -1, Failed: func() { failed.Add(1) }})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx, ln.Addr().(*net.TCPAddr)) }()
			defer func() { cancel(); <-done }()
			until(t, "trouble", func() bool { return m.States(time.Now())[0].Trouble != "" })
			s := m.States(time.Now())[0]
			if !strings.Contains(s.Trouble, c.want) || s.Hint == "" || strings.Contains(s.Trouble+s.Hint, "203.0.113.9") {
				t.Errorf("got %+v, want trouble about %q with a hint and without the authority's words", s, c.want)
			}
			if failed.Load() == 0 {
				t.Error("nobody was told")
			}
		})
	}
	gone := New(Config{Names: []string{"relay.example"}, CA: "https://127.0.0.1:1/directory", Dir: t.TempDir(), HTTPPort: -1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- gone.Run(ctx, ln.Addr().(*net.TCPAddr)) }()
	defer func() { cancel(); <-done }()
	until(t, "trouble", func() bool { return strings.Contains(gone.States(time.Now())[0].Trouble, "cannot be reached") })
}

func TestTheStoreKeepsToItsDirectory(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s := newStore(filepath.Join(dir, "in"))
	for _, key := range []string{"../out", "/out", "a/../../out"} {
		if err := s.Store(ctx, key, []byte("x")); err == nil {
			t.Errorf("%s: got it stored", key)
		}
		if _, err := s.Load(ctx, key); err == nil {
			t.Errorf("%s: got it read", key)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 0 {
		t.Errorf("got %v beside the directory", all)
	}
	for _, key := range []string{"a/b/c", "a/d", "e"} {
		if err := s.Store(ctx, key, []byte(key)); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Load(ctx, key); err != nil || string(b) != key {
			t.Errorf("got %q, %v, want %q", b, err, key)
		}
	}
	if got, err := s.List(ctx, "a", false); err != nil || !slices.Equal(got, []string{"a/b", "a/d"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := s.List(ctx, "a", true); err != nil || !slices.Equal(got, []string{"a/b", "a/b/c", "a/d"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if i, err := s.Stat(ctx, "a/d"); err != nil || i.Size != 3 || !i.IsTerminal {
		t.Errorf("got %+v, %v", i, err)
	}
	if _, err := s.Load(ctx, "f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
	if err := s.Delete(ctx, "a"); err != nil || s.Exists(ctx, "a/d") || !s.Exists(ctx, "e") {
		t.Errorf("deleting: %v", err)
	}
	if err := s.Delete(ctx, "a"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
}

func TestLocksExclude(t *testing.T) {
	s := newStore(t.TempDir())
	if err := s.Lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to wait", err)
	}
	if err := s.Lock(t.Context(), "b"); err != nil {
		t.Errorf("another name: %v", err)
	}
	if err := s.Unlock(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := s.Unlock(t.Context(), "a"); err == nil {
		t.Error("got a lock given back twice")
	}
	if err := s.Lock(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
