package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// whole returns how much of something a test does: all of it with TACET_CHAOS=1,
// else a taste.
func whole(taste, all int) int {
	if os.Getenv("TACET_CHAOS") == "1" {
		return all
	}
	return taste
}

// usual is the ack clock as people have it, but not in a taste.
func usual() time.Duration { return time.Duration(whole(int(200*time.Millisecond), 0)) }

// drama is a stage on which things go wrong while two people talk.
type drama struct {
	*Stage
	t     *testing.T
	ctx   context.Context
	dice  *rand.Rand
	began time.Time
	kills int
	talks [2]*talk
}

// talk is everything that one says to the other.
type talk struct {
	from, to *Person
	who      string // from's name for to
	texts    []string
	every    time.Duration
	done     chan error // of the process that runs
	said     bool
}

// raise begins a drama in which Ada and Bob have met. They have so many messages
// for each other, one every so often.
func raise(t *testing.T, o StageOptions, each int, every time.Duration) *drama {
	t.Helper()
	t.Parallel() // they mostly wait
	o.Seed = rand.Uint64()
	t.Logf("seed %d", o.Seed)
	ctx, stop := context.WithTimeout(t.Context(), 2*homeWithin)
	t.Cleanup(stop)
	s, err := Raise(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	d := &drama{Stage: s, t: t, ctx: ctx, dice: rand.New(rand.NewPCG(o.Seed, 1)), began: time.Now()}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Meet(ctx, "hello Ada"); err != nil {
		t.Fatal(err)
	}
	d.talks = [2]*talk{{from: s.Ada, to: s.Bob, who: "bob", every: every}, {from: s.Bob, to: s.Ada, who: "ada", every: every}}
	for i, k := range d.talks {
		for n := range each {
			k.texts = append(k.texts, fmt.Sprintf("%d: message %d", i, n))
		}
	}
	return d
}

// begin lets somebody's process talk on from where the last one was killed.
func (k *talk) begin(ctx context.Context) {
	done := make(chan error, 1)
	k.done = done
	if k.said {
		done <- nil
		return
	}
	texts := k.texts // more may be added while it talks
	go func() {
		_, err := k.from.ask(ctx, ask{Do: "talk", Who: k.who, Texts: texts, Every: k.every})
		done <- err
	}()
}

// kill kills somebody, or the relay, leaves them dead for a moment, and starts
// them again.
func (d *drama) kill(victim int, dead time.Duration) {
	d.t.Helper()
	d.kills++
	if victim == len(d.talks) {
		d.Host.Kill()
		d.pause(dead)
		if err := d.Host.Start(d.ctx); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	k := d.talks[victim]
	k.from.Kill()
	if err := <-k.done; err == nil {
		k.said = true
	}
	d.pause(dead)
	if err := k.from.Start(d.ctx, Fall{}); err != nil {
		d.t.Fatal(err)
	}
	k.begin(d.ctx)
}

func (d *drama) pause(p time.Duration) {
	d.t.Helper()
	timer := time.NewTimer(p)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
		d.t.Fatal(d.ctx.Err())
	}
}

// upTo returns a random time.
func (d *drama) upTo(most time.Duration) time.Duration {
	return time.Duration(d.dice.Int64N(int64(most)))
}

// homeWithin is how long a busy machine may take to bring home what waits. How long
// it took is logged.
const homeWithin = 8 * time.Minute

// calm waits until everything was said and no outbox has anything left, while
// nobody is up to mischief any more.
func (d *drama) calm() {
	d.t.Helper()
	for _, k := range d.talks {
		if err := <-k.done; err != nil {
			d.t.Fatalf("talking: %v", err)
		}
	}
	if d.Tap.Pranks() != (Pranks{}) {
		d.Tap.Play(Mischief{})
		d.Tap.Cut() // what was swallowed is asked for again on new connections
	}
	from := time.Now()
	for {
		left := 0
		for _, k := range d.talks {
			st, err := k.from.Status(d.ctx)
			if err != nil {
				d.t.Fatal(err)
			}
			left += st.Waiting
		}
		if left == 0 {
			return
		}
		if time.Since(from) > homeWithin {
			d.t.Fatalf("%d messages wait after %v", left, homeWithin)
		}
		d.pause(100 * time.Millisecond)
	}
}

// reckon stops everybody and counts, in the vaults and in the event streams.
func (d *drama) reckon() {
	d.t.Helper()
	for _, k := range d.talks {
		if err := k.from.Stop(); err != nil {
			d.t.Error(err)
		}
	}
	messages, wrong := 0, 0
	once := func(n int, text, where string) {
		if n == 1 {
			return
		}
		if wrong++; wrong <= 10 {
			d.t.Errorf("%q: %d times %s, want once", text, n, where)
		}
	}
	for _, k := range d.talks {
		sent, got, shown := d.vault(k.from), d.vault(k.to), k.to.shown()
		messages += len(k.texts)
		for _, text := range k.texts {
			once(count(sent, text, true, client.OnDevice), text, "in its sender's vault as on their device")
			once(count(got, text, false, client.Received), text, "in the other vault")
			once(shown[text], text, "shown to the other")
		}
	}
	d.t.Logf("%d messages, %d wrong, %d kills, %.1f s; the tap: %+v", messages, wrong, d.kills, time.Since(d.began).Seconds(), d.Tap.Pranks())
}

func count(events []client.Event, text string, out bool, s client.State) (n int) {
	for _, e := range events {
		if e.Text == text && e.Out == out && e.State == s {
			n++
		}
	}
	return n
}

// vault reads what somebody's vault holds. Nobody else may have it open.
func (d *drama) vault(p *Person) []client.Event {
	d.t.Helper()
	c, err := client.Open(d.ctx, client.Options{Dir: p.order.Dir, Passphrase: []byte(passphrase)})
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close()
	events, err := c.Read(d.ctx, client.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	st, err := c.Status(d.ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	if st.Waiting != 0 {
		d.t.Errorf("%s: %d messages wait, want none", p.Name, st.Waiting)
	}
	return events
}

// TestChaosOfKills kills sender, receiver and relay at random moments of a
// conversation over a bad network, and wants every message to be shown exactly once.
func TestChaosOfKills(t *testing.T) {
	d := raise(t, StageOptions{AckMean: 200 * time.Millisecond}, whole(75, 1000), 25*time.Millisecond)
	d.Tap.Play(Mischief{Swallow: 0.02, Repeat: 0.05})
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	for d.kills < whole(6, 66) {
		d.pause(d.upTo(time.Second))
		if d.dice.IntN(4) == 0 {
			d.Tap.Cut()
			continue
		}
		d.kill(d.dice.IntN(3), d.upTo(400*time.Millisecond))
	}
	d.calm()
	d.reckon()
}

// TestChaosOfTheNetwork swallows and repeats cells and echoes, and breaks
// connections before and after puts, acks and answers.
func TestChaosOfTheNetwork(t *testing.T) {
	d := raise(t, StageOptions{AckMean: 200 * time.Millisecond}, whole(75, 500), 40*time.Millisecond)
	d.Tap.Play(Mischief{Swallow: 0.1, Repeat: 0.3, Cut: 0.005})
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	d.calm()
	if p := d.Tap.Pranks(); p.Swallowed == 0 || p.Repeated == 0 {
		t.Errorf("got %+v, want some of each", p)
	}
	d.reckon()
}

// TestChaosOfALongQueue lets a queue grow while its receiver is away, and
// measures how long it takes to drain.
func TestChaosOfALongQueue(t *testing.T) {
	n := whole(300, 1500)
	d := raise(t, StageOptions{AckMean: usual()}, n, 0)
	d.talks[1].texts = nil
	d.Bob.Kill()
	d.kills++
	k := d.talks[0]
	k.begin(d.ctx)
	if err := <-k.done; err != nil {
		t.Fatal(err)
	}
	k.said = true
	st, err := d.Ada.Status(d.ctx)
	if err != nil || st.Waiting < n {
		t.Fatalf("got %d messages that wait, %v, want %d", st.Waiting, err, n)
	}
	t.Logf("%d messages queued in %.1f s", st.Waiting, time.Since(d.began).Seconds())
	back := time.Now()
	if err := d.Bob.Start(d.ctx, Fall{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	d.calm()
	t.Logf("drained in %.1f s", time.Since(back).Seconds())
	d.reckon()
}

// TestChaosOfTwoLongQueues lets both write faster than anything can be acked,
// over a bad network: more waits on both sides than may be sealed.
func TestChaosOfTwoLongQueues(t *testing.T) {
	d := raise(t, StageOptions{AckMean: usual()}, whole(400, 1000), 0)
	d.Tap.Play(Mischief{Swallow: 0.05, Repeat: 0.1})
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	d.calm()
	d.reckon()
}
