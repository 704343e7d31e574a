//go:build unix

package servers

import (
	"os"
	"syscall"
	"testing"
)

// life starts, stops, kills and closes a server, and looks that nothing is left.
func life(t *testing.T, s *server) {
	t.Helper()
	for _, end := range []func(){s.Stop, s.Kill, s.Close} {
		pid := s.PID()
		if pid == 0 || syscall.Kill(pid, 0) != nil {
			t.Fatalf("process %d does not run", pid)
		}
		end()
		if syscall.Kill(pid, 0) == nil || s.PID() != 0 {
			t.Errorf("process %d runs still", pid)
		}
		if _, err := os.Stat(s.Dir()); err != nil {
			break // closed
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err == nil {
			t.Error("a second start was not refused")
		}
	}
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("the folder is still there")
	}
}

func TestPostgresLivesAndEnds(t *testing.T) {
	p := NewPostgres(t, PostgresOptions{})
	if err := p.SQL("CREATE TABLE x (n int)", "INSERT INTO x VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if p.SQL("SELECT nothing") == nil {
		t.Error("a bad statement was taken")
	}
	life(t, &p.server)
}

func TestRedisLivesAndEnds(t *testing.T) { life(t, &NewRedis(t).server) }
