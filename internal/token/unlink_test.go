package token

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cloudflare/circl/group"
)

// The question of this file: an issuer keeps every request and every answer, all
// of its keys, and every token that is ever presented. Can it say in which of the
// requests a token was made? Several people buy under one key; then all of their
// tokens are presented, and linkers of several sorts guess the buyer. Against the
// clients that we ship each must be at chance; against clients that are broken in
// known ways some linker must succeed, or it would be no linker.

// person is one buyer: what the issuer saw of the purchase, and, for the judge of
// the test only, the tokens.
type person struct {
	issuer   *Issuer // whose key was used
	asked    []group.Element
	done     []group.Element
	blinded  []byte
	response []byte
	tokens   []Raw
}

// shown is one presented token with all that the issuer can compute from it.
type shown struct {
	p       Presented
	request [32]byte
	point   group.Element // the function's input, hashed to the group
	owner   int           // truth, for scoring and for a linker's lessons
	view    []byte        // nonce ‖ tag ‖ point ‖ evaluated point ‖ key
}

// client makes a batch and takes the answer: ours, or a broken one.
type client struct {
	batch  func(who, n int) (*Batch, error)
	finish func(b *Batch, i *Issuer, response []byte) ([]Raw, error)
	own    bool // the issuer uses a key of its own for each person
}

var honest = client{
	batch: func(who, n int) (*Batch, error) {
		return deriveBatch(seedOf(fmt.Sprint("person ", who)), Member, day, 0, n)
	},
	finish: func(b *Batch, i *Issuer, response []byte) ([]Raw, error) { return b.Finish(i.Public(), response) },
}

// broken clients, each with one known fault.
var broken = map[string]client{
	// The blind is a constant of the program, which everybody can read.
	"blind used again": {finish: honest.finish, batch: remade(func(int, int, *rand.Rand, []byte) []byte { return []byte("constant") }, nil)},
	// The blind is computed from what is presented later.
	"blind from nonce": {finish: honest.finish, batch: remade(func(_, _ int, _ *rand.Rand, nonce []byte) []byte { return nonce }, nil)},
	// The nonces begin with a number of the device.
	"marked nonces": {finish: honest.finish, batch: remade(nil, func(who int, nonce []byte) { id := sha256.Sum256([]byte{byte(who)}); copy(nonce, id[:8]) })},
	// The proof is not checked, so the issuer can use another key for each person.
	"proof unchecked": {batch: honest.batch, own: true, finish: func(b *Batch, i *Issuer, response []byte) ([]Raw, error) {
		return b.Finish(i.Public(), response) // whatever key the answer was made with
	}},
	// Nothing is blinded: r = 1.
	"no blind": {finish: honest.finish, batch: func(who, n int) (*Batch, error) {
		b, err := honest.batch(who, n)
		if err != nil {
			return nil, err
		}
		inputs, ones := make([][]byte, n), make([]group.Scalar, n)
		for k := range n {
			inputs[k], ones[k] = input(Member, day, b.nonces[k]), group.Ristretto255.NewScalar().SetUint64(1)
		}
		again, err := newBatch(inputs, ones)
		if err != nil {
			return nil, err
		}
		again.nonces = b.nonces
		return again, nil
	}},
	// Each point is hidden by adding the one before it, in place of a blind.
	"chained": honest,
	// Tokens are spent in the order in which they were bought, one person after the other.
	"in order": honest,
}

// remade is a batch like ours but for blinds or nonces.
func remade(blind func(who, k int, r *rand.Rand, nonce []byte) []byte, nonce func(who int, b []byte)) func(who, n int) (*Batch, error) {
	return func(who, n int) (*Batch, error) {
		b, err := honest.batch(who, n)
		if err != nil {
			return nil, err
		}
		inputs, r := make([][]byte, n), rand.New(rand.NewPCG(1, uint64(who)))
		for k := range n {
			if nonce != nil {
				nonce(who, b.nonces[k])
			}
			inputs[k] = input(Member, day, b.nonces[k])
			if blind != nil {
				b.blinds[k] = brokenBlind(blind(who, k, r, b.nonces[k]))
			}
		}
		again, err := newBatch(inputs, b.blinds)
		if err != nil {
			return nil, err
		}
		again.nonces = b.nonces
		return again, nil
	}
}

func brokenBlind(b []byte) group.Scalar { return group.Ristretto255.HashToScalar(b, []byte("broken")) }

// buy lets everybody buy n tokens, and returns the transcript.
func buy(t *testing.T, c client, people, n int) (list []person) {
	t.Helper()
	for who := range people {
		name := "issuer"
		if c.own {
			name = fmt.Sprint("issuer for ", who)
		}
		p := person{issuer: issuerOf(t, name, Member, day)}
		b, err := c.batch(who, n)
		if err != nil {
			t.Fatal(err)
		}
		p.blinded = b.Blinded()
		if p.response, err = p.issuer.evaluate(p.blinded, n, stream(fmt.Sprint("proof ", who))); err != nil {
			t.Fatal(err)
		}
		if p.tokens, err = c.finish(b, p.issuer, p.response); err != nil {
			t.Fatal(err)
		}
		p.asked, _ = parseElements(p.blinded, n)
		p.done, _ = parseElements(p.response[ProofSize:], n)
		list = append(list, p)
	}
	return list
}

// present shows all tokens: in an order of chance, or in that of the purchases.
func present(people []person, inOrder bool) (list []shown) {
	for who := range people {
		for k := range people[who].tokens {
			raw := &people[who].tokens[k]
			s := shown{owner: who, request: RequestHash(Watch, binary.BigEndian.AppendUint64(nil, uint64(len(list))))}
			s.p = raw.Present(Member, day, s.request)
			s.point = pointOf(raw[:NonceSize])
			evaluated := group.Ristretto255.NewElement().Mul(s.point, people[0].issuer.secret)
			s.view = slices.Concat(s.p.Nonce[:], s.p.Tag[:], appendElements(nil, []group.Element{s.point, evaluated}), raw[NonceSize:])
			list = append(list, s)
		}
	}
	if !inOrder {
		rand.New(rand.NewPCG(7, 7)).Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	}
	return list
}

// pointOf is what the function hashes a token's input to (RFC 9497, Section 4.1).
func pointOf(nonce []byte) group.Element {
	return group.Ristretto255.HashToElement(input(Member, day, nonce), []byte("HashToGroup-OPRFV1-\x01-ristretto255-SHA512"))
}

// linkers guess who bought each token; −1 is no guess, which chance fills.
var linkers = map[string]func(people []person, list []shown) []int{
	// Some bytes of the token stand in somebody's transcript, or nearly.
	"value": func(people []person, list []shown) []int {
		guess := make([]int, len(list))
		for i, s := range list {
			best := math.MaxInt
			for who, p := range people {
				for k := range p.asked {
					for _, e := range [][]byte{p.blinded[32*k : 32*k+32], p.response[64+32*k : 96+32*k]} {
						for at := 16; at+32 <= len(s.view); at += 32 { // tag, point, evaluated point, key
							if d := distance(e, s.view[at:at+32]); d < best {
								best, guess[i] = d, who
							}
						}
					}
				}
			}
		}
		return guess
	},
	// A token is presented where it stood when it was bought.
	"order": func(people []person, list []shown) []int {
		guess := make([]int, len(list))
		for i := range list {
			guess[i] = i * len(people) / len(list)
		}
		return guess
	},
	// Tokens of one buyer are alike: the linker is told who bought every other one,
	// and learns the bits of each buyer.
	"lessons": func(people []person, list []shown) []int {
		return lessons(people, list)
	},
	// The blind is one that the issuer can know: none, a small one, a constant of a
	// program, or made from the nonce.
	"blind": func(people []person, list []shown) []int {
		buyer := map[[32]byte]int{}
		for who, p := range people {
			for k := range p.asked {
				buyer[[32]byte(p.blinded[32*k:])] = who
			}
		}
		guess := make([]int, len(list))
		for i, s := range list {
			guess[i] = -1
			nonce := s.p.Nonce[:]
			for _, r := range []group.Scalar{
				group.Ristretto255.NewScalar().SetUint64(1), group.Ristretto255.NewScalar().SetUint64(2), brokenBlind([]byte("constant")), brokenBlind(nonce),
				group.Ristretto255.HashToScalar(nonce, []byte(labelBlind)),
			} {
				e := appendElements(nil, []group.Element{group.Ristretto255.NewElement().Mul(s.point, r)})
				if who, ok := buyer[[32]byte(e)]; ok {
					guess[i] = who
				}
			}
		}
		return guess
	},
	// A key was used for somebody alone: the token's tag fits it.
	"key": func(people []person, list []shown) []int {
		guess := make([]int, len(list))
		alone := people[1].issuer.Public() != people[0].issuer.Public()
		for i := range list {
			guess[i] = -1
			for who, p := range people {
				if alone && p.issuer.Check(&list[i].p, list[i].request) == nil {
					guess[i] = who
				}
			}
		}
		return guess
	},
	// Sums and differences: a token's point is the difference of two elements of
	// one request, or its evaluated point of two answers.
	"algebra": func(people []person, list []shown) []int {
		near := map[[32]byte]int{}
		for who, p := range people {
			for k := 1; k < len(p.asked); k++ {
				for _, pair := range [][]group.Element{p.asked, p.done} {
					d := group.Ristretto255.NewElement().Neg(pair[k-1])
					near[[32]byte(appendElements(nil, []group.Element{d.Add(d, pair[k])}))] = who
					near[[32]byte(appendElements(nil, []group.Element{d.Add(pair[k-1], pair[k])}))] = who
				}
			}
		}
		guess := make([]int, len(list))
		for i, s := range list {
			guess[i] = -1
			for _, at := range []int{48, 80} {
				if who, ok := near[[32]byte(s.view[at:])]; ok {
					guess[i] = who
				}
			}
		}
		return guess
	},
}

func lessons(people []person, list []shown) []int {
	size := len(list[0].view) * 8
	sums, counts := make([][]float64, len(people)), make([]float64, len(people))
	for who := range sums {
		sums[who] = make([]float64, size)
	}
	bit := func(s *shown, k int) float64 { return float64(s.view[k/8] >> (k % 8) & 1) }
	for i := 0; i < len(list); i += 2 {
		for k := range size {
			sums[list[i].owner][k] += bit(&list[i], k)
		}
		counts[list[i].owner]++
	}
	guess := make([]int, len(list))
	for i := range list {
		if i%2 == 0 {
			guess[i] = -1 // told, so not scored
			continue
		}
		best := math.Inf(-1)
		for who := range people {
			// naive Bayes over the bits
			var score float64
			for k := range size {
				one := (sums[who][k] + 1) / (counts[who] + 2)
				if bit(&list[i], k) == 0 {
					one = 1 - one
				}
				score += math.Log(one)
			}
			if score > best {
				best, guess[i] = score, who
			}
		}
	}
	return guess
}

func distance(a, b []byte) (d int) {
	for at := 0; at+8 <= len(a); at += 8 {
		d += bits.OnesCount64(binary.LittleEndian.Uint64(a[at:]) ^ binary.LittleEndian.Uint64(b[at:]))
	}
	return d
}

// score returns the share of right guesses in standard deviations from chance.
// Where a linker has no guess, a coin of the number of people is thrown for it.
func score(name string, people []person, list []shown) (right float64, sigmas float64) {
	guess := linkers[name](people, list)
	n, hits := 0, 0
	for i, s := range list {
		if name == "lessons" && i%2 == 0 {
			continue
		}
		n++
		g := guess[i]
		if g < 0 {
			h := sha256.Sum256(s.p.Nonce[:])
			g = int(h[0]) * len(people) / 256
		}
		if g == s.owner {
			hits++
		}
	}
	chance := 1 / float64(len(people))
	right = float64(hits) / float64(n)
	return right, (right - chance) / math.Sqrt(chance*(1-chance)/float64(n))
}

// TestNobodyLinksATokenToItsPurchase: all linkers are at chance against our client.
func TestNobodyLinksATokenToItsPurchase(t *testing.T) {
	people, n := 4, 1024
	if testing.Short() {
		n = 64
	}
	all := buy(t, honest, people, n)
	list := present(all, false)
	for name := range linkers {
		right, sigmas := score(name, all, list)
		t.Logf("%-8s %.4f right of %d (chance %.4f), %+.1f standard deviations", name, right, len(list), 1/float64(people), sigmas)
		if math.Abs(sigmas) > 4.5 { // by chance once in 150,000; the seeds are fixed
			t.Errorf("%s links: %.4f right, %+.1f standard deviations from chance", name, right, sigmas)
		}
	}
}

// TestBrokenClientsAreLinked is the control: each fault is found by a linker.
func TestBrokenClientsAreLinked(t *testing.T) {
	n := 64
	if testing.Short() {
		n = 16
	}
	for fault, caughtBy := range map[string]string{
		"blind used again": "blind", "blind from nonce": "blind", "marked nonces": "lessons", "proof unchecked": "key", "in order": "order",
		"no blind": "value", "chained": "algebra",
	} {
		all := buy(t, broken[fault], 4, n)
		if fault == "chained" {
			for _, p := range all {
				for k := range p.asked {
					nonce := p.tokens[k][:NonceSize]
					p.asked[k] = pointOf(nonce)
					if k > 0 {
						p.asked[k].Add(p.asked[k], p.asked[k-1])
					}
				}
			}
		}
		right, sigmas := score(caughtBy, all, present(all, fault == "in order"))
		t.Logf("%-16s %-8s %.4f right, %+.1f standard deviations", fault, caughtBy, right, sigmas)
		if right < 0.9 {
			t.Errorf("%s: the linker %q is right in %.4f, want nearly always", fault, caughtBy, right)
		}
	}
	// The same own keys against our client: there is nothing to link, as nothing is taken.
	i, own := issuerOf(t, "issuer", Member, day), issuerOf(t, "issuer for 1", Member, day)
	b, err := honest.batch(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	response, err := own.evaluate(b.Blinded(), 4, stream("x"))
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := b.Finish(i.Public(), response); err == nil || tokens != nil {
		t.Error("our client takes an answer of another key")
	}
}

// TestTranscriptsAreUniform: no byte of what an issuer or a verifier sees leans
// to a value, within a person or between two.
func TestTranscriptsAreUniform(t *testing.T) {
	people, n := 2, 1024
	if testing.Short() {
		n = 64
	}
	all := buy(t, honest, people, n)
	var nonces, tags []byte
	for _, s := range present(all, false) {
		nonces, tags = append(nonces, s.p.Nonce[:]...), append(tags, s.p.Tag[:]...)
	}
	// Elements are encodings of field elements: even, top bit clear. Two bytes of
	// 32 are left out for that.
	var elements []byte
	for _, p := range all {
		for k := range n {
			elements = append(elements, p.blinded[32*k+1:32*k+31]...)
		}
	}
	for name, b := range map[string][]byte{"nonces": nonces, "tags": tags, "blinded elements": elements} {
		var count [256]float64
		for _, x := range b {
			count[x]++
		}
		want, chi := float64(len(b))/256, 0.0
		for _, c := range count {
			chi += (c - want) * (c - want) / want
		}
		z := (chi - 255) / math.Sqrt(2*255)
		t.Logf("%s: %d bytes, chi square %.0f of 255 degrees, %+.1f standard deviations", name, len(b), chi, z)
		if math.Abs(z) > 5 {
			t.Errorf("%s lean: %+.1f standard deviations", name, z)
		}
	}
}
