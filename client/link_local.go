package client

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of the local network's way.
const (
	localWithin = 5 * time.Second  // for a stranger's hello, and for a connection to be made
	localSilent = time.Minute      // for a frame
	localQuiet  = 30 * time.Second // without anything new: the relay's way is used, too
	localMost   = 8                // connections at a time
	frameHead   = 8                // number 4 ‖ length 4
)

// linkServer listens on the local network while a link is open.
type linkServer struct {
	l         *linker
	listeners []net.Listener
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu    sync.Mutex // guards the rest
	open  int        // connections
	known int        // of them, of the new device
	since time.Time
	news  chan struct{} // closed when there is something new to send
}

// localAddresses returns the addresses of this machine on private networks.
func (c *Client) localAddresses() (all []netip.Addr) {
	if c.opt.Network == nil || c.opt.Network.Proxy() != "" {
		return nil // who hides behind a proxy does not answer on a network
	}
	if c.opt.localHosts != nil {
		return c.opt.localHosts
	}
	have, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range have {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().IsPrivate() {
				all = append(all, ip.Unmap())
			}
		}
	}
	return all[:min(len(all), link.MaxAddresses)]
}

func parsePorts(ports []string) (all []netip.AddrPort) {
	for _, p := range ports {
		if a, err := netip.ParseAddrPort(p); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// listen begins to listen: where it did before, or at new ports. It returns where.
// No listener is no error: the relay serves.
func (l *linker) listen(before []string) (ports []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		return before
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &linkServer{l: l, stop: stop, since: time.Now(), news: make(chan struct{})}
	want := before
	if before == nil {
		for _, a := range l.c.localAddresses() {
			want = append(want, netip.AddrPortFrom(a, 0).String())
		}
	}
	for _, w := range want {
		ln, err := net.Listen("tcp", w)
		if err != nil {
			continue
		}
		s.listeners = append(s.listeners, ln)
		ports = append(ports, ln.Addr().String())
	}
	l.server = s // with none at all, too: it is not tried at every step
	for _, ln := range s.listeners {
		s.done.Go(func() { s.accept(ctx, ln) })
	}
	return ports
}

// hangUp ends listening and every connection.
func (l *linker) hangUp() {
	l.mu.Lock()
	s := l.server
	l.server = nil
	if s != nil {
		l.old = append(l.old, s)
	}
	l.mu.Unlock()
	if s == nil {
		return
	}
	s.stop()
	for _, ln := range s.listeners {
		ln.Close()
	}
}

// rest waits until nothing of the server is left that was hung up.
func (l *linker) rest() {
	l.mu.Lock()
	old := l.old
	l.old = nil
	l.mu.Unlock()
	for _, s := range old {
		s.done.Wait()
	}
}

// byRelay reports whether messages are to be put at the relay: the local network is
// given a moment first. A connection that brings nothing new does not keep the relay's
// way shut: somebody in between may repeat what was said, or swallow one direction.
//
// spec: link.md#on-the-local-network
func (l *linker) byRelay() bool {
	l.mu.Lock()
	s, silent := l.server, time.Since(l.heardAt)
	l.mu.Unlock()
	if s == nil || len(s.listeners) == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known > 0 {
		return silent > localQuiet
	}
	return time.Since(s.since) > linkNetwork
}

// wakeServer says that there is something new to send.
func (l *linker) wakeServer() {
	l.mu.Lock()
	s := l.server
	l.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// begun starts the moment that the local network is given.
func (l *linker) begun() {
	l.mu.Lock()
	s := l.server
	l.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		s.since = time.Now()
		s.mu.Unlock()
	}
}

func (s *linkServer) accept(ctx context.Context, ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		full := s.open >= localMost
		if !full {
			s.open++
		}
		s.mu.Unlock()
		if full {
			conn.Close()
			continue
		}
		s.done.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.serve(ctx, conn)
			s.mu.Lock()
			s.open--
			s.mu.Unlock()
		})
	}
}

// serve says nothing to who does not know the session.
//
// spec: link.md#on-the-local-network
func (s *linkServer) serve(ctx context.Context, conn net.Conn) {
	var hello [link.HelloSize]byte
	conn.SetDeadline(time.Now().Add(localWithin))
	if _, err := io.ReadFull(conn, hello[:]); err != nil {
		return
	}
	st, err := s.l.load(ctx)
	if err != nil || st == nil || len(st.Root) == 0 {
		return
	}
	session, err := st.session()
	if err != nil {
		return
	}
	defer session.Wipe()
	if !session.Knows(hello) {
		return
	}
	s.count(1)
	defer s.count(-1)
	s.l.goes("network")
	said, err := readStatus(conn, session)
	if err != nil || s.l.heard(ctx, st, said, false) != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	var both sync.WaitGroup
	defer both.Wait()
	defer conn.Close()
	defer stop()
	both.Go(func() {
		defer stop()
		for {
			said, err := readStatus(conn, session)
			if err != nil || s.l.heard(ctx, st, said, false) != nil {
				return
			}
		}
	})
	s.send(ctx, conn, st, said.Next)
}

func (s *linkServer) count(n int) {
	s.mu.Lock()
	s.known += n
	if n < 0 {
		s.since = time.Now() // it may come back at once
	}
	s.mu.Unlock()
	s.l.wake()
}

// send writes messages as they become ready.
func (s *linkServer) send(ctx context.Context, conn net.Conn, of *linkState, next uint32) {
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		st, err := s.l.load(ctx)
		if err != nil || st == nil || st.Secret != of.Secret || st.Phase == phaseEnding {
			return
		}
		for ; next < st.Next; next++ {
			var row vault.Row
			var found bool
			err := s.l.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
				row, found, err = tx.Get(vault.Meta, metaPiece+int64(next))
				return err
			})
			if err != nil {
				return
			}
			if found && writeFrame(conn, next, row.V) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

func writeFrame(conn net.Conn, n uint32, blob []byte) error {
	head := binary.BigEndian.AppendUint32(make([]byte, 0, frameHead+len(blob)), n)
	head = binary.BigEndian.AppendUint32(head, uint32(len(blob)))
	conn.SetWriteDeadline(time.Now().Add(localSilent))
	_, err := conn.Write(append(head, blob...))
	return err
}

var (
	errFrame = errors.New("frame is malformed")
	errQuiet = errors.New("no frame came")
)

// readFrame reads a frame of one of the sizes of blobs. It fails with errQuiet if none
// begins within a time.
func readFrame(conn net.Conn, within time.Duration) (n uint32, blob []byte, err error) {
	var head [frameHead]byte
	conn.SetReadDeadline(time.Now().Add(within))
	if _, err := io.ReadFull(conn, head[:1]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errQuiet
		}
		return 0, nil, err
	}
	conn.SetReadDeadline(time.Now().Add(localSilent))
	if _, err := io.ReadFull(conn, head[1:]); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[4:]))
	if !slices.Contains(wire.BlobClasses[:], size) {
		return 0, nil, errFrame
	}
	blob = make([]byte, size)
	_, err = io.ReadFull(conn, blob)
	return binary.BigEndian.Uint32(head[:]), blob, err
}

func readStatus(conn net.Conn, session *link.Session) (link.Status, error) {
	n, blob, err := readFrame(conn, localSilent)
	if err != nil {
		return link.Status{}, err
	}
	if n != 0 || len(blob) != link.BlobSize {
		return link.Status{}, errFrame
	}
	return session.OpenUp(0, blob)
}
