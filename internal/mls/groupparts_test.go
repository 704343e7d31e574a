package mls

import (
	"errors"
	"testing"
)

// TestStoredParts stores the two parts of a group on their own: a message changes the
// secret one alone, and parts that are not of one group and epoch are refused.
func TestStoredParts(t *testing.T) {
	w, members := family(t, SuiteX25519AES128, 3)
	g := members[0].g
	public, secret := g.AppendPublic(nil), g.AppendSecret(nil)
	w.hear(members[0], w.seal(members[1], members[1].g))
	same(t, "the public part after a message", g.AppendPublic(nil), public)
	if equal(g.AppendSecret(nil), secret) {
		t.Fatal("a message changed nothing")
	}
	secret = g.AppendSecret(nil)
	back, err := ParseGroupParts(public, secret, nil)
	w.must(err)
	same(t, "both parts", back.Append(nil), g.Append(nil))
	back.Drop()

	others := [][]byte{members[1].g.AppendSecret(nil)}
	w.commit(members[1], CommitParams{ForcePath: true})
	others = append(others, g.AppendSecret(nil))
	_, strangers := family(t, SuiteX25519AES128, 3)
	others = append(others, strangers[0].g.AppendSecret(nil), nil)
	for i, other := range others {
		if _, err := ParseGroupParts(public, other, nil); !errors.Is(err, ErrState) {
			t.Errorf("other secret %d: got %v, want %v", i, err, ErrState)
		}
	}
}
