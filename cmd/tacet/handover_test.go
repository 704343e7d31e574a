//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/rpc"
)

// owner is a service that knows only a few calls.
type owner struct {
	client.Service
	mu     sync.Mutex
	events []client.Event
	sent   int
	feed   chan client.Event
}

func (o *owner) Status(context.Context) (client.Status, error) { return client.Status{}, nil }

func (o *owner) Read(_ context.Context, q client.Query) ([]client.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events, nil
}

func (o *owner) Send(_ context.Context, m client.Outgoing) (client.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent++
	return client.Event{Seq: 9, Text: m.Text, Out: true}, nil
}

func (o *owner) RevokeInvite(context.Context, int64) error { return nil }

func (o *owner) Unsend(context.Context, int64) (client.Event, error) {
	return client.Event{Seq: 9}, nil
}

// Await is told by its own clock that the time is up, before the caller's says so.
func (o *owner) Await(context.Context, int64, client.State) (client.Event, error) {
	return client.Event{}, context.DeadlineExceeded
}

func (o *owner) Follow(ctx context.Context, after int64, f func(client.Event) error) error {
	for _, e := range o.events {
		if e.Seq > after {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-o.feed:
			if err := f(e); err != nil {
				return err
			}
		}
	}
}

// killed listens as an owner that dies when it is asked for something else than
// its status; heir, if any, has the profile from then on.
func killed(t *testing.T, dir string, heir func()) {
	t.Helper()
	path := filepath.Join(dir, rpc.SocketName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					break
				}
				if strings.Contains(line, `"Status"`) {
					id := line[strings.Index(line, `"id":`)+5:]
					fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id[:strings.IndexByte(id, ',')])
					continue
				}
				l.Close()
				heir()
				break
			}
			c.Close()
		}
	}()
}

// inherit serves as the next owner, and returns when it can be reached.
func inherit(t *testing.T, dir string, o *owner) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rpc.Serve(ctx, dir, o) }()
	for {
		r, err := rpc.Dial(context.Background(), dir)
		if err == nil {
			r.Close()
			break
		}
	}
	end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// held keeps the profile's lock, as owners do one after the other.
func held(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// attached is a profile that another process owns.
func attached(t *testing.T, dir string) *profile {
	t.Helper()
	a := newApp()
	a.secret, a.note = []byte("x"), func(string) {}
	p := &profile{a: a, dir: dir}
	if _, _, err := p.service(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close() })
	return p
}

func TestKilledOwnerDoesNotDoubleAMessage(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []client.Event
		sent   int
	}{
		{"it was committed", []client.Event{{Seq: 5, Text: "hi", Out: true, At: time.Now()}}, 0},
		{"it was not", nil, 1},
		{"an older one with the same text", []client.Event{{Seq: 5, Text: "hi", Out: true, At: time.Now().Add(-time.Hour)}}, 1},
		{"theirs with the same text", []client.Event{{Seq: 5, Text: "hi", At: time.Now()}}, 1},
		{"another one", []client.Event{{Seq: 5, Text: "ho", Out: true, At: time.Now()}}, 1},
	} {
		dir, next := t.TempDir(), &owner{events: c.events}
		killed(t, dir, func() { inherit(t, dir, next) })
		e, err := attached(t, dir).Send(t.Context(), client.Outgoing{To: "bob", Text: "hi"})
		if err != nil || next.sent != c.sent || e.Text != "hi" {
			t.Errorf("%s: got %+v, %v, sent %d times, want %d", c.name, e, err, next.sent, c.sent)
		}
	}
}

func TestKilledOwnerMayHaveDoneIt(t *testing.T) {
	inherited := func() *profile {
		dir := t.TempDir()
		killed(t, dir, func() { inherit(t, dir, &owner{}) })
		return attached(t, dir)
	}
	if _, err := inherited().Unsend(t.Context(), 9); !errors.Is(err, rpc.ErrLost) {
		t.Errorf("a call that must not be made twice: got %v, want %v", err, rpc.ErrLost)
	}
	if err := inherited().RevokeInvite(t.Context(), 1); err != nil {
		t.Errorf("a call that may be made twice: got %v, want it to be made again", err)
	}
}

func TestNextOwnerIsUsedWhenOneEnds(t *testing.T) {
	dir := t.TempDir()
	end := inherit(t, dir, &owner{})
	p := attached(t, dir)
	end()
	inherit(t, dir, &owner{})
	if _, err := p.Unsend(t.Context(), 9); err != nil {
		t.Errorf("got %v, want the next owner's answer", err)
	}
	if p.mine() {
		t.Error("got the profile taken, want it left to the next owner")
	}
}

// TestTheOwnersClockMayBeAhead: a message that was not acked in time is told as it
// is, whoever looked at the clock.
func TestTheOwnersClockMayBeAhead(t *testing.T) {
	dir := t.TempDir()
	inherit(t, dir, &owner{})
	p := attached(t, dir)
	was := client.Event{Seq: 9, State: client.Queued, Out: true}
	if e, err := p.a.climb(t.Context(), p, was, client.OnDevice, time.Hour); err != nil || e.Seq != was.Seq || e.State != was.State {
		t.Errorf("got %+v, %v, want the message as it was", e, err)
	}
}

// TestFollowMissesNothingBetweenOwners: what changed while nobody could be
// asked is told, and nothing is told twice.
func TestFollowMissesNothingBetweenOwners(t *testing.T) {
	dir := t.TempDir()
	first := &owner{feed: make(chan client.Event), events: []client.Event{
		{Seq: 1, State: client.Received}, {Seq: 2, Out: true, State: client.Offered}, {Seq: 3, State: client.Received}, {Seq: 4, Out: true, State: client.OnDevice}}}
	end := inherit(t, dir, first)
	held(t, dir)
	p := attached(t, dir)
	second := &owner{feed: make(chan client.Event), events: []client.Event{
		{Seq: 1, State: client.Received}, {Seq: 2, Out: true, State: client.OnDevice}, {Seq: 3, State: client.Received}, {Seq: 4, Out: true, State: client.OnDevice},
		{Seq: 5, State: client.Received}}}
	var got []string
	enough := errors.New("enough")
	err := p.follow(t.Context(), newTold(0), func(e client.Event, before bool) error {
		got = append(got, fmt.Sprintf("%d %s %t", e.Seq, e.State, before))
		switch len(got) {
		case 4:
			go func() {
				end()
				inherit(t, dir, second)
			}()
		case 6:
			return enough
		}
		return nil
	})
	want := []string{"1 received false", "2 offered false", "3 received false", "4 device false", "2 device true", "5 received false"}
	if err != enough || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestProfilesAreNamesOrFolders(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"": "/data/tacet/default", "bob": "/data/tacet/bob", "./bob": here + "/bob", "/x/y": "/x/y", ".": here, "..": filepath.Dir(here), "a/": here + "/a",
	} {
		if got, err := (&app{profile: in}).dir(); err != nil || got != want {
			t.Errorf("profile %q: got %q, %v, want %q", in, got, err, want)
		}
	}
}
