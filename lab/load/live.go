package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenarios that Live can run.
const (
	sPaced     = "paced"
	sSaturated = "saturated"
	sFanout    = "fanout"
	sChurn     = "churn"
	sFrozen    = "frozen"
	sIdle      = "idle"
)

// Scenarios are the names of what can be measured, in order.
func Scenarios() []string { return []string{sPaced, sSaturated, sFanout, sFrozen, sChurn, sIdle} }

// Options are what a run is.
type Options struct {
	Vs        []string      // peers to compare with, of Peers
	Only      []string      // variants, of Variants; none: all of ours and of the peers
	Scenarios []string      // of Scenarios; none: all
	Rounds    int           // each variant once in each; 0: 3
	Rates     []int         // cells a second, of the paced scenario; none: 500 and 10,000
	Pairs     int           // senders one to one; 0: 64
	Fan       int           // receivers of the one sender of fan-out; 0: 50
	InFlight  int           // cells of one sender on their way when saturated; 0: 64
	Burst     int           // most cells in one client write when saturated; 0: 1
	Length    time.Duration // measured time of one run; 0: 3 s
	Idle      int           // connections that are held idle; 0: 5,000
	Churn     int           // devices that come and go; 0: 2,000
	Profiles  string        // directory for CPU profiles of our relay; empty: none
	Short     bool          // everything as small as it can be: does it work?

	Progress io.Writer // nil writes none
	role     string    // that is our relay, for tests
}

func (o *Options) fill() {
	number := func(n *int, usual, short int) {
		if *n == 0 && o.Short {
			*n = short
		} else if *n == 0 {
			*n = usual
		}
	}
	number(&o.Rounds, 3, 1)
	number(&o.Pairs, 64, 4)
	number(&o.Fan, 50, 5)
	number(&o.InFlight, 64, 16)
	number(&o.Burst, 1, 1)
	number(&o.Idle, 5000, 50)
	number(&o.Churn, 2000, 20)
	if len(o.Rates) == 0 && o.Short {
		o.Rates = []int{200}
	} else if len(o.Rates) == 0 {
		o.Rates = []int{500, 10_000}
	}
	if o.Length == 0 && o.Short {
		o.Length = 500 * time.Millisecond
	} else if o.Length == 0 {
		o.Length = 3 * time.Second
	}
	if len(o.Scenarios) == 0 {
		o.Scenarios = Scenarios()
	}
	if o.role == "" {
		o.role = roleRelay
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
}

func (o *Options) check() error {
	for _, s := range o.Scenarios {
		if !slices.Contains(Scenarios(), s) {
			return &Problem{fmt.Errorf("there is no scenario %q", s), "there are: " + strings.Join(Scenarios(), ", ")}
		}
	}
	for _, n := range append([]int{o.Rounds, o.Pairs, o.Fan, o.InFlight, o.Burst, o.Idle, o.Churn}, o.Rates...) {
		if n < 1 {
			return &Problem{errors.New("a number is below 1"), "rounds, rates, pairs, fan, in-flight, burst, idle and churn start at 1"}
		}
	}
	if o.Length < 100*time.Millisecond {
		return &Problem{errors.New("the measured time is below 100 ms"), "CPU time is told in steps of 10 ms: --length 3s is a good one"}
	}
	return nil
}

// bench is one run of the tool.
type bench struct {
	Options
	dir      string            // for files of peers
	binaries map[string]string // found so far
	warm     time.Duration     // before the measured time
	still    time.Duration     // how long idle connections are left alone
	cycle    time.Duration     // how long a device stays
}

func (b *bench) progress(format string, a ...any) { fmt.Fprintf(b.Progress, format+"\n", a...) }

// Live measures and reports.
func Live(ctx context.Context, o Options) (*Report, error) {
	o.fill()
	if err := o.check(); err != nil {
		return nil, err
	}
	vs, err := choose(o.Vs, o.Only)
	if err != nil {
		return nil, err
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		return nil, &Problem{err, "run it on Linux"}
	}
	b := &bench{Options: o, binaries: map[string]string{}, warm: warm, still: still, cycle: cycle}
	if o.Short {
		b.warm, b.still, b.cycle = 200*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	}
	if b.dir, err = os.MkdirTemp("", "tacet-load"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.dir)
	if o.Profiles != "" {
		if err := os.MkdirAll(o.Profiles, 0o755); err != nil {
			return nil, err
		}
	}
	for _, v := range vs { // so that nothing is built in the middle of a round
		if name := programs[v.of]; name != "" {
			if _, err := b.binary(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	rep := &Report{
		CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Rounds: o.Rounds, Seconds: o.Length.Seconds(),
	}
	for _, name := range o.Scenarios {
		if err := b.scenario(ctx, rep, name, vs); err != nil {
			return nil, err
		}
	}
	rep.sum()
	return rep, nil
}

// scenario runs one of them, or as many as there are rates.
func (b *bench) scenario(ctx context.Context, rep *Report, name string, vs []*variant) error {
	one := shape{Pairs: b.Pairs, Fan: 1, InFlight: b.InFlight, Burst: b.Burst}
	switch name {
	case sPaced:
		for _, rate := range b.Rates {
			if err := b.rounds(ctx, rep, name+" "+strconv.Itoa(rate)+"/s", vs, shape{Pairs: b.Pairs, Fan: 1, Rate: rate}); err != nil {
				return err
			}
		}
		return nil
	case sFanout:
		return b.rounds(ctx, rep, name+" 1→"+strconv.Itoa(b.Fan), vs, shape{Pairs: 1, Fan: b.Fan, InFlight: min(b.InFlight, 32), Burst: b.Burst})
	case sIdle:
		return b.rest(ctx, rep, vs)
	case sChurn:
		return b.come(ctx, rep, vs)
	case sFrozen:
		return b.freeze(ctx, rep, vs)
	default:
		return b.rounds(ctx, rep, name, vs, one)
	}
}

// rounds gives the same work to each variant in turn, each time beginning with
// another: what the machine does meanwhile meets all of them.
func (b *bench) rounds(ctx context.Context, rep *Report, name string, vs []*variant, sh shape) error {
	sc := &Scenario{Name: name, Shape: &sh}
	for _, v := range vs {
		sc.Results = append(sc.Results, &Result{Name: v.name, Carries: v.carry, TLS: v.tls})
	}
	rep.Scenarios = append(rep.Scenarios, sc)
	for round := range b.Rounds {
		for i := range vs {
			at := (i + round) % len(vs)
			v, file := vs[at], strings.NewReplacer(" ", "-", "/", "-", "→", "-").Replace(name)
			r, err := b.drive(ctx, v, fmt.Sprintf("%s.%d", file, round+1), sh)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", name, round+1, err)
			}
			sc.Results[at].Runs = append(sc.Results[at].Runs, r)
			b.progress("%s, round %d of %d, %s: %.0f deliveries/s, %.0f per CPU second, p50 %.3f ms, p99 %.2f; %d put, %d delivered, %d lost, %d answers told of %d%s; cores: server %.2f, load %.2f",
				name, round+1, b.Rounds, v.name, r.PerSecond, r.PerCPU, r.P50, r.P99, r.Sent, r.Delivered, r.Lost, r.Answers, r.Told, cuts(r.Ended, r.Cut, r.Stood), r.Cores, r.Client)
		}
	}
	return nil
}

// once gives each variant its turn, in one round: for what is counted or weighed
// rather than timed. NATS with echoes is no case of its own there.
func once(vs []*variant, do func(*variant) error) error {
	for _, v := range vs {
		if v.name != vNatsReply {
			if err := do(v); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	return nil
}

func (b *bench) rest(ctx context.Context, rep *Report, vs []*variant) error {
	n := mostIdle(b.Idle)
	if n < b.Idle {
		b.progress("idle: %d connections instead of %d, as this system allows no more files (ulimit -n)", n, b.Idle)
	}
	return once(vs, func(v *variant) error {
		r, err := b.idle(ctx, v, n)
		if err != nil {
			return err
		}
		rep.Idle = append(rep.Idle, &Idle{v.name, r})
		b.progress("idle, %s: %d connections, %.1f KiB each (%.1f before a collection, %.1f later), %.2f ms CPU to connect, %.3f cores, %d ended", v.name, n, r.KiB, r.Before, r.Later, r.ConnectMS, r.Cores, r.Ended)
		return nil
	})
}

func (b *bench) come(ctx context.Context, rep *Report, vs []*variant) error {
	n := mostIdle(b.Churn*11/10) * 10 / 11 // for a moment a device has two connections
	return once(vs, func(v *variant) error {
		r, err := b.churn(ctx, v, n)
		if err != nil {
			return err
		}
		rep.Churn = append(rep.Churn, &Churn{v.name, r})
		b.progress("churn, %s: %d devices, %.0f connects/s, p50 %.2f ms, p99 %.1f, %.2f ms CPU each; %d put, %d lost, %d seen and not told of, %d connects failed%s; %.1f MiB, then %.1f", v.name, n, r.PerSecond, r.Connect50, r.Connect99, r.ConnectCPU, r.Sent, r.Lost, r.Missed, r.Failed, cuts(r.Cuts, r.Cut, r.Stood), r.MiB, r.ThenMiB)
		return nil
	})
}

func (b *bench) freeze(ctx context.Context, rep *Report, vs []*variant) error {
	return once(vs, func(v *variant) error {
		r, err := b.frozen(ctx, v)
		if err != nil {
			return err
		}
		rep.Frozen = append(rep.Frozen, &Frozen{v.name, r})
		b.progress("frozen, %s: %d of %d receivers; %d cells put to them, %d answered as delivered; %d to the others, %d lost, %d seen and not told of; p99 %.2f ms, then %.2f; %d connections ended%s; %.1f MiB, then %.1f", v.name, r.Frozen, r.Frozen+r.Live, r.ToFrozen, r.Lies, r.ToLive, r.Lost, r.Missed, r.P99, r.Then99, r.Ended, cuts(r.Cuts, r.Cut, r.Stood), r.MiB, r.ThenMiB)
		return nil
	})
}

// cuts says what a server ended that it should not, if the machine let it.
func cuts(ended, missing int64, stood float64) string {
	if ended == 0 {
		return ""
	}
	return fmt.Sprintf("; %d connections ended with %d deliveries, the machine having stood still for up to %.1f s", ended, missing, stood/1000)
}
