package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/lab/leak"
	"github.com/tacet-chat/tacet/relay"
)

// plan is what a town is to be.
type plan struct {
	Profile
	days  int
	relay relay.Config
	fault func(p *transport.Put) // done to every put of the device that counts
}

// town is one device whose spending is counted, its contacts and their relay, in
// a bubble of virtual time. The device is there all day, as in the model, but for
// its returns; its contacts sleep four hours of every ten.
type town struct {
	plan  plan
	wires leak.Wires
	began time.Time
	day   time.Duration // since began: the midnight from which is counted
	dir   string
	r     *rand.Rand

	people []*client.Client // the first is the one that counts
	asleep []time.Duration  // by person: since began, the first sleep

	mu     sync.Mutex // guards all below
	counts bool
	spent  map[transport.Purpose]int
	banks  map[int]transport.Payer
	err    error
}

const (
	cycle = 10 * time.Hour // of a contact
	sleep = 4 * time.Hour  // in each
)

// live has a town live for its days and returns what the device spent in them.
func live(t *testing.T, p plan) (s Spending) {
	t.Helper()
	dir := place(t)
	synctest.Test(t, func(t *testing.T) {
		// Days before there was a town are not taken from, so that one is let pass.
		time.Sleep(22 * time.Hour)
		w := &town{plan: p, wires: leak.NewWires(), began: time.Now(), day: 2 * time.Hour, dir: dir, r: rand.New(rand.NewPCG(1, 2)), spent: map[transport.Purpose]int{}, banks: map[int]transport.Payer{}}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = w.count()
	})
	return s
}

// place is a directory for profiles: in memory where there is some, since a vault
// waits for the disk at every commit.
func place(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "tacet-budget-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (w *town) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// run serves, makes people, lets them meet and live, and ends all of it.
func (w *town) run(ctx context.Context) error {
	cfg := w.plan.relay
	cfg.Listen, cfg.TLS, cfg.WindowMiB = leak.Name, "off", 4
	srv, err := relay.New(cfg)
	if err != nil {
		return err
	}
	srv.Use(w.wires.Listener())
	serving, end := context.WithCancel(ctx)
	var served, ran sync.WaitGroup
	served.Go(func() { w.fail(srv.Run(serving)) })
	running, stop := context.WithCancel(ctx)
	for who := range w.plan.Contacts + 1 {
		c, err := w.person(ctx, who)
		if err != nil {
			w.fail(fmt.Errorf("making person %d: %w", who, err))
			break
		}
		w.people = append(w.people, c)
		w.asleep = append(w.asleep, w.day-cycle+time.Duration(w.r.Float64()*float64(cycle)))
		ran.Go(func() { w.fail(c.Run(running)) })
	}
	if w.err == nil {
		w.fail(w.meet(ctx))
	}
	if w.err == nil {
		w.live(ctx)
	}
	stop()
	ran.Wait()
	for _, c := range w.people {
		w.fail(c.Close())
	}
	end()
	served.Wait()
	return w.err
}

// person makes a profile and opens it.
func (w *town) person(ctx context.Context, who int) (*client.Client, error) {
	wrap := func(r *network.Relay) transport.Transport { return &watched{Relay: r, w: w} }
	if who > 0 {
		wrap = func(r *network.Relay) transport.Transport { return &contact{Relay: r, w: w, who: who} }
	}
	name := fmt.Sprintf("p%02d", who)
	o := client.Options{Dir: filepath.Join(w.dir, name), Passphrase: []byte("x"), Network: w.wires.Network(who, wrap), WeakVault: true}
	if _, err := client.Create(ctx, o, client.NewProfile{Name: name, Relay: leak.Name}); err != nil {
		return nil, err
	}
	return client.Open(ctx, o)
}

// watched is the transport of the device that counts.
type watched struct {
	*network.Relay
	w *town
}

// PayWith implements client.Gate.
func (r *watched) PayWith(p transport.Payer) { r.Relay.PayWith(&payer{p, r.w}) }

// Put implements transport.Transport.
func (r *watched) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	if r.w.plan.fault != nil {
		r.w.plan.fault(&p)
	}
	return r.Relay.Put(ctx, p)
}

// contact is the transport of a contact. Of five contacts one buys tokens and pays
// for the others, which saves most of the test's time and changes nothing for the device.
type contact struct {
	*network.Relay
	w   *town
	who int
}

// PayWith implements client.Gate.
func (r *contact) PayWith(p transport.Payer) {
	r.w.mu.Lock()
	n := (r.w.plan.Contacts + 4) / 5
	if r.who <= n {
		r.w.banks[r.who%n] = p
	}
	p = r.w.banks[r.who%n]
	r.w.mu.Unlock()
	r.Relay.PayWith(p)
}

// payer counts tokens.
type payer struct {
	transport.Payer
	w *town
}

// Pay implements transport.Payer.
func (p *payer) Pay(ctx context.Context, why transport.Purpose, binding []byte) ([]byte, error) {
	token, err := p.Payer.Pay(ctx, why, binding)
	if p.w.mu.Lock(); err == nil && p.w.counts {
		p.w.spent[why]++
	}
	p.w.mu.Unlock()
	return token, err
}

// meet has everybody meet the first.
func (w *town) meet(ctx context.Context) error {
	me := w.people[0]
	connected := func(c *client.Client) func() (bool, error) {
		return func() (bool, error) { s, err := c.Status(ctx); return s.Connected, err }
	}
	for who, c := range w.people[1:] {
		if err := errors.Join(until(connected(me)), until(connected(c))); err != nil {
			return fmt.Errorf("waiting for person %d to be connected: %w", who+1, err)
		}
		inv, err := c.NewInvite(ctx, client.InviteOptions{})
		if err != nil {
			return err
		}
		if _, err := me.Accept(ctx, client.AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
			return err
		}
	}
	for _, c := range w.people {
		if err := until(func() (bool, error) {
			list, err := c.Contacts(ctx)
			n := 0
			for _, k := range list {
				if k.State == "accepted" && k.Waiting == 0 {
					n++
				}
			}
			return n == len(list) && (c != me || n == len(w.people)-1), err
		}); err != nil {
			return fmt.Errorf("waiting for people to know each other: %w", err)
		}
	}
	return nil
}

// until looks once a second of virtual time.
func until(f func() (bool, error)) error {
	for range 1800 {
		if ok, err := f(); ok || err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return errors.New("it did not come about in half an hour")
}

// awake reports whether a person has their network at a moment since began, and
// until when that stays so.
func (w *town) awake(who int, at time.Duration) (bool, time.Duration) {
	from := w.asleep[who]
	for from+cycle <= at {
		from += cycle
	}
	if at < from+sleep {
		return false, from + sleep
	}
	return true, from + cycle
}

// at waits for a moment since began.
func (w *town) at(when time.Duration) { time.Sleep(when - time.Since(w.began)) }

// live lets the days pass.
func (w *town) live(ctx context.Context) {
	w.at(w.day)
	w.mu.Lock()
	w.counts = true
	w.mu.Unlock()
	end := w.day + time.Duration(w.plan.days)*24*time.Hour
	var acts sync.WaitGroup
	for who := range w.people[1:] {
		acts.Go(func() { w.sleeps(who+1, end) })
	}
	for d := range w.plan.days {
		midnight := w.day + time.Duration(d)*24*time.Hour
		for i, at := range w.breaks() {
			long := 20 * time.Second
			if i%2 == 0 {
				long = 3 * time.Minute
			}
			acts.Go(func() {
				w.at(midnight + at)
				w.wires.Cut(0)
				time.Sleep(long)
				w.wires.Mend(0)
			})
		}
		for i := range w.plan.Messages / w.plan.PerSitting {
			w.sitting(ctx, &acts, midnight, i%5 == 1 || i%5 == 3, end)
		}
	}
	w.at(end)
	w.mu.Lock()
	w.counts = false
	w.mu.Unlock()
	acts.Wait()
}

// breaks draws when the device loses its network, at least ten minutes apart.
func (w *town) breaks() (all []time.Duration) {
	n := int(Present().Reconnects)
	for i := range n {
		slot := 24 * time.Hour / time.Duration(n)
		all = append(all, time.Duration(i)*slot+time.Duration(w.r.Float64()*float64(slot-10*time.Minute)))
	}
	return all
}

// sleeps takes a contact's network away whenever they sleep.
func (w *town) sleeps(who int, end time.Duration) {
	for from := w.asleep[who]; from < end; from += cycle {
		if from+sleep <= w.day {
			continue
		}
		w.at(max(from, w.day))
		w.wires.Cut(who)
		w.at(min(from+sleep, end))
		w.wires.Mend(who)
	}
}

// sitting has the device talk with somebody who sleeps or with somebody who does
// not. Of five, two do: 40 % in every day, so that a day is like another. Who sleeps
// answers when they wake up.
func (w *town) sitting(ctx context.Context, acts *sync.WaitGroup, midnight time.Duration, sleeps bool, end time.Duration) {
	const long = 15 * time.Minute
	var start time.Duration
	who := 0
	for who == 0 {
		start = midnight + time.Duration(startOf(w.r)*float64(time.Second))
		one := 1 + w.r.IntN(len(w.people)-1)
		is, until := w.awake(one, start)
		if is != sleeps && until-start > long && start+long < end {
			who = one
		}
	}
	name := func(who int) string { return fmt.Sprintf("p%02d", who) }
	at, answers := start, start
	for range w.plan.PerSitting {
		at += time.Duration((10 + 30*w.r.ExpFloat64()) * float64(time.Second))
		w.say(ctx, acts, at, 0, name(who))
	}
	if sleeps {
		_, answers = w.awake(who, start)
		answers += time.Minute
	}
	for range w.plan.PerSitting {
		when := answers + time.Duration(w.r.Float64()*float64(at+30*time.Second-start))
		if when < end {
			w.say(ctx, acts, when, who, name(0))
		}
	}
}

func (w *town) say(ctx context.Context, acts *sync.WaitGroup, when time.Duration, who int, to string) {
	acts.Go(func() {
		w.at(when)
		if _, err := w.people[who].Send(ctx, client.Outgoing{To: to, Text: "what people say"}); err != nil {
			w.fail(fmt.Errorf("writing: %w", err))
		}
	})
}
