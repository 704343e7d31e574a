package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/ui/text"
)

// meet makes Ada and Bob contacts.
func (t *story) meet() error {
	t.title("Two people meet")
	t.say("A relay listens on %s. It, Ada and Bob are processes of their own (%d, %d and %d): whoever is frozen or killed below really is. "+
		"Acks go after %.1f s on average here, so that the story does not take long; people have 5 s.",
		t.Host.Addr(), t.Host.process().pid(), t.Ada.pid(), t.Bob.pid(), storyAck.Seconds())
	for _, p := range []*Person{t.Ada, t.Bob} {
		keys, err := t.secrets(t.ctx, p)
		if err != nil {
			return err
		}
		t.keys = append(t.keys, keys...)
	}
	const hello = "Hello Ada, this is Bob. Is this the place?"
	var err error
	if t.link, err = t.Meet(t.ctx, hello); err != nil {
		return err
	}
	t.say("Ada makes an invite, a link of %d characters. Bob accepts it, and his first message goes along:", len(t.link))
	t.fact(t.link)
	first, err := t.Bob.Await(t.ctx, patience, func(e client.Event) bool { return e.Out && e.Text == hello && e.State == client.OnDevice })
	if err != nil {
		return err
	}
	t.sent(t.Bob, first)
	a, err := t.Ada.ask(t.ctx, ask{Do: "safety", Who: "bob"})
	if err != nil {
		return err
	}
	b, err := t.Bob.ask(t.ctx, ask{Do: "safety", Who: "ada"})
	if err != nil {
		return err
	}
	t.want(a.Text == b.Text && a.Text != "", "safety numbers are %q and %q", a.Text, b.Text)
	t.say("Both read the same safety number, so nobody stands between them:")
	for line := range strings.Lines(text.SafetyNumber(a.Text)) {
		t.fact(t.style.Dim(strings.TrimSpace(line)))
	}
	return nil
}

// live is what it is like when both are there.
func (t *story) live() error {
	t.title("Both are there")
	for _, m := range []struct {
		p *Person
		s string
	}{{t.Ada, "It is. Nobody but us can tell that we met."}, {t.Bob, "Not even the relay?"}, {t.Ada, "Look at the end of this story."}} {
		e, err := t.write(m.p, m.s)
		if err != nil {
			return err
		}
		if err := t.arrives(m.p, e); err != nil {
			return err
		}
		t.sent(m.p, e)
	}
	t.say("A message is queued first, sealed in its author's vault. The relay answers every put after 1.5 s, whatever happened, and says how many devices "+
		"opened the cell. Only the other device's own ack, end to end, ends the wait: %q.", text.State(client.OnDevice))
	return nil
}

// frozen shows that a frozen device is not counted.
func (t *story) frozen() error {
	if err := t.quiet(); err != nil {
		return err
	}
	t.title("A frozen device does not count")
	if err := t.Bob.Freeze(); err != nil {
		t.say("This system cannot freeze a process: left out.")
		return nil
	}
	since := time.Now()
	t.say("Bob's process is stopped in its tracks (SIGSTOP). Its connection stands, the system takes bytes for it, and nobody reads them.")
	e, err := t.write(t.Ada, "Bob, are you awake?")
	if err != nil {
		return err
	}
	if _, err := t.Ada.Reach(t.ctx, patience, e.Seq, client.Offered); err != nil {
		return err
	}
	if err := t.wait(4 * time.Second); err != nil {
		return err
	}
	t.sent(t.Ada, e)
	tries, delivered := t.answers(t.Ada, since)
	now, err := t.Ada.Reach(t.ctx, patience, e.Seq, client.Offered)
	if err != nil {
		return err
	}
	t.want(tries > 0 && delivered == 0, "a frozen device was counted: %d answers said delivered %d", tries, delivered)
	t.want(now.State == client.Offered, "the message to a frozen device is %s, not offered", now.State)
	t.say("It was offered %s in the meantime, and the relay answered every time: delivered %d.", times(tries), delivered)
	thawed := time.Now()
	if err := t.Bob.Thaw(); err != nil {
		return err
	}
	if err := t.arrives(t.Ada, e); err != nil {
		return err
	}
	t.say("Bob's process goes on (SIGCONT). After %.1f s:", time.Since(thawed).Seconds())
	t.sent(t.Ada, e)
	return nil
}

// answers counts the answers to somebody's puts that were made since a moment,
// and what they add up to.
func (t *story) answers(p *Person, since time.Time) (n, delivered int) {
	type put struct {
		peer string
		id   [wire.PutIDSize]byte
	}
	mine := map[put]bool{}
	for _, s := range t.Tap.Seen(since) {
		if s.Kind() == KindPut && strings.HasPrefix(s.Peer, p.order.From) {
			for b := s.Payload; len(b) > 0; b = b[wire.PutSize:] {
				mine[put{s.Peer, [wire.PutIDSize]byte(b)}] = true
			}
		}
		for _, a := range s.Answers() {
			if mine[put{s.Peer, a.ID}] {
				n++
				delivered += int(a.Delivered)
			}
		}
	}
	return n, delivered
}

// away shows that messages wait for somebody who is not there.
func (t *story) away() error {
	t.title("Bob is away")
	if err := t.Bob.Stop(); err != nil {
		return err
	}
	var waiting []client.Event
	for _, s := range []string{"You left before I could say it:", "the key lies under the third pot,", "and the tea is in the blue tin."} {
		e, err := t.write(t.Ada, s)
		if err != nil {
			return err
		}
		waiting = append(waiting, e)
	}
	last := waiting[len(waiting)-1]
	if _, err := t.Ada.Reach(t.ctx, patience, last.Seq, client.Offered); err != nil {
		return err
	}
	st, err := t.Ada.Status(t.ctx)
	if err != nil {
		return err
	}
	t.want(st.Waiting == len(waiting), "%d messages wait for Bob, not %d", st.Waiting, len(waiting))
	t.say("Bob's process has ended. What Ada writes now waits on her device, in her outbox (%s), and nowhere else: the relay keeps a minute of sealed cells in memory, and has no mailbox.",
		text.Count(st.Waiting, "message"))
	if err := t.Bob.Start(t.ctx, Fall{}); err != nil {
		return err
	}
	back := time.Now()
	for _, e := range waiting {
		if err := t.arrives(t.Ada, e); err != nil {
			return err
		}
	}
	t.say("Bob comes back. After %.1f s:", time.Since(back).Seconds())
	for _, e := range waiting {
		t.sent(t.Ada, e)
	}
	return nil
}

// crash kills Bob between taking a message in and saying so.
func (t *story) crash() error {
	t.title("Killed at the worst moment")
	if err := t.Bob.Fall(t.ctx, Fall{Boundary: client.BoundaryCellCommitted, Nth: 1}); err != nil {
		return err
	}
	t.say("Bob's process will kill itself (SIGKILL) when it has written a message into its vault, before it shows it, counts as there or acks it.")
	e, err := t.write(t.Ada, "This one arrives while you fall.")
	if err != nil {
		return err
	}
	select {
	case <-t.Bob.Over():
	case <-time.After(patience):
		t.want(false, "Bob's process was not killed")
	}
	if err := t.Bob.Start(t.ctx, Fall{}); err != nil {
		return err
	}
	if err := t.arrives(t.Ada, e); err != nil {
		return err
	}
	t.sent(t.Ada, e)
	n := t.Bob.shown()[e.Text]
	t.want(n == 1, "the message was shown %s", times(n))
	t.say("It died, was started again, and got the cell a second time. Bob was shown the message %s.", times(n))
	return nil
}

// relayDies kills the relay while both write.
func (t *story) relayDies() error {
	t.title("The relay dies")
	t.Host.Kill()
	type line struct {
		p *Person
		e client.Event
	}
	var said []line
	for _, m := range []struct {
		p *Person
		s string
	}{{t.Ada, "Is the relay gone?"}, {t.Bob, "It was killed, I think."}, {t.Ada, "Then we wait."}, {t.Bob, "Nothing of this was with it."}} {
		e, err := t.write(m.p, m.s)
		if err != nil {
			return err
		}
		said = append(said, line{m.p, e})
	}
	if err := t.wait(1500 * time.Millisecond); err != nil {
		return err
	}
	for _, l := range said {
		e, err := l.p.Reach(t.ctx, patience, l.e.Seq, client.Queued)
		t.want(err == nil && e.State == client.Queued, "a message without a relay is %s", e.State)
	}
	t.say("The relay's process was killed (SIGKILL). Both go on writing: %s are %s.", text.Count(len(said), "message"), text.State(client.Queued))
	if err := t.Host.Start(t.ctx); err != nil {
		return err
	}
	back := time.Now()
	for _, l := range said {
		if err := t.arrives(l.p, l.e); err != nil {
			return err
		}
	}
	t.say("It starts again on the same port with the same directory (process %d). After %.1f s:", t.Host.process().pid(), time.Since(back).Seconds())
	for _, l := range said {
		t.sent(l.p, l.e)
	}
	return nil
}

// times says how often: once, twice, 3 times.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
