package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs of peers.
const (
	binNats       = "nats-server"
	binCentrifugo = "centrifugo"
	binMosquitto  = "mosquitto"
)

// modules are those that are built from source, at the versions that figures
// are for, with the package to build.
var modules = map[string]struct{ pkg, version string }{
	binNats:       {"github.com/nats-io/nats-server/v2", "v2.15.3"},
	binCentrifugo: {"github.com/centrifugal/centrifugo/v6", "v6.9.1"},
}

// programs are those of the peers, by the names for --vs.
var programs = map[string]string{vNats: binNats, vNatsWS: binNats, vMosquitto: binMosquitto, vCentri: binCentrifugo}

// binary finds the program of a peer, and builds it the first time. Nothing of a
// peer is a dependency of ours: it is built apart, and only started.
func (b *bench) binary(ctx context.Context, name string) (string, error) {
	if path := b.binaries[name]; path != "" {
		return path, nil
	}
	path, err := b.obtain(ctx, name)
	if err == nil {
		b.binaries[name] = path
	}
	return path, err
}

func (b *bench) obtain(ctx context.Context, name string) (string, error) {
	m, ok := modules[name]
	if !ok {
		for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin"} { // Debian keeps it out of a user's PATH
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
		return "", &Problem{fmt.Errorf("there is no %s on this machine", name), "on Debian: apt-get install " + name + "; or leave it out of --vs"}
	}
	dir, err := peerDir(name, m.version)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	b.progress("building %s %s into %s, once (a minute or a few)", name, m.version, dir)
	hint := "it is built with `go install " + m.pkg + "@" + m.version + "`, which needs Go in PATH and the module from a proxy; or leave it out of --vs"
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", &Problem{fmt.Errorf("building %s: there is no go command on this machine", name), hint}
	}
	// Another run may build the same: into a directory of our own, then renamed.
	own, err := os.MkdirTemp(filepath.Dir(dir), ".build-")
	if err != nil {
		return "", fmt.Errorf("building %s: %w", name, err)
	}
	defer os.RemoveAll(own)
	cmd := exec.CommandContext(ctx, tool, "install", m.pkg+"@"+m.version)
	cmd.Dir = own
	cmd.Env = append(os.Environ(), "GOBIN="+own, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &Problem{fmt.Errorf("building %s: %w: %s", name, err, last(string(out))), hint}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	built := filepath.Join(own, name)
	if _, err := os.Stat(built); err != nil { // of "module/v2" the program is called as the module
		return "", fmt.Errorf("building %s: %w", name, err)
	}
	return path, os.Rename(built, path)
}

// peerDir is where the program of one version is kept.
func peerDir(name, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &Problem{fmt.Errorf("finding a place for %s: %w", name, err), "set HOME or XDG_CACHE_HOME"}
	}
	peers := filepath.Join(cache, "tacet-lab", "peers")
	return filepath.Join(peers, name+"-"+version), os.MkdirAll(peers, 0o755)
}

// last is the last line of a program's complaint.
func last(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Ready reports whether the programs of all peers are there, so that nothing
// would be built or is missing.
func Ready(peers ...string) error {
	for _, peer := range peers {
		name := programs[peer]
		m, ok := modules[name]
		if !ok {
			if _, err := (&bench{}).obtain(context.Background(), name); err != nil {
				return err
			}
			continue
		}
		dir, err := peerDir(name, m.version)
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s %s is not built yet", name, m.version)
		}
	}
	return nil
}
