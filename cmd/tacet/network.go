package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/ui/text"
)

// proxyName is a file in a profile's folder with the proxy that it was made
// with: so that no later command goes without it by mistake.
const proxyName = "proxy"

// proxiedName is a file in a profile's folder with relays, a name a line, that
// may be spoken to although their TLS ends in a program in front of them.
const proxiedName = "proxied"

// network returns the way to relays for the profile in dir. With a proxy there
// is no other way.
func (a *app) network(dir string) (client.Network, error) {
	proxy := a.proxy
	if proxy == "" {
		raw, err := os.ReadFile(filepath.Join(dir, proxyName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, &text.Failure{What: "the profile's proxy cannot be read: " + reason(err), Means: "Nothing was sent: without knowing it, nothing goes out.", Err: err}
		}
		line, _, _ := bytes.Cut(raw, []byte("\n"))
		proxy = string(bytes.TrimSpace(line))
	}
	n, err := relay.NewNetwork(proxy)
	if err != nil {
		return nil, usage(err.Error(), "for Tor: --proxy socks5://127.0.0.1:9050")
	}
	// Read at every connection: another command may add to it meanwhile.
	n.Proxied = func(name string) bool {
		raw, _ := os.ReadFile(filepath.Join(dir, proxiedName))
		return slices.Contains(a.proxied, name) || slices.Contains(strings.Fields(string(raw)), name)
	}
	return n, nil
}

// keepProxied notes the relays that --allow-proxied named.
func (a *app) keepProxied(dir string) error {
	if len(a.proxied) == 0 {
		return nil
	}
	path := filepath.Join(dir, proxiedName)
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all := strings.Fields(string(raw))
	for _, name := range a.proxied {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return os.WriteFile(path, []byte(strings.Join(all, "\n")+"\n"), 0o600)
}

// keepProxy notes the proxy that a profile is made with, and which relays may
// have one in front.
func (a *app) keepProxy(dir string) error {
	if a.proxy == "" && len(a.proxied) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := a.keepProxied(dir); err != nil || a.proxy == "" {
		return err
	}
	return os.WriteFile(filepath.Join(dir, proxyName), []byte(a.proxy+"\n"), 0o600)
}

// otherWay: the process that has the profile does not use the proxy that this
// command asks for.
func otherWay(proxy string) error {
	way := "directly"
	if proxy != "" {
		way = "through another proxy"
	}
	return &text.Failure{What: "the process that has this profile reaches its relay " + way + ", not through --proxy", Means: "Nothing was sent or changed.",
		Hint: "end that process and start it with --proxy, or go without --proxy here"}
}
