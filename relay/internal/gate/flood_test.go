package gate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// elements are blinded elements that are none: what they would cost is not computed.
func elements(n uint64) []byte {
	b := make([]byte, wire.TokenBlindedSize)
	binary.BigEndian.PutUint64(b, n)
	return b
}

// challenge asks for a puzzle for a purchase.
func (r *realm) challenge(t testing.TB, from string, blinded []byte) (token.Challenge, [32]byte) {
	t.Helper()
	binding := token.BuyBinding(token.Member, uint32(today), 0, blinded)
	ask := wire.PuzzleAsk{Purpose: byte(token.PuzzleTokens), Binding: binding}
	status, answer := r.post("/v1/puzzle", from, ask.Append(nil))
	if status != http.StatusOK {
		t.Fatalf("asking for a puzzle: got status %d", status)
	}
	c, err := token.ParseChallenge(answer)
	if err != nil {
		t.Fatal(err)
	}
	return c, binding
}

func (r *realm) solve(t testing.TB, from string, blinded []byte) (token.Solution, [32]byte) {
	t.Helper()
	c, binding := r.challenge(t, from, blinded)
	s, err := token.Solve(c, binding, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, binding
}

func (r *realm) pay(from string, s *token.Solution, blinded []byte) (status int, answer []byte) {
	return r.post("/v1/token", from, ask(wire.ByPuzzle, token.Member, uint32(today), 0, s.Append(nil), blinded))
}

func TestASolvedPuzzleBuysOnePart(t *testing.T) {
	r := open(t, func(c *gate.KeeperConfig) { c.Access = gate.Open })
	b, err := token.NewBatch(&[32]byte{1: 77}, token.Member, uint32(today), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.solve(t, someone, b.Blinded())
	status, _ := r.pay(someone, &s, elements(1))
	want(t, "other elements", status, 401)
	status, answer := r.pay(someone, &s, b.Blinded())
	want(t, "the elements it was solved for", status, 200)
	list, err := b.Finish(r.announced(t, token.Member, uint32(today)), answer)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "what it bought", r.Admit(watch(&list[0], 1), token.Watch, nil), 0)
	status, _ = r.pay(another, &s, b.Blinded())
	want(t, "its answer was lost", status, 200)

	wrong, binding := r.solve(t, someone, elements(2))
	wrong.Nonces[3]++
	if wrong, err = wrong.Restamp(binding, wrong.Challenge.Stamp); err != nil {
		t.Fatal(err)
	}
	status, _ = r.pay(someone, &wrong, elements(2))
	if status != 401 && status != 400 { // one in two is right by chance: then only the elements are wrong
		t.Errorf("a wrong answer: got status %d", status)
	}
	late, _ := r.solve(t, someone, elements(3))
	r.unix.Add(token.PuzzleLife)
	status, _ = r.pay(someone, &late, elements(3))
	want(t, "after its time", status, 401)

	shelf := wire.PuzzleAsk{Purpose: byte(token.PuzzleShelf)}
	status, _ = r.post("/v1/puzzle", someone, shelf.Append(nil))
	want(t, "a puzzle for what there is not", status, 403)
	members := open(t, nil)
	status, _ = members.post("/v1/puzzle", someone, (&wire.PuzzleAsk{Purpose: byte(token.PuzzleTokens)}).Append(nil))
	want(t, "a realm of members", status, 403)
}

// stamped is an answer that costs its maker a stamp and the relay an evaluation: its
// sub-puzzles are not solved.
func stamped(t testing.TB, r *realm, n uint64) (token.Solution, []byte) {
	blinded := elements(1<<32 + n)
	c, binding := r.challenge(t, flooder(n), blinded)
	s, err := token.Solution{Challenge: c, Nonces: [4]uint64{n, n, n, n}}.Restamp(binding, c.Stamp)
	if err != nil {
		t.Fatal(err)
	}
	return s, blinded
}

// flooder is one of eight networks of a crowd.
func flooder(n uint64) string { return fmt.Sprintf("203.0.%d.7:%d", n%8, 1024+n%60_000) }

// A flood of puzzle answers, a hundred for each place in the line, is bounded in
// what waits and what is computed; whoever makes a better stamp gets through.
func TestAFloodOfPuzzleAnswers(t *testing.T) {
	const places, flood = 2, 200
	r := open(t, func(c *gate.KeeperConfig) { c.Access, c.Places, c.Work = gate.Open, places, 2 })
	type answer struct {
		s       token.Solution
		b       []byte
		binding [32]byte
	}
	cheap := make([]answer, flood)
	for i := range cheap {
		cheap[i].s, cheap[i].b = stamped(t, r, uint64(i))
	}
	honest := make([]answer, 4)
	for i := range honest {
		honest[i].b = elements(uint64(100 + i))
		honest[i].s, honest[i].binding = r.solve(t, someone, honest[i].b)
	}
	var most atomic.Int64
	var refused, bad, other atomic.Int32
	var crowd sync.WaitGroup
	for i := range cheap {
		crowd.Go(func() {
			status, _ := r.pay(flooder(uint64(i)), &cheap[i].s, cheap[i].b)
			switch status {
			case http.StatusServiceUnavailable:
				refused.Add(1)
			case http.StatusUnauthorized:
				bad.Add(1)
			default: // one of 256 is right by chance
				other.Add(1)
			}
			_, _, waiting := r.Waiting()
			for {
				old := most.Load()
				if int64(waiting) <= old || most.CompareAndSwap(old, int64(waiting)) {
					break
				}
			}
		})
	}
	tries := 0
	for i, h := range honest {
		status := http.StatusServiceUnavailable
		for bits := token.MinStamp + 3; status == http.StatusServiceUnavailable; bits++ { // told to come again with a better stamp
			s, err := h.s.Restamp(h.binding, bits)
			if err != nil {
				t.Fatal(err)
			}
			status, _ = r.pay(someone, &s, h.b)
			tries++
		}
		want(t, fmt.Sprintf("honest one %d", i), status, 400) // it was judged good; and these are no elements
	}
	crowd.Wait()
	if n := most.Load(); n > places {
		t.Errorf("got %d answers that wait, want at most %d", n, places)
	}
	if refused.Load()+bad.Load()+other.Load() != flood || refused.Load() < flood/2 {
		t.Errorf("got %d refused, %d bad and %d others of %d, want most of them refused unjudged", refused.Load(), bad.Load(), other.Load(), flood)
	}
	if batches, bodies, waiting := r.Waiting(); batches != gate.IssuePlaces || bodies != gate.BodyRoom || waiting != 0 {
		t.Errorf("got %d places, %d bytes, %d waiting in the end, want all given back", batches, bodies, waiting)
	}
	t.Logf("of %d cheap answers %d were refused unjudged, %d judged; %d honest ones were served in %d tries", flood, refused.Load(), bad.Load()+other.Load(), len(honest), tries)
}

// A flood of requests for batches, from people who are members, takes an eighth of
// the free places for each network, and is over when it is over.
func TestAFloodOfRequestsForBatches(t *testing.T) {
	r := open(t, nil)
	const crowd = 100 * gate.IssuePlaces
	stranger, members := ask(wire.ByCredential, token.Member, uint32(today), 0, make([]byte, 32), elements(0)), make([][]byte, gate.IssuePlaces)
	for i := range members {
		credential := r.joined(t)
		members[i] = ask(wire.ByCredential, token.Member, uint32(today), 0, credential[:], elements(uint64(i)))
	}
	honest := r.joined(t)
	free := r.Hold() // every place to compute is taken: all who may wait do
	var flood sync.WaitGroup
	var unknown, busy, waited atomic.Int32
	for i := range crowd {
		flood.Go(func() {
			body := stranger
			if i%100 == 0 { // one in a hundred is a member, all in one network
				body = members[i/100]
			}
			switch status, _ := r.post("/v1/token", fmt.Sprintf("203.0.113.7:%d", 1024+i), body); status {
			case http.StatusForbidden:
				unknown.Add(1)
			case http.StatusServiceUnavailable:
				busy.Add(1)
			case http.StatusBadRequest:
				waited.Add(1)
			default:
				t.Errorf("got status %d", status)
			}
		})
	}
	done := make(chan int, 1)
	go func() {
		for { // he comes again, as he was told
			status, _ := r.post("/v1/token", someone, ask(wire.ByCredential, token.Member, uint32(today), 0, honest[:], elements(1<<40)))
			if status != http.StatusServiceUnavailable {
				done <- status
				return
			}
			runtime.Gosched()
		}
	}()
	var least int64 = gate.IssuePlaces
	for unknown.Load()+busy.Load() < crowd-gate.IssuePlaces/2 { // all but those who may wait have their answer
		batches, bodies, _ := r.Waiting()
		if least = min(least, batches); bodies < 0 || batches < 0 {
			t.Fatalf("got %d places and %d bytes free", batches, bodies)
		}
		runtime.Gosched()
	}
	free()
	want(t, "a member of another network", <-done, 400) // his turn came; and these are no elements
	flood.Wait()
	if n := waited.Load(); n == 0 || n > gate.IssuePlaces/8+1 {
		t.Errorf("got %d of one network that waited, want at most an eighth of %d", n, gate.IssuePlaces)
	}
	if least < gate.IssuePlaces*3/4 {
		t.Errorf("got as few as %d places free, want an honest one to find one", least)
	}
	if batches, bodies, _ := r.Waiting(); batches != gate.IssuePlaces || bodies != gate.BodyRoom {
		t.Errorf("got %d places, %d bytes in the end, want all given back", batches, bodies)
	}
	t.Logf("of %d requests %d were of strangers, %d were told to come later, %d waited", crowd, unknown.Load(), busy.Load(), waited.Load())
}

// A flood of forged tokens leaves places for others, and nothing in memory.
func TestAFloodOfForgedTokens(t *testing.T) {
	r, list := open(t, nil), todays(t, 8)
	var flood sync.WaitGroup
	var over atomic.Bool
	for i := range uint64(32) {
		flood.Go(func() {
			for n := i; !over.Load(); n += 32 {
				forged := list[0]
				binary.BigEndian.PutUint64(forged[:], n) // a nonce that nobody bought
				q := watch(&forged, n)
				q.RemoteAddr = flooder(n)
				if status := r.Admit(q, token.Watch, nil); status != 401 && status != 503 {
					t.Errorf("got status %d", status)
				}
			}
		})
	}
	for i := range list {
		status := r.Admit(watch(&list[i], 1), token.Watch, nil)
		want(t, "an honest token", status, 0)
	}
	over.Store(true)
	flood.Wait()
	if _, tokens, _ := r.Remembered(); tokens != len(list) {
		t.Errorf("got %d tokens in memory, want %d", tokens, len(list))
	}
}

// An invite that was stolen buys no more than it has uses, however many try.
func TestAStolenInvite(t *testing.T) {
	r := open(t, nil)
	const uses = 3
	secret, _, err := gate.NewInvite(t.Context(), r.members, rand.Reader, uses, today)
	if err != nil {
		t.Fatal(err)
	}
	var joined atomic.Int32
	var thieves sync.WaitGroup
	for i := range 60 {
		thieves.Go(func() {
			for range 3 {
				status, _ := r.post("/v1/member", flooder(uint64(i)), append(secret[:], bytes.Repeat([]byte{byte(i)}, 32)...))
				if status == 204 {
					joined.Add(1)
				} else if status != 403 {
					t.Errorf("got status %d", status)
				}
			}
		})
	}
	thieves.Wait()
	if got := joined.Load(); got != 3*uses { // each of the three asked three times
		t.Errorf("got %d answers of membership, want %d", got, 3*uses)
	}
}

// FuzzCalls gives every call any body and headers: it ends with one of a few
// statuses, makes nobody a member, honours nothing, and holds nothing back.
func FuzzCalls(f *testing.F) {
	store := open(f, nil)
	member := store.joined(f)
	credential := ask(wire.ByCredential, token.Member, uint32(today), 0, member[:], elements(0))
	f.Add(byte(0), make([]byte, gate.JoinSize), "", "")
	f.Add(byte(1), make([]byte, gate.InviteSize), "AAAA", "")
	f.Add(byte(2), credential, "", "")
	f.Add(byte(2), ask(wire.ByPuzzle, token.Guest, 2857, 0, make([]byte, wire.SolutionSize), elements(0)), "", "")
	f.Add(byte(3), append([]byte{1}, make([]byte, 32)...), "", "AAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, call byte, body []byte, header, id string) {
		r := open(t, func(c *gate.KeeperConfig) { c.Access, c.Members = gate.Open, store.members })
		path := []string{"/v1/member", "/v1/member/invite", "/v1/token", "/v1/puzzle"}[call%4]
		status, answer := r.post(path, someone, body, wire.HeaderToken, header, wire.HeaderContext, id)
		switch status {
		case 200:
			if path != "/v1/puzzle" && path != "/v1/token" || len(answer) != wire.ChallengeSize && len(answer) != wire.TokenAnswerSize {
				t.Errorf("%s: got status 200 and %d bytes", path, len(answer))
			}
		case 400, 401, 403, 413, 429:
		default:
			t.Errorf("%s: got status %d", path, status)
		}
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		q.RemoteAddr = someone
		q.Header.Set(wire.HeaderToken, header)
		q.Header.Set(wire.HeaderContext, id)
		if status := r.Admit(q, token.Watch, nil); status != 401 {
			t.Errorf("admitting: got status %d", status)
		}
		if len(body) >= 64 {
			if ok, err := store.members.Member(context.Background(), [32]byte(body[32:])); ok || err != nil {
				t.Errorf("got member %v, %v", ok, err)
			}
		}
		if batches, bodies, waiting := r.Waiting(); batches != gate.IssuePlaces || bodies != gate.BodyRoom || waiting != 0 {
			t.Errorf("got %d places, %d bytes, %d answers held back", batches, bodies, waiting)
		}
	})
}
