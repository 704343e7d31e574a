package inbox

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/client/transport"
)

// shelf is a relay's keeping for a test, and the keys to it.
type shelf struct {
	list    []DayAddress
	rows    map[transport.Address][]transport.Cell
	takes   []transport.Take
	left    int // rows whose Seen was not called
	opened  int
	outcome Outcome
	err     error // of opening
	fail    error // of the connection
}

func (s *shelf) Days(context.Context, uint64) ([]DayAddress, error) { return s.list, nil }

func (s *shelf) Take(_ context.Context, t transport.Take) error {
	s.takes = append(s.takes, t)
	if s.fail != nil {
		return s.fail
	}
	held := false
	for _, o := range t.Set {
		if sig, err := o.Sign([]byte("m")); err != nil || !ed25519.Verify(o.Address[:], []byte("m"), sig) {
			return transport.ErrRefused
		}
		for _, c := range s.rows[o.Address] {
			seen := false
			t.Deliver([]transport.Delivery{{Address: o.Address, Cell: &c, Seen: func() { seen = true }}})
			if !seen {
				s.left++
				held = true
			}
		}
	}
	if held {
		return transport.ErrHeld
	}
	return nil
}

// add adds a route with some parked rows.
func (s *shelf) add(route int64, alone bool, rows int) {
	pub, private, _ := ed25519.GenerateKey(rand.Reader)
	a := transport.Address(pub)
	for range rows {
		var c transport.Cell
		rand.Read(c[:])
		s.rows[a] = append(s.rows[a], c)
	}
	s.list = append(s.list, DayAddress{
		Address: Address{Owned: transport.Owned{Address: a, Sign: func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil }}, Route: route, Alone: alone},
		Open: func(context.Context, *transport.Cell) (Outcome, error) {
			s.opened++
			return s.outcome, s.err
		},
	})
}

func newShelf() (*shelf, *Taker) {
	s := &shelf{rows: map[transport.Address][]transport.Cell{}, outcome: Shown}
	return s, &Taker{Parking: s, Keys: s, Rand: rand.Reader}
}

// TestWhatIsAckedOfATake: what was committed or never will be, and nothing else.
func TestWhatIsAckedOfATake(t *testing.T) {
	trouble := errors.New("disk is full")
	for name, c := range map[string]struct {
		outcome Outcome
		err     error
		left    int
		opened  int
		want    error
	}{
		"shown":          {Shown, nil, 0, 3, nil},
		"shows nothing":  {Nothing, nil, 0, 3, nil},
		"garbage":        {Rejected, nil, 0, 3, nil},
		"not now":        {Busy, nil, 3, 3, transport.ErrHeld},
		"a vault broken": {0, trouble, 3, 1, ErrStore}, // the next would fail too
	} {
		s, taker := newShelf()
		s.add(1, false, 3)
		s.outcome, s.err = c.outcome, c.err
		told := 0
		taker.Trouble = func(error) { told++ }
		err := taker.Day(t.Context(), 5)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || s.left != c.left || s.opened != c.opened {
			t.Errorf("%s: got %v, %d left, %d opened; want %v, %d, %d", name, err, s.left, s.opened, c.want, c.left, c.opened)
		}
		if (c.err != nil) != (told == 1) {
			t.Errorf("%s: trouble was told %d times", name, told)
		}
		if c.err != nil && !errors.Is(err, trouble) {
			t.Errorf("%s: got %v, want the store's error in it", name, err)
		}
	}
}

// TestACellThatComesAgainIsNotOpenedAgain: its ack was lost.
func TestACellThatComesAgainIsNotOpenedAgain(t *testing.T) {
	s, taker := newShelf()
	s.add(1, false, 3)
	for range 2 {
		if err := taker.Day(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
	}
	if s.opened != 3 || s.left != 0 {
		t.Errorf("got %d opened and %d left, want 3 and none", s.opened, s.left)
	}
}

// TestTakesAreIsolatedAndPadded: one connection for contacts and one for each
// contact route, each of its own name, with decoys of its own.
func TestTakesAreIsolatedAndPadded(t *testing.T) {
	s, taker := newShelf()
	for i := range int64(20) {
		s.add(i+1, false, 0)
	}
	s.add(100, true, 1)
	s.add(101, true, 1)
	pauses := 0
	taker.Apart = func(context.Context) { pauses++ }
	for day := range uint64(2) {
		if err := taker.Day(t.Context(), 5+day); err != nil {
			t.Fatal(err)
		}
	}
	real := map[transport.Address]bool{}
	for _, a := range s.list {
		real[a.Owned.Address] = true
	}
	names, decoys, sizes := map[string]bool{}, map[transport.Address]int{}, map[int]int{}
	for _, k := range s.takes {
		names[k.Isolate] = true
		sizes[len(k.Set)]++
		mine := 0
		for _, o := range k.Set {
			if real[o.Address] {
				mine++
			} else {
				decoys[o.Address]++
			}
		}
		if len(k.Set) == 16 && mine != 1 || len(k.Set) == 32 && mine != 20 {
			t.Errorf("got %d real addresses in a set of %d", mine, len(k.Set))
		}
	}
	if len(s.takes) != 6 || len(names) != 6 || sizes[32] != 2 || sizes[16] != 4 || pauses != 4 {
		t.Errorf("got %d takes with %d names, sizes %v, %d pauses; want 6 of their own names, 32 and 16 twice a day, and a pause between those of a day", len(s.takes), len(names), sizes, pauses)
	}
	for _, n := range decoys {
		if n != 1 {
			t.Fatalf("a decoy stood in %d sets, want one", n)
		}
	}
}

// TestADayWithoutRoutesIsNotAskedFor, and one that fails does not end the others.
func TestADayWithoutRoutesIsNotAskedFor(t *testing.T) {
	s, taker := newShelf()
	if err := taker.Day(t.Context(), 5); err != nil || len(s.takes) != 0 {
		t.Errorf("got %d takes, %v, want none", len(s.takes), err)
	}
	s.add(1, false, 1)
	s.add(100, true, 1)
	s.fail = errors.New("away")
	if err := taker.Day(t.Context(), 5); !errors.Is(err, s.fail) || len(s.takes) != 2 {
		t.Errorf("got %d takes, %v, want both tried and the error", len(s.takes), err)
	}
}
