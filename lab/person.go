package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Person is somebody whose profile runs in a process of its own, which can be
// frozen, killed and started again. Methods may be called from any goroutine.
type Person struct {
	Name string // of the profile, what contacts see

	order personOrder
	log   io.Writer

	mu      sync.Mutex // guards all below
	p       *process   // nil before the first start
	frozen  bool
	words   []string
	digits  string        // that a device which joins shows
	ready   chan struct{} // closed when the process that runs is ready
	next    int
	answers map[int]chan told
	heard   []Heard                // as told, in that order, again and again
	known   map[int64]bool         // numbers in heard
	latest  map[int64]client.Event // by number
	news    chan struct{}          // closed and replaced when anything was heard
}

// newPerson prepares somebody. Nothing runs yet.
func newPerson(o personOrder, log io.Writer) *Person {
	return &Person{
		Name: o.Name, order: o, log: log, news: make(chan struct{}),
		answers: map[int]chan told{}, latest: map[int64]client.Event{}, known: map[int64]bool{},
	}
}

// Start starts the process, with a moment at which it is to kill itself, and
// waits until it runs or has killed itself.
func (p *Person) Start(ctx context.Context, f Fall) error {
	p.mu.Lock()
	o := p.order
	o.After, o.Fall = p.unbroken(), f
	ready := make(chan struct{})
	p.ready, p.frozen = ready, false
	p.mu.Unlock()
	proc, err := start(rolePerson, o, p.log, func(line []byte) { p.hear(line, ready) })
	if err != nil && (proc == nil || !errors.Is(err, errEnded)) {
		return err
	}
	if f.Boundary != "" {
		proc.expectKill()
	}
	p.mu.Lock()
	p.p = proc
	p.mu.Unlock()
	select {
	case <-ready:
		// The last process may have committed a change that it told nobody.
		_, err = p.Read(ctx)
	case <-proc.done:
		err = errEnded
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case errors.Is(err, errEnded) && f.Boundary != "":
		return nil
	case errors.Is(err, errEnded):
		err = errors.Join(err, proc.stop())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// unbroken is the number up to which every event was told: a process that was
// killed may have told a later one and not an earlier one. Callers hold mu.
func (p *Person) unbroken() (n int64) {
	for {
		if !p.known[n+1] {
			return n
		}
		n++
	}
}

// hear takes in one line of the process.
func (p *Person) hear(line []byte, ready chan struct{}) {
	var t told
	if json.Unmarshal(line, &t) != nil {
		return // cut off by a kill
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.ID != 0 {
		if c := p.answers[t.ID]; c != nil {
			c <- t // has room
			delete(p.answers, t.ID)
		}
	}
	if t.Event != nil {
		p.note(*t.Event, t.ID == 0)
	}
	if t.Words != nil {
		p.words = t.Words
	}
	if t.Digits != "" {
		p.digits = t.Digits
	}
	if t.Ready {
		close(ready)
	}
	close(p.news)
	p.news = make(chan struct{})
}

// note keeps an event as it is now. An answer may be overtaken by news: states
// only rise. Callers hold mu.
func (p *Person) note(e client.Event, stream bool) {
	if stream {
		p.heard = append(p.heard, Heard{e, time.Now()})
		p.known[e.Seq] = true
	}
	if old, ok := p.latest[e.Seq]; !ok || rank(e.State) >= rank(old.State) {
		p.latest[e.Seq] = e
	}
}

// rank orders states.
func rank(s client.State) int {
	return slices.Index([]client.State{client.Queued, client.Offered, client.Parked, client.Live, client.OnDevice}, s)
}

// ask asks the process.
func (p *Person) ask(ctx context.Context, q ask) (told, error) {
	p.mu.Lock()
	proc := p.p
	if proc == nil || proc.over() {
		p.mu.Unlock()
		return told{}, errEnded
	}
	p.next++
	q.ID = p.next
	c := make(chan told, 1)
	p.answers[q.ID] = c
	p.mu.Unlock()
	if err := proc.say(q); err != nil {
		return told{}, err
	}
	select {
	case t := <-c:
		return t, t.err(p.Name, q.Do)
	case <-proc.done:
		select {
		case t := <-c: // its last words
			return t, t.err(p.Name, q.Do)
		default:
			return told{}, errEnded
		}
	case <-ctx.Done():
		return told{}, ctx.Err()
	}
}

func (t *told) err(who, what string) error {
	if t.Err == "" {
		return nil
	}
	return fmt.Errorf("%s, %s: %s", who, what, t.Err)
}

// Invite makes an invite and returns its link.
func (p *Person) Invite(ctx context.Context) (string, error) {
	t, err := p.ask(ctx, ask{Do: "invite"})
	return t.Text, err
}

// Accept accepts an invite; who is our name for its maker.
func (p *Person) Accept(ctx context.Context, link, who, text string) error {
	_, err := p.ask(ctx, ask{Do: "accept", Link: link, Who: who, Text: text})
	return err
}

// Send commits a message.
func (p *Person) Send(ctx context.Context, who, text string) (client.Event, error) {
	t, err := p.ask(ctx, ask{Do: "send", Who: who, Text: text})
	if err != nil {
		return client.Event{}, err
	}
	return *t.Event, nil
}

// Status asks how things stand.
func (p *Person) Status(ctx context.Context) (client.Status, error) {
	t, err := p.ask(ctx, ask{Do: "status"})
	if err != nil {
		return client.Status{}, err
	}
	return *t.Status, nil
}

// Read returns everything in the vault.
func (p *Person) Read(ctx context.Context) ([]client.Event, error) {
	t, err := p.ask(ctx, ask{Do: "read"})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range t.Events {
		p.note(e, false)
	}
	return t.Events, err
}

// Freeze stops the process where it is. Thaw lets it go on.
func (p *Person) Freeze() error { return p.signal(true) }

// Thaw lets a frozen process go on.
func (p *Person) Thaw() error { return p.signal(false) }

func (p *Person) signal(freeze bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.p == nil || p.p.over() {
		return errEnded
	}
	p.frozen = freeze
	if freeze {
		return p.p.freeze()
	}
	return p.p.thaw()
}

// Kill ends the process at once (SIGKILL). It is no trouble if it has ended.
func (p *Person) Kill() {
	p.mu.Lock()
	proc := p.p
	p.mu.Unlock()
	if proc != nil {
		proc.kill()
	}
}

// Fall lays a trap for the process that runs: a moment at which it kills itself.
func (p *Person) Fall(ctx context.Context, f Fall) error {
	p.mu.Lock()
	proc := p.p
	p.mu.Unlock()
	proc.expectKill()
	_, err := p.ask(ctx, ask{Do: "fall", Fall: &f})
	return err
}

// pid is the number of the process.
func (p *Person) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.pid()
}

// Stop lets the process end in its own way, and returns what went wrong in it.
func (p *Person) Stop() error {
	p.mu.Lock()
	proc, frozen := p.p, p.frozen
	p.frozen = false
	p.mu.Unlock()
	if proc == nil {
		return nil
	}
	if frozen {
		proc.thaw()
	}
	if err := proc.stop(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Over returns a channel that is closed when the process that runs has ended.
func (p *Person) Over() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.done
}

// Running reports whether the process runs and is not frozen.
func (p *Person) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p != nil && !p.p.over() && !p.frozen
}

// Events returns every event as it was last told, oldest first.
func (p *Person) Events() []client.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]client.Event, 0, len(p.latest))
	for _, e := range p.latest {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b client.Event) int { return int(a.Seq - b.Seq) })
	return all
}

// Heard is an event as a process told it, and when it was heard.
type Heard struct {
	client.Event
	When time.Time
}

// Heard returns every event of the streams of all the processes there were, in
// that order: one event is told once for every change of it.
func (p *Person) Heard() []Heard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heard)
}

// Follow calls f with everything that is heard, until ctx ends.
func (p *Person) Follow(ctx context.Context, f func(Heard)) {
	for n := 0; ; {
		p.mu.Lock()
		news, fresh := p.news, slices.Clone(p.heard[n:])
		p.mu.Unlock()
		for _, h := range fresh {
			f(h)
		}
		n += len(fresh)
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

// shown counts how often each text was shown to the person, by the streams of
// all the processes there were: as events of their own, not as news of one.
func (p *Person) shown() map[string]int {
	n, seen := map[string]int{}, map[int64]bool{}
	for _, e := range p.Heard() {
		if e.State == client.Received && !seen[e.Seq] {
			seen[e.Seq] = true
			n[e.Text]++
		}
	}
	return n
}

// Await waits until an event is such that ok, which sees it as it was last told.
func (p *Person) Await(ctx context.Context, within time.Duration, ok func(client.Event) bool) (client.Event, error) {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	for {
		p.mu.Lock()
		news := p.news
		for _, e := range p.latest {
			if ok(e) {
				p.mu.Unlock()
				return e, nil
			}
		}
		p.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return client.Event{}, fmt.Errorf("waiting for %s: %w", p.Name, ctx.Err())
		}
	}
}

// Digits waits until the process shows what is to be compared on another device.
func (p *Person) Digits(ctx context.Context, within time.Duration) (string, error) {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	for {
		p.mu.Lock()
		news, digits := p.news, p.digits
		p.mu.Unlock()
		if digits != "" {
			return digits, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for the digits of %s: %w", p.Name, ctx.Err())
		}
	}
}

// Reach waits until a message of ours is at least in a state.
func (p *Person) Reach(ctx context.Context, within time.Duration, seq int64, s client.State) (client.Event, error) {
	e, err := p.Await(ctx, within, func(e client.Event) bool { return e.Seq == seq && rank(e.State) >= rank(s) })
	if err != nil {
		p.mu.Lock()
		now := p.latest[seq].State
		p.mu.Unlock()
		return e, fmt.Errorf("message is %s and should be %s: %w", now, s, err)
	}
	return e, nil
}

// Receive waits until a text was shown to the person.
func (p *Person) Receive(ctx context.Context, within time.Duration, text string) (client.Event, error) {
	return p.Await(ctx, within, func(e client.Event) bool { return e.State == client.Received && e.Text == text })
}
