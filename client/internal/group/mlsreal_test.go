package group

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/mls"
	"github.com/tacet-chat/tacet/internal/roster"
)

// realLeaf is a person with one device, and what its leaf says.
func realLeaf(t *testing.T, n byte) LeafParams {
	t.Helper()
	seed := func(b byte) []byte { return bytes.Repeat([]byte{n, b}, 16) }
	root, err := key.New[key.SignRole](seed(1))
	if err != nil {
		t.Fatal(err)
	}
	device, err := key.New[key.SignRole](seed(2))
	if err != nil {
		t.Fatal(err)
	}
	dh, err := key.New[key.DHRole](seed(3))
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(time.Unix(1_800_000_000, 0)),
		Devices: []manifest.Device{{Sign: key.SignPublicOf(device), DH: key.DHPublicOf(dh), XWing: [32]byte{n}}}}
	if err := manifest.Sign(root, m); err != nil {
		t.Fatal(err)
	}
	return LeafParams{Device: device, Manifest: m.Append(nil), Route: &roster.Route{Public: [32]byte{n}, Period: 1800, Relay: "relay.example"}}
}

// TestProposalsAreRefusedUnopened: nothing in a group is proposed by MLS, and what is
// refused leaves no trace: a proposal that was processed would be pending, and stored.
func TestProposalsAreRefusedUnopened(t *testing.T) {
	v := Env{Now: time.Unix(1_800_000_000, 0), Rand: rand.Reader}
	state, err := (&roster.State{Home: roster.Home{Name: "relay.example"}, Admins: []key.SignPublic{{1}}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	ada, err := MLS{}.Create(v, CreateParams{ID: ID{1}, Suite: SuiteClassic, Leaf: realLeaf(t, 1), State: state})
	if err != nil {
		t.Fatal(err)
	}
	public, secrets, err := MLS{}.Package(v, SuiteClassic, realLeaf(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	st, err := ada.Stage(v, StageParams{State: state, Add: [][]byte{public}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Merge(st); err != nil {
		t.Fatal(err)
	}
	bob, err := MLS{}.Join(v, st.Welcome, st.Tree, public, secrets)
	if err != nil {
		t.Fatal(err)
	}
	before := bob.Append(nil)
	p, _, err := ada.(*realTree).g.Propose(env(v), mls.RemoveProposal(mls.LeafIndex(bob.Self())), mls.Framing{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Process(v, p.Append(nil)); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v, want %v", err, ErrForeign)
	}
	if !bytes.Equal(bob.Append(nil), before) {
		t.Error("a proposal that was refused changed what is stored")
	}
}
