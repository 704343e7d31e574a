package token

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/oprf"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

// rfc9497 is one suite and mode of the vectors of RFC 9497, Appendix A. Where a
// vector is of a batch its values are joined by commas.
type rfc9497 struct {
	Identifier    string
	Mode          int
	Seed, KeyInfo vectortest.Hex
	SkSm, PkSm    vectortest.Hex
	GroupDST      vectortest.Hex
	Vectors       []rfc9497Vector
}

type rfc9497Vector struct {
	Batch                                                   int
	Info                                                    vectortest.Hex
	Blind, BlindedElement, EvaluationElement, Input, Output string
	Proof                                                   struct{ Proof, R vectortest.Hex }
}

func list(t *testing.T, s string) (out [][]byte) {
	t.Helper()
	for part := range strings.SplitSeq(s, ",") {
		var h vectortest.Hex
		if err := h.UnmarshalText([]byte(part)); err != nil {
			t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

func scalarOf(t *testing.T, b []byte) group.Scalar {
	t.Helper()
	s := group.Ristretto255.NewScalar()
	if err := s.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRFC9497(t *testing.T) {
	const all = 40
	zipped, err := gzip.NewReader(bytes.NewReader(vectortest.Read(t, "privacypass/rfc9497.json.gz", all)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	var suites []rfc9497
	if err := json.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	ran, library, absent := 0, 0, 0
	for _, s := range suites {
		other, err := oprf.GetSuite(s.Identifier)
		for i, v := range s.Vectors {
			switch {
			case err != nil:
				absent++
			case other == suite && s.Mode == 1:
				ran++
				t.Run(fmt.Sprint(i), func(t *testing.T) { s.run(t, v) })
			default:
				library++
				s.direct(t, other, v)
			}
		}
	}
	t.Logf("ran %d vectors of our suite and mode whole, %d of others for their keys and outputs; not applicable: %d of decaf448", ran, library, absent)
	if ran != 3 || library != 29 || absent != 8 {
		t.Errorf("got %d, %d, %d, want 3, 29, 8 of %d", ran, library, absent, all)
	}
}

// direct checks a suite or mode that we do not use, as far as that is the library's.
func (s *rfc9497) direct(t *testing.T, other oprf.Suite, v rfc9497Vector) {
	t.Helper()
	private, err := oprf.DeriveKey(other, oprf.Mode(s.Mode), s.Seed, s.KeyInfo)
	if err != nil {
		t.Fatal(err)
	}
	if sk, err := private.MarshalBinary(); err != nil || !bytes.Equal(sk, s.SkSm) {
		t.Errorf("%s mode %d: got key %x, %v, want %x", s.Identifier, s.Mode, sk, err, s.SkSm)
	}
	want := list(t, v.Output)
	for k, input := range list(t, v.Input) {
		var out []byte
		switch s.Mode {
		case 0:
			out, err = oprf.NewServer(other, private).FullEvaluate(input)
		case 1:
			out, err = oprf.NewVerifiableServer(other, private).FullEvaluate(input)
		case 2:
			out, err = oprf.NewPartialObliviousServer(other, private).FullEvaluate(input, v.Info)
		}
		if err != nil || !bytes.Equal(out, want[k]) {
			t.Errorf("%s mode %d: got %x, %v, want %x", s.Identifier, s.Mode, out, err, want[k])
		}
	}
}

// run goes the whole way with our own code: key, blinding, evaluation, proof,
// unblinding, and the direct evaluation that Check makes.
func (s *rfc9497) run(t *testing.T, v rfc9497Vector) {
	private, err := oprf.DeriveKey(suite, oprf.VerifiableMode, s.Seed, s.KeyInfo)
	if err != nil {
		t.Fatal(err)
	}
	i, err := newIssuer(private, Member, day)
	if err != nil {
		t.Fatal(err)
	}
	if sk, err := i.secret.MarshalBinary(); err != nil || !bytes.Equal(sk, s.SkSm) {
		t.Errorf("secret key: got %x, want %x", sk, s.SkSm)
	}
	if pk := i.Public(); !bytes.Equal(pk[:], s.PkSm) {
		t.Errorf("public key: got %x, want %x", pk, s.PkSm)
	}
	var blinds []group.Scalar
	for _, b := range list(t, v.Blind) {
		blinds = append(blinds, scalarOf(t, b))
	}
	inputs := list(t, v.Input)
	if len(inputs) != v.Batch || len(blinds) != v.Batch {
		t.Fatalf("got %d inputs, %d blinds, want %d", len(inputs), len(blinds), v.Batch)
	}
	b, err := newBatch(inputs, blinds)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Blinded(), bytes.Join(list(t, v.BlindedElement), nil); !bytes.Equal(got, want) {
		t.Errorf("blinded: got %x, want %x", got, want)
	}
	asked, ok := parseElements(b.Blinded(), v.Batch)
	if !ok {
		t.Fatal("blinded elements do not parse")
	}
	done, _ := parseElements(bytes.Join(list(t, v.EvaluationElement), nil), v.Batch)
	proof, err := i.prove(asked, done, scalarOf(t, v.Proof.R))
	if err != nil || !bytes.Equal(proof, v.Proof.Proof) {
		t.Errorf("proof: got %x, %v, want %x", proof, err, v.Proof.Proof)
	}
	response, err := i.evaluate(b.Blinded(), v.Batch, stream("vectors"))
	if err != nil {
		t.Fatal(err)
	}
	if want := appendElements(nil, done); !bytes.Equal(response[ProofSize:], want) {
		t.Errorf("evaluated: got %x, want %x", response[ProofSize:], want)
	}
	for name, answer := range map[string][]byte{"its own proof": response, "the vector's proof": appendElements(bytes.Clone(v.Proof.Proof), done)} {
		got, err := b.finish(i.Public(), answer)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for k, want := range list(t, v.Output) {
			if !bytes.Equal(got[k], want) {
				t.Errorf("%s: output %d: got %x, want %x", name, k, got[k], want)
			}
			if out, err := i.server.FullEvaluate(inputs[k]); err != nil || !bytes.Equal(out, want) {
				t.Errorf("direct output %d: got %x, %v, want %x", k, out, err, want)
			}
		}
	}
}

// Type 5 of the Privacy Pass vectors is this suite with one element a request:
// the same function under another framing of inputs and messages.
func TestPrivacyPassType5(t *testing.T) {
	const all = 5
	vectors := vectortest.Load[[]struct {
		SkS            vectortest.Hex `json:"skS"`
		PkS            vectortest.Hex `json:"pkS"`
		TokenChallenge vectortest.Hex `json:"token_challenge"`
		Nonce          vectortest.Hex `json:"nonce"`
		Blind          vectortest.Hex `json:"blind"`
		TokenRequest   vectortest.Hex `json:"token_request"`
		TokenResponse  vectortest.Hex `json:"token_response"`
		Token          vectortest.Hex `json:"token"`
	}](t, "privacypass/type5-issuance-test-vectors.json", all)
	for n, v := range vectors {
		private := new(oprf.PrivateKey)
		if err := private.UnmarshalBinary(suite, v.SkS); err != nil {
			t.Fatal(err)
		}
		i, err := newIssuer(private, Member, day)
		if err != nil {
			t.Fatal(err)
		}
		if pk := i.Public(); !bytes.Equal(pk[:], v.PkS) {
			t.Errorf("%d: public key: got %x, want %x", n, pk, v.PkS)
		}
		// token type 2 ‖ nonce 32 ‖ challenge digest 32 ‖ key id 32 (RFC 9578, Section 5)
		digest, id := sha256.Sum256(v.TokenChallenge), sha256.Sum256(v.PkS)
		input := append(append(append([]byte{0, 5}, v.Nonce...), digest[:]...), id[:]...)
		b, err := newBatch([][]byte{input}, []group.Scalar{scalarOf(t, v.Blind)})
		if err != nil {
			t.Fatal(err)
		}
		if want := v.TokenRequest[len(v.TokenRequest)-ElementSize:]; !bytes.Equal(b.Blinded(), want) {
			t.Errorf("%d: blinded: got %x, want %x", n, b.Blinded(), want)
		}
		// evaluated element 32 ‖ proof 64; ours has them the other way round.
		answer := append(bytes.Clone(v.TokenResponse[ElementSize:]), v.TokenResponse[:ElementSize]...)
		out, err := b.finish(i.Public(), answer)
		if err != nil || !bytes.Equal(out[0], v.Token[len(input):]) || !bytes.Equal(input, v.Token[:len(input)]) {
			t.Errorf("%d: got %x, %v, want %x", n, out, err, v.Token)
		}
	}
	if len(vectors) != all {
		t.Errorf("got %d vectors, want %d", len(vectors), all)
	}
	t.Logf("ran %d vectors; the folder's others are of RSA, P-384 and signatures", len(vectors))
}
