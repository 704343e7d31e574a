package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// running is a relay that serves, its log, and a client for it.
type running struct {
	*Relay
	url  string // scheme://host:port
	log  *locked
	http *http.Client
	stop func()
}

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, cfg Config) *running {
	t.Helper()
	return startOn(t, cfg, func(ln net.Listener) net.Listener { return ln })
}

// startOn is start with a listener around the relay's.
func startOn(t *testing.T, cfg Config, around func(net.Listener) net.Listener) *running {
	t.Helper()
	log := &locked{}
	cfg.Log = log
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	r.ln = around(r.ln)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	transport := &http.Transport{DisableCompression: true}
	s := &running{Relay: r, url: "http://" + addr.String(), log: log, http: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
	if r.certs != nil {
		s.url = "https://" + addr.String()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	s.stop = sync.OnceFunc(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// do makes a request and returns the answer with its body read.
func (s *running) do(t *testing.T, method, path string, body []byte, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}

func (s *running) dial(t *testing.T, path string) (*websocket.Conn, *http.Response) {
	t.Helper()
	c, resp, err := websocket.Dial(t.Context(), s.url+path, &websocket.DialOptions{HTTPClient: s.http})
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(wire.MaxFrame)
	t.Cleanup(func() { c.CloseNow() })
	return c, resp
}

func read(t *testing.T, c *websocket.Conn) []byte {
	t.Helper()
	kind, b, err := c.Read(t.Context())
	if err != nil || kind != websocket.MessageBinary {
		t.Fatalf("reading: got kind %v, %v", kind, err)
	}
	return b
}

func (s *running) realm(t *testing.T) wire.Descriptor {
	t.Helper()
	resp, b := s.do(t, "GET", "/v1/realm", nil)
	d, sig, body, err := wire.ParseDescriptor(b)
	if resp.StatusCode != 200 || err != nil || !key.Verify(d.Realm, sig, wire.LabelDescriptor, body) {
		t.Fatalf("got status %d, %v, want a signed descriptor", resp.StatusCode, err)
	}
	return d
}

func blobPut(t *testing.T, n byte) (id wire.BlobID, body []byte, capability []byte) {
	t.Helper()
	capability = bytes.Repeat([]byte{0xcc, n}, 16)
	p := wire.BlobPut{
		Kind: wire.BlobFile, Days: 7, Capability: key.Hash(wire.LabelCapability, capability),
		ID: sha256.Sum256([]byte{n}), Content: bytes.Repeat([]byte{n, 0xbb}, 2048),
	}
	body, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.ID, body, capability
}

func TestTheDescriptorSaysWhatIsTrue(t *testing.T) {
	d := dir(t)
	s := start(t, Config{Data: d, TLS: "on", Policy: "for friends", Period: 600, Ping: 10, WindowMiB: 2})
	got := s.realm(t)
	if sha256.Sum256(got.Realm[:]) != s.Fingerprint() {
		t.Error("got another realm key than the relay's")
	}
	if !got.Binding || got.Period != 600 || got.Ping != 10 || got.WindowSec != 60 || got.WindowMax != 2<<20 ||
		got.BlobMax != wire.MaxBlob || got.BlobDays != 30 || got.Gate != "open" || got.Policy != "for friends" || strings.Join(got.Roles, " ") != "live blob" {
		t.Errorf("got %+v", got)
	}
	id, body, _ := blobPut(t, 1)
	_, b := s.do(t, "POST", "/v1/blob", body)
	receipt, err := wire.ParseReceipt(b)
	if err != nil || !key.Verify(got.Receipts, receipt.Sig, wire.LabelReceipt, id[:], receipt.Hash[:]) {
		t.Errorf("got a receipt (%v) that the announced key did not sign", err)
	}
	c, _ := s.dial(t, "/v1/watch")
	second := read(t, c)[1+wire.ServerNonceSize:]
	if !key.Verify(got.Time, key.Signature(second[8:]), wire.LabelSecond, second[:8]) {
		t.Error("got a second that the announced key did not sign")
	}
	c.CloseNow()
	s.stop()

	s = start(t, Config{Data: d, Roles: []string{"live"}})
	again := s.realm(t)
	if again.Realm != got.Realm || again.Time != got.Time {
		t.Error("got another realm or time key after a restart, want the same")
	}
	if again.Binding || again.BlobMax != 0 || strings.Join(again.Roles, " ") != "live" {
		t.Errorf("without TLS and blobs: got %+v", again)
	}
	if resp, _ := s.do(t, "POST", "/v1/blob", body); resp.StatusCode != 404 {
		t.Errorf("a role that is off: got status %d, want 404", resp.StatusCode)
	}
}

// One cell goes from a put connection to a watcher, whose echo is counted: over
// TLS, with the proof bound to the connection.
func TestACellIsDeliveredAndCounted(t *testing.T) {
	for _, mode := range []string{"auto", "on"} {
		s := start(t, Config{TLS: mode})
		s.carries(t, mode == "on")
		s.stop()
	}
}

// carries puts a cell to a watcher and wants it counted. bound says whether the
// watcher's proof is to be bound to its connection.
func (s *running) carries(t *testing.T, bound bool) {
	t.Helper()
	d := s.realm(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, resp := s.dial(t, "/v1/watch")
	defer c.CloseNow() // else the relay waits for the other side's goodbye
	greeting := read(t, c)
	proof := wire.Proof{Realm: d.Realm, Nonce: [32]byte(greeting[1:]), Address: wire.Address(public), Verb: wire.VerbWatch, Period: uint64(time.Now().Unix()) / d.Period}
	if d.Binding != bound {
		t.Fatalf("got a descriptor with binding %t, want %t", d.Binding, bound)
	}
	if bound {
		b, err := resp.TLS.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
		if err != nil {
			t.Fatal(err)
		}
		proof.Binding = [32]byte(b)
	}
	frame := append([]byte{byte(wire.FrameWatch), 0}, binary.BigEndian.AppendUint64(nil, proof.Period)...)
	frame = append(append(frame, public...), ed25519.Sign(private, proof.Append(nil))...)
	if err := c.Write(t.Context(), websocket.MessageBinary, frame); err != nil {
		t.Fatal(err)
	}
	if got := read(t, c); got[0] != byte(wire.FrameWatched) {
		t.Fatalf("got frame %x, want watched", got)
	}

	p, _ := s.dial(t, "/v1/put")
	defer p.CloseNow()
	put := append([]byte("01234567"), public...)
	put = append(put, bytes.Repeat([]byte{0xce}, wire.CellSize)...)
	if err := p.Write(t.Context(), websocket.MessageBinary, put); err != nil {
		t.Fatal(err)
	}
	got := read(t, c)
	if len(got) != wire.DeliverSize || !bytes.Equal(got[9:], put[8:]) {
		t.Fatalf("got %d bytes, want the cell", len(got))
	}
	if err := c.Write(t.Context(), websocket.MessageBinary, append([]byte{byte(wire.FrameEcho)}, got[1:9]...)); err != nil {
		t.Fatal(err)
	}
	if a, err := wire.ParseAnswer(read(t, p)); err != nil || a.Delivered != 1 || !a.Complete || string(a.ID[:]) != "01234567" {
		t.Errorf("got %+v, %v, want one delivery", a, err)
	}
}

func TestEveryAnswerKeepsToTheRules(t *testing.T) {
	s := start(t, Config{Origins: []string{"https://chat.example"}})
	id, body, capability := blobPut(t, 1)
	blob := "/v1/blob/" + hex.EncodeToString(id[:])
	for _, c := range []struct {
		method, path string
		body         []byte
		header       string // name=value
		want         int
	}{
		{"GET", "/", nil, "", 200},
		{"GET", "/v1/realm", nil, "", 200},
		{"HEAD", "/v1/realm", nil, "", 200},
		{"POST", "/v1/realm", nil, "", 405},
		{"GET", "/v1/realm", nil, "Origin=https://evil.example", 403},
		{"GET", "/v1/realm", nil, "Origin=null", 403},
		{"GET", "/v1/realm", nil, "Origin=https://chat.example", 200},
		{"OPTIONS", "/v1/blob", nil, "Origin=https://chat.example", 204},
		{"OPTIONS", "/v1/blob", nil, "Origin=https://evil.example", 403},
		{"GET", "/v1/watch", nil, "Origin=https://evil.example", 403},
		{"GET", "/v1/watch", nil, "", 400},
		{"POST", "/v1/put", make([]byte, 5), "", 413},
		{"POST", "/v1/blob", body, "", 200},
		{"POST", "/v1/blob", body, "Content-Encoding=gzip", 415},
		{"POST", "/v1/blob", body[1:], "", 413},
		{"GET", blob, nil, "", 200},
		{"GET", blob, nil, "Accept-Encoding=gzip", 200},
		{"GET", blob, nil, "Range=bytes=0-9", 206},
		{"GET", blob, nil, "Range=bytes=99999-", 416},
		{"DELETE", blob, capability, "", 204},
		{"GET", blob, nil, "", 410},
		{"GET", "/v1/pool", nil, "", 404},
		{"GET", "/v1/blob/", nil, "", 404},
	} {
		var header []string
		if name, value, ok := strings.Cut(c.header, "="); ok {
			header = []string{name, value}
		}
		resp, b := s.do(t, c.method, c.path, c.body, header...)
		what := strings.TrimSpace(c.method + " " + c.path + " " + c.header)
		if resp.StatusCode != c.want {
			t.Errorf("%s: got status %d %.60q, want %d", what, resp.StatusCode, b, c.want)
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: got Cache-Control %q, want no-store", what, got)
		}
		for _, name := range []string{"Date", "Server", "Set-Cookie", "Content-Encoding", "Etag", "Last-Modified"} {
			if got := resp.Header.Get(name); got != "" {
				t.Errorf("%s: got %s %q, want none", what, name, got)
			}
		}
		if text := resp.Header.Get("Content-Type") == "text/plain; charset=utf-8"; resp.StatusCode >= 400 && text && bytes.Count(b, []byte("\n")) != 1 && c.method != "HEAD" {
			t.Errorf("%s: got %q, want one line", what, b)
		}
	}
}

func TestHTTP2IsServedOverTLS(t *testing.T) {
	s := start(t, Config{TLS: "on"})
	s.http.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	if resp, _ := s.do(t, "GET", "/v1/realm", nil); resp.ProtoMajor != 2 || resp.StatusCode != 200 || resp.Header.Get("Date") != "" {
		t.Errorf("got %s %d with date %q, want HTTP/2, 200, no date", resp.Proto, resp.StatusCode, resp.Header.Get("Date"))
	}
}

// What a client does must leave no trace of it in what the relay writes down.
func TestNothingIdentifyingIsWrittenDown(t *testing.T) {
	for _, mode := range []string{"off", "on"} {
		t.Run("tls "+mode, func(t *testing.T) { writesNothingDown(t, mode) })
	}
}

func writesNothingDown(t *testing.T, mode string) {
	d := dir(t)
	s := start(t, Config{Data: d, TLS: mode})
	id, body, capability := blobPut(t, 1)
	blob := "/v1/blob/" + hex.EncodeToString(id[:])
	address := bytes.Repeat([]byte{0xad}, 32)
	s.do(t, "POST", "/v1/blob", body)
	s.do(t, "GET", blob, nil, "User-Agent", "canary-agent", "Cookie", "canary=cookie", "X-Forwarded-For", "203.0.113.9")
	s.do(t, "DELETE", blob, capability)
	s.do(t, "GET", "/canary-path?canary=query", nil)
	s.do(t, "POST", "/v1/put", append(append(make([]byte, 24), address...), bytes.Repeat([]byte{0xce}, wire.CellSize)...))
	c, _ := s.dial(t, "/v1/watch")
	c.Write(t.Context(), websocket.MessageText, []byte("canary-text"))
	c.CloseNow()
	conn, err := net.Dial("tcp", s.url[strings.Index(s.url, "//")+2:])
	if err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("canary nonsense\r\n\r\n")) // net/http would log it, with the peer
	io.ReadAll(conn)
	conn.Close()
	if _, err := s.blobs.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.storeFailed(errors.New("canary 203.0.113.9"))
	s.stop()

	log := s.log.String()
	if !strings.Contains(log, "msg=ready") || !strings.Contains(log, eventStore) {
		t.Errorf("got a log without its events: the search is blind\n%s", log)
	}
	for _, pattern := range []string{`canary`, `127\.0\.0\.1`, `203\.0\.113`, `\d\d:\d\d`, `\d{4}`, `[0-9a-f]{16}`, `/v1/`} {
		if m := regexp.MustCompile(pattern).FindString(log); m != "" {
			t.Errorf("got %q in the log, want nothing like %s:\n%s", m, pattern, log)
		}
	}

	seen := 0
	files, err := os.ReadDir(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(d, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen += bytes.Count(b, id[:]) // the record stays, as the rules say
		for name, canary := range map[string][]byte{
			"the peer's address": []byte("127.0.0.1"), "the forwarded address": []byte("203.0.113.9"), "a header": []byte("canary"),
			"an address": address, "a cell": bytes.Repeat([]byte{0xce}, 64), "a deleted content": bytes.Repeat([]byte{1, 0xbb}, 32), "a capability": capability,
		} {
			if bytes.Contains(b, canary) {
				t.Errorf("%s: got %s on disk, want none", f.Name(), name)
			}
		}
	}
	if seen == 0 {
		t.Error("got no record on disk: the search is blind")
	}
}

func TestStatusTellsRoundedTotals(t *testing.T) {
	d := dir(t)
	_, err := AskStatus(d)
	wantProblem(t, err, ErrNotRunning)
	s := start(t, Config{Data: d})
	for n := range byte(13) {
		_, body, _ := blobPut(t, n)
		s.do(t, "POST", "/v1/blob", body)
	}
	s.lying.Store(13)
	got := s.totals()
	if got.Blobs != 10 || got.Requests != 0 {
		t.Errorf("got %+v, want 10 blobs and no sharp count", got)
	}
	st, err := AskStatus(d)
	f := s.Fingerprint()
	if err != nil || "http://"+st.Listen != s.url || st.Fingerprint != hex.EncodeToString(f[:]) || st.TLS || st.Store != "disk" || st.Uptime != "under an hour" {
		t.Errorf("got %+v, %v", st, err)
	}
	info, err := os.Stat(filepath.Join(d, socketUse))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	s.stop()
	_, err = AskStatus(d)
	wantProblem(t, err, ErrNotRunning)
	_, err = AskStatus("")
	wantProblem(t, err, err)
}

func TestASecondRelayIsRefused(t *testing.T) {
	d := dir(t)
	s := start(t, Config{Data: d})
	s.realm(t) // it serves
	_, err := New(Config{Data: d})
	wantProblem(t, err, ErrLocked)
	if st, err := AskStatus(d); err != nil || "http://"+st.Listen != s.url {
		t.Errorf("the first does not answer any more: %+v, %v", st, err)
	}
	other, err := New(Config{Listen: strings.TrimPrefix(s.url, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, other.Run(t.Context()), syscall.EADDRINUSE)
}

func TestPlainHTTPStaysOnThisMachine(t *testing.T) {
	_, err := New(Config{Listen: "0.0.0.0:0", TLS: "off"})
	wantProblem(t, err, err)
	s := start(t, Config{Listen: "0.0.0.0:0"})
	if !s.realm(t).Binding || !strings.HasPrefix(s.url, "https:") {
		t.Error("got plain HTTP beyond loopback, want TLS")
	}
}

// peers is a listener to which one peer connects n times.
type peers struct {
	net.Listener
	from   string
	n      int
	closed int
}

type peer struct {
	net.Conn
	l *peers
}

func (p *peers) Accept() (net.Conn, error) {
	if p.n--; p.n < 0 {
		return nil, net.ErrClosed
	}
	return &peer{l: p}, nil
}

func (p *peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.l.from))
}

func (p *peer) Close() error {
	p.l.closed++
	return nil
}

func TestANetworkOverItsLimitIsHungUpOn(t *testing.T) {
	s := start(t, Config{LimitConnections: 40})
	for from, want := range map[string]int{"192.0.2.1:1": 40, "[2001:db8::1]:1": 40, "127.0.0.1:1": 100} {
		p := &peers{from: from, n: 100}
		l := newDoor(p, s.gate)
		served := 0
		for {
			if _, err := l.Accept(); err != nil {
				break
			}
			served++
		}
		if served != want || p.closed != 100-want {
			t.Errorf("%s: got %d served and %d hung up on, want %d and %d", from, served, p.closed, want, 100-want)
		}
	}
}

// The count of held connections comes back to nothing, however they end.
func TestEndedConnectionsAreReleased(t *testing.T) {
	s := start(t, Config{MaxConnections: 100})
	for range 5 {
		s.do(t, "GET", "/v1/realm", nil)
		s.http.CloseIdleConnections()
		c, _ := s.dial(t, "/v1/watch")
		read(t, c)
		c.Close(websocket.StatusNormalClosure, "")
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte("nonsense\r\n\r\n"))
		io.ReadAll(conn)
		conn.Close()
	}
	s.stop()
	for _, what := range []gate.What{gate.Connection, gate.Watch, gate.Put, gate.Blob, gate.Read} {
		if got := s.gate.Held(what); got != 0 {
			t.Errorf("kind %d: got %d held after all have ended, want 0", what, got)
		}
	}
}

// Nothing that a stranger sends takes the relay down, and every answer keeps to
// the rules of the guard.
func FuzzHandler(f *testing.F) {
	r, err := New(Config{BlobMiB: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close() })
	f.Add("GET", "/v1/realm", "", "", []byte(nil))
	f.Add("POST", "/v1/blob", "", "", make([]byte, wire.BlobHeaderSize+4096))
	f.Add("DELETE", "/v1/blob/"+strings.Repeat("0", 64), "", "", make([]byte, 32))
	f.Add("GET", "/v1/watch", "https://evil.example", "gzip", []byte("x"))
	f.Add("POST", "/v1/put", "", "", make([]byte, 100))
	f.Add("GET", "/v1/../v1//realm?x=%00", "null", "", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path, origin, encoding string, body []byte) {
		if len(body) == wire.PostPutSize {
			return // its answer takes 1.5 s
		}
		req, err := http.NewRequest(method, "http://relay.example"+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		if req.RemoteAddr = "192.0.2.1:1"; origin != "" {
			req.Header.Set("Origin", origin)
		}
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, req)
		switch {
		case w.Code == 500:
			t.Errorf("got %d %q", w.Code, w.Body)
		case origin != "" && w.Code != 403, origin == "" && encoding != "" && w.Code != 415:
			t.Errorf("origin %q, encoding %q: got status %d", origin, encoding, w.Code)
		case w.Header().Get("Cache-Control") != "no-store":
			t.Errorf("got Cache-Control %q", w.Header().Get("Cache-Control"))
		}
	})
}
