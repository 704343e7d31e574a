package roster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

func (w *town) statement(t testing.TB, by *person, device int, v Statement) *Statement {
	t.Helper()
	v.Old, v.Origin, v.Home, v.Reason = GroupID{8}, origin, Home{Name: "other.example", Pin: [32]byte{5}, Receipt: key.SignPublic{6}}, RelayGone
	if v.New == (GroupID{}) {
		v.New = GroupID{9, byte(v.Epoch)}
	}
	if v.Order == nil {
		v.Order = []key.SignPublic{w.ada.Root(), w.bob.Root()}
	}
	v.Mark, v.Stay = [8]byte{7}, ^uint64(0)>>(64-len(v.Order))
	if err := v.Sign(by.devices[device], by.man); err != nil {
		t.Fatal(err)
	}
	return &v
}

func receipt(t testing.TB, relay key.Sign, id, content byte) []byte {
	t.Helper()
	r := wire.Receipt{ID: wire.BlobID{id}, Hash: sha256.Sum256([]byte{content})}
	r.Sig = key.SignMessage(relay, wire.LabelReceipt, r.ID[:], r.Hash[:])
	return r.Append(nil)
}

// everything that is signed when something went wrong, by name.
func everyProof(t testing.TB) map[string][]byte {
	w := newTown(t)
	relay := secret[key.SignRole](t, 99)
	out := map[string][]byte{}
	put := func(name string, v interface{ Append([]byte) ([]byte, error) }) {
		b, err := v.Append(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b
	}
	roll := &Roll{Members: SortKeys([]key.SignPublic{w.bob.Device(0), w.ada.Device(0)}), Gone: []key.SignPublic{w.cyd.Root()}}
	put("roll", roll)
	put("statement", w.statement(t, w.ada, 0, Statement{Epoch: 3, Roll: roll.Hash()}))
	put("statement sole", w.statement(t, w.bob, 0, Statement{Epoch: 3, Sole: true}))
	for name, e := range map[string]*Evidence{
		"two":     {Kind: TwoHashes, Group: origin, Epoch: 2, First: receipt(t, relay, 1, 1), Second: receipt(t, relay, 1, 2)},
		"burnt":   {Kind: NoCommit, Group: origin, Epoch: 2, First: receipt(t, relay, 1, 1), Blob: []byte{1}},
		"at slot": {Kind: NoCommit, Group: origin, Epoch: 2, First: receipt(t, relay, 1, 1)},
		"silence": {Kind: NoAnswer, Group: origin, Epoch: 2},
	} {
		e.Sign(w.cyd.devices[0])
		put("evidence "+name, e)
	}
	a := &Answer{Group: origin, Ask: [16]byte{1}, Kind: IStop, Head: 4}
	a.Sign(w.cyd.devices[0])
	put("answer", a)
	wishes := everyWish(t)
	for _, k := range []string{"remove", "leave", "revoked", "demote"} {
		v := *wishes[k]
		v.ID = WishID{1}
		by := w.ada
		if k == "leave" || k == "revoked" {
			by = w.cyd
		}
		v.Sign(by.devices[0])
		b, _ := v.Append(nil)
		put("shown "+k, &Shown{Group: origin, Epoch: 3, Wish: b, Manifest: by.man.Append(nil)})
	}
	return out
}

// readers read each kind and write it again.
func readers(b []byte) map[string]func() ([]byte, error) {
	again := func(v interface{ Append([]byte) ([]byte, error) }, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return v.Append(nil)
	}
	return map[string]func() ([]byte, error){
		"statement": func() ([]byte, error) { return again(ParseStatement(b)) },
		"roll":      func() ([]byte, error) { return again(ParseRoll(b)) },
		"evidence":  func() ([]byte, error) { return again(ParseEvidence(b)) },
		"answer":    func() ([]byte, error) { return again(ParseAnswer(b)) },
		"shown":     func() ([]byte, error) { return again(ParseShown(b)) },
	}
}

func TestProofsAreFrozenAndReadBack(t *testing.T) {
	const file = "testdata/rift.json"
	got := map[string]string{}
	for name, b := range everyProof(t) {
		got[name] = hex.EncodeToString(b)
		kind, _, _ := bytes.Cut([]byte(name), []byte(" "))
		again, err := readers(b)[string(kind)]()
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: got %x, %v, want %x", name, again, err, b)
		}
		for i := range b {
			if _, err := readers(b[:i])[string(kind)](); err == nil {
				t.Errorf("%s: cut to %d bytes it is taken", name, i)
			}
		}
		if _, err := readers(append(b[:len(b):len(b)], 0))[string(kind)](); err == nil {
			t.Errorf("%s: a byte more is taken", name)
		}
		if string(kind) == "roll" {
			continue // it has no signature: its hash is in the statement
		}
		for range 20 {
			bad := bytes.Clone(b)
			bad[rand.IntN(len(bad))] ^= 1 << rand.IntN(8)
			if _, err := readers(bad)[string(kind)](); err == nil && string(kind) != "shown" {
				t.Errorf("%s: a changed bit is taken", name)
			}
		}
	}
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnlyAnAdminMakesAGroupAgain(t *testing.T) {
	w := newTown(t)
	s := w.statement(t, w.ada, 0, Statement{Epoch: 1})
	if s.Root() != w.ada.Root() || s.Rank() != 0 {
		t.Errorf("got %x at rank %d", s.Root(), s.Rank())
	}
	if err := s.Sign(w.cyd.devices[0], w.cyd.man); err != ErrStatement {
		t.Errorf("no admin: got %v", err)
	}
	// A device of Ada's under Bob's name.
	if err := s.Sign(w.ada.devices[0], w.bob.man); err != ErrStatement {
		t.Errorf("another's manifest: got %v", err)
	}
	s = w.statement(t, w.ada, 0, Statement{Epoch: 1})
	s.Order = append(s.Order, s.Order[0])
	s.Sig = key.SignMessage(w.ada.devices[0], labelStatement, s.signed())
	if _, err := s.Append(nil); err != ErrStatement {
		t.Errorf("an admin twice: got %v", err)
	}
}

func TestAStatementSaysWhoStays(t *testing.T) {
	w := newTown(t)
	s := w.statement(t, w.bob, 0, Statement{Epoch: 1})
	s.Stay = 2
	if s.Stays(w.ada.Root()) || !s.Stays(w.bob.Root()) || s.Stays(w.cyd.Root()) {
		t.Error("one of two stays, and nobody else")
	}
	for _, stay := range []uint64{1, 6} { // its author goes; somebody who is not there stays
		s.Stay = stay
		s.Sig = key.SignMessage(w.bob.devices[0], labelStatement, s.signed())
		if _, err := s.Append(nil); err != ErrStatement {
			t.Errorf("stay %b: got %v", stay, err)
		}
	}
}

func TestOneOrderFollowsAnother(t *testing.T) {
	a, b, c, d := key.SignPublic{1}, key.SignPublic{2}, key.SignPublic{3}, key.SignPublic{4}
	list := func(k ...key.SignPublic) []key.SignPublic { return k }
	for _, c := range []struct {
		name           string
		earlier, later []key.SignPublic
		want           bool
	}{
		{"the same", list(a, b), list(a, b), true},
		{"one gone", list(a, b, c), list(a, c), true},
		{"one more", list(a, b), list(a, b, c), true},
		{"one for another", list(a, b, c), list(a, c, d), true},
		{"turned", list(a, b), list(b, a), false},
		{"one more before", list(a, b), list(c, a, b), false},
	} {
		if got := Follows(c.earlier, c.later); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// The successor is the same whatever the order in which statements come, and
// whatever was known before: each subset's pick is one of a total order.
func TestThePickHangsOnTheStatementsAlone(t *testing.T) {
	w := newTown(t)
	var all []*Statement
	for i := range byte(12) {
		by, device := w.bob, 0
		if i%3 == 1 {
			by, device = w.ada, int(i/3)%2
		}
		v := Statement{Epoch: uint64(i), New: GroupID{9, i}}
		if i%4 == 3 { // who thinks that Ada is an admin no more
			by, device, v.Order = w.bob, 0, []key.SignPublic{w.bob.Root()}
		}
		all = append(all, w.statement(t, by, device, v))
	}
	best := Pick(all, (*Statement).Rank)
	if best.Rank() != 0 {
		t.Errorf("got rank %d", best.Rank())
	}
	for range 50 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := Pick(all, (*Statement).Rank); got != best {
			t.Fatalf("got %x, want %x", got.New, best.New)
		}
		// Halves that meet come to what the whole comes to.
		n := rand.IntN(len(all))
		var two []*Statement
		for _, half := range [][]*Statement{all[:n], all[n:]} {
			if p := Pick(half, (*Statement).Rank); p != nil {
				two = append(two, p)
			}
		}
		if got := Pick(two, (*Statement).Rank); got != best {
			t.Fatalf("of the picks of two halves: got %x, want %x", got.New, best.New)
		}
	}
	if Pick(nil, (*Statement).Rank) != nil {
		t.Error("of none one was picked")
	}
	junior, senior := w.statement(t, w.bob, 0, Statement{Epoch: 9}), w.statement(t, w.ada, 1, Statement{Epoch: 1})
	if Pick([]*Statement{junior, senior}, (*Statement).Rank) != senior {
		t.Error("the junior's goes first")
	}
	// Who knows the old order goes by that.
	mine := func(s *Statement) int { return 1 - s.Rank() }
	if Pick([]*Statement{junior, senior}, mine) != junior {
		t.Error("the rank is not the one that was asked for")
	}
}

func TestAnAuthorCannotRiseByMakingAGroupAgain(t *testing.T) {
	w := newTown(t)
	s := w.statement(t, w.bob, 0, Statement{Epoch: 1})
	of := func(admins ...key.SignPublic) *State {
		c := w.commit.State.Clone()
		c.Admins, c.Home = admins, s.Home
		return c
	}
	ada, bob, cyd := w.ada.Root(), w.bob.Root(), w.cyd.Root()
	for _, c := range []struct {
		name  string
		state *State
		want  bool
	}{
		{"the same", of(ada, bob), true},
		{"one less", of(bob), true},
		{"one more, later", of(ada, bob, cyd), true},
		{"turned", of(bob, ada), false},
		{"one more, before", of(cyd, ada, bob), false},
		{"one more, between", of(ada, cyd, bob), false},
		{"another home", w.commit.State, false},
	} {
		if got := s.Makes(c.state); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	d := w.bob.Device(0)
	sole := of(ada, bob)
	sole.Sole = &d
	if s.Makes(sole) {
		t.Error("a committer that the statement does not name")
	}
	s = w.statement(t, w.bob, 0, Statement{Epoch: 1, Sole: true})
	if !s.Makes(sole) {
		t.Error("the sole committer is refused")
	}
	d2 := w.ada.Device(0)
	sole.Sole = &d2
	if s.Makes(sole) {
		t.Error("another sole committer than the author")
	}
}

func TestEvidenceShowsWhatItSays(t *testing.T) {
	w := newTown(t)
	relay, other := secret[key.SignRole](t, 99), secret[key.SignRole](t, 98)
	pub := key.SignPublicOf(relay)
	for _, c := range []struct {
		name string
		e    Evidence
		want error
	}{
		{"two hashes", Evidence{Kind: TwoHashes, First: receipt(t, relay, 1, 1), Second: receipt(t, relay, 1, 2)}, nil},
		{"one hash twice", Evidence{Kind: TwoHashes, First: receipt(t, relay, 1, 1), Second: receipt(t, relay, 1, 1)}, ErrProof},
		{"two slots", Evidence{Kind: TwoHashes, First: receipt(t, relay, 1, 1), Second: receipt(t, relay, 2, 2)}, ErrProof},
		{"another relay", Evidence{Kind: TwoHashes, First: receipt(t, relay, 1, 1), Second: receipt(t, other, 1, 2)}, ErrProof},
		{"blob", Evidence{Kind: NoCommit, First: receipt(t, relay, 1, 7), Blob: []byte{7}}, nil},
		{"another blob", Evidence{Kind: NoCommit, First: receipt(t, relay, 1, 7), Blob: []byte{8}}, ErrProof},
		{"no blob", Evidence{Kind: NoCommit, First: receipt(t, relay, 1, 7)}, nil},
		{"forged", Evidence{Kind: NoCommit, First: receipt(t, other, 1, 7)}, ErrProof},
	} {
		c.e.Sign(w.cyd.devices[0])
		if _, _, err := c.e.Check(pub); err != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	e := &Evidence{Kind: NoAnswer, First: receipt(t, relay, 1, 1)}
	e.Sign(w.cyd.devices[0])
	if _, err := e.Append(nil); err != ErrProof {
		t.Errorf("silence with a receipt: got %v", err)
	}
}

func TestAShownRemovalCountsIfItsWisherWasSenior(t *testing.T) {
	w := newTown(t)
	ada, bob, cyd := w.ada.Root(), w.bob.Root(), w.cyd.Root()
	order := []key.SignPublic{ada, bob}
	show := func(by *person, v Wish) *Shown {
		b, err := w.wish(by, 0, v).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &Shown{Group: origin, Epoch: 1, Wish: b, Manifest: by.man.Append(nil)}
	}
	for _, c := range []struct {
		name         string
		s            *Shown
		root, device key.SignPublic
		want         bool
	}{
		{"a senior's", show(w.ada, Wish{Kind: Remove, Root: bob}), bob, w.bob.Device(0), true},
		{"a junior's", show(w.bob, Wish{Kind: Remove, Root: ada}), ada, w.ada.Device(0), false},
		{"no admin's", show(w.dan, Wish{Kind: Remove, Root: cyd}), cyd, w.cyd.Device(0), false},
		{"of somebody else", show(w.ada, Wish{Kind: Remove, Root: bob}), cyd, w.cyd.Device(0), false},
		{"of one device", show(w.ada, Wish{Kind: Remove, Root: w.dan.Root(), Device: w.dan.Device(0)}), w.dan.Root(), w.dan.Device(0), true},
		{"of another device", show(w.ada, Wish{Kind: Remove, Root: w.dan.Root(), Device: w.dan.Device(1)}), w.dan.Root(), w.dan.Device(0), false},
		{"left", show(w.bob, Wish{Kind: Leave, Root: bob}), bob, w.bob.Device(0), true},
		{"demoted", show(w.ada, Wish{Kind: Demote, Root: bob}), bob, w.bob.Device(0), true},
		{"demoted themselves", show(w.bob, Wish{Kind: Demote, Root: bob}), bob, w.bob.Device(0), true},
		{"revoked", show(w.cyd, Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.revoke(t, 1)}), w.dan.Root(), w.dan.Device(1), true},
	} {
		if got := c.s.Against(origin, order, c.root, c.device); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	s := show(w.ada, Wish{Kind: Remove, Root: bob})
	if s.Against(GroupID{8}, order, bob, w.bob.Device(0)) {
		t.Error("of another group")
	}
	s.Manifest = w.bob.man.Append(nil)
	if _, _, err := s.Read(); err != ErrProof {
		t.Errorf("under another's name: got %v", err)
	}
	if _, _, err := show(w.ada, Wish{Kind: Promote, Root: cyd}).Read(); err != ErrProof {
		t.Error("a promotion is no removal")
	}
}

func TestTheLargestRollAndStatementFit(t *testing.T) {
	w := newTown(t)
	r := &Roll{}
	for i := range MaxMembers {
		r.Members = append(r.Members, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	for i := range 128 {
		r.Gone = append(r.Gone, sha256.Sum256([]byte{byte(i), 9, 9}))
	}
	SortKeys(r.Members)
	SortKeys(r.Gone)
	if _, err := r.Append(nil); err != nil {
		t.Error(err)
	}
	r.Members[0], r.Members[1] = r.Members[1], r.Members[0]
	if _, err := r.Append(nil); err != ErrStatement {
		t.Errorf("out of order: got %v", err)
	}
	v := Statement{Epoch: 1 << 60, Order: []key.SignPublic{w.ada.Root()}}
	for len(v.Order) < MaxAdmins {
		v.Order = append(v.Order, key.SignPublic{byte(len(v.Order)), 1})
	}
	if b, err := w.statement(t, w.ada, 0, v).Append(nil); err != nil || len(b) > MaxStatement-600 {
		t.Errorf("got %d bytes, %v: no room for a manifest of eight devices", len(b), err)
	}
}

func FuzzProofs(f *testing.F) {
	for _, b := range everyProof(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, read := range readers(b) {
			if again, err := read(); err == nil && !bytes.Equal(again, b) {
				t.Errorf("%s: got %x, want %x", name, again, b)
			}
		}
		if l := (&Listed{Receipt: b}); len(b) < 1<<12 {
			if _, err := l.Read(key.SignPublic(make([]byte, ed25519.PublicKeySize))); err == nil {
				t.Error("a receipt under no key is taken")
			}
		}
	})
}

// TestAShownRemovalIsOfAMembership: of who came in anew it is none, nor by a wisher who
// did; a revocation is of every membership.
func TestAShownRemovalIsOfAMembership(t *testing.T) {
	w := newTown(t)
	show := func(by *person, v Wish) *Shown {
		b, err := w.wish(by, 0, v).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &Shown{Group: origin, Epoch: 1, Wish: b, Manifest: by.man.Append(nil)}
	}
	anew := func(p *person) []Leaf {
		out := append([]Leaf(nil), w.commit.Leaves...)
		for i := range out {
			if out[i].Root == p.Root() {
				out[i].Entry[0] ^= 1
			}
		}
		return out
	}
	remove := show(w.ada, Wish{Kind: Remove, Root: w.cyd.Root()})
	revoke := show(w.cyd, Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.revoke(t, 1)})
	for _, r := range []struct {
		what   string
		s      *Shown
		leaves []Leaf
		want   bool
	}{
		{"as they are", remove, w.commit.Leaves, true}, {"who came in anew", remove, anew(w.cyd), false}, {"by who did", remove, anew(w.ada), false},
		{"who is not there", remove, nil, false}, {"by who is not there", remove, w.commit.Leaves[3:4], true},
		{"revoked", revoke, w.commit.Leaves, true}, {"revoked, and came in anew", revoke, anew(w.dan), true},
	} {
		if got := r.s.Of(r.leaves); got != r.want {
			t.Errorf("%s: got %t", r.what, got)
		}
	}
}
