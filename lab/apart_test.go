package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay"
)

// farName is what people call the relay of a far world: a loopback name, so that
// there is no TLS.
const farName = "127.0.0.1:7117"

// far is a world on a virtual clock: a relay with its stores on disk, and people
// who are there for some minutes a day. They are joined by pipes.
type far struct {
	t     *testing.T
	dir   string
	roles []string
	stop  func() error // the relay that runs

	mu   sync.Mutex // guards the rest
	line *pipes     // nil while there is no relay
}

// pipes is a listener in memory.
type pipes struct {
	in   chan net.Conn
	done chan struct{}
	end  func()
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.in:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.end(); return nil }

func (p *pipes) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(farName)) }

// piped is one end of a pipe, with network addresses.
type piped struct{ net.Conn }

func (piped) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:2"))
}
func (piped) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(farName)) }

func newFar(t *testing.T, roles ...string) *far {
	dir, err := os.MkdirTemp("/dev/shm", "tacet-far-") // a vault waits for the disk at every commit
	if err != nil {
		dir = t.TempDir()
	} else {
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	return &far{t: t, dir: dir, roles: roles}
}

// raise starts the relay, or starts it again: with what it had on disk.
func (f *far) raise() {
	f.t.Helper()
	r, err := relay.New(relay.Config{Listen: farName, TLS: "off", WindowMiB: 1, Roles: f.roles, Data: filepath.Join(f.dir, "relay")})
	if err != nil {
		f.t.Fatal(err)
	}
	p := &pipes{in: make(chan net.Conn), done: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.done) })
	r.Use(p)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	f.mu.Lock()
	f.line = p
	f.mu.Unlock()
	f.stop = func() error {
		f.mu.Lock()
		f.line = nil
		f.mu.Unlock()
		stop()
		return <-done
	}
}

func (f *far) fall() {
	f.t.Helper()
	if err := f.stop(); err != nil {
		f.t.Fatal(err)
	}
}

// rows counts what is parked, in the file of a relay that does not run.
func (f *far) rows() (n int) {
	f.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(f.dir, "relay", "park.db"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM parked").Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *far) dial(ctx context.Context, _, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	p := f.line
	f.mu.Unlock()
	if p == nil {
		return nil, errors.New("nobody is there")
	}
	near, there := net.Pipe()
	select {
	case p.in <- piped{there}:
		return piped{near}, nil
	case <-p.done:
		return nil, errors.New("nobody is there")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The far world is everybody's client.Network.

func (f *far) options() network.Options { return network.Options{Name: farName, Dial: f.dial} }

func (f *far) Open(_ string, pin [32]byte) (transport.Transport, error) {
	o := f.options()
	o.Pin = &pin
	return network.New(o)
}

func (f *far) Identify(ctx context.Context, _ string) ([32]byte, error) {
	return network.Identify(ctx, f.options())
}

func (f *far) FetchUnpinned(ctx context.Context, _ string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, f.options(), id)
}

func (f *far) Proxy() string { return "" }

// soul is one person of a far world.
type soul struct {
	f    *far
	name string
	*client.Client
	end  func()
	said int
}

func (f *far) soul(name string) *soul {
	f.t.Helper()
	s := &soul{f: f, name: name}
	if _, err := client.Create(f.t.Context(), s.options(), client.NewProfile{Name: name, Relay: farName}); err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (s *soul) options() client.Options {
	return client.Options{Dir: filepath.Join(s.f.dir, s.name), Passphrase: []byte("x"), Network: s.f, WeakVault: true}
}

// wake starts a person's program, sleep ends it.
func (s *soul) wake() {
	s.f.t.Helper()
	var err error
	if s.Client, err = client.Open(s.f.t.Context(), s.options()); err != nil {
		s.f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.end = func() {
		stop()
		if err := errors.Join(<-done, s.Close()); err != nil {
			s.f.t.Errorf("%s: %v", s.name, err)
		}
	}
}

func (s *soul) sleep() { s.end() }

// say sends messages, one after the other.
func (s *soul) say(to string, n int) {
	s.f.t.Helper()
	for range n {
		if _, err := s.Send(s.f.t.Context(), client.Outgoing{To: to, Text: fmt.Sprint(s.name, " ", s.said)}); err != nil {
			s.f.t.Fatal(err)
		}
		s.said++
		time.Sleep(7 * time.Second)
	}
}

// knows reports whether a contact is there to whom one may write.
func (s *soul) knows(name string) bool {
	list, err := s.Contacts(s.f.t.Context())
	if err != nil {
		s.f.t.Fatal(err)
	}
	for _, c := range list {
		if c.Name == name && c.State == "accepted" {
			return true
		}
	}
	return false
}

// reckonFar wants all that b said to have been shown to a, once each, and nothing to
// wait at a.
func reckonFar(a, b *soul) {
	t := a.f.t
	t.Helper()
	events, err := a.Read(t.Context(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range events {
		if e.State == client.Received {
			got[e.Text]++
		}
		if e.Out && e.State != client.OnDevice {
			t.Errorf("%s: %q is %s, want it on their device", a.name, e.Text, e.State)
		}
	}
	for i := range b.said {
		if text := fmt.Sprint(b.name, " ", i); got[text] != 1 {
			t.Errorf("%s was shown %q %d times, want once", a.name, text, got[text])
		}
	}
	if st, err := a.Status(t.Context()); err != nil || st.Waiting != 0 {
		t.Errorf("%s: %d messages wait, %v, want none", a.name, st.Waiting, err)
	}
}

// untilHour sleeps until a time of the day, UTC.
func untilHour(h time.Duration) {
	now := time.Now().UTC()
	next := now.Truncate(24 * time.Hour).Add(h)
	if !next.After(now) {
		next = next.Add(24 * time.Hour)
	}
	time.Sleep(time.Until(next))
}

// TestThirtyDaysApart: two people who are never there together meet by an invite
// and exchange 200 messages over 30 days, by what a real relay keeps on its disk.
// The relay is started again for each of them.
func TestThirtyDaysApart(t *testing.T) {
	began := time.Now()
	days, messages, most := 30, 200, 0
	if testing.Short() {
		days, messages = 9, 56
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t, "live", "blob", "park")
		f.raise()
		ada, bob := f.soul("Ada"), f.soul("Bob")
		alone := func(s *soul, at time.Duration, what func()) {
			untilHour(at)
			f.raise()
			s.wake()
			time.Sleep(20 * time.Second)
			what()
			time.Sleep(4 * time.Minute)
			s.sleep()
			f.fall()
			most = max(most, f.rows())
		}
		f.fall()
		var link string
		alone(ada, 8*time.Hour, func() {
			inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
			if err != nil || !inv.Online {
				t.Fatalf("got invite %+v, %v", inv, err)
			}
			link = inv.Link
		})
		alone(bob, 20*time.Hour, func() {
			if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: link, Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		})
		each := messages / 2 / (days - 2)
		for day := range days - 1 {
			for _, s := range []struct {
				*soul
				to string
				at time.Duration
			}{{ada, "Bob", 8 * time.Hour}, {bob, "Ada", 20 * time.Hour}} {
				alone(s.soul, s.at, func() {
					if !s.knows(s.to) {
						t.Fatalf("day %d: %s does not know %s", day, s.name, s.to)
					}
					n := min(each+1, messages/2-s.said)
					s.say(s.to, n)
				})
			}
		}
		for range 2 { // what is left to say is acks
			alone(ada, 8*time.Hour, func() {})
			alone(bob, 20*time.Hour, func() {})
		}
		alone(ada, 8*time.Hour, func() { reckonFar(ada, bob) })
		alone(bob, 20*time.Hour, func() { reckonFar(bob, ada) })
		if ada.said != messages/2 || bob.said != messages/2 {
			t.Errorf("got %d and %d messages, want %d each", ada.said, bob.said, messages/2)
		}
		if n := f.rows(); n != 0 {
			t.Errorf("got %d rows at the relay, want none", n)
		}
	})
	t.Logf("%d messages over %d days, at most %d rows at the relay at the end of a visit; %.1f s of real time", messages, days, most, time.Since(began).Seconds())
}

// TestAMinuteTogether: where nothing is parked, two people who are there together
// for a minute now and then still say everything, by their programs' "I'm back".
func TestAMinuteTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t, "live", "blob")
		f.raise()
		ada, bob := f.soul("Ada"), f.soul("Bob")
		ada.wake()
		bob.wake()
		time.Sleep(20 * time.Second)
		inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ada.sleep()
		bob.sleep()
		f.fall()
		rounds := 10
		if testing.Short() {
			rounds = 3
		}
		for range rounds {
			// Ada is there from 8:00, writes, and leaves when Bob has been there for a
			// minute; he writes when she has gone, and the other way round in the evening.
			for _, x := range [][2]*soul{{ada, bob}, {bob, ada}} {
				untilHour(map[*soul]time.Duration{ada: 8 * time.Hour, bob: 20 * time.Hour}[x[0]])
				f.raise()
				x[0].wake()
				time.Sleep(10 * time.Second)
				x[0].say(x[1].name, 5)
				time.Sleep(25 * time.Minute) // between probes
				x[1].wake()
				time.Sleep(time.Minute)
				x[0].sleep()
				x[1].say(x[0].name, 5)
				time.Sleep(time.Minute)
				x[1].sleep()
				f.fall()
			}
		}
		untilHour(8 * time.Hour)
		f.raise()
		ada.wake()
		time.Sleep(25 * time.Minute)
		bob.wake()
		time.Sleep(time.Minute)
		reckonFar(ada, bob)
		reckonFar(bob, ada)
		ada.sleep()
		bob.sleep()
		f.fall()
	})
}
