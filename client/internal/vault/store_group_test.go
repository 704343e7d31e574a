package vault

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/group/grouptest"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// noise returns n bytes that follow from seed.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func largeEpoch(id group.ID, number uint64) *group.Epoch {
	return &group.Epoch{
		Group: id, Number: number, Secret: noise(7, 20_000), Route: noise(1, 32), Shared: noise(2, 32), Slot: noise(3, 32),
		Own: noise(4, 64), Mine: noise(5, 90), Born: 20_000, Left: 5,
		Basis: group.NewBasis(grouptest.Blob(noise(number, 300_000)), []roster.Leaf{{Index: 3, Device: key.SignPublic{1}}}, [][]byte{noise(5, 90)}, noise(4, 900)),
		End:   &group.Ending{Staged: &group.Commit{Stored: noise(6, 30_000), Blob: []byte("blob"), Own: noise(9, 64)}, Commit: noise(8, 16_384)},
	}
}

// sameEpoch reports whether two epochs say the same.
func sameEpoch(a, b *group.Epoch) bool {
	x, y := *a, *b
	x.Basis, x.End, y.Basis, y.End = nil, nil, nil, nil
	none := &group.Ending{}
	return reflect.DeepEqual(x, y) && a.Basis.Name() == b.Basis.Name() && cmp.Or(a.End, none).Name() == cmp.Or(b.End, none).Name()
}

func TestEpochComesBackAsItWasWritten(t *testing.T) {
	v, _ := newVault(t)
	id := group.ID{1}
	none := func() *group.Basis { return group.NewBasis(nil, nil, nil, nil) }
	want := map[uint64]*group.Epoch{1: largeEpoch(id, 1), 2: {Group: id, Number: 2, Secret: []byte("small"), Basis: none()}, 300: {Group: id, Number: 300, Basis: none()}}
	update(t, v, func(tx *Tx) error {
		for _, n := range []uint64{300, 1, 2} {
			if err := (Store{tx}).PutEpoch(want[n]); err != nil {
				return err
			}
		}
		return Store{tx}.PutEpoch(largeEpoch(group.ID{2}, 1))
	})
	for i, change := range []func(*group.Epoch){
		func(*group.Epoch) {},
		func(e *group.Epoch) { e.Secret[15_000] ^= 1 },
		func(e *group.Epoch) { e.Secret = append(e.Secret, noise(9, 30_000)...) },
		func(e *group.Epoch) {
			e.Secret, e.Basis = e.Secret[:10], group.NewBasis(grouptest.Blob(noise(1, 900_000)), e.Roster, e.Routes, e.State)
		},
		func(e *group.Epoch) { e.End = &group.Ending{Aside: noise(2, 600_000)} },
		func(e *group.Epoch) { e.Secret, e.Basis, e.End = nil, none(), nil },
		func(e *group.Epoch) { e.Secret = noise(10, 8192) },
	} {
		change(want[1])
		update(t, v, func(tx *Tx) error { return Store{tx}.PutEpoch(want[1]) })
		for _, cold := range []bool{false, true} {
			if cold {
				v.shelf.Clear()
			}
			err := v.View(t.Context(), func(tx *Tx) error {
				s := Store{tx}
				for n, w := range want {
					if got, err := s.Epoch(id, n); err != nil || !sameEpoch(got, w) {
						t.Errorf("change %d, epoch %d: got another one (%v)", i, n, err)
					}
				}
				all, err := s.Epochs(id)
				if err != nil || len(all) != 3 || all[0].Number != 1 || all[1].Number != 2 || all[2].Number != 300 {
					t.Fatalf("got %d epochs, %v, want 1, 2 and 300 in order", len(all), err)
				}
				w := *want[1]
				w.Secret, w.Basis, w.End = nil, nil, nil
				if !reflect.DeepEqual(all[0], &w) {
					t.Error("got an epoch of the list that is not the whole one without what is large")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		if err := s.DeleteEpoch(id, 1); err != nil {
			return err
		}
		if _, err := s.Epoch(id, 1); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("got %v after deleting, want ErrUnknown", err)
		}
		if err := s.DeleteEpoch(group.ID{2}, 1); err != nil {
			return err
		}
		if n, err := s.Count(EpochPart, Query{}); err != nil || n != 3 { // five bytes of epoch 2, and the bases of it and of 300
			t.Errorf("got %d pieces left, %v, want 3", n, err)
		}
		return nil
	})
}

// An own commit leads to the next epoch: it is in memory no longer than it is used.
func TestOwnCommitIsNotKeptInMemory(t *testing.T) {
	v, _ := newVault(t)
	e := largeEpoch(group.ID{1}, 1)
	read := func() (end *group.Ending) {
		err := v.View(t.Context(), func(tx *Tx) error {
			got, err := Store{tx}.Epoch(e.Group, e.Number)
			end = got.End
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	update(t, v, func(tx *Tx) error { return Store{tx}.PutEpoch(e) })
	if a, b := read(), read(); a == e.End || a == b {
		t.Error("an own commit was found in memory")
	}
	e.End = &group.Ending{Commit: noise(1, 100)}
	update(t, v, func(tx *Tx) error { return Store{tx}.PutEpoch(e) })
	if a, b := read(), read(); a != e.End || a != b {
		t.Error("what a message does not change is read again")
	}
}

// What a message changes of a large epoch is little, and no more is written.
func TestOnlyChangedPiecesOfAnEpochAreWritten(t *testing.T) {
	v, _ := newVault(t)
	e := largeEpoch(group.ID{1}, 1)
	e.Secret = noise(1, 50_000)
	update(t, v, func(tx *Tx) error { return Store{tx}.PutEpoch(e) })
	written := func(since uint64) (n int) {
		err := v.View(t.Context(), func(tx *Tx) error {
			var ids []int64
			if err := tx.Each(EpochPart, Query{}, func(r Row) error { ids = append(ids, r.ID); return nil }); err != nil {
				return err
			}
			for _, id := range ids {
				lid, err := EpochPart.ledgerID(id)
				if err != nil {
					return err
				}
				if version, _, err := tx.version(lid); err != nil {
					return err
				} else if version > since {
					n++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := written(0); got != 7+2+1 {
		t.Fatalf("got %d pieces, want 7 of the secret, 2 of the basis and 1 of the ending", got)
	}
	before := v.Generation()
	e.Secret[49_990] ^= 1
	update(t, v, func(tx *Tx) error { return Store{tx}.PutEpoch(e) })
	if got := written(before); got != 1 {
		t.Errorf("got %d pieces written for a change of one byte, want 1", got)
	}
}

func TestCopiesOfOneMessageShareWhatItSays(t *testing.T) {
	v, _ := newVault(t)
	id, payload := group.ID{1}, noise(1, 1170)
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		for leaf := range uint32(50) {
			k := &group.Copy{Group: id, Epoch: 3, Leaf: leaf, To: group.Device{byte(leaf)}, Message: wire.MessageID{9}, Payload: payload, Keep: true}
			for want := true; ; want = false { // the second time it is there already
				c, added, err := s.AddCopy(k, 77)
				if err != nil {
					return err
				}
				if added != want || c.Leaf != leaf || c.Born != 77 || c.To != k.To {
					t.Errorf("leaf %d: got %+v, added %v, want %v", leaf, c, added, want)
				}
				if !want {
					break
				}
			}
		}
		// Another block of the same message to the same leaf.
		if _, added, err := s.AddCopy(&group.Copy{Group: id, Epoch: 3, Leaf: 0, Message: wire.MessageID{9}, Payload: noise(2, 1170)}, 78); err != nil || !added {
			t.Errorf("another block: got %v, %v, want it added", added, err)
		}
		if n, err := s.Count(CopyBody, Query{}); err != nil || n != 2 {
			t.Errorf("got %d payloads, %v, want 2", n, err)
		}
		return nil
	})
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		for leaf := range uint32(50) {
			ids, err := s.CopiesOf(group.RowKey{Group: id, Epoch: 3, Leaf: leaf, Message: wire.MessageID{9}})
			if err != nil {
				return err
			}
			if want := 1 + len(ids)/2; len(ids) != want || leaf > 0 && want != 1 {
				t.Errorf("leaf %d: got %d rows", leaf, len(ids))
			}
			if _, b, err := s.Copy(ids[0]); err != nil || !bytes.Equal(b, payload) {
				t.Errorf("leaf %d: got %d bytes, %v", leaf, len(b), err)
			}
			if leaf == 49 {
				return s.DeleteGroup(id)
			}
			if err := s.DeleteCopy(ids[0]); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, v, func(tx *Tx) error {
		for _, table := range []Table{GroupCopy, CopyBody} {
			if n, err := tx.Count(table, Query{}); err != nil || n != 0 {
				t.Errorf("%s: got %d rows left, %v, want none", table, n, err)
			}
		}
		return nil
	})
}

func TestGroupIsDeletedWithAllThatBelongsToIt(t *testing.T) {
	v, _ := newVault(t)
	mine, other := group.ID{1}, group.ID{2}
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		for _, id := range []group.ID{mine, other} {
			err := errors.Join(s.PutGroup(&group.Record{ID: id, Name: "walkers"}), s.PutEpoch(largeEpoch(id, 1)), s.PutEpoch(largeEpoch(id, 2)),
				s.PutMessage(&group.Message{Group: id, ID: wire.MessageID{1}, Content: []byte("hi"), Saw: make([]roster.Leaf, 100)}), s.MarkSeen(id, group.Device{1}, wire.MessageID{2}, 10))
			if err != nil {
				return err
			}
		}
		return s.DeleteGroup(mine)
	})
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		if all, err := s.Groups(); err != nil || len(all) != 1 || all[0].ID != other || all[0].Name != "walkers" {
			t.Errorf("got %v, %v, want the other group", all, err)
		}
		for id, want := range map[group.ID]int{mine: 0, other: 1} {
			messages, err := s.Messages(id)
			epochs, err2 := s.Epochs(id)
			if err != nil || err2 != nil || len(messages) != want || len(epochs) != 2*want {
				t.Errorf("%x: got %d messages and %d epochs, want %d and %d", id[:1], len(messages), len(epochs), want, 2*want)
			}
			if id == other && len(messages[0].Saw) != 100 {
				t.Errorf("got a message whose author saw %d, want 100", len(messages[0].Saw))
			}
			if seen, err := s.Seen(id, group.Device{1}, wire.MessageID{2}); err != nil || !seen {
				t.Errorf("%x: what was seen is forgotten: it counts across successors", id[:1])
			}
		}
		if n, err := s.Count(EpochPart, Query{}); err != nil || n != 2*(3+2+1)+1 {
			t.Errorf("got %d parts, %v, want those of two epochs and one message", n, err)
		}
		if err := s.ForgetSeen(11); err != nil {
			return err
		}
		if seen, err := s.Seen(other, group.Device{1}, wire.MessageID{2}); err != nil || seen {
			t.Errorf("got seen %v, %v, want it forgotten", seen, err)
		}
		return nil
	})
}

func TestKeyPackagesOfOursAndOfOthersAreKeptApart(t *testing.T) {
	v, _ := newVault(t)
	ada, bob := group.Device{1}, group.Device{2}
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		return errors.Join(
			s.PutOwnPackage(&group.OwnPackage{Hash: [32]byte{9}, Public: []byte("p"), For: ada}), s.PutOwnPackage(&group.OwnPackage{Hash: [32]byte{8}}),
			s.PutStock(ada, &group.Package{Hash: [32]byte{9}, Public: []byte("late"), Born: 20}),
			s.PutStock(ada, &group.Package{Hash: [32]byte{7}, Public: []byte("early"), Born: 10}),
			s.PutStock(bob, &group.Package{Hash: [32]byte{9}, Public: []byte("bob's"), Born: 5}), s.DeleteOwnPackage([32]byte{8}), s.DeleteOwnPackage([32]byte{77}),
		)
	})
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		if own, err := s.OwnPackages(); err != nil || len(own) != 1 || own[0].Hash != [32]byte{9} || own[0].For != ada {
			t.Errorf("got %v, %v, want our one", own, err)
		}
		if all, err := s.Stock(ada); err != nil || len(all) != 2 || string(all[0].Public) != "early" || string(all[1].Public) != "late" {
			t.Errorf("got %v, %v, want two, oldest first", all, err)
		}
		if err := s.DeleteStock(ada, [32]byte{9}); err != nil {
			return err
		}
		if all, err := s.Stock(bob); err != nil || len(all) != 1 {
			t.Errorf("got %d of Bob, %v, want 1", len(all), err)
		}
		if _, err := s.OwnPackage([32]byte{8}); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("got %v, want ErrUnknown", err)
		}
		return nil
	})
}

func TestLineOutlivesItsGroups(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		l := &Line{Origin: group.ID{5}, Name: "walkers", Group: group.ID{5}}
		if err := s.PutLine(l); err != nil {
			return err
		}
		l.Group, l.Read = group.ID{6}, 4
		if err := errors.Join(s.PutGroup(&group.Record{ID: group.ID{5}}), s.PutLine(l), s.DeleteGroup(group.ID{5})); err != nil {
			return err
		}
		got, err := s.Line(group.ID{5})
		again, err2 := s.LineOf(l.ID)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, l) || !reflect.DeepEqual(again, l) {
			t.Errorf("got %+v, %v, want %+v", got, err, l)
		}
		if _, err := s.Line(group.ID{7}); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("got %v, want ErrUnknown", err)
		}
		return nil
	})
}

func TestNotesAreFoundByTheirBeginnings(t *testing.T) {
	v, _ := newVault(t)
	names := []string{"g/01/need", "g/01/opened/3/aa", "g/01/opened/3/bb", "g/01/opened/30/cc", "g/02/opened/3/dd", "join/01/aa/x", "lone"}
	update(t, v, func(tx *Tx) error {
		for _, n := range names {
			for _, value := range []string{"old", "of " + n} {
				if err := (Store{tx}).PutNote(n, []byte(value)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	update(t, v, func(tx *Tx) error {
		s := Store{tx}
		for prefix, want := range map[string][]string{
			"g/01/opened/3/": names[1:3], "g/01/": names[:4], "g/0": names[:5], "": names, "join/01/": {"join/01/aa/x"}, "lone": {"lone"}, "g/03/": nil,
		} {
			if got, err := s.Notes(prefix); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: got %q, %v, want %q", prefix, got, err, want)
			}
		}
		if b, err := s.Note("g/01/need"); err != nil || string(b) != "of g/01/need" {
			t.Errorf("got %q, %v", b, err)
		}
		if err := s.DeleteNotes("g/01/opened/3/"); err != nil {
			return err
		}
		if _, err := s.Note(names[1]); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("got %v, want ErrUnknown", err)
		}
		if got, err := s.Notes("g/"); err != nil || len(got) != 3 {
			t.Errorf("got %q, %v, want three left", got, err)
		}
		return nil
	})
}

// What is kept apart of a message goes with it, and when it is kept apart no more.
func TestPartsOfAMessageGoWithIt(t *testing.T) {
	v, _ := newVault(t)
	large := len((&group.Faces{Leaves: make([]roster.Leaf, 10_000)}).Append(nil))
	for i, step := range []struct {
		leaves, parts int
	}{{100, 1}, {10_000, (large + blockSize - 1) / blockSize}, {100, 1}, {3, 0}, {40, 1}, {-1, 0}} {
		update(t, v, func(tx *Tx) error {
			s := Store{tx}
			if step.leaves < 0 {
				return s.DeleteMessage(group.ID{1}, wire.MessageID{1})
			}
			return s.PutMessage(&group.Message{Group: group.ID{1}, ID: wire.MessageID{1}, Saw: make([]roster.Leaf, step.leaves)})
		})
		err := v.View(t.Context(), func(tx *Tx) error {
			n, err := tx.Count(EpochPart, Query{})
			if n != step.parts {
				t.Errorf("step %d, %d leaves: got %d parts, want %d", i, step.leaves, n, step.parts)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
