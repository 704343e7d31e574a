package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// diagnosis returns the check of a name.
func diagnosis(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("got no check of %q in %v", name, checks)
	return Check{}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	made := dir(t)
	s := start(t, Config{Data: made})
	_, body, _ := blobPut(t, 1)
	s.do(t, "POST", "/v1/blob", body)
	s.stop()
	taken := start(t, Config{Listen: "127.0.0.1:0"})

	for name, c := range map[string]struct {
		cfg   Config
		spoil func(d string) error
		check string
		want  Level
		says  string
	}{
		"all is well":        {check: "blob store", want: OK, says: "every page fits"},
		"key there":          {check: "realm key", want: OK, says: "fingerprint"},
		"address free":       {check: "address", want: OK, says: "is free"},
		"plain on loopback":  {check: "encryption", want: OK, says: "not bound"},
		"tls":                {cfg: Config{TLS: "on"}, check: "encryption", want: OK, says: "are bound"},
		"address taken":      {cfg: Config{Listen: strings.TrimPrefix(taken.url, "http://")}, check: "address", want: Fail, says: "in use"},
		"plain for all":      {cfg: Config{TLS: "off", Listen: "0.0.0.0:0"}, check: "address", want: Fail, says: "loopback"},
		"directory open":     {spoil: func(d string) error { return os.Chmod(d, 0o755) }, check: "data directory", want: Fail, says: "open to other users"},
		"key open":           {spoil: func(d string) error { return os.Chmod(filepath.Join(d, keyFile), 0o644) }, check: "realm key", want: Fail, says: "open to other users"},
		"key cut":            {spoil: func(d string) error { return os.Truncate(filepath.Join(d, keyFile), 20) }, check: "realm key", want: Fail, says: "damaged"},
		"store cut":          {spoil: func(d string) error { return os.Truncate(filepath.Join(d, blobFile), 8192) }, check: "blob store", want: Fail, says: "damaged"},
		"store scribbled on": {spoil: scribble, check: "blob store", want: Fail, says: "damaged"},
		"many connections":   {cfg: Config{MaxConnections: 1_000_000}, check: "open files", want: Warn, says: "max_connections"},
		"few connections":    {cfg: Config{MaxConnections: 10}, check: "open files", want: OK, says: "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			if err := os.CopyFS(d, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(d, keyFile), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.spoil != nil {
				if err := c.spoil(d); err != nil {
					t.Fatal(err)
				}
			}
			if c.cfg.Listen == "" {
				c.cfg.Listen = "127.0.0.1:0"
			}
			c.cfg.Data = d
			got := diagnosis(t, Doctor(t.Context(), c.cfg), c.check)
			if got.Level != c.want || !strings.Contains(got.Says, c.says) || c.want != OK && got.Hint == "" {
				t.Errorf("got %+v, want %s about %q", got, c.want, c.says)
			}
		})
	}
}

// scribble overwrites the inside of the database.
func scribble(d string) error {
	f, err := os.OpenFile(filepath.Join(d, blobFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("scribble", 512)), 2*4096)
	return err
}

func TestDoctorKnowsTheRunningRelay(t *testing.T) {
	for _, cfg := range []Config{{}, {TLS: "on"}, {Listen: "0.0.0.0:0"}} {
		cfg.Data = dir(t)
		s := start(t, cfg)
		s.realm(t)
		if got := diagnosis(t, Doctor(t.Context(), cfg), "address"); got.Level != OK || !strings.Contains(got.Says, "this relay answers") {
			t.Errorf("listen %q, tls %q: got %+v, want OK", cfg.Listen, cfg.TLS, got)
		}
		if got := diagnosis(t, Doctor(t.Context(), cfg), "blob store"); got.Level != OK || !strings.Contains(got.Says, "running") {
			t.Errorf("got %+v, want it left alone", got)
		}
		st, err := AskStatus(cfg.Data)
		if err != nil {
			t.Fatal(err)
		}
		st.Fingerprint = strings.Repeat("0", 64)
		if got := checkAnswer(t.Context(), st); got.Level != Fail || got.Hint == "" {
			t.Errorf("another realm answers there: got %+v, want FAIL", got)
		}
		s.stop()
	}
}

func TestDoctorOnAFreshMachine(t *testing.T) {
	d := filepath.Join(dir(t), "not", "there")
	for _, c := range Doctor(t.Context(), Config{Data: d, Listen: "127.0.0.1:0"}) {
		if c.Level == Fail {
			t.Errorf("got %+v, want nothing to fail", c)
		}
	}
	if _, err := os.Stat(d); !os.IsNotExist(err) {
		t.Error("doctor made the data directory, want nothing changed")
	}
}

func TestAClockBeforeThisProgramIsWrong(t *testing.T) {
	if got := checkClock(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)); got.Level != Fail {
		t.Errorf("got %+v, want FAIL", got)
	}
	if got := checkClock(time.Now()); got.Level == Fail {
		t.Errorf("got %+v, want no failure", got)
	}
}
