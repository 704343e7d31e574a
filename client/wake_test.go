package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/wire"
)

// bell is a wake gateway inside the test, with its push service: it opens real
// tickets and pushes real bodies, at once, to whoever has the endpoint.
type bell struct {
	key    key.XWing
	prover *wake.Prover
	pin    [32]byte

	mu    sync.Mutex // guards the rest
	rings map[string]func(body []byte)
	spent map[[wake.IDSize]byte]bool
	sizes map[int]int // of what was pushed
	bad   int         // tickets that were not good
	down  error       // what a relay says to a ticket
}

const gatewayName = "gateway.test"

func newBell(t *testing.T) *bell {
	t.Helper()
	k, err := key.New[key.XWingRole](bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	p, err := key.New[key.WakeRole](bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return &bell{key: k, prover: wake.NewProver(p), pin: sha256.Sum256([]byte("gateway key")), rings: map[string]func([]byte){}, spent: map[[wake.IDSize]byte]bool{}, sizes: map[int]int{}}
}

// tally returns how many tickets were not good, and the sizes of what was pushed.
func (b *bell) tally() (bad int, sizes map[int]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad, maps.Clone(b.sizes)
}

func (b *bell) push(s *wake.Subscription, m wake.Message) error {
	body, err := wake.Encrypt(s, m, rand.Reader)
	if err != nil {
		return err
	}
	b.mu.Lock()
	ring := b.rings[s.Endpoint]
	b.sizes[len(body)]++
	b.mu.Unlock()
	if ring == nil {
		return transport.ErrNothing
	}
	go ring(body)
	return nil
}

func (b *bell) open(ticket []byte) {
	t, err := wake.Open(b.key, ticket)
	b.mu.Lock()
	good := err == nil && !b.spent[t.ID] && b.prover.MACGood(t.MAC, t.Endpoint) && t.Expires > uint64(time.Now().Unix()) && t.Expires <= uint64(time.Now().Unix())+wake.MaxLife
	if good {
		b.spent[t.ID] = true
	} else {
		b.bad++
	}
	b.mu.Unlock()
	if good {
		b.push(&t.Subscription, wake.Message{})
	}
}

// belled is the way of a device to its relay and to the gateway.
type belled struct {
	*way
	bell *bell
	own  bool // the relay is the gateway, too
}

func (b *belled) Identify(ctx context.Context, name string) ([32]byte, error) {
	if name == gatewayName {
		return b.bell.pin, nil
	}
	return b.way.Identify(ctx, name)
}

func (b *belled) Open(name string, pin [32]byte) (transport.Transport, error) {
	t, err := b.way.Open(name, pin)
	if err != nil {
		return nil, err
	}
	return &rung{endpoint: t.(*endpoint), bell: b.bell, gateway: b.own || name == gatewayName, foreign: name == gatewayName}, nil
}

// rung is a relay that passes tickets on, or the gateway.
type rung struct {
	*endpoint
	bell             *bell
	gateway, foreign bool
}

func (r *rung) Descriptor(ctx context.Context) (d wire.Descriptor, err error) {
	d = wire.Descriptor{Version: 1, Period: r.period, Ping: 60, Gate: "open"}
	if !r.foreign {
		if d, err = r.endpoint.Descriptor(ctx); err != nil {
			return d, err
		}
	}
	if r.gateway {
		public := key.XWingPublicOf(r.bell.key)
		d.Roles, d.Wake = append(d.Roles, wire.RoleWake), public[:]
	}
	return d, nil
}

func (r *rung) Wake(ctx context.Context, ticket []byte) error {
	sum := sha256.Sum256(ticket)
	if err := r.pay(ctx, transport.PayWake, sum[:]); err != nil {
		return err
	}
	if err := r.asked("wake", r.pin); err != nil {
		return err
	}
	r.bell.mu.Lock()
	down := r.bell.down
	r.bell.mu.Unlock()
	if down != nil {
		return down
	}
	go r.bell.open(ticket)
	return nil
}

func (r *rung) ProveWake(_ context.Context, request []byte) error {
	p, err := wake.ParseProve(request)
	if err != nil {
		return transport.ErrRefused
	}
	return r.bell.push(&p.Subscription, wake.Message{Challenge: true, Code: r.bell.prover.Code(uint64(time.Now().Unix()), p.Endpoint)})
}

func (r *rung) ConfirmWake(_ context.Context, request []byte) (mac [32]byte, err error) {
	c, err := wake.ParseConfirm(request)
	if err != nil || !r.bell.prover.CodeGood(c.Code, uint64(time.Now().Unix()), c.Endpoint) {
		return mac, transport.ErrRefused
	}
	return r.bell.prover.MAC(c.Endpoint), nil
}

// joinWaking is join for somebody whose way has a gateway.
func (r *realm) joinWaking(t *testing.T, b *bell, name string) *person {
	t.Helper()
	p := &person{t: t, name: name, opt: Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: &belled{way: &way{realm: r, name: name}, bell: b}, WeakVault: true}}
	if _, err := Create(t.Context(), p.opt, NewProfile{Name: name, Relay: realmName}); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

func urlOf(name string) string { return "https://push.test/" + name }

// woken sets a person's endpoint, and rings there as a push client does: by a
// process that receives and ends, or through the one that runs.
func (b *bell) woken(p *person, got func(Pushed)) {
	p.t.Helper()
	// One process at a time. Not by a mutex: who waits for one keeps a virtual clock
	// from going on, and who holds it here waits for that clock.
	one := make(chan struct{}, 1)
	b.mu.Lock()
	b.rings[urlOf(p.name)] = func(body []byte) {
		one <- struct{}{}
		defer func() { <-one }()
		c, err := Open(context.Background(), p.opt)
		mine := err == nil
		if errors.Is(err, ErrLocked) {
			c, err = p.Client, nil
		}
		if err != nil {
			p.t.Errorf("opening after a push: %v", err)
			return
		}
		told, err := c.ReceivePush(context.Background(), body)
		if err != nil && !errors.Is(err, ErrClosed) {
			p.t.Errorf("receiving: %v", err)
		}
		if mine {
			if err := c.Close(); err != nil {
				p.t.Error(err)
			}
		}
		if got != nil {
			got(told)
		}
	}
	b.mu.Unlock()
	if _, err := p.SetWake(p.t.Context(), WakeOptions{URL: urlOf(p.name), Gateway: gatewayName}); err != nil {
		p.t.Fatalf("setting: %v", err)
	}
	time.Sleep(2 * time.Minute) // proven, and contacts have tickets
	synctest.Wait()
	if st, err := p.Status(p.t.Context()); err != nil || st.Wake == nil || !st.Wake.Proven {
		p.t.Fatalf("got %+v, %v, want a proven endpoint", st.Wake, err)
	}
}

// held counts the tickets that a person has of all contacts.
func (p *person) held() (n int) {
	p.t.Helper()
	err := p.vault.View(p.t.Context(), func(tx *vault.Tx) error {
		n = 0
		return (vault.Store{Tx: tx}).EachWake(func(_ int64, r *convo.WakeRecord) error { n += len(r.Held); return nil })
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func TestSleepingDeviceIsWokenAndFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		meet(t, ada, bob)
		var mu sync.Mutex
		var told []Pushed
		puts := r.counted("put")
		b.woken(bob, func(p Pushed) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, p)
		})
		if n := ada.held(); n != 4 {
			t.Fatalf("Ada has %d tickets, want 4", n)
		}
		t.Logf("4 tickets cost %d cells, acks included", r.counted("put")-puts)
		bob.stop()
		time.Sleep(time.Hour)
		puts = r.counted("put")
		e := ada.send("bob", "wake up")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ada.state(e); got != OnDevice {
			t.Errorf("the message is %s, want on their device", got)
		}
		mu.Lock()
		last := told[len(told)-1]
		mu.Unlock()
		if last.Kind != PushedWake || !last.Connected || len(last.Events) != 1 || last.Events[0].Text != "wake up" {
			t.Errorf("got %+v, want a wake that brought the message", last)
		}
		t.Logf("waking and a message: %d cells", r.counted("put")-puts)
		if n := r.counted("wake"); n != 1 {
			t.Errorf("got %d tickets used, want 1", n)
		}
		// Nobody there: not per copy, and not again in the same silence.
		b.mu.Lock()
		b.rings[urlOf("Bob")] = func([]byte) {} // his push client is off
		b.mu.Unlock()
		for range 20 {
			ada.send("bob", "and more")
		}
		time.Sleep(24 * time.Hour)
		if n := r.counted("wake"); n != 2 {
			t.Errorf("20 messages in a day of silence: got %d tickets used in all, want 2", n)
		}
		// A new process finds the same silence.
		ada.stop()
		ada.start()
		time.Sleep(5 * time.Minute)
		if n := r.counted("wake"); n > 3 {
			t.Errorf("after a restart: got %d tickets used, want at most one more", n)
		}
		if bad, sizes := b.tally(); bad != 0 || len(sizes) != 1 || sizes[wake.PushSize] == 0 {
			t.Errorf("got %d bad tickets and pushes of sizes %v, want none and one size", bad, sizes)
		}
	})
}

// TestTwoWhoCanBeWoken are never there together, and their relay keeps nothing:
// each is woken by what the other writes.
func TestTwoWhoCanBeWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		meet(t, ada, bob)
		b.woken(ada, nil)
		b.woken(bob, nil)
		ada.stop()
		bob.stop()
		days := 5
		if os.Getenv("TACET_LONG") != "" {
			days = 30
		}
		people := [2]*person{ada, bob}
		began := time.Now()
		for day := range days {
			for who, p := range people {
				untilClock(time.Duration(8+12*who) * time.Hour)
				p.start()
				for n := range 2 {
					p.send(people[1-who].name, fmt.Sprintf("%s %d.%d", p.name, day, n))
					time.Sleep(2 * time.Minute)
				}
				p.stop()
			}
		}
		for who, p := range people {
			p.start()
			got := map[string]int{}
			for _, text := range p.texts(Received) {
				got[text]++
			}
			missing := 0
			for day := range days {
				for n := range 2 {
					if k := got[fmt.Sprintf("%s %d.%d", people[1-who].name, day, n)]; k != 1 {
						missing++
						t.Errorf("%s read %d.%d of %s %d times, want once", p.name, day, n, people[1-who].name, k)
					}
				}
			}
			st, err := p.Status(t.Context())
			if err != nil || st.Waiting > 16 {
				t.Errorf("%s: got %d that wait, %v", p.name, st.Waiting, err)
			}
			p.stop()
		}
		bad, _ := b.tally()
		t.Logf("%d messages in %v, nothing parked: %d tickets used, %d puts, %d bad tickets", days*4, time.Since(began).Round(time.Hour), r.counted("wake"), r.counted("put"), bad)
	})
}

func TestBlockedContactWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		meet(t, ada, bob)
		var mu sync.Mutex
		kinds := map[string]int{}
		b.woken(bob, func(p Pushed) {
			mu.Lock()
			defer mu.Unlock()
			kinds[p.Kind]++
		})
		if _, err := bob.Answer(t.Context(), "ada", AnswerBlock); err != nil {
			t.Fatal(err)
		}
		if n := bob.held(); n != 0 {
			t.Errorf("Bob keeps %d tickets of somebody blocked", n)
		}
		// One that was on its way when that happened does not come back.
		err := bob.vault.Update(t.Context(), func(tx *vault.Tx) error {
			s := vault.Store{Tx: tx}
			people, err := s.Contacts()
			if err != nil {
				return err
			}
			return bob.engine.ReturnTicket(s, people[0].ID, convo.HeldTicket{Ticket: []byte{1}, Expires: time.Now().Add(time.Hour).Unix()})
		})
		if n := bob.held(); err != nil || n != 0 {
			t.Errorf("got %d tickets back, %v", n, err)
		}
		bob.stop()
		time.Sleep(time.Hour)
		asked := r.counted("watch")
		ada.send("bob", "hello?")
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if kinds[PushedUnknown] != 1 || kinds[PushedWake] != 0 {
			t.Errorf("got %v, want one push of which nothing came", kinds)
		}
		if n := r.counted("watch") - asked; n > 2 { // Ada's own periods
			t.Errorf("got %d watches, want none of Bob's", n)
		}
	})
}

func TestWakeIsSetAndTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		meet(t, ada, bob)
		ctx := t.Context()
		for name, c := range map[string]struct {
			o    WakeOptions
			want error
		}{
			"not https":        {WakeOptions{URL: "http://push.test/x", Gateway: gatewayName}, ErrEndpoint},
			"our own relay":    {WakeOptions{URL: urlOf("x")}, ErrSameOperator},
			"it is no gateway": {WakeOptions{URL: urlOf("x"), SameOperator: true}, ErrNoGateway},
			"no such endpoint": {WakeOptions{URL: urlOf("nobody"), Gateway: gatewayName}, ErrPushService},
		} {
			if _, err := bob.SetWake(ctx, c.o); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
		if err := bob.TestWake(ctx); !errors.Is(err, ErrNoWake) {
			t.Errorf("got %v, want ErrNoWake", err)
		}
		if st, err := bob.Status(ctx); err != nil || st.Wake != nil {
			t.Errorf("got %+v, %v, want nothing set", st.Wake, err)
		}
		b.woken(bob, nil)
		if err := bob.TestWake(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if st, err := bob.Status(ctx); err != nil || st.Wake.Tests != 1 || st.Wake.Given != 4 {
			t.Errorf("got %+v, %v, want one test that came, and 4 tickets given", st.Wake, err)
		}
		// A ticket that did not leave is not lost.
		b.mu.Lock()
		b.down = transport.ErrEmpty
		b.mu.Unlock()
		bob.stop()
		ada.send("bob", "one")
		time.Sleep(time.Minute)
		if n := ada.held(); n != 4 {
			t.Errorf("Ada has %d tickets, want all 4", n)
		}
		b.mu.Lock()
		b.down = nil
		b.mu.Unlock()
		bob.start()
		time.Sleep(time.Minute)
		// Another endpoint takes the place of the first, whose tickets are forgotten.
		b.woken(bob, nil)
		if n := ada.held(); n != 4 {
			t.Errorf("after a new endpoint Ada has %d tickets, want 4", n)
		}
		if err := bob.WakeOff(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if n := ada.held(); n != 0 {
			t.Errorf("after off Ada has %d tickets, want none", n)
		}
		if st, err := bob.Status(ctx); err != nil || st.Wake != nil {
			t.Errorf("after off: got %+v, %v, want nothing", st.Wake, err)
		}
	})
}

func TestWhatNobodyPushedIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		meet(t, ada, bob)
		b.woken(bob, nil)
		for name, body := range map[string][]byte{"nothing": nil, "noise": bytes.Repeat([]byte{1}, wake.PushSize), "long": make([]byte, 5000)} {
			if got, err := bob.ReceivePush(t.Context(), body); err != nil || got.Kind != PushedUnknown {
				t.Errorf("%s: got %+v, %v, want that it is unknown", name, got, err)
			}
		}
	})
}

// Where a relay wants tokens a wake costs one. Who has none wakes nobody: what
// was written waits, the ticket is kept, and nothing was asked for that would say
// who wanted to.
func TestAWakeIsPaidAndAnEmptyPurseWakesNobody(t *testing.T) {
	long(t)
	in(t, func(t *testing.T) {
		r, b := newRealm(1800), newBell(t)
		g := r.wantsTokens("invite")
		ada, bob := r.joinWaking(t, b, "Ada"), r.joinWaking(t, b, "Bob")
		ada.enter(r)
		bob.enter(r)
		meet(t, ada, bob)
		b.woken(bob, nil)
		paid := func() (n int) {
			g.locked(func() { n = g.paid[transport.PayWake] })
			return n
		}
		if paid() != 0 || ada.held() != 4 {
			t.Fatalf("got %d wakes paid and %d tickets, want none and 4", paid(), ada.held())
		}
		bob.stop()
		time.Sleep(time.Hour)
		e := ada.send("Bob", "wake up")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if ada.state(e) != OnDevice || paid() != 1 || r.counted("wake") != 1 {
			t.Errorf("got %s, %d paid, %d asked, want one wake that was paid with one token", ada.state(e), paid(), r.counted("wake"))
		}
		bob.start()
		time.Sleep(2 * time.Minute) // Ada is given another ticket
		bob.stop()
		time.Sleep(time.Hour)
		arrived := ada.send("Bob", "so that a put context is open")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if ada.state(arrived) != OnDevice || paid() != 2 {
			t.Fatalf("got %s and %d paid, want a second wake", ada.state(arrived), paid())
		}
		time.Sleep(11 * time.Minute) // so that he may be woken again
		pay := ada.purse.Of(r.pin)
		for { // something that spends all
			if _, err := pay.Pay(t.Context(), transport.PayPut, []byte("x")); errors.Is(err, transport.ErrEmpty) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		held := ada.held()
		e = ada.send("Bob", "and who wakes him now?")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if ada.state(e) == OnDevice || paid() != 2 || r.counted("wake") != 2 || ada.held() != held || held == 0 {
			t.Errorf("empty: got %s, %d paid, %d asked, %d tickets of %d, want that nobody is woken and nothing is lost",
				ada.state(e), paid(), r.counted("wake"), ada.held(), held)
		}
		if st := ada.tokens(0); st.Left != 0 || !strings.Contains(st.Trouble, "until") {
			t.Errorf("got %+v, want it to say until when", st)
		}
		b.woken(ada, nil) // gateways are paid nothing
		if err := ada.TestWake(t.Context()); !errors.Is(err, ErrNoTokens) {
			t.Errorf("a test: got %v", err)
		}
		bob.start()
		fair(t, g)
	})
}
