package token

import (
	"bytes"
	"crypto/sha3"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
)

// stream is deterministic randomness, named after what it is for.
func stream(name string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("token test " + name))
	return h
}

func seedOf(name string) *[32]byte {
	var s [32]byte
	io.ReadFull(stream(name), s[:])
	return &s
}

func issuerOf(t testing.TB, name string, k Kind, epoch uint32) *Issuer {
	t.Helper()
	i, err := DeriveIssuer(seedOf(name), k, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// deal is one whole purchase, made once: it costs a second of work.
type deal struct {
	issuer   *Issuer
	batch    *Batch
	response []byte
	tokens   []Raw
}

const day = 20_787

var dealt = sync.OnceValues(func() (*deal, error) {
	d := new(deal)
	var err error
	if d.issuer, err = DeriveIssuer(seedOf("issuer"), Member, day); err != nil {
		return nil, err
	}
	if d.batch, err = NewBatch(seedOf("batch"), Member, day, 0); err != nil {
		return nil, err
	}
	if d.response, err = d.issuer.Evaluate(d.batch.Blinded(), stream("proof")); err != nil {
		return nil, err
	}
	d.tokens, err = d.batch.Finish(d.issuer.Public(), d.response)
	return d, err
})

func dealOf(t testing.TB) *deal {
	t.Helper()
	d, err := dealt()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestABoughtTokenPays(t *testing.T) {
	d := dealOf(t)
	if len(d.tokens) != Part || len(d.batch.Blinded()) != BlindedSize || len(d.response) != ResponseSize {
		t.Fatalf("got %d tokens for %d bytes and %d bytes", len(d.tokens), len(d.batch.Blinded()), len(d.response))
	}
	request := RequestHash(Watch, []byte("sixteen bytes   "))
	seen := map[[NonceSize]byte]bool{}
	for n := range d.tokens {
		p := d.tokens[n].Present(Member, day, request)
		seen[p.Nonce] = true
		if n%64 != 0 {
			continue
		}
		q, err := ParseHeader(p.Header())
		if err != nil || q != p {
			t.Fatalf("token %d: got %v, %v back from its header", n, q, err)
		}
		if err := d.issuer.Check(&q, request); err != nil {
			t.Errorf("token %d: got %v", n, err)
		}
	}
	if len(seen) != Part {
		t.Errorf("got %d nonces, want %d", len(seen), Part)
	}
}

func TestTheSameSeedAsksForTheSame(t *testing.T) {
	d := dealOf(t)
	again, err := NewBatch(seedOf("batch"), Member, day, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Blinded(), d.batch.Blinded()) {
		t.Error("got another request from the same seed")
	}
	again.Wipe()
	// The issuer answers it again, with another proof: the tokens are the same.
	const n = 16
	var tokens [2][]Raw
	var proofs [2][]byte
	for i := range tokens {
		b, err := deriveBatch(seedOf("batch"), Member, day, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		response, err := d.issuer.evaluate(b.Blinded(), n, stream(fmt.Sprint("proof ", i)))
		if err != nil {
			t.Fatal(err)
		}
		proofs[i] = response[:ProofSize]
		if tokens[i], err = b.Finish(d.issuer.Public(), response); err != nil {
			t.Fatal(err)
		}
		b.Wipe()
	}
	if bytes.Equal(proofs[0], proofs[1]) {
		t.Error("got the same proof from other randomness")
	}
	for i := range n {
		if tokens[0][i] != tokens[1][i] || tokens[0][i] != d.tokens[i] {
			t.Errorf("token %d differs", i)
		}
	}
}

func TestARawTokenIsNotPrinted(t *testing.T) {
	r := Raw{1, 2, 3}
	for _, f := range []string{"%v", "%+v", "%#v", "%x", "%s", "%d", "%q"} {
		if got := fmt.Sprintf(f, r); got != "[secret]" {
			t.Errorf("%s: got %s", f, got)
		}
		if got := fmt.Sprintf(f, struct{ R Raw }{r}); bytes.Contains([]byte(got), []byte("2 3")) {
			t.Errorf("%s in a struct: got %s", f, got)
		}
	}
	if _, err := r.MarshalText(); err == nil {
		t.Error("marshalled a token")
	}
}

func TestThereAreNoOtherKinds(t *testing.T) {
	for _, c := range []struct {
		k     Kind
		epoch uint32
	}{{0, 1}, {3, 1}, {Member, 1<<32 - 1}, {Guest, maxEpoch + 1}} {
		if _, err := DeriveIssuer(seedOf("x"), c.k, c.epoch); !errors.Is(err, ErrKind) {
			t.Errorf("issuer of %d, %d: got %v", c.k, c.epoch, err)
		}
		if _, err := NewBatch(seedOf("x"), c.k, c.epoch, 0); !errors.Is(err, ErrKind) {
			t.Errorf("batch of %d, %d: got %v", c.k, c.epoch, err)
		}
	}
	if _, err := NewBatch(seedOf("x"), Member, 1, MaxParts); !errors.Is(err, ErrKind) {
		t.Errorf("part %d: got %v", MaxParts, err)
	}
}

func TestEpochsAreDaysAndWeeks(t *testing.T) {
	const at = int64(day) * DaySeconds
	week := uint32(day / 7)
	for _, c := range []struct {
		k        Kind
		epoch    uint32
		unix     int64
		accepted bool
	}{
		{Member, day, at - 1, false}, {Member, day, at, true}, {Member, day, at + 2*DaySeconds - 1, true}, {Member, day, at + 2*DaySeconds, false},
		{Guest, week, int64(week)*7*DaySeconds - 1, false}, {Guest, week, int64(week) * 7 * DaySeconds, true},
		{Guest, week, int64(week+5)*7*DaySeconds - 1, true}, {Guest, week, int64(week+5) * 7 * DaySeconds, false},
		{0, day, at, false}, {3, day, at, false}, {Member, 0, -5, true}, {Member, 0, 0, true}, {Guest, 1<<32 - 1, 1 << 62, false},
	} {
		if got := Accepts(c.k, c.epoch, c.unix); got != c.accepted {
			t.Errorf("kind %d epoch %d at %d: got %v", c.k, c.epoch, c.unix, got)
		}
	}
	for _, k := range []Kind{Member, Guest} {
		e := EpochAt(k, at)
		if end := Ends(k, e); Accepts(k, e, end) || !Accepts(k, e, end-1) {
			t.Errorf("kind %d: tokens do not end at %d", k, end)
		}
	}
	if MemberEpoch(at) != day || GuestEpoch(at) != week || EpochAt(Guest, at) != week {
		t.Error("epochs are not days and weeks")
	}
}

func TestAWipedBatchIsOfNoUse(t *testing.T) {
	i := issuerOf(t, "issuer", Member, day)
	b, answer := small(t, i, "wiped", 2)
	blinds, nonces := b.blinds, b.nonces
	b.Wipe()
	for k := range blinds {
		if !blinds[k].IsZero() || !bytes.Equal(nonces[k], make([]byte, NonceSize)) {
			t.Errorf("token %d: its blind or nonce is still there", k)
		}
	}
	for _, a := range [][]byte{answer, answer[:ProofSize], nil} {
		if tokens, err := b.Finish(i.Public(), a); !errors.Is(err, ErrProof) || tokens != nil {
			t.Errorf("%d bytes: got %d tokens, %v", len(a), len(tokens), err)
		}
	}
	if len(b.Blinded()) != 0 {
		t.Error("a wiped batch still asks")
	}
	r := Raw{1}
	if r.Wipe(); r != (Raw{}) {
		t.Error("a wiped token is still there")
	}
	if i.Wipe(); !i.secret.IsZero() {
		t.Error("a wiped key is still there")
	}
}
