package servers

import "errors"

// TB is what a test lends: testing.TB has it.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
	Skip(...any)
}

// NewPostgres starts a server for a test, and skips the test where there is none.
func NewPostgres(t TB, o PostgresOptions) *Postgres {
	t.Helper()
	p, err := StartPostgres(o)
	Given(t, err, "postgresql")
	t.Cleanup(p.Close)
	return p
}

// NewRedis starts a server for a test, and skips the test where there is none.
func NewRedis(t TB, args ...string) *Redis {
	t.Helper()
	r, err := StartRedis(args...)
	Given(t, err, "redis-server")
	t.Cleanup(r.Close)
	return r
}

// Given skips a test where what starts a server found none, and ends it where that failed.
func Given(t TB, err error, name string) {
	t.Helper()
	if errors.Is(err, ErrAbsent) {
		t.Skip("SKIPPED 1 test: " + err.Error() + "; Debian's package " + name + " has it")
	}
	if err != nil {
		t.Fatal(err)
	}
}
