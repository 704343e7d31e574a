package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/oprf"
	"github.com/cloudflare/circl/zk/dleq"

	"github.com/tacet-chat/tacet/internal/key"
)

// Issuer is the realm's key of one kind and epoch. It may be used by several
// goroutines at a time, until Wipe.
type Issuer struct {
	kind   Kind
	epoch  uint32
	secret group.Scalar
	public group.Element
	server oprf.VerifiableServer
}

// DeriveIssuer makes the key of a kind and epoch from the realm's issuer seed
// (RFC 9497, Section 3.2.1, DeriveKeyPair). It fails with ErrKind. The same seed
// gives the same keys, so they need not be kept; keys of two epochs have nothing
// in common for whoever lacks the seed.
//
// spec: token.md#issuer-keys
func DeriveIssuer(seed *[32]byte, k Kind, epoch uint32) (*Issuer, error) {
	if !valid(k, epoch) {
		return nil, ErrKind
	}
	kind, number := scope(k, epoch)
	var own [32]byte
	defer clear(own[:])
	key.KDF(own[:], seed[:], labelIssuer, kind, number)
	private, err := oprf.DeriveKey(suite, oprf.VerifiableMode, own[:], []byte(labelIssuer))
	if err != nil {
		return nil, fmt.Errorf("deriving token key: %w", err)
	}
	return newIssuer(private, k, epoch)
}

func newIssuer(private *oprf.PrivateKey, k Kind, epoch uint32) (*Issuer, error) {
	b, err := private.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("deriving token key: %w", err)
	}
	defer clear(b)
	i := &Issuer{kind: k, epoch: epoch, secret: group.Ristretto255.NewScalar(), server: oprf.NewVerifiableServer(suite, private)}
	if err := i.secret.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("deriving token key: %w", err)
	}
	i.public = group.Ristretto255.NewElement().MulGen(i.secret)
	return i, nil
}

// Kind returns what kind of tokens the key is for.
func (i *Issuer) Kind() Kind { return i.kind }

// Epoch returns which epoch the key is for.
func (i *Issuer) Epoch() uint32 { return i.epoch }

// Public returns the key that the descriptor announces.
func (i *Issuer) Public() (p [ElementSize]byte) {
	copy(p[:], appendElements(nil, []group.Element{i.public}))
	return p
}

// Evaluate answers a request of BlindedSize bytes with ResponseSize bytes: proof
// 64 ‖ 1,024 × element 32. It fails with ErrRequest, and with the error of rand,
// of which it reads 32 bytes. It takes a processor for some tenths of a second.
//
// spec: token.md#issuing
func (i *Issuer) Evaluate(blinded []byte, rand io.Reader) ([]byte, error) {
	return i.evaluate(blinded, Part, rand)
}

func (i *Issuer) evaluate(blinded []byte, n int, rand io.Reader) ([]byte, error) {
	asked, ok := parseElements(blinded, n)
	if !ok {
		return nil, ErrRequest
	}
	nonce, err := i.proofNonce(blinded, rand)
	if err != nil {
		return nil, err
	}
	defer wipe(nonce)
	done := make([]group.Element, n)
	for k, e := range asked {
		done[k] = group.Ristretto255.NewElement().Mul(e, i.secret)
	}
	proof, err := i.prove(asked, done, nonce)
	if err != nil {
		return nil, err
	}
	return appendElements(proof, done), nil
}

func (i *Issuer) prove(asked, done []group.Element, nonce group.Scalar) ([]byte, error) {
	p, err := dleq.Prover{Params: proofs}.ProveBatchWithRandomnessRFC9497(i.secret, i.public, asked, done, nonce)
	if err != nil {
		return nil, fmt.Errorf("proving token key: %w", err)
	}
	return p.MarshalBinary()
}

// proofNonce mixes randomness with the key and the request: a proof's nonce that
// repeats for two requests would give the key away, and now it cannot, even where
// a machine was copied or its randomness is stuck.
func (i *Issuer) proofNonce(blinded []byte, rand io.Reader) (group.Scalar, error) {
	var fresh [32]byte
	if _, err := io.ReadFull(rand, fresh[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	secret, err := i.secret.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("proving token key: %w", err)
	}
	defer clear(secret)
	request := sha256.Sum256(blinded)
	seed := key.Info(make([]byte, 0, 256), labelProof, secret, fresh[:], request[:])
	defer clear(seed)
	return group.Ristretto255.HashToScalar(seed, []byte(labelProof)), nil
}

// Check reports with nil that p is a token of this key, presented for this
// request, else with ErrToken. Whether its epoch still counts (Accepts) and
// whether it was spent is for the caller to say.
//
// spec: token.md#presenting
func (i *Issuer) Check(p *Presented, request [32]byte) error {
	if p.Kind != i.kind || p.Epoch != i.epoch {
		return ErrToken
	}
	out, err := i.server.FullEvaluate(input(p.Kind, p.Epoch, p.Nonce[:]))
	if err != nil {
		return ErrToken
	}
	defer clear(out)
	var secret [32]byte
	defer clear(secret[:])
	key.KDF(secret[:], out, labelKey)
	if want := tag(secret[:], request); !hmac.Equal(want[:], p.Tag[:]) {
		return ErrToken
	}
	return nil
}

// input is what the function is evaluated on: a token of one kind and epoch is
// none of another even under one key.
func input(k Kind, epoch uint32, nonce []byte) []byte {
	kind, number := scope(k, epoch)
	return key.Info(make([]byte, 0, 64), labelInput, kind, number, nonce)
}

// Wipe overwrites the key as far as the library lets it: one copy of the scalar
// stays in the library's own value until it is collected.
func (i *Issuer) Wipe() { wipe(i.secret) }
