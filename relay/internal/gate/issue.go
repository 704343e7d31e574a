package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	maxTimes = 8       // times that one part is computed, while the relay runs
	maxParts = 1 << 18 // parts that are counted: 8 MiB
)

// issue answers a request for a part of a batch.
//
// spec: gate.md#batches
func (k *Keeper) issue(r *http.Request, q *wire.TokenRequest) (answer []byte, status int) {
	s, unix, kind := k.state.Load(), k.cfg.Now().Unix(), token.Kind(q.Kind)
	if q.Epoch != token.EpochAt(kind, unix) {
		return nil, http.StatusBadRequest
	}
	if int(q.Part) >= k.cfg.Class/token.Part {
		return nil, http.StatusTooManyRequests
	}
	var part uint64
	switch q.How {
	case wire.ByCredential:
		part, status = k.byCredential(r, s, q)
	case wire.ByPuzzle:
		part, status = k.byPuzzle(r.Context(), s, q)
	}
	if status != 0 {
		return nil, status
	}
	give, ok := k.issuing.Take(r.RemoteAddr, 1)
	if !ok {
		return nil, http.StatusServiceUnavailable
	}
	defer give()
	if !k.times.more(part, k.today()) {
		return nil, http.StatusTooManyRequests
	}
	issuer, err := s.issuer(kind, q.Epoch)
	if err != nil {
		return nil, http.StatusBadRequest
	}
	select {
	case k.batches <- struct{}{}:
	case <-r.Context().Done():
		return nil, http.StatusServiceUnavailable
	}
	defer func() { <-k.batches }()
	answer, err = issuer.Evaluate(q.Blinded, k.cfg.Random)
	switch {
	case errors.Is(err, token.ErrRequest):
		return nil, http.StatusBadRequest
	case err != nil:
		k.cfg.Failed(err)
		return nil, http.StatusInternalServerError
	}
	return answer, 0
}

// byCredential says whether a member may have the part, and notes that it has it.
// It returns what names the part.
func (k *Keeper) byCredential(r *http.Request, s *epochs, q *wire.TokenRequest) (part uint64, status int) {
	ctx, cancel := call(r.Context())
	defer cancel()
	known, err := k.cfg.Members.Member(ctx, key.Hash(labelCredential, q.Right))
	if err != nil {
		return 0, k.trouble(ctx, err).status()
	}
	if !known {
		return 0, http.StatusForbidden
	}
	kind, epoch := scope(token.Kind(q.Kind), q.Epoch)
	elements := sha256.Sum256(q.Blinded)
	m := Mark{Root: s.root.Began, Today: k.today(), Until: until(token.Kind(q.Kind), q.Epoch), Hash: s.hash(labelIssued, kind, epoch, []byte{q.Part}, q.Right), Request: s.hash(labelElements, elements[:])}
	switch v, err := k.cfg.Spent.Issue(ctx, m); {
	case errors.Is(err, ErrLost):
		if k.trouble(ctx, err) != spent {
			return 0, http.StatusInternalServerError
		}
		return 0, http.StatusServiceUnavailable // under the new seed
	case err != nil:
		return 0, k.trouble(ctx, err).status()
	case v == Other:
		return 0, http.StatusTooManyRequests
	}
	return m.Hash, 0
}

// byPuzzle says whether the puzzle of a request is solved. What was judged good
// is not judged again: the same elements are no second purchase.
func (k *Keeper) byPuzzle(ctx context.Context, s *epochs, q *wire.TokenRequest) (part uint64, status int) {
	if k.cfg.Access != Open {
		return 0, http.StatusForbidden
	}
	binding := token.BuyBinding(token.Kind(q.Kind), q.Epoch, q.Part, q.Blinded)
	part = s.hash(labelBought, binding[:])
	if k.times.knows(part, k.today()) {
		return part, 0
	}
	switch err := k.line.judge(ctx, s.judge, q.Right, binding, k.cfg.Now, func() { k.times.add(part, k.today()) }); {
	case errors.Is(err, errBusy), errors.Is(err, token.ErrPuzzleBusy):
		return 0, http.StatusServiceUnavailable
	case err != nil:
		return 0, http.StatusUnauthorized
	}
	return part, 0
}

// times counts how often each part of a day was computed, so that nobody has one
// computed for ever. It is bounded: where it is full some other part is forgotten.
type times struct {
	mu  sync.Mutex // guards the below
	day Day
	all map[uint64]uint8
}

// turn begins a new day. Callers hold mu.
func (t *times) turn(today Day) {
	if t.day != today {
		t.day = today
		clear(t.all)
	}
}

// knows reports whether a part was counted today.
func (t *times) knows(part uint64, today Day) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(today)
	_, ok := t.all[part]
	return ok
}

// add makes a part known.
func (t *times) add(part uint64, today Day) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(today)
	t.put(part, t.all[part])
}

func (t *times) put(part uint64, n uint8) {
	if _, ok := t.all[part]; !ok {
		for other := range t.all {
			if len(t.all) < maxParts {
				break
			}
			delete(t.all, other)
		}
	}
	t.all[part] = n
}

// more counts one more time, unless there were enough.
func (t *times) more(part uint64, today Day) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(today)
	n := t.all[part]
	if n >= maxTimes {
		return false
	}
	t.put(part, n+1)
	return true
}
