package leak

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
)

// The third attack asks whether somebody is there, by putting cells and reading
// what the relay answers: how many devices echoed, and when the answer came. It is
// the "silent" probing of delivery receipts (Gegenhuber, Günther, Maier, Judmayer,
// Holzbauer, Frenzel and Ullrich, "Careless Whisper", 2024), here by
//
//   - a contact, who may know, and shows that the attack works;
//   - somebody whom the target has blocked, and who still has all keys;
//   - a stranger whom a contact told the target's addresses;
//   - the holder of an invite, who knows a contact route and is not accepted.
//
// Each uses a real client that sends at its own times, and puts its last cell again
// about twice a minute.
var askers = []string{"contact", "blocked", "stranger", "invite holder"}

// poll is one question and its answer.
type poll struct {
	at        time.Duration
	online    bool // the truth
	delivered float64
	took      float64 // seconds
}

// Asked is what came of the third attack, by asker: how often the asker, given
// an answer from when the target was there and one from when it was not, can tell
// which is which.
type Asked map[string]Score

// poller is the transport of somebody who asks.
type poller struct {
	*network.Relay
	deaf atomic.Bool // what comes is thrown away: an asker who would have an answer could not go on

	mu   sync.Mutex // guards all below
	last *transport.Put
	note func(poll)
}

// Put implements transport.Transport and keeps the cell.
func (p *poller) Put(ctx context.Context, x transport.Put) (transport.Receipt, error) {
	cell := *x.Cell
	p.mu.Lock()
	p.last = &transport.Put{Address: x.Address, Cell: &cell, Isolate: x.Isolate}
	p.mu.Unlock()
	return p.ask(ctx, x)
}

func (p *poller) ask(ctx context.Context, x transport.Put) (transport.Receipt, error) {
	began := time.Now()
	r, err := p.Relay.Put(ctx, x)
	p.mu.Lock()
	note := p.note
	p.mu.Unlock()
	if err == nil && note != nil {
		note(poll{delivered: float64(r.Delivered), took: time.Since(began).Seconds()})
	}
	return r, err
}

// again puts the last cell, or noise to its address, as a put of its own.
func (p *poller) again(ctx context.Context, noise bool) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last == nil {
		return
	}
	x := *last
	rand.Read(x.ID[:])
	if noise {
		x.Cell = new(transport.Cell)
		rand.Read(x.Cell[:])
	}
	p.ask(ctx, x)
}

// Watch implements transport.Transport.
func (p *poller) Watch(ctx context.Context, w transport.Watch) error {
	deliver := w.Deliver
	w.Deliver = func(d transport.Delivery) {
		if !p.deaf.Load() {
			deliver(d)
		}
	}
	return p.Relay.Watch(ctx, w)
}

// Ask runs the third attack for some hours against a target whose client behaves
// in a way. It must be called inside a bubble of testing/synctest.
func Ask(ctx context.Context, hours int, seed uint64, way Way, tell func(string)) (_ Asked, err error) {
	a := &asking{hours: hours, r: mrand.New(mrand.NewPCG(seed, 3)), polls: map[string][]poll{}}
	w := &world{plan: Plan{Setting: Setting{People: 4, Hours: hours, Seed: seed}, Way: way}, rec: NewRecorder(), tell: tell}
	w.wires = newWires(w.rec)
	a.w = w
	dir, done, err := tempDir()
	if err != nil {
		return nil, err
	}
	defer done()
	w.dir = dir
	end, err := w.serve()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(a.play(ctx), w.part(), end()); err != nil {
		return nil, err
	}
	p := Asked{}
	for _, who := range askers {
		p[who] = tellApart(a.polls[who])
	}
	return p, nil
}

type asking struct {
	w     *world
	hours int
	r     *mrand.Rand

	mu     sync.Mutex // guards the two below
	online bool
	polls  map[string][]poll
}

func (a *asking) note(who string, p poll) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.at, p.online = time.Since(a.w.rec.began), a.online
	a.polls[who] = append(a.polls[who], p)
}

// play has the target meet the four, then come and go while they ask.
func (a *asking) play(ctx context.Context) error {
	w := a.w
	if err := w.add(ctx, 0); err != nil { // the target
		return err
	}
	w.naive.Store(true)
	all := map[string]*poller{}
	for i, who := range []string{"contact", "blocked", "invite holder"} {
		p := &poller{}
		all[who] = p
		wrap := func(r *network.Relay) transport.Transport { p.Relay = r; return p }
		if err := w.addVia(ctx, i+1, wrap); err != nil {
			return err
		}
	}
	target, friend, enemy, guest := w.people[0], w.people[1], w.people[2], w.people[3]
	for _, p := range []*somebody{friend, enemy} {
		if err := w.meet(ctx, target, p); err != nil {
			return err
		}
	}
	if !w.plan.Way.BlockHides {
		if _, err := target.c.Answer(ctx, name(2), client.AnswerBlock); err != nil {
			return err
		}
	}
	all["invite holder"].deaf.Store(true)
	inv, err := target.c.NewInvite(ctx, client.InviteOptions{Uses: 5, Ask: true})
	if err != nil {
		return err
	}
	if err := until(ctx, func() (bool, error) { s, err := guest.c.Status(ctx); return s.Connected, err }); err != nil {
		return err
	}
	if _, err := guest.c.Accept(ctx, client.AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
		return err
	}
	sleep(ctx, 2*time.Minute) // what they put to be heard at all is no question
	for who, p := range all {
		p.mu.Lock()
		p.note = func(x poll) { a.note(who, x) }
		p.mu.Unlock()
	}
	return a.ask(ctx, all)
}

// ask has everybody ask until the hours are over.
func (a *asking) ask(ctx context.Context, all map[string]*poller) error {
	ctx, stop := context.WithTimeout(ctx, time.Duration(a.hours)*time.Hour)
	defer stop()
	var run sync.WaitGroup
	stranger := &poller{Relay: all["contact"].Relay, note: func(x poll) { a.note("stranger", x) }}
	seeds := a.r.Uint64()
	loop := func(i uint64, pause time.Duration, f func()) {
		r := mrand.New(mrand.NewPCG(seeds, i))
		run.Go(func() {
			for {
				sleep(ctx, time.Duration((0.5+r.Float64())*float64(pause)))
				if ctx.Err() != nil {
					return
				}
				f()
			}
		})
	}
	loop(1, 35*time.Second, func() { all["contact"].again(ctx, false) })
	loop(2, 35*time.Second, func() { all["blocked"].again(ctx, false) })
	loop(3, 35*time.Second, func() { all["invite holder"].again(ctx, false) })
	loop(4, 35*time.Second, func() {
		all["contact"].mu.Lock()
		stranger.last = all["contact"].last
		all["contact"].mu.Unlock()
		stranger.again(ctx, true)
	})
	loop(5, 10*time.Minute, func() { a.w.say(ctx, act{who: 1, whom: 0}) })
	loop(6, 10*time.Minute, func() { a.w.say(ctx, act{who: 2, whom: 0}) })
	a.mu.Lock()
	a.online = true
	a.mu.Unlock()
	for ctx.Err() == nil {
		sleep(ctx, time.Duration((0.2+a.r.Float64())*float64(25*time.Minute)))
		a.mu.Lock()
		a.online = !a.online
		on := a.online
		a.mu.Unlock()
		if on {
			a.w.wires.mend(0)
		} else {
			a.w.wires.cut(0)
		}
	}
	run.Wait()
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if a.w.err != nil {
		return fmt.Errorf("asking: %w", a.w.err)
	}
	return nil
}

// tellApart learns from every second hour what answers look like when the target
// is there, and guesses in the others.
func tellApart(all []poll) Score {
	r := mrand.New(mrand.NewPCG(5, uint64(len(all))))
	var trials []trial
	for fold := range 2 {
		var known []example
		var there, away []poll
		for _, p := range all {
			switch {
			case int(p.at/time.Hour)%2 != fold:
				known = append(known, example{p.features(), p.online})
			case p.online:
				there = append(there, p)
			default:
				away = append(away, p)
			}
		}
		if len(known) == 0 || len(there) == 0 || len(away) == 0 {
			continue
		}
		m := fit(known)
		for _, p := range there {
			q := away[r.IntN(len(away))]
			c := credit([]float64{m.score(p.features()), m.score(q.features())}, func(i int) bool { return i == 0 })
			trials = append(trials, trial{c, 0.5, int64(p.at / time.Hour)})
		}
	}
	return rate(trials)
}

func (p *poll) features() []float64 {
	return []float64{p.delivered, p.took, math.Abs(p.took - 1.5)}
}
