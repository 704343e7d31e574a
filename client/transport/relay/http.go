package relay

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// request is one HTTP request, over a connection of its own.
type request struct {
	isolate string
	pin     *[32]byte // nil takes any realm key
	method  string
	path    string
	body    []byte
	limit   int      // of the answer's body, in bytes
	token   []byte   // presented; nil: none
	bill    *bill    // a token is to be taken for this when the connection is there
	voucher *voucher // or this is to be paid and presented
}

// answer is what came back.
type answer struct {
	status int
	body   []byte
	header http.Header
	who    shown // what TLS showed, nothing without TLS
}

// good returns an error unless the status is 200.
func (a *answer) good() error { return statusError(a.status) }

// statusError says what a status means for whoever asked. The text that comes
// with it is the relay's, and shown to nobody.
//
// spec: relay-api.md#errors
func statusError(status int) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusTooManyRequests:
		return errLimit
	case status == http.StatusUnauthorized:
		return errSpent
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return errSlow
	case status == http.StatusNotFound:
		return &fault{text: "the relay has nothing there", kind: transport.ErrNothing}
	case status == http.StatusGone:
		return &fault{text: "the relay does not have this any more", kind: transport.ErrNothing}
	case status == http.StatusInsufficientStorage:
		return &fault{text: "the relay has no room", kind: transport.ErrRoom}
	case status >= 400 && status < 500:
		return refused(http.StatusText(status))
	case status >= 500:
		return errFailed
	}
	return broken("an answer that is none")
}

// ask sends a request and reads its answer.
func (r *Relay) ask(ctx context.Context, q request) (answer, error) {
	c, err := r.connect(ctx, q.isolate, q.pin)
	if err != nil {
		return answer{}, err
	}
	defer c.Close()
	if q.pin != nil && q.path != realmPath && c.who.proxied { // introduced has asked for the descriptor
		r.mu.Lock()
		d := r.descriptor
		r.mu.Unlock()
		if d == nil {
			return answer{}, errBroken
		}
		if err := c.admitted(d); err != nil {
			return answer{}, err
		}
	}
	if q.bill != nil {
		if q.token, err = r.pay(ctx, q.bill.purpose, q.bill.binding); err != nil {
			return answer{}, err
		}
	}
	if q.voucher != nil {
		if err := r.settle(ctx, q.voucher); err != nil {
			return answer{}, err
		}
		q.token = q.voucher.token
	}
	hr, err := http.NewRequestWithContext(ctx, q.method, r.at.url(q.path), bytes.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	hr.Header.Set("User-Agent", "") // says which program asks
	if q.token != nil {
		hr.Header.Set(tokenHeader, base64.RawURLEncoding.EncodeToString(q.token))
	}
	resp, err := client(c).Do(hr)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(q.limit)+1))
	if err != nil {
		return answer{}, err
	}
	if len(body) > q.limit {
		if resp.StatusCode == http.StatusOK {
			return answer{}, broken("an answer that is too long")
		}
		body = nil // an error's text: the status alone counts
	}
	return answer{status: resp.StatusCode, body: body, header: resp.Header, who: c.who}, nil
}

// realmPath is where the descriptor is.
const realmPath = "/v1/realm"

// errReuse is our own bug: a second request over a connection for one.
var errReuse = errors.New("relay: connection is used twice")

// client returns an HTTP client for one request over c. It follows nothing, asks
// no proxy of the environment.
func client(c *stream) *http.Client {
	var used atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errReuse
		}
		return c, nil
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dial,
			DialTLSContext:         dial,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 8 << 10,
			ResponseHeaderTimeout:  time.Minute,
		},
	}
}
