package gate

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	sameFor  = 120     // seconds in which a token is honoured again for the same request
	maxAgain = 4       // times that it is; an answer that is lost is asked for once or twice
	maxKnown = 1 << 17 // tokens that are remembered for that: 8 MiB
)

// Bears reports whether a request bears something that looks like a token: 401
// if it does not, else 0. For calls that learn late what a token is bound to.
func (k *Keeper) Bears(r *http.Request) (status int) {
	if k == nil {
		return 0
	}
	if _, ok := presented(r); !ok {
		return http.StatusUnauthorized
	}
	return 0
}

// Admit spends the token that a request bears, for a purpose, bound to binding; if
// that is nil, to the 16 bytes of the request's header Tacet-Context. It returns 0
// once that is on disk, or the status of an answer: 401, 500 or 503 (Refuse).
//
// spec: gate.md#presenting
func (k *Keeper) Admit(r *http.Request, p token.Purpose, binding []byte) (status int) {
	if k == nil {
		return 0
	}
	return k.admit(r, p, binding, nil, token.Member, token.Guest)
}

// admit is Admit for some kinds of tokens. A token is honoured again within one
// place alone, which is any bytes.
func (k *Keeper) admit(r *http.Request, p token.Purpose, binding, place []byte, kinds ...token.Kind) (status int) {
	t, ok := presented(r)
	if !ok {
		return http.StatusUnauthorized
	}
	if binding == nil {
		id, ok := ContextID(r)
		if !ok {
			return http.StatusUnauthorized
		}
		binding = id[:]
	}
	wanted := false
	for _, kind := range kinds {
		wanted = wanted || t.Kind == kind
	}
	if !wanted || !token.Accepts(t.Kind, t.Epoch, k.cfg.Now().Unix()) {
		return http.StatusUnauthorized
	}
	s, request := k.state.Load(), token.RequestHash(p, binding)
	if status := k.check(r, s, &t, request); status != 0 {
		return status
	}
	kind, epoch := scope(t.Kind, t.Epoch)
	m := Mark{Root: s.root.Began, Today: k.today(), Until: until(t.Kind, t.Epoch), Hash: s.hash(labelSpent, kind, epoch, t.Nonce[:]), Request: s.hash(labelUse, request[:], place)}
	again := maxAgain
	if p == token.PutContext {
		again = 1 << 30 // however often it comes, it opens one context
	}
	return k.spend(r.Context(), m, again)
}

// presented reads the token of a request. More than one is none.
func presented(r *http.Request) (token.Presented, bool) {
	h := r.Header.Values(wire.HeaderToken)
	if len(h) != 1 {
		return token.Presented{}, false
	}
	t, err := token.ParseHeader(h[0])
	return t, err == nil
}

// ContextID reads the header Tacet-Context of a request: 16 bytes in the one
// spelling of base64url without padding.
func ContextID(r *http.Request) (id [wire.ContextSize]byte, ok bool) {
	h := r.Header.Values(wire.HeaderContext)
	if len(h) != 1 || len(h[0]) != base64.RawURLEncoding.EncodedLen(len(id)) {
		return id, false
	}
	n, err := base64.RawURLEncoding.Strict().Decode(id[:], []byte(h[0]))
	return id, err == nil && n == len(id)
}

// check verifies a token, on a part of the processors alone. Who floods the relay
// with forged ones waits for himself: a network holds an eighth of the places.
//
// spec: gate.md#limits
func (k *Keeper) check(r *http.Request, s *epochs, t *token.Presented, request [32]byte) (status int) {
	give, ok := k.checking.Take(r.RemoteAddr, 1)
	if !ok {
		return http.StatusServiceUnavailable
	}
	defer give()
	issuer, err := s.issuer(t.Kind, t.Epoch)
	if err != nil {
		return http.StatusUnauthorized
	}
	select {
	case k.checks <- struct{}{}:
	case <-r.Context().Done():
		return http.StatusServiceUnavailable
	}
	err = issuer.Check(t, request)
	<-k.checks
	if err != nil {
		return http.StatusUnauthorized
	}
	return 0
}

// spend has a mark kept, once. The same mark is honoured again times for a while.
func (k *Keeper) spend(ctx context.Context, m Mark, again int) (status int) {
	for {
		known, wait := k.recent.begin(m, k.cfg.Now().Unix(), again)
		switch {
		case known != 0:
			return known.status()
		case wait == nil:
			v := k.store(ctx, m)
			k.recent.end(m, v, k.cfg.Now().Unix())
			return v.status()
		}
		select { // somebody spends it just now
		case <-wait:
		case <-ctx.Done():
			return http.StatusServiceUnavailable
		}
	}
}

// outcome is what became of a mark.
type outcome byte

const (
	honoured outcome = iota + 1
	spent
	busy
	failed
)

func (o outcome) status() int {
	switch o {
	case honoured:
		return 0
	case spent:
		return http.StatusUnauthorized
	case busy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// store asks the store. What it does not know for sure is not honoured.
func (k *Keeper) store(ctx context.Context, m Mark) outcome {
	ctx, cancel := call(ctx)
	defer cancel()
	v, err := k.cfg.Spent.Spend(ctx, m)
	switch {
	case err != nil:
		return k.trouble(ctx, err)
	case v == First, v == Again:
		return honoured
	}
	return spent
}

// trouble says what an error of a store means, and tells of it.
func (k *Keeper) trouble(ctx context.Context, err error) outcome {
	switch {
	case errors.Is(err, ErrLost):
		// Its tokens are no good any more, and there is a new seed.
		if err := k.load(ctx); err != nil {
			k.cfg.Failed(err)
			return busy
		}
		return spent
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled):
		return busy
	case errors.Is(err, ErrFull), errors.Is(err, ErrAway), errors.Is(err, context.DeadlineExceeded):
		k.cfg.Failed(err)
		return busy
	}
	k.cfg.Failed(err)
	return failed
}

// recent remembers tokens for the time in which they are honoured again. It is
// bounded: what does not fit is not honoured again.
type recent struct {
	mu    sync.Mutex // guards the below
	known map[uint64]use
	order []seen // oldest first
	gone  int    // of order: forgotten already
	now   map[uint64]chan struct{}
}

type use struct {
	request uint64
	at      int64 // unix second
	times   int
}

type seen struct {
	hash uint64
	at   int64
}

func newRecent() recent {
	return recent{known: map[uint64]use{}, now: map[uint64]chan struct{}{}}
}

// begin says what is known of a mark, or who is spending it just now. If neither,
// it is the caller's to spend, and to end.
func (r *recent) begin(m Mark, unix int64, again int) (known outcome, wait <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(unix)
	if u, ok := r.known[m.Hash]; ok {
		if u.request != m.Request || u.times >= again {
			return spent, nil
		}
		u.times++
		r.known[m.Hash] = u
		return honoured, nil
	}
	if c, ok := r.now[m.Hash]; ok {
		return 0, c
	}
	r.now[m.Hash] = make(chan struct{})
	return 0, nil
}

// end says what became of a mark that begin gave to the caller.
func (r *recent) end(m Mark, o outcome, unix int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o == honoured && len(r.known) < maxKnown {
		r.known[m.Hash] = use{request: m.Request, at: unix}
		r.order = append(r.order, seen{m.Hash, unix})
	}
	close(r.now[m.Hash])
	delete(r.now, m.Hash)
}

// forget drops what is too old, and what is from a later time than now: a clock
// that went back must not keep it.
func (r *recent) forget(unix int64) {
	for r.gone < len(r.order) && (unix-r.order[r.gone].at >= sameFor || r.order[r.gone].at > unix) {
		delete(r.known, r.order[r.gone].hash)
		r.gone++
	}
	if r.gone > len(r.order)/2 {
		r.order = append(r.order[:0], r.order[r.gone:]...)
		r.gone = 0
	}
}
