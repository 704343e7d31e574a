package budget

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	server "github.com/tacet-chat/tacet/relay"
)

// bench is a relay with all that costs tokens, on loopback with its stores on
// disk, and a client that runs on one thread. What the process takes beyond that
// thread is the relay's.
type bench struct {
	b      *testing.B
	at     string
	realm  [32]byte
	tokens []token.Raw
	epoch  uint32
	parts  byte
}

// BenchmarkRelay measures what the relay's CPU pays for, without TLS:
//
//	go test ./lab/budget -run '^$' -bench Relay -benchtime 300x
//
// It reports cpu-µs/op. A token is what "park, with a token" costs beyond "park".
func BenchmarkRelay(b *testing.B) {
	n := newBench(b)
	b.Run("issue a token", func(b *testing.B) { n.issue(b) })
	b.Run("park", func(b *testing.B) { n.park(b, false) })
	b.Run("park, with a token", func(b *testing.B) { n.park(b, true) })
	b.Run("park, take, ack", func(b *testing.B) { n.cycle(b) })
	for _, size := range []int{16, 256} {
		b.Run(fmt.Sprintf("watch %d addresses, with a token", size), func(b *testing.B) { n.watch(b, size) })
	}
}

func newBench(b *testing.B) *bench {
	dir := b.TempDir()
	r, err := server.New(server.Config{
		Listen: "127.0.0.1:0", TLS: "off", Data: dir + "/data", Roles: roles(), Class: 16384,
		LimitConnections: 60_000, LimitPuts: 60_000, LimitWatches: 60_000,
	})
	if err != nil {
		b.Fatal(err)
	}
	at, err := r.Listen()
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(b.Context()) }()
	b.Cleanup(func() {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	pin := r.Fingerprint()
	t, err := relay.New(relay.Options{Name: at.String(), Pin: &pin})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	d, err := t.Descriptor(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	n := &bench{b: b, at: at.String(), realm: d.Realm, epoch: token.MemberEpoch(time.Now().Unix())}
	return n
}

// many is how many requests are under way at a time: what is spent is committed
// together.
const many = 16

// used returns the CPU time of the process and of this thread.
func used(b *testing.B) (all, mine time.Duration) {
	for _, x := range []struct {
		who int
		to  *time.Duration
	}{{syscall.RUSAGE_SELF, &all}, {1, &mine}} { // 1: RUSAGE_THREAD
		var u syscall.Rusage
		if err := syscall.Getrusage(x.who, &u); err != nil {
			b.Fatal(err)
		}
		*x.to = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all, mine
}

// spend runs f for b.N units and reports what one took of the relay's CPU.
func spend(b *testing.B, units int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	all, mine := used(b)
	b.ResetTimer()
	f()
	b.StopTimer()
	all2, mine2 := used(b)
	b.ReportMetric(float64((all2-all)-(mine2-mine))/1e3/float64(units), "cpu-µs/op")
}

// lane is one connection for requests one after the other.
type lane struct {
	b *testing.B
	c net.Conn
	r *bufio.Reader
}

func (n *bench) dial(b *testing.B) *lane {
	c, err := net.Dial("tcp", n.at)
	if err != nil {
		b.Fatal(err)
	}
	return &lane{b, c, bufio.NewReader(c)}
}

// headers presents a token for a purpose, or nothing.
func (n *bench) headers(b *testing.B, p token.Purpose, id []byte, paid bool) string {
	if !paid {
		return ""
	}
	if len(n.tokens) == 0 {
		n.buy(b)
	}
	raw := n.tokens[0]
	n.tokens = n.tokens[1:]
	x := raw.Present(token.Member, n.epoch, token.RequestHash(p, id))
	return "Tacet-Token: " + base64.RawURLEncoding.EncodeToString(x.Append(nil)) + "\r\nTacet-Context: " + base64.RawURLEncoding.EncodeToString(id) + "\r\n"
}

// post makes one request over a connection of its own, as devices do.
func (n *bench) post(b *testing.B, path, headers string, body []byte) []byte {
	l := n.dial(b)
	defer l.c.Close()
	l.send(path, headers, body)
	return l.answer()
}

func (l *lane) send(path, headers string, body []byte) {
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n%s\r\n", path, len(body), headers)
	if _, err := l.c.Write(append(head, body...)); err != nil {
		l.b.Fatal(err)
	}
}

func (l *lane) answer() []byte {
	a, err := http.ReadResponse(l.r, nil)
	if err != nil {
		l.b.Fatal(err)
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		l.b.Fatalf("got %v, %s, %s", err, a.Status, answer)
	}
	return answer
}

// ask makes the request for the next thousand tokens, with its puzzle solved.
func (n *bench) ask(b *testing.B) (*token.Batch, []byte) {
	var seed [32]byte
	rand.Read(seed[:])
	made, err := token.NewBatch(&seed, token.Member, n.epoch, n.parts)
	if err != nil {
		b.Fatal(err)
	}
	blinded := made.Blinded()
	binding := token.BuyBinding(token.Member, n.epoch, n.parts, blinded)
	ch, err := token.ParseChallenge(n.post(b, "/v1/puzzle", "", append([]byte{byte(token.PuzzleTokens)}, binding[:]...)))
	if err != nil {
		b.Fatal(err)
	}
	s, err := token.Solve(ch, binding, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	q := wire.TokenRequest{How: wire.ByPuzzle, Kind: byte(token.Member), Epoch: n.epoch, Part: n.parts, Right: s.Append(nil), Blinded: blinded}
	body, err := q.Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	n.parts = (n.parts + 1) % token.MaxParts
	return made, body
}

// buy buys a thousand tokens.
func (n *bench) buy(b *testing.B) {
	made, body := n.ask(b)
	n.tokens = n.finish(b, made, n.post(b, "/v1/token", "", body))
}

func (n *bench) finish(b *testing.B, made *token.Batch, answer []byte) []token.Raw {
	public := n.public(b)
	raws, err := made.Finish(public, answer)
	if err != nil {
		b.Fatal(err)
	}
	return raws
}

// public reads the key of today from the descriptor.
func (n *bench) public(b *testing.B) (k [32]byte) {
	t, err := relay.New(relay.Options{Name: n.at, Pin: n.pin(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	d, err := t.Descriptor(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range d.Issuers {
		if byte(i.Kind) == byte(token.Member) && uint32(i.Epoch) == n.epoch {
			return i.Key
		}
	}
	b.Fatal("the realm announces no key for today")
	return k
}

func (n *bench) pin(b *testing.B) *[32]byte {
	pin, err := relay.Identify(b.Context(), relay.Options{Name: n.at})
	if err != nil {
		b.Fatal(err)
	}
	return &pin
}

// issue has four thousands evaluated.
func (n *bench) issue(b *testing.B) {
	const parts = 4
	var bodies [][]byte
	for range parts {
		_, body := n.ask(b)
		bodies = append(bodies, body)
	}
	spend(b, parts*token.Part, func() {
		for _, body := range bodies {
			n.post(b, "/v1/token", "", body)
		}
	})
}

// owner is an address with what signs for it.
type owner struct {
	address wire.Address
	sign    func([]byte) ([]byte, error)
}

func owners(b *testing.B, n int) (all []owner) {
	for range n {
		a, sign, err := addr.Decoy(rand.Reader)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, owner{a, sign})
	}
	return all
}

// parking is the body that parks a cell for each owner.
func parking(context []byte, to []owner) []byte {
	body := bytes.Clone(context)
	for _, o := range to {
		cell := make([]byte, wire.CellSize)
		rand.Read(cell)
		body = binary.BigEndian.AppendUint16(body, 24)
		body = append(append(body, o.address[:]...), cell...)
	}
	return body
}

// park parks b.N cells in a request each; paid ones open a context each.
func (n *bench) park(b *testing.B, paid bool) {
	type request struct {
		headers string
		body    []byte
	}
	var all []request
	id := make([]byte, wire.ContextSize)
	for i := range b.N {
		if paid || i%(wire.MaxContextRows-1) == 0 {
			rand.Read(id)
			if !paid { // opened before anything is counted
				n.post(b, "/v1/park", n.headers(b, token.PutContext, id, true), parking(id, owners(b, 1)))
			}
		}
		all = append(all, request{n.headers(b, token.PutContext, id, paid), parking(id, owners(b, 1))})
	}
	lanes := make([]*lane, many)
	for i := range lanes {
		lanes[i] = n.dial(b)
		defer lanes[i].c.Close()
	}
	spend(b, b.N, func() {
		for some := range slices.Chunk(all, many) {
			for i, r := range some {
				lanes[i].send("/v1/park", r.headers, r.body)
			}
			for i := range some {
				if fate := lanes[i].answer(); fate[0] != 0 {
					b.Fatalf("got fate %d, want the cell parked", fate[0])
				}
			}
		}
	})
}

// cycle parks 16 cells for one address in a request, takes and acks them over one
// connection: b.N cells in all.
func (n *bench) cycle(b *testing.B) {
	day := addr.DayAt(time.Now().Unix())
	rounds := (b.N + 15) / 16
	type round struct {
		put, take string
		body      []byte
		set       []owner
	}
	var all []round
	for range rounds {
		id, other := make([]byte, wire.ContextSize), make([]byte, wire.ContextSize)
		rand.Read(id)
		rand.Read(other)
		set := owners(b, 16)
		to := make([]owner, 16)
		for i := range to {
			to[i] = set[0]
		}
		all = append(all, round{n.headers(b, token.PutContext, id, true), n.headers(b, token.Take, other, true), parking(id, to), set})
	}
	spend(b, 16*rounds, func() {
		for _, r := range all {
			n.post(b, "/v1/park", r.put, r.body)
			n.takeAll(b, r.take, day, r.set)
		}
	})
}

// takeAll takes the rows of a set's first address and has them deleted.
func (n *bench) takeAll(b *testing.B, headers string, day uint64, set []owner) {
	s, proof := n.socket(b, "/v1/take", headers)
	defer s.c.Close()
	proof.Period, proof.Verb = day, wire.VerbTake
	frame, err := wire.AppendTake(nil, day, signed(b, proof, set))
	if err != nil {
		b.Fatal(err)
	}
	s.write(frame)
	var rows []wire.RowID
	for {
		f := s.read()
		if wire.FrameKind(f[0]) == wire.FrameTaken {
			break
		}
		p, err := wire.ParseParked(f)
		if err != nil {
			b.Fatalf("taking: %v", err)
		}
		rows = append(rows, p.ID)
	}
	if len(rows) != 16 {
		b.Fatalf("got %d rows, want 16", len(rows))
	}
	proof.Verb, proof.Address = wire.VerbAck, set[0].address
	sig, err := set[0].sign(proof.AppendAck(nil, rows))
	if err != nil {
		b.Fatal(err)
	}
	frame, err = (&wire.ParkAck{Owned: wire.Owned{Address: set[0].address, Sig: [64]byte(sig)}, Rows: rows}).Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	s.write(frame)
	if count, err := wire.ParseAcked(s.read()); err != nil || count != 16 {
		b.Fatalf("got %d rows deleted and %v, want 16", count, err)
	}
}

// watch opens b.N watches.
func (n *bench) watch(b *testing.B, size int) {
	set := owners(b, size)
	var all []string
	for range b.N {
		id := make([]byte, wire.ContextSize)
		rand.Read(id)
		all = append(all, n.headers(b, token.Watch, id, true))
	}
	spend(b, b.N, func() {
		for _, headers := range all {
			s, proof := n.socket(b, "/v1/watch", headers)
			proof.Period, proof.Verb = addr.PeriodAt(time.Now().Unix(), 1800), wire.VerbWatch
			frame := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), wire.FlagReplay}, proof.Period)
			for _, o := range signed(b, proof, set) {
				frame = append(append(frame, o.Address[:]...), o.Sig[:]...)
			}
			s.write(frame)
			if f := s.read(); wire.FrameKind(f[0]) != wire.FrameWatched {
				b.Fatalf("got frame %#x, want that the set is watched", f[0])
			}
			s.c.Close()
		}
	})
}

func signed(b *testing.B, p wire.Proof, set []owner) (all []wire.Owned) {
	for _, o := range set {
		p.Address = o.address
		sig, err := o.sign(p.Append(nil))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, wire.Owned{Address: o.address, Sig: [64]byte(sig)})
	}
	return all
}

// socket is a WebSocket by hand: nothing of it runs beside the thread that is
// not counted.
type socket struct {
	b *testing.B
	c net.Conn
	r *bufio.Reader
}

// socket opens one and reads the greeting.
func (n *bench) socket(b *testing.B, path, headers string) (*socket, wire.Proof) {
	c, err := net.Dial("tcp", n.at)
	if err != nil {
		b.Fatal(err)
	}
	s := &socket{b, c, bufio.NewReader(c)}
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n%s\r\n", path, n.at, headers)
	a, err := http.ReadResponse(s.r, nil)
	if err != nil || a.StatusCode != http.StatusSwitchingProtocols {
		b.Fatalf("%s: %v, %v", path, err, a)
	}
	f := s.read()
	if len(f) != wire.GreetingSize {
		b.Fatal("got no greeting")
	}
	return s, wire.Proof{Realm: n.realm, Nonce: [32]byte(f[1:])}
}

// write writes one binary frame, masked with zeros.
func (s *socket) write(p []byte) {
	h := []byte{0x82, 0x80 | 126, byte(len(p) >> 8), byte(len(p)), 0, 0, 0, 0}
	if len(p) < 126 {
		h = []byte{0x82, 0x80 | byte(len(p)), 0, 0, 0, 0}
	}
	if _, err := s.c.Write(append(h, p...)); err != nil {
		s.b.Fatal(err)
	}
}

// read reads one frame.
func (s *socket) read() []byte {
	var h [2]byte
	io.ReadFull(s.r, h[:])
	size := int(h[1] & 0x7F)
	if size == 126 {
		io.ReadFull(s.r, h[:])
		size = int(binary.BigEndian.Uint16(h[:]))
	}
	p := make([]byte, size)
	if _, err := io.ReadFull(s.r, p); err != nil || size == 0 {
		s.b.Fatalf("reading a frame: %v", err)
	}
	return p
}
