package wake

import (
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"sync"
	"time"
)

// Limits of pushes.
//
// spec: wake.md#opening
const (
	debounce    = 30 * time.Second
	perFamily   = 12 // an hour
	perEndpoint = 24 // an hour
	perMerged   = 64 // tickets that share a push are spent, an hour and endpoint
	perProof    = 6  // challenges to one endpoint, an hour
	span        = time.Hour
	maxKnown    = 1 << 16 // that are remembered
)

// name is a keyed hash of an endpoint or a family.
type name [16]byte

// limiter counts pushes. What it counts stands under a keyed hash whose key it
// made and keeps in memory.
type limiter struct {
	key [32]byte

	mu    sync.Mutex // guards known, and what is in it
	known map[name]*count
	order []name // as they were first known
}

// count is what is remembered of one name, for an hour.
type count struct {
	began  time.Time // of the hour
	n      int       // pushes in it
	merged int       // tickets in it that shared one
	last   time.Time // when the last push goes out, or went
	until  time.Time // nothing before: the push service said so
}

func newLimiter(rand io.Reader) (*limiter, error) {
	l := &limiter{known: map[name]*count{}}
	_, err := io.ReadFull(rand, l.key[:])
	return l, err
}

// Sorts of names.
const (
	ofEndpoint = "endpoint"
	ofFamily   = "family"
	ofProof    = "proof"
)

func (l *limiter) name(sort string, b []byte) (n name) {
	m := hmac.New(sha256.New, l.key[:])
	m.Write(append([]byte(sort), 0))
	m.Write(b)
	copy(n[:], m.Sum(nil))
	return n
}

// get returns the count of a name, a new one where it is not known. The oldest is
// forgotten where there are too many. Callers hold mu.
func (l *limiter) get(n name, now time.Time) *count {
	c := l.known[n]
	if c == nil {
		for len(l.known) >= maxKnown {
			delete(l.known, l.order[0])
			l.order = l.order[1:]
		}
		c = &count{}
		l.known[n] = c
		l.order = append(l.order, n)
	}
	if now.Sub(c.began) >= span || now.Before(c.began) {
		c.began, c.n, c.merged = now, 0, 0
	}
	return c
}

// verdict says what becomes of a ticket.
type verdict byte

const (
	drop  verdict = iota // over a limit
	merge                // a push that is to go out serves for it
	send                 // push, at a time
)

// take judges a push to an endpoint for a family, and counts it. spend is asked
// once nothing else speaks against it, and says whether the ticket is new.
func (l *limiter) take(endpoint, family name, now time.Time, jitter time.Duration, spend func() bool) (v verdict, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, f := l.get(endpoint, now), l.get(family, now)
	switch pending := e.last.After(now) && e.last.Sub(now) <= debounce+maxJitter; {
	case now.Before(e.until):
		return drop, at
	case pending:
		if e.merged < perMerged { // of a flood the rest is dropped, and takes no memory
			e.merged++
			spend()
		}
		return merge, at
	case f.n >= perFamily || e.n >= perEndpoint || !spend():
		return drop, at
	}
	at = now.Add(jitter)
	if soonest := e.last.Add(debounce); now.Sub(e.last) >= 0 && at.Before(soonest) {
		at = soonest.Add(jitter)
	}
	f.n++
	e.n++
	e.last = at
	return send, at
}

// challenge judges a challenge to an endpoint, and counts it.
func (l *limiter) challenge(endpoint name, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.get(endpoint, now)
	if c.n >= perProof || now.Sub(c.last) < debounce && !now.Before(c.last) {
		return false
	}
	c.n++
	c.last = now
	return true
}

// pause leaves an endpoint alone.
func (l *limiter) pause(endpoint name, now time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.get(endpoint, now); c.until.Before(now.Add(d)) {
		c.until = now.Add(d)
	}
}

// sweep forgets what an hour has passed over.
func (l *limiter) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.order[:0]
	for _, n := range l.order {
		if c := l.known[n]; now.Sub(c.began) >= span && !now.Before(c.until) && now.Sub(c.last) >= debounce {
			delete(l.known, n)
			continue
		}
		kept = append(kept, n)
	}
	clear(l.order[len(kept):])
	l.order = kept
}
