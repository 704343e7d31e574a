package park_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// place is a feature over a store, and what it said of the store.
type place struct {
	*park.Parking
	store  park.Store
	now    time.Time
	failed []error
	deny   bool
}

func (p *place) Allow(netip.Addr, gate.What) (func(), bool) { return func() {}, !p.deny }

func newPlace(t *testing.T, rows int64, hours uint16, store park.Store) *place {
	t.Helper()
	if store == nil {
		var err error
		if store, err = memory.NewPark(rows*park.RowCost, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	p := &place{now: time.Date(2026, 5, 4, 13, 14, 15, 0, time.UTC), store: store}
	p.Parking = park.New(park.Config{
		Store: store, Hours: hours, Rows: rows, Live: 30 * time.Minute, Limit: p,
		Now: func() time.Time { return p.now }, Failed: func(err error) { p.failed = append(p.failed, err) },
	})
	return p
}

// put puts n random cells of one context from a network address.
func (p *place) put(t *testing.T, from string, context byte, n int) (*httptest.ResponseRecorder, []wire.ParkVerdict) {
	t.Helper()
	items := make([]wire.ParkItem, n)
	for i := range items {
		items[i].Hours = 720
		rand.Read(items[i].Address[:])
		rand.Read(items[i].Cell[:])
	}
	body, err := wire.AppendPark(nil, [16]byte{context}, items)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/v1/park", bytes.NewReader(body))
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	p.ServePut(w, r)
	v, _ := wire.ParseParkAnswer(w.Body.Bytes(), n)
	return w, v
}

func (p *place) waiting(t *testing.T) int {
	t.Helper()
	left, err := p.store.Sweep(t.Context(), p.now, park.Last(p.now, 720))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestAContextParksSoMuch(t *testing.T) {
	p := newPlace(t, 10_000, 720, nil)
	for range wire.MaxContextRows / 16 {
		if w, _ := p.put(t, "192.0.2.1:1", 1, 16); w.Code != http.StatusOK {
			t.Fatalf("within the bound: got %d", w.Code)
		}
	}
	if w, _ := p.put(t, "192.0.2.1:1", 1, 1); w.Code != http.StatusTooManyRequests {
		t.Errorf("over the bound: got %d, want 429", w.Code)
	}
	if w, _ := p.put(t, "192.0.2.1:1", 2, 16); w.Code != http.StatusOK {
		t.Errorf("another context: got %d, want 200", w.Code)
	}
	for range 3 {
		p.put(t, "192.0.2.1:1", 3, 16)
	}
	p.put(t, "192.0.2.1:1", 3, 10)
	if w, _ := p.put(t, "192.0.2.1:1", 3, 7); w.Code != http.StatusTooManyRequests {
		t.Errorf("seven where six are left: got %d, want 429", w.Code)
	}
	if got, want := p.waiting(t), 64+16+58; got != want {
		t.Errorf("got %d rows, want %d: of a refused request none", got, want)
	}
	p.now = p.now.Add(30 * time.Minute)
	if w, _ := p.put(t, "192.0.2.1:1", 1, 16); w.Code != http.StatusOK {
		t.Errorf("in the next live period: got %d, want 200", w.Code)
	}
}

// One network that adds all it can, for the longest life, for more than that life,
// never leaves an honest one without room.
func TestOneNetworkDoesNotTakeAllRoom(t *testing.T) {
	days, rows := 5, 8_000
	if os.Getenv("TACET_LONG") != "" {
		days, rows = 30, 48_000
	}
	p := newPlace(t, int64(rows), uint16(24*days), nil)
	most, honest, tries := 0, 0, 0
	for span := range (days + 2) * 144 {
		p.now = p.now.Add(gate.Window)
		for c := range 512 {
			if _, v := p.put(t, "198.51.100.7:1", byte(c), 16); slices.Contains(v, wire.ParkNoRoom) {
				break
			}
		}
		if span%36 == 35 { // every six hours
			tries++
			if _, v := p.put(t, "203.0.113.9:1", 255, 4); slices.Equal(v, make([]wire.ParkVerdict, 4)) {
				honest++
			}
			left, err := p.Sweep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, left)
		}
	}
	t.Logf("the greedy network had up to %d rows of %d, the honest one found room %d times of %d", most, rows, honest, tries)
	if most < rows/2 {
		t.Errorf("the greedy network got %d rows: this is no flood", most)
	}
	if honest != tries {
		t.Errorf("the honest network found room %d times, want %d", honest, tries)
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	p := newPlace(t, 100, 720, nil)
	for name, c := range map[string]struct {
		size   int64
		proto  int
		body   int
		status int
	}{
		"no length": {-1, 1, 1330, 411}, "empty": {0, 1, 0, 413}, "a byte more": {1331, 1, 1331, 413}, "17 items": {16 + 17*1314, 1, 0, 413},
		"HTTP/2": {1330, 2, 1330, 505}, "cut short": {1330, 1, 1329, 400},
	} {
		r := httptest.NewRequest("POST", "/v1/park", bytes.NewReader(make([]byte, c.body)))
		r.ContentLength, r.ProtoMajor = c.size, c.proto
		w := httptest.NewRecorder()
		if p.ServePut(w, r); w.Code != c.status {
			t.Errorf("%s: got %d, want %d", name, w.Code, c.status)
		}
	}
	p.deny = true
	if w, _ := p.put(t, "192.0.2.1:1", 1, 1); w.Code != http.StatusTooManyRequests {
		t.Errorf("over a limit: got %d, want 429", w.Code)
	}
	if n := p.waiting(t); n != 0 || len(p.failed) != 0 {
		t.Errorf("got %d rows, %v, want none", n, p.failed)
	}
}

// broken is a store that fails in one way.
type broken struct {
	park.Store
	err error
}

func (b broken) Put(context.Context, []park.Row, time.Time) ([]wire.ParkVerdict, error) {
	return nil, b.err
}

func TestStoresThatFail(t *testing.T) {
	p := newPlace(t, 100, 720, broken{err: park.ErrFull})
	if w, v := p.put(t, "192.0.2.1:1", 1, 3); w.Code != http.StatusOK || !slices.Equal(v, []wire.ParkVerdict{2, 2, 2}) || len(p.failed) != 1 {
		t.Errorf("a full disk: got %d, %v, told %v, want no room for any, and the operator told", w.Code, v, p.failed)
	}
	p = newPlace(t, 100, 720, broken{err: park.ErrStopped})
	if w, _ := p.put(t, "192.0.2.1:1", 1, 3); w.Code != http.StatusServiceUnavailable || len(p.failed) != 0 {
		t.Errorf("stopping: got %d, told %v, want 503 and nothing told", w.Code, p.failed)
	}
	p = newPlace(t, 100, 720, broken{err: errors.New("torn")})
	if w, _ := p.put(t, "192.0.2.1:1", 1, 3); w.Code != http.StatusInternalServerError || bytes.Contains(w.Body.Bytes(), []byte("torn")) || len(p.failed) != 1 {
		t.Errorf("broken: got %d %q, told %v", w.Code, w.Body, p.failed)
	}
}

// What was promised for a time ends when that time has gone by: a clock that is
// set forward ends it, one that is set back does not keep it.
func TestClocksThatJump(t *testing.T) {
	p := newPlace(t, 100, 720, nil)
	begin := p.now
	sweep := func(want int, when string) {
		t.Helper()
		if left, err := p.Sweep(t.Context()); err != nil || left != want {
			t.Errorf("%s: got %d left, %v, want %d", when, left, err, want)
		}
	}
	p.put(t, "192.0.2.1:1", 1, 3) // until the end of thirty days
	sweep(3, "at once")
	p.now = begin.AddDate(0, 0, -7)
	sweep(3, "a week back")
	p.put(t, "192.0.2.1:1", 2, 2) // of the same real length, and so of the same day
	p.now = begin.AddDate(0, 0, 31)
	sweep(0, "a month and a day forward")
	p.now = begin
	p.put(t, "192.0.2.1:1", 3, 1)
	p.now = begin.AddDate(0, 0, 31+30)
	sweep(1, "before its end by the clock that it was put by")
	p.now = begin.AddDate(0, 0, 31+32)
	sweep(0, "after")

	// After a restart the clock is believed; what could not have been promised goes.
	p = newPlace(t, 100, 720, p.store)
	p.now = begin
	p.put(t, "192.0.2.1:1", 1, 1)
	q := newPlace(t, 100, 720, p.store)
	q.now = begin.AddDate(0, 0, -40)
	if left, err := q.Sweep(t.Context()); err != nil || left != 0 {
		t.Errorf("40 days back over a restart: got %d left, %v, want 0", left, err)
	}
}
