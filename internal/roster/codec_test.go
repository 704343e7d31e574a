package roster

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

var update = flag.Bool("update", false, "write the known answers anew")

// full is a state with every field set.
func full(t testing.TB) *State {
	w := newTown(t)
	d := w.ada.Device(0)
	return &State{Name: "Jürgen & café 🙂", Picture: []byte{1, 2}, Timer: 3600, Home: Home{Name: "relay.example:8443", Pin: [32]byte{1}, Receipt: key.SignPublic{2}},
		Class: 2, Fanout: OneCopy, Born: 20_421, Admins: []key.SignPublic{w.ada.Root(), w.bob.Root()},
		Links: []Link{{ID: [16]byte{1}, Hash: [32]byte{2}, By: w.ada.Root(), Ends: 20_430}}, Past: []Past{{ID: [32]byte{3}, Hash: [32]byte{4}}},
		Makers: []key.SignPublic{d}, Origin: []byte{9}, Sole: &d, Turn: 9, Roles: Marks{Floor: 1, List: []Mark{{Whom: markOf(d), Turn: 3}}},
		Away: Marks{Floor: 2, List: []Mark{{Whom: markOf(d), Turn: 4}}}, Looks: []uint64{1, 2, 3, 4, 5}}
}

func everyWish(t testing.TB) map[string]*Wish {
	w := newTown(t)
	l := &Link{ID: [16]byte{1}, Hash: [32]byte{2}, By: w.ada.Root(), Ends: 20_430}
	return map[string]*Wish{
		"add":      w.wish(w.ada, 0, Wish{Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: []byte("package")}),
		"remove":   w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.cyd.Root()}),
		"revoked":  w.wish(w.cyd, 0, Wish{Kind: Revoked, Root: w.dan.Root(), Device: w.dan.Device(1), Proof: w.dan.revoke(t, 1)}),
		"leave":    w.wish(w.cyd, 0, Wish{Kind: Leave, Root: w.cyd.Root()}),
		"again":    w.wish(w.ada, 0, Wish{Kind: ReAdd, Root: w.dan.Root(), Device: w.dan.Device(0), Package: []byte("package")}),
		"promote":  w.wish(w.ada, 0, Wish{Kind: Promote, Root: w.cyd.Root()}),
		"demote":   w.wish(w.ada, 0, Wish{Kind: Demote, Root: w.bob.Root()}),
		"rename":   w.wish(w.ada, 0, Wish{Kind: Rename, Text: "village"}),
		"nameless": w.wish(w.ada, 0, Wish{Kind: Rename}),
		"picture":  w.wish(w.ada, 0, Wish{Kind: SetPicture, Bytes: []byte{1}}),
		"timer":    w.wish(w.ada, 0, Wish{Kind: SetTimer, Number: 60}),
		"fanout":   w.wish(w.ada, 0, Wish{Kind: SetFanout, Number: 2}),
		"link":     w.wish(w.ada, 0, Wish{Kind: OpenLink, Link: l}),
		"closed":   w.wish(w.ada, 0, Wish{Kind: CloseLink, Link: l}),
	}
}

func TestStatesReadBack(t *testing.T) {
	for name, s := range map[string]*State{"full": full(t), "small": newTown(t).commit.State} {
		b, err := s.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseState(b)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, s)
		}
		if c := s.Clone(); !reflect.DeepEqual(c, s) {
			// An empty slice and none are one state.
			if again, _ := c.Append(nil); !bytes.Equal(again, b) {
				t.Errorf("%s: the clone is another", name)
			}
		}
	}
}

func TestTheLargestStateFits(t *testing.T) {
	s := full(t)
	s.Name, s.Picture, s.Origin = strings.Repeat("n", MaxName), make([]byte, MaxPicture), make([]byte, MaxOrigin)
	s.Home.Name = strings.Repeat("h", MaxRelay)
	s.Admins, s.Links, s.Past, s.Makers = nil, nil, nil, nil
	s.Turn, s.Roles, s.Away, s.Looks = math.MaxUint64, Marks{Floor: 1 << 62}, Marks{Floor: 1 << 62}, []uint64{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62}
	for i := range uint64(MaxMarks) {
		s.Roles.set(key.SignPublic{byte(i)}, 1<<62+i)
		s.Away.set(key.SignPublic{byte(i)}, 1<<62+i)
	}
	for i := range MaxAdmins {
		s.Admins = append(s.Admins, key.SignPublic{byte(i)})
	}
	for i := range MaxLinks {
		s.Links = append(s.Links, Link{ID: [16]byte{byte(i)}, Ends: 1 << 31})
	}
	for i := range MaxPast {
		s.Past = append(s.Past, Past{ID: [32]byte{byte(i)}})
	}
	for i := range Between {
		s.Makers = append(s.Makers, key.SignPublic{byte(i)})
	}
	b, err := s.Append(nil)
	if err != nil {
		t.Fatalf("a state at all its bounds does not fit: %v", err)
	}
	t.Logf("the largest state has %d bytes, of %d", len(b), MaxState)
}

func TestHostileStatesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*State){
		"no admin": func(s *State) { s.Admins = nil }, "an admin twice": func(s *State) { s.Admins = append(s.Admins, s.Admins[0]) },
		"a link twice": func(s *State) { s.Links = append(s.Links, s.Links[0]) }, "a slot twice": func(s *State) { s.Past = append(s.Past, s.Past[0]) },
		"a long name": func(s *State) { s.Name = strings.Repeat("a", MaxName+1) }, "a line break in the name": func(s *State) { s.Name = "a\nb" },
		"a name that turns the line around": func(s *State) { s.Name = "a\u202eb" }, "a name that is no UTF-8": func(s *State) { s.Name = "\xff" },
		"no home": func(s *State) { s.Home.Name = "" }, "a long home": func(s *State) { s.Home.Name = strings.Repeat("h", MaxRelay+1) },
		"no such class": func(s *State) { s.Class = 4 }, "no such fan-out": func(s *State) { s.Fanout = 3 },
		"many admins": func(s *State) { s.Admins = make([]key.SignPublic, MaxAdmins+1) }, "a large picture": func(s *State) { s.Picture = make([]byte, MaxPicture+1) },
		"marks that fall":       func(s *State) { s.Roles.List = []Mark{{Whom: [8]byte{1}, Turn: 2}, {Whom: [8]byte{2}, Turn: 1}} },
		"somebody marked twice": func(s *State) { s.Away.List = append(s.Away.List, s.Away.List[0]) }, "three looks": func(s *State) { s.Looks = s.Looks[:3] },
		"many marks": func(s *State) {
			s.Roles.List = nil
			for i := range MaxMarks + 1 {
				s.Roles.List = append(s.Roles.List, Mark{Whom: [8]byte{byte(i)}})
			}
		},
		"many makers": func(s *State) { s.Makers = make([]key.SignPublic, Between+1) }, "a long origin": func(s *State) { s.Origin = make([]byte, MaxOrigin+1) },
	} {
		s := full(t)
		change(s)
		if b, err := s.Append(nil); err == nil || len(b) != 0 {
			t.Errorf("%s: written, %d bytes", name, len(b))
		}
		if b, err := enc.Marshal(s); err == nil {
			if _, err := ParseState(b); err != ErrState {
				t.Errorf("%s: read: %v", name, err)
			}
		}
	}
	b, _ := full(t).Append(nil)
	for name, b := range map[string][]byte{"nothing": nil, "cut": b[:len(b)-1], "more": append(bytes.Clone(b), 0), "a list": {0x80}, "an empty map": {0xa0},
		"another key": append([]byte{b[0] + 1}, append(bytes.Clone(b[1:]), 0x18, 0x63, 0x00)...)} {
		if _, err := ParseState(b); err != ErrState {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWishesReadBack(t *testing.T) {
	for name, w := range everyWish(t) {
		b, err := w.Append(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ParseWish(b)
		if err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, w)
		}
		// Every byte is signed, or refused.
		for i := range b {
			c := bytes.Clone(b)
			c[i] ^= 1
			if _, err := ParseWish(c); err != ErrWish {
				t.Fatalf("%s: byte %d changed: got %v", name, i, err)
			}
		}
	}
}

func TestWishesSayWhatTheirKindNeedsAndNoMore(t *testing.T) {
	w := newTown(t)
	for name, v := range map[string]Wish{
		"no kind": {}, "kind 14": {Kind: 14}, "nobody added": {Kind: Add, Package: []byte{1}}, "added without a package": {Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0)},
		"added without a device": {Kind: Add, Root: w.eve.Root(), Package: []byte{1}}, "a large package": {Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: make([]byte, MaxPackage+1)},
		"removed with a package": {Kind: Remove, Root: w.eve.Root(), Package: []byte{1}}, "nobody removed": {Kind: Remove}, "revoked without proof": {Kind: Revoked, Root: w.eve.Root(), Device: w.eve.Device(0)},
		"a device promoted": {Kind: Promote, Root: w.eve.Root(), Device: w.eve.Device(0)}, "renamed about somebody": {Kind: Rename, Root: w.eve.Root(), Text: "x"},
		"renamed to two lines": {Kind: Rename, Text: "a\nb"}, "a timer with a text": {Kind: SetTimer, Number: 1, Text: "x"}, "no such fan-out": {Kind: SetFanout, Number: 3},
		"removed of no membership": {Kind: Remove, Root: w.cyd.Root()}, "renamed of one": {Kind: Rename, Text: "x", Of: []Entry{{1}}},
		"memberships out of order": {Kind: Remove, Root: w.cyd.Root(), Of: []Entry{{2}, {1}}}, "one twice": {Kind: Remove, Root: w.cyd.Root(), Of: []Entry{{1}, {1}}},
		"two of one device": {Kind: Remove, Root: w.dan.Root(), Device: w.dan.Device(0), Of: []Entry{{1}, {2}}}, "too many": {Kind: Remove, Root: w.cyd.Root(), Of: make([]Entry, MaxOf+1)},
		"a link without a link": {Kind: OpenLink}, "left with a number": {Kind: Leave, Root: w.cyd.Root(), Number: 1},
	} {
		v.Group = origin
		v.Sign(w.ada.devices[0])
		if _, err := v.Append(nil); err != ErrWish {
			t.Errorf("%s: written: %v", name, err)
		}
		if b, err := enc.Marshal(&v); err != nil {
			t.Fatal(err)
		} else if _, err := ParseWish(b); err != ErrWish {
			t.Errorf("%s: read: %v", name, err)
		}
	}
}

func TestCarriedWishesReadBack(t *testing.T) {
	var all []*Wish
	for _, w := range everyWish(t) {
		all = append(all, w)
	}
	Sort(all)
	b, err := Carry(all)
	if err != nil {
		t.Fatal(err)
	}
	pkg := []byte("package")
	got, err := Carried(b, [][]byte{pkg, pkg})
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Fatalf("got %v, %v", got, err)
	}
	if len(all[0].Package)+len(all[1].Package) != 0 {
		t.Fatal("the test has its packages elsewhere")
	}
	for name, adds := range map[string][][]byte{"no package": nil, "one of two": {pkg}, "one too many": {pkg, pkg, pkg}, "another package": {pkg, []byte("other")}, "an empty one": {pkg, nil}} {
		if _, err := Carried(b, adds); err != ErrCarried {
			t.Errorf("%s: got %v", name, err)
		}
	}
	whole, err := enc.Marshal(all) // packages in the list
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"packages carried": whole, "nothing": nil, "no list": {0xa0}, "a list of nothing": {0x81, 0xf6}, "more": append(bytes.Clone(b), 0), "cut": b[:len(b)-1]} {
		if _, err := Carried(b, [][]byte{pkg, pkg}); err != ErrCarried {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if none, err := Carry(nil); err != nil {
		t.Error(err)
	} else if got, err := Carried(none, nil); err != nil || len(got) != 0 {
		t.Errorf("no wishes: got %v, %v", got, err)
	}
	if _, err := Carry(make([]*Wish, MaxWishes+1)); err != ErrCarried {
		t.Errorf("too many: %v", err)
	}
}

func FuzzCarried(f *testing.F) {
	all := everyWish(f)
	for _, name := range []string{"add", "leave", "link"} {
		b, _ := Carry([]*Wish{all[name]})
		f.Add(b, []byte("package"))
	}
	f.Fuzz(func(t *testing.T, b, pkg []byte) {
		var adds [][]byte
		if len(pkg) > 0 {
			adds = append(adds, pkg)
		}
		w, err := Carried(b, adds)
		if err != nil {
			return
		}
		if again, err := Carry(w); err != nil || !bytes.Equal(again, b) {
			t.Errorf("got %x, %v, want %x", again, err, b)
		}
	})
}

func TestCredentials(t *testing.T) {
	p, o := newPerson(t, 21, 2), newPerson(t, 22, 1)
	leaf := []byte("leaf key")
	good := NewCredential(p.devices[1], p.man, leaf, Membership{Entry{5}, 6, GroupID{7}})
	b := good.Append(nil)
	got, err := ParseCredential(b)
	if err != nil || got.Check(leaf) != nil || got.Root() != p.Root() || got.Device != p.Device(1) {
		t.Fatalf("got %+v, %v", got, err)
	}
	later := *p.man
	later.Sequence, later.Previous, later.Devices = 2, p.man.Hash(), append(later.Devices[:0:0], later.Devices...)
	later.Devices[1].Revoked = true
	if err := signManifest(p, &later); err != nil {
		t.Fatal(err)
	}
	forged := *p.man
	forged.Sig[0] ^= 1
	for name, c := range map[string]*Credential{
		"another leaf's key": NewCredential(p.devices[1], p.man, []byte("other key"), Membership{Entry{5}, 6, GroupID{7}}), "a device that is not in the manifest": NewCredential(o.devices[0], p.man, leaf, Membership{Entry{5}, 6, GroupID{7}}),
		"a device that is revoked": NewCredential(p.devices[1], &later, leaf, Membership{Entry{5}, 6, GroupID{7}}), "a manifest that the root did not sign": NewCredential(p.devices[1], &forged, leaf, Membership{Entry{5}, 6, GroupID{7}}),
		"another device's signature": {Device: p.Device(0), Sig: good.Sig, Manifest: p.man},
	} {
		if err := c.Check(leaf); err != ErrCredential {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for i := range len(b) {
		if _, err := ParseCredential(b[:i]); err != ErrCredential {
			t.Fatalf("cut to %d bytes: got %v", i, err)
		}
	}
	next := NewCredential(p.devices[0], &later, leaf, Membership{Entry{5}, 6, GroupID{7}})
	same := NewCredential(p.devices[0], p.man, leaf, Membership{Entry{5}, 6, GroupID{7}})
	if again := NewCredential(p.devices[0], p.man, leaf, Membership{Entry{5}, 7, GroupID{7}}); !same.Renews(again, GroupID{7}) || again.Renews(same, GroupID{7}) || same.Renews(same, GroupID{7}) || same.Renews(again, GroupID{8}) || again.Follows(same) || !same.Follows(again) {
		t.Error("who asks to be added again is taken wrongly")
	}
	if o := NewCredential(p.devices[0], p.man, leaf, Membership{Entry{6}, 7, GroupID{8}}); same.Renews(o, GroupID{7}) || same.Follows(o) {
		t.Error("another membership or group is taken for the same")
	}
	for name, change := range map[string]func(*Credential){"entry": func(c *Credential) { c.Entry[0] ^= 1 }, "times": func(c *Credential) { c.Times++ }, "group": func(c *Credential) { c.For[0] ^= 1 }} {
		c := *good
		if change(&c); c.Check(leaf) != ErrCredential {
			t.Errorf("another %s is taken", name)
		}
	}
	if !same.Follows(next) || next.Follows(same) || !same.Follows(same) || good.Follows(same) || same.Follows(NewCredential(o.devices[0], o.man, leaf, Membership{Entry{5}, 6, GroupID{7}})) {
		t.Error("who may follow whom is wrong")
	}
}

func TestRoutesReadBack(t *testing.T) {
	r := &Route{Public: [32]byte{1}, Pin: [32]byte{2}, Period: 1800, Relay: "relay.example"}
	b := r.Append(nil)
	if got, err := ParseRoute(b); err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for name, r := range map[string]*Route{"no relay": {Period: 1800}, "no period": {Relay: "a"}, "a long name": {Period: 1, Relay: strings.Repeat("a", MaxRelay+1)}, "a longer one": {Period: 1, Relay: strings.Repeat("a", 300)}, "no UTF-8": {Period: 1, Relay: "\xff"}} {
		if _, err := ParseRoute(r.Append(nil)); err != ErrRoute {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for i := range b {
		if _, err := ParseRoute(b[:i]); err != ErrRoute {
			t.Errorf("cut to %d bytes: got %v", i, err)
		}
	}
}

func TestEncodingIsFrozen(t *testing.T) {
	const file = "testdata/roster.json"
	got := map[string]string{}
	put := func(name string, b []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		got[name] = hex.EncodeToString(b)
	}
	b, err := full(t).Append(nil)
	put("state", b, err)
	for name, w := range everyWish(t) {
		w.ID = WishID{1}
		w.Sign(newTown(t).ada.devices[0])
		b, err := w.Append(nil)
		put("wish "+name, b, err)
	}
	p := newPerson(t, 1, 2)
	put("credential", NewCredential(p.devices[1], p.man, []byte("leaf key"), Membership{Entry{5}, 6, GroupID{7}}).Append(nil), nil)
	put("route", (&Route{Public: [32]byte{1}, Pin: [32]byte{2}, Period: 1800, Relay: "relay.example"}).Append(nil), nil)
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
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: got %s, want %s", name, got[name], want[name])
			}
		}
		t.Errorf("got %d answers, want %d", len(got), len(want))
	}
}

func FuzzState(f *testing.F) {
	b, _ := full(f).Append(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseState(b)
		if err != nil {
			return
		}
		if again, err := s.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Errorf("got %x, %v, want %x", again, err, b)
		}
	})
}

func FuzzWish(f *testing.F) {
	for _, w := range everyWish(f) {
		b, _ := w.Append(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ParseWish(b)
		if err != nil {
			return
		}
		if again, err := w.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Errorf("got %x, %v, want %x", again, err, b)
		}
	})
}

func FuzzLeaf(f *testing.F) {
	p := newPerson(f, 1, 2)
	f.Add(NewCredential(p.devices[1], p.man, nil, Membership{Entry{5}, 6, GroupID{7}}).Append(nil))
	f.Add((&Route{Public: [32]byte{1}, Period: 1800, Relay: "r"}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseCredential(b); err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Errorf("credential: got %x, want %x", c.Append(nil), b)
		}
		if r, err := ParseRoute(b); err == nil && !bytes.Equal(r.Append(nil), b) {
			t.Errorf("route: got %x, want %x", r.Append(nil), b)
		}
	})
}
