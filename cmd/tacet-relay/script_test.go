package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tacet-chat/tacet/relay"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tacet-relay": main})
}

// TestScripts drives the program as an operator would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_STATE_HOME", "")
			e.Setenv("STATE_DIRECTORY", "")
			recipes, err := filepath.Abs("../../docs/recipes")
			e.Setenv("RECIPES", recipes)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond == "tmpfs" { // a small file system can be mounted here
				return canMount(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": await, "invite-id": inviteID, "get": get, "take": take, "free": free, "stamp": stamp, "expired": expired, "tmpfs": tmpfs, "damage": damage, "fill": fill, "put": put,
		},
	})
}

// await waits until the relay of a data directory answers: await DIR
func await(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := relay.AskStatus(ts.MkAbs(args[0]))
		if err == nil {
			ts.Setenv("LISTEN", st.Listen)
			ts.Setenv("REALM", st.Fingerprint)
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("no relay on %s: %v", args[0], err)
		case <-tick.C:
		}
	}
}

// inviteID sets $ID to the id of the first invite in the last output: invite-id WHICH
func inviteID(ts *testscript.TestScript, neg bool, args []string) {
	m := regexp.MustCompile(`"id": "([0-9a-f]{8})"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("no id in the output")
	}
	ts.Setenv("ID", m[1])
}

// get asks the relay of the last await and prints status and the first bytes: get PATH
func get(ts *testscript.TestScript, neg bool, args []string) {
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get("http://" + ts.Getenv("LISTEN") + args[0])
	if err != nil {
		if !neg {
			ts.Fatalf("%v", err)
		}
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d %.40q\n", resp.StatusCode, b)
	if neg {
		ts.Fatalf("got an answer, want none")
	}
}

// store puts the slot whose id begins with n, and returns the status.
func store(ts *testscript.TestScript, n byte) int {
	body := make([]byte, 66+64<<10) // spec: relay-api.md#blob
	body[0], body[34] = 1, n
	resp, err := http.Post("http://"+ts.Getenv("LISTEN")+"/v1/blob", "application/octet-stream", bytes.NewReader(body))
	ts.Check(err)
	resp.Body.Close()
	return resp.StatusCode
}

// put stores one blob, whose id is all zeros, and prints the status: put
func put(ts *testscript.TestScript, neg bool, args []string) {
	fmt.Fprintln(ts.Stdout(), store(ts, 0))
}

// fill stores blobs until one is refused and prints the status of that: fill
func fill(ts *testscript.TestScript, neg bool, args []string) {
	for n := range byte(255) {
		if status := store(ts, n); status != http.StatusOK {
			fmt.Fprintf(ts.Stdout(), "%d after %d\n", status, n)
			return
		}
	}
	ts.Fatalf("nothing was refused")
}

// take listens on a port for as long as the script runs and sets $TAKEN: take
func take(ts *testscript.TestScript, neg bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ln.Close() })
	ts.Setenv("TAKEN", ln.Addr().String())
}

// free sets $FREE to a port that nobody has, and that the kernel hands to nobody
// meanwhile: free
func free(ts *testscript.TestScript, neg bool, args []string) {
	for {
		port := fmt.Sprint(10000 + rand.IntN(20000))
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		ts.Check(err)
		ts.Check(ln.Close())
		ts.Setenv("FREE", port)
		return
	}
}

// stamp gives a store that nobody has open another version: stamp FILE VERSION
func stamp(ts *testscript.TestScript, neg bool, args []string) {
	var version uint32
	_, err := fmt.Sscan(args[1], &version)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, version), 60) // SQLite's user_version
	ts.Check(errors.Join(err, f.Close()))
}

// expired puts a certificate there that ended yesterday, as if an authority had
// given it: expired FOLDER NAME
func expired(ts *testscript.TestScript, neg bool, args []string) {
	public, private, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{args[1]}, NotBefore: time.Now().AddDate(0, 0, -90), NotAfter: time.Now().AddDate(0, 0, -1)}
	der, err := x509.CreateCertificate(nil, c, c, public, private)
	ts.Check(err)
	file := filepath.Join(ts.MkAbs(args[0]), "certificates", "acme-v02.api.letsencrypt.org-directory", args[1], args[1]+".crt")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
}

// damage cuts a file to some bytes: damage FILE BYTES
func damage(ts *testscript.TestScript, neg bool, args []string) {
	var n int64
	_, err := fmt.Sscan(args[1], &n)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// TestThePageForOperatorsNamesWhatThereIs checks that docs/operate.md speaks of
// every recipe, and of no file, command or flag that there is not.
func TestThePageForOperatorsNamesWhatThereIs(t *testing.T) {
	b, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, m := range regexp.MustCompile(`\]\((recipes/[^)]*)\)|docs/(recipes/\S+)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../../docs/" + m[1] + m[2]); err != nil {
			t.Error(err)
		}
	}
	all, err := filepath.Glob("../../docs/recipes/*")
	if err != nil || len(all) < 5 {
		t.Fatalf("got %d recipes, %v", len(all), err)
	}
	for _, dir := range all {
		if !strings.Contains(page, "recipes/"+filepath.Base(dir)+"/") {
			t.Errorf("the page does not speak of %s", dir)
		}
	}
	ran, lines := false, 0
	for line := range strings.Lines(page) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		args := strings.Fields(line)
		if len(args) < 2 || args[0] != "tacet-relay" {
			continue
		}
		lines++
		cmd, rest, err := commands(&ran).Find(args[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if lines == 0 {
		t.Error("got no command on the page")
	}
	for _, m := range regexp.MustCompile("`([a-z_]+) = ").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(relay.Example(), "\n"+m[1]+" = ") && !strings.HasPrefix(relay.Example(), m[1]+" = ") {
			t.Errorf("there is no setting %s", m[1])
		}
	}
}

func TestTheManualHasAnExampleForEveryCommand(t *testing.T) {
	ran := false
	for _, c := range commands(&ran).Commands() {
		if !strings.HasPrefix(c.Example, "  tacet-relay "+c.Name()) {
			t.Errorf("%s: got example %q, want one that starts with the command", c.Name(), c.Example)
		}
	}
}
