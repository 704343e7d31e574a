package blob_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/memory"
)

// part is what one network may have in memory: a ninth of 32 MiB.
const part = 32 << 20 / 9

// stalled is a peer that sends and takes nothing until it is let go.
type stalled struct {
	http.ResponseWriter
	stuck *atomic.Int64
	gone  chan struct{}
}

func (s *stalled) wait() error {
	s.stuck.Add(1)
	<-s.gone
	return io.ErrClosedPipe
}

func (s *stalled) Read([]byte) (int, error)  { return 0, s.wait() }
func (s *stalled) Write([]byte) (int, error) { return 0, s.wait() }

func from(p *place, remote, method, at string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, at, bytes.NewReader(body))
	r.RemoteAddr = remote
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func large(n byte) *wire.BlobPut {
	f := file(n)
	f.Content = bytes.Repeat([]byte{n}, wire.MaxBlob)
	return f
}

// Whoever neither sends nor takes bodies holds up no other network, and costs
// no more memory than its part.
func TestStalledPeersHoldUpTheirOwnNetworkAtMost(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { stall(t, method) }) })
	}
}

func stall(t *testing.T, method string) {
	store, err := memory.NewBlobs(4<<20, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, store)
	f := large(1)
	wantStatus(t, from(p, "198.51.100.1:1", "POST", "/v1/blob", body(t, f)), 200)

	var stuck atomic.Int64
	gone := make(chan struct{})
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			s := &stalled{httptest.NewRecorder(), &stuck, gone}
			r := httptest.NewRequest(method, path(f), nil)
			if method == "POST" {
				r = httptest.NewRequest(method, "/v1/blob", s)
				r.ContentLength = wire.BlobHeaderSize + wire.MaxBlob
			}
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:%d", n, n)
			if method == "POST" {
				p.ServeHTTP(httptest.NewRecorder(), r)
			} else {
				p.ServeHTTP(s, r)
			}
		})
	}
	synctest.Wait()
	began := time.Now()
	refused := from(p, "192.0.2.7:7", "GET", path(f), nil)
	wantStatus(t, refused, 503)
	if got := refused.Header().Get("Retry-After"); got == "" {
		t.Error("got no Retry-After")
	}
	wantStatus(t, from(p, "198.51.100.1:1", "GET", path(f), nil), 200)
	wantStatus(t, from(p, "198.51.100.1:1", "POST", "/v1/blob", body(t, slot(2))), 200)
	wantStatus(t, from(p, "127.0.0.1:1", "GET", path(slot(2)), nil), 200)
	if d := time.Since(began); d != 0 {
		t.Errorf("got answers after %v, want them at once", d)
	}
	close(gone)
	all.Wait()
	if method == "POST" { // refused GETs are stuck as well, in saying so
		if got := stuck.Load() * wire.MaxBlob; got == 0 || got > part {
			t.Errorf("got %d bytes in memory, want some and at most %d", got, part)
		}
	}
	wantStatus(t, from(p, "192.0.2.7:7", "GET", path(f), nil), 200)
}

// due notes the deadlines that a body is given.
type due struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *due) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *due) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

func TestABodyHasTimeByItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, nil)
		for _, c := range []struct {
			put  *wire.BlobPut
			want time.Duration // whole seconds
		}{{slot(1), 10 * time.Second}, {large(2), 31 * time.Second}} {
			w := &due{ResponseRecorder: httptest.NewRecorder()}
			p.ServeHTTP(w, httptest.NewRequest("POST", "/v1/blob", bytes.NewReader(body(t, c.put))))
			p.ServeHTTP(w, httptest.NewRequest("GET", path(c.put), nil))
			for name, at := range map[string]time.Time{"read": w.read, "write": w.write} {
				if got := time.Until(at).Truncate(time.Second); got != c.want {
					t.Errorf("%d bytes: got %v to %s, want %v", len(c.put.Content), got, name, c.want)
				}
			}
		}
	})
}
