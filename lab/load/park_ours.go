package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay"
)

// errCycle is returned where a cell did not come back as it was put.
var errCycle = errors.New("a cell did not come back")

// cells are bytes to put, others each time.
type cells struct {
	all  [][]byte
	dice *rand.ChaCha8
}

func newCells(n int) *cells {
	var seed [32]byte
	crand.Read(seed[:])
	c := &cells{dice: rand.NewChaCha8(seed)}
	for range n {
		c.all = append(c.all, make([]byte, wire.CellSize))
	}
	return c
}

func (c *cells) next() {
	for _, b := range c.all {
		c.dice.Read(b)
	}
}

// parkStore is our store alone, each turn with an empty one.
func parkStore(dir string) *subject {
	turn := 0
	return &subject{name: subjectStore, end: func() {}, turn: func(ctx context.Context, workers, batch int) (int64, error) {
		turn++
		at := filepath.Join(dir, fmt.Sprint("store", turn))
		if err := os.Mkdir(at, 0o700); err != nil {
			return 0, err
		}
		defer os.RemoveAll(at)
		return relay.MeasureParking(ctx, at, workers, batch)
	}}
}

// parkRelay is a whole relay in a process of its own, over sockets.
func parkRelay(data, role, profiles string) (*subject, error) {
	s, err := startRelay(relayOrder{Park: data}, role)
	if err != nil {
		return nil, err
	}
	t := s.dialect.(*tacet)
	turn := 0
	return &subject{name: subjectRelay, end: func() { s.stop() }, turn: func(ctx context.Context, workers, batch int) (int64, error) {
		turn++
		if profiles != "" {
			if err := os.MkdirAll(profiles, 0o755); err != nil {
				return 0, err
			}
			if _, err := s.state(relayOrder{Profile: filepath.Join(profiles, fmt.Sprintf("park-%d.%d.pprof", batch, turn))}); err != nil {
				return 0, err
			}
			defer s.state(relayOrder{Stop: true})
		}
		return drive(ctx, workers, batch, func() (cycler, func(), error) {
			w := &parkWorker{t: t, s: s, http: &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}}
			return w.cycle, w.end, nil
		})
	}}, nil
}

// parkWorker is one client: it parks by requests, and takes over one connection
// until that has asked for as many addresses as it may.
type parkWorker struct {
	t    *tacet
	s    *server
	http *http.Client

	owners  []ed25519.PrivateKey
	context [wire.ContextSize]byte
	parked  int // rows of the context
	asked   int // addresses of the connection

	c     net.Conn
	in    *bufio.Reader
	proof wire.Proof
}

func (w *parkWorker) end() {
	if w.c != nil {
		w.c.Close()
	}
	w.http.CloseIdleConnections()
}

func (w *parkWorker) cycle(cells [][]byte) error {
	if w.owners == nil {
		for range 16 {
			_, k, err := ed25519.GenerateKey(crand.Reader)
			if err != nil {
				return err
			}
			w.owners = append(w.owners, k)
		}
	}
	k := w.owners[w.asked%len(w.owners)]
	a := wire.Address(k.Public().(ed25519.PublicKey))
	if err := w.put(a, cells); err != nil {
		return err
	}
	rows, err := w.take(a, k)
	if err != nil || len(rows) != len(cells) {
		return fmt.Errorf("%w: %d rows of %d: %w", errCycle, len(rows), len(cells), err)
	}
	return w.ack(a, k, rows)
}

func (w *parkWorker) put(a wire.Address, cells [][]byte) error {
	if w.parked+len(cells) > wire.MaxContextRows || w.parked == 0 {
		crand.Read(w.context[:])
		w.parked = 0
	}
	w.parked += len(cells)
	items := make([]wire.ParkItem, len(cells))
	for i, c := range cells {
		items[i] = wire.ParkItem{Hours: 168, Address: a, Cell: wire.Cell(c)}
	}
	body, err := wire.AppendPark(nil, w.context, items)
	if err != nil {
		return err
	}
	res, err := w.http.Post("http://"+w.s.addr+"/v1/park", "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Equal(b, make([]byte, len(cells))) {
		return fmt.Errorf("parking: %s, %x, %w", res.Status, b, err)
	}
	return nil
}

// connect opens a take connection and reads its greeting.
func (w *parkWorker) connect() error {
	if w.c != nil {
		w.c.Close()
	}
	c, early, err := w.t.open(w.s, "/v1/take")
	if err != nil {
		return err
	}
	w.c, w.in, w.asked = c, bufio.NewReaderSize(io.MultiReader(bytes.NewReader(early), c), 64<<10), 0
	g, err := w.frame()
	if err != nil || len(g) != wire.GreetingSize {
		return fmt.Errorf("greeting: %d bytes, %w", len(g), err)
	}
	w.proof = wire.Proof{Realm: w.t.realm.Realm, Nonce: [wire.ServerNonceSize]byte(g[1:]), Period: uint64(time.Now().Unix()) / 86_400}
	return nil
}

// frame reads one frame.
func (w *parkWorker) frame() ([]byte, error) {
	for n := 2; ; {
		b, err := w.in.Peek(n)
		if err != nil {
			return nil, err
		}
		op, payload, size, err := parseFrame(b)
		switch {
		case err != nil:
			return nil, err
		case size == 0:
			if n = max(n+1, min(w.in.Buffered(), 64<<10)); n > 64<<10 {
				return nil, errFrame
			}
		case op != opBinary:
			return nil, errFrame
		default:
			p := bytes.Clone(payload)
			_, err := w.in.Discard(size)
			return p, err
		}
	}
}

func (w *parkWorker) sign(a wire.Address, k ed25519.PrivateKey, verb wire.Verb, rows []wire.RowID) wire.Owned {
	w.proof.Address, w.proof.Verb = a, verb
	return wire.Owned{Address: a, Sig: [64]byte(ed25519.Sign(k, w.proof.AppendAck(nil, rows)))}
}

func (w *parkWorker) take(a wire.Address, k ed25519.PrivateKey) (rows []wire.RowID, err error) {
	if w.c == nil || w.asked == wire.MaxTaken {
		if err := w.connect(); err != nil {
			return nil, err
		}
	}
	w.asked++
	b, err := wire.AppendTake(nil, w.proof.Period, []wire.Owned{w.sign(a, k, wire.VerbTake, nil)})
	if err != nil {
		return nil, err
	}
	if _, err := w.c.Write(appendFrame(nil, opBinary, b)); err != nil {
		return nil, err
	}
	for {
		f, err := w.frame()
		if err != nil {
			return nil, err
		}
		if _, err := wire.ParseTaken(f); err == nil {
			return rows, nil
		}
		p, err := wire.ParseParked(f)
		if err != nil {
			return nil, err
		}
		rows = append(rows, p.ID)
	}
}

func (w *parkWorker) ack(a wire.Address, k ed25519.PrivateKey, rows []wire.RowID) error {
	b, err := (&wire.ParkAck{Owned: w.sign(a, k, wire.VerbAck, rows), Rows: rows}).Append(nil)
	if err != nil {
		return err
	}
	if _, err := w.c.Write(appendFrame(nil, opBinary, b)); err != nil {
		return err
	}
	f, err := w.frame()
	if err != nil {
		return err
	}
	if n, err := wire.ParseAcked(f); err != nil || int(n) != len(rows) {
		return fmt.Errorf("%w: %d acked, %w", errCycle, n, err)
	}
	return nil
}
