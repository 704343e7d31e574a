package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/ui/text"
)

// storyAck is the mean delay of acks in a story. People have 5 s.
const storyAck = 1500 * time.Millisecond

// patience is how long a story waits for what should happen. It is far above
// what things take: a busy machine is no fault.
const patience = 45 * time.Second

// story tells what happens on a stage, in plain sentences, and remembers what
// was not as it should be.
type story struct {
	*Stage
	ctx   context.Context
	out   io.Writer
	style text.Style
	scene int
	wrong []error
	link  string        // of the invite that was used
	keys  []hunt.Needle // of both people

	audited bool         // an audit belongs to the story
	options StageOptions // of this stage
	tablet  *Person      // Ada's second device, if there is one
}

// TellOptions say how a story is told.
type TellOptions struct {
	Colour bool
	Audit  bool // with an audit of the running relay
}

// Tell plays a story with a relay and two people to its end, without a hand,
// and writes it to out. It fails if anything in it was not as it should be. The
// last line counts what the processes reported.
func Tell(ctx context.Context, out io.Writer, o TellOptions) error {
	t := &story{ctx: ctx, out: out, style: text.Style{On: o.Colour}, audited: o.Audit}
	t.plain("Tacet: two people, later three, and a relay, on this machine and for the length of this story.")
	stageOptions := StageOptions{AckMean: storyAck, Record: true, Seed: 1, Spread: -1}
	if o.Audit {
		stageOptions.Config = `roles = ["live", "blob", "park"]`
	}
	stage, err := Raise(ctx, stageOptions)
	if err != nil {
		return err
	}
	t.Stage, t.options = stage, stageOptions
	err = t.play()
	tally, counted := t.count()
	t.check(stage.Close(), "ending the processes")
	if err != nil {
		return errors.Join(append(t.wrong, err)...)
	}
	t.check(counted, "counting")
	for _, err := range t.wrong {
		t.plain(t.style.Bad("not as it should be:") + " " + err.Error())
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, tally)
	if !tally.Good() && counted == nil {
		t.wrong = append(t.wrong, errors.New("messages were not delivered, or shown twice"))
	}
	return errors.Join(t.wrong...)
}

// play plays all scenes. An error ends the story; what is merely wrong does not.
func (t *story) play() error {
	scenes := []func() error{t.meet, t.live, t.frozen, t.away, t.crash, t.relayDies, t.group, t.device, t.sightings}
	if t.audited {
		scenes = append(scenes, t.parked)
	}
	for _, scene := range append(scenes, t.hunt) {
		if err := scene(); err != nil {
			return err
		}
	}
	return nil
}

// Tally is what became of all messages, by what the processes report.
type Tally struct{ Sent, Delivered, Waiting, Lost, Twice int }

// String is the last line of a story.
func (n Tally) String() string {
	return fmt.Sprintf("demo: %d sent, %d delivered, %d lost, %d shown twice", n.Sent, n.Delivered, n.Lost, n.Twice)
}

// Good reports whether every message was delivered, once.
func (n Tally) Good() bool { return n.Sent > 0 && n.Delivered == n.Sent && n.Lost == 0 && n.Twice == 0 }

// Count asks both people what is in their vaults, and compares it with what
// their processes have shown in all their lives: a message is delivered when
// its author has it as on their device, and the other has it and was shown it.
// What is not delivered and not waiting in an outbox is lost.
func (s *Stage) Count(ctx context.Context) (n Tally, err error) {
	people := []*Person{s.Ada, s.Bob}
	if s.Cy != nil {
		people = append(people, s.Cy)
	}
	read := map[*Person][]client.Event{}
	for _, p := range people {
		if read[p], err = p.Read(ctx); err != nil {
			return n, err
		}
	}
	for _, from := range people {
		for _, to := range people {
			if from != to {
				n.add(between(read[from], from, to), between(read[to], to, from), to.shown())
			}
		}
	}
	return n, nil
}

// between leaves those of somebody's events that somebody else has to do with: a
// message in a group is one to each of its members.
func between(all []client.Event, whose, other *Person) (some []client.Event) {
	for _, e := range all {
		if e.State == client.Elsewhere {
			continue // another device of theirs sent it, and counts it
		}
		if e.GroupID != 0 && e.Out && e.State == client.OnDevice && e.Reached < e.Of {
			e.State = client.Live // not everybody's device has it
		}
		if e.GroupID != 0 && e.Out || callsFirst(e, other) {
			some = append(some, e)
		}
	}
	return some
}

// callsFirst reports whether an event is of or with somebody, by the first of their
// names, whatever the rest is called.
func callsFirst(e client.Event, p *Person) bool {
	first, _, _ := strings.Cut(strings.ToLower(p.Name), " ")
	with := e.Contact
	if e.GroupID != 0 {
		with = e.From
	}
	now, _, _ := strings.Cut(strings.ToLower(with), " ")
	return now == first
}

// add counts one direction. The same text may have been sent more than once.
func (n *Tally) add(sent, got []client.Event, shown map[string]int) {
	kept, all, ended := map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range got {
		if e.State == client.Received {
			kept[e.Text]++
		}
	}
	for _, e := range sent {
		if !e.Out {
			continue
		}
		all[e.Text]++
		if e.State == client.OnDevice {
			ended[e.Text]++
		} else {
			n.Waiting++
		}
	}
	for s, sent := range all {
		there := min(kept[s], shown[s])
		n.Sent += sent
		n.Delivered += min(ended[s], there)
		n.Lost += max(0, ended[s]-there)
		n.Twice += max(0, max(kept[s], shown[s])-sent)
	}
}

func (t *story) count() (Tally, error) {
	ctx, stop := context.WithTimeout(t.ctx, patience)
	defer stop()
	return t.Stage.Count(ctx)
}

// columns is how wide a story is.
const columns = 78

// title begins a scene.
func (t *story) title(s string) {
	t.scene++
	fmt.Fprintf(t.out, "\n%s  %s\n", t.style.Dim(fmt.Sprintf("%2d", t.scene)), t.style.Bold(s))
}

// say writes a paragraph.
func (t *story) say(format string, a ...any) {
	for _, line := range text.Wrap(fmt.Sprintf(format, a...), columns-4) {
		fmt.Fprintln(t.out, "    "+line)
	}
}

// plain writes a line without a margin.
func (t *story) plain(s string) { fmt.Fprintln(t.out, s) }

// fact writes a line that is not broken.
func (t *story) fact(s string) { fmt.Fprintln(t.out, "      "+s) }

// check notes what is not as it should be.
func (t *story) check(err error, what string) {
	if err != nil {
		t.wrong = append(t.wrong, fmt.Errorf("%s: %w", what, err))
	}
}

// want notes that something which should be so is not.
func (t *story) want(ok bool, format string, a ...any) {
	if !ok {
		t.wrong = append(t.wrong, fmt.Errorf(format, a...))
	}
}

// sent writes a message and how far it has come since it was committed.
func (t *story) sent(p *Person, e client.Event) {
	t.fact(fmt.Sprintf("%s  %s", t.style.Bold(t.called(p)+":"), e.Text))
	t.fact("     " + t.style.Dim(t.way(p, e)))
}

// way is the states that a message of somebody's went through, as their process
// told them, and how long it took to get there.
func (s *Stage) way(p *Person, e client.Event) string {
	var states []string
	var began time.Time
	for _, h := range p.Heard() {
		word := text.State(h.State)
		switch {
		case h.Seq != e.Seq:
		case len(states) == 0:
			states, began = []string{word}, h.When
		case !strings.HasPrefix(states[len(states)-1], word):
			states = append(states, fmt.Sprintf("%s after %.1f s", word, h.When.Sub(began).Seconds()))
		}
	}
	return strings.Join(states, " → ")
}

// called is how a person is called in the story.
func (t *story) called(p *Person) string {
	switch p {
	case t.Ada:
		return "Ada"
	case t.Cy:
		return "Cy"
	}
	return "Bob"
}

// write lets somebody commit a message.
func (t *story) write(p *Person, s string) (client.Event, error) {
	who := "bob"
	if p == t.Bob {
		who = "ada"
	}
	return p.Send(t.ctx, who, s)
}

// arrives waits until a message is on the other's device and was shown there.
func (t *story) arrives(p *Person, e client.Event) error {
	other := t.Bob
	if p == t.Bob {
		other = t.Ada
	}
	if _, err := p.Reach(t.ctx, patience, e.Seq, client.OnDevice); err != nil {
		return err
	}
	_, err := other.Receive(t.ctx, patience, e.Text)
	return err
}

// quiet waits until nothing has passed between people and relay for a while: no
// ack or answer of one scene is left over in the next.
func (t *story) quiet() error {
	for until := time.Now().Add(patience); time.Now().Before(until); {
		since := time.Now()
		if err := t.wait(wire.AnswerAfter + 500*time.Millisecond); err != nil {
			return err
		}
		if !slices.ContainsFunc(t.Tap.Seen(since), func(s Sighting) bool { return s.Kind() != KindControl }) {
			return nil
		}
	}
	return errors.New("it does not become quiet")
}

// wait lets time pass.
func (t *story) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
