package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/relay"
)

// The wire between this machine and the namespace.
const (
	hereIP  = "10.231.77.1"
	thereIP = "10.231.77.2"
)

// island is a network namespace at the end of one wire, which can be made to
// swallow every packet both ways: nothing is reset, nobody is told.
type island struct {
	t    *testing.T
	name string
	wire string
	fd   int
}

// newIsland makes one. It skips the test, loudly, where that is not allowed.
func newIsland(t *testing.T) *island {
	t.Helper()
	i := &island{t: t, name: fmt.Sprintf("tacet%d", os.Getpid()), wire: fmt.Sprintf("tct%d", os.Getpid()%1e6)}
	there := i.wire + "p"
	skip := func(err error) {
		t.Skipf("SKIPPED, nothing is shown about packets that vanish: this needs root, ip and tc on Linux: %v", err)
	}
	if os.Geteuid() != 0 {
		skip(os.ErrPermission)
	}
	for n, c := range [][]string{
		{"ip", "netns", "add", i.name},
		{"ip", "link", "add", i.wire, "type", "veth", "peer", "name", there},
		{"ip", "link", "set", there, "netns", i.name},
		{"ip", "addr", "add", hereIP + "/30", "dev", i.wire},
		{"ip", "link", "set", i.wire, "up"},
		{"ip", "-n", i.name, "addr", "add", thereIP + "/30", "dev", there},
		{"ip", "-n", i.name, "link", "set", there, "up"},
		{"ip", "-n", i.name, "link", "set", "lo", "up"},
	} {
		if n == 1 {
			t.Cleanup(func() {
				exec.Command("ip", "link", "del", i.wire).Run()
				exec.Command("ip", "netns", "del", i.name).Run()
			})
		}
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			skip(fmt.Errorf("%v: %w: %s", c, err, out))
		}
	}
	var err error
	if i.fd, err = unix.Open("/run/netns/"+i.name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		skip(err)
	}
	t.Cleanup(func() { unix.Close(i.fd) })
	return i
}

// swallow drops every packet at both ends of the wire, or stops doing so.
func (i *island) swallow(yes bool) {
	i.t.Helper()
	verb := "del"
	if yes {
		verb = "add"
	}
	for _, c := range [][]string{
		{"tc", "qdisc", verb, "dev", i.wire, "root"},
		{"tc", "-n", i.name, "qdisc", verb, "dev", i.wire + "p", "root"},
	} {
		if yes {
			c = append(c, "pfifo", "limit", "0") // a queue with no room
		}
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			i.t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
}

// dial opens connections on the island: a socket stays where it was made.
func (i *island) dial(ctx context.Context, proto, addr, _ string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err = unix.Setns(i.fd, unix.CLONE_NEWNET); err != nil {
			return
		}
		c, err = (&net.Dialer{KeepAlive: -1}).DialContext(ctx, proto, addr)
	}()
	<-done
	return c, err
}

// islander is the network of somebody on the island.
type islander struct {
	way
	*island
}

func (n islander) Open(name string, pin [32]byte) (transport.Transport, error) {
	return way{n.island.dial}.Open(name, pin)
}

func (n islander) Identify(ctx context.Context, name string) ([32]byte, error) {
	return network.Identify(ctx, network.Options{Name: name, Dial: n.island.dial})
}

// TestADeviceWhosePacketsVanishIsNeverCounted cuts a device off as a tunnel or a
// dead battery does: its connection stands at both ends and no packet gets
// through. It is not counted from that moment on, long before any timeout, and
// nothing is lost when the packets flow again.
func TestADeviceWhosePacketsVanishIsNeverCounted(t *testing.T) {
	t.Parallel()
	i := newIsland(t)
	// No loopback address, so TLS; and the shortest ping, so that the device
	// soon finds out that its connection is none.
	r, err := relay.New(relay.Config{Listen: hereIP + ":0", Ping: 5})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})

	log := &receipts{}
	ada := visitor(t, "Ada", a.String(), listening{wayFrom(""), log})
	bob := visitor(t, "Bob", a.String(), islander{island: i})
	acquaint(t, ada, bob, "hello")
	until(t, "nothing to wait", func() bool {
		a, err1 := ada.Status(t.Context())
		b, err2 := bob.Status(t.Context())
		return err1 == nil && err2 == nil && a.Waiting+b.Waiting == 0
	})
	since := time.Now()
	write(t, ada, "bob", "live", client.OnDevice)
	if n := log.since(t, since); n[0] != 1 {
		t.Errorf("got counts %v for a live device, want 1", n)
	}
	i.swallow(true)
	since = time.Now()
	var sent []client.Event
	for n := range 3 {
		sent = append(sent, write(t, ada, "bob", fmt.Sprint("into the void ", n), client.Offered))
	}
	if n := log.since(t, since); len(n) < 3 || slices.Max(n) != 0 {
		t.Errorf("got counts %v for a device whose packets vanish, want 0 for each", n)
	}
	i.swallow(false)
	if testing.Short() {
		return // it takes the device half a minute of silence to connect again
	}
	for _, e := range sent {
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		if now, err := ada.Await(ctx, e.Seq, client.OnDevice); err != nil || now.State != client.OnDevice {
			t.Fatalf("a message is %s, %v after the packets flowed again", now.State, err)
		}
	}
	got, err := bob.Read(t.Context(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sent {
		if n := count(got, e.Text, false, client.Received); n != 1 {
			t.Errorf("%q is shown %d times, want once", e.Text, n)
		}
	}
}

// receipts are the answers to somebody's puts, as their own transport is told.
type receipts struct {
	mu  sync.Mutex
	all []receipt
}

type receipt struct {
	began     time.Time
	delivered int
}

// since waits for an answer to a put that began after a moment, and returns all
// there are.
func (r *receipts) since(t *testing.T, moment time.Time) (delivered []int) {
	t.Helper()
	until(t, "an answer to a put", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		delivered = nil
		for _, one := range r.all {
			if one.began.After(moment) {
				delivered = append(delivered, one.delivered)
			}
		}
		return len(delivered) > 0
	})
	return delivered
}

// listening is a network that notes what puts are answered with.
type listening struct {
	way
	log *receipts
}

func (n listening) Open(name string, pin [32]byte) (transport.Transport, error) {
	r, err := network.New(network.Options{Name: name, Pin: &pin, Dial: n.dial})
	return listener{r, n.log}, err
}

type listener struct {
	*network.Relay
	log *receipts
}

func (l listener) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	began := time.Now()
	r, err := l.Relay.Put(ctx, p)
	if err == nil {
		l.log.mu.Lock()
		l.log.all = append(l.log.all, receipt{began, r.Delivered})
		l.log.mu.Unlock()
	}
	return r, err
}
