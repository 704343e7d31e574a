package natslink

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

const (
	startWithin  = 10 * time.Second
	routeTimeout = 5  // seconds for TLS and for the password
	localAuth    = 60 // seconds: a machine that stalls must not refuse itself
	routeUser    = "node"
	routeRetries = 3600 // one a second: longer than any stall, and no dead address is dialled for ever
)

// local is a NATS server in this process.
type local struct {
	server         *server.Server
	user, password string
}

// Options say how embedded servers find each other.
type Options struct {
	Realm bus.Realm
	// Listen is where routes are taken, host:port; port 0 is any that is free.
	Listen string
	// Advertise is what other nodes are told to reach us at, host:port; empty
	// is where they saw us.
	Advertise string
	// Nodes are the route addresses of other nodes, host:port.
	Nodes []string
	// TLS is for routes: both ends show and check certificates. nil is none.
	TLS *tls.Config
}

// Embedded starts a server in this process. Whoever calls it calls Run or Close.
func Embedded(o Options) (*Link, error) {
	host, port, err := split(o.Listen)
	if err != nil {
		return nil, err
	}
	// The server says nothing about an address that it cannot have.
	probe, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	probe.Close()
	l := &local{user: routeUser, password: rand.Text()}
	so := &server.Options{
		ServerName: o.Realm.Name() + "-" + rand.Text(),
		// NATS opens no routes without a listener for clients: one that only this
		// machine reaches, with a password that only this process knows.
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: l.user, Password: l.password,
		NoLog: true, NoSigs: true, NoSystemAccount: true, MaxPayload: int32(bus.MaxMessage), NoSublistCache: true,
		PingInterval: localPing, AuthTimeout: localAuth, // of the one client, in this process
	}
	so.Cluster = server.ClusterOpts{
		Name: o.Realm.Name(), Host: host, Port: port, Advertise: o.Advertise, NoAdvertise: true,
		Username: routeUser, Password: o.Realm.Password(), AuthTimeout: routeTimeout,
		TLSConfig: o.TLS, TLSTimeout: routeTimeout, PoolSize: -1,
		PingInterval: pingEvery, MaxPingsOut: pingsOut, WriteDeadline: dialWithin,
		// A node that others told of is dialled again too: NATS would try once, and
		// two nodes that missed each other then stayed apart for good.
		ConnectRetries: routeRetries,
		Compression:    server.CompressionOpts{Mode: server.CompressionOff},
	}
	for _, node := range o.Nodes {
		so.Routes = append(so.Routes, &url.URL{Scheme: "nats-route", User: url.UserPassword(routeUser, o.Realm.Password()), Host: node})
	}
	if l.server, err = server.NewServer(so); err != nil {
		return nil, fmt.Errorf("starting NATS: %w", err)
	}
	l.server.Start()
	if !l.server.ReadyForConnections(startWithin) {
		l.stop()
		return nil, errors.New("starting NATS: it does not listen")
	}
	return &Link{realm: o.Realm, local: l}, nil
}

func split(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, errors.New("listen is not host:port")
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// Addr is where routes are taken.
func (l *Link) Addr() string {
	if l.local == nil {
		return ""
	}
	return l.local.server.ClusterAddr().String()
}

// Close stops the embedded server. Run does it too.
func (l *Link) Close() error {
	if l.local != nil {
		l.local.stop()
	}
	return nil
}

func (l *local) stop() {
	l.server.Shutdown()
	l.server.WaitForShutdown()
}
