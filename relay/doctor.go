package relay

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/proxy"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// Level says how a check went.
type Level string

// Levels.
const (
	OK   Level = "OK"
	Warn Level = "WARN"
	Fail Level = "FAIL"
)

// Check is the outcome of one look at the relay's surroundings.
type Check struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Says  string `json:"says"`
	Hint  string `json:"hint,omitempty"`
}

// oldest is a time that no right clock shows any more.
var oldest = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// Doctor looks at everything that a relay of this configuration needs. It
// leaves everything as it was; a running relay's store it does not touch.
func Doctor(ctx context.Context, cfg Config) []Check {
	cfg.fill()
	status, err := AskStatus(cfg.Data)
	running := err == nil
	checks := []Check{checkData(cfg.Data), checkKey(cfg.Data)}
	checks = append(checks, checkBackends(ctx, &cfg, status, running)...)
	if cfg.Data != "" && cfg.Store == "" {
		for _, file := range allStores {
			checks = append(checks, checkStore(&cfg, file, running)...)
		}
	}
	if cfg.clustered() {
		checks = append(checks, checkCluster(ctx, &cfg, status, running))
	}
	if running {
		checks = append(checks, checkAnswer(ctx, status))
	} else {
		checks = append(checks, checkListen(cfg))
	}
	checks = append(checks, checkTLS(&cfg))
	if running {
		checks = append(checks, checkNames(ctx, &cfg, &status)...)
	} else {
		checks = append(checks, checkNames(ctx, &cfg, nil)...)
	}
	checks = append(checks, checkWaking(&cfg)...)
	checks = append(checks, checkAuthorities(&cfg)...)
	return append(checks, checkDisk(&cfg), checkBackup(cfg.Data, time.Now()), checkClock(time.Now()), checkFiles(cfg.MaxConnections))
}

// problem makes a failed check of an error.
func problem(name string, err error) Check {
	c := Check{Name: name, Level: Fail, Says: err.Error()}
	if p := (*Problem)(nil); errors.As(err, &p) {
		c.Hint = p.Hint
	}
	return c
}

func checkData(dir string) Check {
	const name = "data directory"
	if dir == "" {
		return Check{name, Warn, "there is none: every start is a new realm", "name one with --data"}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return Check{name, OK, dir + " will be made at the first start", ""}
	}
	if err := checkMode(dir, "chmod 700 "+dir); err != nil {
		return problem(name, err)
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return problem(name, advise(err, dir))
	}
	_, err = f.Write(make([]byte, 4096))
	if err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())); err != nil {
		return problem(name, advise(err, dir))
	}
	return Check{name, OK, dir + " can be written to, by this user alone", ""}
}

func checkKey(dir string) Check {
	const name = "realm key"
	if dir == "" {
		return Check{name, Warn, "it lives in memory only", "name a data directory with --data"}
	}
	path := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(path)
	defer clear(b)
	if errors.Is(err, fs.ErrNotExist) {
		return Check{name, OK, "it will be made at the first start", ""}
	} else if err != nil {
		return problem(name, advise(err, dir))
	}
	if err := checkMode(path, "chmod 600 "+path); err != nil {
		return problem(name, err)
	}
	k, err := parseRealmKey(b)
	if err != nil {
		return problem(name, &Problem{err, "put " + path + " back from a backup"})
	}
	defer k.Wipe()
	public := key.SignPublicOf(k)
	fingerprint := sha256.Sum256(public[:])
	return Check{name, OK, "fingerprint " + hex.EncodeToString(fingerprint[:]), ""}
}

// storeNames are the names of stores in checks, by file.
var storeNames = map[string]string{blobFile: "blob store", gateFile: "gate store", parkFile: "park store"}

// checkStore reads a store whole that no relay has open. One that is not there
// is only told of where this configuration wants it.
func checkStore(cfg *Config, file string, running bool) []Check {
	name := storeNames[file]
	path := filepath.Join(cfg.Data, file)
	_, wanted := cfg.bounds()[file]
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if wanted {
			return []Check{{name, OK, "it will be made at the first start", ""}}
		}
		return nil
	}
	if running {
		return []Check{{name, OK, "the running relay has it open", ""}}
	}
	unlock, err := lock(filepath.Join(cfg.Data, lockFile))
	if err != nil {
		return []Check{problem(name, advise(err, cfg.Data))}
	}
	is, newest, err := sqlite.Versions(path)
	if err == nil && is < newest {
		err = fmt.Errorf("%s: %w", file, ErrOlder)
	}
	if err == nil {
		err = sqlite.Check(path)
	}
	if err = errors.Join(err, unlock()); err != nil {
		if file == parkFile {
			return []Check{problem(name, adviseParking(err, cfg.Data))}
		}
		return []Check{problem(name, advise(err, cfg.Data))}
	}
	return []Check{{name, OK, "every page fits", ""}}
}

// checkListen looks whether the address is free.
func checkListen(cfg Config) Check {
	const name = "address"
	if err := cfg.check(); err != nil {
		return problem(name, err)
	}
	for _, where := range []string{cfg.Listen, cfg.Onion} {
		if where == "" || laterMade(where, cfg.Data) {
			continue
		}
		ln, err := listenAt(where)
		if errors.Is(err, fs.ErrPermission) {
			return problem(name, &Problem{err, "ports below 1024 are root's: let the unit have it (docs/operate.md), or choose another with --listen"})
		}
		if err != nil {
			return problem(name, advise(err, cfg.Data))
		}
		ln.Close()
	}
	return Check{name, OK, cfg.Listen + " is free; no relay runs yet", ""}
}

// laterMade reports whether a socket's folder is one that the service or the
// relay makes at its start.
func laterMade(where, data string) bool {
	path, ok := socketPath(where)
	if !ok {
		return false
	}
	dir := filepath.Dir(path)
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist) && (dir == filepath.Clean(data) || strings.HasPrefix(dir, "/run/"))
}

// checkAnswer asks the running relay over its own port, as a client would.
func checkAnswer(ctx context.Context, s Status) Check {
	const name = "address"
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://relay/v1/realm", nil)
	if err != nil {
		return problem(name, err)
	}
	if s.Front == frontTLS {
		req.Header.Set("X-Forwarded-For", "127.0.0.1")
	}
	// The descriptor is signed by the key we know: that is what is checked.
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: s.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
	}}
	resp, err := client.Do(req)
	if err != nil && s.Front != frontNone {
		return Check{name, Warn, "the relay runs, and only proxies in proxy_trust may ask it", "ask it through the proxy, as a client would"}
	} else if err != nil {
		return problem(name, &Problem{fmt.Errorf("the relay runs and does not answer: %w", err), "look at its log, and at a firewall between"})
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxDescriptor))
	if err != nil {
		return problem(name, err)
	}
	d, sig, body, err := wire.ParseDescriptor(b)
	if err != nil {
		return problem(name, err)
	}
	if f := sha256.Sum256(d.Realm[:]); hex.EncodeToString(f[:]) != s.Fingerprint || !key.Verify(d.Realm, sig, wire.LabelDescriptor, body) {
		return problem(name, &Problem{errors.New("something else than this relay answers at " + s.Listen), "stop the other program"})
	}
	return Check{name, OK, "this relay answers at " + s.Listen, ""}
}

// dial connects to the running relay as what stands in front of it would.
func (s *Status) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	network, where := "unix", ""
	if path, ok := socketPath(s.Listen); ok {
		where = path
	} else if host, port, err := net.SplitHostPort(s.Listen); err != nil {
		return nil, err
	} else {
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			host = "127.0.0.1" // and not by name: a container may know none
		}
		network, where = "tcp", net.JoinHostPort(host, port)
	}
	c, err := new(net.Dialer).DialContext(ctx, network, where)
	if err != nil && strings.HasPrefix(where, "127.0.0.1:") && strings.HasPrefix(s.Listen, "[::]:") { // IPv6 alone
		c, err = new(net.Dialer).DialContext(ctx, network, "[::1]"+strings.TrimPrefix(where, "127.0.0.1"))
	}
	if err != nil || s.Front != frontTCP {
		return c, err
	}
	if _, err := c.Write(proxy.Header{}.AppendV2(nil)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func checkTLS(cfg *Config) Check {
	const name = "encryption"
	switch {
	case cfg.TLS == "proxy":
		return Check{name, Warn, "TLS ends in a proxy, which sees who puts and watches which addresses; proofs are not bound to a connection",
			`weaker: let the proxy forward TCP (docs/operate.md), and set tls = "auto" and proxy_protocol = true`}
	case cfg.secure():
		return Check{name, OK, "TLS 1.3 ends in the relay; proofs are bound to the connection", ""}
	}
	return Check{name, OK, "plain HTTP, for this machine only; proofs are not bound to a connection", `behind Tor or a proxy that forwards TCP, set tls = "on"`}
}

// checkAuthorities looks whether this system knows certificate authorities, where
// the relay speaks with others who have certificates of theirs.
func checkAuthorities(cfg *Config) []Check {
	const name = "authorities"
	if (len(cfg.Domain) == 0 || cfg.ACMERoot != "") && !slices.Contains(cfg.Roles, "wake") {
		return nil
	}
	if pool, err := x509.SystemCertPool(); err != nil || pool.Equal(x509.NewCertPool()) {
		return []Check{{name, Fail, "this system knows no certificate authority, so no certificate can be got and no device woken", "apt-get install ca-certificates"}}
	}
	return []Check{{name, OK, "this system knows certificate authorities", ""}}
}

// Room on the disk below which a check warns or fails, beside what stores may
// still take.
const minRoom = 64 << 20

// checkDisk compares the room on the disk with what the stores may grow to.
func checkDisk(cfg *Config) Check {
	const name = "disk"
	if cfg.Data == "" {
		return Check{name, OK, "nothing is written", ""}
	}
	free, ok := room(cfg.Data)
	want := uint64(cfg.mostStored()) + minRoom
	says := fmt.Sprintf("%d MiB are free", free>>20)
	switch {
	case !ok:
		return Check{name, OK, "this system does not say how much room there is", ""}
	case free < minRoom:
		return Check{name, Fail, says + ": stores refuse what does not fit", "make room on the disk of " + cfg.Data}
	case free < want:
		return Check{name, Warn, fmt.Sprintf("%s, and stores may grow by up to %d MiB", says, want>>20), "make room, or lower what they may hold (blob_mib, park_mib)"}
	}
	return Check{name, OK, says, ""}
}

// mostStored is how much more the stores may take.
func (c *Config) mostStored() int64 {
	most := int64(0)
	for name, mib := range c.bounds() {
		if most += int64(mib) << 20; c.Data != "" {
			if info, err := os.Stat(filepath.Join(c.Data, name)); err == nil {
				most -= min(info.Size(), int64(mib)<<20)
			}
		}
	}
	return most
}

// bounds says how large each store may get, in MiB.
func (c *Config) bounds() map[string]int {
	all := map[string]int{}
	if slices.Contains(c.Roles, RoleBlob) {
		all[blobFile] = c.BlobMiB
	}
	if slices.Contains(c.Roles, RolePark) {
		all[parkFile] = c.ParkMiB
	}
	return all
}

// late is after how many days without a backup a check warns.
const late = 35

func checkBackup(data string, now time.Time) Check {
	const name = "backup"
	days, ok := lastBackup(data, now)
	hint := "`tacet-relay backup FILE` makes one, also while the relay runs"
	switch _, err := os.Stat(filepath.Join(data, keyFile)); {
	case data == "" || err != nil:
		return Check{name, OK, "there is nothing to back up yet", ""}
	case !ok:
		return Check{name, Warn, "none was made here: without its key a realm is lost", hint}
	case days > late:
		return Check{name, Warn, fmt.Sprintf("the last one was made %d days ago", days), hint}
	case days < 1:
		return Check{name, OK, "the last one was made today", ""}
	case days == 1:
		return Check{name, OK, "the last one was made yesterday", ""}
	}
	return Check{name, OK, fmt.Sprintf("the last one was made %d days ago", days), ""}
}

func checkClock(now time.Time) Check {
	const name = "clock"
	if now.Before(oldest) {
		return Check{name, Fail, "it is wrong by months: clients refuse this relay's signed time", "set it, and start a time service such as chrony"}
	}
	switch clockSync() {
	case syncYes:
		return Check{name, OK, "it is set by a time service", ""}
	case syncNo:
		return Check{name, Warn, "no time service sets it", "start one, such as systemd-timesyncd or chrony: clients refuse a time that is far off"}
	}
	return Check{name, OK, "it shows a time that can be", ""}
}

// How a clock is kept.
type clockState int

const (
	syncUnknown clockState = iota
	syncYes
	syncNo
)

// checkFiles compares the limit of open files with what may be open: three
// sorts of connections, and some files.
func checkFiles(connections int) Check {
	const name = "open files"
	need := uint64(3*connections + 64)
	have, ok := fileLimit()
	switch {
	case !ok:
		return Check{name, OK, "this system has no such limit", ""}
	case have < need:
		return Check{name, Warn, fmt.Sprintf("the limit is %d, and max_connections may need %d", have, need),
			"raise it (LimitNOFILE= in the unit, ulimit -n in a shell), or lower max_connections"}
	}
	return Check{name, OK, fmt.Sprintf("the limit of %d is enough", have), ""}
}
