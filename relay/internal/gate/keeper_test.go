package gate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
)

func TestAnInviteMakesAMember(t *testing.T) {
	r := open(t, nil)
	secret, _, err := gate.NewInvite(t.Context(), r.members, rand.Reader, 2, today)
	if err != nil {
		t.Fatal(err)
	}
	join := func(secret [32]byte, credential byte) int {
		status, _ := r.post("/v1/member", someone, append(secret[:], bytes.Repeat([]byte{credential}, 32)...))
		return status
	}
	want(t, "the first device", join(secret, 1), 204)
	want(t, "the same device again", join(secret, 1), 204)
	want(t, "the second device", join(secret, 2), 204)
	want(t, "a third one", join(secret, 3), 403)
	want(t, "an invite that there is not", join([32]byte{9}, 3), 403)
	want(t, "a member with another invite", join([32]byte{9}, 2), 204)

	secret, i, err := gate.NewInvite(t.Context(), r.members, rand.Reader, 2, today)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the hash in place of the secret", join(i.Hash, 3), 403)
	r.unix.Add(86_400)
	want(t, "an invite that is over", join(secret, 3), 403)
	if status, _ := r.post("/v1/member", someone, make([]byte, 63)); status != 413 {
		t.Errorf("a short body: got status %d, want 413", status)
	}

	closed := open(t, func(c *gate.KeeperConfig) { c.Access, c.Members = gate.NobodyElse, r.members })
	secret, _, err = gate.NewInvite(t.Context(), r.members, rand.Reader, 2, today+1)
	if err != nil {
		t.Fatal(err)
	}
	status, _ := closed.post("/v1/member", someone, append(secret[:], make([]byte, 32)...))
	want(t, "a closed realm", status, 403)
	want(t, "the same invite where it is open", join(secret, 4), 204)
}

// A member gets each part once, and the very same request as often as its answer may get lost.
func TestABatchIsIssuedOnce(t *testing.T) {
	r := open(t, nil)
	credential, epoch := r.joined(t), uint32(today)
	elements := make([]byte, wire.TokenBlindedSize) // no elements: nothing is computed, but all is counted
	get := func(how wire.TokenHow, right []byte, kind token.Kind, epoch uint32, part byte, elements []byte) int {
		status, _ := r.post("/v1/token", someone, ask(how, kind, epoch, part, right, elements))
		return status
	}
	other := bytes.Clone(elements)
	other[5] = 1
	for range gate.MaxTimes {
		want(t, "the same request", get(wire.ByCredential, credential[:], token.Member, epoch, 0, elements), 400)
		want(t, "other elements", get(wire.ByCredential, credential[:], token.Member, epoch, 0, other), 429)
	}
	want(t, "once more", get(wire.ByCredential, credential[:], token.Member, epoch, 0, elements), 429)
	want(t, "a guest's batch", get(wire.ByCredential, credential[:], token.Guest, token.GuestEpoch(noon), 0, other), 400)
	want(t, "a part over the class", get(wire.ByCredential, credential[:], token.Member, epoch, 1, elements), 429)
	want(t, "yesterday's", get(wire.ByCredential, credential[:], token.Member, epoch-1, 0, elements), 400)
	want(t, "tomorrow's", get(wire.ByCredential, credential[:], token.Member, epoch+1, 0, elements), 400)
	want(t, "a stranger", get(wire.ByCredential, make([]byte, 32), token.Member, epoch, 0, elements), 403)
	hash := gate.CredentialHash(credential[:])
	want(t, "what the store keeps of a credential", get(wire.ByCredential, hash[:], token.Member, epoch, 0, elements), 403)
	want(t, "a puzzle where none is taken", get(wire.ByPuzzle, make([]byte, wire.SolutionSize), token.Member, epoch, 0, elements), 403)
	r.unix.Add(86_400)
	want(t, "the next day", get(wire.ByCredential, credential[:], token.Member, epoch+1, 0, other), 400)
}

func TestATokenIsSpentOnce(t *testing.T) {
	r, list := open(t, nil), todays(t, 4)
	want(t, "no token", r.Admit(httptest.NewRequest("GET", "/", nil), token.Watch, nil), 401)
	first := watch(&list[0], 1)
	for range 5 { // once, and four times its answer was lost
		want(t, "a good token", r.Admit(first, token.Watch, nil), 0)
	}
	want(t, "asked for too often", r.Admit(first, token.Watch, nil), 401)
	want(t, "another binding", r.Admit(watch(&list[0], 2), token.Watch, nil), 401)
	want(t, "another purpose", r.Admit(watch(&list[1], 1), token.Take, nil), 401)
	want(t, "another binding than it was made for", r.Admit(watch(&list[1], 1), token.Watch, id16(2)), 401)

	second := watch(&list[1], 1)
	want(t, "the token that was refused, now right", r.Admit(second, token.Watch, nil), 0)
	r.unix.Add(119)
	want(t, "within two minutes", r.Admit(second, token.Watch, nil), 0)
	r.unix.Add(1)
	want(t, "after two minutes", r.Admit(second, token.Watch, nil), 401)

	forged := list[2]
	forged[20] ^= 1
	want(t, "a forged one", r.Admit(watch(&forged, 1), token.Watch, nil), 401)
	two := watch(&list[2], 1)
	two.Header.Add(wire.HeaderToken, two.Header.Get(wire.HeaderToken))
	want(t, "two headers", r.Admit(two, token.Watch, nil), 401)
	bare := watch(&list[2], 1)
	bare.Header.Del(wire.HeaderContext)
	want(t, "without what it is bound to", r.Admit(bare, token.Watch, nil), 401)
	want(t, "none of these spent it", r.Admit(watch(&list[2], 1), token.Watch, nil), 0)
	if got := r.Bears(bare); got != 0 {
		t.Errorf("a request with a token: got %d", got)
	}
	bare.Header.Set(wire.HeaderToken, "AAAA")
	want(t, "what is no token", r.Bears(bare), 401)
}

func TestTokensEndWithTheirEpochs(t *testing.T) {
	r, list := open(t, nil), todays(t, 4)
	r.unix.Store(int64(today)*86_400 - 1)
	want(t, "the day before", r.Admit(watch(&list[0], 1), token.Watch, nil), 401)
	r.unix.Store(noon)
	want(t, "its day", r.Admit(watch(&list[0], 1), token.Watch, nil), 0)
	r.unix.Store(noon + 86_400)
	want(t, "spent the day before", r.Admit(watch(&list[0], 1), token.Watch, nil), 401)
	want(t, "the next day", r.Admit(watch(&list[1], 1), token.Watch, nil), 0)
	r.unix.Store(int64(today+2) * 86_400)
	want(t, "the day after", r.Admit(watch(&list[2], 1), token.Watch, nil), 401)

	week := token.GuestEpoch(noon)
	guests := tokens(t, token.Guest, week, 3)
	end := (int64(week) + 5) * 7 * 86_400
	guest := func(i int) int {
		return r.Admit(bearing(&guests[i], token.Guest, week, token.Watch, id16(1)), token.Watch, nil)
	}
	r.unix.Store(noon)
	want(t, "a guest's", guest(0), 0)
	r.unix.Store(end - 1)
	want(t, "a guest's, spent five weeks before", guest(0), 401)
	want(t, "a guest's, after five weeks", guest(1), 0)
	r.unix.Store(end)
	want(t, "a guest's, over", guest(2), 401)
}

// Sweeping must not make a token that is still good one that was never spent.
func TestSweepingKeepsWhatCanStillBeReplayed(t *testing.T) {
	r, list := open(t, nil), todays(t, 1)
	want(t, "a good token", r.Admit(watch(&list[0], 1), token.Watch, nil), 0)
	for _, day := range []gate.Day{today, today + 1} {
		r.unix.Store(int64(day)*86_400 + 86_399)
		if err := r.members.Sweep(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		want(t, "spent", r.Admit(watch(&list[0], 2), token.Watch, nil), 401)
	}
}

func TestOfManyWhoSpendATokenOneWins(t *testing.T) {
	r, list := open(t, nil), todays(t, 20)
	var won [20]atomic.Int32
	var wg sync.WaitGroup
	for n := range uint64(32) {
		wg.Go(func() {
			for i := range list {
				q := watch(&list[i], n)
				q.RemoteAddr = "@" // a unix socket stands for many and holds what others leave
				switch status := r.Admit(q, token.Watch, nil); status {
				case 0:
					won[i].Add(1)
				case http.StatusUnauthorized:
				default:
					t.Errorf("got status %d", status)
				}
			}
		})
	}
	wg.Wait()
	for i := range won {
		if n := won[i].Load(); n != 1 {
			t.Errorf("token %d: got %d who were admitted, want 1", i, n)
		}
	}
}

// broken is a store that fails as it is told.
type broken struct {
	gate.Spent
	spend atomic.Pointer[error]
	anew  gate.Spent // what it is after ErrLost
}

func (b *broken) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	if err := b.spend.Load(); err != nil {
		return 0, *err
	}
	return b.Spent.Spend(ctx, m)
}

func (b *broken) Root(ctx context.Context, began, now gate.Day) (gate.Root, error) {
	if b.spend.Load() != nil && b.anew != nil {
		return b.anew.Root(ctx, began, now)
	}
	return b.Spent.Root(ctx, began, now)
}

func TestWhatIsNotKnownToBeSpentIsNotHonoured(t *testing.T) {
	store := &broken{Spent: memory.NewGate(100, seeded())}
	r, list := open(t, func(c *gate.KeeperConfig) { c.Spent = store }), todays(t, 3)
	for i, c := range []struct {
		err    error
		status int
	}{{errors.New("disk is on fire"), 500}, {gate.ErrFull, 503}, {gate.ErrStopped, 503}} {
		store.spend.Store(&c.err)
		want(t, c.err.Error(), r.Admit(watch(&list[i], 1), token.Watch, nil), c.status)
		store.spend.Store(nil)
		want(t, "the same token afterwards", r.Admit(watch(&list[i], 1), token.Watch, nil), 0)
	}
	if got := r.failed.Load(); got != 2 {
		t.Errorf("got %d failures told, want 2: stopping is none", got)
	}
}

func TestALostStoreIsANewSeed(t *testing.T) {
	anew := memory.NewGate(100, rand.Reader)
	store := &broken{Spent: memory.NewGate(100, seeded()), anew: anew}
	var days []gate.Day
	r := open(t, func(c *gate.KeeperConfig) {
		c.Spent, c.Began = store, today-5
		c.Renewed = func(began gate.Day) error { days = append(days, began); return nil }
	})
	list := todays(t, 2)
	before, began, err := r.Announced()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a good token", r.Admit(watch(&list[0], 1), token.Watch, nil), 0)
	r.unix.Add(86_400)
	store.spend.Store(&gate.ErrLost)
	want(t, "the first one after the loss", r.Admit(watch(&list[1], 1), token.Watch, nil), 401)
	store.spend.Store(nil)
	store.Spent = anew
	want(t, "a token of the old seed", r.Admit(watch(&list[1], 2), token.Watch, nil), 401)
	after, beganAfter, err := r.Announced()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range before {
		for _, b := range after {
			if a.Kind == b.Kind && a.Epoch == b.Epoch && a.Key == b.Key {
				t.Errorf("kind %d, epoch %d: got the same key after the loss", a.Kind, a.Epoch)
			}
		}
	}
	if began != today || beganAfter != today+1 || len(days) != 2 || days[1] != today+1 {
		t.Errorf("got seeds of the days %d and %d, told %v, want %d and %d", began, beganAfter, days, today, today+1)
	}
}

func TestKeysAreAnnouncedADayAhead(t *testing.T) {
	r := open(t, nil)
	known := map[batch][32]byte{}
	for range 40 {
		issuers, began, err := r.Announced()
		if err != nil || began != today {
			t.Fatalf("got a seed of day %d, %v, want %d", began, err, today)
		}
		unix := r.unix.Load()
		have := map[batch]bool{}
		for _, i := range issuers {
			id := batch{token.Kind(i.Kind), uint32(i.Epoch)}
			have[id] = true
			if old, ok := known[id]; ok && old != i.Key {
				t.Errorf("kind %d, epoch %d: the key has changed", i.Kind, i.Epoch)
			}
			known[id] = i.Key
		}
		day, week := token.MemberEpoch(unix), token.GuestEpoch(unix)
		for _, id := range []batch{{token.Member, day - 1}, {token.Member, day}, {token.Member, day + 1}, {token.Guest, week - 4}, {token.Guest, week}, {token.Guest, week + 1}} {
			if !have[id] {
				t.Errorf("day %d: kind %d, epoch %d is not announced", day, id.kind, id.epoch)
			}
		}
		if len(issuers) != 9 {
			t.Errorf("got %d keys, want 9", len(issuers))
		}
		r.unix.Add(86_400)
	}
}

// A put context is paid once and counts by itself from then on.
func TestAContextIsPaidOnce(t *testing.T) {
	r, list := open(t, nil), todays(t, 3)
	id := [16]byte(id16(7))
	bare := httptest.NewRequest("POST", "/", nil)
	bare.RemoteAddr = another
	_, status := r.Context(bare, id)
	want(t, "without a token", status, 401)
	pay := func(i int) *http.Request {
		return bearing(&list[i], token.Member, uint32(today), token.PutContext, id[:])
	}
	c, status := r.Context(pay(0), id)
	want(t, "with one", status, 0)
	if !c.Park(gate.ContextParked) || c.Park(1) {
		t.Errorf("parking: want %d cells", gate.ContextParked)
	}
	same, status := r.Context(bare, id)
	want(t, "resumed from elsewhere", status, 0)
	left := 0
	for same.Cell() {
		left++
	}
	if left != gate.ContextCells-gate.ContextParked || c.Cell() || same != c {
		t.Errorf("got %d more cells, want %d", left, gate.ContextCells-gate.ContextParked)
	}
	_, status = r.Context(pay(1), id)
	want(t, "a second token for it", status, 0)
	if c.Cell() {
		t.Error("a second token filled a context up: want another one to be opened")
	}
	r.unix.Add(3600)
	_, status = r.Context(bare, id)
	want(t, "in the next period", status, 401)
	_, status = r.Context(pay(0), id)
	want(t, "with the token of before", status, 401)
	_, status = r.Context(pay(1), id)
	want(t, "with the one that was not needed", status, 0)

	var none *gate.Keeper
	c, status = none.Context(bare, id)
	if status != 0 || !c.Cell() || !c.Park(1000) || none.Admit(bare, token.Watch, nil) != 0 || none.Bears(bare) != 0 {
		t.Error("without a keeper something is refused")
	}
}

// Contexts are bounded: somebody pays again, nobody is locked out.
func TestContextsAreBounded(t *testing.T) {
	const most = 16
	r, list := open(t, func(c *gate.KeeperConfig) { c.Contexts = most }), todays(t, 4*most)
	for i := range list {
		id := [16]byte(id16(uint64(i)))
		if _, status := r.Context(bearing(&list[i], token.Member, uint32(today), token.PutContext, id[:]), id); status != 0 {
			t.Errorf("context %d: got status %d", i, status)
		}
	}
	if contexts, tokens, _ := r.Remembered(); contexts != most || tokens != len(list) {
		t.Errorf("got %d contexts and %d tokens in memory, want %d and %d", contexts, tokens, most, len(list))
	}
	r.unix.Add(3600)
	r.Admit(watch(&list[0], 1), token.Watch, nil)
	r.Context(httptest.NewRequest("POST", "/", nil), [16]byte{})
	if contexts, tokens, _ := r.Remembered(); contexts != 0 || tokens != 0 {
		t.Errorf("got %d contexts and %d tokens in memory an hour later, want none", contexts, tokens)
	}
}

func TestMembersMakeInvites(t *testing.T) {
	r, list := open(t, nil), todays(t, 6)
	secret := func(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }
	hash := func(n byte) []byte { h := gate.InviteHash(secret(n)); return h[:] }
	post := func(raw *token.Raw, kind token.Kind, epoch uint32, n, days byte) int {
		q := bearing(raw, kind, epoch, token.RealmInvite, hash(n))
		status, _ := r.post("/v1/member/invite", someone, append(hash(n), days), wire.HeaderToken, q.Header.Get(wire.HeaderToken))
		return status
	}
	invite := func(i int, n, days byte) int { return post(&list[i], token.Member, uint32(today), n, days) }
	join := func(n byte) int {
		status, _ := r.post("/v1/member", another, append(secret(n), secret(n+100)...))
		return status
	}
	want(t, "for a year", invite(0, 1, 200), 400)
	want(t, "an invite", invite(0, 1, 7), 204)
	want(t, "its answer was lost", invite(0, 1, 7), 204)
	want(t, "it buys a membership", join(1), 204)
	week := token.GuestEpoch(noon)
	guests := tokens(t, token.Guest, week, 1)
	want(t, "paid as a guest", post(&guests[0], token.Guest, week, 2, 7), 401)
	want(t, "the second of the day", invite(1, 2, 7), 204)
	want(t, "the third of the day", invite(2, 3, 7), 429)
	want(t, "once it is known", invite(3, 3, 7), 429)
	want(t, "it buys nothing", join(3), 403)
	r.unix.Add(86_400)
	want(t, "the next day", invite(3, 3, 7), 204)
	want(t, "it buys a membership", join(3), 204)
	for name, change := range map[string]func(*gate.KeeperConfig){
		"closed": func(c *gate.KeeperConfig) { c.Access = gate.NobodyElse }, "none": func(c *gate.KeeperConfig) { c.Invites = 0 },
	} {
		other := open(t, change)
		status, _ := other.post("/v1/member/invite", someone, append(hash(9), 1), wire.HeaderToken, bearing(&list[5], token.Member, uint32(today), token.RealmInvite, hash(9)).Header.Get(wire.HeaderToken))
		want(t, name, status, 403)
	}
}

// What is refused says no more than a line that is the same for everybody.
func TestRefusalsNameNothing(t *testing.T) {
	w := httptest.NewRecorder()
	gate.Refuse(w, http.StatusServiceUnavailable)
	if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "later") {
		t.Errorf("got %v %q, want a time to come back", w.Header(), w.Body)
	}
	for _, status := range []int{400, 401, 403, 411, 413, 429, 500, 503} {
		w := httptest.NewRecorder()
		if gate.Refuse(w, status); w.Code != status || len(strings.TrimSpace(w.Body.String())) < 5 {
			t.Errorf("%d: got %d %q", status, w.Code, w.Body)
		}
	}
}

// A token whose answer was lost is honoured again, and opens no second context in
// the period that began meanwhile, nor at another node of the same store.
func TestATokenOpensOneContext(t *testing.T) {
	store := &forgiving{Spent: memory.NewGate(100, seeded()), uses: map[uint64]uint64{}}
	r := open(t, func(c *gate.KeeperConfig) { c.Spent = store })
	other := open(t, func(c *gate.KeeperConfig) { c.Spent = store })
	list, id := todays(t, 1), [16]byte(id16(7))
	pay := func() *http.Request {
		return bearing(&list[0], token.Member, uint32(today), token.PutContext, id[:])
	}
	end := int64(noon/3600+1) * 3600
	r.unix.Store(end - 1)
	other.unix.Store(end - 1)
	_, status := r.Context(pay(), id)
	want(t, "the last second of a period", status, 0)
	_, status = r.Context(pay(), id)
	want(t, "once more", status, 0)
	_, status = other.Context(pay(), id)
	want(t, "at another node", status, 401)
	r.unix.Store(end)
	_, status = r.Context(pay(), id)
	want(t, "the first second of the next period", status, 401)
}

// forgiving answers Again, as a store that several nodes share may.
type forgiving struct {
	gate.Spent
	uses map[uint64]uint64
}

func (f *forgiving) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	if use, ok := f.uses[m.Hash]; ok && use == m.Request {
		return gate.Again, nil
	}
	v, err := f.Spent.Spend(ctx, m)
	if v == gate.First {
		f.uses[m.Hash] = m.Request
	}
	return v, err
}

// An invite of a member that was used is not made again: the bound of a day is one
// of new members.
func TestAnInviteOfAMemberMakesOneMember(t *testing.T) {
	r, list := open(t, nil), todays(t, 2)
	secret := [32]byte{5}
	hash := gate.InviteHash(secret[:])
	body := append(hash[:], 3)
	make := func(i int) int {
		q := bearing(&list[i], token.Member, uint32(today), token.RealmInvite, hash[:])
		status, _ := r.post("/v1/member/invite", someone, body, wire.HeaderToken, q.Header.Get(wire.HeaderToken))
		return status
	}
	join := func(credential byte) int {
		status, _ := r.post("/v1/member", someone, append(secret[:], bytes.Repeat([]byte{credential}, 32)...))
		return status
	}
	want(t, "making one", make(0), 204)
	want(t, "its answer was lost", make(0), 204)
	want(t, "the member that it makes", join(1), 204)
	want(t, "the same request again", make(0), 204)
	want(t, "another member", join(2), 403)
	want(t, "the same invite with another token", make(1), 204)
	want(t, "another member", join(2), 403)
}
