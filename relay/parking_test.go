package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// owner has the secret half of a park address.
type owner struct {
	address wire.Address
	secret  ed25519.PrivateKey
}

func newOwner() owner {
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return owner{wire.Address(public), secret}
}

// cell returns random bytes for this owner.
func (o owner) cell(hours uint16) wire.ParkItem {
	it := wire.ParkItem{Hours: hours, Address: o.address}
	rand.Read(it.Cell[:])
	return it
}

// park puts items in a context of their own and wants them kept.
func (s *running) park(t *testing.T, items ...wire.ParkItem) {
	t.Helper()
	var context [16]byte
	rand.Read(context[:])
	body, err := wire.AppendPark(nil, context, items)
	if err != nil {
		t.Fatal(err)
	}
	resp, answer := s.do(t, "POST", "/v1/park", body)
	got, err := wire.ParseParkAnswer(answer, len(items))
	if resp.StatusCode != http.StatusOK || err != nil || !slices.Equal(got, make([]wire.ParkVerdict, len(items))) {
		t.Fatalf("parking: got %s, %v, %v: %s", resp.Status, got, err, answer)
	}
}

// taker is a take connection.
type taker struct {
	t     *testing.T
	ws    *websocket.Conn
	proof wire.Proof
}

func (s *running) taker(t *testing.T) *taker {
	t.Helper()
	k := &taker{t: t, proof: wire.Proof{Realm: s.public, Period: uint64(time.Now().Unix()) / 86_400}}
	var state *tls.ConnectionState
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if c, ok := c.Conn.(*tls.Conn); ok {
			st := c.ConnectionState()
			state = &st
		}
	}})
	var err error
	k.ws, _, err = websocket.Dial(ctx, s.url+"/v1/take", &websocket.DialOptions{HTTPClient: s.http, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.ws.CloseNow() })
	k.ws.SetReadLimit(wire.MaxFrame)
	if state != nil {
		b, err := state.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
		if err != nil {
			t.Fatal(err)
		}
		copy(k.proof.Binding[:], b)
	}
	greeting := k.read()
	if len(greeting) != wire.GreetingSize || wire.FrameKind(greeting[0]) != wire.FrameGreeting {
		t.Fatalf("got a greeting of %d bytes", len(greeting))
	}
	copy(k.proof.Nonce[:], greeting[1:])
	return k
}

func (k *taker) read() []byte {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	_, b, err := k.ws.Read(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	return b
}

func (k *taker) write(b []byte) {
	k.t.Helper()
	if err := k.ws.Write(k.t.Context(), websocket.MessageBinary, b); err != nil {
		k.t.Fatal(err)
	}
}

func (k *taker) own(o owner, verb wire.Verb, rows ...wire.RowID) wire.Owned {
	k.proof.Address, k.proof.Verb = o.address, verb
	return wire.Owned{Address: o.address, Sig: [64]byte(ed25519.Sign(o.secret, k.proof.AppendAck(nil, rows)))}
}

func (k *taker) ask(owners ...owner) {
	k.t.Helper()
	var all []wire.Owned
	for _, o := range owners {
		all = append(all, k.own(o, wire.VerbTake))
	}
	b, err := wire.AppendTake(nil, k.proof.Period, all)
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(b)
}

// take asks for owners and returns all that comes until the end of it.
func (k *taker) take(owners ...owner) (rows []wire.Parked) {
	k.t.Helper()
	k.ask(owners...)
	for {
		b := k.read()
		if n, err := wire.ParseTaken(b); err == nil {
			if int(n) != len(owners) {
				k.t.Errorf("taken: got %d addresses, want %d", n, len(owners))
			}
			return rows
		}
		p, err := wire.ParseParked(b)
		if err != nil {
			k.t.Fatalf("got a frame of kind %d and %d bytes", b[0], len(b))
		}
		rows = append(rows, p)
	}
}

func (k *taker) ack(o owner, rows ...wire.RowID) {
	k.t.Helper()
	a := wire.ParkAck{Owned: k.own(o, wire.VerbAck, rows...), Rows: rows}
	b, err := a.Append(nil)
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(b)
	if n, err := wire.ParseAcked(k.read()); err != nil || int(n) != len(rows) {
		k.t.Errorf("acked: got %d, %v, want %d", n, err, len(rows))
	}
}

// wantCells wants these cells, in any order.
func wantCells(t *testing.T, got []wire.Parked, want ...wire.ParkItem) {
	t.Helper()
	have := map[wire.Cell]int{}
	for _, p := range got {
		have[p.Cell]++
	}
	for _, it := range want {
		if have[it.Cell] != 1 {
			t.Errorf("got a cell %d times, want once", have[it.Cell])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d cells, want %d", len(got), len(want))
	}
}

// parker is the configuration of a relay that parks.
func parker(dir string) Config {
	return Config{Data: dir, Roles: []string{RoleLive, RolePark}}
}

func TestParkedCellsWaitForTheirOwner(t *testing.T) {
	for name, cfg := range map[string]Config{
		"in memory": parker(""), "on disk": parker(filepath.Join(t.TempDir(), "data")),
		"on disk, by TLS": {Data: filepath.Join(t.TempDir(), "data"), Roles: []string{RolePark}, TLS: "on"},
	} {
		t.Run(name, func(t *testing.T) {
			s, o, other := start(t, cfg), newOwner(), newOwner()
			var cells []wire.ParkItem
			for range 150 {
				cells = append(cells, o.cell(168))
			}
			for c := range slices.Chunk(cells, wire.MaxParkItems) {
				s.park(t, c...)
			}
			foreign := other.cell(1)
			s.park(t, foreign)
			s.park(t, cells[0]) // once more
			k := s.taker(t)
			wantCells(t, k.take(newOwner()))
			rows := k.take(o, newOwner(), other)
			wantCells(t, rows, append(slices.Clone(cells), foreign)...)
			var mine []wire.RowID
			for _, p := range rows {
				if p.Address == o.address {
					mine = append(mine, p.ID)
				}
			}
			for c := range slices.Chunk(mine, wire.MaxAckRows) {
				k.ack(o, c...)
			}
			wantCells(t, s.taker(t).take(o, other), foreign)
			k.ack(o, mine[0]) // again: it is gone all the same
			if cfg.Data == "" {
				return
			}
			s.stop()
			cfg := cfg
			s = start(t, cfg)
			wantCells(t, s.taker(t).take(o, other), foreign)
		})
	}
}

// A client may ack while rows still come, and ask for more before it has all.
func TestAcksAndTakesMayOverlap(t *testing.T) {
	s, a, b := start(t, parker("")), newOwner(), newOwner()
	var cells []wire.ParkItem
	for range 300 {
		cells = append(cells, a.cell(168))
	}
	last := b.cell(168)
	for c := range slices.Chunk(append(slices.Clone(cells), last), wire.MaxParkItems) {
		s.park(t, c...)
	}
	k := s.taker(t)
	k.ask(a)
	k.ask(b)
	var got []wire.Parked
	acks, taken := 0, 0
	for taken < 2 || acks > 0 {
		f := k.read()
		switch wire.FrameKind(f[0]) {
		case wire.FrameTaken:
			taken++
		case wire.FrameAcked:
			acks--
		default:
			p, err := wire.ParseParked(f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
			if len(got)%50 == 0 {
				a := wire.ParkAck{Owned: k.own(a, wire.VerbAck, p.ID), Rows: []wire.RowID{p.ID}}
				b, _ := a.Append(nil)
				k.write(b)
				acks++
			}
		}
	}
	wantCells(t, got, append(cells, last)...)
	if left := len(s.taker(t).take(a)); left != 294 {
		t.Errorf("got %d rows after six acks, want 294", left)
	}
}

func TestTakesAreRefused(t *testing.T) {
	s, o := start(t, parker("")), newOwner()
	s.park(t, o.cell(168))
	today := uint64(time.Now().Unix()) / 86_400
	ask := func(k *taker, day uint64, verb wire.Verb) {
		k.proof.Period = day
		b, _ := wire.AppendTake(nil, day, []wire.Owned{k.own(o, verb)})
		k.write(b)
	}
	for name, c := range map[string]struct {
		do   func(k *taker)
		want wire.Reason
	}{
		"another's address": {func(k *taker) {
			owned := k.own(newOwner(), wire.VerbTake)
			owned.Address = o.address
			b, _ := wire.AppendTake(nil, k.proof.Period, []wire.Owned{owned})
			k.write(b)
		}, wire.ReasonProof},
		"a proof to watch":      {func(k *taker) { ask(k, today, wire.VerbWatch) }, wire.ReasonProof},
		"a proof to ack":        {func(k *taker) { ask(k, today, wire.VerbAck) }, wire.ReasonProof},
		"of another connection": {func(k *taker) { k.proof.Nonce[0]++; ask(k, today, wire.VerbTake) }, wire.ReasonProof},
		"of another realm":      {func(k *taker) { k.proof.Realm[0]++; ask(k, today, wire.VerbTake) }, wire.ReasonProof},
		"long ago":              {func(k *taker) { ask(k, today-63, wire.VerbTake) }, wire.ReasonPeriod},
		"in two days":           {func(k *taker) { ask(k, today+3, wire.VerbTake) }, wire.ReasonPeriod},
		"day 0":                 {func(k *taker) { ask(k, 0, wire.VerbTake) }, wire.ReasonPeriod},
		"two days":              {func(k *taker) { k.take(o); ask(k, today-1, wire.VerbTake) }, wire.ReasonPeriod},
		"an ack before": {func(k *taker) {
			k.write(must((&wire.ParkAck{Owned: k.own(o, wire.VerbAck, wire.RowID{}), Rows: []wire.RowID{{}}}).Append(nil)))
		}, wire.ReasonPeriod},
		"an ack of others": {func(k *taker) {
			id := k.take(o)[0].ID
			k.write(must((&wire.ParkAck{Owned: k.own(o, wire.VerbAck, wire.RowID{}), Rows: []wire.RowID{id}}).Append(nil)))
		}, wire.ReasonProof},
		"an ack with a proof to take": {func(k *taker) {
			id := k.take(o)[0].ID
			k.write(must((&wire.ParkAck{Owned: k.own(o, wire.VerbTake, id), Rows: []wire.RowID{id}}).Append(nil)))
		}, wire.ReasonProof},
		"a watch frame": {func(k *taker) { k.write([]byte{byte(wire.FrameWatch), 0}) }, wire.ReasonFrame},
		"nothing":       {func(k *taker) { k.write(nil) }, wire.ReasonFrame},
		"a broken ack":  {func(k *taker) { k.write([]byte{byte(wire.FrameParkAck)}) }, wire.ReasonFrame},
	} {
		k := s.taker(t)
		c.do(k)
		if got := k.read(); len(got) != 2 || wire.FrameKind(got[0]) != wire.FrameRefused || wire.Reason(got[1]) != c.want {
			t.Errorf("%s: got %x, want it refused: %v", name, got[:min(2, len(got))], c.want)
		}
		if _, _, err := k.ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: got %v, want a close frame with 1008", name, err)
		}
	}
	for day := today - 61; day <= today+1; day++ { // and these are given
		k := s.taker(t)
		ask(k, day, wire.VerbTake)
		if p, err := wire.ParseParked(k.read()); err != nil || p.Address != o.address {
			t.Errorf("day %d: got %v", int64(day)-int64(today), err)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// A proof that was made on one TLS connection is worth nothing on another, also
// to whoever passes the nonce on.
func TestTakesAreBoundToTLS(t *testing.T) {
	s, o := start(t, Config{Data: "", Roles: []string{RolePark}, TLS: "on"}), newOwner()
	s.park(t, o.cell(168))
	k := s.taker(t)
	k.proof.Binding[0]++
	k.ask(o)
	if got := k.read(); !bytes.Equal(got, []byte{byte(wire.FrameRefused), byte(wire.ReasonProof)}) {
		t.Errorf("another binding: got %x, want it refused", got[:min(2, len(got))])
	}
	if got := len(s.taker(t).take(o)); got != 1 {
		t.Errorf("its own binding: got %d rows, want 1", got)
	}
}

func TestParkIsARole(t *testing.T) {
	bare := start(t, Config{Data: "", Roles: []string{RoleLive, RoleBlob}})
	for method, path := range map[string]string{"POST": "/v1/park", "GET": "/v1/take"} {
		if resp, _ := bare.do(t, method, path, nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s without the role: got %s, want 404", path, resp.Status)
		}
	}
	d, _, _, err := wire.ParseDescriptor(bare.descriptor.Load().signed)
	if err != nil || d.Has(wire.RolePark) || d.ParkHours != 0 {
		t.Errorf("without the role: got %v, %d hours, %v", d.Roles, d.ParkHours, err)
	}
	cfg := parker("")
	cfg.ParkDays = 3
	d, _, _, err = wire.ParseDescriptor(start(t, cfg).descriptor.Load().signed)
	if err != nil || !d.Has(wire.RolePark) || d.ParkHours != 72 {
		t.Errorf("with the role: got %v, %d hours, %v, want 72", d.Roles, d.ParkHours, err)
	}
}

func TestParkStoresThatCannotBeUsedSayWhatToDo(t *testing.T) {
	var p *Problem
	dir := filepath.Join(t.TempDir(), "data")
	cfg := parker(dir)
	s := start(t, cfg)
	if _, err := New(cfg); !errors.Is(err, ErrLocked) || !errors.As(err, &p) {
		t.Errorf("two relays on one directory: got %v, want %v with a hint", err, ErrLocked)
	}
	s.stop()
	path := filepath.Join(dir, parkFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := slices.Clone(whole)
	newer[63]++ // user_version
	for name, c := range map[string]struct {
		file []byte
		want error
		hint string
	}{
		"newer":   {newer, sqlite.ErrNewer, "newer version"},
		"cut":     {whole[:len(whole)/2], ErrDamaged, "no message is"},
		"foreign": {append([]byte("something else"), whole...), ErrForeign, "another program"},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(cfg)
		if !errors.Is(err, c.want) || !errors.As(err, &p) || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("%s: got %v with hint %v, want %v", name, err, p, c.want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	start(t, cfg)
}

// No take connection keeps the relay from stopping.
func TestTakersDoNotHoldUpTheEnd(t *testing.T) {
	s, o := start(t, parker("")), newOwner()
	var cells []wire.ParkItem
	for range 900 {
		cells = append(cells, o.cell(168))
	}
	for c := range slices.Chunk(cells, wire.MaxParkItems) {
		s.park(t, c...)
	}
	s.taker(t)
	k := s.taker(t)
	k.ask(o) // and reads nothing
	nc, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s.stop()
}

// insecure is how these tests reach a relay whose key they do not pin.
func insecure() *http.Transport {
	return &http.Transport{DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}
