package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/ui/text"
)

// playAck is the mean delay of acks where somebody looks on. People have 5 s.
const playAck = 2 * time.Second

const playHelp = `  ada: hello        write as Ada; bob: hi writes as Bob
  /freeze bob       stop a process in its tracks; /thaw bob lets it go on
  /kill relay       kill a process (or bob, or ada); /start relay starts it again
  /relay            what the relay saw since the last message was written
  /hunt             search all that the relay keeps for what was said
  /quit             count the messages and leave`

// play is a stage that somebody at a terminal plays on.
type play struct {
	*Stage
	ctx   context.Context
	style text.Style
	in    lines
	out   io.Writer
	width int    // of one side
	link  string // of the invite that was used
	keys  []hunt.Needle

	mu   sync.Mutex // guards the rest, and writing
	last time.Time  // when the last message was written
}

// lines is where lines come from. io.EOF ends them.
type lines interface{ ReadLine() (string, error) }

// Play lets somebody write for two people side by side, and freeze and kill
// them and their relay. Without a terminal it reads plain lines, and waits at
// their end until everything has arrived.
func Play(ctx context.Context, in, out *os.File, colour bool) error {
	p := &play{ctx: ctx, style: text.Style{On: colour}, out: out, width: 37, in: &plainLines{bufio.NewScanner(in)}}
	terminal := term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
	fmt.Fprintln(out, "Starting a relay and two people …")
	stage, err := Raise(ctx, StageOptions{AckMean: playAck, Record: true, Seed: 1})
	if err != nil {
		return err
	}
	p.Stage = stage
	if err := p.meet(); err != nil {
		return errors.Join(err, stage.Close())
	}
	if terminal {
		restore, err := p.raw(in, out)
		if err != nil {
			return errors.Join(err, stage.Close())
		}
		defer restore()
	}
	p.greet()
	err = p.run(!terminal)
	return errors.Join(err, stage.Close())
}

// meet makes the two contacts before the curtain rises.
func (p *play) meet() (err error) {
	for _, who := range []*Person{p.Ada, p.Bob} {
		keys, err := p.secrets(p.ctx, who)
		if err != nil {
			return err
		}
		p.keys = append(p.keys, keys...)
	}
	p.link, err = p.Meet(p.ctx, "Hello Ada, this is Bob.")
	p.last = time.Now()
	return err
}

// raw makes lines editable while others are written above them.
func (p *play) raw(in, out *os.File) (restore func(), err error) {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "> ")
	if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
		t.SetSize(w, h)
		p.width = min(max((w-3)/2, 20), 60)
	}
	p.in, p.out = t, t
	return func() { term.Restore(int(in.Fd()), old) }, nil
}

// plainLines reads lines where there is no terminal.
type plainLines struct{ s *bufio.Scanner }

func (l *plainLines) ReadLine() (string, error) {
	if !l.s.Scan() {
		return "", errors.Join(io.EOF, l.s.Err())
	}
	return l.s.Text(), nil
}

func (p *play) greet() {
	p.line("")
	p.line(p.style.Bold("Ada and Bob talk through a relay on this machine.") + " Each is a process of its own.")
	p.line(fmt.Sprintf("Acks go after %.0f s on average here; people have 5 s.", playAck.Seconds()))
	p.line("Everything is thrown away at the end.")
	p.line("")
	for l := range strings.Lines(playHelp) {
		p.line(p.style.Dim(strings.TrimSuffix(l, "\n")))
	}
	p.line("")
	p.line(p.style.Bold("Ada") + strings.Repeat(" ", p.width-3) + " │ " + p.style.Bold("Bob"))
	p.line(strings.Repeat("─", p.width) + "─┼─" + strings.Repeat("─", p.width))
}

// run reads commands until there are none.
func (p *play) run(patient bool) error {
	ctx, stop := context.WithCancel(p.ctx)
	var all sync.WaitGroup
	for _, who := range []*Person{p.Ada, p.Bob} {
		all.Go(func() { who.Follow(ctx, func(h Heard) { p.show(who, h) }) })
	}
	defer all.Wait()
	defer stop()
	commands := make(chan string)
	go func() { // reading cannot be ended: the process soon is
		defer close(commands)
		for {
			s, err := p.in.ReadLine()
			if err != nil {
				return
			}
			commands <- s
		}
	}()
	for {
		select {
		case <-p.ctx.Done():
			return nil
		case s, ok := <-commands:
			if !ok && patient {
				if err := p.settle(); err != nil {
					return err
				}
			}
			if !ok || strings.TrimSpace(s) == "/quit" {
				return p.leave()
			}
			if err := p.obey(strings.TrimSpace(s)); err != nil {
				p.line("  " + p.style.Bad(text.Line(err.Error())))
			}
		}
	}
}

// errCommand is the answer to a line that means nothing.
var errCommand = errors.New("write `ada: …` or `bob: …`; /help shows what else there is")

// obey does what one line says.
func (p *play) obey(s string) error {
	if s == "" {
		return nil
	}
	if name, words, ok := strings.Cut(s, ":"); ok && !strings.HasPrefix(s, "/") {
		return p.write(strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(words))
	}
	verb, object, _ := strings.Cut(s, " ")
	object = strings.ToLower(strings.TrimSpace(object))
	switch verb {
	case "/help":
		for l := range strings.Lines(playHelp) {
			p.line(p.style.Dim(strings.TrimSuffix(l, "\n")))
		}
	case "/relay":
		p.relay()
	case "/hunt":
		return p.hunt()
	case "/freeze", "/thaw", "/kill", "/start":
		return p.treat(verb, object)
	default:
		return errCommand
	}
	return nil
}

// relay shows what the relay saw of the last message.
func (p *play) relay() {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	table := hops(p.Tap.Seen(last), last, p.style)
	if len(table) == 1 {
		p.line("  Nothing has passed since the last message was written.")
		return
	}
	for _, l := range table {
		p.line("  " + l)
	}
	if p.Ada.order.From != "" {
		p.line(p.style.Dim(fmt.Sprintf("  %s is Ada's and %s is Bob's, unless they use a proxy.", p.Ada.order.From, p.Bob.order.From)))
	}
}

// person finds one of the two, and what they call the other.
func (p *play) person(name string) (who *Person, other string, err error) {
	switch name {
	case "ada":
		return p.Ada, "bob", nil
	case "bob":
		return p.Bob, "ada", nil
	}
	return nil, "", errCommand
}

func (p *play) write(name, words string) error {
	who, other, err := p.person(name)
	if err != nil {
		return err
	}
	if !who.Running() {
		return fmt.Errorf("%s's process does not run: /thaw %s or /start %s", title(name), name, name)
	}
	p.mu.Lock()
	p.last = time.Now()
	p.mu.Unlock()
	_, err = who.Send(p.ctx, other, words)
	return err
}

// treat freezes, thaws, kills and starts.
func (p *play) treat(verb, name string) (err error) {
	done := map[string]string{
		"/freeze": "is frozen (SIGSTOP)", "/thaw": "goes on (SIGCONT)", "/kill": "was killed (SIGKILL)", "/start": "runs again, in a new process",
	}[verb]
	who, _, notPerson := p.person(name)
	switch {
	case name == "relay" && verb == "/kill":
		p.Host.Kill()
	case name == "relay" && verb == "/start" && !p.Host.Running():
		err = p.Host.Start(p.ctx)
	case notPerson != nil:
		return fmt.Errorf("%s what? ada, bob, or for /kill and /start also relay", verb)
	case verb == "/freeze":
		err = who.Freeze()
	case verb == "/thaw":
		err = who.Thaw()
	case verb == "/kill":
		who.Kill()
	case who.Running():
		return fmt.Errorf("%s's process runs", title(name))
	default:
		who.Kill() // if it is only frozen
		err = who.Start(p.ctx, Fall{})
	}
	if err == nil {
		p.line("  " + p.style.Warn("· "+title(name)+" "+done))
	}
	return err
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// hunt searches what the relay keeps while it runs.
func (p *play) hunt() error {
	if !p.Ada.Running() || !p.Bob.Running() {
		return errors.New("the hunt asks both people what they said: start or thaw them first")
	}
	words, err := p.words(p.ctx, p.link)
	if err != nil {
		return err
	}
	h, err := hunt.New(append(append(words, p.keys...), p.traces()...))
	if err == nil {
		err = errors.Join(h.Tree(os.DirFS(p.Host.Data)), h.Tree(os.DirFS(p.Logs())))
	}
	if err != nil {
		return err
	}
	p.line(fmt.Sprintf("  %s bytes in %s searched for %s texts, names, keys, addresses: %d found",
		thousands(h.Bytes), text.Count(h.Files, "file"), thousands(int64(h.Needles())), len(h.Hits)))
	for _, hit := range h.Hits {
		p.line("  " + p.style.Bad(hit.String()))
	}
	return nil
}

// show writes an event on its person's side.
func (p *play) show(who *Person, h Heard) {
	number := fmt.Sprintf("#%d ", h.Seq)
	switch state := text.State(h.State); h.State {
	case client.Told:
		p.side(who, "· "+text.Line(h.Text), p.style.Dim)
	case client.Received:
		p.side(who, map[*Person]string{p.Ada: "bob: ", p.Bob: "ada: "}[who]+text.Line(h.Text), p.style.Bold)
	case client.Queued:
		p.side(who, number+text.Line(h.Text), nil)
		p.side(who, number+state, p.style.Dim)
	case client.OnDevice:
		p.side(who, number+state, p.style.Good)
	default:
		p.side(who, number+state, p.style.Dim)
	}
}

// side writes a text on somebody's side, in as many lines as it takes.
func (p *play) side(who *Person, s string, style func(string) string) {
	for _, l := range fold(s, p.width) {
		n := text.Width(l)
		if style != nil {
			l = style(l)
		}
		if who == p.Ada {
			p.line(l + strings.Repeat(" ", max(0, p.width-n)) + " │")
		} else {
			p.line(strings.Repeat(" ", p.width) + " │ " + l)
		}
	}
}

// fold breaks a text into lines, words that are longer than a line included.
func fold(s string, width int) (all []string) {
	for _, l := range text.Wrap(s, width) {
		for text.Width(l) > width {
			cut := 0
			for i := range l {
				if text.Width(l[:i]) <= width {
					cut = i
				}
			}
			all, l = append(all, l[:cut]), l[cut:]
		}
		all = append(all, l)
	}
	return all
}

// settle lets everybody run and waits until everything has arrived.
func (p *play) settle() error {
	if !p.Host.Running() {
		if err := p.Host.Start(p.ctx); err != nil {
			return err
		}
	}
	if err := p.wake(); err != nil {
		return err
	}
	for until := time.Now().Add(patience); time.Now().Before(until) && p.ctx.Err() == nil; {
		n, err := p.Count(p.ctx)
		if err != nil || n.Waiting == 0 {
			return err
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// wake lets both people run, so that they can be asked.
func (p *play) wake() error {
	for _, who := range []*Person{p.Ada, p.Bob} {
		err := who.Thaw()
		if errors.Is(err, errEnded) {
			err = who.Start(p.ctx, Fall{})
		}
		if err != nil && !errors.Is(err, errFreeze) {
			return err
		}
	}
	return nil
}

// leave counts and says goodbye.
func (p *play) leave() error {
	if err := p.wake(); err != nil {
		return err
	}
	n, err := p.Count(p.ctx)
	if err != nil {
		return err
	}
	p.line("")
	if n.Waiting > 0 {
		p.line(fmt.Sprintf("%s still in an outbox, and would go when both and the relay are there.", text.Count(n.Waiting, "message")))
	}
	p.line(n.String())
	if n.Lost > 0 || n.Twice > 0 {
		return errors.New("messages were lost or shown twice")
	}
	return nil
}

// line writes a line across both sides.
func (p *play) line(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, s)
}
