// Package storetest is the suite that every backend of the relay passes: what
// a store promises to the feature above it, told as things that happen to it.
// It needs no backend of its own and changes no global state.
package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// Open returns an empty store that takes at least max bytes of content, and
// not much more. It ends with the test.
type Open func(t *testing.T, max int64) blob.Store

// today is the day the suite lives in.
const today blob.Day = 20_000

// Blobs runs the suite.
func Blobs(t *testing.T, open Open) {
	for name, f := range map[string]func(*testing.T, Open){
		"what is created can be read":                  canBeRead,
		"the first content stays":                      firstStays,
		"of many at once one wins and all hear it":     oneWins,
		"a file goes by its capability only":           goesByCapability,
		"a slot cannot be deleted":                     slotStays,
		"what is gone is not created again":            goneStaysGone,
		"a slot is decided once and for all its days":  slotIsDecided,
		"content goes on its day and the record later": goesOnItsDay,
		"a full store keeps what it has":               fullKeeps,
		"buffers are not shared with the caller":       buffersAreOwn,
		"it does what a map would do":                  likeAMap,
		"the receipt key is one key":                   oneKey,
	} {
		t.Run(name, func(t *testing.T) { f(t, open) })
	}
}

// NewEntry returns an entry of the given class whose bytes all follow from n.
func NewEntry(n byte, size int) *blob.Entry {
	e := &blob.Entry{
		ID: wire.BlobID(bytes.Repeat([]byte{n}, 32)), Until: today + 8, Forget: today + 400,
		Content: bytes.Repeat([]byte{n, ^n, 0x5a, n}, size/4),
	}
	e.Hash = sha256.Sum256(e.Content)
	return e
}

// file is NewEntry with a capability.
func file(n byte) *blob.Entry {
	e := NewEntry(n, 4096)
	e.Capability = sha256.Sum256([]byte{n})
	return e
}

// other is e with another content.
func other(e *blob.Entry) *blob.Entry {
	o := *e
	o.Content = bytes.Repeat([]byte{0xEE}, len(e.Content))
	o.Hash = sha256.Sum256(o.Content)
	return &o
}

func create(t *testing.T, s blob.Store, e *blob.Entry) {
	t.Helper()
	if hash, err := s.Create(t.Context(), e, today); err != nil || hash != e.Hash {
		t.Fatalf("creating: got hash %x, %v, want %x", hash[:4], err, e.Hash[:4])
	}
}

// wantContent reads e back.
func wantContent(t *testing.T, s blob.Store, e *blob.Entry, day blob.Day) {
	t.Helper()
	content, hash, err := s.Get(t.Context(), e.ID, day)
	if err != nil || hash != e.Hash || !bytes.Equal(content, e.Content) {
		t.Errorf("reading: got %d bytes, hash %x, %v, want %d bytes, hash %x", len(content), hash[:4], err, len(e.Content), e.Hash[:4])
	}
}

// wantGone finds the record of e without its content.
func wantGone(t *testing.T, s blob.Store, e *blob.Entry, day blob.Day) {
	t.Helper()
	content, hash, err := s.Get(t.Context(), e.ID, day)
	if !errors.Is(err, blob.ErrGone) || hash != e.Hash || content != nil {
		t.Errorf("reading: got %d bytes, hash %x, %v, want none, hash %x, %v", len(content), hash[:4], err, e.Hash[:4], blob.ErrGone)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func canBeRead(t *testing.T, open Open) {
	s := open(t, 4<<20)
	for i, size := range wire.BlobClasses {
		create(t, s, NewEntry(byte(i), size))
	}
	for i, size := range wire.BlobClasses {
		wantContent(t, s, NewEntry(byte(i), size), today)
	}
	_, _, err := s.Get(t.Context(), wire.BlobID{0xff}, today)
	wantErr(t, err, blob.ErrNotFound)
	wantErr(t, s.Delete(t.Context(), wire.BlobID{0xff}, [32]byte{}, today), blob.ErrNotFound)
	if left, err := s.Sweep(t.Context(), today); err != nil || left != len(wire.BlobClasses) {
		t.Errorf("sweeping: got %d left, %v, want %d", left, err, len(wire.BlobClasses))
	}
}

func firstStays(t *testing.T, open Open) {
	s, e := open(t, 1<<20), file(1)
	create(t, s, e)
	create(t, s, e)
	o := other(e)
	if hash, err := s.Create(t.Context(), o, today); err != nil || hash != e.Hash {
		t.Errorf("another content: got hash %x, %v, want that of the first, %x", hash[:4], err, e.Hash[:4])
	}
	wantContent(t, s, e, today)

	// The same content under another capability: the first one's word holds.
	o = file(1)
	o.Capability, o.Until = sha256.Sum256([]byte("mine")), today+30
	create(t, s, o)
	wantErr(t, s.Delete(t.Context(), e.ID, o.Capability, today), blob.ErrDenied)
	wantGone(t, s, e, e.Until)
}

func oneWins(t *testing.T, open Open) {
	s := open(t, 1<<20)
	const n = 32
	var got [n][32]byte
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			e := NewEntry(1, 4096)
			e.Content = bytes.Repeat([]byte{byte(i)}, 4096)
			e.Hash = sha256.Sum256(e.Content)
			var err error
			if got[i], err = s.Create(t.Context(), e, today); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	content, hash, err := s.Get(t.Context(), NewEntry(1, 4096).ID, today)
	if err != nil || hash != sha256.Sum256(content) {
		t.Fatalf("got hash %x, %v, want the content's", hash[:4], err)
	}
	for i := range n {
		if got[i] != hash {
			t.Errorf("creator %d: got hash %x, want the winner's %x", i, got[i][:4], hash[:4])
		}
	}
}

func goesByCapability(t *testing.T, open Open) {
	s, e := open(t, 1<<20), file(1)
	create(t, s, e)
	wantErr(t, s.Delete(t.Context(), e.ID, [32]byte{}, today), blob.ErrDenied)
	wantErr(t, s.Delete(t.Context(), e.ID, sha256.Sum256([]byte("guess")), today), blob.ErrDenied)
	wantContent(t, s, e, today)
	wantErr(t, s.Delete(t.Context(), e.ID, e.Capability, today), nil)
	wantGone(t, s, e, today)
	wantErr(t, s.Delete(t.Context(), e.ID, e.Capability, today), blob.ErrGone)
	if left, err := s.Sweep(t.Context(), today); err != nil || left != 0 {
		t.Errorf("sweeping: got %d left, %v, want 0", left, err)
	}
}

func slotStays(t *testing.T, open Open) {
	s, e := open(t, 1<<20), NewEntry(1, 4096)
	create(t, s, e)
	wantErr(t, s.Delete(t.Context(), e.ID, [32]byte{}, today), blob.ErrDenied)
	wantContent(t, s, e, today)
}

// slotIsDecided has somebody come too late on every kind of day that a slot has: a
// receipt for another content would be the relay's contradiction of itself.
func slotIsDecided(t *testing.T, open Open) {
	s, e := open(t, 1<<20), NewEntry(1, 4096)
	e.Until, e.Forget = today+91, today+420
	create(t, s, e)
	late := NewEntry(1, 16<<10)
	for _, day := range []blob.Day{today, today + 90, today + 91, today + 419} {
		if _, err := s.Sweep(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		late.Until, late.Forget = day+91, day+420
		for _, again := range []*blob.Entry{late, e} {
			hash, err := s.Create(t.Context(), again, day)
			if day < e.Until {
				wantErr(t, err, nil)
			} else {
				wantErr(t, err, blob.ErrGone)
			}
			if hash != e.Hash {
				t.Errorf("day %d: got hash %x, want that of the first content, %x", day, hash[:4], e.Hash[:4])
			}
		}
	}
}

func goneStaysGone(t *testing.T, open Open) {
	s, e := open(t, 1<<20), file(1)
	create(t, s, e)
	wantErr(t, s.Delete(t.Context(), e.ID, e.Capability, today), nil)
	for _, again := range []*blob.Entry{e, other(e)} {
		hash, err := s.Create(t.Context(), again, today)
		wantErr(t, err, blob.ErrGone)
		if hash != e.Hash {
			t.Errorf("got hash %x, want that of the first content, %x", hash[:4], e.Hash[:4])
		}
	}
	wantGone(t, s, e, today)
}

func goesOnItsDay(t *testing.T, open Open) {
	s, a, b := open(t, 1<<20), file(1), NewEntry(2, 16<<10)
	b.Until, b.Forget = today+90, today+420
	create(t, s, a)
	create(t, s, b)
	sweep := func(day blob.Day, want int) {
		t.Helper()
		if left, err := s.Sweep(t.Context(), day); err != nil || left != want {
			t.Errorf("sweeping on day %d: got %d left, %v, want %d", day, left, err, want)
		}
	}
	sweep(a.Until-1, 2)
	wantContent(t, s, a, a.Until-1)
	wantGone(t, s, a, a.Until) // not swept yet, and over all the same
	wantErr(t, s.Delete(t.Context(), a.ID, a.Capability, a.Until), blob.ErrGone)
	sweep(a.Until, 1)
	wantGone(t, s, a, a.Until)
	sweep(a.Forget-1, 0)
	wantGone(t, s, a, a.Forget-1)
	sweep(a.Forget, 0)
	_, _, err := s.Get(t.Context(), a.ID, a.Forget)
	wantErr(t, err, blob.ErrNotFound)
	wantGone(t, s, b, a.Forget)
}

func fullKeeps(t *testing.T, open Open) {
	s := open(t, 1<<20)
	var kept []*blob.Entry
	for i := range 200 {
		e := NewEntry(byte(i), 64<<10)
		e.Capability = sha256.Sum256([]byte{byte(i)})
		if _, err := s.Create(t.Context(), e, today); err != nil {
			wantErr(t, err, blob.ErrFull)
			break
		}
		kept = append(kept, e)
	}
	if len(kept) < 12 || len(kept) > 32 {
		t.Fatalf("got %d blobs of 64 KiB in 1 MiB, want about 16", len(kept))
	}
	for _, e := range kept {
		wantContent(t, s, e, today)
	}
	wantErr(t, s.Delete(t.Context(), kept[0].ID, kept[0].Capability, today), nil)
	create(t, s, NewEntry(0xff, 64<<10))
}

func buffersAreOwn(t *testing.T, open Open) {
	s, e := open(t, 1<<20), NewEntry(1, 4096)
	create(t, s, e)
	clear(e.Content)
	e = NewEntry(1, 4096)
	content, _, err := s.Get(t.Context(), e.ID, today)
	wantErr(t, err, nil)
	clear(content)
	wantContent(t, s, e, today)
}

func oneKey(t *testing.T, open Open) {
	s := open(t, 1<<20)
	if !s.Receipts().Valid() || !s.Receipts().Equal(s.Receipts()) {
		t.Error("got no lasting key, want one")
	}
	if s.Receipts().Equal(open(t, 1<<20).Receipts()) {
		t.Error("got the key of another store, want a new one")
	}
}

// model is a map that answers like a store.
type model struct {
	all map[wire.BlobID]*blob.Entry
	day blob.Day
}

func (m *model) gone(e *blob.Entry) bool { return e.Content == nil || m.day >= e.Until }

// state is what has the id of e, and what a store must say of it.
func (m *model) state(id wire.BlobID) (e *blob.Entry, hash [32]byte, err error) {
	if e = m.all[id]; e == nil {
		return nil, hash, blob.ErrNotFound
	}
	if m.gone(e) {
		return e, e.Hash, blob.ErrGone
	}
	return e, e.Hash, nil
}

func (m *model) sweep() (left int) {
	for id, e := range m.all {
		if !m.gone(e) {
			left++
		}
		if m.day >= e.Forget {
			delete(m.all, id)
		}
	}
	return left
}

// likeAMap plays random calls against the store and against the model.
func likeAMap(t *testing.T, open Open) {
	s := open(t, 64<<20)
	r := rand.New(rand.NewPCG(1, 2))
	m := &model{map[wire.BlobID]*blob.Entry{}, today}
	for step := range 2000 {
		e := file(byte(r.IntN(12)))
		if r.IntN(2) == 0 {
			e = other(e)
		}
		e.Until, e.Forget = m.day+blob.Day(1+r.IntN(5)), m.day+blob.Day(6+r.IntN(9))
		have, hash, err := m.state(e.ID)
		var got, want string
		switch r.IntN(5) {
		case 0, 1:
			gotHash, gotErr := s.Create(t.Context(), e, m.day)
			if have == nil {
				m.all[e.ID], hash, err = e, e.Hash, nil
			}
			got, want = fmt.Sprintf("%x %v", gotHash, gotErr), fmt.Sprintf("%x %v", hash, err)
		case 2:
			content, gotHash, gotErr := s.Get(t.Context(), e.ID, m.day)
			var wantContent []byte
			if err == nil {
				wantContent = have.Content
			}
			got, want = fmt.Sprintf("%x %x %v", sha256.Sum256(content), gotHash, gotErr), fmt.Sprintf("%x %x %v", sha256.Sum256(wantContent), hash, err)
		case 3:
			got, want = fmt.Sprint(s.Delete(t.Context(), e.ID, e.Capability, m.day)), fmt.Sprint(err)
			if err == nil {
				have.Content = nil
			}
		case 4:
			m.day += blob.Day(r.IntN(2))
			left, gotErr := s.Sweep(t.Context(), m.day)
			got, want = fmt.Sprint(left, gotErr), fmt.Sprint(m.sweep(), nil)
		}
		if got != want {
			t.Fatalf("step %d: got %s, want %s", step, got, want)
		}
	}
}
