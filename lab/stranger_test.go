package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// roleStranger is a process that attacks a relay: see attacks.
const roleStranger = "stranger"

// strangerOrder is what it is told. It attacks until its input ends.
type strangerOrder struct {
	Attack   string `json:"attack"`
	Addr     string `json:"addr"`
	Networks []int  `json:"networks"` // N of 127.0.N.0/24, see placed
	Each     int    `json:"each"`     // connections at one moment that it tries for from each
}

// strangerWord is what it says at its end.
type strangerWord struct {
	Opened int64 `json:"opened"` // attempts that came as far as they were meant to
	Failed int64 `json:"failed"` // that were refused, or cut off before
	Sent   int64 `json:"sent"`   // bytes
	Last   bool  `json:"last"`
}

// attacker is what an attack needs.
type attacker struct {
	strangerOrder
	ctx          context.Context
	realm        [32]byte
	opened, sent atomic.Int64
	failed       atomic.Int64
	speaker
}

func playStranger() int {
	signal.Ignore(os.Interrupt)
	in := bufio.NewReader(os.Stdin)
	a := &attacker{speaker: speaker{w: os.Stdout}}
	if err := hear(in, &a.strangerOrder); err != nil {
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	a.ctx = ctx
	go func() {
		io.Copy(io.Discard, in)
		stop()
	}()
	var err error
	if a.realm, err = askRealm(ctx, a.Addr, a.Networks[0]); err != nil {
		fmt.Fprintln(os.Stderr, "asking for the realm:", err)
		return 1
	}
	var wg sync.WaitGroup
	attack := attacks[a.Attack]
	if attack == nil {
		fmt.Fprintln(os.Stderr, "there is no attack", a.Attack)
		return 1
	}
	for _, n := range a.Networks {
		for k := range a.Each {
			wg.Go(func() {
				for ctx.Err() == nil {
					err := a.once(attack, n, k)
					if err == nil {
						continue
					}
					a.failed.Add(1)
					select {
					case <-ctx.Done():
					case <-time.After(200 * time.Millisecond): // an attacker's patience
					}
				}
			})
		}
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-over:
			last = true
		}
		a.say(strangerWord{a.opened.Load(), a.failed.Load(), a.sent.Load(), last})
	}
	return 0
}

// once opens a connection from a network and lets it attack. It is closed when
// the attack ends.
func (a *attacker) once(attack func(*attacker, *caller, int) error, network, k int) error {
	l, err := call(a.ctx, a.Addr, network)
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(a.ctx, func() { l.Close() })()
	err = attack(a, l, k)
	a.sent.Add(l.sent.Load())
	return err
}

// done counts an attempt as one that came as far as it was meant to, and holds
// the connection, reading, until it ends.
func (a *attacker) hold(l *caller) error {
	a.opened.Add(1)
	io.Copy(io.Discard, l.r)
	return errors.New("ended")
}

// caller is a connection to a relay, spoken by hand.
type caller struct {
	net.Conn  // TCP, or TLS after secure
	under     net.Conn
	r         *bufio.Reader
	binding   [wire.BindingSize]byte
	sent      atomic.Int64
	writeLock sync.Mutex
}

// networks that are honest, and what a host is called in its own.
func hostOf(network int) *net.TCPAddr { return &net.TCPAddr{IP: net.IPv4(127, 0, byte(network), 1)} }

func call(ctx context.Context, addr string, network int) (*caller, error) {
	d := net.Dialer{LocalAddr: hostOf(network), Timeout: 30 * time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &caller{Conn: c, under: c, r: bufio.NewReader(c)}, nil
}

// secure does the TLS handshake.
func (l *caller) secure(protocols ...string) error {
	t := tls.Client(l.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	if err := t.Handshake(); err != nil {
		return err
	}
	state := t.ConnectionState()
	b, err := state.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
	if err != nil {
		return err
	}
	l.binding = [wire.BindingSize]byte(b)
	l.Conn, l.r = t, bufio.NewReader(t)
	return nil
}

func (l *caller) Write(b []byte) (int, error) {
	l.writeLock.Lock()
	defer l.writeLock.Unlock()
	n, err := l.Conn.Write(b)
	l.sent.Add(int64(n))
	return n, err
}

// Close may be called at any time.
func (l *caller) Close() error { return l.under.Close() }

// upgrade opens a WebSocket.
func (l *caller) upgrade(path string) error {
	if err := l.secure(); err != nil {
		return err
	}
	if _, err := io.WriteString(l, "GET "+path+" HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(l.r, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("got %s", resp.Status)
	}
	return nil
}

// clientFrame is a client's whole frame, with a masking key of zeros.
func clientFrame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

const (
	wsBinary = 2
	wsPing   = 9
	wsPong   = 10
)

func (l *caller) say(op byte, payload []byte) error {
	_, err := l.Write(clientFrame(op, payload))
	return err
}

// listen returns the next binary message, and answers pings.
func (l *caller) listen() ([]byte, error) {
	for {
		var h [8]byte
		if _, err := io.ReadFull(l.r, h[:2]); err != nil {
			return nil, err
		}
		op, n := h[0]&15, int(h[1])
		switch n {
		case 126:
			if _, err := io.ReadFull(l.r, h[:2]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(h[:]))
		case 127:
			if _, err := io.ReadFull(l.r, h[:]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint64(h[:]))
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(l.r, b); err != nil {
			return nil, err
		}
		switch op {
		case wsBinary:
			return b, nil
		case wsPing:
			if err := l.say(wsPong, b); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("frame %d %x", op, b)
		}
	}
}

// key is an address with its private half.
type addressKey struct{ ed25519.PrivateKey }

func newKeys(n int) []addressKey {
	set := make([]addressKey, n)
	for i := range set {
		_, set[i].PrivateKey, _ = ed25519.GenerateKey(rand.Reader)
	}
	return set
}

func (k addressKey) address() wire.Address { return wire.Address(k.PrivateKey[32:]) }

// greeting opens a watch connection and returns how proofs for it are made.
func (l *caller) greeting(realm [32]byte) (func(flags byte, set ...addressKey) []byte, error) {
	if err := l.upgrade("/v1/watch"); err != nil {
		return nil, err
	}
	g, err := l.listen()
	if err != nil {
		return nil, err
	}
	if len(g) != wire.GreetingSize || g[0] != byte(wire.FrameGreeting) {
		return nil, errors.New("refused")
	}
	nonce := [wire.ServerNonceSize]byte(g[1:])
	return func(flags byte, set ...addressKey) []byte {
		b := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), flags}, presentPeriod())
		for _, k := range set {
			p := wire.Proof{Realm: realm, Binding: l.binding, Nonce: nonce, Address: k.address(), Verb: wire.VerbWatch, Period: presentPeriod()}
			b = append(append(b, p.Address[:]...), ed25519.Sign(k.PrivateKey, p.Append(nil))...)
		}
		return b
	}, nil
}

// watch opens a watch connection with a set and waits for it to be taken.
func (l *caller) watch(realm [32]byte, flags byte, set ...addressKey) (func(byte, ...addressKey) []byte, error) {
	proofs, err := l.greeting(realm)
	if err != nil {
		return nil, err
	}
	for ; len(set) > 0; set = set[min(len(set), wire.MaxWatch):] {
		if err := l.say(wsBinary, proofs(flags, set[:min(len(set), wire.MaxWatch)]...)); err != nil {
			return nil, err
		}
		if err := l.watched(); err != nil {
			return nil, err
		}
	}
	return proofs, nil
}

// watched waits for the answer to a watch frame.
func (l *caller) watched() error {
	for {
		b, err := l.listen()
		if err != nil {
			return err
		}
		switch wire.FrameKind(b[0]) {
		case wire.FrameWatched:
			return nil
		case wire.FrameRefused:
			return errors.New("refused")
		}
	}
}

// realm asks for the realm key.
func askRealm(ctx context.Context, addr string, network int) (realm [32]byte, err error) {
	l, err := call(ctx, addr, network)
	if err != nil {
		return realm, err
	}
	defer l.Close()
	if err := l.secure(); err != nil {
		return realm, err
	}
	if _, err := io.WriteString(l, "GET /v1/realm HTTP/1.1\r\nHost: relay\r\n\r\n"); err != nil {
		return realm, err
	}
	resp, err := http.ReadResponse(l.r, nil)
	if err != nil {
		return realm, err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return realm, err
	}
	d, _, _, err := wire.ParseDescriptor(b)
	return d.Realm, err
}

// Keys that all connections of a stranger share.
var (
	common  = sync.OnceValue(func() []addressKey { return newKeys(wire.MaxWatch) })
	fullSet = sync.OnceValue(func() []addressKey { return newKeys(wire.MaxWatched) })
)

// putFrameTo is a put frame with a cell of no meaning.
func putFrameTo(a wire.Address, id uint64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, wire.PutSize), id)
	b = append(b, a[:]...)
	return binary.BigEndian.AppendUint64(b, id)[:wire.PutSize]
}

// puts are 64 put frames in one message.
func putsTo(a wire.Address) []byte {
	var all []byte
	for n := range uint64(wire.MaxPuts) {
		all = append(all, putFrameTo(a, n)...)
	}
	return clientFrame(wsBinary, all)
}

// parseLine reads what a process says.
func parseLine[T any](b []byte) (v T, ok bool) {
	return v, json.Unmarshal(bytes.TrimSpace(b), &v) == nil && strings.HasPrefix(string(b), "{")
}
