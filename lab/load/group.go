package load

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/throng"
	"github.com/tacet-chat/tacet/internal/wire"
)

// GroupOptions are what a run of Group is.
type GroupOptions struct {
	Sizes    []int         // leaves; none: 8, 50, 250 and 1,000
	Rounds   int           // texts; 0: 3
	Whole    int           // members that run an engine, at most 32; 0: 31
	Acks     time.Duration // over which the acks of a text come in; 0: 5 s
	Patience time.Duration // until a step that is not done counts as one that does not end; 0: 3 min
	Profiles string        // directory for CPU profiles of the sender, one for each step
	Short    bool          // a group of 8, one text: does it work?

	Progress io.Writer // nil writes none
}

func (o *GroupOptions) fill() error {
	if len(o.Sizes) == 0 {
		o.Sizes = []int{8, 50, 250, 1000}
		if o.Short {
			o.Sizes = []int{8}
		}
	}
	if o.Rounds == 0 {
		o.Rounds = 3
		if o.Short {
			o.Rounds = 1
		}
	}
	if o.Acks == 0 {
		o.Acks = 5 * time.Second
		if o.Short {
			o.Acks = time.Millisecond
		}
	}
	if o.Whole == 0 {
		o.Whole = 31
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if slices.Min(o.Sizes) < 3 || slices.Max(o.Sizes) > 2000 || o.Rounds < 1 || o.Whole < 1 || o.Whole > 32 {
		return &Problem{errors.New("a number is out of bounds"), "groups have 3 to 2,000 leaves, rounds start at 1, whole members are 1 to 32"}
	}
	return nil
}

// Names of those who play.
const (
	groupName = "crowd"
	sender    = "Ada"
	joiner    = "Bob"
)

// Group measures groups of some sizes: one profile of the SDK that sends, adds and
// removes, a relay, and members that are connected to it.
func Group(ctx context.Context, o GroupOptions) (*GroupReport, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	rep := &GroupReport{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Rounds: o.Rounds, Acks: o.Acks.Seconds()}
	for _, n := range o.Sizes {
		if limit, ok := fileLimit(); ok && uint64(4*n+200) > limit {
			return nil, &Problem{fmt.Errorf("a group of %d leaves needs more open files than this system allows", n), fmt.Sprintf("allow %d: ulimit -n", 4*n+200)}
		}
		r, err := o.size(ctx, n)
		if r != nil {
			rep.Results = append(rep.Results, *r)
		}
		if err != nil {
			return rep, fmt.Errorf("a group of %d leaves: %w", n, err)
		}
	}
	return rep, nil
}

// groupRun is one size.
type groupRun struct {
	o        *GroupOptions
	leaves   int
	relay    *server
	ada, bob *being
	crowd    *throng.Crowd
	meter    *meter
	r        *GroupResult
	profiled int
}

func (g *groupRun) tell(format string, a ...any) {
	fmt.Fprintf(g.o.Progress, "%d leaves: "+format+"\n", append([]any{g.leaves}, a...)...)
}

func (o *GroupOptions) size(ctx context.Context, n int) (_ *GroupResult, err error) {
	dir, err := os.MkdirTemp("", "tacet-load")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	g := &groupRun{o: o, leaves: n, meter: &meter{}, r: &GroupResult{Leaves: n, Load: loadAverage()}}
	defer func() { err = errors.Join(err, g.end()) }()
	begun := time.Now()
	if err := g.make(ctx, dir); err != nil {
		return nil, fmt.Errorf("making it: %w", err)
	}
	g.r.Made = time.Since(begun).Seconds()
	g.tell("made in %.1f s: %d whole members, %d ears", g.r.Made, g.r.Whole, n-1-g.r.Whole)
	for range o.Rounds {
		if err := g.text(ctx); err != nil {
			return g.r, err
		}
	}
	if g.r.Add, err = g.change(ctx, "add"); err != nil {
		return g.r, err
	}
	if g.r.Remove, err = g.change(ctx, "remove"); err != nil {
		return g.r, err
	}
	return g.r, nil
}

// end ends all that was started.
func (g *groupRun) end() error {
	var all []error
	if g.crowd != nil {
		all = append(all, g.crowd.Close())
	}
	for _, b := range []*being{g.ada, g.bob} {
		if b != nil {
			all = append(all, b.stop())
		}
	}
	if g.relay != nil {
		all = append(all, g.relay.stop())
	}
	return errors.Join(all...)
}

// make starts everybody, and brings the members into a group that the sender made.
func (g *groupRun) make(ctx context.Context, dir string) (err error) {
	if g.relay, err = startRelay(relayOrder{Blob: filepath.Join(dir, "relay")}, roleRelay); err != nil {
		return err
	}
	at := filepath.Join(dir, sender)
	if g.ada, err = startPerson(at, sender, g.relay.addr); err != nil {
		return err
	}
	if g.bob, err = startPerson(filepath.Join(dir, joiner), joiner, g.relay.addr); err != nil {
		return err
	}
	if err := g.acquaint(ctx); err != nil {
		return err
	}
	if _, err := g.ada.ask(personOrder{Do: "create", Group: groupName, Size: g.leaves}); err != nil {
		return err
	}
	ada := g.ada
	g.ada = nil
	if err := ada.stop(); err != nil {
		return err
	}
	g.tell("making the members")
	g.crowd, err = throng.New(ctx, throng.Options{Relay: g.relay.addr, Members: g.leaves - 1, Whole: g.o.Whole, Dial: g.meter.dial})
	if err != nil {
		return err
	}
	if err := g.crowd.Enter(ctx, at, []byte(passphrase)); err != nil {
		return err
	}
	g.r.Whole = min(g.o.Whole, g.leaves-1)
	before, err := resident(g.relay.pid())
	if err != nil {
		return err
	}
	g.tell("connecting them")
	if err := g.crowd.Watch(ctx); err != nil {
		return err
	}
	after, err := resident(g.relay.pid())
	if err != nil {
		return err
	}
	g.r.Memory = float64(after-before) / float64(g.leaves-1) / 1024
	if g.ada, err = startPerson(at, "", ""); err != nil {
		return err
	}
	if _, err := g.rest(ctx); err != nil {
		return err
	}
	w, err := g.ada.ask(personOrder{Do: "group", Group: groupName})
	if err != nil {
		return err
	}
	if w.State != "active" || w.Members != g.leaves {
		return fmt.Errorf("the sender is %q in a group of %d", w.State, w.Members)
	}
	g.r.Hybrid, g.r.Shared = w.Hybrid, w.Shared
	return nil
}

// acquaint makes the sender and the joiner contacts.
func (g *groupRun) acquaint(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, g.o.Patience)
	defer stop()
	w, err := g.ada.ask(personOrder{Do: "invite"})
	if err != nil {
		return err
	}
	if _, err := g.bob.ask(personOrder{Do: "accept", Text: w.Link, Who: sender}); err != nil {
		return err
	}
	for _, b := range []*being{g.bob, g.ada} {
		if _, err := b.until(ctx, personOrder{Do: "contact"}, func(w *personWord) bool { return w.State == "accepted" }); err != nil {
			return err
		}
	}
	return nil
}

// restful is how little of a processor, in ms within restFor, the sender uses when it
// has nothing to do.
const (
	restful = 15.0
	restFor = time.Second
)

// rest waits until the sender has nothing to do, and returns what it has used.
func (g *groupRun) rest(ctx context.Context) (*personWord, error) {
	ctx, stop := context.WithTimeout(ctx, g.o.Patience)
	defer stop()
	last, err := g.ada.ask(personOrder{Do: "usage"})
	for err == nil {
		select {
		case <-time.After(restFor):
		case <-ctx.Done():
			return last, fmt.Errorf("the sender does not come to rest: %w", ctx.Err())
		}
		var w *personWord
		if w, err = g.ada.ask(personOrder{Do: "usage"}); err == nil && w.CPU-last.CPU < restful {
			return last, nil
		}
		last = w
	}
	return nil, err
}

// mark is what everybody has used at a moment.
type mark struct {
	ada, bob  personWord
	relay     int64 // µs
	sent, got int64 // bytes of the members
	sum       throng.Sum
	at        int64
}

func (g *groupRun) mark() (m mark, err error) {
	a, err1 := g.ada.ask(personOrder{Do: "usage"})
	b, err2 := g.bob.ask(personOrder{Do: "usage"})
	w, err3 := g.relay.state(relayOrder{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return m, err
	}
	return mark{*a, *b, w.CPU, g.meter.sent.Load(), g.meter.got.Load(), g.crowd.Sum(), now()}, nil
}

// profile has the CPU profile of the sender written for a step, where that is wanted.
func (g *groupRun) profile(step string) (end func(), err error) {
	if g.o.Profiles == "" {
		return func() {}, nil
	}
	g.profiled++
	name := filepath.Join(g.o.Profiles, fmt.Sprintf("group-%d-%d-%s.pprof", g.leaves, g.profiled, step))
	_, err = g.ada.ask(personOrder{Do: "profile", Profile: name})
	return func() { g.ada.ask(personOrder{Do: "profiled"}) }, err
}

// text is one text: until all members have it, and all acks of it.
func (g *groupRun) text(ctx context.Context) error {
	if _, err := g.rest(ctx); err != nil {
		return err
	}
	g.crowd.Hold()
	end, err := g.profile("send")
	if err != nil {
		return err
	}
	before, err := g.mark()
	if err != nil {
		return err
	}
	w, err := g.ada.ask(personOrder{Do: "send", Group: groupName, Text: "hello all of you"})
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(w.Message)
	if err != nil || len(raw) != wire.MessageIDSize {
		return fmt.Errorf("the sender names its text %q", w.Message)
	}
	id := wire.MessageID(raw)
	patient, stop := context.WithTimeout(ctx, g.o.Patience)
	defer stop()
	have, err := g.crowd.Heard(patient, id)
	if err != nil {
		return fmt.Errorf("a text: %d of %d members have it, and %d of %d whole ones opened it: %w", have.Have, g.leaves-1, have.Opened, g.r.Whole, err)
	}
	all, err := g.mark()
	if err != nil {
		return err
	}
	if _, err := g.rest(ctx); err != nil {
		return err
	}
	rest, err := g.mark()
	if err != nil {
		return err
	}
	end()
	n := float64(g.leaves - 1)
	t := GroupText{
		CPU: all.ada.CPU - before.ada.CPU, CPUAll: rest.ada.CPU - before.ada.CPU,
		Call: float64(w.Ended-w.Begun) / 1e6, Have: float64(have.Last.UnixNano()-w.Begun) / 1e6, Opened: float64(have.Showed.UnixNano()-w.Begun) / 1e6,
		Sent: rest.ada.Sent - before.ada.Sent, Cells: g.crowd.Text(id).Cells,
		RelayCPU: float64(rest.relay-before.relay) / n, MemberGot: float64(rest.got-before.got) / n, MemberSent: float64(rest.sent-before.sent) / n,
	}
	g.tell("a text: %.1f ms CPU of the sender, all have it after %.0f ms, whole ones opened it after %.0f ms", t.CPU, t.Have, t.Opened)
	if end, err = g.profile("acks"); err != nil {
		return err
	}
	defer end()
	g.crowd.Release(g.o.Acks)
	if _, err := g.ada.until(patient, personOrder{Do: "reached", Seq: w.Seq}, func(w *personWord) bool { t.Reached = w.Reached; return w.Reached == g.leaves-1 }); err != nil {
		return fmt.Errorf("acks of a text: %d of %d: %w", t.Reached, g.leaves-1, err)
	}
	acked, err := g.mark()
	if err != nil {
		return err
	}
	t.AckCPU, t.Acked = (acked.ada.CPU-rest.ada.CPU)/n, float64(acked.at-rest.at)/1e9
	g.r.Texts = append(g.r.Texts, t)
	g.tell("acks: %.2f ms CPU of the sender for each, %.1f s for all", t.AckCPU, t.Acked)
	return nil
}

// change has the joiner added or removed.
func (g *groupRun) change(ctx context.Context, what string) (*GroupStep, error) {
	if _, err := g.rest(ctx); err != nil {
		return nil, err
	}
	end, err := g.profile(what)
	if err != nil {
		return nil, err
	}
	defer end()
	epoch := g.crowd.Epoch() + 1
	before, err := g.mark()
	if err != nil {
		return nil, err
	}
	w, err := g.ada.ask(personOrder{Do: what, Group: groupName, Who: joiner})
	if err != nil {
		return nil, err
	}
	patient, stop := context.WithTimeout(ctx, g.o.Patience)
	defer stop()
	s := &GroupStep{}
	if what == "add" {
		in, err := g.bob.until(patient, personOrder{Do: "group", Group: groupName}, func(w *personWord) bool { return w.State == "active" })
		if err != nil {
			return nil, fmt.Errorf("%s: the joiner is not in: %w", what, err)
		}
		s.In = float64(now()-w.Begun) / 1e6
		if in.Members != g.leaves+1 {
			return nil, fmt.Errorf("the joiner is in a group of %d", in.Members)
		}
	}
	all, err := g.crowd.Entered(patient, epoch)
	if err != nil {
		return nil, fmt.Errorf("%s: %d whole members are in the next epoch and %d ears know of it: %w", what, all.Whole, all.Read, err)
	}
	known, err := g.mark()
	if err != nil {
		return nil, err
	}
	if _, err := g.rest(ctx); err != nil {
		return nil, err
	}
	rest, err := g.mark()
	if err != nil {
		return nil, err
	}
	s.All = float64(all.Last.UnixNano()-w.Begun) / 1e6
	s.CPU, s.CPUAll = known.ada.CPU-before.ada.CPU, rest.ada.CPU-before.ada.CPU
	s.Sent, s.Got = rest.ada.Sent-before.ada.Sent, rest.ada.Got-before.ada.Got
	s.JoinerCPU, s.JoinerGot = rest.bob.CPU-before.bob.CPU, rest.bob.Got-before.bob.Got
	s.Cells, s.Puts = rest.sum.Cells-before.sum.Cells, rest.sum.Puts-before.sum.Puts
	n := float64(g.leaves - 1)
	s.RelayCPU, s.MemberGot, s.MemberSent = float64(rest.relay-before.relay)/1000, float64(rest.got-before.got)/n, float64(rest.sent-before.sent)/n
	g.tell("%s: %.0f ms CPU of the sender, %.0f until it rests; all know after %.1f s, the joiner is in after %.1f s", what, s.CPU, s.CPUAll, s.All/1000, s.In/1000)
	return s, nil
}

// loadAverage is how busy the machine was; empty where that is not to be had.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	s := string(b)
	for i, c := range s {
		if c == ' ' {
			return s[:i]
		}
	}
	return s
}
