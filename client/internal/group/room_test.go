package group

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
)

// largeLeaf is a leaf whose manifest names as many devices as one can.
func largeLeaf(t *testing.T, n uint64) LeafParams {
	t.Helper()
	seed := func(b byte) []byte {
		return binary.BigEndian.AppendUint64(bytes.Repeat([]byte{b}, 24), n)
	}
	root, err := key.New[key.SignRole](seed(1))
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(time.Unix(1_800_000_000, 0))}
	var device key.Sign
	for i := range byte(manifest.MaxDevices) {
		k, err := key.New[key.SignRole](seed(10 + i))
		if err != nil {
			t.Fatal(err)
		}
		dh, err := key.New[key.DHRole](seed(30 + i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			device = k
		}
		m.Devices = append(m.Devices, manifest.Device{Sign: key.SignPublicOf(k), DH: key.DHPublicOf(dh), XWing: [32]byte(seed(50 + i))})
	}
	if err := manifest.Sign(root, m); err != nil {
		t.Fatal(err)
	}
	_, public, err := newOwner(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return LeafParams{Device: device, Manifest: m.Append(nil), Route: &roster.Route{Public: public, Period: 1800,
		Relay: string(bytes.Repeat([]byte{'r'}, roster.MaxRelay))}}
}

// stateOfSize is a state with all that members without rights add to it, and with all
// that there can be.
func stateOfSize(t *testing.T, admins int, largest bool) []byte {
	s := &roster.State{Name: string(bytes.Repeat([]byte{'n'}, roster.MaxName)), Class: 2, Born: 1 << 30, Timer: 1 << 30,
		Home: roster.Home{Name: string(bytes.Repeat([]byte{'h'}, roster.MaxRelay)), Pin: [32]byte{1}, Receipt: key.SignPublic{1}}}
	for i := range roster.MaxPast {
		s.Past = append(s.Past, roster.Past{ID: [32]byte{1, byte(i)}, Hash: [32]byte{2}})
	}
	for i := range roster.Between {
		s.Makers = append(s.Makers, key.SignPublic{3, byte(i)})
	}
	for i := range min(admins, roster.MaxAdmins) {
		s.Admins = append(s.Admins, key.SignPublic{4, byte(i)})
	}
	s.Origin = make([]byte, 1536)
	if largest {
		s.Origin, s.Picture = make([]byte, roster.MaxOrigin), make([]byte, roster.MaxPicture)
		for i := range roster.MaxLinks {
			s.Links = append(s.Links, roster.Link{ID: [16]byte{byte(i)}, Hash: [32]byte{1}, By: key.SignPublic{1}, Ends: 1 << 30})
		}
	}
	b, err := s.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCommitsFitIntoTheirSlots: in a group as large as its slots allow, in whose tree no
// parent has a key, a member's own path fits with the largest state, and one more device
// with a usual one.
func TestCommitsFitIntoTheirSlots(t *testing.T) {
	for what, c := range map[string]struct {
		suite Suite
		class byte
	}{"hybrid, 64 KiB": {SuiteHybrid, 2}, "classic, 64 KiB": {SuiteClassic, 2}} {
		if c.suite == SuiteClassic && os.Getenv("TACET_LONG") == "" {
			continue // 488 people with eight devices each take seconds to make
		}
		n := mostLeaves(c.class, c.suite)
		v := Env{Now: time.Unix(1_800_000_000, 0), Rand: rand.Reader}
		usual := stateOfSize(t, n/8, false)
		g, err := MLS{}.Create(v, CreateParams{ID: ID{1}, Suite: c.suite, Leaf: largeLeaf(t, 0), State: usual})
		if err != nil {
			t.Fatal(err)
		}
		p := StageParams{State: usual}
		var mine, secrets []byte
		for i := range n - 2 {
			pub, sec, err := MLS{}.Package(v, c.suite, largeLeaf(t, uint64(i+1)))
			if err != nil {
				t.Fatal(err)
			}
			if p.Add = append(p.Add, pub); i == 0 {
				mine, secrets = pub, sec
			}
		}
		st, err := g.Stage(v, p)
		if err != nil {
			t.Fatal(err)
		}
		// Who stands next to the only one that made a path: on the way of neither there is
		// a key for others.
		h, err := MLS{}.Join(v, st.Welcome, st.Tree, mine, secrets)
		if err != nil {
			t.Fatal(err)
		}
		last, _, err := MLS{}.Package(v, c.suite, largeLeaf(t, uint64(n)))
		if err != nil {
			t.Fatal(err)
		}
		carried, err := roster.Carry([]*roster.Wish{{Kind: roster.Add, Root: key.SignPublic{1}, Device: key.SignPublic{1}, Package: last}})
		if err != nil {
			t.Fatal(err)
		}
		path, add := StageParams{State: stateOfSize(t, n, true)}, StageParams{State: usual, Add: [][]byte{last}, Carried: carried}
		for kind, p := range map[string]StageParams{"own path": path, "add": add} {
			l := largeLeaf(t, 1)
			p.Leaf = &l
			st, err := h.Stage(v, p)
			if err != nil {
				t.Fatal(err)
			}
			b, err := enc.Marshal(&slotContent{Commit: st.Commit, Welcome: st.Welcome})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %d leaves: %s takes %d of %d bytes", what, n, kind, len(b), slot.Room(c.class))
			if len(b) > slot.Room(c.class) {
				t.Errorf("%s, %d leaves: %s takes %d bytes, more than %d", what, n, kind, len(b), slot.Room(c.class))
			}
		}
	}
	if classFor(8, SuiteHybrid) != 2 || classFor(10, SuiteHybrid) != 3 || classFor(8, SuiteClassic) != 2 || classFor(1000, SuiteClassic) != 3 {
		t.Error("a class is chosen that has no room for three times the size, or one too large")
	}
}
