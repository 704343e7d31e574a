package wake

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	tickets "github.com/tacet-chat/tacet/internal/wake"
)

// clock stands still until it is moved.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func limits(t testing.TB) *limiter {
	t.Helper()
	l, err := newLimiter(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func yes() bool { return true }

func TestPushesOfOneEndpointAreHalfAMinuteApart(t *testing.T) {
	l, c := limits(t), newClock()
	e, f := l.name(ofEndpoint, []byte("e")), l.name(ofFamily, []byte("f"))
	v, first := l.take(e, f, c.t, time.Second, yes)
	if v != send || first.Sub(c.t) != time.Second {
		t.Fatalf("got %v after %v, want a push after 1s", v, first.Sub(c.t))
	}
	c.advance(500 * time.Millisecond)
	if v, _ := l.take(e, f, c.t, 0, yes); v != merge {
		t.Errorf("before the push: got %v, want it to serve", v)
	}
	c.advance(5 * time.Second)
	v, second := l.take(e, f, c.t, time.Second, yes)
	if v != send || second.Sub(first) < debounce {
		t.Errorf("soon after: got %v %v after the first, want a push at least 30s after it", v, second.Sub(first))
	}
	for range 100 {
		c.advance(200 * time.Millisecond)
		if v, _ := l.take(e, f, c.t, time.Second, yes); v != merge {
			t.Fatalf("while one waits: got %v, want it to serve", v)
		}
	}
}

func TestAFloodIsBounded(t *testing.T) {
	c := newClock()
	for name, families := range map[string]int{"one family": 1, "a family for each ticket": 1 << 30} {
		l := limits(t)
		want := perFamily
		if families > 1 {
			want = perEndpoint
		}
		pushes, spent := 0, 0
		start := c.t
		for i := 0; c.t.Sub(start) < time.Hour; i++ {
			c.advance(time.Second)
			for j := range 10 {
				f := l.name(ofFamily, []byte{byte(i * 10 % families), byte(i * 10 % families >> 8), byte((i*10 + j) % families), byte((i*10 + j) % families >> 8)})
				v, _ := l.take(l.name(ofEndpoint, []byte("e")), f, c.t, 0, func() bool { spent++; return true })
				if v == send {
					pushes++
				}
			}
		}
		t.Logf("%s, 36,000 good tickets in an hour: %d pushes, %d ids spent", name, pushes, spent)
		if pushes != want || spent > want+perMerged {
			t.Errorf("%s: got %d pushes and %d ids spent, want %d and at most %d", name, pushes, spent, want, want+perMerged)
		}
	}
	// Another endpoint is not touched by it.
	l := limits(t)
	for range 1000 {
		l.take(l.name(ofEndpoint, []byte("e")), l.name(ofFamily, []byte("f")), c.t, 0, yes)
		c.advance(time.Second)
	}
	if v, _ := l.take(l.name(ofEndpoint, []byte("other")), l.name(ofFamily, []byte("other")), c.t, 0, yes); v != send {
		t.Errorf("another endpoint: got %v, want a push", v)
	}
	// And the next hour the first is served again.
	c.advance(time.Hour)
	if v, _ := l.take(l.name(ofEndpoint, []byte("e")), l.name(ofFamily, []byte("f")), c.t, 0, yes); v != send {
		t.Errorf("an hour later: got %v, want a push", v)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	l, c := limits(t), newClock()
	for i := range maxKnown {
		b := []byte{byte(i), byte(i >> 8), byte(i >> 16)}
		l.take(l.name(ofEndpoint, b), l.name(ofFamily, b), c.t, 0, yes)
	}
	if len(l.known) != maxKnown || len(l.order) != maxKnown {
		t.Errorf("got %d and %d, want %d", len(l.known), len(l.order), maxKnown)
	}
	c.advance(span + time.Minute)
	l.sweep(c.t)
	if len(l.known) != 0 || len(l.order) != 0 {
		t.Errorf("after an hour: got %d and %d, want none", len(l.known), len(l.order))
	}
}

func TestEndpointIsLeftAlone(t *testing.T) {
	l, c := limits(t), newClock()
	e, f := l.name(ofEndpoint, []byte("e")), l.name(ofFamily, []byte("f"))
	l.pause(e, c.t, 10*time.Minute)
	if v, _ := l.take(e, f, c.t, 0, func() bool { t.Error("spent"); return true }); v != drop {
		t.Errorf("got %v, want it left alone", v)
	}
	c.advance(10 * time.Minute)
	if v, _ := l.take(e, f, c.t, 0, yes); v != send {
		t.Errorf("later: got %v, want a push", v)
	}
}

func TestChallengesAreBounded(t *testing.T) {
	l, c := limits(t), newClock()
	n := 0
	for range 3500 {
		if l.challenge(l.name(ofProof, []byte("e")), c.t) {
			n++
		}
		c.advance(time.Second)
	}
	if n != perProof {
		t.Errorf("got %d in an hour, want %d", n, perProof)
	}
}

func spentKey(t testing.TB) key.Wake {
	t.Helper()
	k, err := key.New[key.WakeRole](make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSpentOutlivesARestart(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	failed := func(err error) { t.Error(err) }
	open := func() *spent {
		s, err := openSpent(dir, spentKey(t), c.t)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	id := [tickets.IDSize]byte{1}
	expires := uint64(c.t.Unix()) + 7*daySeconds
	s := open()
	if !s.spend(id, expires, failed) || s.spend(id, expires, failed) {
		t.Error("a ticket is good once")
	}
	// No Close: it was killed.
	again := open()
	if again.spend(id, expires, failed) {
		t.Error("after a restart it was good again")
	}
	if !again.spend([tickets.IDSize]byte{2}, expires, failed) {
		t.Error("another one was not good")
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
	c.advance(9 * 24 * time.Hour)
	last := open()
	if last.n != 0 || last.lines != 0 {
		t.Errorf("after their end: got %d, and %d in the file, want none", last.n, last.lines)
	}
	if err := errorsOf(s.close(), last.close()); err != nil {
		t.Fatal(err)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSpentIsBounded(t *testing.T) {
	s, err := openSpent("", spentKey(t), newClock().t)
	if err != nil {
		t.Fatal(err)
	}
	for d := range uint32(4) {
		for i := range uint64(maxSpent / 3) {
			s.add(100-d, i) // the later days first
		}
	}
	if s.n > maxSpent || len(s.days[100]) != maxSpent/3 || len(s.days[97]) > 1 {
		t.Errorf("got %d, want at most %d, and of the day that ends first none", s.n, maxSpent)
	}
}
