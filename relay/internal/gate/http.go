package gate

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes of bodies.
const (
	JoinSize   = wire.RealmSecretSize + 32 // POST /v1/member: secret 32 ‖ credential hash 32
	InviteSize = 32 + 1                    // POST /v1/member/invite: hash 32 ‖ days 1
)

// bodyWithin is how long a body may take: 32 KiB are slow on a slow line.
const bodyWithin = 15 * time.Second

var words = map[int]string{
	http.StatusBadRequest:            "malformed, or another epoch runs",
	http.StatusUnauthorized:          "a token is wanted, or this one is no good",
	http.StatusForbidden:             "not for you",
	http.StatusLengthRequired:        "a length is wanted",
	http.StatusRequestEntityTooLarge: "the body has another size",
	http.StatusTooManyRequests:       "over a limit",
	http.StatusInternalServerError:   "the relay failed",
	http.StatusServiceUnavailable:    "too busy, try again later",
}

// Refuse answers with a status of Admit or Context, and one line of text.
func Refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	http.Error(w, words[status], status)
}

// read counts a request against its network and reads its body, which has one of
// the sizes, and hands it to do. What do returns is answered: 0 is 200 with the
// answer, or 204 without one.
func (k *Keeper) read(w http.ResponseWriter, r *http.Request, do func(body []byte) (answer []byte, status int), sizes ...int64) {
	fits := false
	for _, n := range sizes {
		fits = fits || r.ContentLength == n
	}
	switch {
	case r.ContentLength < 0:
		Refuse(w, http.StatusLengthRequired)
		return
	case !fits:
		Refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	if k.cfg.Limit != nil {
		release, ok := k.cfg.Limit.Allow(Peer(r.RemoteAddr), Put)
		if !ok {
			Refuse(w, http.StatusTooManyRequests)
			return
		}
		defer release()
	}
	give, ok := k.bodies.Take(r.RemoteAddr, r.ContentLength)
	if !ok {
		Refuse(w, http.StatusServiceUnavailable)
		return
	}
	defer give()
	body := make([]byte, r.ContentLength)
	defer clear(body)
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		Refuse(w, http.StatusBadRequest)
		return
	}
	answer, status := do(body)
	switch {
	case status != 0:
		Refuse(w, status)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(answer)
	}
}

// ServeJoin is POST /v1/member: secret 32 ‖ credential hash 32.
//
// spec: gate.md#realm-invite
func (k *Keeper) ServeJoin(w http.ResponseWriter, r *http.Request) {
	k.read(w, r, func(b []byte) ([]byte, int) {
		if k.cfg.Access == NobodyElse {
			return nil, http.StatusForbidden
		}
		ctx, cancel := call(r.Context())
		defer cancel()
		err := k.cfg.Members.Join(ctx, InviteHash(b[:wire.RealmSecretSize]), [32]byte(b[wire.RealmSecretSize:]), k.today())
		switch {
		case errors.Is(err, ErrNoInvite):
			return nil, http.StatusForbidden
		case err != nil:
			return nil, k.trouble(ctx, err).status()
		}
		return nil, 0
	}, JoinSize)
}

// ServeInvite is POST /v1/member/invite: invite hash 32 ‖ days 1.
//
// spec: gate.md#realm-invite
func (k *Keeper) ServeInvite(w http.ResponseWriter, r *http.Request) {
	k.read(w, r, func(b []byte) ([]byte, int) { return nil, k.invite(r, [32]byte(b), b[32]) }, InviteSize)
}

// ServeToken is POST /v1/token.
//
// spec: gate.md#batches
func (k *Keeper) ServeToken(w http.ResponseWriter, r *http.Request) {
	k.read(w, r, func(b []byte) ([]byte, int) {
		q, err := wire.ParseTokenRequest(b)
		if err != nil {
			return nil, http.StatusBadRequest
		}
		return k.issue(r, &q)
	}, wire.TokenHeadSize+wire.CredentialSize+wire.TokenBlindedSize, wire.TokenHeadSize+wire.SolutionSize+wire.TokenBlindedSize)
}

// ServePuzzle is POST /v1/puzzle: purpose 1 ‖ binding 32.
//
// spec: token.md#puzzles
func (k *Keeper) ServePuzzle(w http.ResponseWriter, r *http.Request) {
	k.read(w, r, func(b []byte) ([]byte, int) {
		q, err := wire.ParsePuzzleAsk(b)
		switch {
		case err != nil:
			return nil, http.StatusBadRequest
		case k.cfg.Access != Open || token.PuzzlePurpose(q.Purpose) != token.PuzzleTokens:
			return nil, http.StatusForbidden
		}
		c, err := k.state.Load().judge.Challenge(token.PuzzleTokens, q.Binding, k.line.stamp(), k.cfg.Now().Unix(), k.cfg.Random)
		if err != nil {
			k.cfg.Failed(err)
			return nil, http.StatusInternalServerError
		}
		return c.Append(nil), 0
	}, wire.PuzzleAskSize)
}
