// Package servers starts private PostgreSQL and Redis servers for tests and for
// the load tool: in a temporary folder, on a unix socket in it, never on a port,
// never as a service, and never past the life of this process.
//
// It takes the programs that the system has (Debian: postgresql and
// redis-server), and installs nothing. It is no way to run a realm.
package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrAbsent: the program is not installed here.
var ErrAbsent = errors.New("is not installed")

// patience is how long a server may take to start or to end.
const patience = time.Minute

// server is one program in a folder of its own.
type server struct {
	dir   string // removed with the server
	start func() *exec.Cmd
	ready func() error   // asks it something
	quit  syscall.Signal // ends it in good order
	owner *owner

	mu   sync.Mutex // guards all below
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// newDir makes a folder that the server's user may write to. Its path is short:
// that of a unix socket must be.
func newDir(prefix string, of *owner) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	if of != nil {
		err = os.Chown(dir, of.uid, of.gid)
	}
	return dir, err
}

// Start starts a server that has ended, and returns when it answers.
func (s *server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return errors.New("the server runs already")
	}
	for end := time.Now().Add(patience); ; {
		said := &tail{}
		cmd := s.start()
		cmd.Stdout, cmd.Stderr = said, said
		cmd.Dir = s.dir
		ended, err := launch(cmd, s.owner, s.quit)
		if err != nil {
			return fmt.Errorf("starting %s: %w", cmd.Path, err)
		}
		s.cmd, s.done = cmd, ended
		if err = s.answers(end); err == nil {
			return nil
		}
		s.end(syscall.SIGKILL)
		// Children of one that was killed hold its memory for a moment longer.
		if !strings.Contains(said.String(), "shared memory") || time.Now().After(end) {
			return fmt.Errorf("starting %s: %w: %s", cmd.Path, err, said)
		}
	}
}

// answers waits until the server answers, or has ended.
func (s *server) answers(end time.Time) error {
	for {
		err := s.ready()
		if err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-s.done:
			return errors.New("it ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server in good order. Start starts it again.
func (s *server) Stop() { s.mu.Lock(); defer s.mu.Unlock(); s.end(s.quit) }

// Kill ends the server as a crash would.
func (s *server) Kill() { s.mu.Lock(); defer s.mu.Unlock(); s.end(syscall.SIGKILL) }

// Close ends the server and removes all that it left.
func (s *server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

// Dir is the folder with all that the server keeps.
func (s *server) Dir() string { return s.dir }

// PID is the number of the server's process, 0 if it does not run.
func (s *server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

func (s *server) end(how syscall.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(how)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-s.done:
	case <-late.C:
		s.cmd.Process.Kill()
		<-s.done
	}
	s.cmd = nil
}

// launch starts a program from a thread that lives until the program has ended:
// on Linux the system tells the program when that thread is gone.
func launch(cmd *exec.Cmd, as *owner, last syscall.Signal) (ended chan struct{}, err error) {
	prepare(cmd, as, last)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}

// find returns the path of a program that may lie off the usual path.
func find(name string, more ...string) (string, error) {
	for _, pattern := range more {
		if all, _ := filepath.Glob(filepath.Join(pattern, name)); len(all) > 0 {
			return all[len(all)-1], nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s %w", name, ErrAbsent)
	}
	return path, nil
}

// tail keeps the end of what a program says, for the error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - 2048; n > 0 {
		t.buf = t.buf[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

var _ io.Writer = (*tail)(nil)

// owner is the user that a program runs as.
type owner struct{ uid, gid int }

// servant returns the first of these users that the system has, for programs
// that refuse to run as root; nil if we are not root.
func servant(names ...string) (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			continue
		}
		return &owner{uid, gid}, nil
	}
	return nil, fmt.Errorf("a user for it %w", ErrAbsent)
}
