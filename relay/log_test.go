package relay

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTheLogLetsOnlyListedWordsThrough(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out)
	secret := "203.0.113.9"
	l.Info("connection from " + secret)
	l.Info(eventReady, "peer", secret, "version", secret+"!", "tls", secret, "cause", secret, "where", secret)
	l.Info(eventReady, "version", "v1.2.3", "tls", "on", "store", "disk")
	l.Error(eventStore, "cause", errors.New(secret), "size", 1280)
	l.Error(eventStore, "cause", "full")
	l.With("peer", secret).WithGroup(secret).Warn(eventStopped, "peer", secret)
	l.LogAttrs(context.Background(), slog.LevelError, eventPanic, slog.Group("where", "x", secret), slog.Any("where", []string{secret}))
	want := strings.Join([]string{
		`level=INFO msg="` + eventOther + `"`,
		`level=INFO msg=ready`,
		`level=INFO msg=ready version=v1.2.3 tls=on store=disk`,
		`level=ERROR msg="` + eventStore + `"`,
		`level=ERROR msg="` + eventStore + `" cause=full`,
		`level=WARN msg=stopped`,
		`level=ERROR msg="` + eventPanic + `"`,
	}, "\n") + "\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestOneEventAnHour(t *testing.T) {
	var s seldom
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		kind string
		at   time.Duration
		want bool
	}{{"a", 0, true}, {"a", time.Minute, false}, {"b", time.Minute, true}, {"a", time.Hour, true}, {"a", time.Hour + time.Second, false}} {
		if got := s.allow(c.kind, now.Add(c.at)); got != c.want {
			t.Errorf("%s after %v: got %t, want %t", c.kind, c.at, got, c.want)
		}
	}
}

func TestCountsAreRounded(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 0: 0, 9: 0, 10: 10, 19: 10, 99: 90, 100: 100, 119: 110, 999: 990, 1234: 1200, 98765: 98000} {
		if got := rounded(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "under an hour", 59 * time.Minute: "under an hour", 90 * time.Minute: "1 h", 47 * time.Hour: "47 h", 73 * time.Hour: "3 days",
	} {
		if got := coarse(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// A handler that panics is answered for, and the log has the place alone.
func TestAPanicIsRecoveredWithoutItsArguments(t *testing.T) {
	var out bytes.Buffer
	r := &Relay{log: newLog(&out)}
	h := r.guard(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		panic("203.0.113.9 sent " + req.URL.Path)
	}))
	for range 3 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/blob/abcd", nil))
		if w.Code != http.StatusInternalServerError {
			t.Errorf("got status %d, want 500", w.Code)
		}
	}
	want := regexp.MustCompile(`^level=ERROR msg="` + eventPanic + `" where=relay\.TestAPanicIsRecoveredWithoutItsArguments\.func1:\d+\n$`)
	if got := out.String(); !want.MatchString(got) {
		t.Errorf("got %q, want one line that matches %s", got, want)
	}
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("ErrAbortHandler was kept from net/http")
		}
	}()
	r.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}
