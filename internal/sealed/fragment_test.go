package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

var start = time.Unix(1_796_000_000, 0)

// fragments cuts n bytes named by name.
func fragments(t testing.TB, kind wire.Kind, name string, n int) ([]byte, []wire.Body) {
	t.Helper()
	whole := random(t, stream("fragments "+name), n)
	_, bodies, err := Fragments(kind, whole)
	if err != nil {
		t.Fatal(err)
	}
	return whole, bodies
}

// held is how many bytes of fragments the joiner keeps.
func held(j *Joiner) (n int) {
	for _, m := range j.open {
		for _, p := range m.parts {
			n += len(p)
		}
	}
	return n
}

func TestFragmentsAreTheWholeAndFitTheirCells(t *testing.T) {
	for _, c := range []struct {
		kind     wire.Kind
		n, count int
	}{
		{wire.KindHello, wire.HelloSize, 4}, {wire.KindGroup, 1, 1}, {wire.KindGroup, wire.PayloadSize, 1},
		{wire.KindGroup, wire.PayloadSize + 1, 2}, {wire.KindGroup, MaxWhole - 1, 255}, {wire.KindGroup, MaxWhole, 255},
	} {
		whole, bodies := fragments(t, c.kind, "fit", c.n)
		if len(bodies) != c.count {
			t.Fatalf("%d bytes: got %d fragments, want %d", c.n, len(bodies), c.count)
		}
		var joined []byte
		for i := range bodies {
			b, err := bodies[i].Append(nil)
			if err != nil {
				t.Fatalf("%d bytes, fragment %d: %v", c.n, i, err)
			}
			parsed, err := wire.ParseBody(b)
			if err != nil || int(parsed.Index) != i || parsed.ID != bodies[0].ID {
				t.Fatalf("%d bytes, fragment %d: got %d of %x, %v", c.n, i, parsed.Index, parsed.ID, err)
			}
			joined = append(joined, parsed.Payload...)
		}
		rest := bytes.TrimPrefix(joined, whole)
		if len(rest) != len(joined)-len(whole) || len(bytes.Trim(rest, "\x00")) > 0 {
			t.Errorf("%d bytes: the payloads are not the whole and zeros", c.n)
		}
		if h := sha256.Sum256(joined); !bytes.Equal(h[:8], bodies[0].ID[:]) {
			t.Errorf("%d bytes: got id %x, want %x", c.n, bodies[0].ID, h[:8])
		}
	}
	for _, c := range []struct {
		kind wire.Kind
		n    int
	}{
		{wire.KindHello, 0}, {wire.KindHello, wire.HelloSize - 1}, {wire.KindHello, wire.HelloSize + 1},
		{wire.KindGroup, 0}, {wire.KindGroup, MaxWhole + 1}, {wire.KindPair, wire.PairSize}, {wire.KindDrop, 0}, {0, 1},
	} {
		if _, bodies, err := Fragments(c.kind, make([]byte, c.n)); bodies != nil || !errors.Is(err, ErrSize) {
			t.Errorf("kind %d, %d bytes: got %v, want %v", c.kind, c.n, err, ErrSize)
		}
	}
}

func TestFragmentsDoNotWriteIntoTheWhole(t *testing.T) {
	space := bytes.Repeat([]byte{7}, 2*wire.PayloadSize)
	if _, _, err := Fragments(wire.KindGroup, space[:100]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(space, bytes.Repeat([]byte{7}, len(space))) {
		t.Error("filling up wrote over the caller's bytes")
	}
}

// People lose, repeat and reorder: any order with repeats joins once.
func TestJoinerTakesAnyOrderAndRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		whole, bodies := fragments(t, wire.KindHello, "order", wire.HelloSize)
		big, more := fragments(t, wire.KindGroup, "big", 60*wire.PayloadSize)
		var j Joiner
		queue := append(append(append([]wire.Body{}, bodies...), bodies...), more...)
		r.Shuffle(len(queue), func(i, k int) { queue[i], queue[k] = queue[k], queue[i] })
		got := map[string]int{}
		for i := range queue {
			out, done, err := j.Add(start, &queue[i])
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if done {
				got[string(out)]++
			}
		}
		// The repeats may have begun the hello again, or even completed it.
		if got[string(whole)] == 0 || got[string(big)] != 1 || len(got) != 2 {
			t.Fatalf("round %d: got %d wholes, want the two", round, len(got))
		}
	}
}

func TestJoinerKeepsItsOwnCopy(t *testing.T) {
	whole, bodies := fragments(t, wire.KindHello, "copy", wire.HelloSize)
	var j Joiner
	for i := range bodies {
		payload := bytes.Clone(bodies[i].Payload)
		bodies[i].Payload = payload
		out, done, err := j.Add(start, &bodies[i])
		if err != nil || done != (i == 3) {
			t.Fatalf("fragment %d: got %v, %v", i, done, err)
		}
		clear(payload)
		if done && !bytes.Equal(out, whole) {
			t.Error("the whole changed with the caller's buffers")
		}
	}
	if len(j.open) != 0 || held(&j) != 0 {
		t.Errorf("got %d open, %d bytes after the end, want none", len(j.open), held(&j))
	}
}

// Somebody who knows a shared route can begin eight wholes and finish none. That
// must not keep others out for a day.
func TestOldestWholeGivesWayAfterAMinute(t *testing.T) {
	var j Joiner
	for i := range 8 {
		_, b := fragments(t, wire.KindHello, string(rune('a'+i)), wire.HelloSize)
		if _, _, err := j.Add(start, &b[0]); err != nil {
			t.Fatal(err)
		}
	}
	whole, b := fragments(t, wire.KindHello, "honest", wire.HelloSize)
	if _, _, err := j.Add(start.Add(59*time.Second), &b[0]); !errors.Is(err, ErrFull) {
		t.Errorf("within a minute: got %v, want %v", err, ErrFull)
	}
	for i := range b {
		out, done, err := j.Add(start.Add(time.Minute), &b[i])
		if err != nil || done != (i == len(b)-1) || done && !bytes.Equal(out, whole) {
			t.Errorf("fragment %d after a minute: got %v, %v", i, done, err)
		}
	}
}

func TestNinthWholeIsRefusedAndTheEightStay(t *testing.T) {
	var j Joiner
	var wholes [9][]byte
	var bodies [9][]wire.Body
	for i := range wholes {
		wholes[i], bodies[i] = fragments(t, wire.KindHello, string(rune('a'+i)), wire.HelloSize)
	}
	for i := range 8 {
		if _, _, err := j.Add(start, &bodies[i][0]); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := j.Add(start, &bodies[8][0]); !errors.Is(err, ErrFull) {
		t.Errorf("ninth: got %v, want %v", err, ErrFull)
	}
	finish := func(i int) {
		t.Helper()
		for k := range bodies[i] {
			out, done, err := j.Add(start, &bodies[i][k])
			if err != nil || done != (k == 3) || done && !bytes.Equal(out, wholes[i]) {
				t.Errorf("whole %d, fragment %d: got %v, %v", i, k, done, err)
			}
		}
	}
	finish(3) // repeats of its first fragment included
	finish(8) // there is room again
	for _, i := range []int{0, 1, 2, 4, 5, 6, 7} {
		finish(i)
	}
}

func TestContradictionsAreRefusedAndChangeNothing(t *testing.T) {
	whole, bodies := fragments(t, wire.KindGroup, "contradiction", 3*wire.PayloadSize)
	var j Joiner
	for _, i := range []int{0, 1} {
		if _, _, err := j.Add(start, &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(b *wire.Body){
		"another content at the same index": func(b *wire.Body) { b.Payload = make([]byte, wire.PayloadSize) },
		"a larger count":                    func(b *wire.Body) { b.Count = 4 },
		"a smaller count":                   func(b *wire.Body) { b.Count = 2 },
		"another kind":                      func(b *wire.Body) { b.Kind = wire.KindHello },
		"a pair":                            func(b *wire.Body) { b.Kind = wire.KindPair },
		"a drop":                            func(b *wire.Body) { b.Kind, b.Payload = wire.KindDrop, nil },
		"index at count":                    func(b *wire.Body) { b.Index = 3 },
		"count 0":                           func(b *wire.Body) { b.Count = 0 },
		"short payload":                     func(b *wire.Body) { b.Payload = b.Payload[1:] },
		"no payload":                        func(b *wire.Body) { b.Payload = nil },
	} {
		b := bodies[1]
		change(&b)
		before := held(&j)
		if out, done, err := j.Add(start, &b); out != nil || done || !errors.Is(err, ErrFragment) {
			t.Errorf("%s: got %v, %v, want %v", name, done, err, ErrFragment)
		}
		if held(&j) != before || len(j.open) != 1 {
			t.Errorf("%s: got %d bytes of %d wholes, want %d of 1", name, held(&j), len(j.open), before)
		}
	}
	// None of these begins a whole either, or takes a place that is still free.
	for name, change := range map[string]func(b *wire.Body){
		"short payload": func(b *wire.Body) { b.Payload = b.Payload[1:] }, "no payload": func(b *wire.Body) { b.Payload = nil },
		"a byte more": func(b *wire.Body) { b.Payload = append(bytes.Clone(b.Payload), 0) }, "index at count": func(b *wire.Body) { b.Index = 3 },
		"a pair": func(b *wire.Body) { b.Kind = wire.KindPair }, "no count": func(b *wire.Body) { b.Index, b.Count = 0, 0 },
	} {
		b := bodies[2]
		change(&b)
		fresh := b
		fresh.ID[0] ^= 1
		for _, b := range []wire.Body{b, fresh} {
			if out, done, err := j.Add(start, &b); out != nil || done || !errors.Is(err, ErrFragment) || len(j.open) != 1 {
				t.Errorf("%s: got %v, %v with %d open, want %v", name, done, err, len(j.open), ErrFragment)
			}
		}
	}
	if out, done, err := j.Add(start, &bodies[2]); err != nil || !done || !bytes.Equal(out, whole) {
		t.Errorf("the last fragment: got %v, %v, want the whole", done, err)
	}
}

func TestWholeThatIsNotItsIDIsThrownAway(t *testing.T) {
	whole, bodies := fragments(t, wire.KindHello, "forged", wire.HelloSize)
	var j Joiner
	forged := bodies[2]
	forged.Payload = make([]byte, wire.PayloadSize)
	for _, b := range []wire.Body{forged, bodies[0], bodies[1]} {
		if _, _, err := j.Add(start, &b); err != nil {
			t.Fatal(err)
		}
	}
	if out, done, err := j.Add(start, &bodies[3]); out != nil || done || !errors.Is(err, ErrFragment) {
		t.Errorf("forged whole: got %v, %v, want %v", done, err, ErrFragment)
	}
	if len(j.open) != 0 {
		t.Error("the forged whole still has its place")
	}
	for i := range bodies { // the sender tries again
		if out, done, err := j.Add(start, &bodies[i]); err != nil || done && !bytes.Equal(out, whole) {
			t.Errorf("again, fragment %d: got %v, %v", i, done, err)
		}
	}
	one := wire.Body{Kind: wire.KindGroup, Count: 1, Payload: make([]byte, wire.PayloadSize)}
	if _, done, err := j.Add(start, &one); done || !errors.Is(err, ErrFragment) {
		t.Errorf("single fragment with a wrong id: got %v, %v, want %v", done, err, ErrFragment)
	}
}

func TestWholesEndAfterADay(t *testing.T) {
	whole, bodies := fragments(t, wire.KindHello, "day", wire.HelloSize)
	var j Joiner
	add := func(after time.Duration, i int) (bool, error) {
		out, done, err := j.Add(start.Add(after), &bodies[i])
		if done && !bytes.Equal(out, whole) {
			t.Error("got another whole")
		}
		return done, err
	}
	for i := range 3 {
		if _, err := add(time.Duration(i)*time.Hour, i); err != nil {
			t.Fatal(err)
		}
	}
	// The day counts from the first fragment: later ones do not extend it.
	if done, err := add(JoinFor, 3); done || err != nil {
		t.Errorf("a day later: got %v, %v, want a new beginning", done, err)
	}
	if held(&j) != wire.PayloadSize {
		t.Errorf("got %d bytes, want those of one fragment", held(&j))
	}
	for i := range 3 {
		done, err := add(2*JoinFor-time.Nanosecond, i)
		if err != nil || done != (i == 2) {
			t.Errorf("a nanosecond before the end, fragment %d: got %v, %v", i, done, err)
		}
	}
	if _, err := add(0, 0); err != nil {
		t.Fatal(err)
	}
	j.Expire(start.Add(JoinFor - 1))
	if len(j.open) != 1 {
		t.Error("Expire took one that had time left")
	}
	if j.Expire(start.Add(JoinFor)); len(j.open) != 0 {
		t.Error("Expire left one that was over")
	}
}

func TestClockThatGoesBackExtendsNothing(t *testing.T) {
	_, bodies := fragments(t, wire.KindHello, "clock", wire.HelloSize)
	var j Joiner
	if _, _, err := j.Add(start.Add(10*365*24*time.Hour), &bodies[0]); err != nil {
		t.Fatal(err)
	}
	j.Expire(start)
	if j.Expire(start.Add(JoinFor)); len(j.open) != 0 {
		t.Error("a whole that began in the future outlasts a day")
	}
}

// A hostile sender fills its route and no more, whatever it sends.
func TestMemoryIsBounded(t *testing.T) {
	r := stream("hostile memory")
	var j Joiner
	b := wire.Body{Kind: wire.KindGroup, Count: MaxFragments, Payload: make([]byte, wire.PayloadSize)}
	full := 0
	for range 20_000 { // new ids for ever
		b.ID = wire.MessageID(random(t, r, 8))
		if _, _, err := j.Add(start, &b); errors.Is(err, ErrFull) {
			full++
		}
	}
	if len(j.open) != MaxOpen || full != 20_000-MaxOpen || held(&j) > MaxOpen*2*wire.PayloadSize {
		t.Errorf("new ids: got %d open, %d refused, %d bytes", len(j.open), full, held(&j))
	}
	for _, m := range j.open { // all but the last fragment of each
		for i := range MaxFragments - 1 {
			b.ID, b.Index = m.id, byte(i)
			if _, _, err := j.Add(start, &b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := held(&j); got != MaxJoining-MaxOpen*wire.PayloadSize {
		t.Errorf("all but complete: got %d bytes, want %d", got, MaxJoining-MaxOpen*wire.PayloadSize)
	}
	if j.Expire(start.Add(JoinFor)); held(&j) != 0 {
		t.Errorf("a day later: got %d bytes, want none", held(&j))
	}
}

// FuzzJoiner plays any sequence of fragments of three wholes, some spoiled, and
// checks that only true wholes come out and that the bounds hold.
func FuzzJoiner(f *testing.F) {
	type set struct {
		whole  []byte
		bodies []wire.Body
	}
	var sets []set
	for i, n := range []int{wire.PayloadSize, 3 * wire.PayloadSize, 10 * wire.PayloadSize} {
		whole, bodies := fragments(f, wire.KindGroup, string(rune('x'+i)), n)
		sets = append(sets, set{whole, bodies})
	}
	f.Add([]byte{0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 2, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var j Joiner
		now := start
		for ; len(steps) >= 3; steps = steps[3:] {
			s := sets[int(steps[0])%len(sets)]
			b := s.bodies[int(steps[1])%len(s.bodies)]
			switch spoil := steps[2]; {
			case spoil < 200:
			case spoil < 210:
				b.ID[0] ^= spoil
			case spoil < 220:
				b.Payload = bytes.Repeat([]byte{spoil}, wire.PayloadSize)
			case spoil < 230:
				b.Count = spoil
			case spoil < 240:
				b.Index = spoil
			default:
				now = now.Add(time.Duration(binary.BigEndian.Uint16(steps)) * time.Second)
			}
			out, done, err := j.Add(now, &b)
			if done != (out != nil) || done && err != nil {
				t.Fatalf("got %d bytes, %v, %v", len(out), done, err)
			}
			if done && !bytes.Equal(out, s.whole) {
				t.Fatal("a whole came out that nobody cut")
			}
			if len(j.open) > MaxOpen || held(&j) > MaxJoining {
				t.Fatalf("got %d open, %d bytes", len(j.open), held(&j))
			}
		}
	})
}
