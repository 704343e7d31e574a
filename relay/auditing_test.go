package relay

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// needle writes one line of a list.
func needle(where, what string, b []byte) string {
	return where + "\t" + what + "\t" + hex.EncodeToString(b) + "\n"
}

// A relay that runs and one that does not are audited alike, and what somebody
// put beside its stores is found.
func TestAnAuditFindsWhatMustNotBe(t *testing.T) {
	secret := make([]byte, 32)
	rand.Read(secret)
	for _, runs := range []bool{true, false} {
		for name, c := range map[string]struct {
			do   func(data string) AuditOptions
			want string // of a finding; "" for none
		}{
			"as it is": {func(string) AuditOptions { return AuditOptions{} }, ""},
			"a text in a store": {func(data string) AuditOptions {
				write(t, filepath.Join(data, "old.db"), "Meet me at the old bridge at nine, and tell nobody.")
				return AuditOptions{}
			}, "a text of 51 characters"},
			"a needle": {func(data string) AuditOptions {
				write(t, filepath.Join(data, "left"), hex.EncodeToString(secret))
				return AuditOptions{Needles: strings.NewReader(needle("kept", "a key", secret))}
			}, "a key, as hex"},
			"an address in a log": {func(string) AuditOptions {
				log := filepath.Join(t.TempDir(), "log")
				write(t, log, "level=INFO msg=ready from=203.0.113.5\n")
				return AuditOptions{Logs: []string{log}}
			}, "a network address"},
			"a needle in a backup": {func(string) AuditOptions {
				copied := t.TempDir()
				write(t, filepath.Join(copied, "blobs.db"), "x"+string(secret))
				return AuditOptions{Backups: []string{copied}, Needles: strings.NewReader(needle("never", "a key", secret))}
			}, "a key, as it is"},
		} {
			t.Run(fmt.Sprintf("%s, runs %v", name, runs), func(t *testing.T) {
				cfg := Config{Data: dir(t)}
				if runs {
					start(t, cfg).realm(t)
				} else {
					r, err := New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
				}
				r, err := Audit(t.Context(), cfg, c.do(cfg.Data))
				if err != nil {
					t.Fatal(err)
				}
				if r.Hunted.Planted == 0 || r.Hunted.Found != r.Hunted.Planted || r.Facts < 10 || len(r.Stores) == 0 {
					t.Errorf("got %d facts of %d stores, %d planted, %d found", r.Facts, len(r.Stores), r.Hunted.Planted, r.Hunted.Found)
				}
				if got := fmt.Sprint(r.Findings); c.want == "" && !r.OK() || !strings.Contains(got, c.want) {
					t.Errorf("got %s, want one with %q", got, c.want)
				}
			})
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNeedlesAreReadStrictly(t *testing.T) {
	good := needle("never", "a key", []byte("12345678")) + needle("kept", "a cell", []byte("abcdefgh")) + needle("now", "an address", []byte("ABCDEFGH"))
	n, err := ParseNeedles(strings.NewReader(good))
	if err != nil || len(n.Never) != 1 || len(n.Kept) != 3 || len(n.Now) != 1 {
		t.Errorf("got %+v, %v", n, err)
	}
	for _, bad := range []string{"never\ta key", "never\t\t00", "never\ta\t0", "soon\ta\t00", "never a 00", "never\ta\tzz", "never\ta\t00\t", strings.Repeat("x", 2<<20)} {
		if _, err := ParseNeedles(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q: got no error", bad)
		}
	}
}

// The memory of a process is searched: what it holds is found.
func TestMemoryIsSearched(t *testing.T) {
	there := make([]byte, 32)
	rand.Read(there)
	found := 0
	err := processMemory(os.Getpid(), func(b []byte) { found += bytes.Count(b, there) })
	if err != nil {
		if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "on Linux only") {
			t.Skipf("SKIPPED 1 test: %v", err)
		}
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("got nothing of what is there")
	}
}

// Whatever roles are on, every store is asked, and has nothing that is in no
// inventory.
func TestEveryStoreIsAudited(t *testing.T) {
	cfg := Config{Data: dir(t), Gate: "invite", Roles: []string{RoleLive, RoleBlob, RolePark, RoleWake}, Metrics: "unix:" + filepath.Join(dir(t), "m.sock")}
	x := start(t, cfg)
	x.realm(t)
	until(t, "metrics", func() bool { return len(x.facts(t.Context()).Metrics) > 100 })
	r, err := Audit(t.Context(), cfg, AuditOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	tables := map[string]bool{}
	for _, s := range r.Stores {
		names = append(names, s.Store)
		for _, c := range s.Columns {
			tables[c.Table] = true
		}
	}
	if fmt.Sprint(names) != "[blobs gate park wake]" || !r.OK() {
		t.Errorf("got stores %v and findings %v, want blobs, gate, park and wake, and none", names, r.Findings)
	}
	if len(tables) == 0 || len(tables) >= 11 {
		t.Errorf("got %d tables, want fewer than eleven", len(tables))
	}
}

// What a relay says in metrics is searched as its log is.
func TestMetricsAreAudited(t *testing.T) {
	cfg := Config{Data: dir(t), Metrics: "unix:" + filepath.Join(dir(t), "m.sock")}
	x := start(t, cfg)
	x.realm(t)
	said := []byte("tacet_last_peer{from=\"203.0.113.5\"} 1\n")
	x.measured.Store(&said)
	r, err := Audit(t.Context(), cfg, AuditOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Findings); !strings.Contains(got, "metrics: something that looks like a network address") {
		t.Errorf("got %s, want a network address in metrics", got)
	}
}
