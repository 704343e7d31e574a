package pqxdh

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

var bundle = [32]byte{0xb0, 1, 2, 3}

func TestBothEndsAgree(t *testing.T) {
	for _, oneTime := range []bool{true, false} {
		a, b := newDevice(t, "a"), newDevice(t, "b")
		v, p := b.prekeys(t, "prekeys", oneTime)
		in, ra, err := Initiate(stream("ephemeral"), a.party, a.dh, b.party, p, bundle)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := ParseInitial(in.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		rb, err := Respond(b.party, b.dh, v, p, bundle, a.party, &sent)
		if err != nil {
			t.Fatal(err)
		}
		if !ra.Secret.Equal(rb.Secret) || ra.AD != rb.AD {
			t.Errorf("one-time %v: got different outcomes at the two ends, want the same", oneTime)
		}
		if in.OneTime != oneTime {
			t.Errorf("got one-time %v, want %v", in.OneTime, oneTime)
		}
		ra.Wipe()
		if ra.Secret.Valid() {
			t.Error("got a secret after Wipe, want none")
		}
	}
}

func TestEveryHandshakeHasItsOwnSecret(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	_, p := b.prekeys(t, "prekeys", true)
	// The same randomness for the ephemeral key: the KEM's own still differs.
	_, r1, err := Initiate(stream("same"), a.party, a.dh, b.party, p, bundle)
	_, r2, err2 := Initiate(stream("same"), a.party, a.dh, b.party, p, bundle)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if r1.Secret.Equal(r2.Secret) || r1.AD == r2.AD {
		t.Error("got one secret twice, want two")
	}
}

// TestTranscriptHoldsEverything changes one thing at a time on one side only.
func TestTranscriptHoldsEverything(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	_, p := b.prekeys(t, "prekeys", true)
	_, other := b.prekeys(t, "other prekeys", true)
	ephemeral, err := key.Generate[key.DHRole](stream("ephemeral"))
	if err != nil {
		t.Fatal(err)
	}
	ss, ct := encapsulate(t, p.KEM, make([]byte, 32))
	in := Initial{Suite: Suite, Ephemeral: key.DHPublicOf(ephemeral), OneTime: true, KEM: ct}
	// Only the transcript may tell the two apart: the agreements are fixed.
	pairs := []pair{{a.dh, p.Signed}, {ephemeral, b.party.DH}, {ephemeral, p.Signed}, {ephemeral, p.OneTime}}
	outcome := func(change func(x *exchange)) *Result {
		pre, in := *p, in
		x := exchange{a: a.party, b: b.party, pre: &pre, bundle: bundle, in: &in}
		change(&x)
		r, err := x.finish(ss, pairs)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := outcome(func(*exchange) {})
	if again := outcome(func(*exchange) {}); !again.Secret.Equal(want.Secret) || again.AD != want.AD {
		t.Fatal("got another outcome from the same transcript, want the same")
	}
	for name, change := range map[string]func(x *exchange){
		"suite":                 func(x *exchange) { x.in.Suite++ },
		"initiator's root":      func(x *exchange) { x.a.Root[7] ^= 1 },
		"initiator's sign key":  func(x *exchange) { x.a.Sign[7] ^= 1 },
		"initiator's DH key":    func(x *exchange) { x.a.DH[7] ^= 1 },
		"initiator's manifest":  func(x *exchange) { x.a.Manifest[7] ^= 1 },
		"responder's root":      func(x *exchange) { x.b.Root[7] ^= 1 },
		"responder's sign key":  func(x *exchange) { x.b.Sign[7] ^= 1 },
		"responder's DH key":    func(x *exchange) { x.b.DH[7] ^= 1 },
		"responder's manifest":  func(x *exchange) { x.b.Manifest[7] ^= 1 },
		"bundle":                func(x *exchange) { x.bundle[31] ^= 1 },
		"signed prekey":         func(x *exchange) { x.pre.Signed = other.Signed },
		"one-time prekey":       func(x *exchange) { x.pre.OneTime = other.OneTime },
		"no one-time prekey":    func(x *exchange) { x.pre.HasOneTime = false },
		"KEM prekey":            func(x *exchange) { x.pre.KEM = other.KEM },
		"ephemeral":             func(x *exchange) { x.in.Ephemeral = other.Signed },
		"KEM ciphertext":        func(x *exchange) { x.in.KEM[1087] ^= 1 },
		"roles":                 func(x *exchange) { x.a, x.b = x.b, x.a },
		"signed and one-time":   func(x *exchange) { x.pre.Signed, x.pre.OneTime = x.pre.OneTime, x.pre.Signed },
		"root and sign swapped": func(x *exchange) { x.a.Root, x.a.Sign = x.a.Sign, x.a.Root },
	} {
		got := outcome(change)
		if got.AD == want.AD {
			t.Errorf("%s changed: got the same associated data, want another", name)
		}
		if got.Secret.Equal(want.Secret) {
			t.Errorf("%s changed: got the same secret, want another", name)
		}
	}
}

// TestEncodingsAreDisjoint: the same 32 bytes as a signing key and as a DH key
// are two encodings, and each prekey has a label of its own.
func TestEncodingsAreDisjoint(t *testing.T) {
	b := newDevice(t, "b")
	var same [32]byte
	if bytes.Equal(encodeSign(same), encodeDH(same)) {
		t.Error("got one encoding for two kinds of key, want two")
	}
	_, p := b.prekeys(t, "prekeys", true)
	for name, q := range map[string]Prekeys{
		"signature of the one-time key on the signed key": {Signed: p.OneTime, SignedSig: p.OneTimeSig, KEM: p.KEM, KEMSig: p.KEMSig},
		"signature of the signed key on the one-time key": {Signed: p.Signed, SignedSig: p.SignedSig, KEM: p.KEM, KEMSig: p.KEMSig,
			HasOneTime: true, OneTime: p.Signed, OneTimeSig: p.SignedSig},
		"signature over the bare key": {Signed: p.Signed, SignedSig: key.SignMessage(b.sign, labelSigned, p.Signed[:]), KEM: p.KEM, KEMSig: p.KEMSig},
		"signature under another kind": {Signed: p.Signed, SignedSig: key.SignMessage(b.sign, labelSigned, encodeSign(key.SignPublic(p.Signed))),
			KEM: p.KEM, KEMSig: p.KEMSig},
	} {
		if err := q.Verify(b.party.Sign); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: got %v, want %v", name, err, ErrSignature)
		}
	}
}

func TestForgedPrekeysAreRefused(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	_, good := b.prekeys(t, "prekeys", true)
	_, other := a.prekeys(t, "of another device", true)
	for name, change := range map[string]func(p *Prekeys){
		"signed key":            func(p *Prekeys) { p.Signed = other.Signed },
		"one-time key":          func(p *Prekeys) { p.OneTime = other.OneTime },
		"KEM key":               func(p *Prekeys) { p.KEM = other.KEM },
		"signed key's sig":      func(p *Prekeys) { p.SignedSig[9] ^= 4 },
		"one-time key's sig":    func(p *Prekeys) { p.OneTimeSig[9] ^= 4 },
		"KEM key's sig":         func(p *Prekeys) { p.KEMSig[9] ^= 4 },
		"one-time key unsigned": func(p *Prekeys) { p.OneTimeSig = key.Signature{} },
		"another device's set":  func(p *Prekeys) { *p = *other },
	} {
		p := *good
		change(&p)
		in, r, err := Initiate(stream("x"), a.party, a.dh, b.party, &p, bundle)
		if !errors.Is(err, ErrSignature) || in != nil || r != nil {
			t.Errorf("%s: got %v, want %v and nothing else", name, err, ErrSignature)
		}
	}
}

// hostile are X25519 keys that must not be agreed with.
var hostile = map[string]key.DHPublic{
	"zero":                 {},
	"one (order 1)":        {1},
	"order 8":              {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
	"order 8, the other":   {0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57},
	"p − 1 (order 4)":      prime(-1),
	"p, a second zero":     prime(0),
	"p + 1, a second one":  prime(1),
	"p + 9, a second base": prime(9),
	"base with its top bit": func() (p key.DHPublic) {
		p[0], p[31] = 9, 0x80
		return p
	}(),
	"all ones": func() (p key.DHPublic) {
		for i := range p {
			p[i] = 0xff
		}
		return p
	}(),
}

// prime is 2^255 − 19 + d, little-endian.
func prime(d int) (p key.DHPublic) {
	for i := range p {
		p[i] = 0xff
	}
	p[0], p[31] = byte(0xed+d), 0x7f
	return p
}

func TestHostileAgreementKeysAreRefused(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", true)
	in, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range hostile {
		q := *p // a device that signs hostile prekeys of its own
		q.Signed, q.SignedSig = bad, key.SignMessage(b.sign, labelSigned, encodeDH(bad))
		if _, _, err := Initiate(stream("x"), a.party, a.dh, b.party, &q, bundle); !errors.Is(err, key.ErrPublic) {
			t.Errorf("signed prekey %s: got %v, want %v", name, err, key.ErrPublic)
		}
		if err := q.Verify(b.party.Sign); prime(0) == bad && !errors.Is(err, key.ErrPublic) {
			t.Errorf("verifying signed prekey %s: got %v, want %v", name, err, key.ErrPublic)
		}
		q = *p
		q.OneTime, q.OneTimeSig = bad, key.SignMessage(b.sign, labelOneTime, encodeDH(bad))
		if _, _, err := Initiate(stream("x"), a.party, a.dh, b.party, &q, bundle); !errors.Is(err, key.ErrPublic) {
			t.Errorf("one-time prekey %s: got %v, want %v", name, err, key.ErrPublic)
		}
		if err := q.Verify(b.party.Sign); prime(0) == bad && !errors.Is(err, key.ErrPublic) {
			t.Errorf("verifying one-time prekey %s: got %v, want %v", name, err, key.ErrPublic)
		}
		peer := b.party
		peer.DH = bad
		if _, _, err := Initiate(stream("x"), a.party, a.dh, peer, p, bundle); !errors.Is(err, key.ErrPublic) {
			t.Errorf("peer's key %s: got %v, want %v", name, err, key.ErrPublic)
		}
		peer = a.party
		peer.DH = bad
		if _, err := Respond(b.party, b.dh, v, p, bundle, peer, in); !errors.Is(err, key.ErrPublic) {
			t.Errorf("initiator's key %s: got %v, want %v", name, err, key.ErrPublic)
		}
		evil := *in
		evil.Ephemeral = bad
		if _, err := Respond(b.party, b.dh, v, p, bundle, a.party, &evil); !errors.Is(err, key.ErrPublic) {
			t.Errorf("ephemeral %s: got %v, want %v", name, err, key.ErrPublic)
		}
	}
}

func TestBadKEMKeyIsRefused(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	_, p := b.prekeys(t, "prekeys", true)
	for i := range p.KEM[:1152] { // every coefficient 4,095: not below 3,329
		p.KEM[i] = 0xff
	}
	p.KEMSig = key.SignMessage(b.sign, labelKEM, encodeKEM(p.KEM))
	if _, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle); !errors.Is(err, key.ErrPublic) {
		t.Errorf("got %v, want %v", err, key.ErrPublic)
	}
}

func TestUnknownSuiteHasNoFallback(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", true)
	in, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range []byte{0, 1, 3, 255} {
		in.Suite = suite
		if _, err := Respond(b.party, b.dh, v, p, bundle, a.party, in); !errors.Is(err, ErrSuite) {
			t.Errorf("responding to suite %d: got %v, want %v", suite, err, ErrSuite)
		}
		if _, err := ParseInitial(in.Append(nil)); !errors.Is(err, ErrSuite) {
			t.Errorf("parsing suite %d: got %v, want %v", suite, err, ErrSuite)
		}
	}
}

func TestUsedOrOtherPrekeysAnswerNobody(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", true)
	in, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	respond := func(v *Private, p *Prekeys, in *Initial) error {
		_, err := Respond(b.party, b.dh, v, p, bundle, a.party, in)
		return err
	}
	otherPrivate, otherPublic := b.prekeys(t, "another invite", true)
	multiPrivate, multiPublic := b.prekeys(t, "an invite of many uses", false)
	without := *in
	without.OneTime = false
	spent := Private{Signed: v.Signed.Clone(), KEM: v.KEM.Clone()}
	for name, err := range map[string]error{
		"private halves of another set":      respond(otherPrivate, p, in),
		"public halves of another set":       respond(v, otherPublic, in),
		"one-time key gone":                  respond(&spent, p, in),
		"one-time key left out":              respond(v, p, &without),
		"one-time key where there is none":   respond(multiPrivate, multiPublic, in),
		"private halves that offer too much": respond(v, multiPublic, &without),
	} {
		if !errors.Is(err, ErrPrekey) {
			t.Errorf("%s: got %v, want %v", name, err, ErrPrekey)
		}
	}
	if err := respond(v, p, in); err != nil {
		t.Errorf("the right set: got %v, want no error", err)
	}
	v.Wipe()
	if err := respond(v, p, in); !errors.Is(err, ErrPrekey) {
		t.Errorf("replay after the keys were wiped: got %v, want %v", err, ErrPrekey)
	}
}

func TestDeviceMustBeItselfAndNotTheOther(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", true)
	in, _, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Initiate(stream("x"), a.party, b.dh, b.party, p, bundle)
	_, err2 := Respond(b.party, a.dh, v, p, bundle, a.party, in)
	_, _, err3 := Initiate(stream("x"), b.party, b.dh, b.party, p, bundle)
	_, err4 := Respond(b.party, b.dh, v, p, bundle, b.party, in)
	_, _, err5 := Initiate(stream("x"), a.party, key.DH{}, b.party, p, bundle)
	sameSign, sameDH := b.party, b.party
	sameSign.DH, sameDH.Sign = a.party.DH, a.party.Sign
	_, err6 := Respond(b.party, b.dh, v, p, bundle, sameSign, in)
	_, err7 := Respond(b.party, b.dh, v, p, bundle, sameDH, in)
	for i, err := range []error{err, err2, err3, err4, err5, err6, err7} {
		if !errors.Is(err, ErrParty) {
			t.Errorf("case %d: got %v, want %v", i+1, err, ErrParty)
		}
	}
}

// TestWrongKEMCiphertextGivesAnotherSecret: ML-KEM rejects implicitly.
func TestWrongKEMCiphertextGivesAnotherSecret(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	v, p := b.prekeys(t, "prekeys", true)
	in, want, err := Initiate(stream("x"), a.party, a.dh, b.party, p, bundle)
	if err != nil {
		t.Fatal(err)
	}
	in.KEM[0] ^= 1
	got, err := Respond(b.party, b.dh, v, p, bundle, a.party, in)
	if err != nil {
		t.Fatal(err)
	}
	if got.Secret.Equal(want.Secret) || got.AD == want.AD {
		t.Error("got the initiator's outcome, want another")
	}
}

func TestRandomnessThatFailsIsAnError(t *testing.T) {
	a, b := newDevice(t, "a"), newDevice(t, "b")
	_, p := b.prekeys(t, "prekeys", true)
	broken := errors.New("no entropy")
	short := func(n int64) io.Reader {
		return io.MultiReader(io.LimitReader(stream("x"), n), failing{broken})
	}
	if _, _, err := Initiate(short(31), a.party, a.dh, b.party, p, bundle); !errors.Is(err, broken) {
		t.Errorf("Initiate: got %v, want %v", err, broken)
	}
	for _, n := range []int64{0, 32, 64} {
		if _, _, err := NewPrekeys(short(n), b.sign, true); !errors.Is(err, broken) {
			t.Errorf("NewPrekeys after %d bytes: got %v, want %v", n, err, broken)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
