package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// fiveMinutes is how long anything may take before it counts as never.
const fiveMinutes = 5 * time.Minute

// buildPrograms builds what people and operators have.
func buildPrograms(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c := exec.Command("go", "build", "-o", dir, "./cmd/tacet", "./cmd/tacet-relay")
	c.Dir = ".."
	c.Env = append(c.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return dir
}

// screen is where a program shows things.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	parts []part
}

// part is what was shown at one moment.
type part struct {
	end int // of the text by then
	at  time.Time
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	s.parts = append(s.parts, part{s.text.Len(), time.Now()})
	return len(b), nil
}

// when says when something was shown first.
func (s *screen) when(pattern *regexp.Regexp) (at time.Time, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if pattern.Match(s.text.Bytes()[:p.end]) {
			return p.at, true
		}
	}
	return at, false
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// patiently waits for a condition that costs little to look at.
func patiently(t *testing.T, what string, ok func() bool) {
	t.Helper()
	every(t, 50*time.Millisecond, what, ok)
}

// asking is patiently for what a program has to be started for.
func asking(t *testing.T, what string, ok func() bool) {
	t.Helper()
	every(t, time.Second, what, ok)
}

func every(t *testing.T, pause time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for end := time.Now().Add(fiveMinutes); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// server is a relay as its operator runs it: on a host that stands on the
// internet itself, with TLS and its own key.
type server struct {
	at   *place
	line *uplink
	key  string // fingerprint of the realm key, which the operator tells people
}

// newServer starts a relay. conf is its configuration file.
func newServer(t *testing.T, n *internet, programs, conf string) *server {
	t.Helper()
	s := &server{at: newPlace(t, "server")}
	s.line = n.attach(s.at.name, weather{}, server4+"/32", server6+"/128")
	s.at.do(serverScript())
	dir := t.TempDir()
	file := filepath.Join(dir, "relay.toml")
	conf += fmt.Sprintf("\nlisten = \":%s\"\ndata = %q\n", relayPort, filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	relay := filepath.Join(programs, "tacet-relay")
	log := &screen{}
	runs := s.at.command(relay, "serve", "--config", file)
	runs.Stderr = log
	launch(t, runs)
	asking(t, "the relay to run", func() bool {
		out, err := s.at.command(relay, "status", "--config", file, "--json").Output()
		var st struct {
			Fingerprint string `json:"fingerprint"`
			TLS         bool   `json:"tls"`
		}
		if err != nil || json.Unmarshal(out, &st) != nil {
			return false
		}
		if !st.TLS {
			t.Fatal("the relay has no TLS")
		}
		s.key = st.Fingerprint
		return true
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the relay said:\n%s", log)
		}
	})
	return s
}

// launch starts a program that is ended with the test, also when it is frozen.
func launch(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		c.Wait()
	})
}

// somebody is a person with a device, who types commands.
type somebody struct {
	t        *testing.T
	name     string
	at       *place
	programs string
	dir      string
	typed    []string // the commands so far
}

func newSomebody(t *testing.T, name, programs string, at *place) *somebody {
	t.Helper()
	p := &somebody{t: t, name: name, at: at, programs: programs, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(p.dir, "secret"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *somebody) command(args ...string) *exec.Cmd {
	c := p.at.command(filepath.Join(p.programs, "tacet"), args...)
	c.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "TACET_PASSPHRASE_FILE="+filepath.Join(p.dir, "secret"),
		"TACET_PROFILE=", "TACET_PROXY=", "TZ=UTC")
	return c
}

// ask runs a command that the test wants to know something by.
func (p *somebody) ask(args ...string) (out, said string, err error) {
	ctx, stop := context.WithTimeout(p.t.Context(), fiveMinutes)
	defer stop()
	var o, e screen
	c := p.command(args...)
	c.Stdout, c.Stderr = &o, &e
	if err = c.Start(); err != nil {
		return "", "", err
	}
	end := context.AfterFunc(ctx, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	err = c.Wait()
	end()
	return o.String(), e.String(), err
}

// types runs a command that the person types, to its end, and returns what it
// printed. It must not fail.
func (p *somebody) types(args ...string) string {
	p.t.Helper()
	p.typed = append(p.typed, "tacet "+strings.Join(args, " "))
	out, said, err := p.ask(args...)
	if err != nil {
		p.t.Fatalf("%s: tacet %v: %v\n%s%s", p.name, args, err, out, said)
	}
	return out
}

// running is a command that goes on.
type running struct {
	*exec.Cmd
	keys      io.WriteCloser
	out, said screen
}

// enter types a line.
func (r *running) enter(line string) { io.WriteString(r.keys, line+"\n") }

// keeps runs a command that the person types and that goes on.
func (p *somebody) keeps(args ...string) *running {
	p.t.Helper()
	p.typed = append(p.typed, "tacet "+strings.Join(args, " "))
	r := &running{Cmd: p.command(args...)}
	r.Stdout, r.Stderr = &r.out, &r.said
	var err error
	if r.keys, err = r.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	launch(p.t, r.Cmd)
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("%s: tacet %v\n%s%s", p.name, args, &r.out, &r.said)
		}
	})
	return r
}

// shows waits until what a command printed or said matches, and returns the
// last group and when it was shown.
func (p *somebody) shows(r *running, pattern string) (group string, at time.Time) {
	p.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	var on *screen
	patiently(p.t, p.name+"'s screen to show "+pattern, func() bool {
		for _, on = range []*screen{&r.out, &r.said} {
			var shown bool
			if at, shown = on.when(want); shown {
				return true
			}
		}
		return false
	})
	m := want.FindStringSubmatch(on.String())
	return m[len(m)-1], at
}

// signal is for the whole group of a command.
func (r *running) signal(s syscall.Signal) { syscall.Kill(-r.Process.Pid, s) }

// status asks how things are.
func (p *somebody) status() (st client.Status) {
	p.t.Helper()
	out, said, err := p.ask("status", "--json")
	if err != nil || json.Unmarshal([]byte(out), &st) != nil {
		p.t.Fatalf("%s: tacet status: %v\n%s%s", p.name, err, out, said)
	}
	return st
}

// history reads all messages.
func (p *somebody) history() (all []client.Event) {
	p.t.Helper()
	out, said, err := p.ask("read", "--limit", "0", "--keep-unread", "--json")
	if err != nil {
		p.t.Fatalf("%s: tacet read: %v\n%s%s", p.name, err, out, said)
	}
	for line := range strings.Lines(out) {
		var e client.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// has counts how often a text of the other's is shown.
func (p *somebody) has(text string) (n int) {
	p.t.Helper()
	return count(p.history(), text, false, client.Received)
}
