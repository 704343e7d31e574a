package lab

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// container is what Containerfile says of the image.
type container struct {
	t        *testing.T
	build    []string // command that builds the program
	copies   map[string]string
	env      []string
	user     string
	entry    []string
	cmd      []string
	health   []string
	root     string // where its files lie for the test
	at       *place
	hasRoots bool // authorities of this machine are in it
}

// readContainerfile reads the file as strictly as the test needs it.
func readContainerfile(t *testing.T) *container {
	t.Helper()
	b, err := os.ReadFile("../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	c := &container{t: t, copies: map[string]string{}}
	last := ""
	list := func(s string) (out []string) {
		if err := json.Unmarshal([]byte(s), &out); err != nil || len(out) == 0 {
			t.Errorf("%q is not in the form of a list: a shell would be needed", s)
		}
		return out
	}
	for line := range strings.Lines(string(b)) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case verb == "" || strings.HasPrefix(verb, "#"):
		case verb == "FROM":
			last = rest
		case verb == "RUN" && last == "scratch":
			t.Error("got a RUN where there is no shell")
		case verb == "RUN" && strings.Contains(rest, "go build"):
			c.build = strings.Fields(rest)
		case last != "scratch":
		case verb == "COPY":
			words := strings.Fields(rest)
			if words[0] != "--from=build" {
				t.Errorf("got %q in the image, want it from the first stage", line)
			}
			c.copies[words[len(words)-1]] = words[len(words)-2]
		case verb == "ENV":
			c.env = strings.Fields(rest)
		case verb == "USER":
			c.user = rest
		case verb == "ENTRYPOINT":
			c.entry = list(rest)
		case verb == "CMD":
			c.cmd = list(rest)
		case verb == "VOLUME":
			if v := list(rest); !slices.Equal(v, []string{"/data"}) {
				t.Errorf("got volumes %q, want /data alone", v)
			}
		case verb == "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, "CMD ")
			c.health = list(command)
		case verb == "EXPOSE" || verb == "STOPSIGNAL":
		default:
			t.Errorf("got %q, which this test does not know", line)
		}
	}
	if last != "scratch" {
		t.Errorf("the image begins from %q, want scratch", last)
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(c.user) {
		t.Errorf("got user %q, want numbers that are not root's: there is no /etc/passwd", c.user)
	}
	if len(c.entry) == 0 || len(c.cmd) == 0 || len(c.health) == 0 || c.entry[0] != c.health[0] || c.copies[c.entry[0]] == "" {
		t.Errorf("got entry %q and health check %q, want the program that is copied", c.entry, c.health)
	}
	if !slices.Contains(c.build, "CGO_ENABLED=0") {
		t.Errorf("got %q, want a static program", c.build)
	}
	return c
}

// compile builds the program as the file says. What only strips it, and would
// have SQLite compiled once more, is left to TACET_LONG=1.
func (c *container) compile() (program string) {
	c.t.Helper()
	program = filepath.Join(c.t.TempDir(), "tacet-relay")
	command := slices.Clone(c.build)
	command[slices.Index(command, "-o")+1] = program
	if os.Getenv("TACET_LONG") == "" {
		command = slices.DeleteFunc(command, func(w string) bool {
			return w == "-trimpath" || strings.HasPrefix(w, "-ldflags") || w == "-w" || strings.HasPrefix(w, "-buildid")
		})
	}
	build := exec.Command("sh", "-c", strings.Join(command, " "))
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		c.t.Fatalf("%q: %v\n%s", command, err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		c.t.Errorf("the program is not static: it wants %q, %v", libraries, err)
	}
	return program
}

// fill makes the image's root, with what the file copies and nothing else.
func (c *container) fill(program string) {
	c.t.Helper()
	c.root = c.t.TempDir()
	if err := os.Chmod(c.root, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for to, from := range c.copies {
		at := filepath.Join(c.root, to)
		switch from {
		case "/out/data":
			if err := os.Mkdir(at, 0o700); err != nil {
				c.t.Fatal(err)
			}
			if out, err := exec.Command("chown", c.user, at).CombinedOutput(); err != nil {
				c.t.Fatalf("%v: %s", err, out)
			}
			continue
		case "/out/tacet-relay":
			from = program
		}
		b, err := os.ReadFile(from)
		if os.IsNotExist(err) && strings.HasPrefix(from, "/etc/ssl/") {
			continue // no authorities on this machine
		} else if err != nil {
			c.t.Fatal(err)
		}
		c.hasRoots = c.hasRoots || strings.HasPrefix(from, "/etc/ssl/")
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(at, b, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// command is one that a container of the image runs, on a network of its own.
func (c *container) command(args ...string) *exec.Cmd {
	all := append([]string{"-i"}, c.env...)
	all = append(all, "/usr/sbin/chroot", "--userspec="+c.user, c.root)
	return c.at.command("/usr/bin/env", append(all, args...)...)
}

func (c *container) run(args ...string) (out string, err error) {
	b, err := c.command(args...).CombinedOutput()
	return string(b), err
}

// TestTheContainerIsTheProgramAlone builds what Containerfile copies and runs it
// in a root that has that alone, with the words of docs/operate.md. There is no
// runtime for containers here: chroot and a network namespace stand in for it.
func TestTheContainerIsTheProgramAlone(t *testing.T) {
	c := readContainerfile(t)
	program := c.compile()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED 1 test: an empty root needs root: chroot")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED 1 test: a network of its own needs ip (Debian: iproute2)")
	}
	try := placeName("try")
	out, err := exec.Command("ip", "netns", "add", try).CombinedOutput()
	removePlace(try)
	if err != nil {
		t.Skipf("SKIPPED 1 test: no network namespaces here: %s", out)
	}
	c.fill(program)
	c.at = newPlace(t, "container")
	c.at.do("ip link set lo up\nip addr add 192.0.2.10/32 dev lo")

	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(pattern string) []string {
		m := regexp.MustCompile(`(?m)^    podman ` + pattern + `$`).FindSubmatch(page)
		if m == nil {
			t.Fatalf("the page has no line %q", pattern)
		}
		return strings.Fields(string(m[1]))
	}
	// Without a configuration it says what to do.
	if out, err := c.run(append(c.entry, c.cmd...)...); err == nil || !strings.Contains(out, "hint:") {
		t.Errorf("got %v without a configuration, want a hint:\n%s", err, out)
	}
	if out, err := c.run(append(c.entry, words(`run --rm -v realm:/data tacet-relay (.*)`)...)...); err != nil {
		t.Fatalf("quickstart: %v\n%s", err, out)
	}
	if out, err := c.run(c.health...); err == nil {
		t.Errorf("the health check says that it runs before it does:\n%s", out)
	}
	serve := c.command(append(c.entry, c.cmd...)...)
	log := &screen{}
	serve.Stderr = log
	launch(t, serve)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the relay said:\n%s", log)
		}
	})
	asking(t, "the health check to pass", func() bool { _, err := c.run(c.health...); return err == nil })
	said, err := c.run(words(`exec tacet-relay (.*)`)...)
	if err != nil || !strings.Contains(said, "this relay answers at") {
		t.Errorf("doctor: %v\n%s", err, said)
	}

	// The authorities that vouch for others are found where the file puts them.
	named := filepath.Join(c.root, "data", "named.toml")
	if err := os.WriteFile(named, []byte("domain = \"relay.example\"\ndata = \"/data\"\nlisten = \":7117\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{c.hasRoots, false} {
		out, _ := c.run(c.entry[0], "doctor", "--config", "/data/named.toml")
		if got := regexp.MustCompile(`(?m)^OK +authorities`).MatchString(out); got != there {
			t.Errorf("authorities: got %t, want %t:\n%s", got, there, out)
		}
		if err := os.RemoveAll(filepath.Join(c.root, "etc")); err != nil {
			t.Fatal(err)
		}
	}
}
