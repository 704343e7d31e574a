package setup

import (
	_ "embed"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tacet-chat/tacet/relay"
)

// unitText is the unit for root's usual places and port 443. docs/recipes has
// the same, for who likes to do it by hand.
//
//go:embed tacet-relay.service
var unitText string

// Unit returns the unit for systemd that runs program with a configuration file.
func Unit(program, config string, cfg *relay.Config) (string, error) {
	for _, path := range []string{program, config, cfg.Data} {
		if !filepath.IsAbs(path) || strings.ContainsAny(path, " \t\n\"'\\$%;") {
			return "", &relay.Problem{Err: fmt.Errorf("the path %q cannot stand in a unit", path), Hint: "choose an absolute one without blanks and quotes"}
		}
	}
	u := strings.Replace(unitText, "/usr/local/bin/tacet-relay serve --config "+SystemConfig, program+" serve --config "+config, 1)
	if name, ok := strings.CutPrefix(cfg.Data, "/var/lib/"); ok && name != "" {
		u = strings.Replace(u, "\nStateDirectory=tacet-relay\n", "\nStateDirectory="+name+"\n", 1)
		u = strings.Replace(u, "/var/lib/tacet-relay:", cfg.Data+":", 1)
	} else {
		u = strings.Replace(u, "\nStateDirectory=tacet-relay\nStateDirectoryMode=0700\n", "\nReadWritePaths="+cfg.Data+"\n", 1)
		u = strings.Replace(u, "/var/lib/tacet-relay:", cfg.Data+":", 1)
	}
	if !low(cfg.Listen) && len(cfg.Domain) == 0 { // names ask for port 80 where it is free
		u = strings.Replace(u, "# Ports below 1024, and nothing else of root's.\nAmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n",
			"# Nothing of root's.\nCapabilityBoundingSet=\nPrivateUsers=yes\n", 1)
	}
	return u, nil
}

// low reports whether a place to listen is a port that is root's.
func low(listen string) bool {
	_, port, err := net.SplitHostPort(listen)
	n, nerr := strconv.Atoi(port)
	return err == nil && nerr == nil && n < 1024
}
