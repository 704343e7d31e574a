//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tacet-chat/tacet/internal/waketest"
)

var update = flag.Bool("update", false, "write what the scripts compare with")

// programs is where the real programs are, once built.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	// The scripts wait for each other's programs more than they compute.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "tacet-programs-*")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		programs = dir
		// Acks in groups take minutes; a script has not so long.
		build := exec.Command("go", "build", "-ldflags=-X main.ackMean=2s", "-o", dir, ".", "../tacet-relay")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// TestScripts runs people and relays as real programs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", programs+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("XDG_DATA_HOME", e.WorkDir)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TACET_PASSPHRASE_FILE", filepath.Join(e.WorkDir, "secret"))
			e.Setenv("TZ", "UTC")
			e.Setenv("PUBLIC", publicAddress())
			e.Values[relayKey{}] = new(func())
			e.Values[pushKey{}] = make(chan []byte, 16)
			return os.WriteFile(filepath.Join(e.WorkDir, "secret"), []byte("correct horse\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "public":
				return publicAddress() != "", nil
			case "long":
				return os.Getenv("TACET_LONG") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"relay": relayCmd, "front": frontCmd, "until": untilCmd, "gone": goneCmd, "works": worksCmd, "draw": drawCmd, "keep": keepCmd, "plain": plainCmd, "shape": shapeCmd, "status": statusCmd,
			"push":   func(ts *testscript.TestScript, _ bool, args []string) { pushCmd(t, ts, args) },
			"freeze": func(ts *testscript.TestScript, _ bool, _ []string) { signalAll(ts, syscall.SIGSTOP) },
			"thaw":   func(ts *testscript.TestScript, _ bool, _ []string) { signalAll(ts, syscall.SIGCONT) },
		},
	})
}

// relayCmd starts a relay that keeps its key in a folder, on the address in
// $RELAY or a new one, where that is empty or has port 0: relay start FOLDER [CONFIGURATION], relay stop.
func relayCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 1 && args[0] == "stop" {
		(*ts.Value(relayKey{}).(*func()))()
		return
	}
	if len(args) != 2 && len(args) != 3 || args[0] != "start" {
		ts.Fatalf("usage: relay start FOLDER [CONFIGURATION], relay stop")
	}
	listen := ts.Getenv("RELAY")
	if listen == "" {
		listen = freePort(ts, "127.0.0.1")
	} else if host, ok := strings.CutSuffix(listen, ":0"); ok {
		listen = freePort(ts, host)
	}
	c := exec.Command(filepath.Join(programs, "tacet-relay"), "serve", "--listen", listen, "--data", ts.MkAbs(args[1]))
	if len(args) == 3 {
		c.Args = append(c.Args, "--config", ts.MkAbs(args[2]))
	}
	if roots := ts.Getenv("SSL_CERT_FILE"); roots != "" {
		c.Env = append(os.Environ(), "SSL_CERT_FILE="+roots)
	}
	out, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	done := false
	stop := func() {
		if !done {
			done = true
			c.Process.Signal(os.Interrupt)
			c.Wait()
		}
	}
	ts.Defer(func() { stop() })
	*ts.Value(relayKey{}).(*func()) = stop
	ready := make(chan bool, 1)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.Contains(s.Text(), "ready") {
				ready <- true
			}
		}
		ready <- false
	}()
	if !<-ready {
		ts.Fatalf("the relay did not start")
	}
	ts.Setenv("RELAY", listen)
}

type relayKey struct{}

// pushCmd runs a push service: push start sets $PUSH to where its endpoints are,
// and has relays that start from then on trust it; push await FILE waits for the
// next push and writes its body.
func pushCmd(t *testing.T, ts *testscript.TestScript, args []string) {
	pushes := ts.Value(pushKey{}).(chan []byte)
	switch {
	case len(args) == 1 && args[0] == "start":
		s := waketest.New(t)
		s.Got = func(p waketest.Push) { pushes <- p.Body }
		roots := ts.MkAbs("push.pem")
		ts.Check(os.WriteFile(roots, s.PEM(), 0o600))
		ts.Setenv("PUSH", s.Endpoint(""))
		ts.Setenv("SSL_CERT_FILE", roots)
	case len(args) == 2 && args[0] == "await":
		select {
		case body := <-pushes:
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
		case <-time.After(5 * time.Minute):
			ts.Fatalf("nothing was pushed")
		}
	default:
		ts.Fatalf("usage: push start, push await FILE")
	}
}

type pushKey struct{}

// publicAddress returns an address of this machine that is not loopback, with
// port 0; or nothing.
func publicAddress() string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.To4() == nil {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0"))
		if err != nil {
			continue
		}
		l.Close()
		return net.JoinHostPort(n.IP.String(), "0")
	}
	return ""
}

// freePort returns an address of this machine that nobody listens on, for a relay
// that listens there, maybe more than once. Its port is none of those that the
// kernel hands out: another connection of this busy machine would get it meanwhile.
func freePort(ts *testscript.TestScript, host string) string {
	for {
		addr := net.JoinHostPort(host, fmt.Sprint(10000+rand.IntN(20000)))
		if _, had := ports.LoadOrStore(addr, true); had {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		ts.Check(err)
		ts.Check(l.Close())
		return addr
	}
}

// ports are the addresses that freePort gave.
var ports sync.Map

// untilCmd runs a program until its output matches: until REGEXP COMMAND…
func untilCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	// An ack alone may take half a minute, by its clock; the machine may be busy.
	for deadline := time.Now().Add(3 * time.Minute); ; {
		err := ts.Exec(args[1], args[2:]...)
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v: never matched %q; at last %v\n%s%s", args[1:], args[0], err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
		<-tick.C
	}
}

// goneCmd runs a program until it succeeds with output that does not match: gone
// REGEXP COMMAND…
func goneCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: gone REGEXP COMMAND…")
	}
	not, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && !not.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v: always matched %q; at last %v\n%s%s", args[1:], args[0], err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
		<-tick.C
	}
}

// worksCmd runs a program until it succeeds: works COMMAND…
func worksCmd(ts *testscript.TestScript, neg bool, args []string) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v: never worked; at last %v\n%s", args, err, ts.ReadFile("stderr"))
		}
		<-tick.C
	}
}

// drawCmd writes a JPEG with a text where cameras say where they were: draw FILE TEXT.
func drawCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: draw FILE TEXT")
	}
	m := image.NewGray(image.Rect(0, 0, 500, 300))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i / 77)
	}
	var b bytes.Buffer
	ts.Check(jpeg.Encode(&b, m, nil))
	exif := append([]byte{0xff, 0xe1, 0, byte(2 + 6 + len(args[1]))}, "Exif\x00\x00"+args[1]...)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), slices.Concat(b.Bytes()[:2], exif, b.Bytes()[2:]), 0o600))
}

// keepCmd keeps the first line of a file in a variable, or what a group of a
// regular expression finds in it: keep NAME FILE [REGEXP].
func keepCmd(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[1])
	line, _, _ := strings.Cut(text, "\n")
	if len(args) == 3 {
		m := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(text)
		if m == nil {
			ts.Fatalf("%q is not in %q", args[2], text)
		}
		line = m[1]
	}
	ts.Setenv(args[0], line)
}

// volatile is what differs from run to run, and what stands for it.
var volatile = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d\d:\d\d\b`), "HH:MM"},
	{regexp.MustCompile(`\b\d\d:\d\d\b`), "HH:MM"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+:\d+`), "RELAY"},
	{regexp.MustCompile(`\b\d{5}  \d{5}  \d{5}  \d{5}\b`), "DDDDD  DDDDD  DDDDD  DDDDD"},
	{regexp.MustCompile(`\b[0-9a-f]{8}( [0-9a-f]{8}){3,7}\b`), "KEY"},
	{regexp.MustCompile(`#[A-Za-z0-9_-]{24}`), "#CODE"},
	{regexp.MustCompile(`\b\d\d? (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})?\b`), "DAY"},
	{regexp.MustCompile(`\b(today|tomorrow) HH:MM`), "DAY"},
	// Of two processes that start at one moment either may have the profile first.
	{regexp.MustCompile(`(?m)^The process that had this profile has ended; this one goes on with it\.\n`), ""},
}

// plainCmd copies a text without what differs from run to run, to be compared
// by cmp: plain FILE TO.
func plainCmd(ts *testscript.TestScript, neg bool, args []string) {
	got := strings.ReplaceAll(ts.ReadFile(args[0]), ts.MkAbs(".")+"/", "")
	for _, v := range volatile {
		got = v.find.ReplaceAllString(got, v.put)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(got), 0o600))
}

// shapeCmd writes which fields JSON has and of which types: shape FILE TO.
func shapeCmd(ts *testscript.TestScript, neg bool, args []string) {
	var shapes []string
	for d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0]))); d.More(); {
		var v any
		ts.Check(d.Decode(&v))
		if s := shape(v); !slices.Contains(shapes, s) {
			shapes = append(shapes, s)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(shapes, "\n")+"\n"), 0o600))
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// shape writes what a JSON value is made of.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var fields []string
		for k, f := range v {
			fields = append(fields, k+": "+shape(f))
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, i := range v {
			if s := shape(i); !slices.Contains(items, s) {
				items = append(items, s)
			}
		}
		return "[" + strings.Join(items, " | ") + "]"
	case string:
		if rfc3339.MatchString(v) {
			return "time"
		}
		return "text"
	case float64:
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

// statusCmd runs a program and wants a status of exit: status CODE COMMAND…
func statusCmd(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := err.(*exec.ExitError); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("got status %d, want %s\n%s%s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func signalAll(ts *testscript.TestScript, s os.Signal) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(s))
	}
}
