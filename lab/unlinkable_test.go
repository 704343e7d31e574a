package lab

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	mrand "math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/wire"
)

// linkSize is how many bytes in common make a link: by chance, two places in all
// that the tests here look at share them once in 2^20 runs or more.
const linkSize = 8

// ledger knows every string of linkSize bytes that it was shown, by whose it is.
type ledger struct {
	of    map[[linkSize]byte]int
	found []string
	bytes int
}

func newLedger() *ledger { return &ledger{of: map[[linkSize]byte]int{}} }

// add takes in what belongs to one group, and notes what another group had.
func (l *ledger) add(group int, parts ...[]byte) {
	for _, p := range parts {
		l.bytes += len(p)
		for i := 0; i+linkSize <= len(p); i++ {
			w := [linkSize]byte(p[i:])
			if g, ok := l.of[w]; ok && g != group {
				l.found = append(l.found, fmt.Sprintf("%x of %d and %d", w, g, group))
			}
			l.of[w] = group
		}
	}
}

// heads are the heads of all requests, with what may differ from one to another
// in groups: the random key of a WebSocket, and the id of a blob. Everything else
// in them is the same for everybody.
var heads = []*regexp.Regexp{
	regexp.MustCompile(`^GET /v1/realm HTTP/1\.1\r\nHost: [0-9.:]+\r\nConnection: close\r\n\r\n$`),
	regexp.MustCompile(`^GET /v1/(?:put|watch) HTTP/1\.1\r\nHost: [0-9.:]+\r\nConnection: Upgrade\r\nSec-Websocket-Key: (\S{24})\r\nSec-Websocket-Version: 13\r\nUpgrade: websocket\r\n\r\n$`),
	regexp.MustCompile(`^POST /v1/blob HTTP/1\.1\r\nHost: [0-9.:]+\r\nContent-Length: 4162\r\nConnection: close\r\n\r\n$`),
	regexp.MustCompile(`^GET /v1/blob/([0-9a-f]{64}) HTTP/1\.1\r\nHost: [0-9.:]+\r\nConnection: close\r\n\r\n$`),
	regexp.MustCompile(`^DELETE /v1/blob/([0-9a-f]{64}) HTTP/1\.1\r\nHost: [0-9.:]+\r\nContent-Length: 32\r\nConnection: close\r\n\r\n$`),
}

// telling returns the parts of what a relay received that may be somebody's
// own. What it leaves out is listed here, and checked to be what everybody
// sends:
//
//   - heads of requests, but for their random key or blob id
//   - kind and life of a blob, its first two bytes
//   - put ids: a counter of the connection from 1
//   - kind, flags and period of a watch frame
//   - echo nonces: the counter that the relay itself chose
//   - pongs: the second that the relay sent in its ping
//   - the code of a close frame
func telling(t *testing.T, all []Sighting) (parts [][]byte) {
	t.Helper()
	puts, bodies, pings, cells := map[string]uint64{}, map[string][]byte{}, map[string]bool{}, map[string]uint64{}
	for _, s := range all {
		if !s.ToRelay {
			if s.op == 0x9 {
				pings[string(s.Payload)] = true
			}
			if s.Kind() == KindCell {
				cells[s.Peer]++
			}
			continue
		}
		p := s.Payload
		switch s.Kind() {
		case KindHead:
			parts = append(parts, head(t, p)...)
		case KindBody:
			bodies[s.Peer] = append(bodies[s.Peer], p...)
		case KindPut:
			for ; len(p) > 0; p = p[wire.PutSize:] {
				puts[s.Peer]++
				if id := binary.BigEndian.Uint64(p); id != puts[s.Peer] {
					t.Errorf("a put has id %d, want the connection's next, %d", id, puts[s.Peer])
				}
				parts = append(parts, p[wire.PutIDSize:wire.PutSize])
			}
		case KindWatch:
			if flags, period := p[1], binary.BigEndian.Uint64(p[2:]); flags != wire.FlagReplay || period+1 < presentPeriod() || period > presentPeriod()+1 {
				t.Errorf("a watch frame begins with %x", p[:wire.WatchHeader])
			}
			for p = p[wire.WatchHeader:]; len(p) > 0; p = p[wire.ProofSize:] {
				parts = append(parts, p[:wire.AddressSize], p[wire.AddressSize:wire.ProofSize])
			}
		case KindEcho:
			for p = p[1:]; len(p) > 0; p = p[wire.EchoNonceSize:] {
				if n := binary.BigEndian.Uint64(p); n > cells[s.Peer] {
					t.Errorf("an echo names cell %d of %d", n, cells[s.Peer])
				}
			}
		case KindControl:
			if s.op == opClose && len(p) <= 2 || s.op == 0xA && (pings[string(p)] || len(p) == 0) {
				continue
			}
			t.Errorf("a control frame of kind %x holds %x", s.op, p)
		case KindUnwatch:
			for p = p[1:]; len(p) > 0; p = p[wire.AddressSize:] {
				parts = append(parts, p[:wire.AddressSize])
			}
		default:
			t.Errorf("the relay received %s %x, which is nothing that this test knows", s.Kind(), short(p))
		}
	}
	for _, b := range bodies {
		if len(b) > wire.CapabilitySize {
			b = b[2:]
		}
		parts = append(parts, b)
	}
	return parts
}

func head(t *testing.T, p []byte) (parts [][]byte) {
	t.Helper()
	for _, r := range heads {
		m := r.FindSubmatch(p)
		if m == nil {
			continue
		}
		for _, own := range m[1:] {
			if id, err := hex.DecodeString(string(own)); err == nil {
				own = id
			}
			parts = append(parts, own)
		}
		return parts
	}
	t.Errorf("a request begins with %q, which not everybody's does", p)
	return nil
}

// TestNothingOfTwoContactsRepeats has Ada talk with Bob and with Carol, all real
// clients, and looks at every byte that the relay was given: what belongs to the
// one contact has nothing in common with what belongs to the other.
func TestNothingOfTwoContactsRepeats(t *testing.T) {
	from := map[string]string{"Ada": "127.0.0.2", "Bob": "127.0.0.3", "Carol": "127.0.0.4"}
	tap := startTapped(t)
	ada, bob, carol := guestOf(t, "Ada", tap.Name(), from["Ada"]), guestOf(t, "Bob", tap.Name(), from["Bob"]), guestOf(t, "Carol", tap.Name(), from["Carol"])
	// The same words everywhere: whatever is the same, it is not they.
	acquaint(t, ada, bob, "hello Ada")
	acquaint(t, ada, carol, "hello Ada")
	for range 5 {
		write(t, ada, "bob", "the same to both", client.OnDevice)
		write(t, ada, "carol", "the same to both", client.OnDevice)
		write(t, bob, "ada", "the same from both", client.OnDevice)
		write(t, carol, "ada", "the same from both", client.OnDevice)
	}
	until(t, "the last acks", func() bool {
		for _, c := range []*client.Client{ada, bob, carol} {
			if st, err := c.Status(t.Context()); err != nil || st.Waiting != 0 {
				return false
			}
		}
		return true
	})
	seen := tap.Seen(time.Time{})
	groups := map[string][][]byte{}
	for _, who := range []string{"Bob", "Carol"} {
		// All that comes from them, and of what comes from Ada that which has to
		// do with an address that they put to or watch.
		theirs := map[wire.Address]bool{}
		var mine []Sighting
		for _, s := range seen {
			if peerIs(&s, from[who]) {
				mine = append(mine, s)
				if s.ToRelay {
					for _, a := range s.Addresses() {
						theirs[a] = true
					}
				}
			}
		}
		parts := telling(t, mine)
		puts, proofs := 0, 0
		for _, s := range seen {
			if !peerIs(&s, from["Ada"]) || !s.ToRelay {
				continue
			}
			for _, c := range s.Cells() {
				if theirs[c.Address] {
					parts = append(parts, c.Address[:], c.Cell[:])
					puts++
				}
			}
			if s.Kind() == KindWatch {
				for p := s.Payload[wire.WatchHeader:]; len(p) > 0; p = p[wire.ProofSize:] {
					if theirs[wire.Address(p)] {
						parts = append(parts, p[:wire.AddressSize], p[wire.AddressSize:wire.ProofSize])
						proofs++
					}
				}
			}
		}
		if puts < 6 || proofs < 1 {
			t.Fatalf("of Ada's traffic %d puts and %d proofs belong to %s: the test sees nothing", puts, proofs, who)
		}
		groups[who] = parts
	}
	// Everything of Ada's is what everybody sends, too.
	var hers []Sighting
	for _, s := range seen {
		if peerIs(&s, from["Ada"]) {
			hers = append(hers, s)
		}
	}
	telling(t, hers)

	l := newLedger()
	l.add(1, groups["Bob"]...)
	l.add(2, groups["Carol"]...)
	if len(l.found) != 0 {
		t.Errorf("two contacts of one device have in common: %v", l.found)
	}
	t.Logf("looked at %d bytes", l.bytes)

	// The control: an id of eight bytes in one cell of each, between bytes that differ,
	// so that chance makes it no longer.
	planted := []byte("\x01an id\x02\x03")
	for who, at := range map[string]int{"Bob": 137, "Carol": 721} {
		i := slices.IndexFunc(groups[who], func(p []byte) bool { return len(p) > wire.CellSize })
		cell := groups[who][i][at-1:]
		cell[0], cell[1+len(planted)] = who[0], who[0]
		copy(cell[1:], planted)
	}
	l = newLedger()
	l.add(1, groups["Bob"]...)
	l.add(2, groups["Carol"]...)
	if len(l.found) != 1 {
		t.Errorf("found %v of one planted id, want it and nothing else", l.found)
	}
}

// TestNothingOfADeviceRepeatsOverFiftyPeriods follows one device with two
// contacts through 50 live periods at the level of frames: what it watches, with
// proofs, what is put to it, what it puts. Each contact offers the same message
// in every period, as to somebody who is away: the same ciphertext of the
// ratchet, sealed anew.
func TestNothingOfADeviceRepeatsOverFiftyPeriods(t *testing.T) {
	first := presentPeriod()
	mine := []*route{newRoute(t, first), newRoute(t, first)}
	theirs := []*route{newRoute(t, first), newRoute(t, first)}
	payload := make([]byte, wire.PairSize)
	rand.Read(payload)
	body := &wire.Body{Kind: wire.KindPair, ID: wire.MessageID{1, 2, 3, 4, 5, 6, 7, 8}, Count: 1, Payload: payload}

	// period returns what a relay receives in one period.
	period := func(t *testing.T, n uint64) []Sighting {
		set := []own{mine[0].owned(t, n), mine[1].owned(t, n)}
		for len(set) < 16 {
			set = append(set, decoy(t))
		}
		mrand.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		var nonce [wire.ServerNonceSize]byte
		rand.Read(nonce[:])
		watch := watchFrame([32]byte{9}, nonce, n, set...)
		watch[1] = wire.FlagReplay
		binary.BigEndian.PutUint64(watch[2:], first) // telling checks it against the clock
		all := []Sighting{{Peer: "me", Path: "/v1/watch", ToRelay: true, op: opBinary, Payload: watch}}
		for i, r := range append(slices.Clone(mine), theirs...) {
			var frame []byte
			for k := range 3 {
				a, c := r.at(t, n).Address, r.cell(t, n, body)
				frame = binary.BigEndian.AppendUint64(frame, uint64(k+1))
				frame = append(append(frame, a[:]...), c[:]...)
			}
			all = append(all, Sighting{Peer: fmt.Sprint("them ", i), Path: "/v1/put", ToRelay: true, op: opBinary, Payload: frame})
		}
		return all
	}
	run := func(plant func(n int, all []Sighting)) *ledger {
		l := newLedger()
		for n := range 50 {
			all := period(t, first+uint64(n))
			if plant != nil {
				plant(n, all)
			}
			l.add(n, telling(t, all)...)
		}
		return l
	}
	l := run(nil)
	if len(l.found) != 0 {
		t.Errorf("periods of one device have in common: %v", l.found)
	}
	t.Logf("looked at %d bytes of 50 periods", l.bytes)

	id := []byte("\x07same\xfe\x01\x02")
	l = run(func(n int, all []Sighting) {
		if n == 3 || n == 41 {
			copy(all[1+n%2].Payload[wire.PutIDSize+300+n:], id)
		}
	})
	if len(l.found) != 1 {
		t.Errorf("found %v of an id that was planted in periods 3 and 41, want it and nothing else", l.found)
	}
}

// TestASealThatRepeatsIsCaught plants a seal that does what ours must not: the
// nonce of a cell made of its message, so that a retry looks the same.
func TestASealThatRepeatsIsCaught(t *testing.T) {
	r := newRoute(t, presentPeriod())
	body := &wire.Body{Kind: wire.KindDrop, Count: 1}
	l := newLedger()
	for n := range 3 {
		c := r.cell(t, presentPeriod()+uint64(n), body)
		copy(c[:wire.NonceSize], bytes.Repeat([]byte{0xA5, 0x5A, 0x11}, wire.NonceSize/3))
		l.add(n, c[:])
	}
	if len(l.found) == 0 {
		t.Error("got nothing for cells with one nonce")
	}
}
