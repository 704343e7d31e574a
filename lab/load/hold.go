package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// HoldOptions are what a hold is.
type HoldOptions struct {
	Idle  int           // connections that stay; 0: 10,000
	Rate  int           // connections a second that come and go beside them; 0: 500
	For   time.Duration // 0: a minute
	Plain bool          // without TLS
	Short bool          // with few of everything

	Progress io.Writer // nil writes none
	role     string    // that is our relay, for tests
	settle   time.Duration
}

// Held is what a hold gave. Memory is what lives on the relay's heap, and what is
// resident, both after a forced collection.
type Held struct {
	Idle      int     `json:"idle"`
	Addresses int     `json:"addresses_each"`
	TLS       bool    `json:"tls"`
	Seconds   float64 `json:"seconds"`
	Came      int64   `json:"came"` // connections that came and went
	PerSecond float64 `json:"per_second"`
	Asked     int     `json:"asked_per_second"`
	ConnectMS float64 `json:"connect_cpu_ms_each"` // CPU time of the relay
	Failed    int64   `json:"failed"`
	Ended     int64   `json:"ended"` // of those that were to stay
	KiB       float64 `json:"kib_each"`
	Stood     float64 `json:"stood_ms"` // the longest time for which the load itself stood still

	Was state `json:"before"`
	Is  state `json:"after"`
}

// state is how the relay is at one moment.
type state struct {
	Goroutines int     `json:"goroutines"`
	Heap       float64 `json:"heap_mib"`
	RSS        float64 `json:"rss_mib"`
}

// What may be called no growth of the heap: less than a quarter of a KiB for each
// of 30,000 connections beside the heap of 10,000 that stay.
const (
	holdShare = 0.02
	holdFree  = 4 // MiB: buffers in pools, and what the system's timers leave
)

// holdCrowd is how many connections come at one moment, at the most.
const holdCrowd = 64

// Hold has connections stay that watch and say nothing, while others come, watch
// and go, half of them without a word. It says whether any of the first was lost,
// and whether the others left anything behind.
func Hold(ctx context.Context, o HoldOptions) (*Held, error) {
	number := func(n *int, usual, short int) {
		if *n == 0 && o.Short {
			*n = short
		} else if *n == 0 {
			*n = usual
		}
	}
	number(&o.Idle, 10_000, 50)
	number(&o.Rate, 500, 50)
	if o.For == 0 {
		o.For = time.Minute
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.role == "" {
		o.role = roleRelay
	}
	if o.settle == 0 {
		o.settle = patience
	}
	if o.Idle < 1 || o.Rate < 1 || o.For < 100*time.Millisecond {
		return nil, &Problem{errors.New("a number is too small"), "idle and rate start at 1, for at 100ms"}
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		return nil, &Problem{err, "run it on Linux"}
	}
	n := mostIdle(o.Idle+holdCrowd) - holdCrowd
	if n < o.Idle {
		fmt.Fprintf(o.Progress, "hold: %d connections instead of %d, as this system allows no more files (ulimit -n)\n", n, o.Idle)
	}
	s, err := startRelay(relayOrder{TLS: !o.Plain}, o.role)
	if err != nil {
		return nil, err
	}
	defer s.kill()
	h := &Held{Idle: n, Addresses: addressesEach, TLS: !o.Plain, Asked: o.Rate}
	if err := h.run(ctx, s, &o); err != nil {
		return nil, err
	}
	if err := s.stop(); err != nil {
		return nil, fmt.Errorf("stopping the relay: %w", err)
	}
	return h, nil
}

func (h *Held) run(ctx context.Context, s *server, o *HoldOptions) error {
	var first, stay quiet // the first have the relay's code loaded, which is nobody's memory
	err := first.hold(ctx, s, holdCrowd/4, false)
	first.end()
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	base, err := stateOf(s)
	if err != nil {
		return err
	}
	defer stay.end()
	if err := stay.hold(ctx, s, h.Idle, false); err != nil {
		return fmt.Errorf("holding %d connections: %w", h.Idle, err)
	}
	if h.Was, err = stateOf(s); err != nil {
		return err
	}
	h.KiB = (h.Was.RSS - base.RSS) * 1024 / float64(h.Idle)
	fmt.Fprintf(o.Progress, "hold: %d connections stay, %.1f KiB each; %d a second come and go for %v\n", h.Idle, h.KiB, o.Rate, o.For)
	cpu, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	begun, stood := now(), newStill()
	defer stood.end()
	h.visitors(ctx, s, o)
	h.Seconds = float64(now()-begun) / float64(time.Second)
	h.PerSecond = float64(h.Came) / h.Seconds
	used, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	h.ConnectMS = ms(used-cpu) / max(float64(h.Came), 1)
	for end := now() + int64(o.settle); ; pause(ctx, now()+int64(100*time.Millisecond)) {
		if h.Is, err = stateOf(s); err != nil {
			return err
		}
		if h.Is.Goroutines <= h.Was.Goroutines || now() > end || ctx.Err() != nil {
			break
		}
	}
	h.Ended, h.Stood = stay.ended.Load(), ms(stood.end())
	return ctx.Err()
}

// stateOf collects the relay's garbage and asks how it is.
func stateOf(s *server) (state, error) {
	w, err := s.state(relayOrder{Free: true})
	if err != nil {
		return state{}, err
	}
	rss, err := resident(s.pid())
	return state{w.Goroutines, float64(w.Heap) / (1 << 20), float64(rss) / (1 << 20)}, err
}

// visitors come at an even pace, or as fast as both sides can, until the time is over.
func (h *Held) visitors(ctx context.Context, s *server, o *HoldOptions) {
	begun := now()
	end := begun + int64(o.For)
	var came, failed, turn atomic.Int64
	var all sync.WaitGroup
	for range holdCrowd {
		all.Go(func() {
			boxes := make([]*mailbox, addressesEach)
			for i := range boxes {
				boxes[i] = newMailbox()
			}
			for ctx.Err() == nil {
				number := turn.Add(1)
				at := begun + number*int64(time.Second)/int64(o.Rate)
				if at > end || now() > end {
					return
				}
				pause(ctx, at)
				l, err := s.watch(s, boxes, false)
				if err != nil {
					failed.Add(1)
					continue
				}
				leave(l, number%2 == 0)
				came.Add(1)
			}
		})
	}
	all.Wait()
	h.Came, h.Failed = came.Load(), failed.Load()
}

// leave ends a connection, in good order or as a lost network does.
func leave(l *line, orderly bool) {
	if orderly {
		l.Write(appendFrame(nil, opClose, []byte{3, 232}))
		l.SetReadDeadline(time.Now().Add(dialTimeout))
		io.Copy(io.Discard, l)
		l.Close()
		return
	}
	under := net.Conn(l.Conn)
	if t, ok := under.(interface{ NetConn() net.Conn }); ok {
		under = t.NetConn()
	}
	if t, ok := under.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	under.Close()
}

// Wrong says what the relay must never do and did.
func (h *Held) Wrong() error {
	var why []string
	if h.Ended > 0 && h.Stood < ms(tooStill) {
		why = append(why, fmt.Sprintf("%d of the connections that were to stay ended", h.Ended))
	}
	if h.Failed > 0 && h.Stood < ms(tooStill) {
		why = append(why, fmt.Sprintf("%d connections were refused", h.Failed))
	}
	if h.Is.Goroutines > h.Was.Goroutines {
		why = append(why, fmt.Sprintf("%d goroutines after the others had left, %d before they came", h.Is.Goroutines, h.Was.Goroutines))
	}
	if grew := h.Is.Heap - h.Was.Heap; grew > holdShare*h.Was.Heap+holdFree {
		why = append(why, fmt.Sprintf("the heap grew by %.1f MiB", grew))
	}
	if len(why) > 0 {
		return &Problem{errors.New("the relay did not stay what it was: " + strings.Join(why, "; ")), "--json has the figures"}
	}
	return nil
}

// Line is the last line.
func (h *Held) Line() string {
	way := "plain"
	if h.TLS {
		way = "TLS"
	}
	return fmt.Sprintf("hold: %d idle %s connections with %d addresses each, %.1f KiB each, %d ended; %d came and went, %.0f/s of %d, %d failed, %.2f ms CPU each; heap %.1f MiB, then %.1f; resident %.1f, then %.1f; goroutines %d, then %d",
		h.Idle, way, h.Addresses, h.KiB, h.Ended, h.Came, h.PerSecond, h.Asked, h.Failed, h.ConnectMS, h.Was.Heap, h.Is.Heap, h.Was.RSS, h.Is.RSS, h.Was.Goroutines, h.Is.Goroutines)
}

// JSON writes all of it as one document.
func (h *Held) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(h)
}
