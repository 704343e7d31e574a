package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// MLSOptions are what a run of MLS is.
type MLSOptions struct {
	Vs         []string      // peers to compare with, of MLSPeers
	Suite      int           // cipher suite of RFC 9420; 0: 1
	Sizes      []int         // members; none: 2, 16, 128 and 1,000
	Rounds     int           // turns of each, after one that does not count; 0: 5
	Length     time.Duration // of one turn; 0: 500 ms
	Fresh      bool          // a tree in which nobody has committed, in place of a full one
	CoreCrypto string        // directory whose node_modules has @wireapp/core-crypto
	Profiles   string        // directory for CPU profiles of ours, one for each operation and size
	Short      bool          // everything as small as it can be: does it work?

	Progress io.Writer // nil writes none
}

// Names of subjects.
const (
	mlsOurs       = "tacet"
	mlsTS         = "ts-mls"
	mlsCoreCrypto = "core-crypto"
)

// MLSPeers are what can be given to MLSOptions.Vs.
func MLSPeers() []string { return []string{mlsTS, mlsCoreCrypto} }

// mlsContent is how long the application messages are, in bytes. Nobody pads.
const mlsContent = 1000

// operation is what is measured: its name in reports, what to ask for, and the most
// in one turn. What "from" makes in one, "to" opens in the next.
type operation struct {
	name, ask string
	most      int
}

func mlsOperations() []operation {
	return []operation{
		{"create", "create", 1000}, {"add", "add", 1000}, {"commit", "commit", 200}, {"process", "open", 0}, {"encrypt", "encrypt", 1000}, {"decrypt", "open", 0},
	}
}

func (o *MLSOptions) fill() error {
	if o.Suite == 0 {
		o.Suite = 1
	}
	if len(o.Sizes) == 0 {
		o.Sizes = []int{2, 16, 128, 1000}
		if o.Short {
			o.Sizes = []int{2, 5}
		}
	}
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Length == 0 {
		o.Length = 500 * time.Millisecond
	}
	if o.Short {
		o.Rounds, o.Length = 1, time.Millisecond
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	for _, v := range o.Vs {
		if !slices.Contains(MLSPeers(), v) {
			return &Problem{fmt.Errorf("there is no peer %q", v), "there are: " + strings.Join(MLSPeers(), ", ")}
		}
	}
	if len(o.Vs) > 0 && o.Suite != 1 && o.Suite != 3 {
		return &Problem{fmt.Errorf("suite %d has no peers", o.Suite), "1 and 3 have: ts-mls writes ECDSA keys otherwise than RFC 9420, and hybrid suites have no common number"}
	}
	if slices.Min(o.Sizes) < 2 || slices.Max(o.Sizes) > 10_000 || o.Rounds < 1 || o.Length < time.Millisecond {
		return &Problem{errors.New("a number is out of bounds"), "groups have 2 to 10,000 members, rounds start at 1, a turn at 1ms"}
	}
	return nil
}

// MLS measures internal/mls, and others at the same work, in turns.
func MLS(ctx context.Context, o MLSOptions) (*MLSReport, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	m := &mlsRun{o: o, rep: &MLSReport{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Suite: o.Suite, Fresh: o.Fresh, Rounds: o.Rounds, Seconds: o.Length.Seconds(), Content: mlsContent}}
	defer m.end()
	for _, name := range append([]string{mlsOurs}, o.Vs...) {
		if err := m.start(ctx, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, size := range o.Sizes {
		if err := m.size(ctx, size); err != nil {
			return nil, fmt.Errorf("%d members: %w", size, err)
		}
	}
	return m.rep, nil
}

// mlsRun is one run: ours first, then the peers.
type mlsRun struct {
	o   MLSOptions
	rep *MLSReport
	all []*mlsSubject
}

func (m *mlsRun) start(ctx context.Context, name string) error {
	start := map[string]func(context.Context, *MLSOptions) (*mlsSubject, error){mlsOurs: mlsStartOurs, mlsTS: mlsStartTS, mlsCoreCrypto: mlsStartBrowser}[name]
	s, err := start(ctx, &m.o)
	if err != nil {
		return err
	}
	s.name = name
	m.all = append(m.all, s)
	w, err := s.ask(mlsOrder{Do: "hello", Suite: m.o.Suite})
	if err != nil {
		return err
	}
	m.rep.Subjects = append(m.rep.Subjects, name+": "+w.About)
	return nil
}

func (m *mlsRun) end() {
	for _, s := range m.all {
		s.end()
	}
}

// size measures groups of one size, interleaved: all subjects do one operation, each
// in its turn and each time another first, then all the next. The first round is for
// compilers and caches and does not count.
func (m *mlsRun) size(ctx context.Context, size int) error {
	begun := time.Now()
	w, err := m.all[0].ask(mlsOrder{Do: "packages", Members: size - 1})
	if err != nil {
		return err
	}
	if err := m.build(size); err != nil {
		return err
	}
	fmt.Fprintf(m.o.Progress, "%d members: groups are built and agree, after %.1f s\n", size, time.Since(begun).Seconds())
	content := make([]byte, mlsContent)
	rand.Read(content)
	order := mlsOrder{Do: "turn", From: mlsFrom, To: mlsTo, Packages: w.Packages, Content: content}
	table := newMLSTable(size, m.all)
	for round := range m.o.Rounds + 1 {
		for _, op := range mlsOperations() {
			order.What, order.Least, order.Most, order.Ms = op.ask, 1, op.most, float64(m.o.Length.Microseconds())/1000
			for i := range m.all {
				s := m.all[(i+round)%len(m.all)]
				if err := ctx.Err(); err != nil {
					return err
				}
				t, err := s.turn(order, op)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, op.name, err)
				}
				if round > 0 {
					table.add(s.name, op.name, t)
				}
			}
		}
		fmt.Fprintf(m.o.Progress, "%d members, round %d of %d: %s\n", size, round, m.o.Rounds, table.last())
	}
	m.rep.Results = append(m.rep.Results, table.results()...)
	return m.finish()
}
