package mls

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestPastEpoch(t *testing.T) {
	for _, s := range Suites() {
		e := newTestEpoch(t, s, 6, 1)
		from, to := e.members[1], e.members[0]
		early, late := e.say(t, from, "early", 0), e.say(t, from, "late", 50)
		past := to.pastOf()
		to.drop() // the group moves on
		got, err := past.Open(&Message{Wire: WirePrivate, private: late})
		if err != nil || string(got.Application) != "late" || got.Sender != 1 || string(got.AuthenticatedData) != "aad" {
			t.Fatalf("got %+v, %v", got, err)
		}
		b := past.Append(nil)
		again, err := ParsePastEpoch(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Append(nil), b) || again.Epoch() != past.Epoch() || again.Self() != 0 || !equal(again.GroupID(), past.GroupID()) {
			t.Error("the past epoch does not come back")
		}
		clone := again.Clone()
		for _, p := range []*PastEpoch{again, past, clone} {
			if _, err := p.Open(&Message{Wire: WirePrivate, private: late}); !errors.Is(err, ErrUsed) {
				t.Errorf("again: got %v, want ErrUsed", err)
			}
			if got, err := p.Open(&Message{Wire: WirePrivate, private: early}); err != nil || string(got.Application) != "early" {
				t.Errorf("got %v, want early", err)
			}
			r, err := p.Reserve()
			if err != nil {
				t.Fatal(err)
			}
			m, err := r.Seal(Env{Rand: e.rand}, []byte("answer"), Framing{})
			if err != nil {
				t.Fatal(err)
			}
			// past has a lineage of its own now: it must not be used beside what was
			// read from its state. Here a message of each opens once in its own clone.
			c := from.clone()
			if got, err := c.open(m.private); err != nil || string(got) != "answer" {
				t.Errorf("got %q, %v, want answer", got, err)
			}
			c.drop()
		}
		for i := range LeafIndex(8) {
			key, credential, ok := again.Member(i)
			want := e.leaves.leaf(i)
			if ok != (want != nil) || ok && (!equal(key, want.SignatureKey) || !credential.equal(want.Credential)) {
				t.Errorf("member %d: got %v", i, ok)
			}
		}
		again.Drop()
		if !clone.m.e.signer.Valid() {
			t.Error("dropping one clone wiped the other")
		}
		clone.Drop()
		if clone.m.e.signer.Valid() || clone.m.e.senderData.Valid() || clone.m.e.membership.Valid() {
			t.Error("secrets outlive the last clone")
		}
	}
}

func TestPastEpochRefuses(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 3, 1)
	from, past := e.members[1], e.members[0].pastOf()
	pm, err := from.sealPublic(e.propose(t, from, WirePublic))
	if err != nil {
		t.Fatal(err)
	}
	proposal := e.raw(t, from, 1, e.propose(t, from, WirePrivate), nil)
	elsewhere := *proposal
	elsewhere.GroupID = []byte("other")
	future := *proposal
	future.Epoch++
	before := past.Append(nil)
	for name, c := range map[string]struct {
		m    *Message
		want error
	}{
		"public":            {&Message{Wire: WirePublic, public: pm}, ErrInvalid},
		"key package":       {&Message{Wire: WireKeyPackage}, ErrInvalid},
		"proposal":          {&Message{Wire: WirePrivate, private: proposal}, ErrPastEpoch},
		"of another group":  {&Message{Wire: WirePrivate, private: &elsewhere}, ErrWrongGroup},
		"of a future epoch": {&Message{Wire: WirePrivate, private: &future}, ErrFutureEpoch},
	} {
		if _, err := past.Open(c.m); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if !bytes.Equal(before, past.Append(nil)) {
		t.Error("the state changed")
	}
	// It leads nowhere: no secret of the epoch that does is in its state.
	s := e.suite.params().epochFrom(e.secret)
	for what, secret := range map[string]Secret{"init_secret": s.init, "exporter_secret": s.exporter, "encryption_secret": s.encryption,
		"external_secret": s.external, "resumption_psk": s.resumption, "confirmation_key": s.confirmation, "epoch_secret": e.secret} {
		if what == "encryption_secret" { // there until the first message
			if _, err := past.Open(&Message{Wire: WirePrivate, private: e.say(t, from, "x", 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.Contains(past.Append(nil), secret.Bytes()) {
			t.Errorf("%s is in the state", what)
		}
	}
}

func TestDamagedPastEpochIsRefused(t *testing.T) {
	e := newTestEpoch(t, SuiteP256AES128, 3, 1)
	past := e.members[0].pastOf()
	for range 3 {
		if _, err := past.Open(&Message{Wire: WirePrivate, private: e.say(t, e.members[1], "x", 0)}); err != nil {
			t.Fatal(err)
		}
	}
	// The signature key of somebody else.
	foreign := *past.m
	shared := epochShared{suite: past.m.e.suite, context: past.m.e.context, leaves: past.m.e.leaves, signer: e.signers[1],
		senderData: past.m.e.senderData, membership: past.m.e.membership, lineage: NewLineage()}
	foreign.e = &shared
	if _, err := ParsePastEpoch((&PastEpoch{&foreign}).Append(nil), nil); !errors.Is(err, ErrState) {
		t.Errorf("foreign signer: got %v, want ErrState", err)
	}
	b := past.Append(nil)
	for i := range b {
		if _, err := ParsePastEpoch(b[:i], nil); !errors.Is(err, ErrState) {
			t.Fatalf("cut to %d: got %v, want ErrState", i, err)
		}
	}
	if _, err := ParsePastEpoch(append(slices.Clone(b), 0), nil); !errors.Is(err, ErrState) {
		t.Errorf("longer: got %v, want ErrState", err)
	}
	l := NewLineage()
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 0x81
		p, err := ParsePastEpoch(c, l)
		if err != nil {
			if !errors.Is(err, ErrState) {
				t.Fatalf("byte %d: got %v, want ErrState", i, err)
			}
			continue
		}
		p.Drop()
	}
	if len(l.entries) != 0 || len(l.live) != 0 {
		t.Error("states that were refused or dropped left counters behind")
	}
}
