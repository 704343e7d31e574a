package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tacet-chat/tacet/relay"
)

// header begins every configuration that is written here.
const header = "# Written by `tacet-relay quickstart`, and yours from now on.\n# `tacet-relay config` prints every key there is, with its meaning.\n"

// Where an onion service's sockets and name are.
const (
	onionSocket = "/run/tacet-relay/onion.sock"
	onionDir    = "/var/lib/tor/tacet-relay"
)

// text is the configuration that was asked for.
func (o *Options) text() string {
	var b strings.Builder
	b.WriteString(header)
	line := func(key string, v any) { fmt.Fprintf(&b, "%s = %v\n", key, v) }
	line("listen", strconv.Quote(o.listen()))
	line("data", strconv.Quote(o.Data))
	if o.Domain != "" {
		line("domain", strconv.Quote(o.Domain))
	}
	if o.Onion {
		line("onion", strconv.Quote(o.onionAt()))
	}
	line("roles", "["+strings.Join(quoted(o.roles()), ", ")+"]")
	if o.Gate != "" {
		line("gate", strconv.Quote(o.Gate))
	}
	return b.String()
}

// roles are what the relay does.
func (o *Options) roles() []string {
	roles := []string{relay.RoleLive, relay.RoleBlob}
	if o.Park {
		roles = append(roles, relay.RolePark)
	}
	return roles
}

func quoted(all []string) (out []string) {
	for _, s := range all {
		out = append(out, strconv.Quote(s))
	}
	return out
}

// listen is where the relay listens: 443 needs no explaining to anybody, and
// whoever is not root cannot take it.
func (o *Options) listen() string {
	switch {
	case o.Listen != "":
		return o.Listen
	case o.Onion:
		return "127.0.0.1:7117" // for this machine; others come through Tor
	case o.Root:
		return ":443"
	}
	return ":7117"
}

// onionAt is where Tor finds the relay.
func (o *Options) onionAt() string {
	if o.Root && o.Unit != NoUnit { // the unit makes the folder, closed to all but the group
		return "unix:" + onionSocket
	}
	return "unix:" + filepath.Join(o.Data, "onion.sock")
}

// name is how people reach a relay of this configuration: host for port 443,
// host:port for another.
func (o *Options) name(cfg *relay.Config) (string, error) {
	if o.Onion {
		b, err := os.ReadFile(filepath.Join(onionDir, "hostname"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return "", nil // Tor has not made it yet, or root alone can read it
		}
		return strings.TrimSpace(string(b)), err
	}
	host := o.Domain
	if host == "" {
		host = o.Address
	}
	_, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return host, nil // a socket file: whatever stands in front of it has port 443
	}
	if port == "443" {
		if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
			return "[" + host + "]", nil
		}
		return host, nil
	}
	return net.JoinHostPort(host, port), nil
}

// configure decides on the configuration: the one that lies there rules, as
// somebody may have changed it, unless it contradicts what is asked.
func (o *Options) configure() (cfg relay.Config, steps []Step, err error) {
	want := o.text()
	b, err := os.ReadFile(o.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if cfg, err = relay.ParseConfig([]byte(want)); err != nil {
			return cfg, nil, err
		}
		steps, err = writing(o.Config, want, 0o644)
		return cfg, steps, err
	case err != nil:
		return cfg, nil, &relay.Problem{Err: fmt.Errorf("reading %s: %w", o.Config, err), Hint: "run quickstart as root, or name another file with --config"}
	}
	if cfg, err = relay.ParseConfig(b); err != nil {
		return cfg, nil, &relay.Problem{Err: fmt.Errorf("%s: %w", o.Config, err), Hint: "mend it, or move it away and run quickstart again"}
	}
	asked, err := relay.ParseConfig([]byte(want))
	if err != nil {
		return cfg, nil, err
	}
	data, err := filepath.Abs(cfg.Data)
	if err != nil {
		return cfg, nil, err
	}
	for _, c := range []struct{ key, has, asked string }{
		{"data", data, asked.Data},
		{"domain", strings.Join(cfg.Domain, " "), strings.Join(asked.Domain, " ")},
		{"onion", cfg.Onion, asked.Onion},
	} {
		if c.has != c.asked {
			return cfg, nil, &relay.Problem{
				Err:  fmt.Errorf("%s is there already, with %s = %q where %q is asked for", o.Config, c.key, c.has, c.asked),
				Hint: "edit it by hand and restart the relay, or move it away and run quickstart again",
			}
		}
	}
	return cfg, nil, nil
}
