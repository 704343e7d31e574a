package relay

import (
	"crypto/x509"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/tacet-chat/tacet/relay/internal/acme"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Config is all that an operator can say. The comments of its fields are the
// manual: `tacet-relay config` prints them. A number or list that is zero
// stands for its default.
type Config struct {
	// Where the relay listens: host:port, or unix:/path for a socket file that
	// this user and group may use. A loopback address is served as plain HTTP;
	// every other one with TLS 1.3. ":7117" is every address of this machine.
	Listen string `toml:"listen"`

	// TLS: "auto" is as above, and TLS wherever domain, proxy_protocol or onion is
	// set. "on" is TLS on loopback too. "off" is plain HTTP and for loopback
	// only. The relay makes its own certificate from the realm key, which clients
	// pin: no certificate authority is needed. "proxy" is plain HTTP behind a program
	// that ends TLS. That is weaker: the program sees which network address uses
	// which address of the relay, and could watch in a client's place. The
	// relay's descriptor says so, and each client must allow it by name.
	TLS string `toml:"tls"`

	// Names of this relay, "relay.example" or a list, for which certificates are
	// got from a public authority: programs that know no realm key, and clients at
	// their first visit, can then check the name. Clients of this realm pin its
	// key all the same. Port 443 of each name must lead here, or port 80 be free.
	// The authority publishes each name. To set this is to agree to its terms.
	// Not on a node of a cluster: the authority would reach any of them.
	Domain Names `toml:"domain"`

	// The authority that gives certificates, as the URL of its ACME directory.
	ACMECA string `toml:"acme_ca"`

	// Certificates (PEM) that vouch for acme_ca itself, if it is not known to this
	// system: a private authority. Empty: those of the system.
	ACMERoot string `toml:"acme_root"`

	// Where the authority may write to, empty: nowhere.
	ACMEEmail string `toml:"acme_email"`

	// Every connection begins with a PROXY protocol header, version 1 or 2, from
	// a program that forwards TCP, such as nginx or HAProxy: limits then see the
	// client's network. TLS still ends in the relay.
	ProxyProtocol bool `toml:"proxy_protocol"`

	// With proxy_protocol or tls = "proxy": whose word about its client is taken,
	// addresses or networks ("192.0.2.0/24"). Nobody else may connect. On a unix
	// socket the file's mode says who may.
	ProxyTrust []string `toml:"proxy_trust"`

	// A second place to listen, for Tor: unix:/path or a loopback host:port, set
	// to "HiddenServiceExportCircuitID haproxy" in torrc. Limits then count each
	// circuit as a network. TLS as elsewhere. Empty: none.
	Onion string `toml:"onion"`

	// The data directory: realm key, blobs, status socket. It must be closed to
	// other users (mode 0700). Empty: nothing is written, and every start is a
	// new realm that knows nothing of the one before.
	Data string `toml:"data"`

	// A PostgreSQL database in which the nodes of a realm keep blobs, members and
	// parked cells, as "postgres://tacet:password@db.example/tacet"; it is this
	// realm's alone. "file:/path" is a file, closed to others, in which the URL
	// stands, "env:NAME" a variable of the environment. To another machine it is TLS
	// that checks the name, unless sslmode says otherwise. Empty: files in the
	// data directory, for a realm of one node. See docs/scale.md.
	Store string `toml:"store"`

	// A Redis server in which the nodes keep what is spent, and the keys of parked
	// cells: "rediss://:password@redis.example:6379/0", or as with store. All is in its
	// memory alone: save "", appendonly no, maxmemory-policy noeviction. With store,
	// the roles "park" and "token" need it.
	Redis string `toml:"redis"`

	// What this relay does: "live" carries cells between those who are
	// connected, "blob" keeps invites and files, "park" keeps cells for who is away,
	// "wake" opens wake tickets and pushes to sleeping devices (best for people of
	// other relays), "token" asks for tokens (see gate).
	Roles []string `toml:"roles"`

	// Seconds for which an address lives: 600, 1800 or 3600. Shorter hides more
	// and costs more. It should not change in the life of a realm.
	Period int `toml:"period"`

	// Seconds of silence after which a watching device is pinged, 5 to 240.
	// Shorter finds dead connections sooner and costs phones traffic.
	Ping int `toml:"ping"`

	// Memory for the last minute of cells in MiB, 1 to 4096, from which a device
	// that comes back catches up. 64 hold a minute of 850 cells a second.
	WindowMiB int `toml:"window_mib"`

	// Memory for what waits for slow readers in MiB, 1 to 4096, all together. At
	// the bound whoever makes most wait is cut off, and comes back.
	QueueMiB int `toml:"queue_mib"`

	// Room for blobs on disk in MiB, 1 to 1048576. Without a data directory it is
	// memory, and never more than 64.
	BlobMiB int `toml:"blob_mib"`

	// With role "park": days that a cell waits at the longest, 1 to 60. Devices ask
	// for less, mostly for 7.
	ParkDays int `toml:"park_days"`

	// With role "park": room for cells that wait, in MiB, 1 to 1048576; each takes
	// 2 KiB. Without a data directory it is memory, and never more than 64.
	ParkMiB int `toml:"park_mib"`

	// Who may have this relay carry, watch and store. "open": everybody. With the role
	// "token" everybody who is a member or has their device work for it, some seconds
	// a day, so that nobody can flood it. "invite": members. Whoever has a realm
	// invite (see `tacet-relay invite`) becomes one. "closed": the members there are,
	// and nobody becomes one. The last two switch the role "token" on. Nobody has a
	// name or account here: a member is a device with a random credential, and what
	// it pays with does not lead back to it.
	Gate string `toml:"gate"`

	// Realm invites for one device that all members together may make in a day, 1 to
	// 1000, so that they can bring their friends; -1: none. Nobody can tell who made one.
	MemberInvites int `toml:"member_invites"`

	// With the role "token": tokens that a device may have for a day, 1024, 4096 or
	// 16384. It buys more than 1024 only after a day on which it used three quarters.
	// 4096 are enough for people, behind Tor too; bots there want 16384.
	Class int `toml:"class"`

	// Connections of one sort (requests, putting, watching) that are open at one
	// moment. Each takes a file descriptor, and 10 to 20 KiB of memory. One network
	// holds an eighth at the most, loopback half if others can come.
	MaxConnections int `toml:"max_connections"`

	// What one network (an IPv4 /24, an IPv6 /56) may begin in ten minutes:
	// connections of any sort. Peers on loopback, such as Tor, are not counted.
	LimitConnections int `toml:"limit_connections"`

	// Watch connections that one network may begin in ten minutes.
	LimitWatches int `toml:"limit_watches"`

	// Put connections, cells put by single requests, and requests for membership,
	// tokens and puzzles, that one network may begin in ten minutes.
	LimitPuts int `toml:"limit_puts"`

	// Blobs that one network may store in ten minutes, 256 KiB each at the most.
	// What is stored stays for up to 90 days, whoever stored it.
	LimitBlobs int `toml:"limit_blobs"`

	// Blobs that one network may read in ten minutes.
	LimitReads int `toml:"limit_reads"`

	// Web pages that may use this relay, as origins ("https://chat.example").
	// Programs are no pages and always may. No wildcards.
	Origins []string `toml:"origins"`

	// One line to those who use this relay, at most 200 bytes.
	Policy string `toml:"policy"`

	// With the role "wake": how a push service reaches you, "mailto:you@relay.example"
	// or an https URL. Empty: none is said, and some push services refuse that.
	WakeContact string `toml:"wake_contact"`

	// For tests and push services at home: lets strangers have this relay connect to
	// this machine and its own networks, at any port. Never on the internet.
	WakeAllowPrivate bool `toml:"wake_allow_private"`

	// WakeRoots are the authorities that push services are checked by, nil: those
	// of the system.
	WakeRoots *x509.CertPool `toml:"-"`

	// Where a monitoring program reads metrics (Prometheus text, GET /metrics):
	// unix:/path or a loopback host:port of its own. Totals alone, rounded, a minute
	// old. Empty: nowhere.
	Metrics string `toml:"metrics"`

	// Several relays as one realm: see the keys.
	Cluster Cluster `toml:"cluster"`

	// A NATS server between the relays of a realm: see the keys.
	NATS NATS `toml:"nats"`

	// Listener takes the place of Listen's socket where it is not nil: one that
	// was opened by somebody else, or that says where its peers come from. Listen
	// still says whether this is loopback. The relay closes it.
	Listener net.Listener `toml:"-"`

	// Now says what time it is where days count: which tokens are good and what is
	// over. Nil: the system's clock.
	Now func() time.Time `toml:"-"`

	// Log is where events are written, nil for nowhere. The events are few and
	// name nobody.
	Log io.Writer `toml:"-"`
}

// MaxConfig is the largest configuration file that is read, in bytes.
const MaxConfig = 64 << 10

// Roles that a relay can have.
const (
	RoleLive  = "live"
	RoleBlob  = "blob"
	RolePark  = "park"
	RoleWake  = "wake"
	RoleToken = "token"
)

var allRoles = []string{RoleLive, RoleBlob, RolePark, RoleWake, RoleToken}

// Default returns the configuration of a relay that is told nothing: on
// loopback, with the data directory of this user.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:7117", TLS: "auto", Data: defaultData(), Roles: []string{RoleLive, RoleBlob},
		ACMECA: acme.LetsEncrypt, ProxyTrust: []string{"127.0.0.1", "::1"}, Period: 1800, Ping: 60, WindowMiB: 64, QueueMiB: 64, BlobMiB: 1024, ParkDays: 30, ParkMiB: 1024, Gate: string(gate.Open), MemberInvites: 16, Class: 4096, MaxConnections: 4096,
		Cluster:          Cluster{Drain: 5},
		LimitConnections: 6000, LimitWatches: 3000, LimitPuts: 6000, LimitBlobs: 60, LimitReads: 6000,
	}
}

// defaultData is what systemd has made, or the place for state by custom.
func defaultData() string {
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/tacet-relay"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tacet-relay")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "tacet-relay")
	}
	return "tacet-relay-data"
}

// ParseConfig reads a configuration in TOML over Default. A key that it does
// not know is an error: a misspelt limit must not be no limit.
func ParseConfig(text []byte) (Config, error) {
	cfg := Default()
	if len(text) > MaxConfig {
		return cfg, &Problem{Err: fmt.Errorf("configuration is over %d bytes", MaxConfig), Hint: "is this the right file?"}
	}
	meta, err := toml.Decode(string(text), &cfg)
	if err != nil {
		return cfg, &Problem{Err: fmt.Errorf("reading configuration: %w", err), Hint: "`tacet-relay config` prints an example"}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return cfg, &Problem{Err: fmt.Errorf("configuration has an unknown key: %s", unknown[0]), Hint: "`tacet-relay config` prints every key there is"}
	}
	cfg.fill()
	return cfg, cfg.check()
}

// fill puts defaults where there is nothing. An empty Data means something.
func (c *Config) fill() {
	fill(reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()))
	c.fillGate()
}

func fill(v, d reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			fill(f, d.Field(i))
			continue
		}
		if name := v.Type().Field(i).Name; name != "Data" && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) {
			f.Set(d.Field(i))
		}
	}
}

// check says what is wrong with the first value that is.
func (c *Config) check() error {
	bad := func(keyName, hint string) error {
		return &Problem{Err: fmt.Errorf("configuration: %s has a value that cannot be", keyName), Hint: hint}
	}
	between := func(keyName string, n, low, high int) error {
		if n < low || n > high {
			return bad(keyName, fmt.Sprintf("%s goes from %d to %d", keyName, low, high))
		}
		return nil
	}
	if err := c.checkFront(bad); err != nil {
		return err
	}
	for _, role := range c.Roles {
		if !slices.Contains(allRoles, role) {
			return bad("roles", `roles are "live", "blob", "park", "wake" and "token"`)
		}
	}
	if err := c.checkCluster(bad); err != nil {
		return err
	}
	if err := c.checkWake(bad); err != nil {
		return err
	}
	if err := c.checkShared(bad); err != nil {
		return err
	}
	if err := c.checkGate(bad); err != nil {
		return err
	}
	if c.Period != 600 && c.Period != 1800 && c.Period != 3600 {
		return bad("period", "period is 600, 1800 or 3600")
	}
	for _, origin := range c.Origins {
		scheme, host, ok := strings.Cut(origin, "://")
		if !ok || scheme == "" || host == "" || strings.ContainsAny(host, "/*") {
			return bad("origins", `an origin is scheme://host, such as "https://chat.example"`)
		}
	}
	if len(c.Policy) > 200 || strings.ContainsFunc(c.Policy, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) {
		return bad("policy", "policy is one line of at most 200 bytes")
	}
	return errors.Join(
		between("ping", c.Ping, 5, 240),
		between("window_mib", c.WindowMiB, 1, 4096),
		between("queue_mib", c.QueueMiB, 1, 4096),
		between("blob_mib", c.BlobMiB, 1, 1<<20),
		between("park_days", c.ParkDays, 1, 60),
		between("park_mib", c.ParkMiB, 1, 1<<20),
		between("max_connections", c.MaxConnections, 1, 1_000_000),
		between("limit_connections", c.LimitConnections, 1, gate.MaxLimit),
		between("limit_watches", c.LimitWatches, 1, gate.MaxLimit),
		between("limit_puts", c.LimitPuts, 1, gate.MaxLimit),
		between("limit_blobs", c.LimitBlobs, 1, gate.MaxLimit),
		between("limit_reads", c.LimitReads, 1, gate.MaxLimit),
		between("cluster.drain", c.Cluster.Drain, 1, 300),
	)
}

//go:embed config.go cluster_config.go
var sources embed.FS

// Example returns the default configuration as TOML, with the manual as its
// comments. It is read out of the source, so that there is one manual.
func Example() string {
	var text strings.Builder
	for _, name := range []string{"config.go", "cluster_config.go"} {
		b, err := sources.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		text.Write(b)
	}
	var out strings.Builder
	explain(&out, text.String(), reflect.ValueOf(Default()))
	return strings.TrimSuffix(out.String(), "\n")
}

// explain writes the keys of a struct, then its tables.
func explain(out *strings.Builder, source string, v reflect.Value) {
	var comment, tables strings.Builder
	_, body, _ := strings.Cut(source, "\ntype "+v.Type().Name()+" struct {\n")
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "}" {
			break
		}
		if text, ok := strings.CutPrefix(line, "//"); ok {
			comment.WriteString("#" + text + "\n")
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		f, ok := v.Type().FieldByName(name)
		if !ok {
			continue
		}
		switch keyName := f.Tag.Get("toml"); {
		case keyName == "-":
		case f.Type.Kind() == reflect.Struct:
			fmt.Fprintf(&tables, "%s[%s]\n\n", comment.String(), keyName)
			explain(&tables, source, v.FieldByIndex(f.Index))
		default:
			fmt.Fprintf(out, "%s%s = %s\n\n", comment.String(), keyName, spell(v.FieldByIndex(f.Index)))
		}
		comment.Reset()
	}
	out.WriteString(tables.String())
}

// spell writes a value in TOML.
func spell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, spell(v.Index(i)))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case reflect.String:
		return strconv.Quote(v.String())
	default:
		return fmt.Sprint(v)
	}
}
