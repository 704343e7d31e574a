package hub

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

const upgradeHeaders = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

// answeredHTTP is an answer with its body.
type answeredHTTP struct {
	*http.Response
	body []byte
	at   time.Duration
}

// do sends a request as it stands, on a connection of its own.
func (w *world) do(method, path, headers string, body []byte) answeredHTTP {
	w.t.Helper()
	nc := w.dial()
	defer nc.Close()
	go func() {
		io.WriteString(nc, method+" "+path+" HTTP/1.1\r\nHost: relay\r\n"+headers+"\r\n")
		nc.Write(body)
	}()
	r, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	at := w.now()
	b, _ := io.ReadAll(r.Body)
	return answeredHTTP{r, b, at}
}

func (w *world) get(path, headers string) answeredHTTP { return w.do("GET", path, headers, nil) }

func (w *world) post(body []byte) answeredHTTP {
	return w.do("POST", "/v1/put", fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
}

func TestPostIsAnsweredLikeAnyPut(t *testing.T) {
	virtual(t, Config{WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		k, nobody := owner(t), owner(t)
		a := w.watch(k)
		a.pong.Store(true)
		context := bytes.Repeat([]byte{9}, wire.ContextSize)
		for n, c := range []struct {
			echo bool
			want uint16
		}{{true, 1}, {false, 0}} {
			time.Sleep(1234567 * time.Nanosecond)
			at := w.now()
			go func() {
				nonce := a.cell(k, uint64(n))
				if c.echo {
					a.echo(nonce)
				}
			}()
			r := w.post(append(context, putFrame(k, uint64(n))...))
			if r.StatusCode != 200 || len(r.body) != wire.AnswerSize || binary.BigEndian.Uint64(r.body) != uint64(n) ||
				binary.BigEndian.Uint16(r.body[8:]) != c.want || r.body[10] != 1 {
				t.Errorf("got status %d, answer %x, want delivered %d", r.StatusCode, r.body, c.want)
			}
			if r.at != answerTime(at) {
				t.Errorf("got an answer after %v, want %v", r.at-at, answerTime(at)-at)
			}
			if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Encoding") != "" {
				t.Errorf("got headers %v", r.Header)
			}
		}
		at := w.now()
		if r := w.post(append(context, putFrame(nobody, 5)...)); r.at != answerTime(at) || r.body[9] != 0 {
			t.Errorf("to nobody: got answer %x after %v, want 0 after %v", r.body, r.at-at, answerTime(at)-at)
		}
	})
}

func TestContextsAreCapped(t *testing.T) {
	virtual(t, Config{Live: 10 * time.Minute}, func(t *testing.T, w *world) {
		k := owner(t)
		one, two := bytes.Repeat([]byte{1}, 16), bytes.Repeat([]byte{2}, 16)
		results := make(chan int, 200)
		all := func(n int, context []byte) (ok, limited int) {
			for i := range n {
				go func() { results <- w.post(append(bytes.Clone(context), putFrame(k, uint64(i))...)).StatusCode }()
			}
			for range n {
				switch got := <-results; got {
				case 200:
					ok++
				case 429:
					limited++
				default:
					t.Errorf("got status %d", got)
				}
			}
			return ok, limited
		}
		if ok, limited := all(140, one); ok != 128 || limited != 12 {
			t.Errorf("got %d answered, %d limited, want 128, 12", ok, limited)
		}
		if ok, _ := all(3, two); ok != 3 {
			t.Errorf("another context: got %d answered, want 3", ok)
		}
		key := w.hub.contexts.key
		time.Sleep(10 * time.Minute)
		if ok, _ := all(5, one); ok != 5 {
			t.Errorf("in the next period: got %d answered, want 5", ok)
		}
		sum := 0
		for _, row := range w.hub.contexts.counts {
			for _, n := range row {
				sum += int(n)
			}
		}
		if w.hub.contexts.key == key || sum != 5*contextRows {
			t.Errorf("got the key or the counts of another period: they add up to %d, want %d", sum, 5*contextRows)
		}
	})
}

// A flood of contexts takes no memory, shuts no other context out and makes the
// relay forget none that is at its limit.
func TestAFloodOfContextsChangesNothing(t *testing.T) {
	var c contexts
	spent := [16]byte{15: 1}
	for range maxPerContext {
		if !c.count(spent, 1) {
			t.Fatal("got a context refused before its limit")
		}
	}
	var id [16]byte
	for n := range uint64(1 << 19) {
		binary.BigEndian.PutUint64(id[:], n+1)
		if !c.count(id, 1) {
			t.Fatalf("got context %d refused", n)
		}
	}
	if c.count(spent, 1) {
		t.Error("got a context that had reached its limit allowed after the flood")
	}
	fresh := [16]byte{14: 1}
	for n := range maxPerContext - 8 {
		if !c.count(fresh, 1) {
			t.Fatalf("got another context refused after %d cells", n)
		}
	}
	if !c.count(spent, 2) {
		t.Error("got a context refused in the next period")
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	const size = "Content-Length: 1336\r\n"
	body := make([]byte, wire.PostPutSize)
	for name, c := range map[string]struct {
		method, path, headers string
		body                  []byte
		want                  int
	}{
		"post of a page":         {"POST", "/v1/put", size + "Origin: https://example.org\r\n", body, 403},
		"post of a null origin":  {"POST", "/v1/put", size + "Origin: null\r\n", body, 403},
		"post, empty origin":     {"POST", "/v1/put", size + "Origin:\r\n", body, 403},
		"post of a listed page":  {"POST", "/v1/put", size + "Origin: https://listed.example\r\n", body, 200},
		"post, two origins":      {"POST", "/v1/put", size + "Origin: https://listed.example\r\nOrigin: https://example.org\r\n", body, 403},
		"post, compressed":       {"POST", "/v1/put", size + "Content-Encoding: gzip\r\n", body, 415},
		"post, one byte less":    {"POST", "/v1/put", "Content-Length: 1335\r\n", body[1:], 413},
		"post, one byte more":    {"POST", "/v1/put", "Content-Length: 1337\r\n", append(body, 0), 413},
		"post, nothing":          {"POST", "/v1/put", "Content-Length: 0\r\n", nil, 413},
		"post, no length":        {"POST", "/v1/put", "Transfer-Encoding: chunked\r\n", []byte("0\r\n\r\n"), 411},
		"watch by post":          {"POST", "/v1/watch", upgradeHeaders, nil, 405},
		"watch of a page":        {"GET", "/v1/watch", upgradeHeaders + "Origin: https://example.org\r\n", nil, 403},
		"put of a page":          {"GET", "/v1/put", upgradeHeaders + "Origin: http://localhost\r\n", nil, 403},
		"put of a listed page":   {"GET", "/v1/put", upgradeHeaders + "Origin: https://listed.example\r\n", nil, 101},
		"watch without upgrade":  {"GET", "/v1/watch", "", nil, 400},
		"put, deleted":           {"DELETE", "/v1/put", "", nil, 405},
		"compression is ignored": {"GET", "/v1/put", upgradeHeaders + "Sec-WebSocket-Extensions: permessage-deflate\r\n", nil, 101},
	} {
		virtual(t, Config{Origins: []string{"https://listed.example"}}, func(t *testing.T, w *world) {
			r := w.do(c.method, c.path, c.headers, c.body)
			if r.StatusCode != c.want {
				t.Errorf("%s: got status %d, want %d", name, r.StatusCode, c.want)
			}
			if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Sec-Websocket-Extensions") != "" {
				t.Errorf("%s: got headers %v", name, r.Header)
			}
			if r.StatusCode >= 400 && bytes.Count(r.body, []byte("\n")) != 1 {
				t.Errorf("%s: got text %q, want one line", name, r.body)
			}
		})
	}
}

func TestSlowBodyIsNotWaitedFor(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		at := w.now()
		r := w.do("POST", "/v1/put", "Content-Length: 1336\r\n", make([]byte, 1335))
		if r.StatusCode != 400 || r.at-at != bodyWithin {
			t.Errorf("got status %d after %v, want 400 after %v", r.StatusCode, r.at-at, bodyWithin)
		}
	})
}

// TestEarlyBytesEndTheConnection: what comes before our answer is not ours.
func TestEarlyBytesEndTheConnection(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		nc := w.dial()
		defer nc.Close()
		go nc.Write(append([]byte("GET /v1/put HTTP/1.1\r\nHost: relay\r\n"+upgradeHeaders+"\r\n"), mask(2, putFrame(owner(t), 1))...))
		if b, err := io.ReadAll(nc); err != nil || len(b) != 0 {
			t.Errorf("got %q, %v, want the end", b, err)
		}
		synctest.Wait()
	})
}
