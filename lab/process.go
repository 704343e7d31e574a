package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// RoleCommand is the hidden command under which a program runs Role.
const RoleCommand = "role"

// stopWithin is how long a process may take to end after it was asked to.
const stopWithin = time.Minute

// errEnded is what a question to a process that is not there is answered with.
var errEnded = errors.New("the process has ended")

// Errors of what not every system can do to a process.
var (
	errFreeze = errors.New("this system cannot freeze a process")
	errMemory = errors.New("this system does not show the memory of a process")
)

// process is this program started once more in a role, so that it can really
// be frozen and killed. It is told what to do in lines of JSON and answers in
// such lines. Should we die without a word, it sees the end of its input; one
// that is frozen is woken and ended by the system, as nobody is left above it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all it said was heard

	mu     sync.Mutex // guards in, and writing to it
	in     io.WriteCloser
	killed bool // by us: its end is no trouble
	ended  error
}

// start runs a role. The order is its first line. Every line that it says goes
// to hear, from one goroutine; what it cannot say any more, half a line, is lost.
func start(role string, order any, log io.Writer, hear func([]byte)) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	p := &process{cmd: exec.Command(self, RoleCommand, role), done: make(chan struct{})}
	p.cmd.Stderr = log
	apart(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	go func() {
		defer close(p.done)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				break
			}
			hear(line)
		}
		err := p.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.killed {
			p.ended = err
		}
	}()
	return p, p.say(order)
}

// say gives the process a line.
func (p *process) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing to a process: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return errEnded
	}
	return nil
}

// over reports whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once, as a crash or a power cut would.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.cmd.Process.Kill()
	<-p.done
}

// expectKill says that the process is going to kill itself.
func (p *process) expectKill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
}

// stop asks the process to end, and returns what went wrong with it in its
// whole life.
func (p *process) stop() error {
	p.mu.Lock()
	p.in.Close()
	p.mu.Unlock()
	late := time.NewTimer(stopWithin)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		p.kill()
		return errors.New("the process did not end when asked to")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// pid is the process's number, for people.
func (p *process) pid() int { return p.cmd.Process.Pid }
