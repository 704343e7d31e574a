package blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
)

// place is a feature over a store in memory, and what it said of the store.
type place struct {
	http.Handler
	blobs  *blob.Blobs
	now    time.Time
	failed []error
	deny   bool
}

func (p *place) Allow(netip.Addr, gate.What) (func(), bool) { return func() {}, !p.deny }

func newPlace(t testing.TB, store blob.Store) *place {
	t.Helper()
	if store == nil {
		m, err := memory.NewBlobs(1<<20, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		store = m
	}
	p := &place{now: time.Date(2026, 12, 1, 13, 14, 15, 0, time.UTC)}
	p.blobs = blob.New(blob.Config{
		Store: store, Limit: p, Now: func() time.Time { return p.now }, Failed: func(err error) { p.failed = append(p.failed, err) },
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/blob", p.blobs.ServePut)
	mux.HandleFunc("GET /v1/blob/{id}", p.blobs.ServeGet)
	mux.HandleFunc("DELETE /v1/blob/{id}", p.blobs.ServeDelete)
	p.Handler = mux
	return p
}

func (p *place) do(method, path string, body []byte, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

var capability = bytes.Repeat([]byte{0xca}, wire.CapabilitySize)

func file(n byte) *wire.BlobPut {
	return &wire.BlobPut{
		Kind: wire.BlobFile, Days: 7, Capability: key.Hash(wire.LabelCapability, capability),
		ID: wire.BlobID(bytes.Repeat([]byte{n}, 32)), Content: bytes.Repeat([]byte{n, 1, 2, 3}, 1024),
	}
}

func slot(n byte) *wire.BlobPut {
	p := file(n)
	p.Kind, p.Days, p.Capability = wire.BlobSlot, 0, [32]byte{}
	return p
}

func body(t testing.TB, p *wire.BlobPut) []byte {
	t.Helper()
	b, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func path(p *wire.BlobPut) string { return "/v1/blob/" + hex.EncodeToString(p.ID[:]) }

// wantReceipt checks status and receipt.
func (p *place) wantReceipt(t *testing.T, w *httptest.ResponseRecorder, status int, of *wire.BlobPut) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("got status %d %q, want %d", w.Code, w.Body, status)
	}
	r, err := wire.ParseReceipt(w.Body.Bytes())
	if err != nil {
		t.Fatalf("got %q, want a receipt", w.Body)
	}
	if r.ID != of.ID || r.Hash != sha256.Sum256(of.Content) {
		t.Errorf("got a receipt of id %x, hash %x, want id %x, hash of its content", r.ID[:4], r.Hash[:4], of.ID[:4])
	}
	if !key.Verify(p.blobs.ReceiptKey(), r.Sig, wire.LabelReceipt, r.ID[:], r.Hash[:]) {
		t.Error("got a signature that does not verify, want the receipt key's")
	}
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("got status %d %q, want %d", w.Code, w.Body, want)
	}
}

func TestAPutIsAnsweredByOneReceipt(t *testing.T) {
	p := newPlace(t, nil)
	first := p.do("POST", "/v1/blob", body(t, slot(1)))
	p.wantReceipt(t, first, 200, slot(1))
	again := p.do("POST", "/v1/blob", body(t, slot(1)))
	if again.Code != 200 || !bytes.Equal(again.Body.Bytes(), first.Body.Bytes()) {
		t.Errorf("again: got %d and another receipt, want the same bytes", again.Code)
	}
	other := slot(1)
	other.Content = make([]byte, 16<<10)
	late := p.do("POST", "/v1/blob", body(t, other))
	p.wantReceipt(t, late, 409, slot(1))
	if !bytes.Equal(late.Body.Bytes(), first.Body.Bytes()) {
		t.Error("a loser got another receipt, want the winner's bytes")
	}
}

func TestReadingGivesContentRangesAndReceipt(t *testing.T) {
	p := newPlace(t, nil)
	f := file(2)
	put := p.do("POST", "/v1/blob", body(t, f))
	for _, c := range []struct {
		header string
		status int
		want   []byte
	}{
		{"", 200, f.Content},
		{"bytes=0-99", 206, f.Content[:100]},
		{"bytes=4000-", 206, f.Content[4000:]},
		{"bytes=-1", 206, f.Content[4095:]},
	} {
		var header []string
		if c.header != "" {
			header = []string{"Range", c.header}
		}
		w := p.do("GET", path(f), nil, header...)
		if w.Code != c.status || !bytes.Equal(w.Body.Bytes(), c.want) {
			t.Errorf("range %q: got %d and %d bytes, want %d and %d", c.header, w.Code, w.Body.Len(), c.status, len(c.want))
		}
		if got, want := w.Header().Get(blob.ReceiptHeader), hex.EncodeToString(put.Body.Bytes()); got != want {
			t.Errorf("range %q: got receipt %q, want %q", c.header, got, want)
		}
		if got := w.Header().Get("Last-Modified"); got != "" {
			t.Errorf("got Last-Modified %q, want none: it is a time", got)
		}
	}
	wantStatus(t, p.do("GET", path(f), nil, "Range", "bytes=0-1,3-4"), 400)
	wantStatus(t, p.do("GET", path(f), nil, "Range", "bytes=9999-"), 416)
	wantStatus(t, p.do("GET", path(file(3)), nil), 404)
	wantStatus(t, p.do("GET", strings.ToUpper(path(file(0xab)))[:3]+"/blob/"+strings.Repeat("AB", 32), nil), 404)
	wantStatus(t, p.do("GET", "/v1/blob/"+strings.Repeat("AB", 32), nil), 400)
	wantStatus(t, p.do("GET", "/v1/blob/abcd", nil), 400)
	wantStatus(t, p.do("GET", "/v1/blob/"+strings.Repeat("xy", 32), nil), 400)
}

func TestDeletingNeedsTheCapability(t *testing.T) {
	p := newPlace(t, nil)
	f := file(4)
	p.do("POST", "/v1/blob", body(t, f))
	p.do("POST", "/v1/blob", body(t, slot(5)))
	hash := key.Hash(wire.LabelCapability, capability)
	wantStatus(t, p.do("DELETE", path(f), make([]byte, 32)), 403)
	wantStatus(t, p.do("DELETE", path(f), hash[:]), 403)
	wantStatus(t, p.do("DELETE", path(f), capability[:31]), 413)
	wantStatus(t, p.do("DELETE", path(slot(5)), make([]byte, 32)), 403)
	wantStatus(t, p.do("DELETE", path(file(6)), capability), 404)
	wantStatus(t, p.do("GET", path(f), nil), 200)
	wantStatus(t, p.do("DELETE", path(f), capability), 204)
	wantStatus(t, p.do("DELETE", path(f), capability), 410)
	p.wantReceipt(t, p.do("GET", path(f), nil), 410, f)
}

// A file at the id of a slot, deleted or expired, must not make room there: an
// honest relay would sign two receipts for one id.
func TestAnIDIsNeverSignedForTwice(t *testing.T) {
	p := newPlace(t, nil)
	f := file(7)
	p.do("POST", "/v1/blob", body(t, f))
	wantStatus(t, p.do("DELETE", path(f), capability), 204)
	s := slot(7)
	s.Content = make([]byte, 4096)
	p.wantReceipt(t, p.do("POST", "/v1/blob", body(t, s)), 410, f)
	for range 13 {
		p.now = p.now.Add(30 * 24 * time.Hour)
		if _, err := p.blobs.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.wantReceipt(t, p.do("POST", "/v1/blob", body(t, s)), 410, f)
	}
}

func TestContentEndsWithItsDay(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		put  *wire.BlobPut
		days time.Duration
	}{{file(1), 7}, {slot(2), 90}} {
		p := newPlace(t, nil)
		p.do("POST", "/v1/blob", body(t, c.put))
		p.now = p.now.Add(c.days * day)
		wantStatus(t, p.do("GET", path(c.put), nil), 200)
		p.now = p.now.Truncate(day).Add(day - time.Second)
		wantStatus(t, p.do("GET", path(c.put), nil), 200)
		p.now = p.now.Add(time.Second)
		wantStatus(t, p.do("GET", path(c.put), nil), 410)
	}
}

// Two blobs of one day have the same ends, whenever that day they came.
func TestWhatIsKeptDoesNotTellTheHour(t *testing.T) {
	var kept []blob.Entry
	p := newPlace(t, &spy{kept: &kept})
	for _, at := range []time.Time{
		time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 23, 59, 59, 0, time.UTC),
	} {
		p.now = at
		p.do("POST", "/v1/blob", body(t, file(1)))
	}
	if len(kept) != 2 || kept[0].Until != kept[1].Until || kept[0].Forget != kept[1].Forget {
		t.Fatalf("got ends that differ within a day: %+v", kept)
	}
	if got := kept[0].Forget; got%30 != 0 || got < blob.DayOf(p.now)+blob.RecordDays {
		t.Errorf("got record until day %d, want a multiple of 30 at least %d days on", got, blob.RecordDays)
	}
}

func TestMalformedPutsAreRefused(t *testing.T) {
	p := newPlace(t, nil)
	good := body(t, file(1))
	edit := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		body []byte
		want int
	}{
		"empty": {nil, 413}, "one byte short": {good[:len(good)-1], 413}, "one byte more": {append(bytes.Clone(good), 0), 413},
		"unknown kind": {edit(0, 3), 400}, "no life": {edit(1, 0), 400}, "31 days": {edit(1, 31), 400},
		"a slot with a capability": {edit(0, 1), 400},
	} {
		if w := p.do("POST", "/v1/blob", c.body); w.Code != c.want {
			t.Errorf("%s: got %d %q, want %d", name, w.Code, w.Body, c.want)
		}
	}
	r := httptest.NewRequest("POST", "/v1/blob", io.MultiReader(bytes.NewReader(good)))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	wantStatus(t, w, 411)
	r = httptest.NewRequest("POST", "/v1/blob", bytes.NewReader(good[:100]))
	r.ContentLength = int64(len(good))
	w = httptest.NewRecorder()
	p.ServeHTTP(w, r)
	wantStatus(t, w, 400)
	wantStatus(t, p.do("GET", path(file(1)), nil), 404)
	p.deny = true
	wantStatus(t, p.do("POST", "/v1/blob", good), 429)
}

// spy keeps what it is given and fails as it is told.
type spy struct {
	kept *[]blob.Entry
	err  error
}

func (s *spy) Create(_ context.Context, e *blob.Entry, _ blob.Day) ([32]byte, error) {
	if s.kept != nil {
		*s.kept = append(*s.kept, *e)
	}
	return e.Hash, s.err
}
func (s *spy) Get(context.Context, wire.BlobID, blob.Day) ([]byte, [32]byte, error) {
	return nil, [32]byte{}, s.err
}
func (s *spy) Delete(context.Context, wire.BlobID, [32]byte, blob.Day) error { return s.err }
func (s *spy) Sweep(context.Context, blob.Day) (int, error)                  { return 0, s.err }
func (s *spy) Receipts() key.Sign {
	k, err := key.New[key.SignRole](make([]byte, 32))
	if err != nil {
		panic(err)
	}
	return k
}

func TestAFailingStoreIsReportedAndNotExplained(t *testing.T) {
	secret := errors.New("disk 192.0.2.1 is on fire")
	for _, c := range []struct {
		err    error
		status int
		told   int
	}{{secret, 500, 1}, {blob.ErrFull, 507, 1}, {blob.ErrStopped, 503, 0}, {context.Canceled, 503, 0}, {gate.ErrAway, 503, 1}} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			p := newPlace(t, &spy{err: c.err})
			at, b := path(file(1)), capability
			if method == "POST" {
				at, b = "/v1/blob", body(t, file(1))
			}
			w := p.do(method, at, b)
			wantStatus(t, w, c.status)
			if strings.Contains(w.Body.String(), "192.0.2.1") {
				t.Errorf("%s: got the reason in the answer: %q", method, w.Body)
			}
			if len(p.failed) != c.told {
				t.Errorf("%s with %v: got %d reports, want %d", method, c.err, len(p.failed), c.told)
			}
		}
	}
}

func FuzzServe(f *testing.F) {
	f.Add(byte(0), path(file(1)), body(f, file(1)), "")
	f.Add(byte(0), "/v1/blob", body(f, slot(1)), "")
	f.Add(byte(1), path(file(1)), []byte{}, "bytes=0-1")
	f.Add(byte(2), path(file(1)), capability, "")
	f.Fuzz(func(t *testing.T, method byte, at string, b []byte, ranges string) {
		p := newPlace(t, nil)
		r := httptest.NewRequest("POST", "/v1/blob", bytes.NewReader(b))
		r.Method = []string{"POST", "GET", "DELETE", "HEAD"}[method%4]
		if r.Method != "POST" {
			r.URL.Path = at
			r.SetPathValue("id", strings.TrimPrefix(at, "/v1/blob/"))
			r.Header.Set("Range", ranges)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		switch w.Code {
		case 200, 204, 206, 301, 307, 400, 403, 404, 405, 413, 416:
		default:
			t.Errorf("got status %d %q", w.Code, w.Body)
		}
		if put, err := wire.ParseBlobPut(b); r.Method == "POST" && (err == nil) != (w.Code == 200) {
			t.Errorf("got status %d for a body that parses: %v (kind %d)", w.Code, err == nil, put.Kind)
		}
	})
}
