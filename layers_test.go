package tacet

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tacet-chat/tacet/"

// layers lists every package and the packages of ours it may import, lowest
// first. A package that is not listed here does not belong in the tree yet:
// its line is the architecture review.
const layers = `
	internal/key:
	internal/wire:
	internal/vectortest:
	internal/waketest:
	internal/hunt:
	internal/mls:
	internal/pad:       internal/wire
	internal/wake:      internal/key internal/wire
	internal/content:   internal/wire
	internal/manifest:  internal/key internal/pad
	internal/addr:      internal/key internal/wire
	internal/sealed:    internal/key internal/wire
	internal/pqxdh:     internal/key
	internal/token:     internal/key internal/wire
	internal/stream:    internal/key
	internal/link:      internal/key internal/manifest internal/stream internal/wire
	internal/braid:     internal/key
	internal/ratchet:   internal/braid internal/key internal/wire
	internal/session:   internal/key internal/wire internal/manifest internal/pqxdh internal/ratchet
	internal/invite:    internal/key internal/wire internal/addr internal/manifest internal/pqxdh
	internal/slot:      internal/key internal/wire
	internal/roster:    internal/key internal/manifest internal/wire
	internal/whisper:   internal/addr internal/key internal/wire

	client/transport:
	client/transport/transporttest: client/transport
	client/transport/memory:        client/transport
	client/transport/relay:         client/transport internal/key internal/wire

	client/internal/device:  internal/key internal/manifest
	client/internal/contact: client/internal/device internal/addr internal/invite internal/key internal/manifest internal/pad internal/pqxdh internal/sealed internal/session internal/wire
	client/internal/convo:   client/internal/contact client/internal/device internal/addr internal/content internal/invite internal/key internal/manifest internal/pad internal/pqxdh internal/sealed internal/session internal/wake internal/wire
	client/internal/group:   internal/addr internal/key internal/manifest internal/mls internal/pad internal/roster internal/slot internal/whisper internal/wire
	client/internal/group/grouptest: client/internal/group internal/key internal/roster internal/wire
	client/internal/outbox:  client/transport internal/addr internal/key internal/wire
	client/internal/inbox:   client/transport internal/addr internal/key internal/wire
	client/internal/fetch:   client/transport internal/key internal/wire
	client/internal/purse:   client/transport internal/key internal/token internal/wire
	client/internal/vault:   client/internal/contact client/internal/convo client/internal/group client/internal/outbox client/internal/purse internal/content internal/key internal/wire
	client:                  client/internal/... client/transport internal/addr internal/content internal/invite internal/key internal/link internal/manifest internal/pad internal/roster internal/sealed internal/stream internal/token internal/wake internal/wire

	client/commits: client/internal/group internal/key internal/manifest internal/roster internal/slot internal/wire

	client/throng:  client/commits client/internal/... client/transport client/transport/relay internal/addr internal/key internal/manifest internal/roster internal/sealed internal/slot internal/whisper internal/wire

	relay/internal/acme:
	relay/internal/archive:
	relay/internal/acme/acmetest:
	relay/internal/gate:      internal/key internal/token internal/wire
	relay/internal/proxy:
	relay/internal/ws:
	relay/internal/wake:      internal/key internal/wake relay/internal/audit
	relay/internal/window:    internal/wire
	relay/internal/bus:       internal/key internal/wire relay/internal/window
	relay/internal/bus/natslink: relay/internal/bus
	relay/internal/hub:       internal/key internal/token internal/wire relay/internal/bus relay/internal/gate relay/internal/window relay/internal/ws
	relay/internal/blob:      internal/key internal/token internal/wire relay/internal/gate
	relay/internal/audit:     internal/hunt
	relay/internal/park:      internal/key internal/wire relay/internal/gate relay/internal/ws
	relay/internal/memory:    internal/key internal/wire relay/internal/blob relay/internal/gate relay/internal/park
	relay/internal/sqlite:    internal/key internal/wire relay/internal/audit relay/internal/blob relay/internal/gate relay/internal/park
	relay/internal/storetest: internal/key internal/wire relay/internal/blob relay/internal/gate relay/internal/park
	relay/internal/postgres:  internal/key internal/wire relay/internal/audit relay/internal/blob relay/internal/gate relay/internal/park
	relay:                    internal/hunt internal/key internal/token internal/wire relay/internal/...
	relay/internal/redis:     relay/internal/audit relay/internal/gate relay/internal/park

	relay/setup:             relay

	ui/text: client
	ui/rpc:  client
	lab:     client client/transport client/transport/memory client/transport/relay internal/hunt internal/key internal/wire internal/addr internal/invite relay ui/text
	lab/servers:
	lab/mlspeer:
	lab/load: client client/throng client/transport client/transport/relay internal/mls internal/wire lab/mlspeer lab/servers relay
	lab/budget:
	lab/leak: client client/transport client/transport/relay internal/addr internal/wire relay

	cmd/tacet:       client client/transport client/transport/relay ui/rpc ui/text
	cmd/tacet-relay: relay relay/setup
	cmd/tacet-lab:   client/commits lab lab/budget lab/leak lab/load
`

// denied lists what must never be linked in, directly or not, and why.
var denied = []struct{ from, deps, why string }{
	{"internal/...", "net net/http database/sql os/exec log log/slog",
		"protocol code is bytes in, bytes out"},
	{"relay/... cmd/tacet-relay", "internal/session internal/ratchet internal/braid internal/pqxdh internal/mls internal/sealed internal/content client",
		"a relay must not contain code that could open a message"},
	{"client/transport/...", "internal/session internal/mls internal/sealed internal/content client/internal/vault",
		"a transport carries sealed bytes and sees nothing else"},
	{"client/internal/outbox client/internal/inbox client/internal/fetch client/internal/pace client/internal/purse",
		"internal/session internal/mls internal/sealed internal/content client/internal/contact client/internal/convo client/internal/vault",
		"the moving half of the client never sees plaintext"},
	{"client/internal/contact client/internal/convo client/internal/group client/internal/device", "net net/http client/transport client/internal/vault",
		"the sealing half of the client never sees the network"},
	{"relay/... client/... internal/... ui/... cmd/tacet cmd/tacet-relay", "testing crypto/mlkem/mlkemtest",
		"no test support in what people run; tacet-lab is no such thing, and virtual time exists in a test only"},
	{"client client/internal/... client/transport/... ui/... cmd/tacet", "relay",
		"client and relay meet on the wire only"},
}

// deniedImports is like denied, for what half of the standard library links
// (fmt links os) and only a direct import is a smell.
var deniedImports = []struct{ from, imports, why string }{
	{"internal/...", "os time/tzdata unsafe math/rand math/rand/v2", "protocol code is bytes in, bytes out"},
}

// onlyIn lists imports that have a home, and nowhere else.
var onlyIn = map[string]string{
	"database/sql":                               "client/internal/vault relay/internal/sqlite",
	"github.com/ncruces/go-sqlite3":              "client/internal/vault relay/internal/sqlite",
	"github.com/ncruces/go-sqlite3/driver":       "client/internal/vault relay/internal/sqlite",
	"github.com/ncruces/go-sqlite3/vfs/adiantum": "client/internal/vault",
	"github.com/redis/go-redis/v9":               "relay/internal/redis",
	"github.com/jackc/pgx/v5":                    "relay/internal/postgres lab/load",
	"github.com/jackc/pgx/v5/pgconn":             "relay/internal/postgres",
	"github.com/jackc/pgx/v5/pgxpool":            "relay/internal/postgres lab/load",
	"github.com/rabbitmq/amqp091-go":             "lab/load",
	"github.com/caddyserver/certmagic":           "relay/internal/acme",
	"github.com/letsencrypt/pebble/v2/wfe":       "relay/internal/acme/acmetest",
	"filippo.io/age":                             "relay relay/internal/archive cmd/tacet-relay",
	"filippo.io/edwards25519":                    "internal/addr",
	"github.com/cloudflare/circl/group":          "internal/token",
	"github.com/cloudflare/circl/oprf":           "internal/token",
	"github.com/cloudflare/circl/zk/dleq":        "internal/token",
	"github.com/coder/websocket":                 "client/transport/relay",
	"github.com/spf13/cobra":                     "cmd/...",

	module + "client/commits": "cmd/tacet-lab client/throng", // the simulator: only code below client may import the engine, and only the lab runs it
	module + "client/throng":  "lab/load",                    // the members of a group that is measured: likewise

	"github.com/nats-io/nats.go":               "relay/internal/bus/natslink",
	"github.com/nats-io/nats-server/v2/server": "relay/internal/bus/natslink",
	"crypto/hpke":                          "internal/key internal/link internal/mls internal/sealed internal/wake",
	"golang.org/x/crypto/nacl/secretbox":   "relay/internal/park",
	"golang.org/x/crypto/chacha20poly1305": "internal/mls internal/sealed internal/invite internal/link internal/slot internal/stream internal/whisper client/internal/vault",

	"github.com/cloudflare/circl/pke/kyber/kyber768": "internal/braid",
}

func TestLayers(t *testing.T) {
	allowed := map[string][]string{}
	for line := range strings.Lines(layers) {
		if from, to, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			allowed[from] = strings.Fields(to)
		}
	}
	pkgs := list(t)
	for _, p := range pkgs {
		name, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue // the root package
		}
		may, known := allowed[name]
		if !known {
			t.Errorf("%s has no line in layers", name)
			continue
		}
		for _, why := range broken(name, may, p) {
			t.Error(why)
		}
	}
}

// TestLayersCatch plants one fault of each sort: a rule that cannot fail is none.
func TestLayersCatch(t *testing.T) {
	for _, c := range []struct {
		name string
		p    pkg
	}{
		{"internal/addr", pkg{Imports: []string{module + "internal/session"}}},
		{"internal/addr", pkg{Imports: []string{"os"}}},
		{"internal/addr", pkg{Deps: []string{"net/http"}}},
		{"relay/internal/hub", pkg{Deps: []string{module + "internal/sealed"}}},
		{"cmd/tacet-relay", pkg{Deps: []string{module + "internal/content"}}},
		{"client/internal/outbox", pkg{Deps: []string{module + "internal/session"}}},
		{"client/internal/convo", pkg{Deps: []string{"net"}}},
		{"client", pkg{Deps: []string{module + "relay"}}},
		{"client/internal/convo", pkg{Imports: []string{"database/sql"}}},
	} {
		c.p.Doc = "Package x"
		if got := broken(c.name, []string{"internal/..."}, c.p); len(got) == 0 && c.name != "internal/addr" {
			t.Errorf("%s importing %v, linking %v: got no complaint", c.name, c.p.Imports, c.p.Deps)
		} else if c.name == "internal/addr" {
			if got := broken(c.name, nil, c.p); len(got) == 0 {
				t.Errorf("%s importing %v, linking %v: got no complaint", c.name, c.p.Imports, c.p.Deps)
			}
		}
	}
}

// TestPackageComments wants a comment on every package: what it is, its spec,
// and what it does not do.
func TestPackageComments(t *testing.T) {
	for _, p := range list(t) {
		if !strings.HasPrefix(p.Doc, "Package ") && !strings.HasPrefix(p.Doc, "Command ") {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// broken says which rules the package breaks.
func broken(name string, may []string, p pkg) (why []string) {
	for _, imp := range p.Imports {
		if imp, ours := strings.CutPrefix(imp, module); ours && !matches(may, imp) {
			why = append(why, name+" must not import "+imp)
		}
		if home, ok := onlyIn[imp]; ok && !matches(strings.Fields(home), name) {
			why = append(why, name+" imports "+imp+", which belongs in "+home)
		}
	}
	for _, d := range deniedImports {
		for _, imp := range strings.Fields(d.imports) {
			if matches(strings.Fields(d.from), name) && slices.Contains(p.Imports, imp) && !strings.HasSuffix(name, "test") {
				why = append(why, name+" imports "+imp+": "+d.why)
			}
		}
	}
	for _, d := range denied {
		if !matches(strings.Fields(d.from), name) || strings.HasSuffix(name, "test") {
			continue
		}
		for _, dep := range strings.Fields(d.deps) {
			if slices.Contains(p.Deps, dep) || slices.Contains(p.Deps, module+dep) {
				why = append(why, name+" links "+dep+": "+d.why)
			}
		}
	}
	return why
}

// matches reports whether name is in patterns, where "a/..." stands for a and
// everything below it.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		dir, tree := strings.CutSuffix(p, "/...")
		return name == dir || tree && strings.HasPrefix(name, dir+"/")
	})
}

type pkg struct {
	ImportPath, Doc string
	Imports, Deps   []string
}

func list(t *testing.T) (pkgs []pkg) {
	t.Helper()
	// The test cache does not see what a child process reads, so open every
	// source file here too. Without this an edit elsewhere in the tree would
	// leave a stale "ok (cached)".
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Deps", "./...").Output()
	if ee := (*exec.ExitError)(nil); errors.As(err, &ee) {
		t.Fatalf("go list: %s", ee.Stderr) // for example a forbidden use of internal/
	} else if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
