package servers

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Redis is a Redis server that writes nothing to disk.
type Redis struct{ server }

// StartRedis starts a server with these arguments besides its own. It fails with
// ErrAbsent where there is none. Whoever starts it calls Close.
func StartRedis(args ...string) (_ *Redis, err error) {
	program, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	r := &Redis{}
	if r.owner, err = servant("redis", "nobody"); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if r.dir, err = newDir("tacet-redis-", r.owner); err != nil {
		return nil, err
	}
	r.quit = syscall.SIGTERM
	r.start = func() *exec.Cmd {
		return exec.Command(program, append([]string{"--port", "0", "--unixsocket", r.socket(), "--dir", r.dir,
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--daemonize", "no"}, args...)...)
	}
	r.ready = r.ping
	if err := r.Start(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Redis) socket() string { return filepath.Join(r.dir, "redis.sock") }

// URL leads to the database of that number, 0 to 15.
func (r *Redis) URL(db int) string { return fmt.Sprintf("unix://%s?db=%d", r.socket(), db) }

func (r *Redis) ping() error {
	c, err := net.DialTimeout("unix", r.socket(), time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && line != "+PONG\r\n" && !strings.HasPrefix(line, "-NOAUTH") {
		err = fmt.Errorf("it says %q", line)
	}
	return err
}
