package addr

import (
	"bytes"
	"errors"
	"testing"

	"filippo.io/edwards25519"
)

func TestTwoOwnersAgree(t *testing.T) {
	a, pa := route(t, "one")
	b, pb := route(t, "another")
	c, _ := route(t, "a third")
	ab, err := Agree(a, pb.Public)
	if err != nil {
		t.Fatal(err)
	}
	ba, err := Agree(b, pa.Public)
	if err != nil {
		t.Fatal(err)
	}
	if !ab.Equal(ba) {
		t.Error("the two owners do not agree")
	}
	for _, p := range []Public{pa.Public, pb.Public} {
		got, err := Agree(c, p)
		if err != nil {
			t.Fatal(err)
		}
		if got.Equal(ab) {
			t.Error("a third owner has what the two have in common")
		}
	}
	if bytes.Equal(ab.Bytes(), pa.Public[:]) || bytes.Equal(ab.Bytes(), pb.Public[:]) {
		t.Error("what the two have in common is a public key")
	}
}

// Who puts a torsion component into a public key learns nothing of the other's half.
func TestAgreeTakesTorsionAway(t *testing.T) {
	o, _ := route(t, "one")
	_, other := route(t, "another")
	want, err := Agree(o, other.Public)
	if err != nil {
		t.Fatal(err)
	}
	q, err := new(edwards25519.Point).SetBytes(other.Public[:])
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range torsion(t) {
		got, err := Agree(o, Public(new(edwards25519.Point).Add(q, e).Bytes()))
		if err != nil || !got.Equal(want) {
			t.Errorf("torsion %d: got another outcome (%v)", i, err)
		}
		if _, err := Agree(o, Public(e.Bytes())); !errors.Is(err, ErrPublic) {
			t.Errorf("a key that is torsion alone: got %v, want ErrPublic", err)
		}
	}
	if _, err := Agree(o, Public{2}); !errors.Is(err, ErrPublic) {
		t.Errorf("no point: got %v, want ErrPublic", err)
	}
}
