package wire

import (
	"encoding/binary"
	"errors"
)

// ErrTokenRequest is returned for a request for tokens that is not well-formed.
var ErrTokenRequest = errors.New("token request is malformed")

// Headers of requests that cost a token.
const (
	HeaderToken   = "Tacet-Token"   // a presented token, base64url without padding
	HeaderContext = "Tacet-Context" // 16 bytes, base64url without padding: a put context's id, or fresh random ones
)

// TokenHow says by what right tokens are asked for.
type TokenHow byte

// Rights to tokens, with what a request carries for them.
const (
	ByCredential TokenHow = 1 // a device's credential
	ByPuzzle     TokenHow = 2 // the solution of a puzzle, bound to the request
)

// Sizes of requests for tokens and of what answers them, in bytes.
const (
	TokenHeadSize    = 1 + 1 + 4 + 1 // how 1 ‖ kind 1 ‖ epoch 4 ‖ part 1
	TokenCount       = 1024          // tokens of one request
	TokenBlindedSize = TokenCount * 32
	TokenAnswerSize  = 64 + TokenBlindedSize // proof 64 ‖ 1,024 × element 32
	CredentialSize   = 32
	ChallengeSize    = 60     // of a puzzle
	SolutionSize     = 100    // of a puzzle
	PuzzleAskSize    = 1 + 32 // purpose 1 ‖ binding 32
	MaxTokenRequest  = TokenHeadSize + SolutionSize + TokenBlindedSize
)

// TokenRequest is the body of POST /v1/token.
type TokenRequest struct {
	How     TokenHow
	Kind    byte   // 1 member, 2 guest
	Epoch   uint32 // for which they are asked: the present one of the kind
	Part    byte   // which thousand of the epoch's, from 0
	Right   []byte // CredentialSize or SolutionSize bytes, by How
	Blinded []byte // TokenBlindedSize bytes
}

func (h TokenHow) size() int {
	switch h {
	case ByCredential:
		return CredentialSize
	case ByPuzzle:
		return SolutionSize
	}
	return -1
}

func (r *TokenRequest) check() error {
	if len(r.Right) != r.How.size() || len(r.Blinded) != TokenBlindedSize ||
		r.Kind < 1 || r.Kind > 2 || r.Part >= 16 {
		return ErrTokenRequest
	}
	return nil
}

// Append appends how 1 ‖ kind 1 ‖ epoch 4 ‖ part 1 ‖ right ‖ 1,024 × element 32.
func (r *TokenRequest) Append(b []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, err
	}
	b = append(b, byte(r.How), r.Kind)
	b = binary.BigEndian.AppendUint32(b, r.Epoch)
	b = append(append(b, r.Part), r.Right...)
	return append(b, r.Blinded...), nil
}

// ParseTokenRequest reads a request body. Right and Blinded are parts of b. It
// fails with ErrTokenRequest.
func ParseTokenRequest(b []byte) (TokenRequest, error) {
	if len(b) < TokenHeadSize {
		return TokenRequest{}, ErrTokenRequest
	}
	r := TokenRequest{How: TokenHow(b[0]), Kind: b[1], Epoch: binary.BigEndian.Uint32(b[2:]), Part: b[6]}
	n := r.How.size()
	if n < 0 || len(b) != TokenHeadSize+n+TokenBlindedSize {
		return TokenRequest{}, ErrTokenRequest
	}
	r.Right, r.Blinded = b[TokenHeadSize:TokenHeadSize+n], b[TokenHeadSize+n:]
	return r, r.check()
}

// PuzzleAsk is the body of POST /v1/puzzle: purpose 1 ‖ binding 32. The answer is
// a challenge, ChallengeSize bytes.
type PuzzleAsk struct {
	Purpose byte // 1 tokens, 2 shelf
	Binding [32]byte
}

// Append appends PuzzleAskSize bytes.
func (a *PuzzleAsk) Append(b []byte) []byte { return append(append(b, a.Purpose), a.Binding[:]...) }

// ParsePuzzleAsk reads exactly PuzzleAskSize bytes. It fails with ErrTokenRequest.
func ParsePuzzleAsk(b []byte) (PuzzleAsk, error) {
	if len(b) != PuzzleAskSize || b[0] < 1 || b[0] > 2 {
		return PuzzleAsk{}, ErrTokenRequest
	}
	return PuzzleAsk{Purpose: b[0], Binding: [32]byte(b[1:])}, nil
}
