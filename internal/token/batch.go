package token

import (
	"encoding/binary"
	"fmt"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/oprf"
	"github.com/cloudflare/circl/zk/dleq"

	"github.com/tacet-chat/tacet/internal/key"
)

// Batch is the device's half of one request: Part tokens in the making. It is
// for one goroutine at a time.
type Batch struct {
	nonces  [][]byte // 16 bytes each, what names a token
	blinds  []group.Scalar
	state   *oprf.FinalizeData
	blinded []group.Element
}

// NewBatch derives a request from a batch seed, the same one at every call: a
// device that crashed asks for the very same again and neither pays twice nor
// shows that two requests are of one device. It fails with ErrKind.
//
// The seed is 32 secret random bytes for one (kind, epoch) of one realm and must
// be wiped when the tokens are held: whoever has it and the issuer's transcript
// can link all of the batch.
//
// spec: token.md#device
func NewBatch(seed *[32]byte, k Kind, epoch uint32, part byte) (*Batch, error) {
	if !valid(k, epoch) || part >= MaxParts {
		return nil, ErrKind
	}
	return deriveBatch(seed, k, epoch, part, Part)
}

func deriveBatch(seed *[32]byte, k Kind, epoch uint32, part byte, n int) (*Batch, error) {
	kind, number := scope(k, epoch)
	nonces, blinds := make([][]byte, n), make([]group.Scalar, n)
	var uniform [64]byte
	defer clear(uniform[:])
	for i := range n {
		index := binary.BigEndian.AppendUint16(nil, uint16(i))
		nonces[i] = make([]byte, NonceSize)
		key.KDF(nonces[i], seed[:], labelNonce, kind, number, []byte{part}, index)
		key.KDF(uniform[:], seed[:], labelBlind, kind, number, []byte{part}, index)
		blinds[i] = group.Ristretto255.HashToScalar(uniform[:], []byte(labelBlind))
	}
	inputs := make([][]byte, n)
	for i := range inputs {
		inputs[i] = input(k, epoch, nonces[i])
	}
	b, err := newBatch(inputs, blinds)
	if err != nil {
		return nil, err
	}
	b.nonces = nonces
	return b, nil
}

func newBatch(inputs [][]byte, blinds []group.Scalar) (*Batch, error) {
	// Blinding knows no key: any client of the suite does. The mode is 1.
	client := oprf.NewVerifiableClient(suite, anyKey)
	state, request, err := client.DeterministicBlind(inputs, blinds)
	if err != nil { // a blind of zero, once in 2^252
		return nil, fmt.Errorf("blinding tokens: %w", err)
	}
	return &Batch{blinds: blinds, state: state, blinded: request.Elements}, nil
}

// anyKey is the public half of the scalar 1.
var anyKey = func() *oprf.PublicKey {
	k, err := parseKey([ElementSize]byte(appendElements(nil, []group.Element{group.Ristretto255.Generator()})))
	if err != nil {
		panic("token: " + err.Error())
	}
	return k
}()

func parseKey(public [ElementSize]byte) (*oprf.PublicKey, error) {
	if _, ok := parseElement(public[:]); !ok {
		return nil, ErrProof
	}
	k := new(oprf.PublicKey)
	if err := k.UnmarshalBinary(suite, public[:]); err != nil {
		return nil, ErrProof
	}
	return k, nil
}

// Blinded returns what is asked for: Part × element 32.
func (b *Batch) Blinded() []byte { return appendElements(make([]byte, 0, BlindedSize), b.blinded) }

// Finish takes the issuer's answer, ResponseSize bytes, checks its proof against
// the key that the realm announced to everybody, and returns Part tokens. It
// fails with ErrProof if anything is not as it must be: then the issuer may have
// used a key by which it would know this device again, and nothing of the answer
// may be used.
//
// spec: token.md#device
func (b *Batch) Finish(public [ElementSize]byte, response []byte) ([]Raw, error) {
	out, err := b.finish(public, response)
	if err != nil {
		return nil, err
	}
	list := make([]Raw, len(out))
	for i := range out {
		copy(list[i][:], b.nonces[i])
		key.KDF(list[i][NonceSize:], out[i], labelKey)
		clear(out[i])
	}
	return list, nil
}

// finish returns the function's outputs, 64 bytes each.
func (b *Batch) finish(public [ElementSize]byte, response []byte) ([][]byte, error) {
	k, err := parseKey(public)
	if err != nil {
		return nil, err
	}
	n := len(b.blinded)
	if len(response) != ProofSize+n*ElementSize {
		return nil, ErrProof
	}
	done, ok := parseElements(response[ProofSize:], n)
	if !ok {
		return nil, ErrProof
	}
	proof := new(dleq.Proof)
	if err := proof.UnmarshalBinary(group.Ristretto255, response[:ProofSize]); err != nil {
		return nil, ErrProof
	}
	out, err := oprf.NewVerifiableClient(suite, k).Finalize(b.state, &oprf.Evaluation{Elements: done, Proof: proof})
	if err != nil {
		return nil, ErrProof
	}
	return out, nil
}

// Wipe overwrites the blinds: without them nobody can link the tokens to the
// request. The batch is of no use afterwards.
func (b *Batch) Wipe() {
	for _, s := range b.blinds {
		wipe(s)
	}
	for _, n := range b.nonces {
		clear(n)
	}
	*b = Batch{}
}
