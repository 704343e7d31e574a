package relay

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the relay may write down. Everything else is dropped on its way out,
// whoever tries: a line here is reviewed as a data release. No line has a time
// of its own; whoever keeps the log adds one or does not.

// The events.
const (
	eventReady    = "ready"
	eventStopping = "stopping"
	eventStopped  = "stopped"
	eventKey      = "made a new realm key"
	eventRenewed  = "the blob store was put back from a copy: it has a new receipt key"
	eventStore    = "the blob store failed"
	eventPark     = "the store of parked cells failed"
	eventAway     = "a server that nodes share does not answer"
	eventName     = "a certificate for a name could not be had: `tacet-relay status` says why"
	eventPanic    = "a request ended in a fault of the relay"
	eventSeed     = "tokens have a new issuer seed: the store of spent ones is new, was put back from a copy, or was swept by a clock that was ahead"
	eventGate     = "the store of members and tokens failed"
	eventOther    = "something that has no words here"
)

var events = map[string]bool{
	eventReady: true, eventStopping: true, eventStopped: true, eventKey: true,
	eventRenewed: true, eventStore: true, eventPark: true, eventAway: true, eventName: true, eventPanic: true, eventOther: true,
	eventPrivate: true, eventSpent: true,
	eventSeed: true, eventGate: true,
}

// attributes are the keys an event may carry, and what their values look like.
var attributes = map[string]*regexp.Regexp{
	"version": regexp.MustCompile(`^[0-9a-z.+-]{1,40}$`),
	"tls":     regexp.MustCompile(`^(on|off)$`),
	"store":   regexp.MustCompile(`^(memory|disk|postgres|redis|none)$`),
	"cause":   regexp.MustCompile(`^(full|read-only|damaged|away|other)$`),
	"where":   regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./()*]{0,120}:[0-9]{1,5}$`),
}

// newLog returns a logger that writes only what is listed above.
func newLog(w io.Writer) *slog.Logger {
	if w == nil {
		w = io.Discard
	}
	return slog.New(&allowList{slog.NewTextHandler(w, nil)})
}

// allowList is the slog.Handler of that.
type allowList struct{ out slog.Handler }

func (h *allowList) Enabled(ctx context.Context, l slog.Level) bool { return h.out.Enabled(ctx, l) }

func (h *allowList) Handle(ctx context.Context, r slog.Record) error {
	if !events[r.Message] {
		return h.out.Handle(ctx, slog.NewRecord(time.Time{}, r.Level, eventOther, 0))
	}
	clean := slog.NewRecord(time.Time{}, r.Level, r.Message, 0)
	r.Attrs(func(a slog.Attr) bool {
		if want := attributes[a.Key]; want != nil && a.Value.Kind() == slog.KindString && want.MatchString(a.Value.String()) {
			clean.AddAttrs(a)
		}
		return true
	})
	return h.out.Handle(ctx, clean)
}

// WithAttrs and WithGroup would carry something past Handle: they carry nothing.
func (h *allowList) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *allowList) WithGroup(string) slog.Handler      { return h }

// seldom lets one event of a kind through in an hour: what clients can cause
// must not become a record of when they did.
type seldom struct {
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

func (s *seldom) allow(kind string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.last[kind]; ok && now.Sub(t) < time.Hour {
		return false
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[kind] = now // kinds are constants: the map stays small
	return true
}

// where names the place that panicked: the first function of ours above the
// runtime, and its line. A stack as the runtime prints it has arguments in it.
func where() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if name, ours := strings.CutPrefix(f.Function, "github.com/tacet-chat/tacet/"); ours {
			return name + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}

// rounded is how counts are shown: nothing below ten, then two digits, rounded
// down. Sharp counters tell a patient reader who came and went.
func rounded(n int) int {
	if n < 10 {
		return 0
	}
	step := 10
	for n/step >= 100 {
		step *= 10
	}
	return n / step * step
}
