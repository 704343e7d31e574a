package bus

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// hoard is a node whose window holds so many cells for every address.
type hoard struct {
	Node
	cells int
}

func (h hoard) Past(_ *wire.Address, yield func(*window.Entry)) time.Duration {
	for range h.cells {
		yield(new(window.Entry))
	}
	return window.Span
}

func hoarding(t *testing.T, l Link, cells int) (*Mesh, *peer) {
	t.Helper()
	k, err := key.New[key.SignRole](make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Realm: NewRealm(k), Link: l, Broadcast: 1})
	if err != nil {
		t.Fatal(err)
	}
	m.node = hoard{cells: cells}
	p := &peer{id: ID{1}, heard: time.Now()}
	m.roster.peers[p.id] = p
	m.roster.changed()
	return m, p
}

// TestAReplayIsBounded: an owner takes a registration at once, and sends
// what its window holds aside, up to a bound; who is one too many hears at once
// that there is nothing.
func TestAReplayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(counting)
		m, p := hoarding(t, l, 3*maxPast)
		const more = 5
		for i := range maxWanted + more {
			m.owner.register(p, uint64(i+1), flagPast, make([]wire.Address, 3))
		}
		if l.sent != more || m.owner.last[p.id] != maxWanted+more {
			t.Errorf("got %d messages and %d registrations taken, want answers to the %d too many, and all taken", l.sent, m.owner.last[p.id], more)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go m.owner.serve(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		each := (maxPast+maxCells-1)/maxCells + 1
		if want := more + maxWanted*each; l.sent != want {
			t.Errorf("got %d messages, want %d: %d for each who waited", l.sent, want, each)
		}
	})
}

// TestWhatComesOfReplaysIsBounded: all replays that come to a node together hold
// so many bytes at most, and give them back when they are handed on.
func TestWhatComesOfReplaysIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := hoarding(t, new(counting), 0)
		x := &lease{number: 100, waits: map[uint64]*wait{}}
		m.owner.lease.at[p.id] = x
		var waits []*wait
		for i := range uint64(4) {
			w := &wait{done: make(chan struct{}), more: make(chan struct{}, 1)}
			x.waits[i+1] = w
			waits = append(waits, w)
			for range maxPast / maxCells {
				m.owner.past(p, i+1, make([]byte, maxCells*window.EntrySize))
			}
		}
		held := 0
		for _, w := range waits {
			for _, b := range w.cells {
				held += len(b)
			}
		}
		if l := &m.owner.lease; l.held != held || held > maxHeld || held < maxHeld/2 {
			t.Errorf("got %d bytes held, of which %d are known; want at most %d", held, l.held, maxHeld)
		}
		if waits[0].over || !waits[3].over {
			t.Error("the first has not all, or the last has: want the bound over all")
		}
		n := 0
		if !m.owner.lease.hand(waits[0], func(*window.Entry) bool { n++; return true }) || n != maxPast/maxCells*maxCells {
			t.Errorf("got %d cells handed on", n)
		}
		m.owner.registered(p, 4, uint32(window.Span/time.Second), time.Now())
		m.owner.registered(p, 1, uint32(window.Span/time.Second), time.Now()) // later than the fourth
		for i, want := range map[int]time.Duration{0: window.Span, 3: 0} {
			select {
			case <-waits[i].done:
				if got := m.owner.lease.reached(waits[i]); got != want {
					t.Errorf("wait %d: got reach %v, want %v", i, got, want)
				}
			default:
				t.Errorf("wait %d is not answered", i)
			}
		}
		m.owner.lease.forget(waits)
		if m.owner.lease.held != 0 {
			t.Errorf("got %d bytes held after all was forgotten", m.owner.lease.held)
		}
	})
}

// TestAFloodOfReplays: more clients than may ask at a time all come through.
func TestAFloodOfReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(silent)
		m, _ := hoarding(t, l, 0)
		m.running = true
		var a wire.Address
		for i := 0; m.cfg.Realm.ownerOf(a[:], m.self, m.roster.asked) == m.self; i++ {
			binary.BigEndian.PutUint64(a[:], uint64(i))
		}
		m.owner.lease.stale = false
		const clients = 4 * maxAsking
		ends := make(chan time.Duration, clients)
		for range clients {
			go func() { ends <- m.Watch([]wire.Address{a}, func(*window.Entry) bool { return true }) }()
		}
		synctest.Wait()
		m.mu.Lock()
		n := len(m.owner.lease.at[ID{1}].waits)
		m.mu.Unlock()
		if n != maxAsking {
			t.Errorf("got %d that wait for an owner, want %d", n, maxAsking)
		}
		for range clients {
			if reach := <-ends; reach != 0 {
				t.Errorf("got reach %v of an owner that does not answer", reach)
			}
		}
	})
}

// silent is a link that loses everything.
type silent struct{ Link }

func (silent) Send(ID, []byte) {}
