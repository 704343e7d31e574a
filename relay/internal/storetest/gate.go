package storetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Opens of the gate's stores return an empty one that ends with the test.
type (
	OpenMembers func(t *testing.T) gate.Members
	OpenSpent   func(t *testing.T) gate.Spent
)

// gateDay is the day the suites of the gate live in.
const gateDay gate.Day = 20_000

// Members runs the suite of a gate.Members.
func Members(t *testing.T, open OpenMembers) {
	for name, f := range map[string]func(*testing.T, gate.Members){
		"an invite buys as many memberships as it has uses": buysItsUses,
		"a member that asks again takes no use":             askingAgainIsFree,
		"of many at once as many join as there are uses":    racedUses,
		"an invite ends after its last day":                 inviteEnds,
		"an invite is added once":                           addedOnce,
		"what is revoked buys nothing":                      revokedBuysNothing,
		"sweeping leaves members and what can be used":      sweepKeepsMembers,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
}

// Clocked is a store with a clock of its own, which the suite sets.
type Clocked interface{ SetDay(gate.Day) }

// Spent runs the suite of a gate.Spent.
func Spent(t *testing.T, open OpenSpent) {
	for name, f := range map[string]func(*testing.T, gate.Spent){
		"the root is made once":                          rootOnce,
		"nodes that ask at once get one root":            rootRaced,
		"a token is spent once":                          spentOnce,
		"of many that spend one token one wins":          spendRaced,
		"an issued part is known by its request":         issuedKnown,
		"of many requests for a part one wins":           issueRaced,
		"days are apart":                                 daysApart,
		"what is over goes and nothing else":             sweepSpent,
		"it does what a map would do, in any order":      marksLikeAMap,
		"a clock that was ahead has nothing spent twice": clockWasAhead,
		"a clock that was a day ahead costs no root":     clockWasADayAhead,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
}

// hashOf is a hash like any other, all from n.
func hashOf(n byte) [32]byte { return [32]byte(bytes.Repeat([]byte{n, n ^ 0x5a}, 16)) }

func invited(t *testing.T, s gate.Members, n byte, uses uint16, last gate.Day) [32]byte {
	t.Helper()
	if err := s.AddInvite(t.Context(), gate.Invite{Hash: hashOf(n), Uses: uses, Last: last}); err != nil {
		t.Fatalf("adding an invite: %v", err)
	}
	return hashOf(n)
}

func wantMember(t *testing.T, s gate.Members, credential [32]byte, want bool) {
	t.Helper()
	if got, err := s.Member(t.Context(), credential); err != nil || got != want {
		t.Errorf("credential %x: got member %v, %v, want %v", credential[:2], got, err, want)
	}
}

func wantInvites(t *testing.T, s gate.Members, today gate.Day, want ...gate.Invite) {
	t.Helper()
	if got, err := s.Invites(t.Context(), today); err != nil || !slices.Equal(got, want) {
		t.Errorf("got invites %v, %v, want %v", got, err, want)
	}
}

func buysItsUses(t *testing.T, s gate.Members) {
	wantErr(t, s.Join(t.Context(), hashOf(1), hashOf(100), gateDay), gate.ErrNoInvite)
	invite := invited(t, s, 1, 2, gateDay+7)
	wantInvites(t, s, gateDay, gate.Invite{Hash: invite, Uses: 2, Last: gateDay + 7})
	wantErr(t, s.Join(t.Context(), invite, hashOf(101), gateDay), nil)
	wantInvites(t, s, gateDay, gate.Invite{Hash: invite, Uses: 1, Last: gateDay + 7})
	wantErr(t, s.Join(t.Context(), invite, hashOf(102), gateDay), nil)
	wantErr(t, s.Join(t.Context(), invite, hashOf(103), gateDay), gate.ErrNoInvite)
	for n, want := range map[byte]bool{100: false, 101: true, 102: true, 103: false, 1: false} {
		wantMember(t, s, hashOf(n), want)
	}
	wantInvites(t, s, gateDay)
}

func askingAgainIsFree(t *testing.T, s gate.Members) {
	invite := invited(t, s, 1, 2, gateDay)
	for range 3 {
		wantErr(t, s.Join(t.Context(), invite, hashOf(101), gateDay), nil)
	}
	wantInvites(t, s, gateDay, gate.Invite{Hash: invite, Uses: 1, Last: gateDay})
	wantErr(t, s.Join(t.Context(), invite, hashOf(102), gateDay), nil)
	wantErr(t, s.Join(t.Context(), invite, hashOf(102), gateDay+9), nil) // its answer was lost for a week
	wantErr(t, s.Join(t.Context(), hashOf(7), hashOf(101), gateDay), nil)
}

func racedUses(t *testing.T, s gate.Members) {
	const uses, asking = 5, 40
	invite := invited(t, s, 1, uses, gateDay)
	var joined, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range asking {
		wg.Go(func() {
			switch err := s.Join(t.Context(), invite, hashOf(byte(100+i)), gateDay); {
			case err == nil:
				joined.Add(1)
			case errors.Is(err, gate.ErrNoInvite):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if joined.Load() != uses || refused.Load() != asking-uses {
		t.Errorf("got %d joined and %d refused, want %d and %d", joined.Load(), refused.Load(), uses, asking-uses)
	}
}

func inviteEnds(t *testing.T, s gate.Members) {
	invite := invited(t, s, 1, 3, gateDay)
	wantErr(t, s.Join(t.Context(), invite, hashOf(101), gateDay), nil)
	wantErr(t, s.Join(t.Context(), invite, hashOf(102), gateDay+1), gate.ErrNoInvite)
	wantMember(t, s, hashOf(102), false)
	wantInvites(t, s, gateDay+1)
}

func addedOnce(t *testing.T, s gate.Members) {
	invite := invited(t, s, 2, 3, gateDay+5)
	invited(t, s, 2, 60_000, gateDay+9)
	other := invited(t, s, 1, 1, gateDay)
	wantInvites(t, s, gateDay, gate.Invite{Hash: other, Uses: 1, Last: gateDay}, gate.Invite{Hash: invite, Uses: 3, Last: gateDay + 5})
}

func revokedBuysNothing(t *testing.T, s gate.Members) {
	invite := invited(t, s, 1, 3, gateDay)
	wantErr(t, s.Join(t.Context(), invite, hashOf(101), gateDay), nil)
	wantErr(t, s.Revoke(t.Context(), invite), nil)
	wantErr(t, s.Revoke(t.Context(), invite), gate.ErrNoInvite)
	wantErr(t, s.Join(t.Context(), invite, hashOf(102), gateDay), gate.ErrNoInvite)
	wantMember(t, s, hashOf(101), true)
	wantInvites(t, s, gateDay)
}

func sweepKeepsMembers(t *testing.T, s gate.Members) {
	invite := invited(t, s, 1, 3, gateDay)
	over := invited(t, s, 2, 3, gateDay-1)
	wantErr(t, s.Join(t.Context(), invite, hashOf(101), gateDay), nil)
	wantErr(t, s.Sweep(t.Context(), gateDay), nil)
	wantMember(t, s, hashOf(101), true)
	wantInvites(t, s, gateDay, gate.Invite{Hash: invite, Uses: 2, Last: gateDay})
	wantErr(t, s.Revoke(t.Context(), over), gate.ErrNoInvite)
}

func root(t *testing.T, s gate.Spent, began gate.Day) gate.Root {
	t.Helper()
	r, err := s.Root(t.Context(), began, began)
	if err != nil {
		t.Fatalf("asking for the root: %v", err)
	}
	return r
}

func rootOnce(t *testing.T, s gate.Spent) {
	first := root(t, s, gateDay)
	if first.Began != gateDay || first.Seed == [32]byte{} || first.Key == [32]byte{} || first.Seed == first.Key {
		t.Errorf("got a root that began on %d, or empty secrets", first.Began)
	}
	if again := root(t, s, gateDay+4); again != first {
		t.Error("got another root at the second call")
	}
}

func rootRaced(t *testing.T, s gate.Spent) {
	var got [16]gate.Root
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			r, err := s.Root(t.Context(), gateDay+gate.Day(i), gateDay)
			if err != nil {
				t.Error(err)
			}
			got[i] = r
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] != got[0] {
			t.Error("got different roots")
		}
	}
}

// wantVerdict asks once.
func wantVerdict(t *testing.T, got gate.Verdict, err error, want ...gate.Verdict) {
	t.Helper()
	if err != nil || !slices.Contains(want, got) {
		t.Errorf("got verdict %d, %v, want one of %v", got, err, want)
	}
}

func spentOnce(t *testing.T, s gate.Spent) {
	root(t, s, gateDay)
	m := gate.Mark{Until: gateDay + 2, Hash: 1 << 63, Request: 7}
	v, err := s.Spend(t.Context(), m)
	wantVerdict(t, v, err, gate.First)
	v, err = s.Spend(t.Context(), m)
	wantVerdict(t, v, err, gate.Again, gate.Other)
	m.Request = 8
	v, err = s.Spend(t.Context(), m)
	wantVerdict(t, v, err, gate.Other)
	m.Hash++
	v, err = s.Spend(t.Context(), m)
	wantVerdict(t, v, err, gate.First)
}

func spendRaced(t *testing.T, s gate.Spent) { raced(t, s, s.Spend) }
func issueRaced(t *testing.T, s gate.Spent) { raced(t, s, s.Issue) }

func raced(t *testing.T, s gate.Spent, mark func(context.Context, gate.Mark) (gate.Verdict, error)) {
	root(t, s, gateDay)
	const tokens, asking = 20, 16
	var first [tokens]atomic.Int32
	var wg sync.WaitGroup
	for i := range asking {
		wg.Go(func() {
			for n := range first {
				v, err := mark(t.Context(), gate.Mark{Until: gateDay + 1, Hash: uint64(n), Request: uint64(i + 1)})
				switch {
				case err != nil:
					t.Error(err)
				case v == gate.First:
					first[n].Add(1)
				case v != gate.Other:
					t.Errorf("got verdict %d, want %d", v, gate.Other)
				}
			}
		})
	}
	wg.Wait()
	for n := range first {
		if got := first[n].Load(); got != 1 {
			t.Errorf("mark %d: got %d first ones, want 1", n, got)
		}
	}
}

func issuedKnown(t *testing.T, s gate.Spent) {
	root(t, s, gateDay)
	m := gate.Mark{Until: gateDay + 2, Hash: 5, Request: 1<<64 - 1}
	v, err := s.Issue(t.Context(), m)
	wantVerdict(t, v, err, gate.First)
	for range 3 {
		v, err = s.Issue(t.Context(), m)
		wantVerdict(t, v, err, gate.Again)
	}
	m.Request = 1
	v, err = s.Issue(t.Context(), m)
	wantVerdict(t, v, err, gate.Other)
}

func daysApart(t *testing.T, s gate.Spent) {
	root(t, s, gateDay)
	for day := range gate.Day(3) {
		v, err := s.Spend(t.Context(), gate.Mark{Until: gateDay + 1 + day, Hash: 9, Request: 1})
		wantVerdict(t, v, err, gate.First)
	}
}

func sweepSpent(t *testing.T, s gate.Spent) {
	r := root(t, s, gateDay)
	const n = 1500 // more than a store deletes in one step
	var wg sync.WaitGroup
	for at := range uint64(50) {
		wg.Go(func() {
			for i := at; i < n; i += 50 {
				v, err := s.Spend(t.Context(), gate.Mark{Until: gateDay + 1, Hash: i, Request: 1})
				wantVerdict(t, v, err, gate.First)
			}
		})
	}
	wg.Wait()
	v, err := s.Issue(t.Context(), gate.Mark{Until: gateDay + 2, Hash: 3, Request: 1})
	wantVerdict(t, v, err, gate.First)
	sweepMarks(t, s, gateDay)
	v, err = s.Spend(t.Context(), gate.Mark{Until: gateDay + 1, Today: gateDay, Hash: 0, Request: 2})
	wantVerdict(t, v, err, gate.Other)
	sweepMarks(t, s, gateDay+1)
	for _, i := range []uint64{0, n / 2, n - 1, n} { // nobody knows which there were
		for _, do := range []func(context.Context, gate.Mark) (gate.Verdict, error){s.Spend, s.Issue} {
			v, err := do(t.Context(), gate.Mark{Until: gateDay + 1, Today: gateDay + 1, Hash: i, Request: 1})
			wantVerdict(t, v, err, gate.Other)
		}
	}
	v, err = s.Issue(t.Context(), gate.Mark{Until: gateDay + 2, Hash: 3, Request: 1})
	wantVerdict(t, v, err, gate.Again)
	if again := root(t, s, gateDay+1); again != r {
		t.Error("got another root after sweeping")
	}
}

// sweepMarks is a sweep when all clocks show that day.
func sweepMarks(t *testing.T, s gate.Spent, today gate.Day) {
	t.Helper()
	setDay(s, today)
	wantErr(t, s.Sweep(t.Context(), today), nil)
}

func setDay(s gate.Spent, today gate.Day) {
	if c, ok := s.(Clocked); ok {
		c.SetDay(today)
	}
}

// clockWasAhead: a sweep three days ahead took marks of tokens that are still good.
func clockWasAhead(t *testing.T, s gate.Spent) {
	before := root(t, s, gateDay)
	mark := func(until, today gate.Day, hash uint64) gate.Mark {
		return gate.Mark{Root: before.Began, Until: until, Today: today, Hash: hash, Request: 1}
	}
	wantMark := func(do func(context.Context, gate.Mark) (gate.Verdict, error), m gate.Mark, want ...gate.Verdict) {
		t.Helper()
		v, err := do(t.Context(), m)
		wantVerdict(t, v, err, want...)
	}
	wantLost := func(do func(context.Context, gate.Mark) (gate.Verdict, error), m gate.Mark) {
		t.Helper()
		if v, err := do(t.Context(), m); !errors.Is(err, gate.ErrLost) {
			t.Errorf("mark %d: got verdict %d, %v, want %v", m.Hash, v, err, gate.ErrLost)
		}
	}
	wantMark(s.Spend, mark(gateDay+2, gateDay, 1), gate.First)
	wantMark(s.Issue, mark(gateDay+2, gateDay, 2), gate.First)
	wantMark(s.Spend, mark(gateDay+5, gateDay, 3), gate.First)

	ahead := gateDay + 3
	sweepMarks(t, s, ahead)
	wantMark(s.Spend, mark(ahead+2, ahead, 4), gate.First)
	wantMark(s.Spend, mark(gateDay+2, ahead, 1), gate.Other) // it is late
	if again := root(t, s, ahead); again != before {
		t.Error("got another root while the clock was ahead")
	}

	sweepMarks(t, s, gateDay) // it went back, and this takes back nothing
	for hash := range uint64(4) {
		wantLost(s.Spend, mark(gateDay+2, gateDay, hash))
		wantLost(s.Issue, mark(gateDay+3, gateDay, 10+hash))
	}
	wantMark(s.Spend, mark(gateDay+5, gateDay, 3), gate.Again, gate.Other)
	wantMark(s.Spend, mark(gateDay+4, gateDay, 5), gate.First)

	var got [8]gate.Root
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = s.Root(t.Context(), gateDay, gateDay); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after := root(t, s, gateDay)
	for _, r := range got {
		if r != after || r.Seed == before.Seed || r.Key == before.Key || r.Began <= before.Began {
			t.Errorf("got a root of day %d after one of day %d, the same secrets, or several", r.Began, before.Began)
		}
	}
	for _, do := range []func(context.Context, gate.Mark) (gate.Verdict, error){s.Spend, s.Issue} {
		wantLost(do, mark(gateDay+2, gateDay, 1)) // it was checked under the root before
		wantLost(do, mark(gateDay+5, gateDay, 3))
	}
	before = after
	wantMark(s.Spend, mark(gateDay+2, gateDay, 21), gate.First)
	wantMark(s.Spend, mark(gateDay+2, gateDay, 21), gate.Again, gate.Other)
	wantMark(s.Issue, mark(gateDay+2, gateDay, 22), gate.First)
	sweepMarks(t, s, gateDay)
	sweepMarks(t, s, gateDay+1)
	wantMark(s.Issue, mark(gateDay+2, gateDay+1, 22), gate.Again)
	if again := root(t, s, gateDay+1); again != after {
		t.Error("got another root the day after")
	}
}

// clockWasADayAhead: what is bought today is still good, so no root is given up.
func clockWasADayAhead(t *testing.T, s gate.Spent) {
	r := root(t, s, gateDay)
	sweepMarks(t, s, gateDay+1)
	sweepMarks(t, s, gateDay)
	for hash, want := range map[uint64]gate.Verdict{1: gate.Other, 2: gate.First} {
		v, err := s.Spend(t.Context(), gate.Mark{Until: gateDay + gate.Day(hash), Today: gateDay, Hash: hash, Request: 1})
		wantVerdict(t, v, err, want)
	}
	if again := root(t, s, gateDay); again != r {
		t.Error("got another root")
	}
}

func marksLikeAMap(t *testing.T, s gate.Spent) {
	root(t, s, gateDay)
	r := rand.New(rand.NewPCG(3, 4))
	today := gateDay
	type id struct {
		until gate.Day
		hash  uint64
	}
	model := map[id]uint64{}
	for step := range 300 {
		if r.IntN(40) == 0 {
			today++
			sweepMarks(t, s, today)
			for k := range model {
				if today >= k.until {
					delete(model, k)
				}
			}
			continue
		}
		m := gate.Mark{Until: today + 1 + gate.Day(r.IntN(3)), Today: today, Hash: r.Uint64N(6), Request: 1 + r.Uint64N(2)}
		do, spent := s.Issue, false
		if m.Hash%2 == 0 {
			do, spent = s.Spend, true
		}
		had, ok := model[id{m.Until, m.Hash}]
		v, err := do(t.Context(), m)
		want := []gate.Verdict{gate.First}
		switch {
		case !ok:
			model[id{m.Until, m.Hash}] = m.Request
		case had != m.Request:
			want = []gate.Verdict{gate.Other}
		case spent:
			want = []gate.Verdict{gate.Again, gate.Other}
		default:
			want = []gate.Verdict{gate.Again}
		}
		if wantVerdict(t, v, err, want...); t.Failed() {
			t.Fatalf("step %d", step)
		}
	}
}
