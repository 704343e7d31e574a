package token

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/oprf"
)

// small is a purchase of n tokens with everything that the large one has.
func small(t testing.TB, i *Issuer, batch string, n int) (*Batch, []byte) {
	t.Helper()
	b, err := deriveBatch(seedOf(batch), i.kind, i.epoch, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	response, err := i.evaluate(b.Blinded(), n, stream("proof of "+batch))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(i.Public(), response); err != nil {
		t.Fatal(err)
	}
	return b, response
}

func TestAChangedResponseIsRefused(t *testing.T) {
	i := issuerOf(t, "issuer", Member, day)
	b, good := small(t, i, "changed", 3)
	for at := range good {
		for _, x := range []byte{1, 0x80} {
			bad := bytes.Clone(good)
			bad[at] ^= x
			if _, err := b.Finish(i.Public(), bad); !errors.Is(err, ErrProof) {
				t.Errorf("byte %d ^ %x: got %v", at, x, err)
			}
		}
	}
	for at := range ElementSize {
		public := i.Public()
		public[at] ^= 1
		if _, err := b.Finish(public, good); !errors.Is(err, ErrProof) {
			t.Errorf("byte %d of the key: got %v", at, err)
		}
	}
	swapped := slices.Concat(good[:64], good[96:128], good[64:96], good[128:])
	for name, bad := range map[string][]byte{
		"nothing": nil, "short": good[:len(good)-1], "long": append(bytes.Clone(good), 0), "two of three": good[:128],
		"swapped": swapped, "one twice": slices.Concat(good[:128], good[96:128]),
	} {
		if _, err := b.Finish(i.Public(), bad); !errors.Is(err, ErrProof) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The large answer: its last element is as well proven as its first.
func TestALargeResponseIsProvenToItsEnd(t *testing.T) {
	d := dealOf(t)
	places := []int{Part - 1, 0, Part / 2}
	if testing.Short() {
		places = places[:1]
	}
	for _, at := range places {
		bad := bytes.Clone(d.response)
		e, _ := parseElement(bad[ProofSize+at*ElementSize:][:ElementSize])
		e.Add(e, group.Ristretto255.Generator())
		copy(bad[ProofSize+at*ElementSize:], appendElements(nil, []group.Element{e}))
		if _, err := d.batch.Finish(d.issuer.Public(), bad); !errors.Is(err, ErrProof) {
			t.Errorf("element %d is another: got %v", at, err)
		}
	}
	if _, err := d.batch.Finish(d.issuer.Public(), d.response[:len(d.response)-ElementSize]); !errors.Is(err, ErrProof) {
		t.Errorf("one less: got %v", err)
	}
}

// An issuer that uses a key of its own for somebody cannot prove the announced one.
func TestAnotherKeyIsRefused(t *testing.T) {
	i, own := issuerOf(t, "issuer", Member, day), issuerOf(t, "for this one", Member, day)
	b, honest := small(t, i, "another key", 3)
	forged, err := own.evaluate(b.Blinded(), 3, stream("forged"))
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := parseElements(b.Blinded(), 3)
	theirs, _ := parseElements(forged[ProofSize:], 3)
	mixed, _ := parseElements(honest[ProofSize:], 3)
	mixed[1] = theirs[1] // one marked token among honest ones
	nonce := scalarOf(t, make([]byte, 32)).SetUint64(77)
	proveMixed, err := i.prove(asked, mixed, nonce)
	if err != nil {
		t.Fatal(err)
	}
	// A lie that proves the elements under the own key, but names the announced one.
	liar := &Issuer{kind: i.kind, epoch: i.epoch, secret: own.secret, public: i.public}
	proveLie, err := liar.prove(asked, theirs, nonce)
	if err != nil {
		t.Fatal(err)
	}
	_, other := small(t, i, "of another batch", 3)
	for name, bad := range map[string][]byte{
		"own key, own proof":         forged,
		"own key, honest proof":      slices.Concat(honest[:ProofSize], forged[ProofSize:]),
		"own key, proof of no one":   slices.Concat(make([]byte, ProofSize), forged[ProofSize:]),
		"one marked":                 appendElements(bytes.Clone(honest[:ProofSize]), mixed),
		"one marked, proven":         appendElements(proveMixed, mixed),
		"own key, announced one":     appendElements(proveLie, theirs),
		"proof of another batch":     slices.Concat(other[:ProofSize], honest[ProofSize:]),
		"answer to another batch":    other,
		"identities":                 slices.Concat(honest[:ProofSize], make([]byte, 3*ElementSize)),
		"what was asked, unchanged":  slices.Concat(honest[:ProofSize], b.Blinded()),
		"zero proof, what was asked": slices.Concat(make([]byte, ProofSize), b.Blinded()),
	} {
		if _, err := b.Finish(i.Public(), bad); !errors.Is(err, ErrProof) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := b.Finish(own.Public(), honest); !errors.Is(err, ErrProof) {
		t.Error("an honest answer fits another key")
	}
	if _, err := b.Finish([32]byte{}, honest); !errors.Is(err, ErrProof) {
		t.Error("the identity is taken for a key")
	}
	// With the identity as key "0 · B" is proven by anybody: it must never be reached.
	zero := &Issuer{kind: i.kind, epoch: i.epoch, secret: group.Ristretto255.NewScalar(), public: group.Ristretto255.Identity()}
	nothing, err := zero.prove(asked, []group.Element{zero.public, zero.public, zero.public}, nonce)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(zero.Public(), append(nothing, make([]byte, 96)...)); !errors.Is(err, ErrProof) {
		t.Error("a key of zero is taken")
	}
	// A challenge or response that is not below the order is another encoding of a scalar.
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	for at := 0; at < ProofSize; at += 32 {
		little := bytes.Clone(honest[at : at+32])
		slices.Reverse(little)
		above := new(big.Int).Add(new(big.Int).SetBytes(little), order).FillBytes(make([]byte, 32))
		slices.Reverse(above)
		bad := bytes.Clone(honest)
		copy(bad[at:], above)
		if _, err := b.Finish(i.Public(), bad); !errors.Is(err, ErrProof) {
			t.Errorf("scalar at %d in another encoding: got %v", at, err)
		}
	}
}

func TestPartsAndEpochsAreNotExchanged(t *testing.T) {
	i := issuerOf(t, "issuer", Member, day)
	first, answer := small(t, i, "parts", 3)
	for name, again := range map[string]struct {
		k     Kind
		epoch uint32
		part  byte
	}{"part": {Member, day, 1}, "epoch": {Member, day + 1, 0}, "kind": {Guest, day, 0}} {
		b, err := deriveBatch(seedOf("parts"), again.k, again.epoch, again.part, 3)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if bytes.Contains(first.Blinded(), b.Blinded()[32*k:32*k+32]) || bytes.Equal(first.nonces[k], b.nonces[k]) {
				t.Errorf("another %s: element %d is the same", name, k)
			}
		}
		if _, err := b.Finish(i.Public(), answer); !errors.Is(err, ErrProof) {
			t.Errorf("the answer to another %s: got %v", name, err)
		}
		if other := issuerOf(t, "issuer", again.k, again.epoch); name != "part" && other.Public() == i.Public() {
			t.Errorf("another %s has the same key", name)
		}
	}
}

// badElements are encodings that are none: RFC 9496, Section 4.3.1.
func badElements() map[string][]byte {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	le := func(n *big.Int) []byte {
		b := n.FillBytes(make([]byte, 32))
		slices.Reverse(b)
		return b
	}
	good := appendElements(nil, []group.Element{group.Ristretto255.Generator()})
	big1 := slices.Clone(good)
	slices.Reverse(big1)
	negative := new(big.Int).Sub(p, new(big.Int).SetBytes(big1))
	top := bytes.Clone(good)
	top[31] |= 0x80
	bad := map[string][]byte{
		"identity": make([]byte, 32), "prime": le(p), "prime + 1": le(new(big.Int).Add(p, big.NewInt(1))), "prime + 2": le(new(big.Int).Add(p, big.NewInt(2))),
		"one": le(big.NewInt(1)), "negative": le(negative), "top bit": top, "all ones": bytes.Repeat([]byte{0xff}, 32),
		"empty": {}, "short": good[:31], "long": append(bytes.Clone(good), 0),
	}
	return bad
}

func TestElementsHaveOneEncoding(t *testing.T) {
	i := issuerOf(t, "issuer", Member, day)
	b, honest := small(t, i, "encodings", 2)
	for name, bad := range badElements() {
		if _, ok := parseElement(bad); ok {
			t.Errorf("%s is taken", name)
		}
		if len(bad) != ElementSize {
			continue
		}
		for at := range 2 {
			asked := b.Blinded()
			copy(asked[at*ElementSize:], bad)
			if _, err := i.evaluate(asked, 2, stream("x")); !errors.Is(err, ErrRequest) {
				t.Errorf("%s evaluated: got %v", name, err)
			}
			answer := bytes.Clone(honest)
			copy(answer[ProofSize+at*ElementSize:], bad)
			if _, err := b.Finish(i.Public(), answer); !errors.Is(err, ErrProof) {
				t.Errorf("%s in an answer: got %v", name, err)
			}
		}
		if _, err := b.Finish([32]byte(bad), honest); !errors.Is(err, ErrProof) {
			t.Errorf("%s as key: got %v", name, err)
		}
	}
	for _, n := range []int{0, 31, 63, 65, 96} {
		if _, err := i.evaluate(make([]byte, n), 2, stream("x")); !errors.Is(err, ErrRequest) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
	if _, err := i.Evaluate(b.Blinded(), stream("x")); !errors.Is(err, ErrRequest) {
		t.Errorf("two elements for %d: got %v", Part, err)
	}
	if _, err := i.evaluate(b.Blinded(), 2, bytes.NewReader(make([]byte, 31))); err == nil || errors.Is(err, ErrRequest) {
		t.Errorf("short randomness: got %v", err)
	}
}

// With randomness that is stuck, two requests still have proofs of two nonces:
// s + c·k of both would otherwise be the same r.
func TestAStuckRandomnessDoesNotGiveTheKeyAway(t *testing.T) {
	i := issuerOf(t, "issuer", Member, day)
	var r []group.Scalar
	for _, name := range []string{"one", "two"} {
		b, err := deriveBatch(seedOf(name), Member, day, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := i.evaluate(b.Blinded(), 1, bytes.NewReader(make([]byte, 32)))
		if err != nil {
			t.Fatal(err)
		}
		c, s := scalarOf(t, proof[:32]), scalarOf(t, proof[32:64])
		r = append(r, c.Add(s, c.Mul(c, i.secret)))
	}
	if r[0].IsEqual(r[1]) {
		t.Error("two proofs have one nonce")
	}
}

func TestAChangedTokenIsRefused(t *testing.T) {
	d := dealOf(t)
	request := RequestHash(PutContext, make([]byte, 16))
	p := d.tokens[0].Present(Member, day, request)
	good := p.Append(nil)
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		q, err := ParsePresented(bad)
		if err != nil {
			continue
		}
		if err := d.issuer.Check(&q, request); !errors.Is(err, ErrToken) {
			t.Errorf("byte %d: got %v", at, err)
		}
		if i, err := DeriveIssuer(seedOf("issuer"), q.Kind, q.Epoch); err != nil || !errors.Is(i.Check(&q, request), ErrToken) {
			t.Errorf("byte %d: it is good under the key that it names, or %v", at, err)
		}
	}
	for name, other := range map[string][32]byte{
		"binding": RequestHash(PutContext, append(make([]byte, 15), 1)), "purpose": RequestHash(Watch, make([]byte, 16)),
		"size": RequestHash(PutContext, make([]byte, 17)), "nothing": {},
	} {
		if err := d.issuer.Check(&p, other); !errors.Is(err, ErrToken) {
			t.Errorf("another %s: got %v", name, err)
		}
	}
	for name, i := range map[string]*Issuer{
		"realm": issuerOf(t, "other realm", Member, day), "epoch": issuerOf(t, "issuer", Member, day+1), "kind": issuerOf(t, "issuer", Guest, day),
	} {
		q := p
		q.Kind, q.Epoch = i.kind, i.epoch
		if err := i.Check(&p, request); !errors.Is(err, ErrToken) {
			t.Errorf("under the key of another %s: got %v", name, err)
		}
		if err := i.Check(&q, request); !errors.Is(err, ErrToken) {
			t.Errorf("renamed to another %s: got %v", name, err)
		}
	}
	// Two tokens' halves are no token, and a nonce without its key is none.
	q := d.tokens[1].Present(Member, day, request)
	q.Nonce = p.Nonce
	if err := d.issuer.Check(&q, request); !errors.Is(err, ErrToken) {
		t.Errorf("halves of two: got %v", err)
	}
	for _, b := range [][]byte{nil, good[1:], good[:52], append(bytes.Clone(good), 0)} {
		if _, err := ParsePresented(b); !errors.Is(err, ErrToken) {
			t.Errorf("%d bytes: got %v", len(b), err)
		}
	}
	h := p.Header()
	for name, s := range map[string]string{
		"empty": "", "short": h[:70], "long": h + "A", "padded": h + "=", "new line": h[:70] + "\n", "inner new line": h[:35] + "\n" + h[36:],
		"other alphabet": "+" + h[1:], "spare bits": h[:70] + string(h[70]+1),
	} {
		if _, err := ParseHeader(s); !errors.Is(err, ErrToken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// One key under two names: even if an issuer's keys of two epochs were one, a
// token of one would be none of the other.
func TestATokenIsOfItsEpochEvenUnderOneKey(t *testing.T) {
	private, err := oprf.DeriveKey(suite, oprf.VerifiableMode, seedOf("one key")[:], nil)
	if err != nil {
		t.Fatal(err)
	}
	today, err := newIssuer(private, Member, day)
	if err != nil {
		t.Fatal(err)
	}
	b, answer := small(t, today, "one key", 1)
	tokens, err := b.Finish(today.Public(), answer)
	if err != nil {
		t.Fatal(err)
	}
	request := RequestHash(Wake, make([]byte, 32))
	for _, c := range []struct {
		k     Kind
		epoch uint32
	}{{Member, day + 1}, {Guest, day}} {
		other, err := newIssuer(private, c.k, c.epoch)
		if err != nil {
			t.Fatal(err)
		}
		p := tokens[0].Present(c.k, c.epoch, request)
		if err := other.Check(&p, request); !errors.Is(err, ErrToken) {
			t.Errorf("kind %d epoch %d: got %v", c.k, c.epoch, err)
		}
	}
}

func TestRequestHashesDiffer(t *testing.T) {
	seen := map[[32]byte]bool{}
	n := 0
	for p := PutContext; p <= RealmInvite; p++ {
		for size := range 33 {
			seen[RequestHash(p, make([]byte, size))] = true
			n++
		}
	}
	for i := range 100 {
		seen[BuyBinding(Member, uint32(i), byte(i%16), binary.BigEndian.AppendUint32(nil, uint32(i)))] = true
		n++
	}
	if len(seen) != n {
		t.Errorf("got %d hashes of %d", len(seen), n)
	}
}
