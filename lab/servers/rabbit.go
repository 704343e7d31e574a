package servers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Rabbit is a RabbitMQ server on a port of loopback that the system chose.
type Rabbit struct {
	server
	ports []string // of AMQP, between nodes, and of epmd
}

// StartRabbit starts a server. It fails with ErrAbsent where there is none.
// Whoever starts it calls Close.
func StartRabbit() (_ *Rabbit, err error) {
	program, err := find("rabbitmq-server", "/usr/lib/rabbitmq/bin")
	if err != nil {
		return nil, err
	}
	r := &Rabbit{}
	if r.owner, err = servant("rabbitmq", "nobody"); err != nil {
		return nil, fmt.Errorf("rabbitmq: %w", err)
	}
	if r.dir, err = newDir("tacet-rabbit-", r.owner); err != nil {
		return nil, err
	}
	var held []net.Listener
	for range 3 { // free a moment ago: a server that finds one taken does not start
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		r.ports = append(r.ports, port)
		held = append(held, ln)
	}
	for _, ln := range held {
		ln.Close()
	}
	conf := filepath.Join(r.dir, "rabbitmq.conf")
	if err := os.WriteFile(conf, []byte("listeners.tcp.1 = 127.0.0.1:"+r.ports[0]+"\nlog.console = false\nlog.file = false\n"), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "enabled_plugins"), []byte("[].\n"), 0o644); err != nil {
		return nil, err
	}
	r.quit = syscall.SIGTERM
	r.start = func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.WaitDelay = time.Second // Erlang's name service holds on to what it inherits
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LANG=C.UTF-8",
			"RABBITMQ_NODENAME=tacet" + r.ports[0] + "@localhost", "RABBITMQ_DIST_PORT=" + r.ports[1], "ERL_EPMD_PORT=" + r.ports[2],
			"ERL_EPMD_ADDRESS=127.0.0.1", "RABBITMQ_CONFIG_FILE=" + conf, "RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(r.dir, "enabled_plugins"),
			"RABBITMQ_MNESIA_BASE=" + filepath.Join(r.dir, "data"), "RABBITMQ_LOG_BASE=" + r.dir, "RABBITMQ_LOGS=-",
			"RABBITMQ_SERVER_START_ARGS=-start_epmd true", "RABBITMQ_PID_FILE=" + filepath.Join(r.dir, "pid"),
		}
		return cmd
	}
	r.ready = func() error {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+r.ports[0], time.Second)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	if err := r.Start(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// URL leads to the server.
func (r *Rabbit) URL() string { return "amqp://guest:guest@127.0.0.1:" + r.ports[0] + "/" }

// Close ends the server, and the name service that Erlang started for it.
func (r *Rabbit) Close() {
	if epmd, err := find("epmd"); err == nil {
		defer func() {
			kill := exec.Command(epmd, "-port", r.ports[2], "-kill")
			kill.Run() // it ends by itself where it cannot be told
		}()
	}
	// The program is a script; what it started has its number in a file. It takes
	// long to say goodbye, and nothing of it stays.
	if b, err := os.ReadFile(filepath.Join(r.dir, "pid")); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid > 1 {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
	r.Kill()
	r.server.Close()
}
