package load

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// variant is one server with one way of driving it.
type variant struct {
	name   string
	of     string // what is given to --vs; empty for our own
	echo   bool
	tls    bool
	carry  string // what a put carries, for people
	start  func(ctx context.Context, b *bench) (*server, error)
	speak  func(s *server) (dialect, error)
	answer bool // each put is answered, with receipts
}

// Names of variants.
const (
	vTacet     = "tacet"
	vTacetTLS  = "tacet+tls"
	vNats      = "nats"
	vNatsReply = "nats+reply"
	vNatsTLS   = "nats+tls"
	vNatsWS    = "natsws"
	vMosquitto = "mosquitto"
	vCentri    = "centrifugo"
)

// variants are all there are, in the order of tables.
func variants() []*variant {
	relay := func(secure bool) func(context.Context, *bench) (*server, error) {
		return func(_ context.Context, b *bench) (*server, error) {
			return startRelay(relayOrder{TLS: secure}, b.role)
		}
	}
	const ours = "WebSocket message of 1,320 bytes: id 8, address 32, cell 1,280; proof, echo and answer"
	return []*variant{
		{name: vTacet, echo: true, answer: true, carry: ours, start: relay(false), speak: newTacet},
		{name: vNats, of: "nats", carry: "PUB to a subject of 54 characters (the address), payload 1,280", start: startNats, speak: always(nats{})},
		{name: vNatsReply, of: "nats", echo: true, answer: true, carry: "the same, and the receiver publishes 8 bytes to the sender's inbox", start: startNats, speak: always(nats{})},
		{name: vNatsWS, of: "natsws", carry: "the same as nats, in WebSocket messages", start: startNatsWS, speak: always(nats{webSocket: true})},
		{name: vMosquitto, of: "mosquitto", carry: "MQTT 3.1.1 PUBLISH, QoS 0, to a topic of 54 characters, payload 1,280", start: startMosquitto, speak: always(mqtt{})},
		{name: vCentri, of: "centrifugo", carry: "publish in Protobuf over WebSocket to a channel of 54 characters, data 1,280; each publish is answered", start: startCentrifugo, speak: always(centrifugo{})},
		{name: vTacetTLS, echo: true, answer: true, tls: true, carry: ours + "; TLS 1.3, proofs bound to it", start: relay(true), speak: newTacet},
		{name: vNatsTLS, of: "nats", tls: true, carry: "the same as nats, over TLS 1.3", start: startNatsTLS, speak: always(nats{})},
	}
}

// always is a dialect that needs to ask the server nothing.
func always(d dialect) func(*server) (dialect, error) {
	return func(*server) (dialect, error) { return d, nil }
}

// Peers are the names that may be compared with.
func Peers() []string { return []string{vNats, vNatsWS, vMosquitto, vCentri} }

// Variants are the names of all ways to drive a server.
func Variants() (names []string) {
	for _, v := range variants() {
		names = append(names, v.name)
	}
	return names
}

// choose returns our own variants and those of the peers, and of them only some
// if there are names.
func choose(peers, only []string) ([]*variant, error) {
	for _, name := range only {
		if !slices.Contains(Variants(), name) {
			return nil, &Problem{fmt.Errorf("there is no variant %q", name), "there are: " + strings.Join(Variants(), ", ")}
		}
	}
	for _, p := range peers {
		if !slices.Contains(Peers(), p) {
			return nil, &Problem{fmt.Errorf("there is no %q to compare with", p), "there are: " + strings.Join(Peers(), ", ")}
		}
	}
	vs := slices.DeleteFunc(variants(), func(v *variant) bool {
		return v.of != "" && !slices.Contains(peers, v.of) || len(only) > 0 && !slices.Contains(only, v.name)
	})
	if len(vs) == 0 {
		return nil, &Problem{errors.New("nothing is left to measure"), "variants of a peer need it in --vs"}
	}
	return vs, nil
}

// startConfigured starts a peer that reads a configuration file and listens on a
// port that it cannot be left to choose. text gets host, port and directory.
func startConfigured(ctx context.Context, b *bench, binary, name string, text func(host, port, dir string) (string, error), args func(file string) []string, d dialect, secure bool) (*server, error) {
	path, err := b.binary(ctx, binary)
	if err != nil {
		return nil, err
	}
	var last error
	for range 5 {
		addr, err := freePort()
		if err != nil {
			return nil, err
		}
		host, port, _ := net.SplitHostPort(addr)
		dir, err := os.MkdirTemp(b.dir, name)
		if err != nil {
			return nil, err
		}
		conf, err := text(host, port, dir)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			return nil, err
		}
		cmd := exec.Command(path, args(file)...)
		cmd.Dir = dir
		s, err := startPeer(ctx, cmd, addr, d, secure)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		last = err
	}
	return nil, last
}

func natsArgs(file string) []string { return []string{"-c", file} }

const natsLimits = "max_connections: 1000000\nmax_pending: 64MB\n"

func startNats(ctx context.Context, b *bench) (*server, error) {
	return startConfigured(ctx, b, binNats, "nats.conf", func(host, port, _ string) (string, error) {
		return fmt.Sprintf("host: %q\nport: %s\n%s", host, port, natsLimits), nil
	}, natsArgs, nats{}, false)
}

func startNatsWS(ctx context.Context, b *bench) (*server, error) {
	return startConfigured(ctx, b, binNats, "nats.conf", func(host, port, _ string) (string, error) {
		return fmt.Sprintf("host: %q\nport: -1\n%swebsocket { host: %q, port: %s, no_tls: true, compression: false }\n", host, natsLimits, host, port), nil
	}, natsArgs, nats{webSocket: true}, false)
}

func startNatsTLS(ctx context.Context, b *bench) (*server, error) {
	return startConfigured(ctx, b, binNats, "nats.conf", func(host, port, dir string) (string, error) {
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		if err := writeCertificate(cert, key); err != nil {
			return "", err
		}
		return fmt.Sprintf("host: %q\nport: %s\n%stls { cert_file: %q, key_file: %q, handshake_first: true, min_version: \"1.3\", timeout: 60 }\n",
			host, port, natsLimits, cert, key), nil
	}, natsArgs, nats{}, true)
}

func startMosquitto(ctx context.Context, b *bench) (*server, error) {
	return startConfigured(ctx, b, binMosquitto, "mosquitto.conf", func(host, port, _ string) (string, error) {
		return fmt.Sprintf("listener %s %s\nallow_anonymous true\nmax_connections -1\nmax_queued_messages 100000\nset_tcp_nodelay true\npersistence false\nuser root\n", port, host), nil
	}, natsArgs, mqtt{}, false)
}

func startCentrifugo(ctx context.Context, b *bench) (*server, error) {
	return startConfigured(ctx, b, binCentrifugo, "config.json", func(host, port, _ string) (string, error) {
		return fmt.Sprintf(`{"http_server":{"address":%q,"port":%q},"client":{"insecure":true,"queue_max_size":67108864},"log":{"level":"error"},"usage_stats":{"disabled":true}}`, host, port), nil
	}, func(file string) []string { return []string{"--config", file} }, centrifugo{}, false)
}

// writeCertificate makes a certificate of the same kind as our relay's leaf.
func writeCertificate(certFile, keyFile string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	t := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "load"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &t, &t, public, private)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
}
