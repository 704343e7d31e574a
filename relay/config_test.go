package relay

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestTheExampleIsTheDefault(t *testing.T) {
	cfg, err := ParseConfig([]byte(Example()))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Origins, want.Domain, want.Cluster.Nodes = cfg.Origins, cfg.Domain, cfg.Cluster.Nodes // empty and absent are one
	if len(cfg.Cluster.Nodes)+len(cfg.Origins)+len(cfg.Domain) != 0 || !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v, want %+v", cfg, want)
	}
}

func TestTheExampleExplainsEveryKey(t *testing.T) {
	keys := 0
	before := ""
	for line := range strings.Lines(Example()) {
		if name, _, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "#") {
			keys++
			if !strings.HasPrefix(before, "# ") {
				t.Errorf("%s has no words above it", name)
			}
		}
		before = line
	}
	want := count(t, reflect.TypeFor[Config]())
	if keys != want {
		t.Errorf("got %d keys, want %d", keys, want)
	}
}

// count counts the keys of a struct and of its tables.
func count(t *testing.T, of reflect.Type) (n int) {
	for f := range of.Fields() {
		switch name := f.Tag.Get("toml"); {
		case name == "":
			t.Errorf("%s has no name in TOML", f.Name)
		case name == "-":
		case f.Type.Kind() == reflect.Struct:
			n += count(t, f.Type)
		default:
			n++
		}
	}
	return n
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"lisen = ':7117'":                              "unknown key: lisen",
		"[limits]\nputs = 3":                           "unknown key: limits",
		"listen = 3":                                   "reading configuration",
		"[cluster]\nlisten = ':7118'":                  "roles",
		"roles = ['live']\n[cluster]\nlisten = '7118'": "cluster.listen",
		"roles = ['live']\n[cluster]\nlisten = ':7118'\nnodes = ['a']":                "cluster.nodes",
		"roles = ['live']\n[cluster]\nlisten = ':7118'\nadvertise = 'a'":              "cluster.advertise",
		"roles = ['live']\n[cluster]\nnodes = ['a:1']":                                "cluster.listen",
		"roles = ['live']\n[cluster]\ndrain = 1000":                                   "cluster.drain",
		"roles = ['live']\n[cluster]\nlisten = ':7118'\n[nats]\nurl = 'tls://a:4222'": "both",
		"roles = ['live']\n[nats]\nurl = 'http://a'":                                  "nats.url",
		"data = ''\nroles = ['live']\n[cluster]\nlisten = ':7118'":                    "data directory",
		"domain = 'a.example'\nroles = ['live']\n[cluster]\nlisten = ':7118'":         "domain",
		"domain = 'a.example'\nroles = ['live']\n[nats]\nurl = 'tls://a:4222'":        "domain",
		"[cluster]\nlissen = ':7118'":                                                 "unknown key: cluster.lissen",
		"[nats]\nuser = 'me'":                                                         "unknown key: nats.user",
		"listen = ":                                                                   "reading configuration",
		"listen = '127.0.0.1'":                                                        "listen",
		"listen = ':'":                                                                "listen",
		"tls = 'maybe'":                                                               "tls",
		"listen = 'unix:'":                                                            "listen",
		"listen = 'unix:/" + strings.Repeat("x", 103) + "'":                           "listen",
		"tls = 'proxy'\nlisten = ':7117'":                                             "proxy that is named",
		"tls = 'proxy'\nproxy_protocol = true":                                        "proxy_protocol",
		"tls = 'off'\nproxy_protocol = true":                                          "proxy_protocol",
		"tls = 'off'\nonion = '127.0.0.1:1'":                                          "onion",
		"tls = 'proxy'\nonion = '127.0.0.1:1'":                                        "onion",
		"onion = ':7118'":                                                             "onion",
		"onion = '192.0.2.1:7118'":                                                    "onion",
		"proxy_trust = ['localhost']":                                                 "proxy_trust",
		"proxy_trust = ['192.0.2.1/24']":                                              "proxy_trust",
		"proxy_trust = ['0.0.0.0/0']":                                                 "proxy_trust",
		"tls = 'off'\nlisten = ':7117'":                                               "loopback",
		"tls = 'off'\nlisten = '192.0.2.1:7117'":                                      "loopback",
		"tls = 'off'\nlisten = '[::]:7117'":                                           "loopback",
		"tls = 'off'\nlisten = 'example.org:1'":                                       "loopback",
		"roles = ['pool']":                                                            "roles",
		"period = 60":                                                                 "period",
		"ping = 4":                                                                    "ping",
		"ping = 241":                                                                  "ping",
		"window_mib = 5000":                                                           "window_mib",
		"blob_mib = -1":                                                               "blob_mib",
		"max_connections = -5":                                                        "max_connections",
		"limit_puts = 70000":                                                          "limit_puts",
		"origins = ['*']":                                                             "origins",
		"origins = ['https://*.example']":                                             "origins",
		"origins = ['https://a/b']":                                                   "origins",
		"policy = \"two\\nlines\"":                                                    "policy",
		"policy = '" + strings.Repeat("x", 201) + "'":                                 "policy",
		strings.Repeat("#", MaxConfig+1):                                              "over",
	} {
		_, err := ParseConfig([]byte(text))
		var p *Problem
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%.40q: got %v, want an error about %q with a hint", text, err, want)
		}
	}
}

func TestTLSIsOffOnLoopbackOnly(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:1": false, "127.9.9.9:1": false, "[::1]:1": false, "[::ffff:127.0.0.1]:1": false, "localhost:1": false,
		":1": true, "0.0.0.0:1": true, "[::]:1": true, "192.0.2.1:1": true, "example.org:1": true, "127.0.0.1.example.org:1": true,
	} {
		cfg := Config{Listen: listen}
		cfg.fill()
		if err := cfg.check(); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
		if got := cfg.secure(); got != want {
			t.Errorf("%s: got TLS %t, want %t", listen, got, want)
		}
		cfg.TLS = "on"
		if !cfg.secure() {
			t.Errorf("%s with tls on: got no TLS", listen)
		}
	}
	for text, want := range map[string]bool{
		"listen = 'unix:/run/relay.sock'":                                 false,
		"listen = 'unix:/run/relay.sock'\nproxy_protocol = true":          true,
		"proxy_protocol = true":                                           true,
		"onion = 'unix:/run/onion.sock'":                                  true,
		"tls = 'proxy'":                                                   false,
		"tls = 'proxy'\nlisten = ':7117'\nproxy_trust = ['192.0.2.0/24']": false,
	} {
		cfg, err := ParseConfig([]byte(text))
		if err != nil || cfg.secure() != want {
			t.Errorf("%q: got TLS %t, %v, want %t", text, cfg.secure(), err, want)
		}
	}
}

func TestZeroStandsForTheDefault(t *testing.T) {
	cfg := Config{}
	cfg.fill()
	want := Default()
	want.Data = "" // nothing on disk unless it is named
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v, want %+v", cfg, want)
	}
}

func TestTheDataDirectoryByCustom(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/state/one:/state/two")
	if got := Default().Data; got != "/state/one" {
		t.Errorf("got %s, want what systemd made", got)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(Example())
	f.Add("listen = ':1'\nroles = []\norigins = ['http://a']")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := ParseConfig([]byte(text))
		if err != nil {
			return
		}
		if err := cfg.check(); err != nil {
			t.Errorf("accepted, and then: %v", err)
		}
		if !cfg.secure() && !cfg.loopback() && cfg.TLS != "proxy" {
			t.Error("accepted plain HTTP beyond loopback")
		}
	})
}
