package gate_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
)

// noon is a second of the first day of a guest epoch.
const (
	noon  = 19_999*86_400 + 43_200
	today = gate.Day(19_999)
)

// realm is a keeper with its store, a clock that is set, and its calls.
type realm struct {
	*gate.Keeper
	members gate.Members
	unix    atomic.Int64
	mux     *http.ServeMux
	failed  atomic.Int32
}

// seeded makes the same root every time, so that one batch serves many tests.
func seeded() io.Reader { return mrand.NewChaCha8([32]byte{7}) }

// open makes a realm. change may change its configuration.
func open(t testing.TB, change func(*gate.KeeperConfig)) *realm {
	t.Helper()
	store := memory.NewGate(1<<20, seeded())
	r := &realm{mux: http.NewServeMux()}
	r.unix.Store(noon)
	cfg := gate.KeeperConfig{
		Members: store, Spent: store, Access: gate.ByInvite, Class: 1024, Invites: 2, Live: time.Hour, Random: rand.Reader, Work: 1,
		Now: func() time.Time { return time.Unix(r.unix.Load(), 0) }, Failed: func(error) { r.failed.Add(1) },
	}
	if change != nil {
		change(&cfg)
	}
	k, err := gate.NewKeeper(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Keeper, r.members = k, cfg.Members
	r.mux.HandleFunc("POST /v1/member", k.ServeJoin)
	r.mux.HandleFunc("POST /v1/member/invite", k.ServeInvite)
	r.mux.HandleFunc("POST /v1/token", k.ServeToken)
	r.mux.HandleFunc("POST /v1/puzzle", k.ServePuzzle)
	return r
}

// post makes a call from an address and returns status and body.
func (r *realm) post(path, from string, body []byte, headers ...string) (int, []byte) {
	q := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	q.RemoteAddr = from
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.mux.ServeHTTP(w, q)
	return w.Code, w.Body.Bytes()
}

const someone, another = "192.0.2.1:1000", "198.51.100.1:1000"

func want(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got status %d, want %d", what, got, want)
	}
}

// joined makes a member of a fresh invite.
func (r *realm) joined(t testing.TB) (credential [32]byte) {
	t.Helper()
	secret, _, err := gate.NewInvite(t.Context(), r.members, rand.Reader, 1, today+300)
	if err != nil {
		t.Fatal(err)
	}
	rand.Read(credential[:])
	hash := gate.CredentialHash(credential[:])
	if status, _ := r.post("/v1/member", someone, append(secret[:], hash[:]...)); status != http.StatusNoContent {
		t.Fatalf("joining: got status %d", status)
	}
	return credential
}

func ask(how wire.TokenHow, kind token.Kind, epoch uint32, part byte, right, blinded []byte) []byte {
	b, err := (&wire.TokenRequest{How: how, Kind: byte(kind), Epoch: epoch, Part: part, Right: right, Blinded: blinded}).Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// batches of the seeded root, bought once from a realm as a device buys them.
var batches = struct {
	sync.Mutex
	all map[batch][]token.Raw
}{all: map[batch][]token.Raw{}}

type batch struct {
	kind  token.Kind
	epoch uint32
}

var taken atomic.Int64

// tokens returns n tokens that no other call got.
func tokens(t testing.TB, kind token.Kind, epoch uint32, n int) []token.Raw {
	t.Helper()
	batches.Lock()
	defer batches.Unlock()
	id := batch{kind, epoch}
	if batches.all[id] == nil {
		r := open(t, nil)
		r.unix.Store(int64(epoch) * 86_400)
		if kind == token.Guest {
			r.unix.Store(int64(epoch) * 7 * 86_400)
		}
		batches.all[id] = r.buy(t, r.joined(t), kind, epoch)
	}
	list := batches.all[id]
	if len(list) < n {
		t.Fatalf("got %d tokens left, want %d", len(list), n)
	}
	batches.all[id] = list[n:]
	return list[:n]
}

// buy gets part 0 of a batch as a device does.
func (r *realm) buy(t testing.TB, credential [32]byte, kind token.Kind, epoch uint32) []token.Raw {
	t.Helper()
	b, err := token.NewBatch(&[32]byte{byte(taken.Add(1))}, kind, epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := r.post("/v1/token", someone, ask(wire.ByCredential, kind, epoch, 0, credential[:], b.Blinded()))
	if status != http.StatusOK {
		t.Fatalf("buying: got status %d %s", status, answer)
	}
	list, err := b.Finish(r.announced(t, kind, epoch), answer)
	if err != nil {
		t.Fatalf("the answer does not fit the announced key: %v", err)
	}
	return list
}

// announced returns a key of the descriptor.
func (r *realm) announced(t testing.TB, kind token.Kind, epoch uint32) [32]byte {
	t.Helper()
	issuers, _, err := r.Announced()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range issuers {
		if i.Kind == uint64(kind) && i.Epoch == uint64(epoch) {
			return i.Key
		}
	}
	t.Fatalf("no key of kind %d, epoch %d is announced", kind, epoch)
	return [32]byte{}
}

func todays(t testing.TB, n int) []token.Raw { return tokens(t, token.Member, uint32(today), n) }

// bearing is a request with a token for a purpose, bound to binding.
func bearing(raw *token.Raw, kind token.Kind, epoch uint32, p token.Purpose, binding []byte) *http.Request {
	q := httptest.NewRequest(http.MethodGet, "/", nil)
	q.RemoteAddr = someone
	presented := raw.Present(kind, epoch, token.RequestHash(p, binding))
	q.Header.Set(wire.HeaderToken, presented.Header())
	if len(binding) == 16 {
		q.Header.Set(wire.HeaderContext, base64.RawURLEncoding.EncodeToString(binding))
	}
	return q
}

// id16 is a binding like any other.
func id16(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 8), n) }

// watch bears a token of today for a watch.
func watch(raw *token.Raw, n uint64) *http.Request {
	return bearing(raw, token.Member, uint32(today), token.Watch, id16(n))
}
