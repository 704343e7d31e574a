package ratchet

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
)

func TestConversationBothWays(t *testing.T) {
	a, b := pair(t, "talk")
	r := stream("talk")
	for n := range 50 {
		from, to := a, b
		if n/3%2 == 1 {
			from, to = b, a
		}
		m := encrypt(t, from, r, n)
		if len(m) != Size {
			t.Fatalf("got %d bytes, want %d", len(m), Size)
		}
		opens(t, to, r, start, m, n)
	}
}

func TestResponderSpeaksOnlyAfterItHeard(t *testing.T) {
	a, b := pair(t, "first word")
	r := stream("first word")
	if _, err := b.Encrypt(r, ad, block(0)); !errors.Is(err, ErrNoChain) {
		t.Errorf("got %v, want %v", err, ErrNoChain)
	}
	if b.Room() != 0 || a.Room() != MaxChain {
		t.Errorf("got room for %d and %d, want 0 and %d", b.Room(), a.Room(), MaxChain)
	}
	opens(t, b, r, start, encrypt(t, a, r, 1), 1)
	opens(t, a, r, start, encrypt(t, b, r, 2), 2)
}

// TestDamageIsOneError flips a bit in every field of a message, and more.
func TestDamageIsOneError(t *testing.T) {
	a, b := pair(t, "damage")
	r := stream("damage")
	for n := range 4 { // both ends have all their chains
		opens(t, b, r, start, encrypt(t, a, r, n), n)
		opens(t, a, r, start, encrypt(t, b, r, n), n)
	}
	late := encrypt(t, a, r, 10) // its key will be a skipped one
	opens(t, b, r, start, encrypt(t, a, r, 11), 11)
	running := encrypt(t, a, r, 12)
	opens(t, a, r, start, encrypt(t, b, r, 13), 13)
	turning := encrypt(t, a, r, 14) // a new chain
	for name, m := range map[string][]byte{"skipped": late, "running": running, "turning": turning} {
		for field, at := range map[string]int{"header nonce": 3, "header": 12, "header's end": 129, "header tag": 145,
			"nonce": 146, "block": 158, "block's end": 1181, "tag": 1197} {
			bad := bytes.Clone(m)
			bad[at] ^= 0x40
			refuses(t, name+" with another "+field, b, r, start, ad, bad)
		}
		refuses(t, name+" without associated data", b, r, start, nil, m)
		refuses(t, name+" with other associated data", b, r, start, append([]byte{0}, ad...), m)
		refuses(t, name+" cut short", b, r, start, ad, m[:Size-1])
		refuses(t, name+" with a byte more", b, r, start, ad, append(bytes.Clone(m), 0))
		refuses(t, name+" at its sender", a, r, start, ad, m)
	}
	swapped := append(bytes.Clone(running[:sealedHead]), late[sealedHead:]...)
	refuses(t, "header of another message", b, r, start, ad, swapped)
	refuses(t, "nothing", b, r, start, ad, nil)
	opens(t, b, r, start, turning, 14)
	opens(t, b, r, start, late, 10)
	opens(t, b, r, start, running, 12)
	refuses(t, "opened before, skipped", b, r, start, ad, late)
	refuses(t, "opened before, running", b, r, start, ad, running)
	refuses(t, "opened before, turning", b, r, start, ad, turning)
}

// forge makes a message of s with a header of choice under the right keys.
func forge(t *testing.T, s *State, k key.Header, h []byte) []byte {
	t.Helper()
	nonce := make([]byte, nonceSize)
	m := newGCM(k.Bytes()).Seal(bytes.Clone(nonce), nonce, h, nil)
	_, ec := stepChain(s.send)
	bk, _ := braidKey(t, s.Clone(), stream("forge"))
	return sealBlock(m, messageKey(ec, bk), nonce, ad, block(0))
}

// braidKey takes the braid of s a message on; nothing in suite 1.
func braidKey(t testing.TB, s *State, r io.Reader) (k key.Braid, field [braid.Size]byte) {
	t.Helper()
	if s.braid == nil {
		return k, field
	}
	field, k, err := s.braid.Send(r)
	if err != nil {
		t.Fatal(err)
	}
	return k, field
}

// TestPartnerCannotHarmByHeader: who holds the keys still cannot put a state wrong.
func TestPartnerCannotHarmByHeader(t *testing.T) {
	for name, pair := range map[string]func(testing.TB, string) (a, b *State){"suite 1": pair1, "suite 2": pair} {
		t.Run(name, func(t *testing.T) { partner(t, pair) })
	}
}

func partner(t *testing.T, pair func(testing.TB, string) (a, b *State)) {
	a, b := pair(t, "partner")
	r := stream("partner")
	for n := range 2 {
		opens(t, b, r, start, encrypt(t, a, r, n), n)
		opens(t, a, r, start, encrypt(t, b, r, n), n)
	}
	h := func(dh key.DHPublic, pn, n uint32) []byte {
		_, field := braidKey(t, a.Clone(), stream("forge"))
		return (&header{dh: dh, pn: pn, n: n, braid: field}).append(nil)
	}
	a2 := a.Clone() // what a would send next begins a new chain at b
	good := key.DHPublicOf(secretOf[key.DHRole](t, r))
	var notCanonical key.DHPublic
	for i := range notCanonical {
		notCanonical[i] = 0xff
	}
	ahead := h(good, 0, 0)
	ahead[42] = 1 // an epoch that is far ahead, or a braid where there is none
	for name, head := range map[string][]byte{
		"key of order one":      h(key.DHPublic{1}, 0, 0),
		"key of zeros":          h(key.DHPublic{}, 0, 0),
		"key not canonical":     h(notCanonical, 0, 0),
		"number too large":      h(good, 0, MaxChain),
		"largest number":        h(good, 0, math.MaxUint32),
		"chain before too long": h(good, MaxChain+1, 0),
		"longest chain before":  h(good, math.MaxUint32, 0),
		"a braid":               ahead,
	} {
		refuses(t, name, b, r, start, ad, forge(t, a2, a2.headSend, head))
	}
	// In the running chain another ratchet key is not this chain.
	opens(t, b, r, start, encrypt(t, a, r, 9), 9)
	refuses(t, "another key in the running chain", b, r, start, ad, forge(t, a, a.headSend, h(good, 1, 1)))
	// Right in all but one field that the step would not use.
	for name, change := range map[string]func(h []byte){
		"an epoch ahead":        func(h []byte) { h[40] = 1 },
		"a number far ahead":    func(h []byte) { h[44] = 1 },
		"no known kind":         func(h []byte) { h[52] = 0xff },
		"chain before too long": func(h []byte) { h[34] = 0x80; h[35] = 1 },
	} {
		head := h(a.ownPublic, a.pn, a.ns)
		opens(t, b.Clone(), r, start, forge(t, a, a.headSend, head), 0)
		change(head)
		refuses(t, name+" in the running chain", b, r, start, ad, forge(t, a, a.headSend, head))
	}
	opens(t, b, r, start, encrypt(t, a, r, 10), 10)
}

func TestTotalsDoNotWrap(t *testing.T) {
	a, b := pair(t, "wrap")
	r := stream("wrap")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	opens(t, a, r, start, encrypt(t, b, r, 1), 1)
	b.recvBefore = math.MaxUint32 - MaxChain
	refuses(t, "a total beyond 32 bits", b, r, start, ad, encrypt(t, a, r, 2))
	a.sentBefore = math.MaxUint32 - MaxChain + 1
	if _, err := a.Encrypt(r, ad, block(3)); !errors.Is(err, ErrFull) {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
}

func TestBlockHasOneSize(t *testing.T) {
	a, _ := pair(t, "size")
	before := a.Append(nil)
	for _, n := range []int{0, 1023, 1025} {
		if _, err := a.Encrypt(stream("x"), ad, make([]byte, n)); !errors.Is(err, ErrBlock) {
			t.Errorf("%d bytes: got %v, want %v", n, err, ErrBlock)
		}
	}
	if !bytes.Equal(a.Append(nil), before) {
		t.Error("got another state, want no change")
	}
}

func TestFailingRandomnessChangesNothing(t *testing.T) {
	a, b := pair(t, "entropy")
	r := stream("entropy")
	before := a.Append(nil)
	if _, err := a.Encrypt(io.MultiReader(io.LimitReader(r, 23), failing{}), ad, block(0)); !errors.Is(err, errBroken) {
		t.Errorf("encrypting: got %v, want %v", err, errBroken)
	}
	if !bytes.Equal(a.Append(nil), before) {
		t.Error("encrypting: got another state, want no change")
	}
	m := encrypt(t, a, r, 1)
	before = b.Append(nil)
	if _, err := b.Decrypt(failing{}, start, ad, m); !errors.Is(err, errBroken) || errors.Is(err, ErrDecrypt) {
		t.Errorf("decrypting: got %v, want %v", err, errBroken)
	}
	if !bytes.Equal(b.Append(nil), before) {
		t.Error("decrypting: got another state, want no change")
	}
	opens(t, b, r, start, m, 1)
	opens(t, b, failing{}, start, encrypt(t, a, r, 2), 2) // a running chain needs no randomness
	sk := secretOf[key.SharedRole](t, r)
	if _, err := NewInitiator(failing{}, sk, key.DHPublic{9}); !errors.Is(err, errBroken) {
		t.Errorf("beginning: got %v, want %v", err, errBroken)
	}
}

func TestBeginningNeedsGoodKeys(t *testing.T) {
	r := stream("beginning")
	sk, signed := secretOf[key.SharedRole](t, r), secretOf[key.DHRole](t, r)
	_, err := NewInitiator(r, sk, key.DHPublic{1})
	_, err2 := NewInitiator(r, key.Shared{}, key.DHPublicOf(signed))
	_, err3 := NewResponder(key.Shared{}, signed)
	_, err4 := NewResponder(sk, key.DH{})
	for i, c := range []struct{ got, want error }{{err, key.ErrPublic}, {err2, key.ErrSize}, {err3, key.ErrSize}, {err4, key.ErrSize}} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("case %d: got %v, want %v", i+1, c.got, c.want)
		}
	}
}

// TestOldSecretsAreOverwritten keeps hold of the bytes of every secret that a
// step replaces.
func TestOldSecretsAreOverwritten(t *testing.T) {
	a, b := pair(t, "wipe")
	r := stream("wipe")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	opens(t, a, r, start, encrypt(t, b, r, 1), 1)
	gone := func(what string, old ...[]byte) {
		t.Helper()
		for i, o := range old {
			if !bytes.Equal(o, make([]byte, len(o))) {
				t.Errorf("%s: got secret %d still there, want zeros", what, i)
			}
		}
	}
	chain := a.send.Bytes()
	late := encrypt(t, a, r, 2)
	gone("encrypting", chain)
	secrets := [][]byte{b.root.Bytes(), b.own.Bytes(), b.send.Bytes(), b.recv.Bytes(), b.headSend.Bytes(), b.headRecv.Bytes(),
		b.nextSend.Bytes(), b.nextRecv.Bytes()}
	opens(t, b, r, start, encrypt(t, a, r, 3), 3)
	gone("turning", secrets...)
	skipped, head := b.skipped.chains[0].keys[0].ec.Bytes(), b.skipped.chains[0].head.Bytes()
	opens(t, b, r, start, late, 2)
	gone("opening a late message", skipped, head)
	secrets = [][]byte{b.root.Bytes(), b.own.Bytes(), b.nextRecv.Bytes()}
	b.Wipe()
	gone("wiping", secrets...)
	refuses2 := func() (err error) { _, err = b.Decrypt(r, start, ad, late); return err }
	if err := refuses2(); err != ErrDecrypt {
		t.Errorf("a wiped state: got %v, want %v", err, ErrDecrypt)
	}
}

func TestFailedDraftIsOverwritten(t *testing.T) {
	a, b := pair(t, "draft")
	r := stream("draft")
	encrypt(t, a, r, 0)
	m := encrypt(t, a, r, 1)
	m[Size-1] ^= 1
	before := b.Clone()
	d := draft{core: b.core.clone(), was: b, at: start}
	if _, err := d.open(r, ad, m); err != ErrDecrypt {
		t.Fatalf("got %v, want %v", err, ErrDecrypt)
	}
	if !bytes.Equal(b.braid.Append(nil), before.braid.Append(nil)) || bytes.Equal(d.braid.Append(nil), before.braid.Append(nil)) {
		t.Error("the draft's braid: got the state's own, want a copy that has moved on")
	}
	secrets := [][]byte{d.root.Bytes(), d.own.Bytes(), d.send.Bytes(), d.recv.Bytes(), d.fresh[0].keys[0].ec.Bytes(), d.fresh[0].head.Bytes()}
	d.wipe()
	for i, s := range secrets {
		if !bytes.Equal(s, make([]byte, len(s))) {
			t.Errorf("secret %d: got %x, want zeros", i, s)
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	a, b := pair(t, "clone")
	r := stream("clone")
	late := encrypt(t, a, r, 0)
	opens(t, b, r, start, encrypt(t, a, r, 1), 1)
	c := b.Clone()
	want := b.Append(nil)
	opens(t, c, r, start, late, 0)
	encrypt(t, c, r, 2)
	c.Wipe()
	if !bytes.Equal(b.Append(nil), want) {
		t.Error("got another state after its clone was used and wiped, want no change")
	}
	opens(t, b, r, start, late, 0)
}

// TestMessagesLookRandom: nothing of a message repeats, not even when the same
// block is encrypted under the same key.
func TestMessagesLookRandom(t *testing.T) {
	a, _ := pair(t, "looks")
	r := stream("looks")
	seen := make(map[string]int)
	for n := range 20 {
		m := encrypt(t, a, r, 7)
		for at := 0; at+12 <= Size; at++ {
			if was, ok := seen[string(m[at:at+12])]; ok {
				t.Fatalf("got 12 bytes of message %d again in message %d, want none", was, n)
			}
		}
		for at := 0; at+12 <= Size; at++ {
			seen[string(m[at:at+12])] = n
		}
	}
}
