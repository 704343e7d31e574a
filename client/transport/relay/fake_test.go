package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// fake is a relay for tests: it does what docs/spec/relay-api.md says, or what a
// test puts in the place of a call. It is reached through pipes inside the
// process, so that its time can be virtual.
type fake struct {
	t          *testing.T
	name       string
	realm      key.Sign
	time       key.Sign
	receipts   key.Sign
	descriptor wire.Descriptor
	chain      []*x509.Certificate // [leaf, realm], to be replaced by tests
	leafKey    ed25519.PrivateKey
	newest     uint16 // TLS version that is spoken, 0 for all
	stop       context.Context

	mu       sync.Mutex
	instead  map[string]http.HandlerFunc // by path
	requests map[string]int
	watched  map[wire.Address]map[*fakeWatch]bool
	window   []fakeCell
	began    time.Time
	blobs    map[wire.BlobID]wire.BlobPut
	accept   chan net.Conn
	unders   map[*websocket.Conn]*under
}

type fakeCell struct {
	at      time.Time
	address wire.Address
	cell    wire.Cell
	put     *fakePut
}

type fakePut struct {
	at   time.Time
	seen map[*fakeWatch]bool
}

type fakeWatch struct {
	ws     *websocket.Conn
	set    map[wire.Address]bool
	copies []*fakePut
	out    chan []byte
}

func newSign() key.Sign {
	s, err := key.Generate[key.SignRole](rand.Reader)
	if err != nil {
		panic(err)
	}
	return s
}

// newFake starts a relay of that name: a loopback name means no TLS.
func newFake(t *testing.T, name string) *fake {
	f := &fake{
		t: t, name: name, realm: newSign(), time: newSign(), receipts: newSign(),
		instead: map[string]http.HandlerFunc{}, requests: map[string]int{},
		watched: map[wire.Address]map[*fakeWatch]bool{}, blobs: map[wire.BlobID]wire.BlobPut{},
		began: time.Now(), accept: make(chan net.Conn), unders: map[*websocket.Conn]*under{},
	}
	f.descriptor = wire.Descriptor{
		Version: 1, Realm: key.SignPublicOf(f.realm), Time: key.SignPublicOf(f.time), Receipts: key.SignPublicOf(f.receipts),
		Period: 1800, Ping: 60, Binding: !f.plain(), Roles: []string{"live", "blob"}, WindowSec: 60, WindowMax: 1 << 20,
		BlobMax: wire.MaxBlob, BlobDays: 30, Gate: "open",
	}
	f.chain = f.newChain(f.realm, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	stop, cancel := context.WithCancel(context.Background())
	f.stop = stop
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/realm", f.serveRealm)
	mux.HandleFunc("/v1/put", f.servePut)
	mux.HandleFunc("/v1/watch", f.serveWatch)
	mux.HandleFunc("/v1/blob", f.servePutBlob)
	mux.HandleFunc("/v1/blob/", f.serveBlob)
	server := &http.Server{Handler: f.counted(mux), ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { server.Serve(f); close(served) }()
	t.Cleanup(func() { cancel(); server.Close(); <-served })
	return f
}

func (f *fake) plain() bool { return f.name == "localhost" }

func (f *fake) pin() *[32]byte {
	p := sha256.Sum256(f.descriptor.Realm[:])
	return &p
}

// options returns options for this relay, dialled by d or without ado.
func (f *fake) options(d relay.Dialer) relay.Options {
	if d == nil {
		d = f.dial
	}
	return relay.Options{Name: f.name, Pin: f.pin(), Dial: d}
}

// join returns a client of this relay.
func (f *fake) join() *relay.Relay {
	r, err := relay.New(f.options(nil))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { r.Close() })
	return r
}

// replace serves a path in another way from now on; nil is as before.
func (f *fake) replace(path string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead[path] = h
}

// asked returns how often a path was asked for.
func (f *fake) asked(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[path]
}

func (f *fake) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ua, cookie := r.Header["User-Agent"], r.Header["Cookie"]; ua != nil || cookie != nil || r.Header["Origin"] != nil {
			f.t.Errorf("got headers that tell something: %v %v", ua, cookie)
		}
		if enc := r.Header["Accept-Encoding"]; enc != nil || r.Header["Sec-Websocket-Extensions"] != nil {
			f.t.Errorf("got a wish for compression: %v", enc)
		}
		f.mu.Lock()
		f.requests[r.URL.Path]++
		h := f.instead[r.URL.Path]
		f.mu.Unlock()
		if h != nil {
			h(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// dial is a relay.Dialer; the relay takes the other end.
func (f *fake) dial(ctx context.Context, _, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case f.accept <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.stop.Done():
		return nil, errors.New("nobody listens")
	}
}

// Accept, Close and Addr make a net.Listener.
func (f *fake) Accept() (net.Conn, error) {
	select {
	case c := <-f.accept:
		if f.plain() {
			return c, nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		var raw [][]byte
		for _, cert := range f.chain {
			raw = append(raw, cert.Raw)
		}
		return tls.Server(c, &tls.Config{
			MaxVersion: f.newest, SessionTicketsDisabled: true,
			Certificates: []tls.Certificate{{Certificate: raw, PrivateKey: f.leafKey}},
		}), nil
	case <-f.stop.Done():
		return nil, net.ErrClosed
	}
}
func (f *fake) Close() error   { return nil }
func (f *fake) Addr() net.Addr { return &net.TCPAddr{} }

// newChain makes the two certificates of a realm and a key for the leaf.
func (f *fake) newChain(realm key.Sign, from, to time.Time) []*x509.Certificate {
	private := ed25519.NewKeyFromSeed(realm.Bytes())
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caCert := f.sign(ca, ca, private.Public(), private)
	public, leafKey, _ := ed25519.GenerateKey(rand.Reader)
	f.leafKey = leafKey
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	return []*x509.Certificate{f.sign(leaf, caCert, public, private), caCert}
}

func (f *fake) sign(c, parent *x509.Certificate, public any, private any) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, private)
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// signed returns a descriptor as served, signed by the realm key.
func (f *fake) signed(d wire.Descriptor) []byte {
	body := d.Encode()
	return wire.AppendSigned(nil, key.SignMessage(f.realm, wire.LabelDescriptor, body), body)
}

func (f *fake) serveRealm(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Write(f.signed(f.descriptor))
}

// second returns the signed second of a time.
func (f *fake) second(t time.Time) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix()))
	sig := key.SignMessage(f.time, wire.LabelSecond, b)
	return append(b, sig[:]...)
}

// hijacked lets a test see the connection under a WebSocket.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = c
	return c, rw, err
}

// under is what there is of a WebSocket beside itself.
type under struct {
	conn  net.Conn
	pongs chan []byte
}

// upgrade opens a WebSocket that ends with the relay.
func (f *fake) upgrade(w http.ResponseWriter, r *http.Request) *websocket.Conn {
	h := &hijacked{ResponseWriter: w}
	u := &under{pongs: make(chan []byte, 1)}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		OnPongReceived: func(_ context.Context, b []byte) { u.pongs <- slices.Clone(b) },
	})
	if err != nil {
		f.t.Errorf("got error %v, want a WebSocket", err)
		panic(http.ErrAbortHandler)
	}
	ws.SetReadLimit(wire.MaxFrame)
	u.conn = h.conn
	f.mu.Lock()
	f.unders[ws] = u
	f.mu.Unlock()
	context.AfterFunc(f.stop, func() { ws.CloseNow() })
	return ws
}

// ping sends a ping with that payload and waits for the pong, while somebody
// reads. The library lets nobody choose a payload, so the frame is made here.
func (f *fake) ping(ws *websocket.Conn, payload []byte) error {
	f.mu.Lock()
	u := f.unders[ws]
	f.mu.Unlock()
	if _, err := u.conn.Write(append([]byte{0x89, byte(len(payload))}, payload...)); err != nil {
		return err
	}
	select {
	case b := <-u.pongs:
		if !bytes.Equal(b, payload) {
			return errors.New("another payload")
		}
		return nil
	case <-time.After(wire.PongWithin):
		return errors.New("no pong")
	case <-f.stop.Done():
		return net.ErrClosed
	}
}

func (f *fake) servePut(w http.ResponseWriter, r *http.Request) {
	ws := f.upgrade(w, r)
	defer ws.CloseNow()
	for {
		_, b, err := ws.Read(f.stop)
		if err != nil {
			return
		}
		if len(b) == 0 || len(b)%wire.PutSize != 0 || len(b) > wire.MaxFrame {
			f.t.Errorf("got a put message of %d bytes", len(b))
			return
		}
		var puts []*fakePut
		var ids [][8]byte
		for ; len(b) > 0; b = b[wire.PutSize:] {
			ids = append(ids, [8]byte(b))
			puts = append(puts, f.put(wire.Address(b[8:]), wire.Cell(b[40:])))
		}
		time.AfterFunc(wire.AnswerAfter, func() {
			f.mu.Lock()
			var out []byte
			for i, p := range puts {
				out = wire.Answer{ID: ids[i], Delivered: uint16(len(p.seen)), Complete: true}.Append(out)
			}
			f.mu.Unlock()
			ws.Write(f.stop, websocket.MessageBinary, out)
		})
	}
}

// put copies a cell to all who watch.
func (f *fake) put(a wire.Address, c wire.Cell) *fakePut {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fakePut{at: time.Now(), seen: map[*fakeWatch]bool{}}
	f.window = append(f.window, fakeCell{p.at, a, c, p})
	for w := range f.watched[a] {
		w.copy(a, c, p)
	}
	return p
}

// copy queues a cell for one watch. The caller holds the lock.
func (w *fakeWatch) copy(a wire.Address, c wire.Cell, p *fakePut) {
	b := []byte{byte(wire.FrameDeliver)}
	b = binary.BigEndian.AppendUint64(b, uint64(len(w.copies)))
	w.copies = append(w.copies, p)
	b = append(append(b, a[:]...), c[:]...)
	select {
	case w.out <- b:
	default:
		w.ws.CloseNow()
	}
}

func (f *fake) serveWatch(w http.ResponseWriter, r *http.Request) {
	ws := f.upgrade(w, r)
	fw := &fakeWatch{ws: ws, set: map[wire.Address]bool{}, out: make(chan []byte, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range fw.out {
			ws.Write(f.stop, websocket.MessageBinary, b)
		}
		ws.CloseNow()
	}()
	defer func() {
		f.mu.Lock()
		for a := range fw.set {
			delete(f.watched[a], fw)
		}
		close(fw.out)
		f.mu.Unlock()
		<-done
	}()
	proof := wire.Proof{Realm: f.descriptor.Realm, Verb: wire.VerbWatch}
	rand.Read(proof.Nonce[:])
	if f.descriptor.Binding {
		b, err := r.TLS.ExportKeyingMaterial(wire.ExporterLabel, nil, 32)
		if err != nil {
			f.t.Error(err)
			return
		}
		proof.Binding = [32]byte(b)
	}
	fw.out <- append(append([]byte{byte(wire.FrameGreeting)}, proof.Nonce[:]...), f.second(time.Now())...)
	for {
		_, b, err := ws.Read(f.stop)
		if err != nil {
			return
		}
		if reason := f.frame(fw, proof, b); reason != 0 {
			fw.out <- []byte{byte(wire.FrameRefused), byte(reason)}
			return
		}
	}
}

// frame handles a frame of a watch connection.
func (f *fake) frame(fw *fakeWatch, proof wire.Proof, b []byte) wire.Reason {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(b) > 1 && wire.FrameKind(b[0]) == wire.FrameEcho {
		for b = b[1:]; len(b) > 0; b = b[8:] {
			if n := binary.BigEndian.Uint64(b); n < uint64(len(fw.copies)) && time.Since(fw.copies[n].at) < wire.EchoWithin {
				fw.copies[n].seen[fw] = true
			}
		}
		return 0
	}
	if len(b) <= wire.WatchHeader || wire.FrameKind(b[0]) != wire.FrameWatch || len(b) > wire.WatchHeader+wire.MaxWatch*wire.ProofSize {
		return wire.ReasonFrame
	}
	replay := b[1] == wire.FlagReplay
	proof.Period = binary.BigEndian.Uint64(b[2:])
	if now := uint64(time.Now().Unix()) / f.descriptor.Period; proof.Period > now+1 || proof.Period+1 < now {
		return wire.ReasonPeriod
	}
	asked := map[wire.Address]bool{}
	for b = b[wire.WatchHeader:]; len(b) > 0; b = b[wire.ProofSize:] {
		proof.Address = wire.Address(b)
		if !ed25519.Verify(proof.Address[:], proof.Append(nil), b[32:96]) {
			return wire.ReasonProof
		}
		asked[proof.Address], fw.set[proof.Address] = true, true
	}
	if len(fw.set) > wire.MaxWatched {
		return wire.ReasonLimit
	}
	for a := range asked {
		if f.watched[a] == nil {
			f.watched[a] = map[*fakeWatch]bool{}
		}
		f.watched[a][fw] = true
	}
	reach := uint32(0)
	if replay {
		reach = uint32(min(time.Since(f.began), wire.WindowSpan) / time.Second)
		for _, c := range f.window {
			if asked[c.address] && time.Since(c.at) < wire.WindowSpan {
				fw.copy(c.address, c.cell, c.put)
			}
		}
	}
	out := binary.BigEndian.AppendUint16([]byte{byte(wire.FrameWatched)}, uint16(len(fw.set)))
	fw.out <- binary.BigEndian.AppendUint32(out, reach)
	return 0
}

// receipt signs a receipt.
func (f *fake) receipt(id wire.BlobID, content []byte) []byte {
	r := wire.Receipt{ID: id, Hash: sha256.Sum256(content)}
	r.Sig = key.SignMessage(f.receipts, wire.LabelReceipt, r.ID[:], r.Hash[:])
	return r.Append(nil)
}

func (f *fake) servePutBlob(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, wire.MaxBlob+wire.BlobHeaderSize+1))
	p, err := wire.ParseBlobPut(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old, ok := f.blobs[p.ID]; !ok {
		f.blobs[p.ID] = p
	} else if string(old.Content) != string(p.Content) {
		w.WriteHeader(http.StatusConflict)
		p = old
	}
	w.Write(f.receipt(p.ID, p.Content))
}

func (f *fake) serveBlob(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, _ := hex.DecodeString(r.URL.Path[len("/v1/blob/"):])
	p, ok := f.blobs[wire.BlobID(id)]
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		w.Header().Set("Tacet-Receipt", hex.EncodeToString(f.receipt(p.ID, p.Content)))
		w.Write(p.Content)
	default:
		capability, _ := io.ReadAll(r.Body)
		if key.Hash(wire.LabelCapability, capability) != p.Capability {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		delete(f.blobs, p.ID)
		w.WriteHeader(http.StatusNoContent)
	}
}
