package leak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/relay"
)

// Plan is one world to watch.
type Plan struct {
	Setting
	Proxy  bool // people hide their network addresses
	Groups bool // people are in groups, too
	Way    Way  // what everybody's client does wrong
}

// world is a population and its relay, inside a bubble of virtual time.
type world struct {
	plan   Plan
	rec    *Recorder
	wires  *wires
	dir    string
	people []*somebody
	groups [][]int     // who is in which
	naive  atomic.Bool // the planted behaviour is on
	tell   func(string)
	sent   atomic.Int64

	mu   sync.Mutex // guards the two below
	err  error
	said []Said
}

// somebody is one person, with one device.
type somebody struct {
	w    *world
	who  int
	c    *client.Client
	stop context.CancelFunc // nil while the program is ended
	done chan struct{}
}

func name(who int) string { return fmt.Sprintf("p%02d", who) }

// Watch runs a plan and returns what its relay saw. It must be called inside a
// bubble of testing/synctest, and returns when nothing of it runs any more.
func Watch(ctx context.Context, p Plan, tell func(string)) (t *Trace, err error) {
	w := &world{plan: p, rec: NewRecorder(), tell: tell}
	w.wires = newWires(w.rec)
	var done func()
	if w.dir, done, err = tempDir(); err != nil {
		return nil, err
	}
	defer done()
	end, err := w.serve()
	if err != nil {
		return nil, err
	}
	err = errors.Join(w.play(ctx), w.part(), end())
	if err != nil {
		return nil, err
	}
	t = w.rec.Trace()
	t.People, t.Begin, t.Sent = p.People, prelude, int(w.sent.Load())
	t.Groups, t.Said = w.groups, w.said
	return t, nil
}

// tempDir makes a directory for profiles: in memory where the system has some,
// since a vault waits for the disk at every commit. done takes it away.
func tempDir() (dir string, done func(), err error) {
	if dir, err = os.MkdirTemp("/dev/shm", "tacet-leak-"); err != nil {
		dir, err = os.MkdirTemp("", "tacet-leak-")
	}
	return dir, func() { os.RemoveAll(dir) }, err
}

// serve starts the relay. end stops it.
func (w *world) serve() (end func() error, err error) {
	// To the relay all circuits are of one network, and what one network may store in ten
	// minutes is not enough for the invites of a crowd that meets in two.
	r, err := relay.New(relay.Config{Listen: relayName, TLS: "off", WindowMiB: 4, LimitBlobs: 6000})
	if err != nil {
		return nil, err
	}
	r.Use(w.wires)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error { stop(); return <-done }, nil
}

// play makes people, has them meet, and goes through the script.
func (w *world) play(ctx context.Context) error {
	x := newScript(w.plan.Setting)
	if w.plan.Groups {
		x.gather(w.plan.Setting)
		w.groups = x.groups
	}
	for who := range w.plan.People {
		if err := w.add(ctx, who); err != nil {
			return err
		}
	}
	w.tell(fmt.Sprintf("%d people", len(w.people)))
	if err := w.meetAll(ctx, x.pairs); err != nil {
		return err
	}
	if err := w.found(ctx, x.groups); err != nil {
		return err
	}
	if time.Since(w.rec.began) > prelude-livePeriod*time.Second {
		return errors.New("the prelude is too short for so many people")
	}
	w.tell(fmt.Sprintf("%d pairs know each other", len(x.pairs)))
	w.naive.Store(true)
	var acts sync.WaitGroup
	acts.Go(func() {
		for hour := range w.plan.Hours {
			sleep(ctx, prelude+time.Duration(hour)*time.Hour-time.Since(w.rec.began))
			w.tell(fmt.Sprintf("hour %d of %d", hour+1, w.plan.Hours))
		}
	})
	for _, a := range x.acts {
		sleep(ctx, a.at-time.Since(w.rec.began))
		if ctx.Err() != nil {
			break
		}
		switch a.do {
		case say:
			acts.Go(func() { w.say(ctx, a) })
		case sayInGroup:
			acts.Go(func() { w.sayAll(ctx, a) })
		default:
			w.do(ctx, a)
		}
	}
	sleep(ctx, prelude+time.Duration(w.plan.Hours)*time.Hour-time.Since(w.rec.began))
	acts.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(ctx.Err(), w.err)
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// add makes a person and starts their program.
func (w *world) add(ctx context.Context, who int) error {
	return w.addVia(ctx, who, w.plan.Way.wrapper(who, &w.naive))
}

// addVia is add with a transport that is wrapped.
func (w *world) addVia(ctx context.Context, who int, wrap func(*network.Relay) transport.Transport) error {
	a := &access{w: w.wires, who: who, way: w.plan.Way, direct: !w.plan.Proxy, wrap: wrap}
	o := client.Options{Dir: filepath.Join(w.dir, name(who)), Passphrase: []byte("x"), Network: a, WeakVault: true, AckMean: w.plan.Way.AckMean}
	if _, err := client.Create(ctx, o, client.NewProfile{Name: name(who), Relay: relayName}); err != nil {
		return fmt.Errorf("making %s: %w", name(who), err)
	}
	c, err := client.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("opening %s: %w", name(who), err)
	}
	p := &somebody{w: w, who: who, c: c}
	w.people = append(w.people, p)
	p.start()
	return nil
}

func (p *somebody) start() {
	if p.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.done = stop, make(chan struct{})
	done := p.done
	go func() {
		defer close(done)
		if err := p.c.Run(ctx); err != nil {
			p.w.fail(fmt.Errorf("%s: %w", name(p.who), err))
		}
	}()
}

func (p *somebody) end() {
	if p.stop == nil {
		return
	}
	p.stop()
	<-p.done
	p.stop = nil
}

// part ends everybody's program.
func (w *world) part() (err error) {
	for _, p := range w.people {
		p.end()
		err = errors.Join(err, p.c.Close())
	}
	return err
}

// meetAll has pairs meet, as many at once as have nobody in common.
func (w *world) meetAll(ctx context.Context, pairs [][2]int) error {
	for left := pairs; len(left) > 0; {
		busy := map[int]bool{}
		var later [][2]int
		var now sync.WaitGroup
		for _, p := range left {
			if busy[p[0]] || busy[p[1]] {
				later = append(later, p)
				continue
			}
			busy[p[0]], busy[p[1]] = true, true
			now.Go(func() {
				if err := w.meet(ctx, w.people[p[0]], w.people[p[1]]); err != nil {
					w.fail(fmt.Errorf("%s and %s meeting: %w", name(p[0]), name(p[1]), err))
				}
			})
		}
		now.Wait()
		w.mu.Lock()
		err := w.err
		w.mu.Unlock()
		if err != nil {
			return err
		}
		left = later
	}
	return nil
}

// meet has a make an invite and b accept it.
func (w *world) meet(ctx context.Context, a, b *somebody) error {
	if err := until(ctx, func() (bool, error) {
		x, err := a.c.Status(ctx)
		y, err2 := b.c.Status(ctx)
		return x.Connected && y.Connected, errors.Join(err, err2)
	}); err != nil {
		return err
	}
	inv, err := a.c.NewInvite(ctx, client.InviteOptions{})
	if err != nil {
		return err
	}
	if !inv.Online { // it would lead nowhere yet
		return errors.New("the relay did not take the invite")
	}
	if _, err := b.c.Accept(ctx, client.AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) { return both(ctx, a, b) })
}

// both reports whether two people have accepted each other and nothing waits.
func both(ctx context.Context, a, b *somebody) (bool, error) {
	for _, s := range [][2]*somebody{{a, b}, {b, a}} {
		list, err := s[0].c.Contacts(ctx)
		if err != nil {
			return false, err
		}
		good := false
		for _, k := range list {
			good = good || k.Name == name(s[1].who) && k.State == "accepted" && k.Waiting == 0
		}
		if !good {
			return false, nil
		}
	}
	return true, nil
}

// until waits until f is true, looking twice a second of virtual time.
func until(ctx context.Context, f func() (bool, error)) error {
	for range 1200 {
		if ok, err := f(); ok || err != nil {
			return err
		}
		sleep(ctx, 500*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.New("it did not come about in ten minutes")
}

func (w *world) say(ctx context.Context, a act) {
	if _, err := w.people[a.who].c.Send(ctx, client.Outgoing{To: name(a.whom), Text: "what people say"}); err != nil {
		w.fail(fmt.Errorf("%s writing: %w", name(a.who), err))
		return
	}
	w.sent.Add(1)
}

func (w *world) do(ctx context.Context, a act) {
	switch a.do {
	case loseNetwork:
		w.wires.cut(a.who)
	case findNetwork:
		w.wires.mend(a.who)
	case stopProgram:
		w.people[a.who].end()
	case startProgram:
		w.people[a.who].start()
	}
}
