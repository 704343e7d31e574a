package wake

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tickets "github.com/tacet-chat/tacet/internal/wake"
)

const (
	pushWithin = 10 * time.Second // one request with its answer
	maxAnswer  = 4096             // bytes of it that are read
	maxHeader  = 16 << 10

	// What every push says to the push service.
	pushTTL     = "86400" // seconds
	pushUrgency = "high"
	pushTopic   = "wake"
)

var errService = errors.New("the push service did not take it")

// pusher speaks with push services.
type pusher struct {
	client *http.Client
	dialer *Dialer
	vapid  *tickets.VAPID
	now    func() time.Time
	rand   io.Reader
}

// newPusher returns a pusher. It follows nothing, asks no proxy of the
// environment and holds no connection.
func newPusher(d *Dialer, roots *x509.CertPool, v *tickets.VAPID, now func() time.Time, rand io.Reader) *pusher {
	return &pusher{
		dialer: d, vapid: v, now: now, rand: rand,
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy: nil, DialContext: d.DialContext, DisableKeepAlives: true, DisableCompression: true,
				TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
				TLSHandshakeTimeout: connectWithin, ResponseHeaderTimeout: pushWithin, MaxResponseHeaderBytes: maxHeader,
			},
		},
	}
}

// target reads an endpoint and returns it with its origin. It fails with
// ErrForbidden for what is not pushed to.
func (p *pusher) target(endpoint string) (origin string, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return "", ErrForbidden
	}
	port := uint64(443)
	if s := u.Port(); s != "" {
		if port, err = strconv.ParseUint(s, 10, 16); err != nil || port == 0 {
			return "", ErrForbidden
		}
	}
	if !p.dialer.Allowed(u.Hostname(), uint16(port)) {
		return "", ErrForbidden
	}
	return "https://" + u.Host, nil
}

// outcome is what a push service said.
type outcome struct {
	status int           // 0: nothing
	after  time.Duration // Retry-After of 429, in its bounds
}

// push pushes a message. It fails with ErrForbidden, or with errService if there
// was no answer.
//
// spec: wake.md#push
func (p *pusher) push(ctx context.Context, s *tickets.Subscription, m tickets.Message) (outcome, error) {
	origin, err := p.target(s.Endpoint)
	if err != nil {
		return outcome{}, err
	}
	body, err := tickets.Encrypt(s, m, p.rand)
	if err != nil {
		return outcome{}, err
	}
	voucher, err := p.vapid.Authorization(origin, p.now().Unix(), p.rand)
	if err != nil {
		return outcome{}, err
	}
	resp, _, err := p.ask(ctx, http.MethodPost, s.Endpoint, body, map[string]string{
		"Authorization": voucher, "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
		"TTL": pushTTL, "Urgency": pushUrgency, "Topic": pushTopic,
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"))}, nil
}

// discover asks an endpoint whether it is one of UnifiedPush.
func (p *pusher) discover(ctx context.Context, endpoint string) error {
	if _, err := p.target(endpoint); err != nil {
		return err
	}
	resp, body, err := p.ask(ctx, http.MethodGet, endpoint, nil, nil)
	if err != nil {
		return err
	}
	var says struct {
		UnifiedPush struct {
			Version int `json:"version"`
		} `json:"unifiedpush"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &says) != nil || says.UnifiedPush.Version != 1 {
		return errService
	}
	return nil
}

// ask makes one request and reads what may be read of its answer.
func (p *pusher) ask(ctx context.Context, method, endpoint string, body []byte, header map[string]string) (*http.Response, []byte, error) {
	ctx, stop := context.WithTimeout(ctx, pushWithin)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, nil, ErrForbidden
	}
	req.Header.Set("User-Agent", "") // says which program asks
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := p.client.Do(req)
	switch {
	case errors.Is(err, ErrForbidden):
		return nil, nil, ErrForbidden
	case err != nil:
		return nil, nil, errService // the library's names the endpoint
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, nil, errService
	}
	return resp, out, nil
}

// Bounds of how long an endpoint is left alone after 429.
const (
	leastPause = time.Minute
	mostPause  = time.Hour
)

// retryAfter reads seconds, in bounds; a date, or nothing, is the least.
func retryAfter(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return leastPause
	}
	return min(max(time.Duration(n)*time.Second, leastPause), mostPause)
}
