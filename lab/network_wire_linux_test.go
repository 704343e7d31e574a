package lab

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// internet is what lies between the hosts of one scenario: it carries packets
// from line to line by their destination, late, lost or twice as each line says.
// It is in user space: no kernel has to know how to delay packets, and what a
// line does can be changed in the middle of a conversation.
type internet struct {
	t     *testing.T
	stop  chan struct{}
	tasks sync.WaitGroup

	mu    sync.Mutex // guards what follows, and the weather of lines
	dice  *rand.Rand
	lines map[netip.Prefix]*uplink // by what they reach
	all   []*uplink
}

// weather is how a line treats packets, in either direction.
type weather struct {
	delay time.Duration // each way
	loss  float64       // the share of packets that vanish, each way
	twice float64       // the share that comes twice
	mtu   int           // what is larger vanishes without a word, 0: nothing does
	cut   bool          // everything vanishes, and nobody is told
}

// uplink is where one host meets the internet: a TUN device in its namespace.
type uplink struct {
	net      *internet
	tun      *os.File
	up, down chan parcel
	now      weather
	carried  int // packets, both ways
}

// parcel is a packet and when it is through.
type parcel struct {
	packet []byte
	due    time.Time
}

// lineQueue is how many packets a direction of a line holds before it drops
// some, as a router does.
const lineQueue = 2048

// newInternet makes one. Which packets are lost is decided by seed.
func newInternet(t *testing.T, seed uint64) *internet {
	n := &internet{t: t, stop: make(chan struct{}), dice: rand.New(rand.NewPCG(seed, seed)), lines: map[netip.Prefix]*uplink{}}
	t.Cleanup(func() {
		close(n.stop)
		n.mu.Lock()
		for _, l := range n.all {
			l.tun.Close()
		}
		n.mu.Unlock()
		n.tasks.Wait()
	})
	return n
}

// attach makes a device named wan in a namespace and brings what is for the
// prefixes there.
func (n *internet) attach(namespace string, w weather, prefixes ...string) *uplink {
	n.t.Helper()
	tun, err := openTun(namespace, "wan")
	if err != nil {
		n.t.Fatalf("making a line: %v", err)
	}
	l := &uplink{net: n, tun: tun, up: make(chan parcel, lineQueue), down: make(chan parcel, lineQueue), now: w}
	n.mu.Lock()
	n.all = append(n.all, l)
	n.mu.Unlock()
	n.tasks.Go(l.read)
	n.tasks.Go(func() { n.pass(l.up, n.route) })
	n.tasks.Go(func() { n.pass(l.down, func(p []byte) { l.tun.Write(p) }) })
	l.reach(prefixes...)
	return l
}

// reach brings what is for the prefixes, and for nothing else any more, to a line.
func (l *uplink) reach(prefixes ...string) {
	n := l.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, other := range n.lines {
		if other == l {
			delete(n.lines, p)
		}
	}
	for _, p := range prefixes {
		n.lines[netip.MustParsePrefix(p)] = l
	}
}

// count is how many packets a line has carried.
func (l *uplink) count() int {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	return l.carried
}

// read takes what the host sends.
func (l *uplink) read() {
	b := make([]byte, 64<<10)
	for {
		n, err := l.tun.Read(b)
		if err != nil {
			return
		}
		l.take(l.up, append([]byte(nil), b[:n]...))
	}
}

// take throws the dice for a packet and queues what is left of it.
func (l *uplink) take(queue chan<- parcel, packet []byte) {
	l.net.mu.Lock()
	w := l.now
	lost := w.cut || w.mtu > 0 && len(packet) > w.mtu || l.net.dice.Float64() < w.loss
	copies := 1
	if l.net.dice.Float64() < w.twice {
		copies = 2
	}
	if !lost {
		l.carried += copies
	}
	l.net.mu.Unlock()
	if lost {
		return
	}
	for range copies {
		select {
		case queue <- parcel{packet, time.Now().Add(w.delay)}:
		default:
		}
	}
}

// pass hands packets on when they are due, in order.
func (n *internet) pass(queue <-chan parcel, to func([]byte)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var p parcel
		select {
		case p = <-queue:
		case <-n.stop:
			return
		}
		timer.Reset(time.Until(p.due))
		select {
		case <-timer.C:
		case <-n.stop:
			return
		}
		to(p.packet)
	}
}

// route brings a packet to the line of its destination. What leads nowhere, or
// is no packet, is forgotten.
func (n *internet) route(packet []byte) {
	to, ok := destination(packet)
	if !ok {
		return
	}
	n.mu.Lock()
	var best *uplink
	bits := -1
	for p, l := range n.lines {
		if p.Contains(to) && p.Bits() > bits {
			best, bits = l, p.Bits()
		}
	}
	n.mu.Unlock()
	if best != nil {
		best.take(best.down, packet)
	}
}

// destination reads where an IP packet goes.
func destination(p []byte) (netip.Addr, bool) {
	switch {
	case len(p) >= 20 && p[0]>>4 == 4 && int(binary.BigEndian.Uint16(p[2:])) == len(p):
		return netip.AddrFrom4([4]byte(p[16:20])), true
	case len(p) >= 40 && p[0]>>4 == 6 && int(binary.BigEndian.Uint16(p[4:]))+40 == len(p):
		return netip.AddrFrom16([16]byte(p[24:40])), true
	}
	return netip.Addr{}, false
}

// openTun makes a TUN device in a namespace. It lasts as long as the file. The
// kernel hands over whole packets with their checksums done: nothing has to be
// switched off.
func openTun(namespace, name string) (tun *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var ns, fd int
		if ns, err = unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(ns)
		if err = unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
			return
		}
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var req *unix.Ifreq
		if req, err = unix.NewIfreq(name); err == nil {
			req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		if err != nil {
			unix.Close(fd)
			err = fmt.Errorf("making a TUN device: %w", err)
			return
		}
		tun = os.NewFile(uintptr(fd), "tun") // only now: a device can be polled once it is one
	}()
	<-done
	return tun, err
}
