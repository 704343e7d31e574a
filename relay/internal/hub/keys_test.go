package hub

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// sealer writes TLS 1.3 records (RFC 8446, Section 5) as a client, beside a
// tls.Conn that only reads. crypto/tls never asks for new keys by itself, but a
// client of another make may do so at any time.
type sealer struct {
	secret   []byte
	aead     cipher.AEAD
	iv       []byte
	sequence uint64
}

// expand is HKDF-Expand-Label (RFC 8446, Section 7.1) without context.
func expand(t testing.TB, secret []byte, label string, n int) []byte {
	t.Helper()
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(info, byte(6+len(label))), "tls13 "+label+"\x00"...)
	b, err := hkdf.Expand(sha256.New, secret, string(info), n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *sealer) rekey(t testing.TB, secret []byte) {
	t.Helper()
	block, err := aes.NewCipher(expand(t, secret, "key", 16))
	if err != nil {
		t.Fatal(err)
	}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		t.Fatal(err)
	}
	s.secret, s.iv, s.sequence = secret, expand(t, secret, "iv", 12), 0
}

// clientSealer takes the writing side of a client over after its handshake.
func clientSealer(t testing.TB, c *tls.Conn, log string) *sealer {
	t.Helper()
	if c.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("SKIPPED: this machine prefers another cipher suite than the test speaks")
	}
	_, line, _ := strings.Cut(log, "CLIENT_TRAFFIC_SECRET_0 ")
	secret, err := hex.DecodeString(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	s := new(sealer)
	s.rekey(t, secret)
	return s
}

// record returns one record of a content type.
func (s *sealer) record(kind byte, content []byte) []byte {
	inside := append(bytes.Clone(content), kind)
	head := []byte{23, 3, 3, byte((len(inside) + 16) >> 8), byte(len(inside) + 16)}
	nonce := bytes.Clone(s.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(s.sequence >> (56 - 8*i))
	}
	s.sequence++
	return s.aead.Seal(head, nonce, inside, head)
}

// newKeys returns a record that changes our keys and asks the other side to
// change its own.
func (s *sealer) newKeys(t testing.TB) []byte {
	t.Helper()
	b := s.record(22, []byte{24, 0, 0, 1, 1})
	s.rekey(t, expand(t, s.secret, "traffic upd", 32))
	return b
}

// TestNewKeysWhileCellsArePushed asks for new keys all the time while cells are
// pushed: what the reading side of TLS answers and what the writing side sends
// must leave in the order in which they were encrypted.
func TestNewKeysWhileCellsArePushed(t *testing.T) {
	w := real(t, "tls", Config{})
	var log strings.Builder
	nc, ok := w.dial().(*tls.Conn)
	if !ok {
		t.Fatal("got no TLS connection")
	}
	raw := nc.NetConn()
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &log})
	defer raw.Close()
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	s := clientSealer(t, c, log.String())

	raw.Write(s.record(23, []byte("GET /v1/watch HTTP/1.1\r\nHost: relay\r\n"+upgradeHeaders+"\r\n")))
	br := bufio.NewReader(c)
	if r, err := http.ReadResponse(br, nil); err != nil || r.StatusCode != 101 {
		t.Fatalf("got %v, %v", r, err)
	}
	g, err := readFrame(br)
	if err != nil {
		t.Fatal(err)
	}
	k := owner(t)
	a := watching{peer: &peer{t: t, w: w}, server: [32]byte(g.p[1:])}
	raw.Write(s.record(23, mask(ws.Binary, a.frame(0, w.period(), k))))
	if f, err := readFrame(br); err != nil || f.p[0] != byte(wire.FrameWatched) {
		t.Fatal(f, err)
	}

	p := w.open("/v1/put")
	room := make(chan bool, 64) // in flight
	go func() {
		for i := uint64(0); p.write(ws.Binary, putFrame(k, i)) == nil; i++ {
			room <- true
		}
	}()
	// A client takes no more than 16 such answers in a row, so no more than 8 are
	// under way: a ping behind each tells when it has been answered.
	ask, done := make(chan bool, 8), make(chan struct{})
	for range cap(ask) {
		ask <- true
	}
	go func() {
		defer close(done)
		for range ask {
			if _, err := raw.Write(append(s.newKeys(t), s.record(23, mask(ws.Ping, []byte("keys")))...)); err != nil {
				return
			}
		}
	}()
	for i, pongs := uint64(0), 0; pongs < 1500; {
		f, err := readFrame(br)
		switch {
		case err != nil:
			t.Fatalf("after %d cells and %d new keys: %v", i, pongs, err)
		case f.op == ws.Pong:
			if pongs++; pongs+cap(ask) <= 1500 {
				ask <- true
			}
		case f.op == ws.Binary:
			if !bytes.Equal(f.p[9:], putFrame(k, i)[8:]) {
				t.Fatalf("got another cell, want %d", i)
			}
			i++
			<-room
		}
	}
	close(ask)
	<-done
}

// TestNewKeysKeepTheirPlace has the reading side answer a request for new keys
// between a piece that was encrypted before and one after: none of them goes to
// the socket by itself, and what is taken can be read in one go.
func TestNewKeysKeepTheirPlace(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	var log strings.Builder
	c := tls.Client(client, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &log})
	in := &inner{Conn: server}
	srv := tls.Server(in, &tls.Config{Certificates: []tls.Certificate{certificate(t)}, SessionTicketsDisabled: true})
	hands := make(chan error)
	go func() { hands <- srv.Handshake() }()
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-hands; err != nil {
		t.Fatal(err)
	}
	s := clientSealer(t, c, log.String())
	in.Conn = deafConn{} // whose Write would panic
	p := pool{size: cipherBuffer}
	in.start(&p)

	for round := range 3 {
		srv.Write([]byte("before "))
		in.in = append(s.newKeys(t), s.record(23, []byte("heard"))...)
		b := make([]byte, 10)
		if n, err := srv.Read(b); string(b[:n]) != "heard" || err != nil {
			t.Fatalf("got %q, %v, want what came under new keys", b[:n], err)
		}
		if _, err := srv.Read(b); err != (dry{}) {
			t.Fatalf("got %v, want dry", err)
		}
		srv.Write([]byte("after"))
		go server.Write(in.take().b)
		got := make([]byte, len("before after"))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "before after" {
			t.Fatalf("round %d: got %q, %v", round, got, err)
		}
	}
}

// TestAskingForKeysWithoutReadingIsBounded: answers to a peer that asks and
// never reads do not pile up.
func TestAskingForKeysWithoutReadingIsBounded(t *testing.T) {
	var p pool
	p.size = cipherBuffer
	in := new(inner)
	in.start(&p)
	written := 0
	for {
		n, err := in.Write(make([]byte, 27))
		if err == errFlood {
			break
		}
		if written += n; written > cipherLimit {
			t.Fatalf("got %d bytes collected, want at most %d", written, cipherLimit)
		}
	}
	if x := in.take(); len(x.b) != written || in.pending() {
		t.Errorf("got %d bytes, want %d", len(x.b), written)
	}
}

// TestBindingTiesProofsToTheConnection: where proofs are bound, one made for
// another connection or for none is refused, and so is a watch without TLS.
func TestBindingTiesProofsToTheConnection(t *testing.T) {
	exported := func(p *peer) [32]byte {
		state := p.nc.(*tls.Conn).ConnectionState()
		b, err := state.ExportKeyingMaterial("EXPORTER-tacet-v1-proof", nil, 32)
		if err != nil {
			t.Fatal(err)
		}
		return [32]byte(b)
	}
	for _, way := range []string{"tls", "tls of net/http"} {
		w := real(t, way, Config{Binding: true})
		other := w.greeted()
		for name, c := range map[string]struct {
			binding func(p *peer) [32]byte
			want    wire.Reason
		}{
			"its own":     {exported, 0},
			"none":        {func(*peer) [32]byte { return [32]byte{} }, wire.ReasonProof},
			"a neighbour": {func(*peer) [32]byte { return exported(other.peer) }, wire.ReasonProof},
		} {
			p := w.greeted()
			p.binding = c.binding(p.peer)
			p.send(p.frame(0, w.period(), owner(t)))
			if c.want == 0 {
				p.watched(1)
			} else if _, reason := p.end(); reason != c.want {
				t.Errorf("%s, %s: got reason %d, want %d", way, name, reason, c.want)
			}
		}
	}
	plain := real(t, "tcp", Config{Binding: true})
	if got := plain.get("/v1/watch", upgradeHeaders); got.StatusCode != 400 {
		t.Errorf("got status %d for a watch without TLS, want 400", got.StatusCode)
	}
	if got := plain.get("/v1/put", upgradeHeaders); got.StatusCode != 101 {
		t.Errorf("got status %d for a put without TLS, want 101", got.StatusCode)
	}
}

// TestListenSpeaksOneTLS: version 1.3, and no tickets that would link connections.
func TestListenSpeaksOneTLS(t *testing.T) {
	w := real(t, "tls", Config{})
	old := tls.Client(w.dial().(*tls.Conn).NetConn(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err := old.Handshake(); err == nil {
		t.Error("got a connection of TLS 1.2, want none")
	}
	old.Close()
	cache := tls.NewLRUClientSessionCache(4)
	for range 2 {
		c := tls.Client(w.dial().(*tls.Conn).NetConn(), &tls.Config{InsecureSkipVerify: true, ServerName: "relay", ClientSessionCache: cache})
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n")
		if _, err := io.ReadAll(c); err != nil {
			t.Fatal(err)
		}
		if c.ConnectionState().DidResume {
			t.Error("got a resumed session, want none")
		}
		c.Close()
	}
}
