package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// childEnv has the data directory of a relay in a process of its own.
const childEnv = "TACET_TEST_PARKING_RELAY"

// TestParkingRelay is no test: it is the relay of TestDeletedMeansGone. It says
// where it listens, and obeys: "sweep" does what the relay does every five
// minutes, "ahead N" moves its clock by hours.
func TestParkingRelay(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return
	}
	var ahead atomic.Int64
	cfg := parker(dir)
	cfg.TLS = os.Getenv(childEnv + "_TLS")
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := start(t, cfg)
	fmt.Println("at", s.url, "key", fmt.Sprintf("%x", s.public[:]))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var hours int64
		if n, _ := fmt.Sscanf(in.Text(), "ahead %d", &hours); n == 1 {
			ahead.Store(hours * int64(time.Hour))
		} else if _, err := s.parked.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		fmt.Println("done")
	}
}

// childRelay is such a relay, seen from outside.
type childRelay struct {
	*running
	pid int
	in  io.Writer
	say func(string)
	// kill ends it as SIGKILL does.
	kill func()
}

func startChild(t *testing.T, dir, tls string) childRelay {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestParkingRelay$", "-test.v")
	c.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_TLS="+tls)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		err := c.Wait()
		if killed := ctx.Err() != nil; err != nil && !killed {
			t.Errorf("the relay's process: %v", err)
		}
		cancel()
	})
	lines := bufio.NewScanner(out)
	hear := func(what string) string {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), what) {
				return lines.Text()
			}
		}
		t.Fatalf("the relay's process ended before it said %q", what)
		return ""
	}
	r := childRelay{running: &running{Relay: &Relay{}, http: &http.Client{Transport: insecure(), Timeout: time.Minute}}, pid: c.Process.Pid}
	var public []byte
	if _, err := fmt.Sscanf(hear("at "), "at %s key %x", &r.url, &public); err != nil {
		t.Fatal(err)
	}
	copy(r.public[:], public)
	r.in = in
	r.kill = func() {
		c.Process.Kill()
		c.Wait()
		cancel()
	}
	r.say = func(what string) {
		fmt.Fprintln(in, what)
		hear("done")
	}
	return r
}

// pieces cuts bytes into two, of which a hunt looks for the halves as well: any
// 320 bytes or more of a cell that were left where it was. Up to 256 may be left
// where a thread was interrupted while it copied: what its registers held.
func pieces(what string, b []byte) []hunt.Needle {
	return []hunt.Needle{{What: what + ", first part", Bytes: b[:640]}, {What: what + ", second part", Bytes: b[640:]}}
}

// search hunts in the folder and in the memory of a process, and returns how
// often it found each sort of needle, by its first word, in each.
func search(t *testing.T, pid int, dir string, needles ...[]hunt.Needle) (folder, memory map[string]int) {
	t.Helper()
	folder, memory = map[string]int{}, map[string]int{}
	for _, sort := range needles {
		word, _, _ := strings.Cut(sort[0].What, " ")
		in := func(found map[string]int, look func(h *hunt.Hunt) error) {
			h, err := hunt.New(sort)
			if err == nil {
				err = look(h)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Hits) > 0 {
				found[word] = len(h.Hits)
			}
		}
		in(folder, func(h *hunt.Hunt) error { return h.Tree(os.DirFS(dir)) })
		in(memory, func(h *hunt.Hunt) error {
			return processMemory(pid, func(b []byte) { h.Search("memory", b) })
		})
	}
	return folder, memory
}

// inside reads what a store keeps out of a copy of its files: the bodies of an
// address, and the keys of all epochs.
func inside(t *testing.T, dir string, a wire.Address) (bodies, keys [][]byte) {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{parkFile, parkFile + "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite3.Open(filepath.Join(to, parkFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for sql, all := range map[string]*[][]byte{"SELECT body FROM parked WHERE address = ?": &bodies, "SELECT secret FROM epoch WHERE day <> 0": &keys} {
		q, _, err := db.Prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
		if all == &bodies {
			if err := q.BindBlob(1, a[:]); err != nil {
				t.Fatal(err)
			}
		}
		for q.Step() {
			*all = append(*all, q.ColumnBlob(0, nil))
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return bodies, keys
}

// TestDeletedMeansGone looks for cells, as they came and as they were stored, and
// for the key of their epoch, in the folder and in the memory of a relay's
// process: before, where they must be found, and after acks, sweeps and the end
// of the epoch, where they must not.
//
// spec: park.md#what-a-relay-keeps
func TestDeletedMeansGone(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it searches the memory of a process again and again; not with -short")
	}
	all := []string{"on"}
	if os.Getenv("TACET_LONG") != "" {
		all = append(all, "auto") // plain HTTP on loopback
	}
	for _, tls := range all {
		t.Run("tls="+tls, func(t *testing.T) { deletedMeansGone(t, tls) })
	}
}

func deletedMeansGone(t *testing.T, tls string) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startChild(t, dir, tls)
	o, stays := newOwner(), newOwner()
	var cells []wire.ParkItem
	for range 32 {
		cells = append(cells, o.cell(168))
	}
	for c := range slices.Chunk(cells, wire.MaxParkItems) {
		s.park(t, c...)
	}
	swept := stays.cell(100) // goes by a sweep, in another epoch
	s.park(t, swept)
	bodies, keys := inside(t, dir, o.address)
	if len(bodies) != 32 || len(keys) != 2 {
		t.Fatalf("got %d bodies and %d keys, want 32 and 2", len(bodies), len(keys))
	}
	var plain, sealed, secrets []hunt.Needle
	for i, it := range cells {
		plain = append(plain, pieces(fmt.Sprintf("plain cell %d", i), it.Cell[:])...)
		sealed = append(sealed, pieces(fmt.Sprintf("sealed cell %d", i), bodies[i])...)
	}
	for i, k := range keys {
		secrets = append(secrets, hunt.Needle{What: fmt.Sprintf("key %d", i), Bytes: k})
	}
	// The control: what is there is found. A cell in plain is in memory while it
	// is on its way to somebody who does not read.
	stuck := s.taker(t)
	frame, err := wire.AppendTake(nil, stuck.proof.Period, []wire.Owned{stuck.own(o, wire.VerbTake)})
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		for range wire.MaxTaken { // until the socket is full and the relay waits with a page
			if stuck.ws.Write(t.Context(), websocket.MessageBinary, frame) != nil {
				return
			}
		}
	})
	inMemory := map[string]int{}
	for patience := time.Now().Add(time.Minute); inMemory["plain"] == 0; {
		if _, inMemory = search(t, s.pid, dir, plain); time.Now().After(patience) {
			t.Fatal("before: found no cell in plain in memory, want one on its way")
		}
	}
	folder, memory := search(t, s.pid, dir, plain, sealed, secrets)
	if folder["sealed"] == 0 || folder["key"] == 0 {
		t.Errorf("before: the folder has %v, want sealed cells and keys", folder)
	}
	if memory["sealed"] == 0 || memory["key"] == 0 {
		t.Errorf("before: memory has %v, want sealed cells and keys", memory)
	}
	stuck.ws.CloseNow()
	asking.Wait()

	k := s.taker(t)
	var ids []wire.RowID
	for _, p := range k.take(o) {
		ids = append(ids, p.ID)
	}
	for c := range slices.Chunk(ids, wire.MaxAckRows) {
		k.ack(o, c...)
	}
	k.ws.CloseNow()
	s.http.CloseIdleConnections()
	s.say("sweep")
	folder, memory = search(t, s.pid, dir, plain, sealed, secrets)
	if folder["plain"] != 0 || folder["sealed"] != 0 || folder["key"] == 0 {
		t.Errorf("after the acks: the folder has %v, want the keys of what stays", folder)
	}
	if memory["plain"] != 0 || memory["sealed"] != 0 {
		t.Errorf("after the acks: memory has %v, want no cell", memory)
	}

	stayed, _ := inside(t, dir, stays.address)
	if len(stayed) != 1 {
		t.Fatalf("got %d bodies that stay, want 1", len(stayed))
	}
	plain, sealed = append(plain, pieces("plain cell that stayed", swept.Cell[:])...), append(sealed, pieces("sealed cell that stayed", stayed[0])...)
	s.say("ahead 216") // past its expiry and the end of both epochs
	s.say("sweep")
	folder, memory = search(t, s.pid, dir, plain, sealed, secrets)
	if len(folder) != 0 || len(memory) != 0 {
		t.Errorf("after the epochs: the folder has %v, memory %v, want nothing", folder, memory)
	}
	// And the relay goes on.
	again := o.cell(168)
	s.park(t, again)
	wantCells(t, s.taker(t).take(o), again)
}

// A relay that is killed has what it answered for, and has not what it said was
// gone; one that is killed in a sweep goes on with it.
func TestKilledRelaysKeepTheirWord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, o := startChild(t, dir, "off"), newOwner()
	var cells []wire.ParkItem
	for range 128 {
		cells = append(cells, o.cell(168))
	}
	for c := range slices.Chunk(cells, wire.MaxParkItems) {
		s.park(t, c...)
	}
	s.kill() // between put and ack
	s = startChild(t, dir, "off")
	rows := s.taker(t).take(o)
	wantCells(t, rows, cells...)
	k := s.taker(t)
	k.take(o)
	gone := map[wire.Cell]bool{}
	var ids []wire.RowID
	for _, p := range rows[:40] {
		gone[p.Cell] = true
		ids = append(ids, p.ID)
	}
	k.ack(o, ids...)
	s.kill() // after the word that they are gone
	s = startChild(t, dir, "off")
	left := slices.DeleteFunc(slices.Clone(cells), func(it wire.ParkItem) bool { return gone[it.Cell] })
	wantCells(t, s.taker(t).take(o), left...)

	s.say("ahead 216")
	fmt.Fprintln(s.in, "sweep")
	s.kill() // in the middle of it, or before, or after
	if err := sqlite.Check(filepath.Join(dir, parkFile)); err != nil {
		t.Errorf("after a kill in a sweep: %v", err)
	}
	s = startChild(t, dir, "off")
	s.say("ahead 216")
	wantCells(t, s.taker(t).take(o)) // over, swept or not
	s.say("sweep")
	if bodies, keys := inside(t, dir, o.address); len(bodies) != 0 || len(keys) != 0 {
		t.Errorf("after the next sweep: got %d rows and %d keys, want none", len(bodies), len(keys))
	}
}
