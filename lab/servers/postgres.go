package servers

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Postgres is a PostgreSQL server with one empty database.
type Postgres struct {
	server
	bin string
}

// PostgresOptions say what differs from a server that is quick to start.
type PostgresOptions struct {
	// Durable has commits survive a power cut (fsync), as a measurement needs.
	// Without it they survive the end of the server only.
	Durable bool
	// Settings go into postgresql.conf, such as "max_wal_size = 64MB".
	Settings []string
}

// debian is where Debian keeps programs that are not on the path.
const debian = "/usr/lib/postgresql/*/bin"

// StartPostgres makes and starts a server. It fails with ErrAbsent where there
// is none. Whoever starts it calls Close.
func StartPostgres(o PostgresOptions) (_ *Postgres, err error) {
	initdb, err := find("initdb", debian)
	if err != nil {
		return nil, err
	}
	program, err := find("postgres", debian)
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: filepath.Dir(program)}
	if p.owner, err = servant("postgres", "nobody"); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if p.dir, err = newDir("tacet-pg-", p.owner); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	said := &tail{}
	make := exec.Command(initdb, "-D", p.Data(), "-U", "tacet", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	make.Stdout, make.Stderr, make.Dir = said, said, p.dir
	ended, err := launch(make, p.owner, syscall.SIGKILL)
	if err != nil {
		return nil, fmt.Errorf("starting initdb: %w", err)
	}
	if <-ended; !make.ProcessState.Success() {
		return nil, fmt.Errorf("initdb: %s", said)
	}
	var conf bytes.Buffer
	fmt.Fprintf(&conf, "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = %v\nfull_page_writes = %v\nshared_buffers = 32MB\ndynamic_shared_memory_type = mmap\nlog_min_messages = fatal\n", p.dir, o.Durable, o.Durable)
	for _, s := range o.Settings {
		fmt.Fprintln(&conf, s)
	}
	if err := os.WriteFile(filepath.Join(p.Data(), "postgresql.auto.conf"), conf.Bytes(), 0o644); err != nil {
		return nil, err
	}
	p.quit = syscall.SIGINT // "fast": sessions are ended
	p.start = func() *exec.Cmd { return exec.Command(program, "-D", p.Data()) }
	p.ready = func() error { return p.SQL("SELECT 1") }
	return p, p.Start()
}

// Data is the data folder.
func (p *Postgres) Data() string { return filepath.Join(p.dir, "data") }

// URL leads to the database. An empty schema is that of everybody.
func (p *Postgres) URL(schema string) string {
	q := url.Values{"host": {p.dir}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres://tacet@/postgres?" + q.Encode()
}

// SQL runs statements, each in a transaction of its own.
func (p *Postgres) SQL(statements ...string) error {
	psql, err := find("psql", debian)
	if err != nil {
		return err
	}
	args := []string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	out, err := exec.Command(psql, append(args, p.URL(""))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("psql: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Schema makes an empty schema, for a store of its own, and returns its URL.
func (p *Postgres) Schema(name string) (string, error) {
	return p.URL(name), p.SQL("CREATE SCHEMA " + name)
}
