package rpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

const (
	// maxCalls bounds the calls that one connection may have under way.
	maxCalls = 64
	// grace is how long calls under way may take once the owner ends.
	grace = 2 * time.Second
)

// Serve answers calls on the profile's socket until ctx ends. Then it takes no
// more calls, ends those that wait for something, finishes the others, and says
// so to its callers: they know that what has no answer was not done.
//
// The caller owns the profile until Serve returns, so a socket that is there
// already was left behind by a process that is gone.
func Serve(ctx context.Context, dir string, s client.Service) error {
	path := filepath.Join(dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing old socket: %w", err)
	}
	l, err := listen(dir)
	if err != nil {
		return fmt.Errorf("opening socket: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	defer l.Close()
	defer os.Remove(path) // first of all: who comes now finds nobody, not a socket without a reader
	context.AfterFunc(ctx, func() { l.Close() })
	table := methods(s)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accepting on socket: %w", err)
		}
		wg.Go(func() { (&session{conn: conn, table: table, service: s}).serve(ctx) })
	}
}

// listen makes a socket that only this user can open: it is 0600, and never
// exists with wider rights.
func listen(dir string) (*net.UnixListener, error) {
	path, done, err := reach(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	restore := narrow()
	defer restore()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the path may not lead here any more
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// maxPath is how long the path of a socket may be everywhere, in bytes.
const maxPath = 100
