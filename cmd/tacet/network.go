package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/ui/text"
)

// proxyName is a file in a profile's folder with the proxy that it was made
// with: so that no later command goes without it by mistake.
const proxyName = "proxy"

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
	return n, nil
}

// keepProxy notes the proxy that a profile is made with.
func (a *app) keepProxy(dir string) error {
	if a.proxy == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
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
