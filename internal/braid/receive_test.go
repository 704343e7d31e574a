package braid

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

func TestBeginningNeedsASecret(t *testing.T) {
	if _, err := New(key.Shared{}, true); !errors.Is(err, key.ErrSize) {
		t.Errorf("got %v, want %v", err, key.ErrSize)
	}
	a, b := pair(t, "beginning")
	if a.phase != keysUnsampled || b.phase != noHeaderReceived || a.Epoch() != 0 || b.Epoch() != 0 {
		t.Errorf("got phases %d and %d, want the initiator to have the key", a.phase, b.phase)
	}
}

// TestRolesSwap: who has the key of one epoch has the ciphertext of the next.
func TestRolesSwap(t *testing.T) {
	a, b := pair(t, "roles")
	r := stream("roles")
	for epoch := range uint64(6) {
		turns(t, a, b, r, start, epoch)
		if aHasKey, want := a.phase < noHeaderReceived, epoch%2 == 0; aHasKey != want {
			t.Errorf("epoch %d: got %v, want the initiator to have the key: %v", epoch+1, aHasKey, want)
		}
		if (a.phase < noHeaderReceived) == (b.phase < noHeaderReceived) {
			t.Errorf("epoch %d: got both in one role", epoch+1)
		}
	}
}

func TestFieldsThatDoNotFit(t *testing.T) {
	a, b := pair(t, "fields")
	r := stream("fields")
	turns(t, a, b, r, start, 2)
	// Epoch 3: the initiator has the key. Message 5 of its chain arrives first.
	for range 5 {
		send(t, a, r)
	}
	p := send(t, a, r)
	receives(t, b, start, p)
	next := send(t, a, r)
	good, ok := parseField(next.field[:])
	if !ok || good.kind != kindHdr || good.epoch != 2 {
		t.Fatalf("got kind %d of epoch %d, want a header of epoch 2", good.kind, good.epoch)
	}
	with := func(f func(m *message)) []byte {
		m := good
		f(&m)
		b := m.bytes()
		return b[:]
	}
	for name, field := range map[string][]byte{
		"nothing":                        nil,
		"a byte less":                    next.field[:Size-1],
		"a byte more":                    append(bytes.Clone(next.field[:]), 0),
		"zeros":                          make([]byte, Size),
		"an unknown kind":                with(func(m *message) { m.kind = 7 }),
		"nothing of the wrong end":       with(func(m *message) { m.kind, m.pair, m.chunks = kindNone, 0, [2]chunk{} }),
		"ct1 of the wrong end":           with(func(m *message) { m.kind = kindCt1 }),
		"ct2 of the wrong end":           with(func(m *message) { m.kind = kindCt2 }),
		"an acknowledgement with chunks": with(func(m *message) { m.kind, m.pair = kindCt1Ack, 0 }),
		"an acknowledgement with a pair": with(func(m *message) { m.kind, m.pair, m.chunks = kindCt1Ack, 1, [2]chunk{} }),
		"the next epoch":                 with(func(m *message) { m.epoch, m.kind = 3, kindCt1 }),
		"a far epoch":                    with(func(m *message) { m.epoch = 1000 }),
		"the last epoch":                 with(func(m *message) { m.epoch = MaxEpoch - 2 }),
		"beyond the last epoch":          with(func(m *message) { m.epoch = MaxEpoch }),
		"the largest epoch":              with(func(m *message) { m.epoch = math.MaxUint32 }),
		"too far a jump":                 with(func(m *message) { m.number += MaxJump + 1 }),
		"the largest number":             with(func(m *message) { m.number = math.MaxUint32 }),
		"a number that was received":     p.field[:],
		"a number that nobody skipped":   with(func(m *message) { m.epoch, m.number, m.kind = 1, 7000, kindCt1 }),
		"messages before epoch 0":        with(func(m *message) { m.epoch, m.previous = 0, 1 }),
	} {
		refuses(t, name, b, start, field)
	}
	receives(t, b.Clone(), start, next)
	end := b.Clone()
	end.chains.received = math.MaxUint32 - 2
	refuses(t, "the largest number, at the end of a chain", end, start, with(func(m *message) { m.number = math.MaxUint32 }))
	last := with(func(m *message) { m.number = math.MaxUint32 - 1 })
	if _, err := end.Clone().Receive(start, last); err != nil {
		t.Errorf("the last number: got %v, want no error", err)
	}
	late := good
	for _, n := range []uint32{0, 4} { // numbers that were set aside do fit
		late.number = n
		f := late.bytes()
		if _, err := b.Clone().Receive(start, f[:]); err != nil {
			t.Errorf("number %d: got %v, want no error", n, err)
		}
	}
}

// TestTurnOfAnEpochFits: what the first message of an epoch says of the one before.
func TestTurnOfAnEpochFits(t *testing.T) {
	a, b := pair(t, "turn")
	r := stream("turn")
	turns(t, a, b, r, start, 1) // both turned; a's chain of epoch 1 has begun
	for n := 0; b.phase != ct2Sampled && a.phase != ct2Sampled; n++ {
		if n > 100 {
			t.Fatal("got no ct2 in 100 turns")
		}
		receives(t, b, start, send(t, a, r))
		receives(t, a, start, send(t, b, r))
	}
	from, to := b, a
	if b.phase == ct2Sampled {
		from, to = a, b
	}
	for range 3 { // messages bring all of ct2
		receives(t, from, start, send(t, to, r))
	}
	if from.Epoch() != to.Epoch()+1 {
		t.Fatalf("got epoch %d, want %d", from.Epoch(), to.Epoch()+1)
	}
	got := to.chains.received
	p := send(t, from, r)
	good, _ := parseField(p.field[:])
	if good.previous != got || good.number != 0 || good.epoch != uint32(from.Epoch()) {
		t.Fatalf("got number %d of epoch %d after %d, want the first of %d after %d", good.number, good.epoch, good.previous, from.Epoch(), got)
	}
	for name, m := range map[string]message{
		"fewer than were received":  {previous: got - 1},
		"too far a jump":            {previous: got + MaxJump + 1},
		"too far a jump, in two":    {previous: got + MaxJump, number: 1},
		"the largest number before": {previous: math.MaxUint32},
	} {
		m.epoch, m.kind = good.epoch, good.kind
		f := m.bytes()
		refuses(t, name, to, start, f[:])
	}
	was := to.Epoch()
	receives(t, to, start, p)
	if to.Epoch() != was+1 || to.phase != keysUnsampled {
		t.Errorf("got epoch %d, phase %d, want the next", to.Epoch(), to.phase)
	}
}

// poison makes both ends go on until a message of that kind is on its way, spoils
// its first chunk as only a partner or a thief could, lets it be received, and
// goes on: what is collected with it is thrown away, and collected again.
func poison(t *testing.T, k kind) (a, b *State, messages int) {
	a, b = pair(t, "poison")
	r := stream("poison")
	spoiled := false
	for messages = 0; messages < 1000 && min(a.Epoch(), b.Epoch()) < 2; messages++ {
		from, to := a, b
		if messages%2 == 1 {
			from, to = b, a
		}
		p := send(t, from, r)
		if m, _ := parseField(p.field[:]); m.kind == k && !spoiled {
			spoiled = true
			p.field[14] ^= 1
		}
		receives(t, to, start, p)
	}
	if !spoiled {
		t.Fatalf("got no message of kind %d", k)
	}
	return a, b, messages
}

// TestSpoiledChunkCostsOnlyTime: the session goes on, and so does the braid,
// except for the one piece that has no check of its own.
func TestSpoiledChunkCostsOnlyTime(t *testing.T) {
	for _, k := range []kind{kindHdr, kindEk, kindCt2} {
		if a, b, messages := poison(t, k); a.Epoch() < 2 || b.Epoch() < 2 {
			t.Errorf("kind %d: got epochs %d and %d after %d messages, want 2", k, a.Epoch(), b.Epoch(), messages)
		} else if messages <= 91 {
			t.Errorf("kind %d: got two epochs in %d messages, as without a spoiled chunk", k, messages)
		}
	}
	if a, b, _ := poison(t, kindCt1); a.Epoch() != 0 || b.Epoch() != 0 {
		t.Errorf("got epochs %d and %d by a spoiled ciphertext, want none", a.Epoch(), b.Epoch())
	}
}

// TestHostilePartnerFillsNothing commits thousands of messages of a partner who
// does what it likes: the state keeps its bounds and still sends.
func TestHostilePartnerFillsNothing(t *testing.T) {
	d := dice(11)
	for name, b := range states(t) {
		s, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			m := message{
				epoch: s.receiving() + uint32(d.IntN(2)), number: s.chains.received + uint32(d.IntN(40)), previous: s.chains.received + uint32(d.IntN(40)),
				kind: kind(d.IntN(7)), pair: uint16(d.IntN(maxPair + 1)),
			}
			if m.kind.full() {
				m.chunks = [2]chunk{chunk(text(chunkSize, d)), chunk(text(chunkSize, d))}
			} else {
				m.pair = 0
			}
			f := m.bytes()
			if c := s.Clone(); second2(c.Receive(start, f[:])) == nil {
				s = c
			}
			if d.IntN(3) == 0 {
				send(t, s, stream("hostile"))
			}
		}
		if s = again(t, s); s.Skipped() > MaxSkipped || len(s.in.have)*chunkSize >= max(s.in.size, 1) {
			t.Errorf("%s: got %d keys and %d chunks, want less", name, s.Skipped(), len(s.in.have))
		}
	}
}

func second2(_ key.Braid, err error) error { return err }

func TestFailingRandomnessChangesNothing(t *testing.T) {
	a, b := pair(t, "failing")
	r := stream("failing")
	check := func(s *State) {
		t.Helper()
		before := s.Append(nil)
		if _, k, err := s.Send(failing{}); !errors.Is(err, errBroken) || k.Valid() {
			t.Fatalf("got %v, want %v and no key", err, errBroken)
		}
		if !bytes.Equal(s.Append(nil), before) {
			t.Error("got another state, want no change")
		}
	}
	check(a)
	for range 2 { // messages bring the header
		receives(t, b, start, send(t, a, r))
	}
	if b.phase != headerReceived {
		t.Fatalf("got phase %d, want the header received", b.phase)
	}
	check(b)
	a.chains.sent = math.MaxUint32
	if _, _, err := a.Send(r); !errors.Is(err, ErrFull) {
		t.Errorf("a chain without numbers: got %v, want %v", err, ErrFull)
	}
	a, b = pair(t, "failing")
	a.epoch, b.epoch, b.phase = MaxEpoch, MaxEpoch, headerReceived
	for _, s := range []*State{a, b} {
		if _, _, err := s.Send(r); !errors.Is(err, ErrFull) {
			t.Errorf("the last epoch: got %v, want %v", err, ErrFull)
		}
	}
}

const day = 24 * time.Hour

// ahead sends n messages, of which only the last arrives.
func ahead(t *testing.T, from, to *State, n int, now time.Time) []post {
	t.Helper()
	ps := make([]post, n)
	for i := range ps {
		ps[i] = send(t, from, stream("ahead"))
	}
	receives(t, to, now, ps[n-1])
	return ps
}

func TestChainKeepsItsLastTwoThousandKeys(t *testing.T) {
	a, b := pair(t, "chain bound")
	ps := ahead(t, a, b, 2201, start)
	if got := b.Skipped(); got != MaxSkipped {
		t.Fatalf("got %d keys, want %d", got, MaxSkipped)
	}
	refuses(t, "message 199, whose key was not kept", b, start, ps[199].field[:])
	receives(t, b, start, ps[200])
	receives(t, b, start, ps[2199])
	more := ahead(t, a, b, 11, start) // the bound is not one jump's
	if got := b.Skipped(); got != MaxSkipped {
		t.Fatalf("got %d keys, want %d", got, MaxSkipped)
	}
	refuses(t, "message 208, pushed out by later ones", b, start, ps[208].field[:])
	receives(t, b, start, ps[209])
	receives(t, b, start, more[0])
}

func TestStoreKeepsTwoThousandKeysInAll(t *testing.T) {
	a, b := pair(t, "store bound")
	r := stream("store bound")
	first := ahead(t, a, b, 901, start)
	turns(t, a, b, r, start, 1)
	second := ahead(t, a, b, 901, start)
	turns(t, a, b, r, start, 2)
	third := ahead(t, a, b, 301, start)
	if got := b.Skipped(); got != MaxSkipped {
		t.Fatalf("got %d keys, want %d", got, MaxSkipped)
	}
	refuses(t, "message 99 of the oldest chain", b, start, first[99].field[:])
	b = again(t, b)
	for _, p := range []post{first[100], first[899], second[0], third[299]} {
		receives(t, b, start, p)
	}
}

func TestSkippedKeysLiveThirtyDays(t *testing.T) {
	a, b := pair(t, "expiry")
	old := ahead(t, a, b, 3, start)
	young := ahead(t, a, b, 3, start.Add(10*day))
	receives(t, b.Clone(), start.Add(30*day-time.Second), old[0])
	over := start.Add(30 * day)
	refuses(t, "a key of 30 days", b, over, old[0].field[:])
	receives(t, b, over, young[0])
	if got := b.Skipped(); got != 1 {
		t.Errorf("got %d keys, want 1: what comes clears expired ones away", got)
	}
	refuses(t, "a key that was cleared away", b, start, old[1].field[:])
	receives(t, b, over, young[1])
}

func TestClockThatStoodWrongKeepsNoKeyForYears(t *testing.T) {
	a, b := pair(t, "clock")
	ps := ahead(t, a, b, 5, start.Add(3650*day)) // ten years ahead
	receives(t, b, start, ps[0])                 // set right: the times are, too
	b = again(t, b)
	refuses(t, "a key 30 days after the clock was set right", b, start.Add(30*day), ps[1].field[:])
	receives(t, b, start.Add(30*day-time.Second), ps[1])
	receives(t, b, time.Unix(-5, 0), ps[2]) // before 1970: nothing is older than that
	receives(t, b, time.Unix(0, 0), ps[3])
}

// TestLongestGap: a receiver who missed two whole chains of the other ratchet
// can still follow, and holds no more than is kept.
func TestLongestGap(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it sends 65,538 messages")
	}
	a, b := pair(t, "gap")
	r := stream("gap")
	for range MaxJump {
		if _, k, err := a.Send(r); err != nil {
			t.Fatal(err)
		} else {
			k.Wipe()
		}
	}
	ps := []post{send(t, a, r), send(t, a, r)}
	refuses(t, "a message too far ahead", b, start, ps[1].field[:])
	receives(t, b, start, ps[0])
	if got := b.Skipped(); got != MaxSkipped || cap(*b.skipped.list) > 2*MaxSkipped {
		t.Errorf("got %d keys, room for %d, want %d", got, cap(*b.skipped.list), MaxSkipped)
	}
	receives(t, b, start, ps[1])
}

// TestStoreOverwritesWhatItLeaves: a longer list of keys is another piece of
// memory, and the one before holds none of them any more.
func TestStoreOverwritesWhatItLeaves(t *testing.T) {
	s := newStore([]skipped{{n: 1, k: [32]byte{1}}, {n: 2, k: [32]byte{2}}})
	old, fresh := *s.list, []skipped{{n: 3, k: [32]byte{3}}}
	s.add(fresh)
	now := *s.list
	s.remove(0, 1)
	for i, k := range [][32]byte{old[0].k, old[1].k, fresh[0].k, now[2].k} {
		if k != [32]byte{} {
			t.Errorf("place %d: got %x, want zeros", i, k)
		}
	}
	if s.len() != 2 || s.at(0).n != 2 || s.at(1).k != [32]byte{3} {
		t.Errorf("got %d keys, want the last two", s.len())
	}
}

// TestLateChunksOfAnOldEpoch: they fit their message, and nothing else. Two
// epochs later the roles are the same again, and a chunk could be mistaken.
func TestLateChunksOfAnOldEpoch(t *testing.T) {
	a, b := pair(t, "late chunks")
	r := stream("late chunks")
	late := map[kind]post{}
	for n := 0; min(a.Epoch(), b.Epoch()) < 3; n++ {
		if n > 500 {
			t.Fatalf("got epochs %d and %d after 500 messages, want 3", a.Epoch(), b.Epoch())
		}
		from, to := a, b
		if n%2 == 1 {
			from, to = b, a
		}
		p := send(t, from, r)
		m, _ := parseField(p.field[:])
		if _, kept := late[m.kind]; m.epoch == 0 && m.kind.full() && !kept {
			late[m.kind] = p
			continue
		}
		receives(t, to, start, p)
		if to.epoch != 3 {
			continue
		}
		for k, p := range late {
			if k.ofKey() == to.initiator {
				continue // its own
			}
			c := to.Clone()
			receives(t, c, start, p)
			if c.phase != to.phase || c.in.size != to.in.size || len(c.in.have) != len(to.in.have) {
				t.Errorf("message %d, kind %d of epoch 1: got it taken for one of epoch 3", n, k)
			}
		}
	}
	if len(late) != 5 {
		t.Errorf("got %d kinds that were late, want 5", len(late))
	}
}
