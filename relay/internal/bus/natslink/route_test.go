package natslink

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// heard counts what an embedded server says.
type heard struct {
	mu  sync.Mutex
	all []string
}

// listen makes a server speak, from now on, to whoever counts.
func (l *Link) listen() *heard {
	h := new(heard)
	l.local.server.SetLoggerV2(h, true, false, false)
	return h
}

func (h *heard) add(format string, v ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, fmt.Sprintf(format, v...))
}

// count returns how many lines hold all of the words.
func (h *heard) count(words ...string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
lines:
	for _, s := range h.all {
		for _, w := range words {
			if !strings.Contains(strings.ToLower(s), w) {
				continue lines
			}
		}
		n++
	}
	return n
}

func (h *heard) Noticef(f string, v ...any) { h.add(f, v...) }
func (h *heard) Warnf(f string, v ...any)   { h.add(f, v...) }
func (h *heard) Fatalf(f string, v ...any)  { h.add(f, v...) }
func (h *heard) Errorf(f string, v ...any)  { h.add(f, v...) }
func (h *heard) Debugf(f string, v ...any)  { h.add(f, v...) }
func (h *heard) Tracef(f string, v ...any)  { h.add(f, v...) }

var errStranger = errors.New("a stranger")

// mutual returns what a relay gives routes: both ends show a certificate, and
// take one of the same key alone. It counts who was turned away.
func mutual(t *testing.T, k *ecdsa.PrivateKey, refused *atomic.Int32) *tls.Config {
	t.Helper()
	now := time.Now()
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	own := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: k}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil },
		VerifyConnection: func(s tls.ConnectionState) error {
			if !k.PublicKey.Equal(s.PeerCertificates[0].PublicKey) {
				refused.Add(1)
				return errStranger
			}
			return nil
		},
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestARouteNeedsTheRealm: who has not the certificate, or has it and not the
// password, is turned away each time it comes; who has both gets in. A client on
// the loopback port gets nothing without its own password.
func TestARouteNeedsTheRealm(t *testing.T) {
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	other := bus.NewRealm(k)
	own, strange := newKey(t), newKey(t)
	var refused, ignored atomic.Int32
	open := func(realm bus.Realm, k *ecdsa.PrivateKey, count *atomic.Int32, nodes ...string) *Link {
		l, err := Embedded(Options{Realm: realm, Listen: "127.0.0.1:0", Nodes: nodes, TLS: mutual(t, k, count)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	a := open(testRealm(t), own, &refused)
	said := a.listen()
	// A stranger who does not look at whom it meets, so that it gets as far as it can.
	config := mutual(t, strange, &ignored)
	config.VerifyConnection = nil
	b, err := Embedded(Options{Realm: testRealm(t), Listen: "127.0.0.1:0", Nodes: []string{a.Addr()}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	c := open(other, own, &ignored, a.Addr()) // knows no password
	until(t, "strangers were turned away, for the certificate and for the password", func() bool {
		return refused.Load() >= 2 && said.count("authentication error") >= 2
	})
	d := open(testRealm(t), own, &ignored, a.Addr())
	until(t, "the servers have met", func() bool { return d.local.server.NumRoutes() > 0 && a.local.server.NumRoutes() > 0 })
	if n := a.local.server.NumRoutes(); n != 1 {
		t.Errorf("got %d routes, want that of the other node alone", n)
	}
	for _, stranger := range []*Link{b, c} {
		if n := stranger.local.server.NumRoutes(); n != 0 {
			t.Errorf("got %d routes of a stranger, want none", n)
		}
	}
	if nc, err := nats.Connect(a.local.server.ClientURL(), nats.Timeout(10*time.Second)); err == nil {
		nc.Close()
		t.Error("a client was let in without a password")
	}
	if host, _, _ := net.SplitHostPort(a.local.server.Addr().String()); host != "127.0.0.1" {
		t.Errorf("clients are listened for on %s", host)
	}
}

// gate forwards connections to a node, or refuses them.
type gate struct {
	addr string
	mu   sync.Mutex
	ln   net.Listener // nil: closed
	open map[net.Conn]bool
}

func (g *gate) start(t *testing.T, to func() string) {
	t.Helper()
	ln, err := net.Listen("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.addr, g.ln, g.open = ln.Addr().String(), ln, map[net.Conn]bool{}
	g.mu.Unlock()
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to())
			if err != nil {
				in.Close()
				continue
			}
			g.mu.Lock()
			if g.ln != ln {
				in.Close()
				out.Close()
			} else {
				g.open[in], g.open[out] = true, true
			}
			g.mu.Unlock()
			pass := func(dst, src net.Conn) {
				io.Copy(dst, src)
				dst.Close()
				src.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
}

func (g *gate) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ln != nil {
		g.ln.Close()
		g.ln = nil
	}
	for c := range g.open {
		c.Close()
	}
}

// TestNodesThatWereToldOfEachOtherMeetAgain: two nodes know each other only
// through a third, and lose each other while the way between them is shut, so
// that dialling fails. When it opens they meet again.
func TestNodesThatWereToldOfEachOtherMeetAgain(t *testing.T) {
	a := start(t)
	var gates [2]gate
	var links [2]*Link
	for i := range links {
		g := &gates[i]
		g.addr = "127.0.0.1:0"
		var at atomic.Value
		at.Store("127.0.0.1:0") // not yet
		g.start(t, func() string { return at.Load().(string) })
		defer g.stop()
		l, err := Embedded(Options{Realm: testRealm(t), Listen: "127.0.0.1:0", Advertise: g.addr, Nodes: []string{a.Addr()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		at.Store(l.Addr())
		links[i] = l
	}
	met := func() bool { return links[0].local.server.NumRoutes() == 2 && links[1].local.server.NumRoutes() == 2 }
	until(t, "all have met", met)
	said := []*heard{links[0].listen(), links[1].listen()}
	for i := range gates {
		gates[i].stop()
	}
	until(t, "one dials in vain", func() bool {
		return said[0].count("error trying to connect to route")+said[1].count("error trying to connect to route") >= 1
	})
	if met() {
		t.Fatal("they are together, though the way is shut")
	}
	for i := range gates {
		l := links[i]
		gates[i].start(t, l.Addr)
	}
	until(t, "all have met again", met)
}

// TestAClosedConnectionIsOpenedAgain: whatever the library does.
func TestAClosedConnectionIsOpenedAgain(t *testing.T) {
	a := start(t)
	b := start(t, a.Addr())
	if !a.Cut() {
		t.Error("a node without a connection to its own server does not say that it is cut off")
	}
	var came atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer func() { stop(); all.Wait() }()
	for i, l := range []*Link{a, b} {
		all.Go(func() {
			if err := l.Run(ctx, bus.ID{byte(i + 1)}, func([]byte) { came.Add(1) }); err != nil {
				t.Error(err)
			}
		})
	}
	arrives := func() bool {
		a.Send(bus.ID{2}, []byte("one"))
		return came.Load() > 0
	}
	until(t, "messages arrive", arrives)
	if a.Cut() || b.Cut() {
		t.Error("nodes that reach each other say that they are cut off")
	}
	b.conn().Close()
	until(t, "the closing was seen", func() bool { nc := b.conn(); return nc != nil && nc.IsConnected() })
	came.Store(0)
	until(t, "messages arrive again", arrives)
}
