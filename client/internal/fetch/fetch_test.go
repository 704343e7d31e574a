package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// source answers one step of a script after the other; the last again and again.
type source struct {
	script []step
	at     []time.Time
	asked  wire.BlobID
}

type step struct {
	blob []byte
	err  error
	hang bool
}

func (s *source) GetBlob(ctx context.Context, id wire.BlobID) ([]byte, error) {
	st := s.script[min(len(s.at), len(s.script)-1)]
	s.at = append(s.at, time.Now())
	s.asked = id
	if st.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return st.blob, st.err
}

var (
	errLine = errors.New("line is down")
	bundle  = bytes.Repeat([]byte{0x42}, BundleSize)
)

func TestGet(t *testing.T) {
	good, bad := step{blob: bundle}, step{err: errLine}
	for _, c := range []struct {
		name   string
		script []step
		want   error // nil: the bundle
		tries  int
	}{
		{"at once", []step{good}, nil, 1},
		{"after breaks", []step{bad, bad, {hang: true}, bad, good}, nil, 5},
		{"never", []step{bad}, ErrUnreachable, 5},
		{"hangs", []step{{hang: true}}, ErrUnreachable, 5},
		{"not there", []step{{err: fmt.Errorf("get: %w", transport.ErrNothing)}}, ErrNotFound, 1},
		{"not there after a break", []step{bad, {err: transport.ErrNothing}}, ErrNotFound, 2},
		{"refused", []step{{err: transport.ErrRefused}}, transport.ErrRefused, 1},
		{"another identity", []step{{err: transport.ErrIdentity}}, transport.ErrIdentity, 1},
		{"closed", []step{{err: transport.ErrClosed}}, transport.ErrClosed, 1},
		{"empty", []step{{}}, ErrSize, 1},
		{"too short", []step{{blob: bundle[1:]}}, ErrSize, 1},
		{"another class", []step{{blob: make([]byte, 16<<10)}}, ErrSize, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{script: c.script}
				f := Fetcher{Source: s, Rand: half{}}
				begin := time.Now()
				got, err := f.Get(t.Context(), wire.BlobID{1, 2, 3})
				if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(got, bundle) || c.want != nil && got != nil {
					t.Errorf("got %d bytes and %v, want %v", len(got), err, c.want)
				}
				if len(s.at) != c.tries || s.asked != (wire.BlobID{1, 2, 3}) {
					t.Errorf("got %d tries for %x, want %d", len(s.at), s.asked[:3], c.tries)
				}
				if d := time.Since(begin); d > tries*tryWithin+23*time.Second {
					t.Errorf("took %v, want a bound", d)
				}
			})
		})
	}
}

// half is randomness that makes a delay what it is called.
type half struct{}

func (half) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0
	}
	b[0] = 0x80
	return len(b), nil
}

func TestPausesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{script: []step{{err: errLine}}}
		f := Fetcher{Source: s, Rand: half{}}
		f.Get(t.Context(), wire.BlobID{})
		for i, want := range []time.Duration{1, 2, 4, 8} {
			if got := s.at[i+1].Sub(s.at[i]); got != want*time.Second {
				t.Errorf("pause %d: got %v, want %v", i, got, want*time.Second)
			}
		}
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	bad, hang := step{err: errLine}, step{hang: true}
	for _, c := range []struct {
		name   string
		script []step
		within time.Duration
		tries  int
	}{
		{"in a try", []step{hang}, 500 * time.Millisecond, 1},
		{"in a pause", []step{bad}, 500 * time.Millisecond, 1},
		{"in the last try", []step{bad, bad, bad, bad, hang}, 16 * time.Second, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				s := &source{script: c.script}
				f := Fetcher{Source: s, Rand: half{}}
				begin := time.Now()
				_, err := f.Get(ctx, wire.BlobID{})
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnreachable) {
					t.Errorf("got %v, want the context's error", err)
				}
				if d := time.Since(begin); d != c.within || len(s.at) != c.tries {
					t.Errorf("got %d tries in %v, want %d in %v", len(s.at), d, c.tries, c.within)
				}
			})
		})
	}
}

func TestRandomnessThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := Fetcher{Source: &source{script: []step{{err: errLine}}}, Rand: iotest.ErrReader(io.ErrNoProgress)}
		if _, err := f.Get(t.Context(), wire.BlobID{}); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v, want %v", err, io.ErrNoProgress)
		}
	})
}
