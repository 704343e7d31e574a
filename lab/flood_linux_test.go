package lab

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// The relay that is attacked. It is small, so that an attack fills it.
const (
	floodConnections = 128 // of one sort, at one moment
	floodWindow      = 8   // MiB
	floodQueue       = 16
	floodBlobs       = 8
	floodNetworks    = 8  // from which strangers come
	floodEach        = 40 // connections that each tries for
)

// What the relay has without any stranger, in MiB: its program, the window, and
// what two honest devices make it take.
const floodBase = 24 + floodWindow

// perKiB is what so many connections of so many KiB are, in MiB.
func perKiB(n, kib int) int { return (n*kib + 1023) / 1024 }

// floods are the attacks with the most that they can make the relay hold, in
// MiB, by its bounds. The garbage collector lets memory grow to twice what is
// held, so that is what resident memory is compared with.
var floods = []struct {
	attack string
	held   int
	why    string
	short  bool // also under -short
}{
	{"half-open handshakes", perKiB(floodConnections, 64), "connections × 16 KiB of a handshake, twice while a buffer grows, and the connection", false},
	{"slow headers", perKiB(floodConnections, 48), "connections × TLS, two buffers of 4 KiB, a stack", false},
	{"header bombs", perKiB(floodConnections, 320), "connections × 8 KiB of headers, which are 40 times that as a map", false},
	{"absurd lengths", perKiB(floodConnections, 48) + 32, "connections, and the room for bodies", false},
	{"requests without end", perKiB(floodConnections, 48), "connections", false},
	{"no first frame", perKiB(3*floodConnections, 24), "connections of every sort", false},
	{"frames that are none", perKiB(3*floodConnections, 24), "connections of every sort", false},
	{"half frames", perKiB(3*floodConnections, 40) + 32, "connections × a TLS record, and the room for parts of frames", true},
	{"many watches", perKiB(3*floodConnections, 28), "connections × 16 addresses", true},
	{"bad proofs", perKiB(3*floodConnections, 40) + 32, "connections × a TLS record, and the room for parts of frames", false},
	{"maximal sets", perKiB(3*floodConnections, 40) + 32 + 34, "connections, the room for parts of frames, and 262,144 watched addresses", false},
	{"readers that do not read", perKiB(3*floodConnections, 40) + floodQueue + 64, "connections, the queues, open puts and the rings of copies", true},
	{"fan-out", perKiB(3*floodConnections, 40) + floodQueue + 64 + 64, "connections, the queues, open puts and the rings of copies", false},
	{"puts without end", perKiB(3*floodConnections, 40) + floodQueue + 64, "connections, the queues, open puts", true},
	{"echoes and pings", perKiB(3*floodConnections, 40) + floodQueue, "connections and the queues", false},
	{"replays", perKiB(3*floodConnections, 40) + floodQueue + 64, "connections, the queues, open puts", false},
	{"puts by post", perKiB(floodConnections, 64), "connections × a request that waits", false},
	{"blobs", perKiB(floodConnections, 64) + 32 + 16 + floodBlobs, "connections, the room for bodies, the calls of the store, the store", false},
	{"HTTP/2 resets", perKiB(floodConnections, 160), "connections × 8 streams and their frames", false},
	{"HTTP/2 control frames", perKiB(floodConnections, 1024), "connections × 10,000 answers that wait, which net/http allows", false},
	{"reconnects", perKiB(floodConnections, 64), "connections", false},
}

// patient is until with more patience: the machine is under attack.
func patient(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// lasts is how long an attack lasts.
func lasts() time.Duration {
	switch {
	case os.Getenv("TACET_LONG") == "1":
		return 20 * time.Second
	case testing.Short():
		return time.Second / 4
	}
	return time.Second
}

// TestStrangersAreBounded attacks a relay from eight networks while two devices
// exchange messages and a third comes anew, again and again. Nothing honest is
// lost, memory stays within the bounds, and afterwards all of it is given back.
func TestStrangersAreBounded(t *testing.T) {
	for _, f := range floods {
		if testing.Short() && !f.short {
			continue
		}
		t.Run(f.attack, func(t *testing.T) {
			log := &lockedLog{}
			r := startTarget(t, log)
			pair := startPair(t, r.addr)
			pair.exchange(t, 20)
			calm := pair.latencies()
			before := r.ask(t)
			rss := r.memory(t, "VmRSS")

			s := startStrangers(t, r.addr, f.attack)
			patient(t, "the attack to begin", s.begun)
			pair.exchange(t, 5)
			pair.during(t, lasts())
			word := s.stop(t)
			busy := pair.latencies()
			peak := r.memory(t, "VmHWM")

			pair.exchange(t, 5)
			after := r.settled(t, before)
			newcomers := pair.stop(t)
			t.Logf("honest p50/p99 %s/%s before, %s/%s during, worst %s; newcomer p50/worst %s/%s of %d, and %d that were cut off",
				at(calm, 50), at(calm, 99), at(busy, 50), at(busy, 99), at(busy, 100), at(newcomers, 50), at(newcomers, 100), len(newcomers), pair.turned)
			t.Logf("resident %d MiB before, %d at the peak of at most %d, %d after; goroutines %d, %d; heap %d, %d KiB",
				rss, peak, floodBase+2*f.held, r.memory(t, "VmRSS"), before.Goroutines, after.Goroutines, before.Heap>>10, after.Heap>>10)
			t.Logf("strangers: %d came through, %d did not, %d MiB sent", word.Opened, word.Failed, word.Sent>>20)
			if most := floodBase + 2*f.held; peak > most && !raceDetector {
				t.Errorf("got %d MiB resident, want at most %d: twice %s", peak, most, f.why)
			}
			if word.Opened+word.Failed == 0 {
				t.Error("got no attack at all")
			}
			r.stop(t)
			log.namesNobody(t)
		})
	}
}

// target is a relay in a process of its own.
type target struct {
	addr   string
	p      *process
	states chan relayState
}

func startTarget(t *testing.T, log *lockedLog) *target {
	t.Helper()
	r := &target{states: make(chan relayState, 1)}
	words := make(chan relayWord, 1)
	p, err := start(roleRelay, relayOrder{
		Listen: "127.0.0.1:0", TLS: "on", Placed: true,
		MaxConnections: floodConnections, WindowMiB: floodWindow, QueueMiB: floodQueue, BlobMiB: floodBlobs,
	}, log, func(b []byte) {
		if w, ok := parseLine[relayWord](b); ok && w.Addr != "" {
			words <- w
		} else if s, ok := parseLine[relayState](b); ok {
			r.states <- s
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	r.p = p
	select {
	case w := <-words:
		r.addr = w.Addr
	case <-time.After(time.Minute):
		t.Fatal("the relay did not start")
	}
	return r
}

// ask returns the relay's state after a collection.
func (r *target) ask(t *testing.T) relayState {
	t.Helper()
	if err := r.p.say("?"); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-r.states:
		return s
	case <-time.After(time.Minute):
		t.Fatal("the relay did not say how it is")
	}
	panic("not reached")
}

// settled waits until the relay has given back what strangers took, but for what
// its pools and tables keep: 4 MiB, and the window, which keeps for its minute
// what was put.
func (r *target) settled(t *testing.T, before relayState) (s relayState) {
	t.Helper()
	const spare = (4 + floodWindow + floodBlobs) << 20
	end := time.Now().Add(5 * time.Minute)
	for {
		s = r.ask(t)
		if s.Goroutines <= before.Goroutines+8 && s.Heap <= before.Heap+spare {
			return s
		}
		if time.Now().After(end) {
			t.Errorf("got %d goroutines and %d KiB long after, want at most %d and %d",
				s.Goroutines, s.Heap>>10, before.Goroutines+8, (before.Heap+spare)>>10)
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// memory reads a line of the process's status, in MiB.
func (r *target) memory(t *testing.T, name string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.p.pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), name+":")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

func (r *target) stop(t *testing.T) {
	t.Helper()
	if err := r.p.stop(); err != nil {
		t.Errorf("stopping the relay: %v", err)
	}
}

// lockedLog is a log that a process writes.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

var identifying = regexp.MustCompile(`198\.18\.|127\.0\.\d+\.1\b|[0-9a-f]{16}`)

// namesNobody wants no network address, key or address in the log.
func (l *lockedLog) namesNobody(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.Contains(l.b.String(), "ready") {
		t.Error("got a log without its first line: nothing is shown")
	}
	if m := identifying.FindString(l.b.String()); m != "" {
		t.Errorf("got %q in the log:\n%s", m, l.b.String())
	}
}

// strangers are a process that attacks.
type strangers struct {
	p      *process
	words  chan strangerWord // the last
	opened atomic.Int64
}

func startStrangers(t *testing.T, addr, attack string) *strangers {
	t.Helper()
	s := &strangers{words: make(chan strangerWord, 1)}
	o := strangerOrder{Attack: attack, Addr: addr, Each: floodEach}
	for n := range floodNetworks {
		o.Networks = append(o.Networks, 1+n)
	}
	p, err := start(roleStranger, o, os.Stderr, func(b []byte) {
		w, ok := parseLine[strangerWord](b)
		if s.opened.Store(w.Opened); ok && w.Last {
			s.words <- w
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	s.p = p
	return s
}

// begun reports whether strangers have come through, as far as they were meant
// to come, at least a few times.
func (s *strangers) begun() bool { return s.opened.Load() >= 4 }

func (s *strangers) stop(t *testing.T) (w strangerWord) {
	t.Helper()
	if err := s.p.stop(); err != nil {
		t.Errorf("strangers: %v", err)
	}
	select {
	case w = <-s.words:
	default:
		t.Error("the strangers did not say what they did")
	}
	return w
}

// pair are two honest devices, each with a watch and a put connection, and a
// third that comes and goes. Every device is a network of its own.
type pair struct {
	addr  string
	realm [32]byte
	ends  [2]*device
	took  chan time.Duration
	sent  atomic.Uint64

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	news []time.Duration // the newcomer's
	// turned counts the newcomer's tries that failed.
	turned int
}

type device struct {
	keys      []addressKey
	put, recv *caller
}

func startPair(t *testing.T, addr string) *pair {
	t.Helper()
	p := &pair{addr: addr, took: make(chan time.Duration, 1<<16)}
	p.ctx, p.end = context.WithCancel(t.Context())
	var err error
	if p.realm, err = askRealm(p.ctx, addr, 201); err != nil {
		t.Fatal(err)
	}
	for i := range p.ends {
		d := &device{keys: newKeys(16)}
		p.ends[i] = d
		for _, l := range []**caller{&d.put, &d.recv} {
			if *l, err = call(p.ctx, addr, 201+i); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { (*l).Close() })
		}
		if err := d.put.upgrade("/v1/put"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.recv.watch(p.realm, 0, d.keys...); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range p.ends {
		p.work.Go(func() { // answers and pings of the put connection
			for {
				if _, err := d.put.listen(); err != nil {
					if p.ctx.Err() == nil {
						t.Errorf("an honest put connection was cut off: %v", err)
					}
					return
				}
			}
		})
		p.work.Go(func() { p.receive(t, d) })
	}
	p.work.Go(func() { p.arrive(t) })
	t.Cleanup(func() { p.stop(t) })
	return p
}

// epoch is what times in cells count from.
var epoch = time.Now()

// receive echoes cells and notes how long each took.
func (p *pair) receive(t *testing.T, d *device) {
	for {
		b, err := d.recv.listen()
		if err != nil {
			if p.ctx.Err() == nil {
				t.Errorf("an honest watch connection was cut off: %v", err)
			}
			return
		}
		if len(b) != wire.DeliverSize {
			continue
		}
		then := time.Duration(binary.BigEndian.Uint64(b[1+wire.EchoNonceSize+wire.AddressSize:]))
		p.took <- time.Since(epoch) - then
		if err := d.recv.say(wsBinary, append([]byte{byte(wire.FrameEcho)}, b[1:1+wire.EchoNonceSize]...)); err != nil && p.ctx.Err() == nil {
			t.Errorf("echoing: %v", err)
		}
	}
}

// send puts one cell from one end to the other.
func (p *pair) send(t *testing.T) {
	n := p.sent.Add(1)
	from, to := p.ends[n%2], p.ends[(n+1)%2]
	b := putFrameTo(to.keys[n%16].address(), n)
	binary.BigEndian.PutUint64(b[wire.PutIDSize+wire.AddressSize:], uint64(time.Since(epoch)))
	if err := from.put.say(wsBinary, b); err != nil {
		t.Errorf("an honest put failed: %v", err)
	}
}

// exchange sends so many messages, one after the other has arrived.
func (p *pair) exchange(t *testing.T, n int) {
	t.Helper()
	for range n {
		have := len(p.took)
		p.send(t)
		patient(t, "an honest message to arrive", func() bool { return len(p.took) > have })
	}
}

// during sends a message every 10 ms for a time, and waits for the last.
func (p *pair) during(t *testing.T, d time.Duration) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	have, n := len(p.took), 0
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		p.send(t)
		n++
	}
	patient(t, "all honest messages to arrive", func() bool { return len(p.took) >= have+n })
}

// latencies returns, sorted, what messages took since the last call.
func (p *pair) latencies() (all []time.Duration) {
	for range len(p.took) {
		all = append(all, <-p.took)
	}
	slices.Sort(all)
	return all
}

// arrive comes anew and watches sixteen addresses, again and again. A relay that is
// full or late may cut it off: it tries again, and must have come through once.
func (p *pair) arrive(t *testing.T) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var why error
	defer func() {
		if len(p.news) == 0 {
			t.Errorf("no newcomer came through: %v", why)
		}
	}()
	for p.ctx.Err() == nil {
		start := time.Now()
		l, err := call(p.ctx, p.addr, 203)
		if err == nil {
			stop := context.AfterFunc(p.ctx, func() { l.Close() })
			_, err = l.watch(p.realm, 0, newKeys(16)...)
			stop()
			l.Close()
		}
		if p.ctx.Err() != nil {
			return
		}
		if err != nil {
			why = err
			p.turned++
		} else {
			p.news = append(p.news, time.Since(start))
		}
		select {
		case <-tick.C:
		case <-p.ctx.Done():
		}
	}
}

// stop ends the devices and returns, sorted, what the newcomer's arrivals took.
func (p *pair) stop(t *testing.T) []time.Duration {
	p.end()
	for _, d := range p.ends {
		d.put.Close()
		d.recv.Close()
	}
	p.work.Wait()
	slices.Sort(p.news)
	return p.news
}

// at returns a percentile.
func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Round(10 * time.Microsecond)
}
