package roster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// person is somebody with some devices, made from a number: the same each time.
type person struct {
	root    key.Sign
	devices []key.Sign
	man     *manifest.Manifest
}

func secret[R key.Role](t testing.TB, parts ...uint64) key.Secret[R] {
	t.Helper()
	var seed [32]byte
	for i, p := range parts {
		binary.BigEndian.PutUint64(seed[i*8:], p+1)
	}
	s, err := key.New[R](seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPerson(t testing.TB, n uint64, devices int) *person {
	t.Helper()
	p := &person{root: secret[key.SignRole](t, n, 1)}
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(time.Unix(1_800_000_000, 0))}
	for i := range uint64(devices) {
		sign := secret[key.SignRole](t, n, 2, i)
		p.devices = append(p.devices, sign)
		m.Devices = append(m.Devices, manifest.Device{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(secret[key.DHRole](t, n, 3, i)), XWing: [32]byte{byte(n), byte(i), 1}})
	}
	if err := manifest.Sign(p.root, m); err != nil {
		t.Fatal(err)
	}
	p.man = m
	return p
}

func (p *person) Root() key.SignPublic        { return key.SignPublicOf(p.root) }
func (p *person) Device(i int) key.SignPublic { return key.SignPublicOf(p.devices[i]) }
func (p *person) leaf(index uint32, i int) Leaf {
	d := p.Device(i)
	return Leaf{Index: index, Root: p.Root(), Device: d, Entry: Entry(d[:])}
}

// revoke returns the next manifest, in which a device is revoked.
func (p *person) revoke(t testing.TB, i int) []byte {
	t.Helper()
	m := *p.man
	m.Sequence, m.Previous, m.Devices = m.Sequence+1, p.man.Hash(), slices.Clone(p.man.Devices)
	m.Devices[i].Revoked = true
	if err := manifest.Sign(p.root, &m); err != nil {
		t.Fatal(err)
	}
	return m.Append(nil)
}

var origin = GroupID{7}

// town is a group: Ada (two devices) and Bob are admins, Cyd and Dan are not.
type town struct {
	ada, bob, cyd, dan, eve *person
	commit                  *Commit
	ids                     byte
}

// people are made once: keys are slow.
var people []*person

func newTown(t testing.TB) *town {
	if people == nil {
		for i, devices := range []int{2, 1, 1, 2, 1} {
			people = append(people, newPerson(t, uint64(i+1), devices))
		}
	}
	w := &town{ada: people[0], bob: people[1], cyd: people[2], dan: people[3], eve: people[4]}
	w.commit = &Commit{
		Origin: origin,
		State: &State{Name: "town", Home: Home{Name: "relay.example", Pin: [32]byte{1}, Receipt: key.SignPublic{2}}, Class: 1, Born: 20_000,
			Admins: []key.SignPublic{w.ada.Root(), w.bob.Root()}},
		Leaves: []Leaf{w.ada.leaf(0, 0), w.ada.leaf(1, 1), w.bob.leaf(2, 0), w.cyd.leaf(3, 0), w.dan.leaf(5, 0), w.dan.leaf(6, 1)},
		Maker:  w.bob.leaf(2, 0),
		Slot:   Past{ID: [32]byte{3}, Hash: [32]byte{4}},
		Born:   20_001,
	}
	return w
}

// wish makes a signed wish.
func (w *town) wish(by *person, device int, v Wish) *Wish {
	w.ids++
	v.Group = origin
	if v.ID == (WishID{}) {
		v.ID = WishID{w.ids}
	}
	v.By = by.Device(device)
	if v.Bind(w.commit.State, w.commit.Leaves) != nil && v.Kind != Add && v.Kind < Rename {
		v.Of = []Entry{{1}} // of nobody who is there
	}
	v.Sign(by.devices[device])
	return &v
}

func TestRights(t *testing.T) {
	link := &Link{ID: [16]byte{1}, Hash: [32]byte{2}, By: newTown(t).bob.Root(), Ends: 20_010}
	type row struct {
		name string
		by   func(*town) *person
		wish func(*testing.T, *town) Wish
		want error
	}
	ada, bob := func(w *town) *person { return w.ada }, func(w *town) *person { return w.bob }
	cyd, dan := func(w *town) *person { return w.cyd }, func(w *town) *person { return w.dan }
	eve := func(w *town) *person { return w.eve }
	about := func(k WishKind, p func(*town) *person) func(*testing.T, *town) Wish {
		return func(_ *testing.T, w *town) Wish { return Wish{Kind: k, Root: p(w).Root()} }
	}
	add := func(p func(*town) *person, i int) func(*testing.T, *town) Wish {
		return func(_ *testing.T, w *town) Wish {
			return Wish{Kind: Add, Root: p(w).Root(), Device: p(w).Device(i), Package: []byte{1}}
		}
	}
	again := func(p func(*town) *person, i int) func(*testing.T, *town) Wish {
		return func(_ *testing.T, w *town) Wish {
			return Wish{Kind: ReAdd, Root: p(w).Root(), Device: p(w).Device(i), Package: []byte{1}}
		}
	}
	for _, r := range []row{
		{"an admin removes a member", bob, about(Remove, cyd), nil},
		{"an admin removes an absent person", bob, about(Remove, eve), ErrDone},
		{"a junior admin removes a senior one", bob, about(Remove, ada), ErrRight},
		{"an admin removes themselves", ada, about(Remove, ada), ErrRight},
		{"a member removes a member", cyd, about(Remove, dan), ErrRight},
		{"a stranger removes a member", eve, about(Remove, dan), ErrRight},
		{"a member leaves", cyd, about(Leave, cyd), nil},
		{"somebody else says that a member leaves", dan, about(Leave, cyd), ErrRight},
		{"a member leaves with one device", dan, func(_ *testing.T, w *town) Wish {
			return Wish{Kind: Leave, Root: w.dan.Root(), Device: w.dan.Device(1)}
		}, nil},
		{"who commits leaves", bob, about(Leave, bob), ErrSelf},
		{"an admin adds", bob, add(eve, 0), nil},
		{"a member adds a stranger", cyd, add(eve, 0), ErrRight},
		{"somebody is added who is there", bob, add(cyd, 0), ErrDone},
		{"a member adds again what is there", dan, again(dan, 0), nil},
		{"a member adds another's device again", cyd, again(dan, 0), ErrRight},
		{"an admin adds again a device of another person", bob, func(_ *testing.T, w *town) Wish {
			return Wish{Kind: ReAdd, Root: w.cyd.Root(), Device: w.dan.Device(0), Package: []byte{1}}
		}, ErrNobody},
		{"an admin adds a stranger again", bob, again(eve, 0), ErrNobody},
		{"who commits is added again", ada, again(bob, 0), ErrSelf},
		{"an admin promotes", bob, about(Promote, cyd), nil},
		{"a member promotes", cyd, about(Promote, cyd), ErrRight},
		{"an admin promotes a stranger", bob, about(Promote, eve), ErrNobody},
		{"an admin promotes an admin", bob, about(Promote, ada), ErrDone},
		{"a senior admin demotes", ada, about(Demote, bob), nil},
		{"a junior admin demotes a senior one", bob, about(Demote, ada), ErrRight},
		{"an admin demotes themselves", bob, about(Demote, bob), nil},
		{"an admin demotes a member", ada, about(Demote, cyd), ErrDone},
		{"a member demotes themselves", cyd, about(Demote, cyd), ErrRight},
		{"an admin renames", bob, func(*testing.T, *town) Wish { return Wish{Kind: Rename, Text: "village"} }, nil},
		{"an admin renames to the same", bob, func(*testing.T, *town) Wish { return Wish{Kind: Rename, Text: "town"} }, ErrDone},
		{"a member renames", dan, func(*testing.T, *town) Wish { return Wish{Kind: Rename, Text: "village"} }, ErrRight},
		{"an admin sets a timer", ada, func(*testing.T, *town) Wish { return Wish{Kind: SetTimer, Number: 60} }, nil},
		{"a member sets a timer", cyd, func(*testing.T, *town) Wish { return Wish{Kind: SetTimer, Number: 60} }, ErrRight},
		{"an admin opens a link", bob, func(*testing.T, *town) Wish { return Wish{Kind: OpenLink, Link: link} }, nil},
		{"an admin opens a link as another's", ada, func(*testing.T, *town) Wish { return Wish{Kind: OpenLink, Link: link} }, ErrRight},
		{"an admin opens a link that is over", bob, func(_ *testing.T, w *town) Wish {
			return Wish{Kind: OpenLink, Link: &Link{By: w.bob.Root(), Ends: 20_000}}
		}, ErrDone},
		{"an admin closes no link", bob, func(*testing.T, *town) Wish { return Wish{Kind: CloseLink, Link: link} }, ErrDone},
		{"anybody shows a revocation", cyd, func(t *testing.T, w *town) Wish {
			return Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.revoke(t, 1)}
		}, nil},
		{"a manifest without the revocation", cyd, func(t *testing.T, w *town) Wish {
			return Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.man.Append(nil)}
		}, ErrEvidence},
		{"another person's manifest", cyd, func(t *testing.T, w *town) Wish {
			return Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.cyd.revoke(t, 0)}
		}, ErrEvidence},
		{"a manifest of one's own that names another's device", cyd, func(t *testing.T, w *town) Wish {
			m := &manifest.Manifest{Sequence: 1, NotAfter: w.cyd.man.NotAfter, Devices: slices.Clone(w.dan.man.Devices)}
			m.Devices[1].Revoked = true
			if err := signManifest(w.cyd, m); err != nil {
				t.Fatal(err)
			}
			return Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: m.Append(nil)}
		}, ErrEvidence},
		{"a manifest that somebody else signed", cyd, func(t *testing.T, w *town) Wish {
			forged := bytes.Clone(w.dan.revoke(t, 1))
			forged[len(forged)-1] ^= 1
			return Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: forged}
		}, ErrEvidence},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := newTown(t)
			wish := w.wish(r.by(w), 0, r.wish(t, w))
			if b, err := wish.Append(nil); err != nil {
				t.Fatalf("the wish itself is malformed: %v", err)
			} else if _, err := ParseWish(b); err != nil {
				t.Fatalf("the wish is not read back: %v", err)
			}
			w.commit.Wishes = []*Wish{wish}
			_, err := Apply(w.commit)
			if !errors.Is(err, r.want) || (err == nil) != (r.want == nil) {
				t.Errorf("got %v, want %v", err, r.want)
			}
			if err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%v is no refusal", err)
			}
			good, bad := Select(w.commit, w.commit.Wishes)
			if (len(good) == 1) != (r.want == nil) || bad[wish.Key()] != r.want {
				t.Errorf("selected %d, %v; want %v", len(good), bad, r.want)
			}
		})
	}
}

func TestWhoMayCommit(t *testing.T) {
	rename := Wish{Kind: Rename, Text: "x"}
	for name, r := range map[string]struct {
		change func(*testing.T, *town)
		want   error
	}{
		"an admin":                     {func(_ *testing.T, w *town) { w.commit.Wishes = []*Wish{w.wish(w.ada, 0, rename)} }, nil},
		"an admin, nothing but a path": {func(*testing.T, *town) {}, nil},
		"a member, nothing but a path": {func(_ *testing.T, w *town) { w.commit.Maker = w.cyd.leaf(3, 0) }, nil},
		"a member, an admin's wish": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.cyd.leaf(3, 0)
			w.commit.Wishes = []*Wish{w.wish(w.ada, 0, rename)}
		}, ErrMaker},
		"a member, somebody's leave": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.cyd.leaf(3, 0)
			w.commit.Wishes = []*Wish{w.wish(w.dan, 0, Wish{Kind: Leave, Root: w.dan.Root()})}
		}, nil},
		"a member, a revocation": {func(t *testing.T, w *town) {
			w.commit.Maker = w.cyd.leaf(3, 0)
			w.commit.Wishes = []*Wish{w.wish(w.dan, 0, Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.revoke(t, 1)})}
		}, nil},
		"a member who did so lately": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.cyd.leaf(3, 0)
			w.commit.State.Makers = []key.SignPublic{w.cyd.Device(0)}
		}, ErrMaker},
		"a member who did so lately, somebody's leave": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.cyd.leaf(3, 0)
			w.commit.State.Makers = []key.SignPublic{w.cyd.Device(0)}
			w.commit.Wishes = []*Wish{w.wish(w.dan, 0, Wish{Kind: Leave, Root: w.dan.Root()})}
		}, nil},
		"two wishes of one id": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.ada.leaf(0, 0)
			w.commit.Wishes = []*Wish{w.wish(w.cyd, 0, Wish{ID: WishID{9}, Kind: Leave, Root: w.cyd.Root()}), w.wish(w.dan, 0, Wish{ID: WishID{9}, Kind: Leave, Root: w.dan.Root()})}
			Sort(w.commit.Wishes)
		}, nil},
		"an admin who did so lately": {func(_ *testing.T, w *town) { w.commit.State.Makers = []key.SignPublic{w.bob.Device(0)} }, nil},
		"a stranger":                 {func(_ *testing.T, w *town) { w.commit.Maker = w.eve.leaf(9, 0) }, ErrNobody},
		"a member at another's leaf": {func(_ *testing.T, w *town) { w.commit.Maker = w.cyd.leaf(2, 0) }, ErrNobody},
		"not the one committer":      {func(_ *testing.T, w *town) { d := w.ada.Device(0); w.commit.State.Sole = &d }, ErrMaker},
		"the one committer":          {func(_ *testing.T, w *town) { d := w.bob.Device(0); w.commit.State.Sole = &d }, nil},
		"a slot that is listed":      {func(_ *testing.T, w *town) { w.commit.State.Past = []Past{w.commit.Slot} }, ErrOrder},
		"wishes not in their order": {func(_ *testing.T, w *town) {
			w.commit.Wishes = []*Wish{w.wish(w.ada, 0, rename), w.wish(w.cyd, 0, Wish{Kind: Leave, Root: w.cyd.Root()})}
		}, ErrOrder},
		"a wish twice": {func(_ *testing.T, w *town) {
			v := w.wish(w.cyd, 0, Wish{Kind: Leave, Root: w.cyd.Root()})
			w.commit.Wishes = []*Wish{v, v}
		}, ErrOrder},
		"a wish of another group": {func(_ *testing.T, w *town) {
			w.commit.Origin = GroupID{8}
			w.commit.Wishes = []*Wish{w.wish(w.ada, 0, rename)}
		}, ErrForeign},
		"too many wishes": {func(_ *testing.T, w *town) { w.commit.Wishes = make([]*Wish, MaxWishes+1) }, ErrBounds},
		"a wish by who is removed in it": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.ada.leaf(0, 0)
			w.commit.Wishes = []*Wish{w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.bob.Root()}), w.wish(w.bob, 0, Wish{Kind: Rename, Text: "y"})}
		}, ErrRight},
		"a wish by who is demoted in it": {func(_ *testing.T, w *town) {
			w.commit.Maker = w.ada.leaf(0, 0)
			w.commit.Wishes = []*Wish{w.wish(w.ada, 0, Wish{Kind: Demote, Root: w.bob.Root()}), w.wish(w.bob, 0, Wish{Kind: Rename, Text: "y"})}
		}, ErrRight},
		"the last admin demotes themself": {func(_ *testing.T, w *town) {
			w.commit.State.Admins = w.commit.State.Admins[1:]
			w.commit.Wishes = []*Wish{w.wish(w.bob, 0, Wish{Kind: Demote, Root: w.bob.Root()})}
		}, ErrLast},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t)
			r.change(t, w)
			if _, err := Apply(w.commit); !errors.Is(err, r.want) || (err == nil) != (r.want == nil) {
				t.Errorf("got %v, want %v", err, r.want)
			}
		})
	}
}

// TestNobodyIsRemovedAndAddedInOneCommit: who is added again by a wish to add
// would take their removal back.
func TestNobodyIsRemovedAndAddedInOneCommit(t *testing.T) {
	w := newTown(t)
	w.commit.Wishes = []*Wish{w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.cyd.Root()}),
		w.wish(w.bob, 0, Wish{Kind: Add, Root: w.cyd.Root(), Device: w.cyd.Device(0), Package: []byte{1}})}
	if _, err := Apply(w.commit); err != ErrRight {
		t.Errorf("got %v", err)
	}
}

func TestSuccession(t *testing.T) {
	w := newTown(t)
	w.commit.Maker = w.dan.leaf(6, 1)
	w.commit.Wishes = []*Wish{w.wish(w.ada, 0, Wish{Kind: Leave, Root: w.ada.Root()}), w.wish(w.bob, 0, Wish{Kind: Leave, Root: w.bob.Root()})}
	p, err := Apply(w.commit)
	if err != nil {
		t.Fatal(err)
	}
	if want := []key.SignPublic{w.cyd.Root()}; !slices.Equal(p.State.Admins, want) {
		t.Errorf("got %x, want the person whose leaf stands most to the left, %x", p.State.Admins, want)
	}
	if want := []uint32{0, 1, 2}; !slices.Equal(p.Remove, want) {
		t.Errorf("got %d, want %d", p.Remove, want)
	}
}

func TestWhatACommitDoes(t *testing.T) {
	w := newTown(t)
	again := w.wish(w.ada, 0, Wish{Kind: ReAdd, Root: w.dan.Root(), Device: w.dan.Device(0), Package: []byte("dan")})
	add := w.wish(w.bob, 0, Wish{Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: []byte("eve")})
	w.commit.Wishes = []*Wish{w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.cyd.Root()}), add, again, w.wish(w.ada, 1, Wish{Kind: Promote, Root: w.dan.Root()})}
	before := w.commit.State.Clone()
	p, err := Apply(w.commit)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(w.commit.State, before) {
		t.Error("the state before was changed")
	}
	if want := []uint32{3, 5}; !slices.Equal(p.Remove, want) || !slices.Equal(p.Again, []uint32{5}) {
		t.Errorf("removes %d, again %d; want %d, 5", p.Remove, p.Again, want)
	}
	if !slices.Equal(p.Add, []*Wish{add, again}) {
		t.Errorf("adds %v", p.Add)
	}
	s := p.State
	if want := []key.SignPublic{w.ada.Root(), w.bob.Root(), w.dan.Root()}; !slices.Equal(s.Admins, want) {
		t.Errorf("admins %x, want %x", s.Admins, want)
	}
	if !slices.Equal(s.Past, []Past{w.commit.Slot}) || !slices.Equal(s.Makers, []key.SignPublic{w.bob.Device(0)}) || s.Born != 20_001 {
		t.Errorf("got %v, %x, %d", s.Past, s.Makers, s.Born)
	}
}

// TestListsAreBounded: past slots and makers roll, and the day never falls.
func TestListsAreBounded(t *testing.T) {
	w := newTown(t)
	for i := range 100 {
		w.commit.Slot = Past{ID: [32]byte{9, byte(i)}, Hash: [32]byte{1}}
		w.commit.Born = uint32(20_050 - i)
		w.commit.Maker = []Leaf{w.ada.leaf(0, 0), w.bob.leaf(2, 0)}[i%2]
		p, err := Apply(w.commit)
		if err != nil {
			t.Fatal(err)
		}
		if p.State.Born != max(w.commit.State.Born, w.commit.Born) {
			t.Fatalf("born %d after %d", p.State.Born, w.commit.State.Born)
		}
		w.commit.State = p.State
	}
	if s := w.commit.State; len(s.Past) != MaxPast || s.Past[MaxPast-1].ID != [32]byte{9, 99} || len(s.Makers) != Between {
		t.Errorf("%d slots, the last %x, %d makers", len(s.Past), s.Past[len(s.Past)-1].ID[:2], len(s.Makers))
	}
}

// TestWhatIsSelectedIsTaken: of any heap of wishes Select keeps what Apply takes,
// and Apply never leaves a group without an admin, lets somebody act against a
// more senior one, or adds who is removed.
func TestWhatIsSelectedIsTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []WishKind{Add, Remove, Revoked, Leave, ReAdd, Promote, Demote, Rename}
	took := map[WishKind]int{}
	for range 1000 {
		w := newTown(t)
		everybody := []*person{w.ada, w.bob, w.cyd, w.dan, w.eve}
		w.commit.Maker = w.commit.Leaves[r.IntN(len(w.commit.Leaves))]
		var heap []*Wish
		for range 1 + r.IntN(12) {
			by, on := everybody[r.IntN(5)], everybody[r.IntN(5)]
			d := r.IntN(len(on.devices))
			v := Wish{Kind: kinds[r.IntN(len(kinds))], Root: on.Root()}
			switch v.Kind {
			case Add, ReAdd:
				v.Device, v.Package = on.Device(d), []byte{1}
			case Revoked:
				v.Device, v.Proof = on.Device(d), on.revoke(t, d)
			case Remove, Leave:
				if r.IntN(2) == 0 {
					v.Device = on.Device(d)
				}
			case Rename:
				v.Root, v.Text = key.SignPublic{}, string(rune('a'+r.IntN(26)))
			}
			heap = append(heap, w.wish(by, r.IntN(len(by.devices)), v))
		}
		good, bad := Select(w.commit, heap)
		if len(good)+len(bad) != len(heap) {
			t.Fatalf("%d of %d are taken and %d refused", len(good), len(heap), len(bad))
		}
		w.commit.Wishes = good
		p, err := Apply(w.commit)
		if err != nil {
			t.Fatalf("what was selected is refused: %v", err)
		}
		for _, v := range good {
			took[v.Kind]++
		}
		if len(p.State.Admins) == 0 {
			t.Fatal("a group without an admin")
		}
		if slices.Contains(p.Remove, w.commit.Maker.Index) {
			t.Fatal("who commits was removed")
		}
		for _, l := range w.commit.Leaves {
			if slices.Contains(p.Remove, l.Index) && l.Root == w.ada.Root() && !slices.ContainsFunc(good, func(v *Wish) bool {
				return v.Root == l.Root && (v.Kind == Leave || v.Kind == Revoked || v.Kind == ReAdd)
			}) {
				t.Fatal("the most senior was removed by somebody")
			}
		}
	}
	for _, k := range kinds {
		if took[k] == 0 {
			t.Errorf("no wish of kind %d was ever taken: the test proves little", k)
		}
	}
}

func signManifest(p *person, m *manifest.Manifest) error { return manifest.Sign(p.root, m) }
