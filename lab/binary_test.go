package lab

import (
	"debug/buildinfo"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const ours = "github.com/tacet-chat/tacet/"

// openers are the rooms whose code could open a message. The relay's binary has
// nothing of them, the client's has all of them.
var openers = []string{"internal/session", "internal/ratchet", "internal/pqxdh", "internal/sealed", "internal/content"}

// absent are rooms that the relay must not have either, and that need not exist.
var absent = []string{"internal/mls", "internal/braid", "internal/pad", "internal/manifest", "internal/invite", "internal/addr"}

// TestTheRelayBinaryCannotOpenAMessage looks at what is linked, by the list of
// packages and by the symbols of the built program. The client's program is the
// control: the same look finds all of it there.
func TestTheRelayBinaryCannotOpenAMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds two programs")
	}
	t.Parallel()
	relay, client := look(t, "tacet-relay"), look(t, "tacet")
	for _, room := range slices.Concat(openers, absent, []string{"client"}) {
		if n := relay.deps[ours+room]; n {
			t.Errorf("tacet-relay links %s", room)
		}
		if n := relay.symbols(room); n != 0 {
			t.Errorf("tacet-relay has %d symbols of %s", n, room)
		}
	}
	for _, room := range openers {
		if !client.deps[ours+room] || client.symbols(room) == 0 {
			t.Errorf("tacet has nothing of %s: the look sees nothing", room)
		}
	}
	for name, p := range map[string]*program{"tacet-relay": relay, "tacet": client} {
		if p.symbols("internal/wire") == 0 || p.symbols("internal/key") == 0 {
			t.Errorf("%s has no symbols of what it certainly has", name)
		}
		if p.main != ours+"cmd/"+name {
			t.Errorf("built %s, want %s", p.main, name)
		}
	}
}

// program is what can be seen of a built one.
type program struct {
	main string
	deps map[string]bool
	nm   string // as go tool nm prints it
}

// symbols counts the functions and data of a room.
func (p *program) symbols(room string) int {
	return strings.Count(p.nm, " "+ours+room+".") + strings.Count(p.nm, " "+ours+room+"/")
}

func look(t *testing.T, name string) *program {
	t.Helper()
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("go", args...)
		c.Dir = ".."
		c.Env = append(c.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	p := &program{deps: map[string]bool{}}
	for _, d := range strings.Fields(run("list", "-deps", "./cmd/"+name)) {
		p.deps[d] = true
	}
	bin := filepath.Join(t.TempDir(), name)
	run("build", "-o", bin, "./cmd/"+name)
	p.nm = run("tool", "nm", bin)
	info, err := buildinfo.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	p.main = info.Path
	return p
}
